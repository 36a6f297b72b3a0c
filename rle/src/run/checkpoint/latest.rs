//! A checkpoint to go on from.

use std::path::PathBuf;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::format::Manifest;
use crate::Error;
use crate::metrics::MetricState;
use crate::value::Value;

/// A checkpoint to go on from: the newest one that belongs to this request and is whole.
#[derive(Clone, Debug)]
pub struct Latest {
    pub(super) manifest: Arc<Manifest>,
    pub(super) generation: PathBuf,
}

impl Latest {
    /// What the algorithm stored with [`Checkpoint::save`](super::Checkpoint::save).
    #[must_use]
    pub fn metadata(&self) -> &Value {
        &self.manifest.metadata
    }

    /// The metadata as a type of the user's.
    ///
    /// # Errors
    /// When it does not fit, naming the key.
    pub fn metadata_as<T: DeserializeOwned>(&self) -> Result<T, Error> {
        self.manifest.metadata.to().map_err(|error| Error::Value(error.under_key("metadata")))
    }

    /// The path of a payload, by the name under which it was written.
    ///
    /// # Errors
    /// When the checkpoint has none of that name.
    pub fn path(&self, name: impl AsRef<str>) -> Result<PathBuf, Error> {
        let name = name.as_ref();
        let names = || self.manifest.payloads.iter().map(|payload| payload_name(&payload.path));
        if names().any(|payload| payload == name) {
            return Ok(self.generation.join(name));
        }
        let known: Vec<String> = names().map(|payload| format!("`{payload}`")).collect();
        Err(Error::usage(format!(
            "the checkpoint has no payload `{name}`; it has {}",
            if known.is_empty() { "none".to_owned() } else { known.join(", ") }
        )))
    }

    /// Counts the saves of this slot, from 1.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.manifest.sequence
    }

    /// How far the metrics had come.
    pub(crate) fn logged(&self) -> Option<MetricState> {
        let logged = self.manifest.logged.as_ref()?;
        Some(MetricState {
            highest_step: Some(logged.step),
            last_values: logged.last_values.to().unwrap_or_default(),
        })
    }

    pub(crate) fn manifest(&self) -> &Manifest {
        &self.manifest
    }
}

/// The name under which the algorithm wrote a payload: its path without the generation.
fn payload_name(path: &str) -> &str {
    path.split_once('/').map_or(path, |(_, name)| name)
}
