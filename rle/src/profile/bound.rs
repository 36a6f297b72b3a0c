//! Which phase of reinforcement learning takes a run's time, and what helps.

use std::fmt;

/// A part that every training loop has. A stage belongs to it by the end of its name: `train` and
/// `ippo_train` are both training.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Stages `rollout`: environments step, the policy acts.
    Rollout,
    /// Stages `train`: gradients and the optimiser.
    Training,
    /// Stages `update_dataset`: sampling from the buffer, and bringing it to training.
    DataTransfer,
    /// Stages `sync_weights`: new weights to where the policy acts.
    WeightSync,
}

/// How much of a period one phase takes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct PhaseShare {
    /// The phase.
    pub phase: Phase,
    /// Its time, in seconds: of several stages the longest, as one is usually inside the other.
    pub seconds: f64,
    /// Its part of the whole time. More than 1 where threads run it side by side.
    pub share: f64,
}

/// Where the time of a run goes. Its text is one line for the shares and one for the remedy.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Bound {
    /// The phases that took time, in their order in a training loop.
    pub shares: Vec<PhaseShare>,
    /// The phase to begin with, where one stands out.
    pub bound_by: Option<Phase>,
}

/// A phase dominates from this share of the time on.
const DOMINANT: f64 = 0.5;

/// Less than this is not worth a remedy.
const WORTH_IT: f64 = 0.1;

/// Data transfer from this part of training on is out of proportion.
const OUT_OF_PROPORTION: f64 = 0.5;

/// Says which phase bounds a run, by its stages with their summed seconds and its duration in
/// seconds.
///
/// The largest phase does where it takes at least half of the time; it is data transfer rather than
/// training where that takes half of training or more, since it is often a part of it. Where no
/// phase takes half, data transfer is still named from half of training on, and weight
/// synchronisation where it takes as long as training, both from a tenth of the whole on.
///
/// ```
/// use rle::profile::{Phase, bound};
///
/// let bound = bound([("rollout", 8.0), ("train", 1.5), ("sync_weights", 0.2)], 10.0);
/// assert_eq!(bound.bound_by, Some(Phase::Rollout));
/// assert!(bound.to_string().starts_with("rollout 80.0 %, training 15.0 %, weight sync 2.0 %"));
/// ```
#[must_use]
pub fn bound<'a>(stages: impl IntoIterator<Item = (&'a str, f64)>, seconds: f64) -> Bound {
    let mut longest = [0.0_f64; Phase::ALL.len()];
    for (stage, time) in stages {
        if let Some(phase) = Phase::of_stage(stage) {
            longest[phase as usize] = longest[phase as usize].max(time);
        }
    }
    let shares: Vec<PhaseShare> = Phase::ALL
        .into_iter()
        .map(|phase| (phase, longest[phase as usize]))
        .filter(|(_, time)| *time > 0.0)
        .map(|(phase, time)| PhaseShare { phase, seconds: time, share: time / seconds })
        .collect();
    let bound_by = if seconds > 0.0 { bound_by(&longest, seconds) } else { None };
    Bound { shares, bound_by }
}

fn bound_by(longest: &[f64; 4], seconds: f64) -> Option<Phase> {
    let time = |phase: Phase| longest[phase as usize];
    let training = time(Phase::Training);
    let transfers = time(Phase::DataTransfer) >= OUT_OF_PROPORTION * training;
    let largest = Phase::ALL.into_iter().max_by(|one, two| time(*one).total_cmp(&time(*two)))?;
    if time(largest) >= DOMINANT * seconds {
        let inside = largest == Phase::Training && transfers;
        return Some(if inside { Phase::DataTransfer } else { largest });
    }
    let worth_it = |phase: Phase| time(phase) >= WORTH_IT * seconds;
    if transfers && worth_it(Phase::DataTransfer) {
        return Some(Phase::DataTransfer);
    }
    let syncs = time(Phase::WeightSync) >= training && worth_it(Phase::WeightSync);
    syncs.then_some(Phase::WeightSync)
}

impl Phase {
    const ALL: [Self; 4] = [Self::Rollout, Self::Training, Self::DataTransfer, Self::WeightSync];

    /// The phase that a stage belongs to, by the end of its name.
    #[must_use]
    pub fn of_stage(stage: &str) -> Option<Self> {
        let name = stage.rsplit('.').next().unwrap_or(stage);
        Self::ALL.into_iter().find(|phase| {
            name.strip_suffix(phase.stage())
                .is_some_and(|before| before.is_empty() || before.ends_with('_'))
        })
    }

