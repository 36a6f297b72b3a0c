//! Writes records.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::format::RecordHead;
use crate::Error;
use crate::fs::write_json_atomically;
use crate::value::Value;

/// Writes a slot's record, whole or not at all.
pub(crate) fn write_record(
    path: &Path,
    head: &RecordHead,
    metrics: &BTreeMap<String, Value>,
    episodes: &[Value],
) -> Result<(), Error> {
    #[derive(Serialize)]
    struct Document<'a> {
        #[serde(flatten)]
        head: &'a RecordHead,
        metrics: &'a BTreeMap<String, Value>,
        episode_history: &'a [Value],
    }
    write_json_atomically(path, &Document { head, metrics, episode_history: episodes })
}
