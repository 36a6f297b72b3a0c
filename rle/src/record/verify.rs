//! Looks again at everything that records and checkpoints vouch for.

use std::path::Path;

use serde::Serialize;

use super::decision;
use super::files::record_paths;
use super::reader::read_whole;
use crate::Error;
use crate::names::{SlotId, Slug};
use crate::run::checkpoint;

/// Something that is not as it was stored.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Finding {
    /// `ippo:1`, or the file where that cannot be told.
    pub(crate) slot: String,
    /// What is wrong.
    pub(crate) problem: String,
}

/// What was looked at, and what was found.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Verification {
    pub(crate) records: usize,
    pub(crate) outputs: usize,
    pub(crate) slots_with_checkpoints: usize,
    pub(crate) findings: Vec<Finding>,
}

/// Hashes all tracked outputs and checkpoint payloads of an export directory again.
pub(crate) fn verify(export_dir: &Path, slots: &[SlotId]) -> Result<Verification, Error> {
    let mut verification = Verification::default();
    let mut seen: Vec<SlotId> = slots.to_vec();
    for path in record_paths(export_dir)? {
        verification.records += 1;
        match read_whole(&path) {
            Err(error) => verification
                .findings
                .push(Finding { slot: path.display().to_string(), problem: error.to_string() }),
            Ok(whole) => {
                let head = whole.head;
                let slug = match Slug::new(head.algorithm.slug.clone()) {
                    Ok(slug) => slug,
                    Err(error) => {
                        let (slot, problem) = (path.display().to_string(), error.to_string());
                        verification.findings.push(Finding { slot, problem });
                        continue;
                    }
                };
                let slot = SlotId::new(slug, head.run_idx);
                verification.outputs += head.artifact_paths.len();
                let reasons = decision::output_reasons(export_dir, &head).into_iter();
                verification.findings.extend(
                    reasons.map(|reason| Finding { slot: slot.to_string(), problem: reason.text }),
                );
                if !seen.contains(&slot) {
                    seen.push(slot);
                }
            }
        }
    }
    for slot in &seen {
        let home = checkpoint::directory(export_dir, slot);
        verification.slots_with_checkpoints += usize::from(home.is_dir());
        let problems = checkpoint::check_all(export_dir, slot)?.into_iter();
        verification
            .findings
            .extend(problems.map(|problem| Finding { slot: slot.to_string(), problem }));
    }
    Ok(verification)
}
