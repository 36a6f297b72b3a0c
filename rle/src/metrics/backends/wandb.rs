//! An offline run of Weights & Biases.
//!
//! Messages: `wandb_internal.proto` of <https://github.com/wandb/wandb>.

mod past;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::machine::host;
use crate::metrics::backends::record_log::{Header, RecordLog, Records};
use crate::metrics::backends::segment::{self, Segment};
use crate::metrics::backends::wire::{self, Fields};
use crate::metrics::hand_over::HandOver;
use crate::metrics::layout::{self, short_hash};
use crate::metrics::logger::{Fault, MetricLogger};
use crate::metrics::run::{Backend, LogMode, LogOptions, LoggedRun, RunOutcome};
use crate::metrics::sink::{Batch, Began, Point};
use past::{Past, PastRow};

const HEADER: Header = *b":W&B\xe1\xbe\x00";
/// W&B's tool takes only directories that begin so for offline runs.
const DIRECTORY_PREFIX: &str = "offline-run-";
/// W&B's tool leaves this beside a file that it has sent.
const SENT_MARK: &str = "wandb.synced";
/// The longest project, group and display name that W&B takes, in characters.
const NAME_CHARS: usize = 128;
/// The longest tag that W&B takes, in characters.
const TAG_CHARS: usize = 64;

mod record {
    pub(in crate::metrics) const NUM: u32 = 1;
    pub(in crate::metrics) const HISTORY: u32 = 2;
    pub(in crate::metrics) const SUMMARY: u32 = 3;
    pub(in crate::metrics) const RUN: u32 = 17;
    pub(in crate::metrics) const EXIT: u32 = 18;
    pub(in crate::metrics) const HEADER: u32 = 21;
}

mod item {
    pub(in crate::metrics) const KEY: u32 = 1;
    pub(in crate::metrics) const NESTED_KEY: u32 = 2;
    pub(in crate::metrics) const JSON: u32 = 16;
}

/// A run as one `.wandb` file.
///
/// W&B's history is a list of rows with rising steps. All values of a step are one row; the row
/// of the present step is in the file too, and replaced when more of it comes.
pub(in crate::metrics) struct Wandb {
    run: LoggedRun,
    online: bool,
    root: PathBuf,
    directory: PathBuf,
    log: Option<RecordLog>,
    /// The number of the last record.
    num: i64,
    began: f64,
    /// Seconds that earlier attempts took.
    runtime_before: f64,
    /// Rows have to be of later steps: these have been sent, or are in the file.
    floor: Option<i64>,
    keys: Vec<Key>,
    row: Option<Row>,
    /// Names whose value in the summary is not the last one.
    changed: Vec<u32>,
    unfit: u64,
}

/// What is known of a name.
struct Key {
    /// Its field in an item, encoded.
    field: Vec<u8>,
    /// Where in the present row its value stands, if the row is of that number.
    place: (u64, usize),
    last: f64,
    changed: bool,
}

/// The row of the present step.
struct Row {
    step: i64,
    /// Tells it from other rows.
    number: u64,
    values: Vec<(u32, f64)>,
    seconds: f64,
    /// Where it begins, when it is in the file already.
    position: Option<u64>,
}

impl Wandb {
    pub(in crate::metrics) fn new(options: &LogOptions, run: &LoggedRun) -> Self {
        let root = layout::directory(run, &options.log_dir, Backend::Wandb);
        Self {
            run: run.clone(),
            online: options.mode == LogMode::Online,
            directory: root.clone(),
            root,
            log: None,
            num: 0,
            began: 0.0,
            runtime_before: 0.0,
            floor: None,
            keys: Vec::new(),
            row: None,
            changed: Vec::new(),
            unfit: 0,
        }
    }

    /// What a slot has below a directory of this backend.
    pub(in crate::metrics) fn directories(root: &Path, slot: &str) -> io::Result<Vec<PathBuf>> {
        let found = segment::segments(root, DIRECTORY_PREFIX, &format!("{slot}-"))?;
        Ok(found.into_iter().map(|segment| segment.directory).collect())
    }

    fn log(&mut self) -> &mut RecordLog {
        self.log.as_mut().expect("a logger is started before it is used")
    }

