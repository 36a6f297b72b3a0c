//! Stages in timing files that nobody has declared: a misspelt name splits a series in two.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::Serialize;

use super::files::{Scope, own_stage};
use super::walk::{FileProblem, serialize_path};
use crate::{Error, near_match};

/// A stage that is neither declared nor allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct UnknownStage {
    pub(crate) group: String,
    #[serde(serialize_with = "serialize_path")]
    pub(crate) file: PathBuf,
    pub(crate) stage: String,
    /// A stage of a similar name that is known.
    pub(crate) near: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct CheckedStages {
    pub(crate) files: usize,
    pub(crate) unknown: Vec<UnknownStage>,
    pub(crate) faults: Vec<FileProblem>,
}

/// The stages of all timing files, those of prepares included, that are neither among the `known`
/// ones nor the runner's own of that file.
pub(crate) fn unknown_stages(
    scope: &Scope,
    known: &BTreeSet<String>,
) -> Result<CheckedStages, Error> {
    let mut checked = CheckedStages { files: 0, unknown: Vec::new(), faults: Vec::new() };
    checked.faults = scope.read_timings(true, |place, file, timings| {
        checked.files += 1;
        let own = own_stage(&place.owner);
        let names = || known.iter().map(String::as_str).chain(own.as_deref());
        for (stage, _) in timings.stages() {
            if !names().any(|name| name == stage) {
                checked.unknown.push(UnknownStage {
                    group: place.group.clone(),
                    file: file.clone(),
                    stage: stage.to_owned(),
                    near: near_match::nearest(stage, names()).map(ToOwned::to_owned),
                });
            }
        }
    })?;
    Ok(checked)
}
