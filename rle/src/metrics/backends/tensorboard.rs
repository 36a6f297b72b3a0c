//! TensorBoard's event files.
//!
//! Framing: <https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/lib/io/record_writer.h>;
//! messages: `event.proto`, `summary.proto`, and `plugin_data.proto` of the hparams plugin.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::checksum::CRC32C;
use super::file::LogFile;
use super::record_log::aside_name;
use super::wire::{self, Fields};
use crate::machine::host;
use crate::metrics::layout;
use crate::metrics::logger::{MetricLogger, WriteError};
use crate::metrics::run::{Backend, LogOptions, LoggedRun, RunOutcome};
use crate::metrics::sink::{Batch, Point, RunClock};
use crate::value::Value;

/// Every reader knows event files by this part of their name.
const MARK: &str = "tfevents";
const PREFIX: &str = "events.out.tfevents.";
const START_TAG: &str = "_hparams_/session_start_info";
const END_TAG: &str = "_hparams_/session_end_info";
/// Points of one step that share an event, at most.
const VALUES_PER_EVENT: usize = 1_000;

mod event {
    pub(in crate::metrics) const WALL_TIME: u32 = 1;
    pub(in crate::metrics) const STEP: u32 = 2;
    pub(in crate::metrics) const FILE_VERSION: u32 = 3;
    pub(in crate::metrics) const SUMMARY: u32 = 5;
    pub(in crate::metrics) const SESSION_LOG: u32 = 7;
}

/// A run as event files in a directory of its own.
///
/// There is no `_hparams_/experiment` record: TensorBoard takes the first one it finds for all
/// runs, which would hide the keys of every other algorithm. Without one it gathers the keys and
/// metrics of all runs.
pub(in crate::metrics) struct TensorBoard {
    run: LoggedRun,
    directory: PathBuf,
    file: Option<LogFile>,
    /// The tag fields, encoded, by the index of the name.
    tags: Vec<Vec<u8>>,
    /// A summary message being put together.
    summary: Vec<u8>,
}

impl TensorBoard {
    pub(in crate::metrics) fn new(options: &LogOptions, run: &LoggedRun) -> Self {
        let directory =
            layout::directory(run, &options.log_dir, Backend::TensorBoard).join(layout::slot(run));
        Self { run: run.clone(), directory, file: None, tags: Vec::new(), summary: Vec::new() }
    }

    fn file(&mut self) -> &mut LogFile {
        self.file.as_mut().expect("a logger is started before it is used")
    }

    fn learn_tags(&mut self, names: &[Arc<str>]) {
        for name in &names[self.tags.len()..] {
            let mut tag = Vec::with_capacity(name.len() + 3);
            wire::text(&mut tag, 1, name);
            self.tags.push(tag);
        }
    }

    /// One event with all points, which are of one step.
    fn add_points(&mut self, points: &[Point], seconds: f64) {
        self.summary.clear();
        for point in points {
            let tag = &self.tags[point.name as usize];
            // The tag, then the key and the four bytes of a float.
            let length = tag.len() as u64 + 5;
            self.summary.push(1 << 3 | 2);
            wire::varint(&mut self.summary, length);
            self.summary.extend_from_slice(tag);
            // Doubles would be missing from TensorBoard's usual loader.
            #[expect(clippy::cast_possible_truncation, reason = "the format holds floats")]
            wire::float(&mut self.summary, 2, point.value as f32);
        }
        let summary = std::mem::take(&mut self.summary);
        let step = points.first().map_or(0, |point| point.step);
        let file = self.file();
        frame(file.waiting(), |out| {
            wire::double(out, event::WALL_TIME, seconds);
            wire::int(out, event::STEP, step);
            wire::bytes(out, event::SUMMARY, &summary);
        });
        file.add_points(points.len() as u64);
        self.summary = summary;
    }

