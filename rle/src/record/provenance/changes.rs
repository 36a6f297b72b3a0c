//! What differs between two source trees, in words.

use super::format::Provenance;

/// How many changed files are named before the rest is counted.
const NAMED_FILES: usize = 5;

/// The difference between the sources of a record and those of now: `src/ppo.rs changed, ...`.
pub(crate) fn explain_sources(then: &Provenance, now: &Provenance) -> String {
    let (Some(then), Some(now)) = (&then.source, &now.source) else {
        return "one of them is supplied, the other captured".to_owned();
    };
    if now.tree_sha256.is_none() {
        let reason = now.reason.as_deref().unwrap_or("for an unknown reason");
        return format!("there are no sources now ({reason})");
    }
    if then.tree_sha256.is_none() {
        return "there are sources now, and were none".to_owned();
    }
    let changed = changed_files(&then.files, &now.files);
    match changed.len() {
        0 => "the sources changed".to_owned(),
        count if count <= NAMED_FILES => changed.join(", "),
        count => {
            format!("{} and {} more", changed[..NAMED_FILES].join(", "), count - NAMED_FILES)
        }
    }
}

type Files = std::collections::BTreeMap<String, String>;

/// The files that differ, by path: `src/ppo.rs changed`, `added` or `removed`.
pub(super) fn changed_files(old: &Files, new: &Files) -> Vec<String> {
    let mut changes: Vec<_> = old
        .iter()
        .filter_map(|(path, hash)| match new.get(path) {
            None => Some((path, "removed")),
            Some(now) if now != hash => Some((path, "changed")),
            Some(_) => None,
        })
        .collect();
    let added = new.keys().filter(|path| !old.contains_key(*path));
    changes.extend(added.map(|path| (path, "added")));
    changes.sort_unstable();
    changes.into_iter().map(|(path, change)| format!("{path} {change}")).collect()
}
