//! Whether the sources changed after the running program was built from them: a warning only,
//! since a time of modification proves nothing.
//!
//! Cargo lists beside each program what it was built from. Where that list exists, only what it
//! names counts: an edited test, or a tree that the program was not built from, says nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{env, fs};

use super::executable::running_file;

/// The warning, where there is one. `sources` are paths with `root` before them.
pub(super) fn warning(root: &Path, sources: &[PathBuf]) -> Option<String> {
    let built = running_file().and_then(|path| path.metadata()).and_then(|file| file.modified());
    let list = env::current_exe().ok().map(|path| path.with_extension("d"));
    let list = list.and_then(|path| fs::read_to_string(path).ok());
    let listed = list.map(|list| listed_files(&list, root));
    newer_source(built.ok()?, root, sources, listed.as_ref())
}

fn newer_source(
    built: SystemTime,
    root: &Path,
    sources: &[PathBuf],
    listed: Option<&BTreeSet<PathBuf>>,
) -> Option<String> {
    let newer = sources
        .iter()
        .filter(|path| listed.is_none_or(|listed| listed.contains(*path)))
        .filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path)))
        .max()
        .filter(|(changed, _)| *changed > built);
    newer.map(|(_, path)| {
        format!(
            "{} changed after this program was built: records will name sources that it was not \
             built from; build it again",
            path.strip_prefix(root).unwrap_or(path).display()
        )
    })
}

/// The files after the colon of each line; a space within a name is escaped.
fn listed_files(list: &str, root: &Path) -> BTreeSet<PathBuf> {
    const SPACE: char = '\0';
    let list = list.replace("\\ ", &SPACE.to_string());
    let files = list.lines().filter_map(|line| line.split_once(": ")).flat_map(|(_, files)| {
        files.split(' ').map(|file| root.join(file.replace(SPACE, " "))).collect::<Vec<_>>()
    });
    // The sources have their links resolved.
    files.map(|file| fs::canonicalize(&file).unwrap_or(file)).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn a_source_newer_than_the_program_is_told_and_an_older_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        let sources = ["a.rs", "b c.rs", "test.rs"].map(|name| root.join(name));
        for (path, seconds) in sources.iter().zip([1, 2, 3]) {
            fs::File::create(path).unwrap().set_modified(at(seconds)).unwrap();
        }
        let told = |built, listed: Option<&str>| {
            let listed = listed.map(|list| listed_files(list, &root));
            let warning = newer_source(at(built), &root, &sources, listed.as_ref())?;
            warning.split_once(" changed after").map(|(path, _)| path.to_owned())
        };
        assert_eq!(told(3, None), None);
        assert_eq!(told(2, None).as_deref(), Some("test.rs"));
        let list = format!("/x/program: {0}/a.rs {0}/b\\ c.rs\n", root.display());
        assert_eq!(told(2, Some(&list)), None);
        assert_eq!(told(1, Some(&list)).as_deref(), Some("b c.rs"));
        assert_eq!(told(0, Some("/x/program: a.rs\n\na.rs:\n")).as_deref(), Some("a.rs"));
        assert_eq!(told(0, Some("/x/program: /elsewhere/a.rs\n")), None);
    }
}
