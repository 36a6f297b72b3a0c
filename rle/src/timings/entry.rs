//! One measured time, with the JSON text that it was read from.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;

use super::scan::{Fault, Scanner};
use crate::value::Value;

/// Keys by which earlier versions of this format put the memory into each run; now an error.
const RETIRED_KEYS: [&str; 8] = [
    "ram_gb",
    "ram_gib",
    "total_ram_gb",
    "total_ram_gib",
    "memory_gb",
    "memory_gib",
    "ram_total_gb",
    "ram_total_gib",
];
const OWN_KEYS: [&str; 4] = ["hardware_id", "seconds", "run_idx", "label"];
/// What stands before each line of an entry in the file.
const INDENT: &str = "\n      ";
/// The objects and arrays around an entry in the file: the file, its stage, the array `runs`.
const DEPTH: usize = 3;
/// The longest text of an entry; its ranges hold places up to this.
const MAX_BYTES: usize = 1 << 30;

/// Which run a time belongs to: a run index, a label, both, or neither.
///
/// ```
/// use rle::timings::RunKey;
///
/// let key = RunKey::run(0).with_label("warm-up");
/// assert_eq!((key.run_idx(), key.name()), (Some(0), Some("warm-up")));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunKey {
    pub(super) run_idx: Option<u32>,
    pub(super) label: Option<String>,
}

impl RunKey {
    /// Neither a run index nor a label.
    pub fn none() -> Self {
        Self::default()
    }

    /// The run of that index.
    pub fn run(run_idx: u32) -> Self {
        Self { run_idx: Some(run_idx), label: None }
    }

    /// A label without a run index.
    pub fn label(label: impl Into<String>) -> Self {
        Self { run_idx: None, label: Some(label.into()) }
    }

    /// The same with a label.
    #[must_use]
    pub fn with_label(self, label: impl Into<String>) -> Self {
        Self { label: Some(label.into()), ..self }
    }

    /// The run index, where there is one.
    pub fn run_idx(&self) -> Option<u32> {
        self.run_idx
    }

    /// The label, where there is one.
    pub fn name(&self) -> Option<&str> {
        self.label.as_deref()
    }
}

/// A string of an entry: as the file has it, or with its escapes resolved.
#[derive(Clone, Debug)]
enum Text {
    Here(Range<u32>),
    Spelled(Box<str>),
}

/// One measured time of a stage.
///
/// An entry that was loaded is written back with the very text it had, unknown keys included.
#[derive(Clone, Debug)]
pub struct RunEntry {
    /// The text of the file, or of this entry alone.
    source: Arc<String>,
    at: Range<u32>,
    hardware_id: Text,
    label: Option<Text>,
    run_idx: Option<u32>,
    seconds: f64,
    has_extra: bool,
}

/// The time of one attempt at a run that took several.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Segment {
    /// Number of the attempt, where the entry says it.
    pub attempt: Option<u64>,
    /// The hardware it ran on.
    pub hardware_id: String,
    /// Its time in seconds.
    pub seconds: f64,
}

impl RunEntry {
    /// An entry with further keys beside its own.
    ///
    /// # Errors
    /// Says what is wrong: a time that is negative or not finite, a further key that is one of
    /// the entry's own or a retired one.
    pub(crate) fn new(
        hardware_id: &str,
        seconds: f64,
        key: RunKey,
        extra: BTreeMap<String, Value>,
    ) -> Result<Self, String> {
        check_seconds(seconds)?;
        if let Some(key) = extra.keys().find(|key| OWN_KEYS.contains(&key.as_str())) {
            return Err(format!("has the further key `{key}`, which is one of the entry's own"));
        }
        let mut members = extra;
        members.insert("hardware_id".to_owned(), hardware_id.into());
        members.insert("seconds".to_owned(), seconds.into());
        if let Some(run_idx) = key.run_idx {
            members.insert("run_idx".to_owned(), run_idx.into());
        }
        if let Some(label) = key.label {
            members.insert("label".to_owned(), label.into());
        }
        let text = Value::from(members).to_json_pretty().replace('\n', INDENT);
        if text.len() > MAX_BYTES {
            return Err("has further values of more than 1 GiB".to_owned());
        }
        Self::of_text(text)
    }

