//! An offline run of SwanLab.
//!
//! Messages: the `protos` of <https://github.com/SwanHubX/SwanLab>.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::offline_run::{self, NUM, OfflineRun, limit_chars};
use super::record_log::RecordAction;
use super::run_directory::{Format, RunDirectory};
use super::wire::{self, Fields};
use crate::metrics::layout::short_hash;
use crate::metrics::logger::{MetricLogger, WriteError};
use crate::metrics::run::{Backend, LogOptions, LoggedRun, RunOutcome};
use crate::metrics::sink::{Batch, Point, RunClock};
use crate::metrics::upload::Upload;
use crate::value::Value;

static FORMAT: Format = Format {
    backend: Backend::Swanlab,
    header: *b":SWL\xd6\xe1\x02",
    directory_prefix: "run-",
    // SwanLab accepts ids of at most 21 lower-case letters and digits.
    slot_prefix: |slot| short_hash("rle log slot", &[slot], 9),
};
/// The longest project, name or tag, and key that SwanLab takes, in characters.
const PROJECT_CHARS: usize = 100;
const NAME_CHARS: usize = 512;
const KEY_CHARS: usize = 512;
/// SwanLab's tool refuses later steps, and negative ones.
const LAST_STEP: i64 = 1 << 48;

mod record {
    pub(in crate::metrics) const TIMESTAMP: u32 = 2;
    pub(in crate::metrics) const START: u32 = 10;
    pub(in crate::metrics) const FINISH: u32 = 11;
    pub(in crate::metrics) const COLUMN: u32 = 12;
    pub(in crate::metrics) const SCALAR: u32 = 13;
    pub(in crate::metrics) const SAVE: u32 = 20;
}

/// A run as one `.swanlab` file, which a resumed run continues.
///
/// SwanLab's tool sends the points of a name at steps that the service does not have yet: of two
/// at one step the first counts.
pub(in crate::metrics) struct Swanlab {
    offline: OfflineRun,
    /// The number of the last record that counts.
    num: i64,
    keys: Vec<Key>,
    /// Keys that the file describes.
    columns: HashSet<String>,
    unfit: u64,
    warned_of_key: bool,
}

struct Key {
    text: String,
    /// Its field in a scalar, encoded.
    field: Vec<u8>,
    described: bool,
}

/// The directories of a slot (`ippo_1`) below the directory of an experiment.
pub(in crate::metrics) fn directories(experiment: &Path, slot: &str) -> io::Result<Vec<PathBuf>> {
    FORMAT.directories(experiment, slot)
}

impl Swanlab {
    pub(in crate::metrics) fn new(options: &LogOptions, run: &LoggedRun) -> Self {
        Self {
            offline: OfflineRun::new(&FORMAT, options, run),
            num: 0,
            keys: Vec::new(),
            columns: HashSet::new(),
            unfit: 0,
            warned_of_key: false,
        }
    }

    fn start_new(&mut self, seconds: f64, earlier: &[RunDirectory]) -> io::Result<()> {
        self.offline.create(None, seconds, earlier)?;
        let files = self.offline.directory.path.join("files");
        fs::create_dir(&files)?;
        let config = fs::canonicalize(&files)?.join("config.yaml");
        fs::write(&config, config_yaml(&self.offline.run.config))?;
        self.num = 0;
        let mut start = Vec::new();
        start_record(&mut start, &self.offline, seconds);
        self.append(-1, record::START, seconds, 0, |out| out.extend_from_slice(&start));
        self.append(-3, record::SAVE, seconds, 0, |out| {
            wire::text(out, 1, "config");
            wire::text(out, 2, &config.to_string_lossy());
            wire::uint(out, 5, 1);
        });
        self.offline.flush()
    }

    fn resume(&mut self, seconds: f64, kept_through: i64) -> io::Result<()> {
        let earlier = self.offline.earlier_of_request()?;
        let Some(last) = earlier.last() else { return self.start_new(seconds, &[]) };
        if self.reopen(last, kept_through)? {
            return Ok(());
        }
        last.set_aside()?;
        self.start_new(seconds, &earlier)
    }