    /// The id's part that tells slots and requests apart: `ippo_1-3fa9c1`.
    fn id_prefix(&self) -> String {
        let request = short_hash("rle log request", &[&self.run.request], 6);
        format!("{}-{request}", layout::slot(&self.run))
    }

    fn start_afresh(&mut self, latest: Option<&str>) -> io::Result<()> {
        let id = self.id_prefix() + &segment::nonce(6);
        self.start_segment(&id, latest, false)
    }

    fn start_segment(&mut self, id: &str, latest: Option<&str>, goes_on: bool) -> io::Result<()> {
        self.directory = segment::create(&self.root, DIRECTORY_PREFIX, id, self.began, latest)?;
        let log = RecordLog::create(&run_file(&self.directory, id), HEADER)?;
        self.log = Some(log);
        self.append(record::HEADER, 0, |out| {
            wire::message(out, 1, |out| {
                wire::text(out, 1, concat!("rle-", env!("CARGO_PKG_VERSION")));
                wire::text(out, 2, "0.70.0");
            });
        });
        let (run, began) = (self.run.clone(), self.began);
        self.append(record::RUN, 0, |out| run_record(out, &run, id, began, goes_on));
        self.log().flush().map_err(|fault| fault.source)
    }

    /// Goes on with what has been logged, up to and with a step.
    fn go_on(&mut self, kept_through: i64) -> io::Result<()> {
        let earlier = segment::segments(&self.root, DIRECTORY_PREFIX, &self.id_prefix())?;
        let Some(last) = earlier.last() else { return self.start_afresh(None) };
        for sent in earlier.iter().filter(|segment| segment.id == last.id && is_sent(segment)) {
            self.look_back(sent)?;
        }
        if is_sent(last) {
            return self.start_segment(&last.id, Some(&last.stamp), true);
        }
        match self.reopen(last, kept_through) {
            // Killed before its first records were written.
            Err(error) if segment::is_unborn(&error) => {
                segment::set_aside(last)?;
                self.start_afresh(Some(&last.stamp))
            }
            reopened => reopened,
        }
    }

    /// Learns from a segment that has been sent what can only be gone on from.
    fn look_back(&mut self, sent: &Segment) -> io::Result<()> {
        let mut records = Records::open(&run_file(&sent.directory, &sent.id), HEADER)?;
        while let Some(bytes) = records.next_record()? {
            if let Some(row) = Fields::bytes_of(bytes, record::HISTORY).and_then(PastRow::read) {
                self.floor = self.floor.max(Some(row.step));
                self.runtime_before = self.runtime_before.max(row.runtime);
            }
        }
        Ok(())
    }

    fn reopen(&mut self, last: &Segment, kept_through: i64) -> io::Result<()> {
        self.directory.clone_from(&last.directory);
        let mut past = Past::new(self.floor, self.runtime_before);
        let path = run_file(&last.directory, &last.id);
        self.log = Some(RecordLog::reopen(&path, HEADER, |bytes| past.judge(bytes, kept_through))?);
        if past.num < 2 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        (self.num, self.floor, self.runtime_before) = (past.num, past.floor, past.runtime);
        let last = past.last;
        self.append(record::SUMMARY, 0, |out| {
            for (key, json) in &last {
                wire::message(out, 1, |out| {
                    wire::text(out, item::NESTED_KEY, key);
                    wire::text(out, item::JSON, json);
                });
            }
        });
        self.log().flush().map_err(|fault| fault.source)
    }

    fn append(&mut self, field: u32, points: u64, fill: impl FnOnce(&mut Vec<u8>)) {
        self.num += 1;
        let mut bytes = Vec::new();
        wire::int(&mut bytes, record::NUM, self.num);
        wire::message(&mut bytes, field, fill);
        self.log().append(&bytes, points);
    }

    fn learn_keys(&mut self, names: &[Arc<str>]) {
        for name in &names[self.keys.len()..] {
            let mut field = Vec::with_capacity(name.len() + 3);
            wire::text(&mut field, item::NESTED_KEY, name);
            self.keys.push(Key { field, place: (0, 0), last: f64::NAN, changed: false });
        }
    }

