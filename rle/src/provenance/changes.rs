//! What differs between two source trees, in words.

use super::Source;

/// The files that differ, by path: `src/ppo.rs changed`, `added` or `removed`.
pub(crate) fn changed_files(old: &Source, new: &Source) -> Vec<String> {
    let mut changes: Vec<_> = old
        .files
        .iter()
        .filter_map(|(path, hash)| match new.files.get(path) {
            None => Some((path, "removed")),
            Some(now) if now != hash => Some((path, "changed")),
            Some(_) => None,
        })
        .collect();
    let added = new.files.keys().filter(|path| !old.files.contains_key(*path));
    changes.extend(added.map(|path| (path, "added")));
    changes.sort_unstable();
    changes.into_iter().map(|(path, change)| format!("{path} {change}")).collect()
}
