//! The commands `timings show` and `timings check`.

mod hardware;

use std::collections::BTreeSet;

use crate::Error;
use crate::cli::commands::files::Inspection;
use crate::cli::inspect::{
    AlgorithmTimes, CheckedStages, TimeEntry, TimeSet, TimeWarning, Times, TimesRequest,
    algorithm_times, ranges, unknown_stages,
};
use crate::console::{Table, escape_controls, stdout_width};
use hardware::Shown;

/// Shows the times, and gives status 1 where a file could not be read.
pub(in crate::cli) fn show(inspection: &Inspection<'_>) -> Result<u8, Error> {
    let request = TimesRequest {
        scope: inspection.scope.clone(),
        latest_runs: inspection.count("latest_runs", "--latest-runs")?,
        other_stages: inspection.is_on("include_other_stages", "--include-other-stages")?,
        pool: inspection.is_on("pool", "--pool")?,
    };
    let times = algorithm_times(&request)?;
    let text = || times_text(&times, request.other_stages, inspection);
    inspection.print(&times, &times.faults, text)?;
    Ok(u8::from(!times.faults.is_empty()))
}

fn times_text(times: &Times, other_stages: bool, inspection: &Inspection<'_>) -> String {
    if times.algorithms.is_empty() {
        let nothing = times.faults.is_empty();
        let nothing = nothing.then(|| format!("no timings.json below {}\n", inspection.place()));
        return nothing.unwrap_or_default();
    }
    let mut shown = Shown::default();
    let mut headers = vec!["group", "algorithm", "stage", "n", "seconds", "± 2 sd"];
    headers.extend(other_stages.then_some("share"));
    headers.extend(["runs", "hardware"]);
    let mut table = Table::new(headers).align_right(3).align_right(4).align_right(5);
    if other_stages {
        table = table.align_right(6);
    }
    for algorithm in &times.algorithms {
        for stage in &algorithm.stages {
            for set in &stage.sets {
                table.row(row(algorithm, &stage.stage, set, other_stages, &mut shown));
            }
        }
    }
    let mut files = Table::new(["group", "algorithm", "file"]);
    for algorithm in &times.algorithms {
        let file = algorithm.file.display().to_string();
        files.row([algorithm.group.as_str(), &algorithm.label, &file]);
    }
    let width = stdout_width();
    let mut text = if shown.is_empty() { String::new() } else { table.render(width) };
    let hardware = shown.render(width);
    for part in [hardware, files.render(width), remarks(times)] {
        let gap = if text.is_empty() || part.is_empty() { "" } else { "\n" };
        text.push_str(gap);
        text.push_str(&part);
    }
    text
}

fn row(
    algorithm: &AlgorithmTimes,
    stage: &str,
    set: &TimeSet,
    other_stages: bool,
    shown: &mut Shown,
) -> Vec<String> {
    let (seconds, spread) = seconds_text(set.mean_seconds, set.two_sd_seconds);
    let mut row = vec![
        algorithm.group.clone(),
        algorithm.label.clone(),
        stage.to_owned(),
        set.n.to_string(),
        seconds,
        spread,
    ];
    if other_stages {
        row.push(set.share.map_or(String::new(), |share| format!("{:.1} %", share * 100.0)));
    }
    row.push(runs_text(&set.entries));
    row.push(shown.numbers(&set.hardware));
    row
}

/// Files that have no time of a whole run, and what is not to be compared.
fn remarks(times: &Times) -> String {
    let notes = times.algorithms.iter().filter_map(note);
    let warnings = times.warnings.iter().map(|warning| {
        let TimeWarning { group, algorithm, stages, text } = warning;
        format!("warning: {group} {algorithm} ({}): {text}", stages.join(", "))
    });
    let mut text = String::new();
    for line in notes.chain(warnings) {
        text.push_str(&escape_controls(&line));
        text.push('\n');
    }
    text
}

