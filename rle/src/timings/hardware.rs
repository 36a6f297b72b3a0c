//! `timings_hardware.json`: each description of hardware once, under its id.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::file;
use super::raw::{Raw, push_member};
use super::scan::{Fault, Scanner};
use crate::Error;
use crate::machine::hardware::{self, id_of, rounded};
use crate::value::Value;

const SCHEMA_VERSION: u64 = 1;
/// What stands before each line of a description in the file.
const INDENT: &str = "\n    ";

/// The hardware of this process: its id and its description.
pub(super) struct Current {
    pub(super) id: String,
    pub(super) description: Value,
}

/// The hardware of this process, described once.
pub(super) fn current() -> &'static Current {
    static CURRENT: OnceLock<Current> = OnceLock::new();
    CURRENT.get_or_init(|| {
        let description = hardware::current().to_value();
        Current { id: id_of(&description), description }
    })
}

/// The id of the hardware of this process.
pub(crate) fn hardware_id() -> &'static str {
    &current().id
}

/// The one text of all descriptions that count as the same: floats have two decimals.
fn meaning(description: &Value) -> String {
    // A description comes from JSON text, which has no NaN.
    rounded(description).canonical_json().unwrap_or_default()
}

/// The descriptions of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Descriptions {
    known: BTreeMap<String, Raw>,
    /// Keys of other programs beside `hardware`.
    members: Vec<(String, Raw)>,
}

/// Ids of descriptions that the file has under another id, each with that one.
pub(super) type Renamed = BTreeMap<String, String>;

impl Descriptions {
    /// Reads the file at `path`; one that does not exist holds none.
    ///
    /// # Errors
    /// Names the file that is not valid, or of a newer version.
    pub(super) fn load(path: &Path) -> Result<Self, Error> {
        file::read(path, parse).map(Option::unwrap_or_default)
    }

    /// Each id with its description.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, Value)> {
        self.known.iter().map(|(id, raw)| (id.as_str(), raw.value()))
    }

    /// The description under an id.
    pub(super) fn get(&self, id: &str) -> Option<Value> {
        self.known.get(id).map(Raw::value)
    }

    pub(super) fn contains(&self, id: &str) -> bool {
        self.known.contains_key(id)
    }

    /// Adds a description unless its id is there.
    pub(super) fn add(&mut self, id: &str, description: &Value) {
        if !self.contains(id) {
            self.known.insert(id.to_owned(), Raw::indented(description, INDENT));
        }
    }

    /// Adds the descriptions of `others` that are not here yet. Returns which of their ids changed,
    /// because their description has another id here or because the id is taken by another
    /// description, and whether anything was added.
    pub(super) fn merge(&mut self, others: &Self) -> (Renamed, bool) {
        let mut renamed = Renamed::new();
        let mut grown = false;
        for (id, raw) in &others.known {
            let taken = self.known.get(id);
            if taken.is_some_and(|here| here.text() == raw.text()) {
                continue;
            }
            let theirs = meaning(&raw.value());
            if taken.is_some_and(|here| meaning(&here.value()) == theirs) {
                continue;
            }
            let same = self.known.iter().find(|(_, here)| meaning(&here.value()) == theirs);
            if let Some((known, _)) = same {
                renamed.insert(id.clone(), known.clone());
                continue;
            }
            let free = if taken.is_none() { id.clone() } else { id_of(&raw.value()) };
            if free != *id {
                renamed.insert(id.clone(), free.clone());
            }
            self.known.insert(free, raw.clone());
            grown = true;
        }
        for (key, raw) in &others.members {
            if !self.members.iter().any(|(known, _)| known == key) {
                self.members.push((key.clone(), raw.clone()));
                grown = true;
            }
        }
        (renamed, grown)
    }

    /// The text of the file.
    pub(super) fn render(&self) -> String {
        let mut out = String::from("{\n  \"hardware\": {");
        for (index, (id, raw)) in self.known.iter().enumerate() {
            out.push_str(if index == 0 { "\n    " } else { ",\n    " });
            push_member(id, raw.text(), &mut out);
        }
        out.push_str(if self.known.is_empty() { "}" } else { "\n  }" });
        for (key, raw) in &self.members {
            out.push_str(",\n  ");
            push_member(key, raw.text(), &mut out);
        }
        out + &format!(",\n  \"schema_version\": {SCHEMA_VERSION}\n}}\n")
    }
}

/// The descriptions that a text holds.
pub(super) fn parse(source: &Arc<String>) -> Result<Descriptions, Fault> {
    let mut descriptions = Descriptions::default();
    Scanner::whole_object(source, |scanner, key| {
        match &*key {
            "hardware" => scan_known(scanner, source, &mut descriptions.known)?,
            "schema_version" => check_version(&Raw::new(source, scanner.value()?).value())?,
            _ => {
                let raw = Raw::new(source, scanner.value()?);
                descriptions.members.push((key.into_owned(), raw));
            }
        }
        Ok(())
    })?;
    Ok(descriptions)
}

fn scan_known(
    scanner: &mut Scanner<'_>,
    source: &Arc<String>,
    known: &mut BTreeMap<String, Raw>,
) -> Result<(), Fault> {
    scanner
        .require(b'{', |kind| format!("has {kind} at `hardware` where an object is expected"))?;
    scanner.object(|scanner, id| {
        scanner.require(b'{', |kind| {
            format!("has {kind} at the hardware {:?} where an object is expected", &*id)
        })?;
        known.insert(id.into_owned(), Raw::new(source, scanner.value()?));
        Ok(())
    })
}

fn check_version(version: &Value) -> Result<(), Fault> {
    if version.as_u64() == Some(SCHEMA_VERSION) {
        return Ok(());
    }
    Err(Fault::Content(format!(
        "has the schema version {version}, and this program knows {SCHEMA_VERSION}; use the newer \
         program, or another directory"
    )))
}
