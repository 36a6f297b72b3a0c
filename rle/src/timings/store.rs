//! Times in memory: loaded, recorded, read.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::entry::{RunEntry, RunKey};
use super::hardware::{self, Descriptions};
use super::stages::{self, Stage, Stages, describe_stage};
use super::{HARDWARE_FILE, TIMINGS_FILE, file};
use crate::Error;
use crate::value::Value;

/// How long stages took, on which hardware: the content of a `timings.json` and of the
/// `timings_hardware.json` beside it.
///
/// What is recorded is in memory until [`save`](Self::save) or [`update`](Self::update).
///
/// ```
/// use rle::timings::{RunKey, Timings};
///
/// # let dir = std::env::temp_dir().join(format!("rle-doc-{}", std::process::id()));
/// let mut timings = Timings::load(&dir)?; // empty where there is no file
/// let sum: u64 = timings.timed("sum", RunKey::run(0), || (0..1000).sum());
/// timings.record("checkpoint_save", 0.42, RunKey::label("final"))?;
/// timings.save(&dir)?;
/// # std::fs::remove_dir_all(&dir).ok();
/// # assert_eq!(sum, 499_500);
/// # Ok::<(), rle::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Timings {
    pub(super) stages: Stages,
    pub(super) hardware: Descriptions,
}

impl Timings {
    /// No times.
    pub fn new() -> Self {
        Self::default()
    }

    /// The times of a directory, given as itself or as any file path in it: `run-001` and
    /// `run-001/bundle.np` both mean `run-001/timings.json`. A file that does not exist is empty.
    ///
    /// A path that does not exist yet is a file's when its name has an extension that begins with
    /// a letter.
    ///
    /// # Errors
    /// Names the file and, where there is one, stage and entry: a file that is empty, half
    /// written or not of this format, a stage without an array `runs`, an entry without
    /// `hardware_id`, a time that is negative or not finite, a retired key.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::load_from(&file::directory_of(path.as_ref()))
    }

    /// The times of that very directory.
    pub(super) fn load_from(dir: &Path) -> Result<Self, Error> {
        // In this order: a description is written before the first entry that names it.
        let stages = stages::load(&dir.join(TIMINGS_FILE))?;
        let hardware = Descriptions::load(&dir.join(HARDWARE_FILE))?;
        Ok(Self { stages, hardware })
    }

    /// Records a time in seconds, measured on the hardware of this process.
    ///
    /// Without a run index the stage's entries are replaced by this one; the run index 0 begins
    /// the series anew; a later one is appended.
    ///
    /// # Errors
    /// When the time is negative or not finite; nothing is recorded then.
    pub fn record(&mut self, stage: &str, seconds: f64, key: RunKey) -> Result<(), Error> {
        self.put(stage, seconds, key, BTreeMap::new())
    }

    /// As [`record`](Self::record), with further values in the entry: a map or a struct.
    ///
    /// Keys that are not strings become strings, and so do paths. An array keeps its order, so
    /// give an ordered set rather than one whose order differs from run to run.
    ///
    /// # Errors
    /// As `record`, and when a value has no JSON form (a NaN is one), when a key is one of the
    /// entry's own or a retired one; nothing is recorded then.
    pub fn record_with<T: Serialize + ?Sized>(
        &mut self,
        stage: &str,
        seconds: f64,
        key: RunKey,
        extra: &T,
    ) -> Result<(), Error> {
        let extra = match Value::from_serialize(extra) {
            Ok(Value::Object(extra)) => extra,
            Ok(Value::Null) => BTreeMap::new(),
            Ok(other) => {
                let problem = format!("has {} for further values, a map is needed", other.kind());
                return Err(refused(stage, &problem));
            }
            Err(error) => return Err(refused(stage, &format!("has a further value: {error}"))),
        };
        self.put(stage, seconds, key, extra)
    }

    fn put(
        &mut self,
        stage: &str,
        seconds: f64,
        key: RunKey,
        extra: BTreeMap<String, Value>,
    ) -> Result<(), Error> {
        let hardware = hardware::current();
        let begins_anew = matches!(key.run_idx(), None | Some(0));
        let entry = RunEntry::new(&hardware.id, seconds, key, extra)
            .map_err(|problem| refused(stage, &problem))?;
        self.hardware.add(&hardware.id, &hardware.description);
        let runs = self.stages.entry(stage.to_owned()).or_default().runs_mut();
        if begins_anew {
            runs.clear();
        }
        runs.push(entry);
        Ok(())
    }

    /// The stages by name.
    pub fn stages(&self) -> impl Iterator<Item = (&str, &Stage)> {
        self.stages.iter().map(|(name, stage)| (name.as_str(), stage))
    }

    /// A stage.
    pub fn stage(&self, name: &str) -> Option<&Stage> {
        self.stages.get(name)
    }

    /// Takes a stage out. A later [`save`](Self::save) that merges does not take it out of the
    /// file; [`update`](Self::update) does.
    pub fn remove(&mut self, name: &str) -> Option<Stage> {
        self.stages.remove(name)
    }

    /// Whether there is no stage.
    pub fn is_empty(&self) -> bool {
        self.stages.is_empty()
    }

    /// Every description of hardware under its id, as it came.
    pub fn hardware(&self) -> impl Iterator<Item = (&str, Value)> {
        self.hardware.iter()
    }

    /// The description of the hardware of an id. The file may have none: entries are kept all
    /// the same.
    pub fn hardware_description(&self, hardware_id: &str) -> Option<Value> {
        self.hardware.get(hardware_id)
    }
}

impl PartialEq for Timings {
    /// Whether stages and descriptions are the same.
    fn eq(&self, other: &Self) -> bool {
        self.stages == other.stages && self.hardware.iter().eq(other.hardware.iter())
    }
}

pub(super) fn refused(stage: &str, problem: &str) -> Error {
    Error::usage(format!("the time of {} {problem}; nothing is recorded", describe_stage(stage)))
}
