//! The hardware of times: each once, under a number that the rows of the table name.

use crate::cli::inspect::TimeHardware;
use crate::console::Table;
use crate::value::Value;

/// All hardware that some rows name.
#[derive(Default)]
pub(super) struct Shown(Vec<TimeHardware>);

impl Shown {
    /// The numbers of some hardware, from 1.
    pub(super) fn numbers(&mut self, hardware: &[TimeHardware]) -> String {
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

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The table of all of them.
    pub(super) fn render(&self, width: Option<usize>) -> String {
        if self.is_empty() {
            return String::new();
        }
        let mut table =
            Table::new(["hardware", "memory", "cpu", "cores", "threads", "MHz", "gpus"]);
        for (at, hardware) in self.0.iter().enumerate() {
            let number = (at + 1).to_string();
            match &hardware.description {
                Some(description) => table.row(row(&number, description)),
                None => table.row([&number, &format!("not described: {}", hardware.ids.join(" "))]),
            };
        }
        table.render(width)
    }
}

fn row(number: &str, description: &Value) -> [String; 7] {
    let field = |part: &str, key: &str| description.get(part).and_then(|part| part.get(key));
    let plain = |value: Option<&Value>| value.map_or(String::new(), text);
    let memory = match field("memory", "limit_gib") {
        None => String::new(),
        Some(Value::Null) => "no limit".to_owned(),
        Some(limit) => {
            with_source(&format!("{} GiB", text(limit)), field("memory", "limit_source"))
        }
    };
    let clocks = [field("cpu", "min_clock_mhz"), field("cpu", "max_clock_mhz")];
    let clock = match clocks.map(|clock| clock.filter(|clock| !clock.is_null())) {
        [Some(least), Some(most)] if least == most => text(most),
        [Some(least), Some(most)] => format!("{}-{}", text(least), text(most)),
        [None, Some(most)] => format!("up to {}", text(most)),
        [Some(least), None] => format!("from {}", text(least)),
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
        gpu.get(key).filter(|value| !value.is_null()).map(|value| format!("{} {unit}", text(value)))
    };
    let count = gpu.get("count").map_or("1".to_owned(), text);
    let name = gpu.get("name").map_or("unnamed".to_owned(), text);
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
fn text(value: &Value) -> String {
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
        let mut shown = Shown::default();
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
        let mut shown = Shown::default();
        shown.numbers(&[hardware("a", Some(r#"{"gpus": [{}, {"name": "T4", "count": 2}]}"#))]);
        shown.numbers(&[hardware("b", Some("[]"))]);
        let text = shown.render(None);
        assert!(text.contains("1 x unnamed + 2 x T4"), "{text}");
    }
}
