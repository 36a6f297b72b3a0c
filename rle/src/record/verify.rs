//! Checks again every hash that records and checkpoints hold.

use std::fmt::Display;
use std::path::Path;

use serde::Serialize;

use super::decision;
use super::files::{WholeRecord, read_whole, record_paths};
use crate::run::checkpoint;
use crate::{Error, SlotId, Slug};

/// Something that is not as it was stored.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Finding {
    /// `ippo:1`, or the file where that cannot be told.
    pub(crate) slot: String,
    pub(crate) problem: String,
}

#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Verification {
    pub(crate) records: usize,
    pub(crate) outputs: usize,
    pub(crate) slots_with_checkpoints: usize,
    pub(crate) findings: Vec<Finding>,
}

impl Verification {
    fn note(&mut self, slot: impl Display, problem: String) {
        self.findings.push(Finding { slot: slot.to_string(), problem });
    }
}

/// Hashes all tracked outputs and checkpoint payloads of an export directory again.
pub(crate) fn verify(export_dir: &Path, slots: &[SlotId]) -> Result<Verification, Error> {
    let mut verification = Verification::default();
    let mut seen: Vec<SlotId> = slots.to_vec();
    for path in record_paths(export_dir)? {
        verification.records += 1;
        let read = read_whole(&path).and_then(|WholeRecord { head, .. }| {
            let slug = Slug::new(head.algorithm.slug.clone())?;
            Ok((SlotId::new(slug, head.run_idx), head))
        });
        let (slot, head) = match read {
            Ok(read) => read,
            Err(error) => {
                verification.note(path.display(), error.to_string());
                continue;
            }
        };
        verification.outputs += head.artifact_paths.len();
        for reason in decision::output_reasons(export_dir, &head) {
            verification.note(&slot, reason.text);
        }
        if !seen.contains(&slot) {
            seen.push(slot);
        }
    }
    for slot in &seen {
        let home = checkpoint::directory(export_dir, slot);
        verification.slots_with_checkpoints += usize::from(home.is_dir());
        for problem in checkpoint::check_all(export_dir, slot)? {
            verification.note(slot, problem);
        }
    }
    Ok(verification)
}
