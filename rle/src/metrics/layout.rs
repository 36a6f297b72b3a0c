//! The directories and slots of a run's files: `<log_dir>/<project>/<name>/<backend>`.

use super::run::LogOptions;
#[cfg(feature = "loggers")]
use super::run::{Backend, LoggedRun};
use crate::value::digest::{self, FieldHasher};
use std::path::{Path, PathBuf};

/// Longer directory names are cut, in bytes; every file system takes 255.
const DIRECTORY_BYTES: usize = 120;

/// `ippo_1`.
#[cfg(feature = "loggers")]
pub(super) fn slot(run: &LoggedRun) -> String {
    format!("{}_{}", run.slug, run.run_idx)
}

impl LogOptions {
    /// The directory of an experiment's runs, with one for each backend; `None` without backends.
    pub(crate) fn experiment_dir(&self, project: &str, name: &str) -> Option<PathBuf> {
        (!self.backends.is_empty()).then(|| experiment(&self.log_dir, project, name))
    }
}

/// The directory of an experiment.
fn experiment(log_dir: &Path, project: &str, name: &str) -> PathBuf {
    log_dir.join(directory_name(project)).join(directory_name(name))
}

/// The directory of a backend, which all runs of an experiment share.
#[cfg(feature = "loggers")]
pub(super) fn directory(run: &LoggedRun, log_dir: &Path, backend: Backend) -> PathBuf {
    experiment(log_dir, &run.project, &run.name).join(backend.name())
}

/// A directory name for a free text, which it is where it can be.
///
/// What cannot stand in a name on some system becomes `_`; a changed name ends in eight digits
/// of the text's hash, so that two texts never share a directory.
fn directory_name(text: &str) -> String {
    let usable = |c: char| !c.is_control() && !"/\\:*?\"<>|".contains(c);
    let cleaned: String = text.chars().map(|c| if usable(c) { c } else { '_' }).collect();
    let cleaned = cleaned.trim_matches(|c: char| c == '.' || c.is_whitespace());
    let cut = &cleaned[..cleaned.floor_char_boundary(DIRECTORY_BYTES)];
    if cut == text && !cut.is_empty() {
        return cut.to_owned();
    }
    format!("{cut}-{}", short_hash("rle directory", &[text], 8))
}

/// The first hexadecimal digits of a hash over texts.
pub(super) fn short_hash(domain: &str, texts: &[&str], digits: usize) -> String {
    let mut hasher = FieldHasher::new(domain);
    for text in texts {
        hasher.field(text.as_bytes());
    }
    let mut hex = digest::hex(&hasher.finish());
    hex.truncate(digits);
    hex
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_names_are_usable_and_never_shared() {
        assert_eq!(directory_name("pursuit v2 été"), "pursuit v2 été");
        let odd = ["", ".", "..", "a/b", "a_b", "a:b", "../../etc", "nul\0", " a", "a"];
        let mut names: Vec<_> = odd.iter().map(|text| directory_name(text)).collect();
        for name in &names {
            assert!(!name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\0']));
        }
        names.sort();
        names.dedup();
        assert_eq!(names.len(), odd.len());
        let long = directory_name(&"é".repeat(500));
        assert!(long.len() < 140);
    }
}