    /// False where the writer of the earlier file was killed before its first records.
    fn reopen(&mut self, last: &RunDirectory, kept_through: i64) -> io::Result<bool> {
        let (mut columns, mut num, mut started) = (HashSet::new(), 0, false);
        let opened = self.offline.reopen(last, |bytes| {
            let has = |kind| Fields::bytes_of(bytes, kind);
            if has(record::FINISH).is_some() {
                return RecordAction::Drop;
            }
            if let Some(scalar) = has(record::SCALAR) {
                let step = Fields::number_of(scalar, 2).unwrap_or(0).cast_signed();
                if step > kept_through {
                    return RecordAction::Supersede;
                }
            }
            if let Some(key) = has(record::COLUMN).and_then(|column| Fields::text_of(column, 3)) {
                columns.insert(key.to_owned());
            }
            started |= has(record::START).is_some();
            num = num.max(Fields::number_of(bytes, NUM).unwrap_or(0).cast_signed());
            RecordAction::Keep
        })?;
        if opened && started {
            (self.num, self.columns) = (num, columns);
        }
        Ok(opened && started)
    }

    fn append(
        &mut self,
        num: i64,
        field: u32,
        seconds: f64,
        points: u64,
        fill: impl FnOnce(&mut Vec<u8>),
    ) {
        self.offline.append(num, points, |out| {
            wire::timestamp(out, record::TIMESTAMP, seconds);
            wire::message(out, field, fill);
        });
    }

    fn next_num(&mut self) -> i64 {
        self.num += 1;
        self.num
    }

    fn learn_keys(&mut self, names: &[Arc<str>]) {
        for name in &names[self.keys.len()..] {
            let text = key_text(name);
            if text != **name && !std::mem::replace(&mut self.warned_of_key, true) {
                tracing::warn!(
                    "SwanLab does not accept the metric name `{}`; the metric is called `{text}` there; \
                     other names are changed alike",
                    &name[..name.floor_char_boundary(40)]
                );
            }
            let mut field = Vec::with_capacity(text.len() + 3);
            wire::text(&mut field, 1, &text);
            let described = self.columns.contains(&text);
            self.keys.push(Key { text, field, described });
        }
    }

    fn add_point(&mut self, point: &Point, seconds: f64) {
        if !(0..=LAST_STEP).contains(&point.step) {
            self.unfit += 1;
            return;
        }
        let name = point.name as usize;
        if !self.keys[name].described {
            self.describe(name, seconds);
        }
        let num = self.next_num();
        let field = std::mem::take(&mut self.keys[name].field);
        self.append(num, record::SCALAR, seconds, 1, |out| {
            out.extend_from_slice(&field);
            wire::int(out, 2, point.step);
            wire::uint(out, 3, 1);
            wire::timestamp(out, 4, seconds);
            wire::message(out, 5, |out| wire::double(out, 1, point.value));
        });
        self.keys[name].field = field;
    }

    /// Adds the column of a key, in the section that the part before its first `/` names.
    fn describe(&mut self, name: usize, seconds: f64) {
        self.keys[name].described = true;
        let text = self.keys[name].text.clone();
        let num = self.next_num();
        self.append(num, record::COLUMN, seconds, 0, |out| {
            wire::uint(out, 1, 1);
            wire::uint(out, 2, 1);
            wire::text(out, 3, &text);
            if let Some((section, _)) = text.split_once('/') {
                wire::text(out, 5, section);
            }
            wire::uint(out, 6, 3);
        });
    }
}

