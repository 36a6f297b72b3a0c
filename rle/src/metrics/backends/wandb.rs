//! An offline run of Weights & Biases.
//!
//! Messages: `wandb_internal.proto` of <https://github.com/wandb/wandb>.
//!
//! - `earlier_run`: the numbers of the fields, and what the file of an earlier attempt holds.

mod earlier_run;
#[cfg(test)]
mod tests;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::offline_run::{self, OfflineRun, limit_chars};
use super::record_log::Records;
use super::run_directory::{Format, RunDirectory};
use super::wire::{self, Fields};
use crate::machine::host;
use crate::metrics::layout;
use crate::metrics::logger::{MetricLogger, WriteError};
use crate::metrics::run::{Backend, LogOptions, LoggedRun, RunOutcome};
use crate::metrics::sink::{Batch, Point, RunClock};
use crate::metrics::upload::Upload;
use crate::value::non_finite_word;
use earlier_run::{EarlierRun, HistoryRow, item, record};

static FORMAT: Format = Format {
    backend: Backend::Wandb,
    header: *b":W&B\xe1\xbe\x00",
    // W&B's tool takes only directories that begin so for offline runs.
    directory_prefix: "offline-run-",
    slot_prefix: |slot| format!("{slot}-"),
};
/// W&B's tool leaves this beside a file that it has sent.
const UPLOADED_MARK: &str = "wandb.synced";
/// The longest project, group and display name that W&B takes, in characters.
const NAME_CHARS: usize = 128;
/// The longest tag that W&B takes, in characters.
const TAG_CHARS: usize = 64;

/// A run as one `.wandb` file.
///
/// W&B's history is a list of rows with rising steps. All values of a step are one row; the row
/// of the present step is in the file too, and replaced when more of it comes.
pub(in crate::metrics) struct Wandb {
    offline: OfflineRun,
    /// The number of the last record.
    num: i64,
    start_seconds: f64,
    /// Seconds that earlier attempts took.
    runtime_before: f64,
    /// The step of the last complete row; further rows must be of later steps.
    last_step: Option<i64>,
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

/// The directories of a slot (`ippo_1`) below the directory of an experiment.
pub(in crate::metrics) fn directories(experiment: &Path, slot: &str) -> io::Result<Vec<PathBuf>> {
    FORMAT.directories(experiment, slot)
}

impl Wandb {
    pub(in crate::metrics) fn new(options: &LogOptions, run: &LoggedRun) -> Self {
        Self {
            offline: OfflineRun::new(&FORMAT, options, run),
            num: 0,
            start_seconds: 0.0,
            runtime_before: 0.0,
            last_step: None,
            keys: Vec::new(),
            row: None,
            changed: Vec::new(),
            unfit: 0,
        }
    }

    /// Starts a file; with an id it continues the run of an uploaded one.
    fn start_file(&mut self, id: Option<String>, earlier: &[RunDirectory]) -> io::Result<()> {
        let resumed = id.is_some();
        self.offline.create(id, self.start_seconds, earlier)?;
        self.append(record::HEADER, 0, |out| {
            wire::message(out, 1, |out| {
                wire::text(out, 1, concat!("rle-", env!("CARGO_PKG_VERSION")));
                wire::text(out, 2, "0.70.0");
            });
        });
        let mut run = Vec::new();
        run_record(&mut run, &self.offline, self.start_seconds, resumed);
        self.append(record::RUN, 0, |out| out.extend_from_slice(&run));
        self.offline.flush()
    }

    /// Continues what has been logged, up to and including a step.
    fn resume(&mut self, kept_through: i64) -> io::Result<()> {
        let earlier = self.offline.earlier_of_request()?;
        let Some(last) = earlier.last() else { return self.start_file(None, &[]) };
        let uploaded = earlier.iter().filter(|run| run.id == last.id && is_uploaded(run));
        uploaded.into_iter().try_for_each(|run| self.read_uploaded(run))?;
        if is_uploaded(last) {
            return self.start_file(Some(last.id.clone()), &earlier);
        }
        if self.reopen(last, kept_through)? {
            return Ok(());
        }
        last.set_aside()?;
        self.start_file(None, &earlier)
    }

    /// Reads how far a run got that has been uploaded: its rows can no longer be superseded.
    fn read_uploaded(&mut self, uploaded: &RunDirectory) -> io::Result<()> {
        let mut records = Records::open(&uploaded.file, FORMAT.header)?;
        while let Some(bytes) = records.next_record()? {
            if let Some(row) = Fields::bytes_of(bytes, record::HISTORY).and_then(HistoryRow::read) {
                self.last_step = self.last_step.max(Some(row.step));
                self.runtime_before = self.runtime_before.max(row.runtime);
            }
        }
        Ok(())
    }

    /// False where the writer of the earlier file was killed before its first records.
    fn reopen(&mut self, last: &RunDirectory, kept_through: i64) -> io::Result<bool> {
        let mut earlier = EarlierRun::new(self.last_step, self.runtime_before);
        let opened = self.offline.reopen(last, |bytes| earlier.filter(bytes, kept_through))?;
        if !opened || earlier.num < 2 {
            return Ok(false);
        }
        (self.num, self.last_step) = (earlier.num, earlier.last_step);
        self.runtime_before = earlier.runtime;
        self.append(record::SUMMARY, 0, |out| {
            for (key, json) in &earlier.last_values {
                json_text(out, key, json);
            }
        });
        self.offline.flush().map(|()| true)
    }

