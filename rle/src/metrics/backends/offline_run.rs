//! An offline run being written, which W&B and SwanLab have alike: one record file in a directory.

use std::collections::BTreeSet;
use std::io;
use std::mem;
use std::path::PathBuf;

use super::file::LogFile;
use super::record_log::{self, RecordAction};
use super::run_directory::{self, Format, RunDirectory};
use super::wire;
use crate::metrics::layout::{self, short_hash};
use crate::metrics::run::{LogMode, LogOptions, LoggedRun};
use crate::metrics::upload::Upload;
use crate::sync::Mutex;

/// The field of a record that holds its number.
pub(super) const NUM: u32 = 1;

/// An offline run being written. Its id begins with its slot and its request.
pub(super) struct OfflineRun {
    format: &'static Format,
    pub(super) run: LoggedRun,
    online: bool,
    root: PathBuf,
    pub(super) directory: RunDirectory,
    file: Option<LogFile>,
    /// The memory of a record being put together.
    bytes: Vec<u8>,
}

impl OfflineRun {
    pub(super) fn new(format: &'static Format, options: &LogOptions, run: &LoggedRun) -> Self {
        let root = layout::directory(run, &options.log_dir, format.backend);
        Self {
            format,
            run: run.clone(),
            online: options.mode == LogMode::Online,
            directory: RunDirectory { path: root.clone(), ..RunDirectory::default() },
            root,
            file: None,
            bytes: Vec::new(),
        }
    }

    pub(super) fn file(&mut self) -> &mut LogFile {
        self.file.as_mut().expect("a logger is started before it is used")
    }

    fn slot_prefix(&self) -> String {
        (self.format.slot_prefix)(&layout::slot(&self.run))
    }

    fn request_prefix(&self) -> String {
        self.slot_prefix() + &short_hash("rle log request", &[&self.run.request], 6)
    }

    /// The directories of the slot, oldest first.
    pub(super) fn earlier_of_slot(&self) -> io::Result<Vec<RunDirectory>> {
        self.format.find(&self.root, &self.slot_prefix())
    }

    /// The directories of the slot with the same request, oldest first.
    pub(super) fn earlier_of_request(&self) -> io::Result<Vec<RunDirectory>> {
        self.format.find(&self.root, &self.request_prefix())
    }

    /// Creates a directory, later than all of `earlier`, with a file that holds no records; with
    /// an id that no other run has, unless one is given.
    pub(super) fn create(
        &mut self,
        id: Option<String>,
        seconds: f64,
        earlier: &[RunDirectory],
    ) -> io::Result<()> {
        let id = id.unwrap_or_else(|| self.request_prefix() + &run_directory::nonce(6));
        self.directory = self.format.create(&self.root, id, seconds, earlier)?;
        self.file = Some(record_log::create(&self.directory.file, self.format.header)?);
        Ok(())
    }

    /// Continues the file in `last` with the records that `filter` keeps. False where its writer
    /// was killed before the first records.
    pub(super) fn reopen(
        &mut self,
        last: &RunDirectory,
        filter: impl FnMut(&[u8]) -> RecordAction,
    ) -> io::Result<bool> {
        use io::ErrorKind::{NotFound, UnexpectedEof};
        self.directory.clone_from(last);
        match record_log::reopen(&last.file, self.format.header, filter) {
            Ok(file) => self.file = Some(file),
            Err(error) if matches!(error.kind(), UnexpectedEof | NotFound) => return Ok(false),
            Err(error) => return Err(error),
        }
        Ok(true)
    }

    /// Appends a record: its number, and the fields that `fill` adds.
    pub(super) fn append(&mut self, num: i64, points: u64, fill: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = mem::take(&mut self.bytes);
        bytes.clear();
        wire::int(&mut bytes, NUM, num);
        fill(&mut bytes);
        record_log::append(self.file(), &bytes, points);
        self.bytes = bytes;
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.file().flush().map_err(|error| error.source)
    }

    /// The tags of the run that are not empty, cut to what the backend accepts.
    pub(super) fn tags(&self, max_chars: usize) -> impl Iterator<Item = &str> {
        let tags = self.run.tags.iter().filter(|tag| !tag.is_empty());
        tags.map(move |tag| limit_chars(tag, max_chars))
    }

    /// The name that tells the runs of a project apart.
    pub(super) fn display_name(&self) -> String {
        format!("{}-{}", self.run.name, layout::slot(&self.run))
    }

    /// The vendor's command `sync`, with options of its own.
    pub(super) fn upload(&self, options: &[&str]) -> Upload {
        let options = ["sync"].iter().chain(options).map(Into::into);
        let arguments = options.chain([self.directory.path.clone().into()]);
        Upload::new(self.format.backend.name(), arguments, self.online, &self.directory.path)
    }
}

/// The first characters of a text.
pub(super) fn limit_chars(text: &str, max_chars: usize) -> &str {
    text.char_indices().nth(max_chars).map_or(text, |(end, _)| &text[..end])
}

/// The project name as a service accepts it. A changed one is one warning in a process, not one in
/// each run.
pub(super) fn project_name(
    service: &str,
    project: &str,
    accepts: impl Fn(char) -> bool,
    max_chars: usize,
    default: &str,
) -> String {
    static WARNED: Mutex<BTreeSet<(String, String)>> = Mutex::new(BTreeSet::new());
    let cleaned: String = project.chars().map(|c| if accepts(c) { c } else { '_' }).collect();
    let accepted = limit_chars(&cleaned, max_chars);
    let accepted = if accepted.is_empty() { default } else { accepted };
    if accepted != project && WARNED.lock().insert((service.to_owned(), project.to_owned())) {
        tracing::warn!(
            "{service} does not accept the project name `{project}`; the project is called \
             `{accepted}` there"
        );
    }
    accepted.to_owned()
}
