//! Prepare steps: run once for all slots that need them, verified before they are reused.
//!
//! `_prepared/<function>/<first 16 of the hash>/` is valid when it holds `prepared.json`, which
//! is written last and names the checksum of everything else in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::algorithm::Prepare;
use crate::console::SuiteConsole;
use crate::fs::{FileLock, write_json_atomically};
use crate::record::RecordedRequirement;
use crate::record::archive::timestamp;
use crate::run::{Common, PathIdentity, PrepareContext, PrepareParts, Progress, artifacts};
use crate::suite::exec::{Isolation, lock, timing};
use crate::suite::plan::{Plan, PlannedAlgorithm, required_paths};
use crate::sync::Mutex;
use crate::value::Value;
use crate::{Error, profile};

const SCHEMA_VERSION: u32 = 1;
const VALUE_FILE: &str = "prepared.json";

/// How long a prepare's lock is tried before the wait is logged.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Serialize, Deserialize)]
struct Prepared {
    schema_version: u32,
    function: String,
    request_hash: String,
    started_at: String,
    finished_at: String,
    seconds: f64,
    /// Checksums of the directory's entries by name.
    files: BTreeMap<String, PathIdentity>,
    value: Value,
}

/// The prepares of one start: each runs at most once in it.
#[derive(Default)]
pub(crate) struct Prepares {
    outcomes: Mutex<BTreeMap<(String, String), Result<Value, String>>>,
}

pub(crate) struct PrepareEnv<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) isolation: &'a Isolation,
    pub(crate) console: &'a SuiteConsole,
}

impl Prepares {
    /// Lets a retry run a failed prepare again.
    pub(crate) fn forget_failures(&self) {
        self.outcomes.lock().retain(|_, outcome| outcome.is_ok());
    }

    /// The value for an algorithm's slots; none where it has no prepare. A failure is the same for all
    /// slots that need it.
    pub(crate) fn value_for(
        &self,
        env: &PrepareEnv<'_>,
        algorithm: &PlannedAlgorithm,
    ) -> Result<Option<Value>, String> {
        let Some(prepare) = &algorithm.spec.prepare else { return Ok(None) };
        let work = Work::new(env, prepare, algorithm)
            .map_err(|error| format!("prepare `{}`: {error}", prepare.name))?;
        let key = (prepare.name.clone(), work.hash.clone());
        let mut outcomes = self.outcomes.lock();
        let outcome = outcomes.entry(key).or_insert_with(|| {
            work.value().map_err(|error| format!("prepare `{}` {error}", prepare.name))
        });
        outcome.clone().map(Some)
    }
}

struct Work<'a> {
    env: &'a PrepareEnv<'a>,
    prepare: &'a Prepare,
    hash: String,
    config: Option<Value>,
    required: BTreeMap<String, PathBuf>,
    /// `_prepared/<function>`.
    home: PathBuf,
}

impl<'a> Work<'a> {
    fn new(
        env: &'a PrepareEnv<'a>,
        prepare: &'a Prepare,
        algorithm: &PlannedAlgorithm,
    ) -> Result<Self, Error> {
        let config = (!prepare.shared).then(|| algorithm.config.clone());
        let mut requirements: BTreeMap<String, RecordedRequirement> = BTreeMap::new();
        let served = env.plan.algorithms.iter().filter(|other| {
            other.slug == algorithm.slug
                || prepare.shared
                    && other.spec.prepare.as_ref().is_some_and(|theirs| theirs.name == prepare.name)
        });
        for other in served {
            requirements.extend(other.requirements.clone());
        }
        let export_dir = &env.plan.facts.export_dir;
        let required = required_paths(export_dir, &requirements);
        let identity = Value::from_iter([
            ("schema", Value::from(SCHEMA_VERSION)),
            ("function", Value::from(prepare.name.as_str())),
            (
                "environment",
                Value::from_iter([
                    ("name", Value::from(env.plan.facts.env_name.as_str())),
                    ("config", env.plan.facts.env_config.clone()),
                ]),
            ),
            ("common_config", env.plan.facts.common_config.clone()),
            ("config", config.clone().unwrap_or(Value::Null)),
            ("required_artifacts", Value::from_serialize(&requirements)?),
            ("provenance", env.plan.provenance.identity()),
        ]);
        let hash = identity.canonical_sha256()?;
        let home = export_dir.join("_prepared").join(&prepare.name);
        Ok(Self { env, prepare, hash, config, required, home })
    }

    fn stem(&self) -> &str {
        &self.hash[..16]
    }

    fn value(&self) -> Result<Value, String> {
        make_dir(&self.home).map_err(|error| could_not(&error))?;
        let _lock = self.lock().map_err(|error| could_not(&error))?;
        let name = if self.prepare.always {
            // New for each start, and shared by all workers of a start.
            format!("{}_run_{}", self.stem(), self.env.plan.start_id)
        } else {
            self.stem().to_owned()
        };
        let directory = self.home.join(name);
        if let Some(value) = self.reusable(&directory).map_err(|error| could_not(&error))? {
            tracing::info!("prepare `{}`: reused {}", self.prepare.name, directory.display());
            return Ok(value);
        }
        make_dir(&directory).map_err(|error| could_not(&error))?;
        self.run_in(&directory)
    }

    /// Waits for another process that prepares the same, whose result is then reused.
    fn lock(&self) -> Result<FileLock, Error> {
        let path = self.home.join(format!("{}.lock", self.stem()));
        let lock = lock::acquire(
            &path,
            PATIENCE,
            || false,
            |holder| {
                tracing::info!(
                    "prepare `{}`: waiting for another process ({holder}) that prepares the same",
                    self.prepare.name
                );
            },
        )?;
        Ok(lock.expect("the wait for a prepare is never given up"))
    }

