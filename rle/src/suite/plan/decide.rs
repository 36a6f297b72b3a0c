//! What happens to each slot of a plan now, and why.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::algorithm::AlgorithmSpec;
use crate::fs::FileLock;
use crate::record::decision::{self, ComparedRequest, Policy};
use crate::record::{self, Decision, RecordState, SlotAction};
use crate::run::Latest;
use crate::run::checkpoint::{self, Found};
use crate::suite::config::SuiteConfig;
use crate::suite::plan::{Plan, PlannedSlot};
use crate::suite::{SlotPlan, SuitePlan};
use crate::{Error, SlotId, Slug};

impl Plan {
    /// What would happen to a slot now. A record that may be neither used nor replaced is an error.
    pub(crate) fn decide(&self, slot: &PlannedSlot) -> Result<Decision, Error> {
        let policy = Policy {
            resume: self.options.records.resume_completed_runs,
            rerun: slot.rerun,
            accept: &self.options.records.accept,
        };
        let state = record::read_state(&self.facts.export_dir, &slot.id)?;
        if let RecordState::Unusable(problem) = &state
            && !policy.rerun
        {
            let path = record::record_path(&self.facts.export_dir, &slot.id);
            let problem = format!("{problem}; --rerun {} moves it aside and runs again", slot.id);
            return Err(Error::file(path, problem));
        }
        let request =
            ComparedRequest { identity: &slot.identity, provenance: self.provenance.provenance() };
        let decision = decision::decide(&self.facts.export_dir, &slot.id, &state, request, policy);
        if decision.action == SlotAction::Run {
            return self.with_checkpoint(slot, decision);
        }
        Ok(decision)
    }

    /// Whether a slot that has to run goes on from a checkpoint.
    fn with_checkpoint(&self, slot: &PlannedSlot, decision: Decision) -> Result<Decision, Error> {
        let wanted = self.options.records.resume_checkpoints
            && !slot.rerun
            && !decision.set_aside
            && decision::unidentified(self.provenance.provenance()).is_none();
        let found = checkpoint::find(&self.facts.export_dir, &slot.id, slot.identity.hash())?;
        Ok(match found {
            Found::Nothing => decision,
            Found::Latest { latest, problems } if wanted => {
                let manifest = &latest.manifest;
                let mut text = format!(
                    "goes on from checkpoint {}, saved at {} after {:.1} s",
                    manifest.sequence, manifest.saved_at, manifest.seconds
                );
                for problem in problems {
                    text.push_str("; passed over: ");
                    text.push_str(&problem);
                }
                decision.resume_from(text)
            }
            Found::Latest { .. } => decision
                .with_set_aside("its checkpoint is not wanted and is moved aside".to_owned()),
            Found::Foreign(why) => {
                decision.with_set_aside(format!("its checkpoint is moved aside: {why}"))
            }
            Found::Damaged(problems) => decision.with_set_aside(format!(
                "its checkpoints are damaged and moved aside: {}",
                problems.join("; ")
            )),
        })
    }

    pub(crate) fn latest_checkpoint(&self, slot: &PlannedSlot) -> Result<Option<Latest>, Error> {
        let found = checkpoint::find(&self.facts.export_dir, &slot.id, slot.identity.hash())?;
        Ok(match found {
            Found::Latest { latest, .. } => Some(latest),
            _ => None,
        })
    }

    /// Like [`decide`](Self::decide), and a slot that has to run but is held by another process
    /// is busy.
    pub(crate) fn inspect(&self, slot: &PlannedSlot) -> Result<Decision, Error> {
        let lock = record::lock_path(&self.facts.export_dir, &slot.id);
        if !FileLock::is_held(&lock)? {
            return self.decide(slot);
        }
        // Whoever holds the slot may be about to write it: what cannot be read is theirs to mend.
        match self.decide(slot) {
            Ok(decision) if decision.action == SlotAction::Reuse => Ok(decision),
            _ => Ok(Decision::busy()),
        }
    }
}

/// A planned start with the decision about each slot.
pub(crate) struct Start {
    pub(in crate::suite) plan: Plan,
    pub(in crate::suite) decisions: Vec<Decision>,
}

impl Start {
    /// Plans a start and decides about its slots; changes no file.
    pub(crate) fn new(config: SuiteConfig, specs: &[AlgorithmSpec]) -> Result<Self, Error> {
        let mut start = Self { plan: Plan::new(config, specs)?, decisions: Vec::new() };
        start.decide()?;
        Ok(start)
    }

    pub(in crate::suite) fn decide(&mut self) -> Result<(), Error> {
        let decisions = self.plan.slots.iter().map(|slot| self.plan.inspect(slot));
        self.decisions = decisions.collect::<Result<_, _>>()?;
        Ok(())
    }

    pub(crate) fn as_suite_plan(&self) -> SuitePlan {
        let slots = self.plan.slots.iter().zip(&self.decisions);
        let slots = slots
            .map(|(slot, decision)| SlotPlan {
                slot: slot.id.clone(),
                action: decision.action,
                reasons: decision.reasons.iter().cloned().chain(decision.accepted()).collect(),
            })
            .collect();
        SuitePlan { slots }
    }

    /// The export directory, absolute, and the slots that a request is about.
    pub(crate) fn slots_of(
        config: SuiteConfig,
        specs: &[AlgorithmSpec],
    ) -> Result<(PathBuf, Vec<SlotId>), Error> {
        let plan = Plan::new(config, specs)?;
        let slots = plan.slots.iter().map(|slot| slot.id.clone()).collect();
        Ok((plan.facts.export_dir.clone(), slots))
    }

    pub(crate) fn export_dir(&self) -> &Path {
        &self.plan.facts.export_dir
    }

    /// The positions of the slots to run: those that no record answers, and those whose record lacks
    /// differences that are accepted.
    pub(in crate::suite) fn slots_to_run(&self) -> Vec<usize> {
        let has_to_run = |&slot: &usize| {
            let decision = &self.decisions[slot];
            decision.action != SlotAction::Reuse || !decision.accepted.is_empty()
        };
        (0..self.plan.slots.len()).filter(has_to_run).collect()
    }

    /// Whether anything is computed or archived.
    pub(in crate::suite) fn has_work(&self) -> bool {
        let is_run = |decision: &Decision| decision.action != SlotAction::Reuse;
        self.plan.options.records.restart_completed_runs || self.decisions.iter().any(is_run)
    }

    /// The sets of which every run of the window is requested and complete: each algorithm's
    /// slug with its runs.
    pub(in crate::suite) fn complete_sets(&self) -> Vec<(Slug, Vec<u32>)> {
        let mut sets: BTreeMap<&Slug, Vec<u32>> = BTreeMap::new();
        for (slot, decision) in self.plan.slots.iter().zip(&self.decisions) {
            if decision.action == SlotAction::Reuse {
                sets.entry(slot.id.slug()).or_default().push(slot.id.run_idx());
            }
        }
        let window = self.plan.facts.num_runs as usize;
        let complete = sets.into_iter().filter(|(_, runs)| runs.len() == window);
        complete.map(|(slug, runs)| (slug.clone(), runs)).collect()
    }
}
