//! An offline run of SwanLab.
//!
//! Messages: the `protos` of <https://github.com/SwanHubX/SwanLab>.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::metrics::backends::record_log::{Header, RecordLog, Verdict};
use crate::metrics::backends::segment::{self, Segment};
use crate::metrics::backends::wire::{self, Fields};
use crate::metrics::hand_over::HandOver;
use crate::metrics::layout::{self, short_hash};
use crate::metrics::logger::{Fault, MetricLogger};
use crate::metrics::run::{Backend, LogMode, LogOptions, LoggedRun, RunOutcome};
use crate::metrics::sink::{Batch, Began, Point};
use crate::value::Value;

const HEADER: Header = *b":SWL\xd6\xe1\x02";
const DIRECTORY_PREFIX: &str = "run-";
/// The longest project, name or tag, and key that SwanLab takes, in characters.
const PROJECT_CHARS: usize = 100;
const NAME_CHARS: usize = 512;
const KEY_CHARS: usize = 512;
/// SwanLab's tool refuses later steps, and negative ones.
const LAST_STEP: i64 = 1 << 48;

mod record {
    pub(in crate::metrics) const NUM: u32 = 1;
    pub(in crate::metrics) const TIMESTAMP: u32 = 2;
    pub(in crate::metrics) const START: u32 = 10;
    pub(in crate::metrics) const FINISH: u32 = 11;
    pub(in crate::metrics) const COLUMN: u32 = 12;
    pub(in crate::metrics) const SCALAR: u32 = 13;
    pub(in crate::metrics) const SAVE: u32 = 20;
}

/// A run as one `.swanlab` file, which a resumed run goes on with.
///
/// SwanLab's tool sends the points of a name at steps that the service does not have yet: of two
/// at one step the first counts.
pub(in crate::metrics) struct Swanlab {
    run: LoggedRun,
    online: bool,
    root: PathBuf,
    directory: PathBuf,
    id: String,
    log: Option<RecordLog>,
    /// The number of the last record that counts.
    num: i64,
    keys: Vec<Key>,
    /// Keys that the file describes.
    columns: HashSet<String>,
    unfit: u64,
    warned_of_key: bool,
    /// A record being put together.
    bytes: Vec<u8>,
}

struct Key {
    text: String,
    /// Its field in a scalar, encoded.
    field: Vec<u8>,
    described: bool,
}

impl Swanlab {
    pub(in crate::metrics) fn new(options: &LogOptions, run: &LoggedRun) -> Self {
        let root = layout::directory(run, &options.log_dir, Backend::Swanlab);
        Self {
            run: run.clone(),
            online: options.mode == LogMode::Online,
            directory: root.clone(),
            root,
            id: String::new(),
            log: None,
            num: 0,
            keys: Vec::new(),
            columns: HashSet::new(),
            unfit: 0,
            warned_of_key: false,
            bytes: Vec::new(),
        }
    }

    fn log(&mut self) -> &mut RecordLog {
        self.log.as_mut().expect("a logger is started before it is used")
    }

    /// The first digits of the ids of a slot: SwanLab's own ids are 21 lower-case letters and
    /// digits at most.
    fn slot_digits(&self) -> String {
        slot_digits(&layout::slot(&self.run))
    }

    /// What a slot has below a directory of this backend.
    pub(in crate::metrics) fn directories(root: &Path, slot: &str) -> io::Result<Vec<PathBuf>> {
        let found = segment::segments(root, DIRECTORY_PREFIX, &slot_digits(slot))?;
        Ok(found.into_iter().map(|segment| segment.directory).collect())
    }

    fn request_digits(&self) -> String {
        short_hash("rle log request", &[&self.run.request], 6)
    }

    fn start_afresh(&mut self, seconds: f64, latest: Option<&str>) -> io::Result<()> {
        self.id = self.slot_digits() + &self.request_digits() + &segment::nonce(6);
        self.directory = segment::create(&self.root, DIRECTORY_PREFIX, &self.id, seconds, latest)?;
        let files = self.directory.join("files");
        fs::create_dir(&files)?;
        let config = fs::canonicalize(&files)?.join("config.yaml");
        fs::write(&config, config_yaml(&self.run.config))?;
        self.num = 0;
        self.log = Some(RecordLog::create(&run_file(&self.directory, &self.id), HEADER)?);
        let (run, id) = (self.run.clone(), self.id.clone());
        self.append(-1, record::START, seconds, 0, |out| start_record(out, &run, &id, seconds));
        self.append(-3, record::SAVE, seconds, 0, |out| {
            wire::text(out, 1, "config");
            wire::text(out, 2, &config.to_string_lossy());
            wire::uint(out, 5, 1);
        });
        self.log().flush().map_err(|fault| fault.source)
    }

    fn go_on(&mut self, seconds: f64, kept_through: i64) -> io::Result<()> {
        let digits = self.slot_digits() + &self.request_digits();
        let earlier = segment::segments(&self.root, DIRECTORY_PREFIX, &digits)?;
        let Some(last) = earlier.last() else { return self.start_afresh(seconds, None) };
        match self.reopen(last, kept_through) {
            Err(error) if segment::is_unborn(&error) => {
                segment::set_aside(last)?;
                self.start_afresh(seconds, Some(&last.stamp))
            }
            reopened => reopened,
        }
    }

