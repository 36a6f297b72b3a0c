//! The files beside Python: it reads ours, we read its own and give everything back.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;

use rle::timings::{RunKey, Timings};

use crate::program::{Program, has_peer, python};

/// As the Python implementation of this convention writes it.
const TIMINGS: &str = r#"{
  "ippo_train": {
    "runs": [ { "hardware_id": "hw_3d836072b1cf2b24", "run_idx": 0, "seconds": 1.25 } ],
    "total_seconds": 1.25
  }
}
"#;
/// With everything that newer versions of it know.
const HARDWARE: &str = r#"{
  "hardware": {
    "hw_3d836072b1cf2b24": {
      "memory": { "limit_gib": 64.0, "limit_source": "cgroup" },
      "cpu": { "processor_name": "AMD EPYC 7742 64-Core Processor", "physical_cores_available": 4,
               "logical_threads_available": 8, "min_clock_mhz": 1500.0, "max_clock_mhz": 3400.0,
               "clock_source": "linux_cpufreq" },
      "gpus": [ { "count": 1, "name": "NVIDIA A16", "memory_gib": 15.0, "memory_bus_width_bits": 128,
                  "max_memory_clock_mhz": 6251.0, "peak_memory_bandwidth_gb_s": 200.03 } ]
    }
  },
  "schema_version": 1
}
"#;
/// As earlier versions wrote it.
const EARLIER_HARDWARE: &str = r#"{
  "hardware": {
    "hw_3d836072b1cf2b24": {
      "memory": {"limit_gib": 64.0, "limit_source": "cgroup"},
      "cpu": {
        "processor_name": "AMD EPYC 7742 64-Core Processor",
        "physical_cores_available": 4,
        "logical_threads_available": 8,
        "min_clock_mhz": 1500.0,
        "max_clock_mhz": 3400.0
      },
      "gpus": [
        {
          "count": 1,
          "memory_gib": 15.0,
          "name": "NVIDIA A16",
          "peak_memory_bandwidth_gb_s": 200.03
        }
      ]
    }
  },
  "schema_version": 1
}
"#;
/// Compares key by key and in order, numbers by kind and value, floats to the last digit.
const COMPARE: &str = "
import json, sys
def load(path):
    with open(path) as file:
        return json.load(file, object_pairs_hook=lambda pairs: [list(pair) for pair in pairs])
before, after = load(sys.argv[1]), load(sys.argv[2])
assert repr(before) == repr(after), f'{before!r} is not {after!r}'
";

fn run_python(script: &str, arguments: &[&Path]) -> String {
    let output = Command::new(python()).args(["-c", script]).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn files_of_the_python_implementation_survive_a_load_and_a_save() {
    if !has_peer(&python(), &["-c", "import json"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    for (case, hardware) in [HARDWARE, EARLIER_HARDWARE].into_iter().enumerate() {
        let (from, to) = (dir.path().join(format!("{case}")), dir.path().join(format!("{case}b")));
        fs::create_dir(&from).unwrap();
        fs::write(from.join("timings.json"), TIMINGS).unwrap();
        fs::write(from.join("timings_hardware.json"), hardware).unwrap();
        let timings = Timings::load(&from).unwrap();
        let run = &timings.stage("ippo_train").unwrap().runs()[0];
        assert_eq!((run.run_idx(), run.hardware_id()), (Some(0), "hw_3d836072b1cf2b24"));
        let description = timings.hardware_description("hw_3d836072b1cf2b24").unwrap();
        assert_eq!(description.get_dotted("gpus.0.count").unwrap().as_u64(), Some(1));
        timings.save(&to).unwrap();
        for file in ["timings.json", "timings_hardware.json"] {
            run_python(COMPARE, &[&from.join(file), &to.join(file)]);
        }
        // And with one of ours beside it.
        Timings::update(&to, |timings| timings.record("ours", 0.5, RunKey::none())).unwrap();
        let script = "import json, sys; file = json.load(open(sys.argv[1])); \
                      print(sorted(file), file['ippo_train']['runs'][0]['seconds'])";
        let said = run_python(script, &[&to.join("timings.json")]);
        assert_eq!(said, "['ippo_train', 'ours'] 1.25\n");
    }
}

#[test]
fn python_reads_every_name_and_number_of_ours_as_it_was_given() {
    if !has_peer(&python(), &["-c", "import json"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut timings = Timings::new();
    let long = "n".repeat(10_000);
    for name in ["a \"quoted\" name", "two\nlines\u{1f9ea}", "\u{1}\\ \u{7f}", &long] {
        timings.record(name, 0.1 + 0.2, RunKey::label(name)).unwrap();
    }
    timings.record("tiny", 5e-324, RunKey::none()).unwrap();
    timings.record("large", f64::MAX, RunKey::none()).unwrap();
    timings.save(dir.path()).unwrap();
    let script = "import json, sys
file = json.load(open(sys.argv[1], encoding='utf-8'))
for name in ['a \"quoted\" name', 'two\\nlines\\U0001f9ea', '\\x01\\\\ \\x7f', 'n' * 10_000]:
    run, = file[name]['runs']
    assert (run['label'], run['seconds']) == (name, 0.1 + 0.2), run
assert file['tiny']['total_seconds'] == 5e-324
assert file['large']['runs'][0]['seconds'] == sys.float_info.max
hardware = json.load(open(sys.argv[2]))
assert hardware['schema_version'] == 1
assert all(run['hardware_id'] in hardware['hardware'] for s in file.values() for run in s['runs'])
";
    let files = ["timings.json", "timings_hardware.json"].map(|file| dir.path().join(file));
    run_python(script, &[&files[0], &files[1]]);
    assert_eq!(Timings::load(dir.path()).unwrap(), timings);
}

#[test]
fn a_huge_file_of_garbage_is_refused_without_being_read() {
    const MIB: u64 = 1 << 20;
    // What begins well is told from garbage by its first pieces; beyond a size nothing is read.
    let cases = [
        (1024 * MIB, "", "has 1073741824 bytes, and files of up to 536870912 are read"),
        (512 * MIB, "", "is not whole JSON: a value is expected at line 1 column 1"),
        (512 * MIB, "{\"a\": {\"runs\": [", "is not whole JSON: a value is expected at line 1"),
        (
            512 * MIB,
            "{\"a\": {\"runs\": [[[[",
            "run entry 0 is an array where an object is expected",
        ),
    ];
    for (bytes, beginning, expected) in cases {
        let dir = tempfile::tempdir().unwrap();
        let mut file = File::create(dir.path().join("timings.json")).unwrap();
        file.write_all(beginning.as_bytes()).unwrap();
        // A hole: it reads as zeros and takes no room.
        file.set_len(bytes).unwrap();
        let (lines, is_well, said) = Program::start(&["load", dir.path().to_str().unwrap()]).end();
        assert!(!is_well && said.contains(expected), "{said}");
        let peak_kib: u64 = lines[0].parse().unwrap();
        assert!(peak_kib < 32 * 1024, "{peak_kib} KiB");
    }
}