impl MetricLogger for Swanlab {
    fn name(&self) -> &'static str {
        Backend::Swanlab.name()
    }

    fn directory(&self) -> PathBuf {
        self.offline.directory.path.clone()
    }

    fn start(&mut self, clock: RunClock, kept_through: Option<i64>) -> io::Result<()> {
        if let Some(kept_through) = kept_through {
            return self.resume(clock.start_seconds(), kept_through);
        }
        let earlier = self.offline.earlier_of_slot()?;
        earlier.iter().try_for_each(RunDirectory::set_aside)?;
        self.start_new(clock.start_seconds(), &earlier)
    }

    fn write(&mut self, batch: &Batch<'_>) -> Result<(), WriteError> {
        self.learn_keys(batch.names);
        for point in batch.points {
            self.add_point(point, batch.clock.seconds_at(point.nanos));
        }
        self.offline.file().flush()
    }

    fn finish(&mut self, outcome: Option<&RunOutcome>, seconds: f64) -> Result<(), WriteError> {
        let end = match outcome {
            Some(RunOutcome::Complete) => Some((1, "")),
            Some(RunOutcome::Failed(error)) => Some((2, error.as_str())),
            Some(RunOutcome::Interrupted) => Some((3, "interrupted")),
            None => None,
        };
        if let Some((state, error)) = end {
            self.append(-2, record::FINISH, seconds, 0, |out| {
                wire::uint(out, 1, state);
                wire::text(out, 2, error);
                wire::timestamp(out, 3, seconds);
            });
        }
        self.offline.file().close()
    }

    fn unfit(&self) -> u64 {
        self.unfit
    }

    fn upload(&self) -> Option<Upload> {
        // Without an id each call would make another run there.
        Some(self.offline.upload(&["--id", &self.offline.directory.id]))
    }
}

fn start_record(out: &mut Vec<u8>, offline: &OfflineRun, seconds: f64) {
    wire::text(out, 1, &project_name(&offline.run.project));
    wire::text(out, 4, limit_chars(&offline.display_name(), NAME_CHARS));
    for tag in offline.tags(NAME_CHARS) {
        wire::text(out, 6, tag);
    }
    wire::text(out, 7, limit_chars(&offline.run.group, NAME_CHARS));
    wire::text(out, 10, &offline.directory.id);
    wire::timestamp(out, 12, seconds);
}

/// The project as SwanLab takes it: 1 to 100 of `a-z`, `A-Z`, `0-9`, `_`, `-`, `+`, `.`.
fn project_name(project: &str) -> String {
    let accepts = |c: char| c.is_ascii_alphanumeric() || "_-+.".contains(c);
    offline_run::project_name("SwanLab", project, accepts, PROJECT_CHARS, "_")
}

/// The key for a name: 1 to 512 characters, none of them a control character, and neither `.`
/// nor `/` at an end. A changed one ends in a hash of the name, so that no two are merged.
fn key_text(name: &str) -> String {
    let cleaned: String = name.chars().map(|c| if c.is_control() { '_' } else { c }).collect();
    let trimmed = cleaned.trim_matches(['.', '/']);
    if trimmed == name && name.chars().count() <= KEY_CHARS {
        return name.to_owned();
    }
    format!("{}-{}", limit_chars(trimmed, KEY_CHARS - 9), short_hash("rle log key", &[name], 8))
}

/// The configuration as SwanLab keeps it: each key with its place and its value.
fn config_yaml(config: &Value) -> String {
    let mut yaml = String::new();
    for (sort, (key, value)) in config.as_object().into_iter().flatten().enumerate() {
        let _ = write!(yaml, "{}: {{desc: \"\", sort: {sort}, value: ", Value::from(key.as_str()));
        flow(&mut yaml, value);
        yaml.push_str("}\n");
    }
    yaml
}

/// YAML's flow style, which is JSON but for floats.
fn flow(yaml: &mut String, value: &Value) {
    match value {
        Value::Object(entries) => {
            yaml.push('{');
            for (key, value) in entries {
                let _ = write!(yaml, "{}: ", Value::from(key.as_str()));
                flow(yaml, value);
                yaml.push_str(", ");
            }
            yaml.push('}');
        }
        Value::Array(items) => {
            yaml.push('[');
            for item in items {
                flow(yaml, item);
                yaml.push_str(", ");
            }
            yaml.push(']');
        }
        Value::Number(number) if number.is_float() => yaml.push_str(&float(number.as_f64())),
        _ => {
            let _ = write!(yaml, "{value}");
        }
    }
}

/// A float that YAML 1.1 takes for one: with a point, and with a sign in the exponent.
fn float(x: f64) -> String {
    if x.is_nan() {
        return ".nan".to_owned();
    }
    if x.is_infinite() {
        return if x > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let text = format!("{x:?}");
    let Some((mantissa, exponent)) = text.split_once('e') else { return text };
    let point = if mantissa.contains('.') { "" } else { ".0" };
    let sign = if exponent.starts_with('-') { "" } else { "+" };
    format!("{mantissa}{point}e{sign}{exponent}")
}

#[cfg(test)]
mod tests;
