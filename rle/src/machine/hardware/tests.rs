use super::*;
use crate::value::Value;

const SAMPLE: &str = r#"{
    "memory": { "limit_gib": 64.0, "limit_source": "cgroup" },
    "cpu": { "processor_name": "AMD EPYC 7742 64-Core Processor", "physical_cores_available": 4,
             "logical_threads_available": 8, "min_clock_mhz": 1500.0, "max_clock_mhz": 3400.0,
             "clock_source": "linux_cpufreq" },
    "gpus": [ { "count": 1, "name": "NVIDIA A16", "memory_gib": 15.0, "memory_bus_width_bits": 128,
                "max_memory_clock_mhz": 6251.0, "peak_memory_bandwidth_gb_s": 200.03 } ]
}"#;

/// As programs wrote it before they knew where a clock came from.
const OLDER: &str = r#"{
    "memory": { "limit_gib": 64.0, "limit_source": "cgroup" },
    "cpu": { "processor_name": "AMD EPYC 7742 64-Core Processor", "physical_cores_available": 4,
             "logical_threads_available": 8, "min_clock_mhz": 1500.0, "max_clock_mhz": 3400.0 },
    "gpus": [ { "count": 1, "memory_gib": 15.0, "name": "NVIDIA A16", 
                "peak_memory_bandwidth_gb_s": 200.03 } ]
}"#;

fn value(text: &str) -> Value {
    Value::parse_json(text.as_bytes()).unwrap()
}

fn hardware(text: &str) -> Hardware {
    value(text).to().unwrap()
}

fn fields(left: &str, right: &str) -> Vec<String> {
    differences(&value(left), &value(right)).into_iter().map(|found| found.field).collect()
}

#[test]
fn a_description_survives_reading_and_writing() {
    let odd = r#"{"cpu": {"clock_source": "sundial", "caches": [1]}, "gpus": [{"mig": {"a": 1}}],
                  "memory": {"limit_gib": 7, "limit_source": "lsf"}, "fpga": 2}"#;
    for text in [SAMPLE, OLDER, odd, "{}", r#"{"memory": {}}"#] {
        let hardware = hardware(text);
        assert_eq!(differences(&Value::from_serialize(&hardware).unwrap(), &value(text)), []);
        let keys = |value: &Value| value.to_json_pretty().matches(':').count();
        assert_eq!(keys(&Value::from_serialize(&hardware).unwrap()), keys(&value(text)), "{text}");
    }
    let hardware = hardware(SAMPLE);
    assert_eq!(hardware.memory.limit_source, Some(LimitSource::Cgroup));
    assert_eq!(hardware.cpu.clock_source, Some(ClockSource::LinuxCpufreq));
    assert_eq!(hardware.gpus[0].memory_bus_width_bits, Some(128));
}