    fn reopen(&mut self, last: &Segment, kept_through: i64) -> io::Result<()> {
        let (mut columns, mut num, mut started) = (HashSet::new(), 0, false);
        let log = RecordLog::reopen(&run_file(&last.directory, &last.id), HEADER, |bytes| {
            let has = |kind| Fields::bytes_of(bytes, kind);
            if has(record::FINISH).is_some() {
                return Verdict::Drop;
            }
            if let Some(scalar) = has(record::SCALAR) {
                let step = Fields::number_of(scalar, 2).unwrap_or(0).cast_signed();
                if step > kept_through {
                    return Verdict::Supersede;
                }
            }
            if let Some(key) = has(record::COLUMN).and_then(|column| Fields::text_of(column, 3)) {
                columns.insert(key.to_owned());
            }
            started |= has(record::START).is_some();
            num = num.max(Fields::number_of(bytes, record::NUM).unwrap_or(0).cast_signed());
            Verdict::Keep
        })?;
        if !started {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        (self.log, self.num, self.columns) = (Some(log), num, columns);
        self.directory.clone_from(&last.directory);
        self.id.clone_from(&last.id);
        Ok(())
    }

    fn append(
        &mut self,
        num: i64,
        field: u32,
        seconds: f64,
        points: u64,
        fill: impl FnOnce(&mut Vec<u8>),
    ) {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        wire::int(&mut bytes, record::NUM, num);
        wire::timestamp(&mut bytes, record::TIMESTAMP, seconds);
        wire::message(&mut bytes, field, fill);
        self.log().append(&bytes, points);
        self.bytes = bytes;
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
                    "SwanLab takes no metric called `{}`; it is `{text}` there, and others are \
                     changed alike",
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

fn slot_digits(slot: &str) -> String {
    short_hash("rle log slot", &[slot], 9)
}

impl MetricLogger for Swanlab {
    fn name(&self) -> &'static str {
        Backend::Swanlab.name()
    }

    fn directory(&self) -> PathBuf {
        self.directory.clone()
    }

    fn start(&mut self, began: Began, kept_through: Option<i64>) -> io::Result<()> {
        if let Some(kept_through) = kept_through {
            return self.go_on(began.seconds(), kept_through);
        }
        let earlier = segment::segments(&self.root, DIRECTORY_PREFIX, &self.slot_digits())?;
        earlier.iter().try_for_each(segment::set_aside)?;
        self.start_afresh(began.seconds(), earlier.last().map(|segment| segment.stamp.as_str()))
    }

    fn write(&mut self, batch: &Batch<'_>) -> Result<(), Fault> {
        self.learn_keys(batch.names);
        for point in batch.points {
            self.add_point(point, batch.began.at(point.nanos));
        }
        self.log().flush()
    }

    fn finish(&mut self, outcome: Option<&RunOutcome>, seconds: f64) -> Result<(), Fault> {
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
        self.log().close()
    }

    fn unfit(&self) -> u64 {
        self.unfit
    }

    fn hand_over(&self) -> Option<HandOver> {
        // Without an id each call would make another run there.
        let directory = self.directory.clone().into_os_string();
        let arguments = ["sync".into(), "--id".into(), self.id.clone().into(), directory];
        Some(HandOver::new("swanlab", arguments, self.online, &self.directory))
    }
}

fn run_file(directory: &Path, id: &str) -> PathBuf {
    directory.join(format!("run-{id}.swanlab"))
}

fn start_record(out: &mut Vec<u8>, run: &LoggedRun, id: &str, seconds: f64) {
    wire::text(out, 1, &project_name(&run.project));
    wire::text(out, 4, cut(&format!("{}-{}", run.name, layout::slot(run)), NAME_CHARS));
    for tag in run.tags.iter().filter(|tag| !tag.is_empty()) {
        wire::text(out, 6, cut(tag, NAME_CHARS));
    }
    wire::text(out, 7, cut(&run.group, NAME_CHARS));
    wire::text(out, 10, id);
    wire::timestamp(out, 12, seconds);
}

/// The project as SwanLab takes it: 1 to 100 of `a-z`, `A-Z`, `0-9`, `_`, `-`, `+`, `.`.
fn project_name(project: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_-+.".contains(c);
    let cleaned: String = project.chars().map(|c| if fits(c) { c } else { '_' }).collect();
    let name = cut(&cleaned, PROJECT_CHARS);
    let name = if name.is_empty() { "_" } else { name };
    layout::accepted_project("SwanLab", project, name.to_owned())
}

/// The key for a name: 1 to 512 characters, none of them a control character, and neither `.`
/// nor `/` at an end. A changed one ends in a hash of the name, so that no two are merged.
fn key_text(name: &str) -> String {
    let cleaned: String = name.chars().map(|c| if c.is_control() { '_' } else { c }).collect();
    let trimmed = cleaned.trim_matches(['.', '/']);
    if trimmed == name && name.chars().count() <= KEY_CHARS {
        return name.to_owned();
    }
    format!("{}-{}", cut(trimmed, KEY_CHARS - 9), short_hash("rle log key", &[name], 8))
}

fn cut(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or(text, |(end, _)| &text[..end])
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