    fn add_point(&mut self, point: &Point, seconds: f64) {
        let behind = match &self.row {
            Some(row) => point.step < row.step,
            None => self.floor.is_some_and(|floor| point.step <= floor),
        };
        if behind {
            self.unfit += 1;
            if self.unfit == 1 {
                tracing::warn!(
                    "{}: step {} comes after a later one; W&B takes rising steps only, so that \
                     its curves miss such points",
                    layout::slot(&self.run),
                    point.step
                );
            }
            return;
        }
        if self.row.as_ref().is_some_and(|row| row.step < point.step) {
            self.complete_row();
        }
        let number = u64::try_from(self.num).unwrap_or_default() + 1;
        let row = self.row.get_or_insert_with(|| Row {
            step: point.step,
            number,
            values: Vec::new(),
            seconds,
            position: None,
        });
        row.seconds = seconds;
        let key = &mut self.keys[point.name as usize];
        if key.place.0 == row.number {
            row.values[key.place.1].1 = point.value;
        } else {
            key.place = (row.number, row.values.len());
            row.values.push((point.name, point.value));
        }
        key.last = point.value;
        if !std::mem::replace(&mut key.changed, true) {
            self.changed.push(point.name);
        }
    }

    fn complete_row(&mut self) {
        if let Some(row) = self.row.take() {
            self.append_row(&row, row.values.len() as u64);
            self.floor = Some(row.step);
        }
    }

    fn append_row(&mut self, row: &Row, points: u64) {
        let keys = std::mem::take(&mut self.keys);
        let runtime = self.runtime(row.seconds);
        self.append(record::HISTORY, points, |out| {
            for (name, value) in &row.values {
                wire::message(out, 1, |out| {
                    out.extend_from_slice(&keys[*name as usize].field);
                    json_item(out, *value);
                });
            }
            times(out, row.seconds, runtime);
            wire::message(out, 1, |out| {
                wire::text(out, item::NESTED_KEY, "_step");
                wire::text(out, item::JSON, &row.step.to_string());
            });
            wire::message(out, 2, |out| wire::int(out, 1, row.step));
        });
        self.keys = keys;
    }

    fn append_summary(&mut self) {
        if self.changed.is_empty() {
            return;
        }
        let (Some(step), seconds) = (
            self.row.as_ref().map(|row| row.step).or(self.floor),
            self.row.as_ref().map_or(self.began, |row| row.seconds),
        ) else {
            return;
        };
        let runtime = self.runtime(seconds);
        let mut keys = std::mem::take(&mut self.keys);
        let changed = std::mem::take(&mut self.changed);
        self.append(record::SUMMARY, 0, |out| {
            for name in &changed {
                let key = &mut keys[*name as usize];
                key.changed = false;
                wire::message(out, 1, |out| {
                    out.extend_from_slice(&key.field);
                    json_item(out, key.last);
                });
            }
            times(out, seconds, runtime);
            wire::message(out, 1, |out| {
                wire::text(out, item::NESTED_KEY, "_step");
                wire::text(out, item::JSON, &step.to_string());
            });
        });
        self.keys = keys;
    }

    fn runtime(&self, seconds: f64) -> f64 {
        self.runtime_before + seconds - self.began
    }

    fn rewind_row(&mut self) {
        if let Some(position) = self.row.as_mut().and_then(|row| row.position.take()) {
            self.log().rewind(position);
        }
    }
}