#[test]
fn a_description_of_the_wrong_shape_is_refused_by_its_field() {
    let error = |text: &str| value(text).to::<Hardware>().unwrap_err().to_string();
    assert!(error(r#"{"cpu": {"max_clock_mhz": "fast"}}"#).contains("cpu"));
    assert!(error("[]").contains("is an object"));
}

#[test]
fn the_id_is_that_of_the_canonical_text() {
    // printf '{"cpu":{...},...}' | sha256sum, of the canonical text written by hand.
    let canonical = concat!(
        r#"{"cpu":{"clock_source":"linux_cpufreq","logical_threads_available":8,"#,
        r#""max_clock_mhz":3400,"min_clock_mhz":1500,"physical_cores_available":4,"#,
        r#""processor_name":"AMD EPYC 7742 64-Core Processor"},"#,
        r#""gpus":[{"count":1,"max_memory_clock_mhz":6251,"memory_bus_width_bits":128,"#,
        r#""memory_gib":15,"name":"NVIDIA A16","peak_memory_bandwidth_gb_s":200.03}],"#,
        r#""memory":{"limit_gib":64,"limit_source":"cgroup"}}"#
    );
    let sha256 = crate::value::digest::sha256_hex(canonical.as_bytes());
    assert_eq!(hardware(SAMPLE).id(), format!("hw_{}", &sha256[..16]));
    assert_eq!(hardware(SAMPLE).id(), id_of(&value(SAMPLE)));
}

/// The id was computed by another program, from the canonical text.
#[test]
fn the_description_in_which_nothing_is_known_has_its_id_too() {
    let nothing = Hardware::default();
    assert_eq!(nothing.id(), "hw_21be35ef56a0f1b9");
    let canonical = "{\"cpu\":{\"clock_source\":null,\"logical_threads_available\":null,\
         \"max_clock_mhz\":null,\"min_clock_mhz\":null,\"physical_cores_available\":null,\
         \"processor_name\":null},\"gpus\":[],\"memory\":{\"limit_gib\":null,\"limit_source\":null}}";
    assert_eq!(nothing.to_value().canonical_json().unwrap(), canonical);
}

#[test]
fn floats_are_rounded_before_the_id_is_taken() {
    let with_limit = |gib: f64| {
        let mut hardware = hardware(SAMPLE);
        hardware.memory.limit_gib = Some(gib);
        hardware.id()
    };
    assert_eq!(with_limit(64.004), with_limit(64.0));
    assert_ne!(with_limit(64.006), with_limit(64.0));
    assert_eq!(with_limit(f64::NAN), with_limit(f64::INFINITY));
}

#[test]
fn only_fields_that_both_have_are_compared() {
    assert_eq!(fields(SAMPLE, OLDER), [""; 0]);
    assert_ne!(id_of(&value(SAMPLE)), id_of(&value(OLDER)));
    let slower = SAMPLE.replace("3400.0", "2250.0").replace("NVIDIA A16", "NVIDIA A100");
    assert_eq!(fields(&slower, OLDER), ["cpu.max_clock_mhz", "gpus[0].name"]);
}

#[test]
fn null_is_a_statement_and_an_absent_key_is_none() {
    let unlimited = r#"{"memory": {"limit_gib": null}}"#;
    assert_eq!(fields(unlimited, SAMPLE), ["memory.limit_gib"]);
    assert_eq!(fields(r#"{"memory": {}}"#, SAMPLE), [""; 0]);
    assert_eq!(fields("{}", SAMPLE), [""; 0]);
    // Also after it went through the type.
    let older = hardware(OLDER).to_value();
    assert_eq!(differences(&older, &hardware(SAMPLE).to_value()), []);
}

#[test]
fn numbers_are_the_same_however_they_are_written() {
    let a = r#"{"memory": {"limit_gib": 64}}"#;
    assert_eq!(fields(a, r#"{"memory": {"limit_gib": 64.001}}"#), [""; 0]);
    assert_eq!(fields(a, r#"{"memory": {"limit_gib": 64.01}}"#), ["memory.limit_gib"]);
}

#[test]
fn gpus_differ_in_number_and_kind_and_not_in_order() {
    let two = r#"{"gpus": [{"count": 1, "name": "A"}, {"count": 2, "name": "B"}]}"#;
    let turned = r#"{"gpus": [{"count": 2, "name": "B"}, {"count": 1, "name": "A"}]}"#;
    assert_eq!(fields(two, turned), [""; 0]);
    let found = differences(&value(two), &value(r#"{"gpus": []}"#));
    assert_eq!(found[0].to_string(), "gpus: 1 x A + 2 x B and none");
    let sizes = r#"{"gpus": [{"name": "A", "memory_gib": 40}, {"name": "A", "memory_gib": 80.0}]}"#;
    let turned =
        r#"{"gpus": [{"name": "A", "memory_gib": 80.0}, {"name": "A", "memory_gib": 40}]}"#;
    assert_eq!(fields(sizes, turned), [""; 0]);
    let more = two.replace("\"count\": 2", "\"count\": 3");
    assert_eq!(fields(two, &more), ["gpus[1].count"]);
}

#[test]
fn two_that_agree_with_a_third_one_are_still_compared() {
    let silent = value(r#"{"cpu": {}}"#);
    let fast = value(r#"{"cpu": {"max_clock_mhz": 3000}}"#);
    let slow = value(r#"{"cpu": {"max_clock_mhz": 2000}}"#);
    assert_eq!(differences_among([&fast, &silent, &fast]), []);
    let found = differences_among([&fast, &silent, &slow, &fast]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].to_string(), "cpu.max_clock_mhz: 3000 and 2000");
}

#[test]
fn the_process_is_described_once() {
    assert!(std::ptr::eq(current(), current()));
}
