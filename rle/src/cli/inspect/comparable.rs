//! Which entries may be averaged: those of one hardware.
//!
//! Descriptions are compared on what both have, not by their ids, since two programs may give one
//! machine two ids. What no file describes can be compared with nothing but itself.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::machine::hardware::{differences, differences_among};
use crate::timings::{RunEntry, Timings};
use crate::value::Value;

/// One hardware, which may have several ids.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct TimeHardware {
    pub(crate) ids: Vec<String>,
    /// None where the file beside does not have it.
    pub(crate) description: Option<Value>,
}

/// The hardware of a file, each with all its ids.
pub(super) struct Classes(Vec<TimeHardware>);

/// Why some times are not to be compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct TimeWarning {
    pub(crate) group: String,
    pub(crate) algorithm: String,
    pub(crate) stages: Vec<String>,
    pub(crate) text: String,
}

impl Classes {
    /// The hardware that entries of a file name.
    pub(super) fn of(timings: &Timings) -> Self {
        let entries = timings.stages().flat_map(|(_, stage)| stage.runs());
        let ids: BTreeSet<String> = entries.flat_map(RunEntry::hardware_ids).collect();
        let mut classes: Vec<(TimeHardware, Vec<Value>)> = Vec::new();
        for id in ids {
            let description = timings.hardware_description(&id);
            let known = description.as_ref().and_then(|description| {
                classes.iter_mut().find(|(_, members)| {
                    // With every member: two may agree with a third that says less.
                    !members.is_empty()
                        && members.iter().all(|member| differences(member, description).is_empty())
                })
            });
            match (known, description) {
                (Some((class, members)), Some(description)) => {
                    class.ids.push(id);
                    members.push(description);
                }
                (_, description) => {
                    let members = description.iter().cloned().collect();
                    classes.push((TimeHardware { ids: vec![id], description }, members));
                }
            }
        }
        Self(classes.into_iter().map(|(class, _)| class).collect())
    }

    /// The hardware of an entry, by place: several where its attempts differ.
    fn places(&self, entry: &RunEntry) -> BTreeSet<usize> {
        let ids = entry.hardware_ids();
        let places = self.0.iter().enumerate();
        places
            .filter(|(_, class)| class.ids.iter().any(|id| ids.contains(id)))
            .map(|(at, _)| at)
            .collect()
    }

    /// Entries apart by hardware, in the order of the first of each. One whose attempts differ
    /// stands alone.
    pub(super) fn sets<'a>(&self, entries: &[&'a RunEntry]) -> Vec<Vec<&'a RunEntry>> {
        let mut sets: Vec<(BTreeSet<usize>, Vec<&RunEntry>)> = Vec::new();
        for entry in entries {
            let places = self.places(entry);
            let known = sets.iter_mut().find(|(of, _)| places.len() == 1 && *of == places);
            match known {
                Some((_, set)) => set.push(entry),
                None => sets.push((places, vec![entry])),
            }
        }
        sets.into_iter().map(|(_, set)| set).collect()
    }

    /// The sets as one, but for entries whose attempts differ: no single hardware took that time.
    pub(super) fn pooled<'a>(&self, sets: Vec<Vec<&'a RunEntry>>) -> Vec<Vec<&'a RunEntry>> {
        let (mixed, plain): (Vec<_>, Vec<_>) = sets.into_iter().partition(|set| self.is_mixed(set));
        let mut pooled: Vec<&RunEntry> = plain.into_iter().flatten().collect();
        pooled.sort_by_key(|entry| entry.run_idx().map_or(u64::MAX, u64::from));
        let pooled = (!pooled.is_empty()).then_some(pooled);
        pooled.into_iter().chain(mixed).collect()
    }

    pub(super) fn hardware(&self, entries: &[&RunEntry]) -> Vec<TimeHardware> {
        let places: BTreeSet<usize> = entries.iter().flat_map(|entry| self.places(entry)).collect();
        places.into_iter().map(|at| self.0[at].clone()).collect()
    }

    fn is_mixed(&self, set: &[&RunEntry]) -> bool {
        set.iter().any(|entry| self.places(entry).len() > 1)
    }
}

/// Warns where the entries of one stage differ in hardware, or theirs is not described.
pub(super) fn warnings(classes: &Classes, sets: &[Vec<&RunEntry>], pool: bool) -> Vec<String> {
    let (mixed, plain): (Vec<_>, Vec<_>) = sets.iter().partition(|set| classes.is_mixed(set));
    let mut texts = Vec::new();
    if let [first, others @ ..] = plain.as_slice() {
        for other in others {
            let how = if pool {
                "they are pooled all the same"
            } else {
                "they are not pooled (--pool does)"
            };
            texts.push(format!(
                "{} and {} differ in hardware: {}; {how}",
                names(first),
                names(other),
                fields(classes.hardware(first).iter().chain(&classes.hardware(other)))
            ));
        }
    }
    for set in mixed {
        texts.push(format!(
            "{} took several attempts on different hardware: {}; that time is never pooled",
            names(set),
            fields(&classes.hardware(set))
        ));
    }
    let all: Vec<&RunEntry> = sets.iter().flatten().copied().collect();
    for hardware in classes.hardware(&all) {
        if hardware.description.is_none() {
            texts.push(format!(
                "timings_hardware.json does not describe the hardware `{}`, so nothing compares \
                 with it",
                hardware.ids.join("`, `")
            ));
        }
    }
    texts
}

/// The fields in which descriptions differ, with two of the values.
fn fields<'a>(hardware: impl IntoIterator<Item = &'a TimeHardware>) -> String {
    let hardware: Vec<&TimeHardware> = hardware.into_iter().collect();
    let described = hardware.iter().filter_map(|hardware| hardware.description.as_ref());
    let differing: Vec<String> =
        differences_among(described).iter().map(ToString::to_string).collect();
    if !differing.is_empty() {
        return differing.join(", ");
    }
    let ids: Vec<String> =
        hardware.iter().map(|hardware| format!("`{}`", hardware.ids.join("`, `"))).collect();
    format!("only their ids are known, {}", ids.join(" and "))
}

/// Entries in words: `runs 0-2, 5`, `run 3`, `` `final` ``.
fn names(entries: &[&RunEntry]) -> String {
    let indices: BTreeSet<u32> = entries.iter().filter_map(|entry| entry.run_idx()).collect();
    let labels: BTreeSet<&str> = entries
        .iter()
        .filter(|entry| entry.run_idx().is_none())
        .filter_map(|entry| entry.label())
        .collect();
    let mut words = Vec::new();
    if !indices.is_empty() {
        let plural = if indices.len() > 1 { "runs" } else { "run" };
        words.push(format!("{plural} {}", ranges(indices)));
    }
    words.extend(labels.iter().map(|label| format!("`{label}`")));
    if words.is_empty() {
        format!("{} entries without a run", entries.len())
    } else {
        words.join(", ")
    }
}

/// Numbers with their neighbours together: `0-2,5`.
pub(crate) fn ranges(numbers: impl IntoIterator<Item = u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let text = |(first, last): (u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    ranges.into_iter().map(text).collect::<Vec<_>>().join(",")
}
