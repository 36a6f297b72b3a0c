//! What a complete record derives: the figures of its summary, and its tracked outputs, checked and
//! hashed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::SlotId;
use crate::record::{self, TrackedPath};
use crate::run::{Episode, artifacts};
use crate::value::Value;

/// Over how many of the last episodes the recent mean return goes.
const RECENT_EPISODES: usize = 100;

/// The last finite value of every numeric metric under its name; `episodes`, `mean_return` and
/// `mean_return_last_100`; over both, what the algorithm adds under the same key.
pub(crate) fn summary_of(
    metrics: &BTreeMap<String, Value>,
    episodes: &[Episode],
    added: BTreeMap<String, Value>,
) -> BTreeMap<String, Value> {
    let mut summary = BTreeMap::new();
    for (name, value) in metrics {
        if let Some(last) = last_finite(value) {
            summary.insert(name.clone(), last);
        }
    }
    summary.insert("episodes".to_owned(), Value::from(episodes.len() as u64));
    if let Some(mean) = mean_return(episodes) {
        summary.insert("mean_return".to_owned(), Value::from(mean));
    }
    let recent = &episodes[episodes.len().saturating_sub(RECENT_EPISODES)..];
    if let Some(mean) = mean_return(recent) {
        summary.insert("mean_return_last_100".to_owned(), Value::from(mean));
    }
    summary.extend(added);
    summary
}

fn mean_return(episodes: &[Episode]) -> Option<f64> {
    if episodes.is_empty() {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "2^53 episodes do not fit into memory")]
    let count = episodes.len() as f64;
    Some(episodes.iter().map(|episode| episode.cum_reward).sum::<f64>() / count)
}

fn last_finite(value: &Value) -> Option<Value> {
    match value {
        Value::Number(number) => number.as_f64().is_finite().then(|| value.clone()),
        Value::Array(items) => items.iter().rev().find_map(last_finite),
        _ => None,
    }
}

/// What a record says about the outputs of a run.
pub(in crate::suite) fn track(
    export_dir: &Path,
    slot: &SlotId,
    paths: &BTreeMap<String, PathBuf>,
) -> Result<BTreeMap<String, TrackedPath>, String> {
    let missing: Vec<String> = paths
        .iter()
        .filter(|(_, path)| !path.exists())
        .map(|(label, path)| format!("`{label}` ({})", path.display()))
        .collect();
    if !missing.is_empty() {
        return Err(format!("tracked outputs are missing: {}", missing.join(", ")));
    }
    let mut tracked = BTreeMap::new();
    for (label, path) in paths {
        let stored =
            artifacts::relative_to_export(export_dir, path).map_err(|error| error.to_string())?;
        if artifacts::is_shared(export_dir, &stored) {
            return Err(format!(
                "output `{label}` ({}) holds what belongs to the framework or to several runs; \
                 track only what this run wrote, such as ctx.artifact_path(..)",
                path.display()
            ));
        }
        let identity = artifacts::hash_path(path).map_err(|error| error.to_string())?;
        let place = TrackedPath {
            path: stored,
            kind: identity.kind,
            bytes: identity.bytes,
            sha256: identity.sha256,
        };
        tracked.insert(label.clone(), place);
    }
    refuse_shared_paths(export_dir, slot, &tracked)?;
    Ok(tracked)
}

/// A path below this run's own directory is this slot's; any other may be another's too.
fn refuse_shared_paths(
    export_dir: &Path,
    slot: &SlotId,
    tracked: &BTreeMap<String, TrackedPath>,
) -> Result<(), String> {
    let own = artifacts::run_directory(export_dir, slot);
    let foreign: Vec<(&String, PathBuf)> = tracked
        .iter()
        .map(|(label, place)| (label, artifacts::resolve_stored(export_dir, &place.path)))
        .filter(|(_, path)| !path.starts_with(&own))
        .collect();
    if foreign.is_empty() {
        return Ok(());
    }
    let own_record = record::record_path(export_dir, slot);
    let records = record::record_paths(export_dir).map_err(|error| error.to_string())?;
    for path in records.iter().filter(|path| **path != own_record) {
        let Some(other) = record::read_head(path) else { continue };
        for theirs in other.artifact_paths.values() {
            let theirs = artifacts::resolve_stored(export_dir, &theirs.path);
            if let Some((label, shared)) = foreign
                .iter()
                .find(|(_, path)| path.starts_with(&theirs) || theirs.starts_with(path))
            {
                return Err(format!(
                    "output `{label}` ({}) is tracked by slot {}:{} too; give each run its own \
                     path, such as ctx.artifact_path(..)",
                    shared.display(),
                    other.algorithm.slug,
                    other.run_idx
                ));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn episode(cum_reward: f64) -> Episode {
        Episode { cum_reward, ..Episode::default() }
    }

    #[test]
    fn the_last_finite_value_counts_however_deep() {
        let metrics = BTreeMap::from([
            ("loss".to_owned(), Value::from_serialize_lossless(&[1.0, 2.0, f64::NAN]).unwrap()),
            ("grid".to_owned(), Value::from_serialize(&[vec![1], vec![2, 3], vec![]]).unwrap()),
            ("text".to_owned(), Value::from("a")),
            ("diverged".to_owned(), Value::from_serialize_lossless(&[f64::NAN]).unwrap()),
        ]);
        let summary = summary_of(&metrics, &[], BTreeMap::new());
        assert_eq!(summary["loss"].as_f64(), Some(2.0));
        assert_eq!(summary["grid"].as_u64(), Some(3));
        assert!(!summary.contains_key("text") && !summary.contains_key("diverged"));
        assert_eq!(summary["episodes"].as_u64(), Some(0));
        assert!(!summary.contains_key("mean_return"));
    }

    #[test]
    fn the_recent_mean_is_over_the_last_hundred() {
        let episodes: Vec<Episode> = std::iter::repeat_n(0.0, 100)
            .chain(std::iter::repeat_n(4.0, 100))
            .map(episode)
            .collect();
        let added = BTreeMap::from([("episodes".to_owned(), Value::from("mine"))]);
        let summary = summary_of(&BTreeMap::new(), &episodes, added);
        assert_eq!(summary["mean_return"].as_f64(), Some(2.0));
        assert_eq!(summary["mean_return_last_100"].as_f64(), Some(4.0));
        assert_eq!(summary["episodes"].as_str(), Some("mine"));
    }
}