    /// The stage name that stands for the phase.
    #[must_use]
    pub const fn stage(self) -> &'static str {
        self.texts()[1]
    }

    /// What a run is called that this phase bounds.
    #[must_use]
    pub const fn verdict(self) -> &'static str {
        self.texts()[2]
    }

    /// What helps a run that this phase bounds.
    #[must_use]
    pub const fn remedy(self) -> &'static str {
        self.texts()[3]
    }

    /// Name, stage, verdict, remedy.
    const fn texts(self) -> [&'static str; 4] {
        match self {
            Self::Rollout => [
                "rollout",
                "rollout",
                "rollout-bound",
                "step more environments at once, on more threads, or train while the next \
                 rollout is collected",
            ],
            Self::Training => [
                "training",
                "train",
                "training-bound",
                "take fewer gradient steps or smaller batches per rollout, or train on more devices",
            ],
            Self::DataTransfer => [
                "data transfer",
                "update_dataset",
                "data-transfer-bound",
                "keep the buffer where training reads it, sample in larger pieces, or fetch the \
                 next batch while this one is trained on",
            ],
            Self::WeightSync => [
                "weight sync",
                "sync_weights",
                "weight-sync-bound",
                "act and train on one device, or hand over weights less often",
            ],
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.texts()[0])
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, share) in self.shares.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(formatter, "{comma}{} {:.1} %", share.phase, share.share * 100.0)?;
        }
        match self.bound_by {
            Some(phase) => write!(formatter, "\n{}: {}", phase.verdict(), phase.remedy()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound_by(stages: &[(&str, f64)]) -> Option<Phase> {
        bound(stages.iter().copied(), 10.0).bound_by
    }

    #[test]
    fn the_largest_phase_bounds_where_it_takes_half() {
        assert_eq!(bound_by(&[("rollout", 5.0), ("train", 4.0)]), Some(Phase::Rollout));
        assert_eq!(bound_by(&[("rollout", 4.0), ("train", 5.0)]), Some(Phase::Training));
        assert_eq!(bound_by(&[("rollout", 4.9), ("train", 4.8)]), None);
        assert_eq!(bound_by(&[("sync_weights", 6.0), ("train", 3.0)]), Some(Phase::WeightSync));
        assert_eq!(bound_by(&[]), None);
    }

    #[test]
    fn data_transfer_inside_of_training_is_told_from_it() {
        assert_eq!(bound_by(&[("train", 8.0), ("update_dataset", 4.0)]), Some(Phase::DataTransfer));
        assert_eq!(bound_by(&[("train", 8.0), ("update_dataset", 3.9)]), Some(Phase::Training));
        assert_eq!(
            bound_by(&[("rollout", 4.0), ("train", 3.0), ("update_dataset", 1.6)]),
            Some(Phase::DataTransfer)
        );
    }

    #[test]
    fn weight_sync_is_measured_by_training() {
        let stages = |sync| [("rollout", 4.0), ("train", 2.0), ("sync_weights", sync)];
        assert_eq!(bound_by(&stages(2.0)), Some(Phase::WeightSync));
        assert_eq!(bound_by(&stages(1.9)), None);
        let little = [("rollout", 4.0), ("train", 0.5), ("sync_weights", 0.9)];
        assert_eq!(bound_by(&little), None, "nine hundredths of the run are not worth it");
    }

    #[test]
    fn stages_belong_to_phases_by_the_end_of_their_names() {
        let phases = ["train", "ippo_train", "ppo.train", "retrain", "rollout_inner", "my_rollout"];
        assert_eq!(
            phases.map(Phase::of_stage),
            [
                Some(Phase::Training),
                Some(Phase::Training),
                Some(Phase::Training),
                None,
                None,
                Some(Phase::Rollout)
            ]
        );
    }

    #[test]
    fn stages_inside_each_other_count_once() {
        let bound = bound([("engine.train", 4.0), ("train", 3.0)], 10.0);
        assert_eq!(bound.shares.len(), 1);
        assert!((bound.shares[0].share - 0.4).abs() < 1e-12);
    }

    #[test]
    fn no_time_bounds_nothing() {
        assert_eq!(bound([("train", 1.0)], 0.0).bound_by, None);
        assert_eq!(bound([("train", f64::NAN)], 1.0).shares, []);
    }

    #[test]
    fn the_remedy_is_a_line_of_its_own() {
        let text = bound([("train", 9.0)], 10.0).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0], "training 90.0 %");
        assert!(lines[1].starts_with("training-bound: "), "{text}");
        assert_eq!(bound([("train", 1.0)], 10.0).to_string(), "training 10.0 %");
    }
}
