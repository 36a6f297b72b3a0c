//! What a prepare sees.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::common::{Common, RecordedTiming, common_methods, typed};
use crate::Error;
use crate::run::{Progress, artifacts};
use crate::value::Value;

/// A prepare step as its function sees it. Cheap to clone, shareable across threads.
#[derive(Clone, Debug)]
pub struct PrepareContext(Arc<PrepareParts>);

/// What the runner knows when it starts a prepare.
#[derive(Debug)]
pub(crate) struct PrepareParts {
    pub(crate) common: Common,
    pub(crate) name: String,
    pub(crate) directory: PathBuf,
    /// None where several algorithms share the prepare.
    pub(crate) config: Option<Value>,
}

common_methods!(PrepareContext);

impl PrepareContext {
    pub(crate) fn from_parts(parts: PrepareParts) -> Self {
        Self(Arc::new(parts))
    }

    fn common(&self) -> &Common {
        &self.0.common
    }

    /// The resolved configuration of the one algorithm that this prepare serves.
    ///
    /// # Errors
    /// When several algorithms share the prepare, or the value does not fit the type.
    pub fn config<T: DeserializeOwned>(&self) -> Result<T, Error> {
        let value = self.0.config.as_ref().ok_or_else(|| {
            Error::usage(format!(
                "prepare `{}` serves several algorithms and so has no configuration of one; use \
                 common_config, or a prepare for each",
                self.0.name
            ))
        })?;
        typed(value, "config")
    }

    /// A path for a file of this prepare; parent directories are made.
    ///
    /// # Errors
    /// When the name is empty, absolute, holds `..`, or leaves the directory through a symlink.
    pub fn artifact_path(&self, name: impl AsRef<str>) -> Result<PathBuf, Error> {
        artifacts::contained_path(&self.0.directory, name.as_ref())
    }
}
