//! Checkpoints of a run: whole generations, bound to their slot and request.
//!
//! Below `<export_dir>/<slug>/checkpoints/run_<run_idx>/` each generation is a directory
//! `generation_<sequence>` with its payloads and its manifest; `manifest.json` beside them is a
//! copy of the newest. A generation counts from the moment its manifest is there, which is
//! written last, so a kill at any instant leaves the previous one whole.
//!
//! - `manifest`: the manifest as it is on disk, and the checkpoint that a run resumes from.
//! - `store`: finds, verifies and writes generations.

mod manifest;
mod store;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use serde::Serialize;

use crate::fs::write_atomically;
use crate::metrics::MetricSink;
use crate::profile::RunTimer;
use crate::run::{DURATIONS, Stop, artifacts};
use crate::sync::Mutex;
use crate::value::Value;
use crate::{Error, SlotId};

use manifest::{Logged, Manifest, SCHEMA_VERSION};
use store::Store;

pub use manifest::Latest;
pub(crate) use manifest::{StageSum, add_totals};
pub(crate) use store::{Found, check_all, directory, find, newest_sequence};

/// A run's checkpoints. Cheap to clone, shareable across threads.
///
/// ```
/// # use rle::{RunContext, RunResult};
/// # fn step(_: &mut u64) {}
/// fn train(ctx: &RunContext) -> rle::Result<RunResult> {
///     let checkpoint = ctx.checkpoint();
///     let mut state: u64 = match checkpoint.latest() {
///         Some(latest) => serde_json::from_slice(&std::fs::read(latest.path("state.json")?)?)?,
///         None => 0,
///     };
///     while state < 100 {
///         state += 1;
///         if state % 10 == 0 && checkpoint.enabled() {
///             checkpoint.write("state.json", &serde_json::to_vec(&state)?)?;
///             checkpoint.save(state)?;
///             if ctx.should_stop() {
///                 return Ok(ctx.interrupted());
///             }
///         }
///     }
///     Ok(RunResult::new().metric("final", state))
/// }
/// # let dir = tempfile::tempdir()?;
/// # train(&RunContext::for_test(dir.path()).build())?;
/// # anyhow::Ok(())
/// ```
#[derive(Clone)]
pub struct Checkpoint(Arc<State>);

pub(crate) struct Setup {
    pub(crate) export_dir: PathBuf,
    pub(crate) slot: SlotId,
    pub(crate) request_hash: String,
    pub(crate) enabled: bool,
    pub(crate) attempt: u32,
    /// The generation to go on from.
    pub(crate) latest: Option<Latest>,
    /// Run time of the attempts that led here, in seconds.
    pub(crate) seconds_before: f64,
    /// Is asked to stop after each save, to test interruption.
    pub(crate) stop_at_save: Option<Stop>,
}

struct State {
    setup: Setup,
    began: Instant,
    timer: Mutex<Option<Arc<RunTimer>>>,
    metrics: Mutex<Option<MetricSink>>,
    store: Mutex<Store>,
}

impl Checkpoint {
    pub(crate) fn new(setup: Setup) -> Self {
        let home = directory(&setup.export_dir, &setup.slot);
        let resumed_from = setup.latest.as_ref().map(Latest::sequence);
        Self(Arc::new(State {
            setup,
            began: Instant::now(),
            timer: Mutex::new(None),
            metrics: Mutex::new(None),
            store: Mutex::new(Store::new(home, resumed_from)),
        }))
    }

    /// The stage times of `timer` go into the checkpoints.
    pub(crate) fn count_with(&self, timer: Arc<RunTimer>) {
        *self.0.timer.lock() = Some(timer);
    }

    /// Each checkpoint notes how far `metrics` has come, after its files are written.
    pub(crate) fn log_with(&self, metrics: MetricSink) {
        *self.0.metrics.lock() = Some(metrics);
    }

    /// Whether this start saves checkpoints. Where it is off, [`save`](Self::save) and
    /// [`write`](Self::write) do nothing.
    #[must_use]
    pub fn enabled(&self) -> bool {
        self.0.setup.enabled
    }