    /// The value of a valid directory; an invalid one is cleared or moved aside.
    fn reusable(&self, directory: &Path) -> Result<Option<Value>, Error> {
        if directory.symlink_metadata().is_err() {
            return Ok(None);
        }
        let file = directory.join(VALUE_FILE);
        if file.symlink_metadata().is_err() {
            fs::remove_dir_all(directory)
                .map_err(Error::cannot("clear the unfinished directory", directory))?;
            return Ok(None);
        }
        match self.verified(directory, &file) {
            Ok(prepared) => Ok(Some(prepared.value)),
            Err(problem) => {
                let aside = self.new_aside_directory()?.join(self.stem());
                fs::rename(directory, &aside).map_err(Error::cannot("move aside", directory))?;
                tracing::warn!(
                    "prepare `{}` runs again: {problem}; what stood there is in {}",
                    self.prepare.name,
                    aside.display()
                );
                Ok(None)
            }
        }
    }

    fn verified(&self, directory: &Path, file: &Path) -> Result<Prepared, String> {
        let bytes =
            fs::read(file).map_err(|error| format!("{VALUE_FILE} is unreadable: {error}"))?;
        let prepared: Prepared = Value::parse_json(&bytes)
            .and_then(|value| value.to())
            .map_err(|error| format!("{VALUE_FILE} is damaged: {error}"))?;
        if prepared.schema_version != SCHEMA_VERSION || prepared.request_hash != self.hash {
            return Err(format!("{VALUE_FILE} belongs to another request"));
        }
        for (name, identity) in &prepared.files {
            match artifacts::hash_path(&directory.join(name)) {
                Ok(found) if found == *identity => {}
                Ok(_) => return Err(format!("`{name}` changed")),
                Err(error) => return Err(format!("`{name}`: {error}")),
            }
        }
        Ok(prepared)
    }

    /// A new directory `<stem>_damaged_<timestamp>[_n]`.
    fn new_aside_directory(&self) -> Result<PathBuf, Error> {
        let stem = format!("{}_damaged_{}", self.stem(), timestamp(SystemTime::now()));
        let mut suffix = 0_u32;
        loop {
            let name = if suffix == 0 { stem.clone() } else { format!("{stem}_{suffix}") };
            let path = self.home.join(name);
            match fs::create_dir(&path) {
                Ok(()) => return Ok(path),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => suffix += 1,
                Err(error) => return Err(Error::io("create the directory", &path, error)),
            }
        }
    }

    fn run_in(&self, directory: &Path) -> Result<Value, String> {
        let label = format!("prepare {}", self.prepare.name);
        let progress = Progress::default();
        let context = PrepareContext::from_parts(PrepareParts {
            common: Common::new(
                Arc::clone(&self.env.plan.facts),
                self.required.clone(),
                progress.clone(),
            ),
            name: self.prepare.name.clone(),
            directory: directory.to_owned(),
            config: self.config.clone(),
        });
        self.env.console.slot_started(&label, progress);
        let started_at = SystemTime::now();
        let clock = Instant::now();
        let timer = profile::begin_run();
        let outcome = self.env.isolation.call(|| (self.prepare.run)(&context));
        let stages = timer.finish();
        let seconds = clock.elapsed().as_secs_f64();
        self.env.console.prepare_finished(&label);
        let value = outcome.map_err(|failure| {
            if let Some(detail) = &failure.detail {
                tracing::debug!("backtrace of prepare `{}`:\n{detail}", self.prepare.name);
            }
            format!("failed: {}", failure.message)
        })?;
        if directory.join(VALUE_FILE).symlink_metadata().is_ok() {
            return Err(format!(
                "failed: it wrote a file {VALUE_FILE}, which is the framework's own; give it \
                 another name"
            ));
        }
        let prepared = Prepared {
            schema_version: SCHEMA_VERSION,
            function: self.prepare.name.clone(),
            request_hash: self.hash.clone(),
            started_at: humantime::format_rfc3339_micros(started_at).to_string(),
            finished_at: humantime::format_rfc3339_micros(SystemTime::now()).to_string(),
            seconds,
            files: identities(directory).map_err(|error| could_not(&error))?,
            value: value.clone(),
        };
        // Before the directory is valid: after a kill between the two the next start prepares again.
        timing::save_prepare(
            &self.home,
            &self.prepare.name,
            self.stem(),
            seconds,
            &stages,
            &context.recorded_timings(),
        );
        write_json_atomically(&directory.join(VALUE_FILE), &prepared)
            .map_err(|error| could_not(&error))?;
        Ok(value)
    }
}

fn could_not(error: &Error) -> String {
    format!("could not run: {error}")
}

fn make_dir(path: &Path) -> Result<(), Error> {
    fs::create_dir_all(path).map_err(Error::cannot("create the directory", path))
}

fn identities(directory: &Path) -> Result<BTreeMap<String, PathIdentity>, Error> {
    let list = Error::cannot("list", directory);
    let mut identities = BTreeMap::new();
    for entry in fs::read_dir(directory).map_err(list)? {
        let entry = entry.map_err(list)?;
        let name = entry.file_name().into_string().map_err(|name| {
            Error::file(directory.join(name), "the name of a prepared file is not valid UTF-8")
        })?;
        identities.insert(name, artifacts::hash_path(&entry.path())?);
    }
    Ok(identities)
}