impl MetricLogger for Wandb {
    fn name(&self) -> &'static str {
        Backend::Wandb.name()
    }

    fn directory(&self) -> PathBuf {
        self.directory.clone()
    }

    fn start(&mut self, began: Began, kept_through: Option<i64>) -> io::Result<()> {
        self.began = began.seconds();
        if let Some(kept_through) = kept_through {
            return self.go_on(kept_through);
        }
        let slot = layout::slot(&self.run) + "-";
        let earlier = segment::segments(&self.root, DIRECTORY_PREFIX, &slot)?;
        earlier.iter().filter(|segment| !is_sent(segment)).try_for_each(segment::set_aside)?;
        self.start_afresh(earlier.last().map(|segment| segment.stamp.as_str()))
    }

    fn write(&mut self, batch: &Batch<'_>) -> Result<(), Fault> {
        self.learn_keys(batch.names);
        self.rewind_row();
        for point in batch.points {
            self.add_point(point, batch.began.at(point.nanos));
        }
        self.append_summary();
        if let Some(mut row) = self.row.take() {
            row.position = Some(self.log().position());
            self.append_row(&row, 0);
            // The next record takes its place, and its number.
            self.num -= 1;
            self.row = Some(row);
        }
        self.log().flush()
    }

    fn finish(&mut self, outcome: Option<&RunOutcome>, seconds: f64) -> Result<(), Fault> {
        self.rewind_row();
        self.complete_row();
        // In full: what was lost to a full disk comes back here.
        self.changed = (0_u32..).take(self.keys.len()).collect();
        self.append_summary();
        let code = match outcome {
            Some(RunOutcome::Complete) => Some(0),
            Some(RunOutcome::Failed(_)) => Some(1),
            // As the exit status of an interrupted suite.
            Some(RunOutcome::Interrupted) => Some(3),
            None => None,
        };
        if let Some(code) = code {
            let runtime = self.runtime(seconds);
            self.append(record::EXIT, 0, |out| {
                wire::int(out, 1, code);
                #[expect(clippy::cast_possible_truncation, reason = "whole seconds")]
                wire::int(out, 2, runtime as i64);
            });
        }
        self.log().close()
    }

    fn unfit(&self) -> u64 {
        self.unfit
    }

    fn hand_over(&self) -> Option<HandOver> {
        let arguments = ["sync".into(), self.directory.clone().into_os_string()];
        Some(HandOver::new("wandb", arguments, self.online, &self.directory))
    }
}

fn run_file(directory: &Path, id: &str) -> PathBuf {
    directory.join(format!("run-{id}.wandb"))
}

fn is_sent(segment: &Segment) -> bool {
    run_file(&segment.directory, &segment.id).with_extension(SENT_MARK).exists()
}

fn run_record(out: &mut Vec<u8>, run: &LoggedRun, id: &str, began: f64, goes_on: bool) {
    wire::text(out, 1, id);
    wire::text(out, 3, &project_name(&run.project));
    wire::message(out, 4, |out| {
        for (key, value) in run.config.as_object().into_iter().flatten() {
            wire::message(out, 1, |out| {
                wire::text(out, item::KEY, key);
                wire::text(out, item::JSON, &value.to_string());
            });
        }
    });
    wire::text(out, 6, cut(&run.group, NAME_CHARS));
    wire::text(out, 8, cut(&format!("{}-{}", run.name, layout::slot(run)), NAME_CHARS));
    for tag in run.tags.iter().filter(|tag| !tag.is_empty()) {
        wire::text(out, 10, cut(tag, TAG_CHARS));
    }
    wire::text(out, 13, &host::name());
    wire::timestamp(out, 17, began);
    if goes_on {
        wire::uint(out, 24, 1);
    }
}

/// The project as W&B takes it: at most 128 characters, and none of `/\#?%:`.
fn project_name(project: &str) -> String {
    let fits = |c: char| !"/\\#?%:".contains(c) && !c.is_control();
    let cleaned: String = project.chars().map(|c| if fits(c) { c } else { '_' }).collect();
    let name = cut(&cleaned, NAME_CHARS);
    let name = if name.is_empty() { "uncategorized" } else { name };
    layout::accepted_project("W&B", project, name.to_owned())
}

fn cut(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or(text, |(end, _)| &text[..end])
}

fn times(out: &mut Vec<u8>, seconds: f64, runtime: f64) {
    for (key, value) in [("_timestamp", seconds), ("_runtime", runtime)] {
        wire::message(out, 1, |out| {
            wire::text(out, item::NESTED_KEY, key);
            json_item(out, value);
        });
    }
}

/// The value of an item as W&B's own client writes it: with bare words for what JSON lacks.
fn json_item(out: &mut Vec<u8>, value: f64) {
    wire::message(out, item::JSON, |out| {
        let written = if value.is_nan() {
            out.write_all(b"NaN")
        } else if value.is_infinite() {
            out.write_all(if value > 0.0 { b"Infinity" } else { b"-Infinity" })
        } else {
            write!(out, "{value:?}")
        };
        written.expect("a vector takes everything");
    });
}

#[cfg(test)]
mod tests;