    /// A record of the hparams plugin, which is nothing but metadata.
    fn add_hparams(&mut self, tag: &str, seconds: f64, content: impl FnOnce(&mut Vec<u8>)) {
        frame(self.file().waiting(), |out| {
            wire::double(out, event::WALL_TIME, seconds);
            wire::message(out, event::SUMMARY, |out| {
                wire::message(out, 1, |out| {
                    wire::text(out, 1, tag);
                    wire::message(out, 9, |out| {
                        wire::message(out, 1, |out| {
                            wire::text(out, 1, "hparams");
                            wire::message(out, 2, content);
                        });
                    });
                });
            });
        });
    }

    fn add_session_start(&mut self, seconds: f64) {
        let (config, group) = (self.run.config.clone(), self.run.group.clone());
        self.add_hparams(START_TAG, seconds, |out| {
            wire::message(out, 3, |out| {
                for_each_parameter(&config, &mut String::new(), &mut |name, value| {
                    wire::message(out, 1, |out| {
                        wire::text(out, 1, name);
                        wire::message(out, 2, |out| plain_value(out, value));
                    });
                });
                wire::text(out, 4, &group);
                wire::double(out, 5, seconds);
            });
        });
    }
}

/// Calls `visit` with each value of a configuration and its name, the levels of which are joined by
/// dots. A null is left out, and so is an object without keys.
fn for_each_parameter(value: &Value, name: &mut String, visit: &mut impl FnMut(&str, &Value)) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let length = name.len();
                if length > 0 {
                    name.push('.');
                }
                name.push_str(key);
                for_each_parameter(value, name, visit);
                name.truncate(length);
            }
        }
        Value::Null => {}
        _ => visit(name, value),
    }
}

/// `google.protobuf.Value` of what TensorBoard filters by; a list is its JSON text.
fn plain_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Number(number) => wire::double(out, 2, number.as_f64()),
        Value::String(text) => wire::text(out, 3, text),
        Value::Bool(truth) => wire::uint(out, 4, (*truth).into()),
        other => wire::text(out, 3, &other.to_string()),
    }
}

impl MetricLogger for TensorBoard {
    fn name(&self) -> &'static str {
        Backend::TensorBoard.name()
    }

    fn directory(&self) -> PathBuf {
        self.directory.clone()
    }

    fn start(&mut self, clock: RunClock, kept_through: Option<i64>) -> io::Result<()> {
        fs::create_dir_all(&self.directory)?;
        let earlier = event_files(&self.directory)?;
        match kept_through {
            Some(_) => earlier.iter().try_for_each(|(_, path)| cut_session_end(path))?,
            None => earlier.iter().try_for_each(|(_, path)| set_aside(path))?,
        }
        let latest = earlier.last().map(|(seconds, _)| *seconds);
        self.file = Some(LogFile::create(&new_name(&self.directory, clock, latest))?);
        let seconds = clock.start_seconds();
        frame(self.file().waiting(), |out| {
            wire::double(out, event::WALL_TIME, seconds);
            wire::text(out, event::FILE_VERSION, "brain.Event:2");
        });
        if let Some(kept_through) = kept_through {
            // Readers drop what earlier files hold from this step on.
            frame(self.file().waiting(), |out| {
                wire::double(out, event::WALL_TIME, seconds);
                wire::int(out, event::STEP, kept_through.saturating_add(1));
                wire::message(out, event::SESSION_LOG, |out| wire::uint(out, 1, 1));
            });
        }
        self.add_session_start(seconds);
        self.file().flush().map_err(|fault| fault.source)
    }

    fn write(&mut self, batch: &Batch<'_>) -> Result<(), WriteError> {
        self.learn_tags(batch.names);
        for of_step in batch.points.chunk_by(|one, next| one.step == next.step) {
            for points in of_step.chunks(VALUES_PER_EVENT) {
                self.add_points(points, batch.clock.seconds_at(points[0].nanos));
            }
        }
        self.file().flush()
    }

    fn finish(&mut self, outcome: Option<&RunOutcome>, seconds: f64) -> Result<(), WriteError> {
        let status = match outcome {
            Some(RunOutcome::Complete) => Some(1),
            Some(RunOutcome::Failed(_)) => Some(2),
            Some(RunOutcome::Interrupted) | None => None,
        };
        if let Some(status) = status {
            self.add_hparams(END_TAG, seconds, |out| {
                wire::message(out, 4, |out| {
                    wire::uint(out, 1, status);
                    wire::double(out, 2, seconds);
                });
            });
        }
        self.file().close()
    }
}

