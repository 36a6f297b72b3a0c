//! The figures that a record's summary derives from metrics and episodes.

use std::collections::BTreeMap;

use crate::run::Episode;
use crate::value::Value;

/// Over how many of the last episodes the recent mean return goes.
const RECENT_EPISODES: usize = 100;

/// The last finite value of every numeric metric under its name; `episodes`, `mean_return` and
/// `mean_return_last_100`; over both, what the algorithm adds under the same key.
pub(crate) fn derive(
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

/// The mean over episodes; none without any.
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
        let summary = derive(&metrics, &[], BTreeMap::new());
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
        let summary = derive(&BTreeMap::new(), &episodes, added);
        assert_eq!(summary["mean_return"].as_f64(), Some(2.0));
        assert_eq!(summary["mean_return_last_100"].as_f64(), Some(4.0));
        assert_eq!(summary["episodes"].as_str(), Some("mine"));
    }
}
