//! Which algorithms and runs a start is about.

use serde::{Deserialize, Serialize};

use crate::suite::config::SuiteConfig;
use crate::suite::config::field::Field;
use crate::suite::config::setting::{ALL_CHILDREN, Setting, boolean, value};

/// Which algorithms and runs a start is about.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SelectionOptions {
    pub(crate) num_runs: u32,
    pub(crate) base_seed: u64,
    pub(crate) run_numbers: Option<Vec<u32>>,
    pub(crate) algorithms: Option<Vec<String>>,
    pub(crate) just_vis: bool,
}

impl Default for SelectionOptions {
    fn default() -> Self {
        Self { num_runs: 1, base_seed: 0, run_numbers: None, algorithms: None, just_vis: false }
    }
}

pub(in crate::suite::config) const SETTINGS: &[Setting] = &[
    value("num_runs", "N", "size of the run window", |config| {
        Field::Count(&mut config.selection.num_runs)
    })
    .inherited_by(ALL_CHILDREN),
    value("run_numbers", "LIST", "only these zero-based runs of the window: 1 or 0,2", |config| {
        Field::RunNumbers(&mut config.selection.run_numbers)
    }),
    value("base_seed", "N", "learner seed of run i is base seed + i", |config| {
        Field::Seed(&mut config.selection.base_seed)
    })
    .inherited_by(ALL_CHILDREN),
    value(
        "algorithms",
        "LIST",
        "exactly these algorithms, by name or slug; ignores the flags",
        |config| Field::Algorithms(&mut config.selection.algorithms),
    ),
    boolean("just_vis", "select no algorithm: only look at what exists", |config| {
        Field::Bool(&mut config.selection.just_vis)
    }),
];

impl SuiteConfig {
    /// Size of the run window: runs `0..num_runs` of each algorithm.
    pub fn num_runs(mut self, num_runs: u32) -> Self {
        self.selection.num_runs = num_runs;
        self
    }

    /// Learner seed of run 0; run `i` has `base_seed + i`.
    pub fn base_seed(mut self, base_seed: u64) -> Self {
        self.selection.base_seed = base_seed;
        self
    }

    /// Only these runs of the window.
    pub fn run_numbers(mut self, run_numbers: impl IntoIterator<Item = u32>) -> Self {
        self.selection.run_numbers = Some(run_numbers.into_iter().collect());
        self
    }

    /// Exactly these algorithms, by name or slug; flags are then ignored.
    pub fn algorithms<I, S>(mut self, algorithms: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        self.selection.algorithms = Some(algorithms.into_iter().map(Into::into).collect());
        self
    }
}
