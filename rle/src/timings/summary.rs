//! Number, mean and spread of the entries of a stage.

use std::collections::BTreeSet;

use super::entry::RunEntry;

/// Number, mean, spread and hardware of a set of times.
///
/// Times of different hardware are not kept apart: `hardware_ids` says of which hardware they are,
/// and `mixed_runs` which entries ran on more than one.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// Number of entries, at least 1.
    pub runs: usize,
    /// Arithmetic mean, in seconds.
    pub mean: f64,
    /// Sample standard deviation, with n - 1, in seconds; `None` of a single entry.
    pub std: Option<f64>,
    /// The shortest, in seconds.
    pub min: f64,
    /// The longest, in seconds.
    pub max: f64,
    /// The sum, in seconds.
    pub total: f64,
    /// The run indices that entries have, each once, ascending.
    pub run_indices: Vec<u32>,
    /// The ids of all hardware that the entries and their segments were measured on.
    pub hardware_ids: BTreeSet<String>,
    /// Entries that are the sum of several attempts.
    pub segmented: usize,
    /// Places of the entries whose attempts ran on hardware of different ids.
    pub mixed_runs: Vec<usize>,
}

impl Summary {
    /// The summary of some entries; `None` where there are none.
    pub fn of<'a>(entries: impl IntoIterator<Item = &'a RunEntry>) -> Option<Self> {
        let entries: Vec<&RunEntry> = entries.into_iter().collect();
        let seconds: Vec<f64> = entries.iter().map(|entry| entry.seconds()).collect();
        let (mean, std) = mean_and_std(&seconds)?;
        let ids: Vec<_> = entries.iter().map(|entry| entry.hardware_ids()).collect();
        let run_indices: BTreeSet<u32> = entries.iter().filter_map(|e| e.run_idx()).collect();
        let mixed = ids.iter().enumerate().filter(|(_, ids)| ids.len() > 1);
        Some(Self {
            runs: seconds.len(),
            mean,
            std,
            min: seconds.iter().copied().fold(f64::INFINITY, f64::min),
            max: seconds.iter().copied().fold(0.0, f64::max),
            total: seconds.iter().fold(0.0, |sum, x| sum + x),
            run_indices: run_indices.into_iter().collect(),
            segmented: entries.iter().filter(|entry| entry.segments().len() > 1).count(),
            mixed_runs: mixed.map(|(place, _)| place).collect(),
            hardware_ids: ids.into_iter().flatten().collect(),
        })
    }
}

/// Mean and sample standard deviation, in two passes: the first moment's error cannot grow into
/// the second (Chan, Golub and `LeVeque`, 1983).
#[expect(clippy::cast_precision_loss, reason = "no list has 2^53 entries")]
fn mean_and_std(seconds: &[f64]) -> Option<(f64, Option<f64>)> {
    let n = seconds.len() as f64;
    let mean = match seconds {
        [] => return None,
        // A first guess, then its correction: exact for equal values.
        [first, ..] => first + seconds.iter().map(|x| x - first).sum::<f64>() / n,
    };
    let squares: f64 = seconds.iter().map(|x| (x - mean).powi(2)).sum();
    let drift: f64 = seconds.iter().map(|x| x - mean).sum();
    let std =
        (seconds.len() > 1).then(|| ((squares - drift * drift / n) / (n - 1.0)).max(0.0).sqrt());
    Some((mean, std))
}
