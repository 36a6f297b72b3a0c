//! What an earlier attempt wrote, for one that goes on with it.

use std::collections::BTreeMap;

use super::{item, record};
use crate::metrics::backends::record_log::Verdict;
use crate::metrics::backends::wire::{Content, Fields};

/// What the kept part of an earlier file says.
pub(super) struct Past {
    pub(super) num: i64,
    /// The last step.
    pub(super) floor: Option<i64>,
    /// In seconds.
    pub(super) runtime: f64,
    /// The last value of each key, as JSON.
    pub(super) last: BTreeMap<String, String>,
}

impl Past {
    /// After rows that are elsewhere.
    pub(super) fn new(floor: Option<i64>, runtime: f64) -> Self {
        Self { num: 0, floor, runtime, last: BTreeMap::new() }
    }

    pub(super) fn judge(&mut self, bytes: &[u8], kept_through: i64) -> Verdict {
        let verdict = self.judge_kind(bytes, kept_through);
        if verdict == Verdict::Keep {
            self.num = Fields::number_of(bytes, record::NUM).map_or(self.num, u64::cast_signed);
        }
        verdict
    }

    fn judge_kind(&mut self, bytes: &[u8], kept_through: i64) -> Verdict {
        if let Some(history) = Fields::bytes_of(bytes, record::HISTORY) {
            let Some(row) = PastRow::read(history) else { return Verdict::Drop };
            if row.step > kept_through {
                return Verdict::Supersede;
            }
            self.floor = self.floor.max(Some(row.step));
            self.runtime = self.runtime.max(row.runtime);
            self.last.extend(row.items);
            return Verdict::Keep;
        }
        let of_the_end = [record::SUMMARY, record::EXIT];
        if of_the_end.iter().any(|kind| Fields::bytes_of(bytes, *kind).is_some()) {
            Verdict::Drop
        } else {
            Verdict::Keep
        }
    }
}

/// A row of an earlier file.
pub(super) struct PastRow {
    pub(super) step: i64,
    pub(super) runtime: f64,
    pub(super) items: Vec<(String, String)>,
}

impl PastRow {
    pub(super) fn read(history: &[u8]) -> Option<Self> {
        let (mut step, mut runtime, mut items) = (None, 0.0, Vec::new());
        for (field, content) in Fields(history) {
            let (1, Content::Bytes(bytes)) = (field, content) else { continue };
            let key = Fields::text_of(bytes, item::NESTED_KEY)?;
            let json = Fields::text_of(bytes, item::JSON)?;
            match key {
                "_step" => step = json.parse().ok(),
                "_runtime" => runtime = json.parse().unwrap_or(0.0),
                _ => {}
            }
            items.push((key.to_owned(), json.to_owned()));
        }
        Some(Self { step: step?, runtime, items })
    }
}
