//! Versions of the packages that the suite names, from the workspace's `Cargo.lock`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Version by name, none where it is not known, and then the reason.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Packages {
    pub(super) versions: BTreeMap<String, Option<String>>,
    pub(super) reason: Option<String>,
}

/// Looks the names up in the lock file at `root`; several versions of one package are listed.
pub(super) fn look_up(names: &[String], root: Option<&Path>) -> Packages {
    if names.is_empty() {
        return Packages::default();
    }
    let locked = match root {
        Some(root) => fs::read_to_string(root.join("Cargo.lock"))
            .map(|text| locked_versions(&text))
            .map_err(|error| format!("Cargo.lock cannot be read: {}", error.kind())),
        None => Err("there is no workspace, and so no Cargo.lock".to_owned()),
    };
    let version = |name: &String| {
        let locked = locked.as_ref().ok()?;
        locked.get(name).map(|versions| versions.join(", "))
    };
    let versions: BTreeMap<_, _> = names.iter().map(|name| (name.clone(), version(name))).collect();
    let missing: Vec<&str> = versions
        .iter()
        .filter(|(_, version)| version.is_none())
        .map(|(name, _)| name.as_str())
        .collect();
    let reason = match &locked {
        Err(reason) => Some(reason.clone()),
        Ok(_) if missing.is_empty() => None,
        Ok(_) => Some(format!("Cargo.lock has no package {}", missing.join(", "))),
    };
    Packages { versions, reason }
}

/// Every package's versions, in the file's order, read line by line: cargo always writes the same
/// form, and a TOML parser is not always built in.
fn locked_versions(text: &str) -> BTreeMap<String, Vec<String>> {
    let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut name = None;
    let mut in_package = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            in_package = line == "[[package]]";
            name = None;
        } else if in_package && let Some((key, value)) = line.split_once(" = ") {
            let value = value.trim_matches('"');
            match (key, name) {
                ("name", _) => name = Some(value),
                ("version", Some(name)) => {
                    versions.entry(name.to_owned()).or_default().push(value.to_owned());
                }
                _ => {}
            }
        }
    }
    versions
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = "version = 4\n\n[[package]]\nname = \"rand\"\nversion = \"0.8.5\"\n\
        source = \"registry\"\ndependencies = [\n \"burn\",\n \"version = 9\",\n]\n\n\
        [[package]]\nname = \"rand\"\nversion = \"0.9.1\"\n\n\
        [[package]]\nname = \"burn\"\nversion = \"0.18.0\"\n\n[metadata]\nname = \"x\"\nversion = \"1\"\n";

    fn look_up_in(lock: Option<&str>, names: &[&str]) -> Packages {
        let dir = tempfile::tempdir().unwrap();
        if let Some(lock) = lock {
            fs::write(dir.path().join("Cargo.lock"), lock).unwrap();
        }
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        look_up(&names, Some(dir.path()))
    }

    fn version(packages: &Packages, name: &str) -> Option<String> {
        packages.versions[name].clone()
    }

    #[test]
    fn versions_are_those_of_the_lock_file() {
        let packages = look_up_in(Some(LOCK), &["burn", "rand"]);
        assert_eq!(version(&packages, "burn").as_deref(), Some("0.18.0"));
        assert_eq!(version(&packages, "rand").as_deref(), Some("0.8.5, 0.9.1"));
        assert_eq!(packages.reason, None);
    }

    #[test]
    fn a_name_that_is_not_found_is_null_with_a_reason() {
        let packages = look_up_in(Some(LOCK), &["burn", "bern", "x"]);
        assert_eq!(version(&packages, "bern"), None);
        assert_eq!(packages.reason.as_deref(), Some("Cargo.lock has no package bern, x"));
        let packages = look_up_in(None, &["burn"]);
        assert_eq!(version(&packages, "burn"), None);
        assert_eq!(packages.reason.as_deref(), Some("Cargo.lock cannot be read: entity not found"));
        let packages = look_up(&["burn".to_owned()], None);
        assert!(packages.reason.unwrap().contains("no workspace"));
    }

    #[test]
    fn the_lock_file_of_this_workspace_is_understood() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let packages = look_up(&["rle".to_owned(), "serde".to_owned()], Some(root));
        assert_eq!(version(&packages, "rle").as_deref(), Some(env!("CARGO_PKG_VERSION")));
        assert!(version(&packages, "serde").unwrap().starts_with("1."));
    }

    #[test]
    fn nothing_is_looked_up_where_nothing_is_named() {
        assert_eq!(look_up(&[], None), Packages::default());
    }
}
