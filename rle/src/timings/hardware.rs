//! `timings_hardware.json`: each description of hardware once, under its id.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use super::format::parse_object;
use crate::Error;
use crate::hardware::id_of;
use crate::storage::write_json_atomically;
use crate::value::Value;

const SCHEMA_VERSION: u64 = 1;

/// The id of the description in which nothing is known.
pub(crate) fn unknown_hardware_id() -> String {
    id_of(&unknown_hardware())
}

/// The description in which nothing is known.
pub(super) fn unknown_hardware() -> Value {
    let unknown = |keys: &[&str]| -> Value { keys.iter().map(|key| (*key, Value::Null)).collect() };
    let cpu = [
        "processor_name",
        "physical_cores_available",
        "logical_threads_available",
        "min_clock_mhz",
        "max_clock_mhz",
        "clock_source",
    ];
    [
        ("memory", unknown(&["limit_gib", "limit_source"])),
        ("cpu", unknown(&cpu)),
        ("gpus", Value::Array(Vec::new())),
    ]
    .into_iter()
    .collect()
}

/// Adds `description` to the file at `path` unless its id is there. The caller holds the lock.
pub(super) fn add(path: &Path, description: Value) -> Result<(), Error> {
    let mut file = load(path)?;
    let known = file.entry("hardware".to_owned()).or_insert_with(Value::object);
    let Value::Object(known) = known else {
        let problem = format!("has {} at `hardware` where a table is expected", known.kind());
        return Err(Error::file(path, problem));
    };
    let id = id_of(&description);
    if known.contains_key(&id) {
        return Ok(());
    }
    known.insert(id, description);
    file.insert("schema_version".to_owned(), SCHEMA_VERSION.into());
    write_json_atomically(path, &Value::from(file))
}

fn load(path: &Path) -> Result<BTreeMap<String, Value>, Error> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(Error::io("read", path, error)),
    };
    let file = parse_object(&text).map_err(|problem| Error::file(path, problem))?;
    match file.get("schema_version") {
        None => Ok(file),
        Some(version) if version.as_u64() == Some(SCHEMA_VERSION) => Ok(file),
        Some(version) => Err(Error::file(
            path,
            format!(
                "has the schema version {version}, and this program knows {SCHEMA_VERSION}; \
                 use the newer program, or another directory"
            ),
        )),
    }
}