/// A record: its length, its bytes, and the checksums of both.
fn frame(out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0; 12]);
    fill(out);
    let length = ((out.len() - at - 12) as u64).to_le_bytes();
    out[at..at + 8].copy_from_slice(&length);
    out[at + 8..at + 12].copy_from_slice(&masked(&length));
    let checksum = masked(&out[at + 12..]);
    out.extend_from_slice(&checksum);
}

/// The checksum as it stands in the file: rotated, so that it is none of its own bytes.
fn masked(bytes: &[u8]) -> [u8; 4] {
    CRC32C.of(&[bytes]).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
}

/// The event files of a directory, in the order in which readers take them, with the seconds in
/// their names.
fn event_files(directory: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.contains(MARK) {
            let seconds = name.strip_prefix(PREFIX).and_then(|rest| rest.split('.').next());
            files.push((seconds.and_then(|text| text.parse().ok()).unwrap_or(0), path));
        }
    }
    files.sort();
    Ok(files)
}

/// The name of a file that readers take after all others, even when the clock went back.
fn new_name(directory: &Path, clock: RunClock, latest: Option<u64>) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let now = clock.start_seconds() as u64;
    let seconds = latest.map_or(now, |latest| now.max(latest + 1));
    let host = host::name().replace(['/', '\\'], "_");
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    directory.join(format!("{PREFIX}{seconds:010}.{host}.{}.{count}", process::id()))
}

/// Keeps a superseded file under a name that no reader takes for events.
fn set_aside(path: &Path) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().replace(MARK, "events");
    fs::rename(path, aside_name(&path.with_file_name(name)))
}

/// Removes the record of an earlier end: readers keep the first one they see.
fn cut_session_end(path: &Path) -> io::Result<()> {
    let Some(end) = session_end(path)? else { return Ok(()) };
    fs::OpenOptions::new().write(true).open(path)?.set_len(end)
}

/// Where the record of the end begins, if the file's last whole record is one.
fn session_end(path: &Path) -> io::Result<Option<u64>> {
    let mut reader = BufReader::new(File::open(path)?);
    let length = reader.get_ref().metadata()?.len();
    let (mut offset, mut last) = (0, None);
    let mut header = [0; 12];
    while offset + 16 <= length {
        reader.read_exact(&mut header)?;
        let (size, checksum) = header.split_at(8);
        let bytes = u64::from_le_bytes(size.try_into().expect("eight bytes"));
        let next = offset.saturating_add(bytes).saturating_add(16);
        if checksum != masked(size) || next > length {
            break;
        }
        reader.seek_relative(i64::try_from(bytes).unwrap_or(i64::MAX).saturating_add(4))?;
        last = Some((offset, bytes));
        offset = next;
    }
    let Some((offset, bytes)) = last else { return Ok(None) };
    reader.seek(SeekFrom::Start(offset + 12))?;
    let mut record = Vec::new();
    reader.take(bytes).read_to_end(&mut record)?;
    let value =
        Fields::bytes_of(&record, event::SUMMARY).and_then(|summary| Fields::bytes_of(summary, 1));
    let tag = value.and_then(|value| Fields::text_of(value, 1));
    Ok((tag == Some(END_TAG)).then_some(offset))
}

#[cfg(test)]
mod tests;