fn note(algorithm: &AlgorithmTimes) -> Option<String> {
    let AlgorithmTimes { group, algorithm: slug, stages, other_stages, .. } = algorithm;
    if stages.iter().any(|stage| !stage.sets.is_empty()) {
        return None;
    }
    let others = match other_stages.as_slice() {
        [] => "; it has no other".to_owned(),
        others => format!("; --include-other-stages shows {}", others.join(", ")),
    };
    Some(format!("note: {group} {slug} has no times under `{slug}_run`{others}"))
}

/// Run indices, and the labels of entries, as `0-2,5 final`.
fn runs_text(entries: &[TimeEntry]) -> String {
    let indices: BTreeSet<u32> = entries.iter().filter_map(|entry| entry.run_idx).collect();
    let labels: BTreeSet<&str> =
        entries.iter().filter_map(|entry| entry.label.as_deref()).collect();
    let mut words: Vec<String> = Vec::new();
    if !indices.is_empty() {
        words.push(ranges(indices));
    }
    words.extend(labels.into_iter().map(ToOwned::to_owned));
    words.join(" ")
}

/// A mean and its spread with as many digits as the spread makes sense of: two of its own.
fn seconds_text(mean: f64, spread: Option<f64>) -> (String, String) {
    const MOST_DECIMALS: i32 = 9;
    let decimals = |significant: i32, x: f64| {
        #[expect(clippy::cast_possible_truncation, reason = "a double's exponent is below 400")]
        let exponent = x.log10().floor() as i32;
        usize::try_from((significant - 1 - exponent).clamp(0, MOST_DECIMALS)).unwrap_or(0)
    };
    let of_mean = if mean > 0.0 { decimals(4, mean) } else { 1 };
    match spread {
        None => (format!("{mean:.of_mean$}"), String::new()),
        Some(spread) => {
            let of_spread = if spread > 0.0 { decimals(2, spread) } else { of_mean };
            (format!("{mean:.of_spread$}"), format!("{spread:.of_spread$}"))
        }
    }
}

/// Names the stages that nobody has declared, and gives status 1 where there are some, or a file
/// could not be read.
pub(in crate::cli) fn check(inspection: &Inspection<'_>, declared: &[&str]) -> Result<u8, Error> {
    let allowed = inspection.list("allow", "--allow")?;
    let known = declared.iter().map(|stage| (*stage).to_owned()).chain(allowed).collect();
    let checked = unknown_stages(&inspection.scope, known)?;
    inspection.print(&checked, &checked.faults, || checked_text(&checked, inspection))?;
    Ok(u8::from(!checked.unknown.is_empty() || !checked.faults.is_empty()))
}

fn checked_text(checked: &CheckedStages, inspection: &Inspection<'_>) -> String {
    let mut table = Table::new(["file", "stage", "did you mean"]);
    for unknown in &checked.unknown {
        let near = unknown.near.as_deref().unwrap_or_default();
        table.row([&unknown.file.display().to_string(), &unknown.stage, near]);
    }
    let files = if checked.files == 1 { "1 file" } else { &format!("{} files", checked.files) };
    let place = inspection.place();
    if checked.unknown.is_empty() {
        return format!("{files} below {place}: every stage is known\n");
    }
    let count = checked.unknown.len();
    let stages = if count == 1 { "1 stage" } else { &format!("{count} stages") };
    format!(
        "{}{files} below {place}: {stages} that nobody declared; declare them in stages!, or name \
         them with --allow\n",
        table.render(stdout_width())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_digits_that_their_spread_makes_sense_of() {
        let text = |mean, spread| {
            let (mean, spread) = seconds_text(mean, spread);
            format!("{mean} {spread}").trim_end().to_owned()
        };
        assert_eq!(text(12.803_21, Some(0.4176)), "12.80 0.42");
        assert_eq!(text(1250.3, Some(33.0)), "1250 33");
        assert_eq!(text(1250.3, None), "1250");
        assert_eq!(text(0.000_012_346, None), "0.00001235");
        assert_eq!(text(1.25, None), "1.250");
        assert_eq!(text(2.0, Some(0.0)), "2.000 0.000");
        assert_eq!(text(0.0, None), "0.0");
        assert_eq!(text(0.0, Some(0.0)), "0.0 0.0");
        assert_eq!(text(1e6, Some(1e-12)), "1000000.000000000 0.000000000");
    }
}