    fn append(&mut self, field: u32, points: u64, fill: impl FnOnce(&mut Vec<u8>)) {
        self.num += 1;
        self.offline.append(self.num, points, |out| wire::message(out, field, fill));
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
            None => self.last_step.is_some_and(|last| point.step <= last),
        };
        if behind {
            self.unfit += 1;
            if self.unfit == 1 {
                tracing::warn!(
                    "{}: step {} comes after a later one; W&B takes rising steps only, so that \
                     its curves miss such points",
                    layout::slot(&self.offline.run),
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
            self.last_step = Some(row.step);
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
            json_text(out, "_step", &row.step.to_string());
            wire::message(out, 2, |out| wire::int(out, 1, row.step));
        });
        self.keys = keys;
    }

    fn append_summary(&mut self) {
        if self.changed.is_empty() {
            return;
        }
        let (Some(step), seconds) = (
            self.row.as_ref().map(|row| row.step).or(self.last_step),
            self.row.as_ref().map_or(self.start_seconds, |row| row.seconds),
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
            json_text(out, "_step", &step.to_string());
        });
        self.keys = keys;
    }

    fn runtime(&self, seconds: f64) -> f64 {
        self.runtime_before + seconds - self.start_seconds
    }

    fn rewind_row(&mut self) {
        if let Some(position) = self.row.as_mut().and_then(|row| row.position.take()) {
            self.offline.file().rewind(position);
        }
    }
}

impl MetricLogger for Wandb {
    fn name(&self) -> &'static str {
        Backend::Wandb.name()
    }

    fn directory(&self) -> PathBuf {
        self.offline.directory.path.clone()
    }

    fn start(&mut self, clock: RunClock, kept_through: Option<i64>) -> io::Result<()> {
        self.start_seconds = clock.start_seconds();
        if let Some(kept_through) = kept_through {
            return self.resume(kept_through);
        }
        let earlier = self.offline.earlier_of_slot()?;
        let replaced = earlier.iter().filter(|run| !is_uploaded(run));
        replaced.into_iter().try_for_each(RunDirectory::set_aside)?;
        self.start_file(None, &earlier)
    }

    fn write(&mut self, batch: &Batch<'_>) -> Result<(), WriteError> {
        self.learn_keys(batch.names);
        self.rewind_row();
        for point in batch.points {
            self.add_point(point, batch.clock.seconds_at(point.nanos));
        }
        self.append_summary();
        if let Some(mut row) = self.row.take() {
            row.position = Some(self.offline.file().position());
            self.append_row(&row, 0);
            // The next record takes its place, and its number.
            self.num -= 1;
            self.row = Some(row);
        }
        self.offline.file().flush()
    }

    fn finish(&mut self, outcome: Option<&RunOutcome>, seconds: f64) -> Result<(), WriteError> {
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
        self.offline.file().close()
    }

    fn unfit(&self) -> u64 {
        self.unfit
    }

    fn upload(&self) -> Option<Upload> {
        Some(self.offline.upload(&[]))
    }
}

fn is_uploaded(run: &RunDirectory) -> bool {
    run.file.with_extension(UPLOADED_MARK).exists()
}

fn run_record(out: &mut Vec<u8>, offline: &OfflineRun, start_seconds: f64, resumed: bool) {
    let run = &offline.run;
    wire::text(out, 1, &offline.directory.id);
    wire::text(out, 3, &project_name(&run.project));
    wire::message(out, 4, |out| {
        for (key, value) in run.config.as_object().into_iter().flatten() {
            wire::message(out, 1, |out| {
                wire::text(out, item::KEY, key);
                wire::text(out, item::JSON, &value.to_string());
            });
        }
    });
    wire::text(out, 6, limit_chars(&run.group, NAME_CHARS));
    wire::text(out, 8, limit_chars(&offline.display_name(), NAME_CHARS));
    for tag in offline.tags(TAG_CHARS) {
        wire::text(out, 10, tag);
    }
    wire::text(out, 13, &host::name());
    wire::timestamp(out, 17, start_seconds);
    if resumed {
        wire::uint(out, 24, 1);
    }
}

/// The project as W&B takes it: at most 128 characters, and none of `/\#?%:`.
fn project_name(project: &str) -> String {
    let accepts = |c: char| !"/\\#?%:".contains(c) && !c.is_control();
    offline_run::project_name("W&B", project, accepts, NAME_CHARS, "uncategorized")
}

/// An item whose value is given as JSON.
fn json_text(out: &mut Vec<u8>, key: &str, json: &str) {
    wire::message(out, 1, |out| {
        wire::text(out, item::NESTED_KEY, key);
        wire::text(out, item::JSON, json);
    });
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
        let written = if value.is_finite() {
            write!(out, "{value:?}")
        } else {
            out.write_all(non_finite_word(value).as_bytes())
        };
        written.expect("a vector takes everything");
    });
}