    /// The entry that is all of a text.
    fn of_text(text: String) -> Result<Self, String> {
        let source = Arc::new(text);
        // At the depth that it will have in a file: what is refused here would be refused there.
        let scanned = Self::scan(&mut Scanner::of_part(&source, DEPTH), &source);
        scanned.map_err(|fault| match fault {
            Fault::Content(problem) => problem,
            Fault::Syntax(_, problem) => {
                format!("has further values that no file holds: {problem}")
            }
            Fault::End => "has further values without an end".to_owned(),
        })
    }

    /// The entry that a scanner of `source` comes to next.
    pub(super) fn scan(scanner: &mut Scanner<'_>, source: &Arc<String>) -> Result<Self, Fault> {
        scanner.require(b'{', |kind| format!("is {kind} where an object is expected"))?;
        let mut parts = Parts::default();
        let start = scanner.place();
        scanner.object(|scanner, key| parts.member(scanner, &key))?;
        let at = narrow(&(start..scanner.place()));
        if let Some(key) = parts.retired {
            return Err(Fault::Content(format!(
                "has the retired key `{key}`; memory belongs to the hardware"
            )));
        }
        let Some(hardware_id) = parts.hardware_id else {
            return Err(Fault::Content("has no string `hardware_id`".to_owned()));
        };
        let Some(seconds) = parts.seconds else {
            return Err(Fault::Content("has no number `seconds`".to_owned()));
        };
        check_seconds(seconds).map_err(Fault::Content)?;
        Ok(Self {
            source: Arc::clone(source),
            at,
            hardware_id,
            label: parts.label,
            run_idx: parts.run_idx,
            seconds,
            has_extra: parts.has_extra,
        })
    }

    /// The measured time in seconds: finite, from 0 up.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// The run, where the entry says one.
    pub fn run_idx(&self) -> Option<u32> {
        self.run_idx
    }

    /// The label, where there is one.
    pub fn label(&self) -> Option<&str> {
        self.label.as_ref().map(|label| self.resolve(label))
    }

    /// The hardware: the key of a description, if the file beside has one.
    pub fn hardware_id(&self) -> &str {
        self.resolve(&self.hardware_id)
    }

    /// The run index and the label together.
    pub fn key(&self) -> RunKey {
        RunKey { run_idx: self.run_idx, label: self.label().map(str::to_owned) }
    }

    /// The keys beside the entry's own, with their values.
    pub fn extra(&self) -> BTreeMap<String, Value> {
        if !self.has_extra {
            return BTreeMap::new();
        }
        let Value::Object(mut members) = self.value() else { return BTreeMap::new() };
        members.remove("hardware_id");
        members.remove("seconds");
        // With a value of another type, these two are keys of another program.
        if self.run_idx.is_some() {
            members.remove("run_idx");
        }
        if self.label.is_some() {
            members.remove("label");
        }
        members
    }

    /// The attempts whose times add up to this one; empty for a single attempt.
    pub fn segments(&self) -> Vec<Segment> {
        let extra = self.extra();
        let items = extra.get("segments").and_then(Value::as_array).unwrap_or_default();
        let segment = |item: &Value| {
            Some(Segment {
                attempt: item.get("attempt").and_then(Value::as_u64),
                hardware_id: item.get("hardware_id")?.as_str()?.to_owned(),
                seconds: item.get("seconds")?.as_f64()?,
            })
        };
        items.iter().filter_map(segment).collect()
    }

    /// Every hardware that the time was measured on: the entry's and those of its segments.
    pub fn hardware_ids(&self) -> BTreeSet<String> {
        let extra = self.extra();
        let segments = extra.get("segments").and_then(Value::as_array).unwrap_or_default();
        // A segment without a time counts too: it ran on that hardware.
        let ids = segments.iter().filter_map(|segment| segment.get("hardware_id")?.as_str());
        ids.chain([self.hardware_id()]).map(str::to_owned).collect()
    }

    /// The whole entry as a value.
    pub fn value(&self) -> Value {
        Value::parse_json(self.text().as_bytes()).unwrap_or_default()
    }

    pub(super) fn text(&self) -> &str {
        &self.source[widen(&self.at)]
    }

