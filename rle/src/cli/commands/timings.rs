//! The commands `timings show` and `timings check`.

use std::collections::BTreeSet;

use crate::Error;
use crate::cli::commands::files::Inspection;
use crate::cli::inspect::{
    AlgorithmTimes, CheckedStages, TimeEntry, TimeHardware, TimeSet, TimeWarning, Times,
    TimesRequest, algorithm_times, ranges, unknown_stages,
};
use crate::console::{Table, escape_controls, stdout_width};
use crate::value::Value;

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
    let mut shown = ShownHardware::default();
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
    shown: &mut ShownHardware,
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

/// The hardware that the rows of a table name: each once, under a number.
#[derive(Default)]
struct ShownHardware(Vec<TimeHardware>);

impl ShownHardware {
    /// The numbers of some hardware, from 1.
    fn numbers(&mut self, hardware: &[TimeHardware]) -> String {
        let mut numbers: Vec<String> = Vec::new();
        for hardware in hardware {
            let same = |known: &TimeHardware| match (&known.description, &hardware.description) {
                (Some(known), Some(other)) => known == other,
                (None, None) => known.ids == hardware.ids,
                _ => false,
            };
            let at = self.0.iter().position(same).unwrap_or_else(|| {
                self.0.push(hardware.clone());
                self.0.len() - 1
            });
            numbers.push((at + 1).to_string());
        }
        numbers.join(" ")
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The table of all of them.
    fn render(&self, width: Option<usize>) -> String {
        if self.is_empty() {
            return String::new();
        }
        let mut table =
            Table::new(["hardware", "memory", "cpu", "cores", "threads", "MHz", "gpus"]);
        for (at, hardware) in self.0.iter().enumerate() {
            let number = (at + 1).to_string();
            match &hardware.description {
                Some(description) => table.row(hardware_row(&number, description)),
                None => table.row([&number, &format!("not described: {}", hardware.ids.join(" "))]),
            };
        }
        table.render(width)
    }
}

fn hardware_row(number: &str, description: &Value) -> [String; 7] {
    let field = |part: &str, key: &str| description.get(part).and_then(|part| part.get(key));
    let plain = |value: Option<&Value>| value.map_or(String::new(), plain_text);
    let memory = match field("memory", "limit_gib") {
        None => String::new(),
        Some(Value::Null) => "no limit".to_owned(),
        Some(limit) => {
            with_source(&format!("{} GiB", plain_text(limit)), field("memory", "limit_source"))
        }
    };
    let clocks = [field("cpu", "min_clock_mhz"), field("cpu", "max_clock_mhz")];
    let clock = match clocks.map(|clock| clock.filter(|clock| !clock.is_null())) {
        [Some(least), Some(most)] if least == most => plain_text(most),
        [Some(least), Some(most)] => format!("{}-{}", plain_text(least), plain_text(most)),
        [None, Some(most)] => format!("up to {}", plain_text(most)),
        [Some(least), None] => format!("from {}", plain_text(least)),
        [None, None] => String::new(),
    };
    let clock =
        if clock.is_empty() { clock } else { with_source(&clock, field("cpu", "clock_source")) };
    let gpus = description.get("gpus").and_then(Value::as_array);
    let gpus = gpus.map_or(String::new(), |gpus| match gpus {
        [] => "none".to_owned(),
        gpus => gpus.iter().map(gpu).collect::<Vec<_>>().join(" + "),
    });
    [
        number.to_owned(),
        memory,
        plain(field("cpu", "processor_name")),
        plain(field("cpu", "physical_cores_available")),
        plain(field("cpu", "logical_threads_available")),
        clock,
        gpus,
    ]
}

fn gpu(gpu: &Value) -> String {
    let number = |key: &str, unit: &str| {
        gpu.get(key)
            .filter(|value| !value.is_null())
            .map(|value| format!("{} {unit}", plain_text(value)))
    };
    let count = gpu.get("count").map_or("1".to_owned(), plain_text);
    let name = gpu.get("name").map_or("unnamed".to_owned(), plain_text);
    let details: Vec<String> = [
        number("memory_gib", "GiB"),
        number("memory_bus_width_bits", "bit"),
        number("max_memory_clock_mhz", "MHz"),
        number("peak_memory_bandwidth_gb_s", "GB/s"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if details.is_empty() {
        return format!("{count} x {name}");
    }
    format!("{count} x {name} ({})", details.join(", "))
}

fn with_source(text_of_value: &str, source: Option<&Value>) -> String {
    match source.and_then(Value::as_str) {
        Some(source) => format!("{text_of_value} ({source})"),
        None => text_of_value.to_owned(),
    }
}

/// A value without the quotes of a text, and a whole float without its decimals.
fn plain_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Number(number) => {
            number.as_i64().map_or_else(|| value.to_string(), |n| n.to_string())
        }
        other => other.to_string(),
    }
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

    const SAMPLE: &str = r#"{
        "memory": {"limit_gib": 64.0, "limit_source": "cgroup"},
        "cpu": {"processor_name": "AMD EPYC 7742 64-Core Processor", "physical_cores_available": 4,
                "logical_threads_available": 8, "min_clock_mhz": 1500.0, "max_clock_mhz": 3400.0,
                "clock_source": "linux_cpufreq"},
        "gpus": [{"count": 1, "name": "NVIDIA A16", "memory_gib": 15.0, "memory_bus_width_bits": 128,
                  "max_memory_clock_mhz": 6251.0, "peak_memory_bandwidth_gb_s": 200.03}]
    }"#;

    fn hardware(id: &str, description: Option<&str>) -> TimeHardware {
        let parse = |text: &str| Value::parse_json(text.as_bytes()).unwrap();
        TimeHardware { ids: vec![id.to_owned()], description: description.map(parse) }
    }

    #[test]
    fn hardware_is_numbered_and_said_in_full() {
        let mut shown = ShownHardware::default();
        let nothing =
            r#"{"memory": {"limit_gib": null}, "cpu": {"max_clock_mhz": null}, "gpus": []}"#;
        let (full, none) = (hardware("a", Some(SAMPLE)), hardware("b", Some(nothing)));
        assert_eq!(shown.numbers(std::slice::from_ref(&full)), "1");
        assert_eq!(shown.numbers(&[none, full]), "2 1");
        assert_eq!(shown.numbers(&[hardware("c", None)]), "3");
        assert_eq!(
            shown.render(None),
            "hardware  memory            cpu                              cores  threads  MHz                        gpus\n\
             1         64 GiB (cgroup)   AMD EPYC 7742 64-Core Processor  4      8        1500-3400 (linux_cpufreq)  1 x NVIDIA A16 (15 GiB, 128 bit, 6251 MHz, 200.03 GB/s)\n\
             2         no limit                                                                                      none\n\
             3         not described: c\n"
        );
    }

    #[test]
    fn a_description_may_lack_anything() {
        let mut shown = ShownHardware::default();
        shown.numbers(&[hardware("a", Some(r#"{"gpus": [{}, {"name": "T4", "count": 2}]}"#))]);
        shown.numbers(&[hardware("b", Some("[]"))]);
        let text = shown.render(None);
        assert!(text.contains("1 x unnamed + 2 x T4"), "{text}");
    }
}