    /// The checkpoint to go on from, if there is one: it belongs to this very request, and all
    /// its payloads are what was saved.
    #[must_use]
    pub fn latest(&self) -> Option<&Latest> {
        self.0.setup.latest.as_ref()
    }

    /// A path for a payload of the generation that the next [`save`](Self::save) completes.
    ///
    /// # Errors
    /// When checkpoints are off, or the name is empty, absolute, holds `..` or leaves the
    /// directory.
    pub fn path(&self, name: impl AsRef<str>) -> Result<PathBuf, Error> {
        if !self.enabled() {
            return Err(Error::usage(
                "checkpoints are off in this start: ask checkpoint().enabled() first, or turn \
                 them on with --checkpoint-enabled",
            ));
        }
        if name.as_ref() == store::MANIFEST {
            return Err(Error::usage(format!(
                "a payload cannot be named `{}`: the checkpoint's own description is",
                store::MANIFEST
            )));
        }
        let generation = self.0.store.lock().open_generation()?;
        artifacts::contained_path(&generation, name.as_ref())
    }

    /// Writes one payload, whole or not at all.
    ///
    /// # Errors
    /// When the system refuses, naming the path.
    pub fn write(&self, name: impl AsRef<str>, bytes: impl AsRef<[u8]>) -> Result<(), Error> {
        self.write_with(name, |writer| writer.write_all(bytes.as_ref()))
    }

    /// Like [`write`](Self::write), from a function that writes to a buffered writer.
    ///
    /// # Errors
    /// When the system refuses, naming the path.
    pub fn write_with(
        &self,
        name: impl AsRef<str>,
        payload: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Error> {
        if !self.enabled() {
            return Ok(());
        }
        write_atomically(&self.path(name)?, payload)
    }

    /// Completes the generation: what was written since the last save becomes the checkpoint.
    ///
    /// # Errors
    /// When the metadata has no JSON form or the system refuses; the previous checkpoint then
    /// stays the one that is offered.
    pub fn save(&self, metadata: impl Serialize) -> Result<(), Error> {
        if !self.enabled() {
            return Ok(());
        }
        let metadata = Value::from_serialize_lossless(&metadata)
            .map_err(|error| error.under_key("checkpoint metadata"))?;
        let setup = &self.0.setup;
        let seconds = setup.seconds_before + self.0.began.elapsed().as_secs_f64();
        let mut stages = self.stages_before();
        if let Some(timer) = &*self.0.timer.lock() {
            add_totals(&mut stages, &timer.totals());
        }
        let manifest = Manifest {
            schema_version: SCHEMA_VERSION,
            request_hash: setup.request_hash.clone(),
            run_idx: setup.slot.run_idx(),
            sequence: 0,
            saved_at: humantime::format_rfc3339_micros(SystemTime::now()).to_string(),
            seconds,
            metadata,
            payloads: Vec::new(),
            attempt: setup.attempt,
            stages,
            logged: self.logged()?,
        };
        self.0.store.lock().save(manifest)?;
        if let Some(stop) = &setup.stop_at_save {
            stop.ask();
        }
        Ok(())
    }

    fn logged(&self) -> Result<Option<Logged>, Error> {
        let metrics = self.0.metrics.lock().clone();
        let Some(metrics) = metrics else { return Ok(None) };
        // Before the flush: what is logged in between is superseded.
        let mut state = metrics.metric_state();
        state.last_values.retain(|name, _| !name.starts_with(DURATIONS));
        metrics.flush();
        let Some(step) = state.highest_step else { return Ok(None) };
        let last_values = Value::from_serialize_lossless(&state.last_values)
            .map_err(|error| error.under_key("logged metrics"))?;
        Ok(Some(Logged { step, last_values }))
    }

    pub(crate) fn stages_before(&self) -> BTreeMap<String, StageSum> {
        self.latest().map_or(BTreeMap::new(), |latest| latest.manifest.stages.clone())
    }
}

impl fmt::Debug for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checkpoint")
            .field("enabled", &self.enabled())
            .field("latest", &self.latest())
            .finish_non_exhaustive()
    }
}
