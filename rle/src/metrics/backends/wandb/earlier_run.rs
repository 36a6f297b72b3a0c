//! The fields of W&B's messages, and what the file of an earlier attempt holds, for a resumed one.

use std::collections::BTreeMap;

use crate::metrics::backends::offline_run::NUM;
use crate::metrics::backends::record_log::RecordAction;
use crate::metrics::backends::wire::{Content, Fields};

pub(super) mod record {
    pub(in crate::metrics) const HISTORY: u32 = 2;
    pub(in crate::metrics) const SUMMARY: u32 = 3;
    pub(in crate::metrics) const RUN: u32 = 17;
    pub(in crate::metrics) const EXIT: u32 = 18;
    pub(in crate::metrics) const HEADER: u32 = 21;
}

pub(super) mod item {
    pub(in crate::metrics) const KEY: u32 = 1;
    pub(in crate::metrics) const NESTED_KEY: u32 = 2;
    pub(in crate::metrics) const JSON: u32 = 16;
}

/// What the kept records of an earlier file hold.
pub(super) struct EarlierRun {
    /// The number of the last record.
    pub(super) num: i64,
    pub(super) last_step: Option<i64>,
    /// The run time so far, in seconds.
    pub(super) runtime: f64,
    /// The last value of each key, as JSON.
    pub(super) last_values: BTreeMap<String, String>,
}

impl EarlierRun {
    /// Continues rows that have been uploaded.
    pub(super) fn new(last_step: Option<i64>, runtime: f64) -> Self {
        Self { num: 0, last_step, runtime, last_values: BTreeMap::new() }
    }

    /// Says what happens to a record, and notes what it holds if it is kept.
    pub(super) fn filter(&mut self, bytes: &[u8], kept_through: i64) -> RecordAction {
        let action = self.action_for(bytes, kept_through);
        if action == RecordAction::Keep {
            self.num = Fields::number_of(bytes, NUM).map_or(self.num, u64::cast_signed);
        }
        action
    }

    fn action_for(&mut self, bytes: &[u8], kept_through: i64) -> RecordAction {
        if let Some(history) = Fields::bytes_of(bytes, record::HISTORY) {
            let Some(row) = HistoryRow::read(history) else { return RecordAction::Drop };
            if row.step > kept_through {
                return RecordAction::Supersede;
            }
            self.last_step = self.last_step.max(Some(row.step));
            self.runtime = self.runtime.max(row.runtime);
            self.last_values.extend(row.items);
            return RecordAction::Keep;
        }
        let end_kinds = [record::SUMMARY, record::EXIT];
        if end_kinds.iter().any(|kind| Fields::bytes_of(bytes, *kind).is_some()) {
            RecordAction::Drop
        } else {
            RecordAction::Keep
        }
    }
}

/// A row of an earlier file.
pub(super) struct HistoryRow {
    pub(super) step: i64,
    pub(super) runtime: f64,
    pub(super) items: Vec<(String, String)>,
}

impl HistoryRow {
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
