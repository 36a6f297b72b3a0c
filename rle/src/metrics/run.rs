//! What is logged, where to, and how it ended.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::value::Value;
use crate::{Error, Slug, near_match};

/// A program that shows metrics, for which files are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Backend {
    /// Event files of TensorBoard.
    TensorBoard,
    /// An offline run of Weights & Biases.
    Wandb,
    /// An offline run of SwanLab.
    Swanlab,
}

impl Backend {
    /// All backends.
    pub const ALL: [Self; 3] = [Self::TensorBoard, Self::Wandb, Self::Swanlab];

    /// As the user writes it: `tensorboard`, `wandb`, `swanlab`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TensorBoard => "tensorboard",
            Self::Wandb => "wandb",
            Self::Swanlab => "swanlab",
        }
    }

    /// The backends of a list such as `tensorboard,wandb`; `none` is none.
    ///
    /// # Errors
    /// Names the word that is no backend, with the near match.
    pub fn parse_list(list: &str) -> Result<Vec<Self>, Error> {
        let mut backends = Vec::new();
        let words: Vec<_> = list.split(',').map(str::trim).collect();
        for word in &words {
            if *word == NO_BACKEND {
                if words.len() > 1 {
                    return Err(Error::usage(format!(
                        "the log backends `{list}` hold `none` beside others; give `none` alone"
                    )));
                }
                continue;
            }
            let backend = word.parse()?;
            if !backends.contains(&backend) {
                backends.push(backend);
            }
        }
        Ok(backends)
    }
}

/// The word for no backend.
const NO_BACKEND: &str = "none";

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Backend {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|backend| backend.name() == word).ok_or_else(|| {
            let names = Self::ALL.map(Self::name);
            let known = names.into_iter().chain([NO_BACKEND]);
            Error::usage(format!(
                "`{word}` is not a log backend, accepted: {}, {NO_BACKEND}{}",
                names.join(", "),
                near_match::hint(word, known)
            ))
        })
    }
}

/// Whether a vendor's own tool sends a run to the vendor's service when it ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LogMode {
    /// Files only.
    #[default]
    Offline,
    /// Files first; at the end the vendor's tool sends them.
    Online,
    /// Neither files nor service, for W&B and SwanLab; TensorBoard has no service and is written.
    Disabled,
}

impl LogMode {
    /// The mode that a word means for at least one of the backends.
    ///
    /// W&B says `online`, `offline`, `shared`, `disabled`; SwanLab says `cloud`, `local`,
    /// `offline`, `disabled`. `shared` is `online` and `local` is `offline` here: one process
    /// writes each run, and SwanLab has given up its local dashboard.
    ///
    /// # Errors
    /// Names the accepted words and the near match.
    pub fn parse(word: &str, backends: &[Backend]) -> Result<Self, Error> {
        let wandb = backends.contains(&Backend::Wandb);
        let swanlab = backends.contains(&Backend::Swanlab);
        let neither = !wandb && !swanlab;
        let words = [
            ("online", Self::Online, wandb || neither),
            ("cloud", Self::Online, swanlab || neither),
            ("offline", Self::Offline, true),
            ("shared", Self::Online, wandb || neither),
            ("local", Self::Offline, swanlab || neither),
            ("disabled", Self::Disabled, true),
        ];
        let fitting = words.into_iter().filter(|(.., fits)| *fits);
        if let Some((_, mode, _)) = fitting.clone().find(|(known, ..)| *known == word) {
            return Ok(mode);
        }
        let accepted: Vec<&str> = fitting.map(|(known, ..)| known).collect();
        Err(Error::usage(format!(
            "`{word}` is not a log mode of these backends, accepted: {}{}",
            accepted.join(", "),
            near_match::hint(word, accepted.iter().copied())
        )))
    }
}

/// One run, as the backends are to show it.
#[derive(Clone, Debug, PartialEq)]
pub struct LoggedRun {
    /// The project: usually the environment's name.
    pub project: String,
    /// The experiment within the project, shared by the runs of a suite.
    pub name: String,
    /// What runs are grouped by: the algorithm's label.
    pub group: String,
    /// The algorithm's slug.
    pub slug: Slug,
    /// The zero-based run index.
    pub run_idx: u32,
    /// What the backends can filter by: an object.
    pub config: Value,
    /// Tags of W&B and SwanLab.
    pub tags: Vec<String>,
    /// What the run is a computation of: its request hash. A run resumes only curves of the
    /// same request.
    pub request: String,
    /// The step of the checkpoint that the run resumes from; `None` for a run from the start.
    pub resume_step: Option<i64>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunOutcome {
    /// It finished all of its work.
    Complete,
    /// It failed, with this error.
    Failed(String),
    /// It was asked to stop before its end; a later run resumes from its checkpoint.
    Interrupted,
}

/// Where and how to log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogOptions {
    /// The directory that holds a directory for each project.
    pub log_dir: PathBuf,
    /// The programs to write for; with none, only last values are kept.
    pub backends: Vec<Backend>,
    /// Whether W&B and SwanLab runs are uploaded at the end.
    pub mode: LogMode,
    /// How long points may wait before they are written: what a killed process can lose.
    pub flush_interval: Duration,
}

impl LogOptions {
    /// TensorBoard, flushed every two seconds.
    pub fn new(log_dir: impl Into<PathBuf>) -> Self {
        Self {
            log_dir: log_dir.into(),
            backends: vec![Backend::TensorBoard],
            mode: LogMode::Offline,
            flush_interval: Duration::from_secs(2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_backends_are_read_and_misspelt_ones_find_their_neighbour() {
        let all = Backend::parse_list("tensorboard, wandb,swanlab,wandb").unwrap();
        assert_eq!(all, Backend::ALL);
        assert_eq!(Backend::parse_list("none").unwrap(), []);
        assert_eq!(
            Backend::parse_list("tensorbord").unwrap_err().to_string(),
            "`tensorbord` is not a log backend, accepted: tensorboard, wandb, swanlab, none; did you \
             mean `tensorboard`?"
        );
        assert!(Backend::parse_list("none,wandb").is_err());
        assert!(Backend::parse_list("").is_err());
    }

    #[test]
    fn a_mode_has_to_be_one_of_the_backends() {
        let wandb = [Backend::TensorBoard, Backend::Wandb];
        assert_eq!(LogMode::parse("shared", &wandb).unwrap(), LogMode::Online);
        assert_eq!(
            LogMode::parse("ofline", &wandb).unwrap_err().to_string(),
            "`ofline` is not a log mode of these backends, accepted: online, offline, shared, \
             disabled; did you mean `offline`?"
        );
        assert!(LogMode::parse("cloud", &wandb).is_err());
        assert_eq!(LogMode::parse("cloud", &[Backend::Swanlab]).unwrap(), LogMode::Online);
        assert_eq!(LogMode::parse("local", &[Backend::Swanlab]).unwrap(), LogMode::Offline);
        assert_eq!(LogMode::parse("online", &[]).unwrap(), LogMode::Online);
    }
}