    /// Gives the entry, and its segments, the ids that their hardware has in another file.
    pub(super) fn rename_hardware(&mut self, renamed: &BTreeMap<String, String>) {
        let old = self.text();
        let mut text = String::with_capacity(old.len());
        let mut done = 0;
        for place in id_places(old).unwrap_or_default() {
            let id = Value::parse_json(old[place.clone()].as_bytes()).unwrap_or_default();
            let Some(new) = id.as_str().and_then(|id| renamed.get(id)) else { continue };
            text.push_str(&old[done..place.start]);
            text.push_str(&Value::from(new.as_str()).to_string());
            done = place.end;
        }
        if done == 0 {
            return;
        }
        text.push_str(&old[done..]);
        if let Ok(entry) = Self::of_text(text) {
            *self = entry;
        }
    }

    fn resolve<'a>(&'a self, text: &'a Text) -> &'a str {
        match text {
            Text::Here(range) => &self.source[widen(range)],
            Text::Spelled(text) => text,
        }
    }
}

impl PartialEq for RunEntry {
    /// Whether all of both entries is the same.
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text() || self.value() == other.value()
    }
}

impl Serialize for RunEntry {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

/// The members of an entry that is being read.
#[derive(Default)]
struct Parts {
    hardware_id: Option<Text>,
    seconds: Option<f64>,
    run_idx: Option<u32>,
    label: Option<Text>,
    retired: Option<String>,
    has_extra: bool,
}

impl Parts {
    fn member(&mut self, scanner: &mut Scanner<'_>, key: &str) -> Result<(), Fault> {
        let next = scanner.peek()?;
        let is_number = next == b'-' || next.is_ascii_digit();
        match key {
            "hardware_id" if next == b'"' => self.hardware_id = Some(text(scanner)?),
            "seconds" if is_number => self.seconds = Some(scanner.number()?),
            "label" if next == b'"' => self.label = Some(text(scanner)?),
            "run_idx" if is_number => {
                let at = scanner.value()?;
                self.run_idx = parse_run_idx(scanner.slice(&at));
                self.has_extra |= self.run_idx.is_none();
            }
            _ => {
                scanner.value()?;
                self.has_extra = true;
                if RETIRED_KEYS.contains(&key) {
                    self.retired = Some(key.to_owned());
                }
            }
        }
        Ok(())
    }
}

/// The run index that a number spells; `2.0` counts.
fn parse_run_idx(number: &str) -> Option<u32> {
    number
        .parse()
        .ok()
        .or_else(|| Value::parse_json(number.as_bytes()).ok()?.as_u64()?.try_into().ok())
}

fn text(scanner: &mut Scanner<'_>) -> Result<Text, Fault> {
    let start = scanner.place();
    Ok(match scanner.string()? {
        // Without the quotes.
        Cow::Borrowed(_) => Text::Here(narrow(&(start + 1..scanner.place() - 1))),
        Cow::Owned(text) => Text::Spelled(text.into_boxed_str()),
    })
}

/// Where an entry's text names hardware, in itself and in its segments.
fn id_places(text: &str) -> Result<Vec<Range<usize>>, Fault> {
    let mut places = Vec::new();
    Scanner::new(text).object(|scanner, key| {
        let place = match &*key {
            "segments" if scanner.peek()? == b'[' => {
                return scanner.array(|scanner, _| id_places_of_segment(scanner, &mut places));
            }
            _ => scanner.value()?,
        };
        places.extend((key == "hardware_id").then_some(place));
        Ok(())
    })?;
    Ok(places)
}

fn id_places_of_segment(
    scanner: &mut Scanner<'_>,
    places: &mut Vec<Range<usize>>,
) -> Result<(), Fault> {
    if scanner.peek()? != b'{' {
        return scanner.value().map(drop);
    }
    scanner.object(|scanner, key| {
        let place = scanner.value()?;
        places.extend((key == "hardware_id").then_some(place));
        Ok(())
    })
}

fn check_seconds(seconds: f64) -> Result<(), String> {
    if seconds.is_finite() && seconds >= 0.0 {
        return Ok(());
    }
    Err(format!("has `seconds` {seconds} where a finite number from 0 up is expected"))
}

/// A range as entries keep it: no text is longer than `MAX_BYTES`.
fn narrow(range: &Range<usize>) -> Range<u32> {
    let narrow = |place| u32::try_from(place).unwrap_or(u32::MAX);
    narrow(range.start)..narrow(range.end)
}

fn widen(range: &Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}
