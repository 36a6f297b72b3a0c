//! `config`: what it shows, where each value comes from, and that `--config` reads it back.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Lab, names};

/// One value of `config --format json`, and its origin.
fn shown(
    lab: &Lab,
    words: &[&str],
    variables: &[(&str, &str)],
) -> impl Fn(&str) -> (Value, String) {
    let words = [&["config", "--format", "json"], words].concat();
    let json = lab.run_with(&words, variables).ok().json();
    assert_eq!(json["schema_version"], 1);
    move |key| {
        let entry = &json["settings"][key];
        let origin = entry["origin"].as_str().unwrap_or_else(|| panic!("no {key} in {json:#}"));
        (entry["value"].clone(), origin.to_owned())
    }
}

const FILE: &str = r#"
num_runs = 3
run_beta = false
rerun = ["alpha:0"]
env_config = { map = "file", wind = 0.5 }
common_config = { checkpoint_enabled = true, budget = 7 }
provenance = { ticket = "EXP-12" }
log = { level = "warn" }
[algorithm_configs.Alpha]
steps = 5
schedule = { warmup = 9 }
[variants."Alpha fast"]
algorithm = "alpha"
config = { lr = 0.5 }
"#;

#[test]
fn each_value_names_the_layer_that_it_came_from() {
    let lab = Lab::new();
    lab.write("work/suite.toml", FILE);
    let words = [
        "--config=suite.toml",
        "--base-seed=18446744073709551613",
        "--rerun=alpha:1",
        "--rerun=alpha:0",
        "--set=env_config.map=set",
        "--set=algorithm_configs.alpha.schedule.warmup=4",
        "--set=log.tags=a,b",
        "--provenance=host=x",
    ];
    let variables = [("RLE_JOBS", "2"), ("RLE_NUM_RUNS", "2"), ("RLE_LOG_MODE", "disabled")];
    let of = shown(&lab, &words, &variables);
    for (key, value, origin) in [
        ("num_runs", json!(2), "RLE_NUM_RUNS"),
        ("base_seed", json!(18_446_744_073_709_551_613_u64), "--base-seed"),
        ("jobs", json!(2), "RLE_JOBS"),
        ("retries", json!(0), "default"),
        ("timeout", Value::Null, "default"),
        ("export_dir", json!("out"), "the suite's code"),
        ("rerun", json!(["alpha:0", "alpha:1"]), "suite.toml, --rerun"),
        ("checkpoint_enabled", json!(true), "suite.toml"),
        ("run_alpha", json!(true), "the suite's code"),
        ("run_beta", json!(false), "suite.toml"),
        ("log.level", json!("warn"), "suite.toml"),
        ("log.tags", json!(["a", "b"]), "--set"),
        ("log.mode", json!("disabled"), "RLE_LOG_MODE"),
        ("provenance.ticket", json!("EXP-12"), "suite.toml"),
        ("provenance.host", json!("x"), "--provenance"),
        ("env_config.map", json!("set"), "--set"),
        ("env_config.wind", json!(0.5), "suite.toml"),
        ("env_config.size", json!(3), "the suite's code"),
        ("common_config.budget", json!(7), "suite.toml"),
        ("algorithm_configs.alpha.steps", json!(5), "suite.toml"),
        ("algorithm_configs.alpha.schedule.warmup", json!(4), "--set"),
        ("algorithm_configs.alpha.lr", json!(3e-4), "the algorithm's default"),
        ("algorithm_configs.alpha_fast.lr", json!(0.5), "suite.toml"),
        ("algorithm_configs.alpha_fast.schedule.warmup", json!(4), "--set"),
        ("variants.\"Alpha fast\".algorithm", json!("alpha"), "suite.toml"),
    ] {
        assert_eq!(of(key), (value, origin.to_owned()), "{key}");
    }
    assert_eq!(names(lab.out("")), [""; 0], "nothing is written");
}

#[test]
fn a_start_from_the_printed_file_asks_for_the_same() {
    let lab = Lab::new();
    let odd = "a.b \"c\" = #\n\u{7f}é";
    lab.write(
        "work/suite.toml",
        &format!(
            "num_runs = 2\nenv_config = {{ {0} = {{ list = [1, 2.0, {{ x = \"y\" }}], empty = {{}} }} }}\n\
             [algorithm_configs.alpha]\nlabel = {0}\nschedule = {{ decay = 1e-7 }}\n\
             [variants.{0}]\nalgorithm = \"beta\"\nslug = \"odd\"\nconfig.lr = 1.0\n",
            serde_json::to_string(odd).unwrap().replace('\u{7f}', "\\u007f")
        ),
    );
    let words =
        ["--config=suite.toml", "--base-seed=9223372036854775808", "--set=env_config.size=4"];
    lab.run(&words).ok();
    lab.calls();
    let printed = lab.run(&[&["config"], &words[..]].concat()).ok().stdout;
    assert!(printed.contains("base_seed = \"9223372036854775808\"  # --base-seed\n"), "{printed}");
    fs::write(lab.work().join("printed.toml"), &printed).unwrap();
    lab.run(&["--config", "printed.toml"]).ok();
    assert_eq!(lab.calls(), [""; 0], "every slot is reused\n{printed}");
    // Printed again it is the same, but for the layers.
    let again = lab.run(&["config", "--format=toml", "--config=printed.toml"]).ok().stdout;
    let values = |text: &str| -> Vec<String> {
        let value =
            |line: &str| line.rsplit_once("  # ").map_or(line, |(value, _)| value).to_owned();
        text.lines().map(value).collect()
    };
    assert_eq!(values(&again), values(&printed));
}

#[test]
fn without_a_selection_it_shows_the_flags_and_wrong_values_are_refused() {
    let lab = Lab::new();
    let off = ["--run-alpha=no", "--run-beta=no"];
    let text = lab.run(&[&["config"], &off[..]].concat()).ok().stdout;
    assert!(text.contains("run_alpha = false  # --run-alpha\n"), "{text}");
    assert!(!text.contains("[algorithm_configs"), "{text}");
    lab.refuses(&["config", "--format=yaml"], &["`yaml` is not a format", "text, json or toml"]);
    lab.refuses(&["status", "--format=toml"], &["`toml` is not a format; use text or json"]);
    lab.refuses(&["config", "--jobs=0"], &["--jobs is 0"]);
    lab.refuses(&["config", "--num-runs=2", "--run-numbers=2"], &["outside the window"]);
    lab.refuses(&["config", "--set=algorithm_configs.alpha.lrr=1"], &["lrr", "did you mean `lr`?"]);
    lab.refuses(&["config", "--algorithms=alfa"], &["did you mean `alpha`?"]);
}
