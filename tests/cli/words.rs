//! The grammar of the command line, and which layer counts.

use crate::support::{Lab, text};

/// The slots that a start would be about.
fn slots(lab: &Lab, words: &[&str], variables: &[(&str, &str)]) -> Vec<String> {
    let words = [&["status", "--format=json"], words].concat();
    let plan = lab.run_with(&words, variables).ok().json();
    plan["slots"].as_array().unwrap().iter().map(|slot| text(&slot["slot"])).collect()
}

#[test]
fn truth_values_in_every_form() {
    let lab = Lab::new();
    let on = |words: &[&str], variables: &[(&str, &str)]| {
        slots(&lab, words, variables).contains(&"beta:0".to_owned())
    };
    for (word, value) in [
        ("true", true),
        ("TRUE", true),
        ("1", true),
        ("Yes", true),
        ("on", true),
        ("false", false),
        ("False", false),
        ("0", false),
        ("no", false),
        ("OFF", false),
    ] {
        assert_eq!(on(&["--run-beta", word], &[]), value, "--run-beta {word}");
        assert_eq!(on(&[&format!("--run-beta={word}")], &[]), value, "--run-beta={word}");
        assert_eq!(on(&[&format!("run_beta={word}")], &[]), value, "run_beta={word}");
        assert_eq!(on(&[&format!("run-beta={word}")], &[]), value, "run-beta={word}");
        assert_eq!(on(&["--set", &format!("run_beta={word}")], &[]), value, "--set {word}");
        assert_eq!(on(&[], &[("RLE_RUN_BETA", word)]), value, "RLE_RUN_BETA={word}");
    }
    assert!(!on(&["run_beta=False", "run_alpha=True"], &[]));
    // Without a value it is true: before an option, before key=value, at the end.
    let off = [("RLE_RUN_BETA", "no")];
    assert!(on(&["--run-beta", "--num-runs", "1"], &off));
    assert!(on(&["--run-beta", "num_runs=1"], &off));
    assert!(on(&["--run-beta"], &off));
    assert!(!on(&["--run-beta", "--run-beta", "no"], &[]), "the last one counts");
}

#[test]
fn lists_and_commands_in_every_form() {
    let lab = Lab::new();
    let two = ["alpha:0", "alpha:2"];
    for list in ["0,2", "[0,2]", "[0, 2]", "2,0", " 0 , 2 "] {
        let words = ["--run-beta", "no", "--num-runs=3", "--run-numbers", list];
        assert_eq!(slots(&lab, &words, &[]), two, "{list}");
    }
    assert_eq!(slots(&lab, &["run_beta=no", "num_runs=3", "run_numbers=[0,2]"], &[]), two);
    for list in ["alpha", "Alpha", "[alpha]", "[\"Alpha\"]"] {
        assert_eq!(slots(&lab, &["--algorithms", list], &[]), ["alpha:0"], "{list}");
    }
    // A label may hold a comma and quotes.
    assert_eq!(slots(&lab, &["--algorithms", "Beta w/ \"β\", v2"], &[]), ["beta:0"]);
    // An explicit selection ignores the flags; the order is the program's.
    let words = ["--algorithms", "wild,alpha", "--run-alpha", "no"];
    assert_eq!(slots(&lab, &words, &[]), ["alpha:0", "wild:0"]);
    assert_eq!(slots(&lab, &["--just-vis"], &[]), [""; 0]);
    lab.run(&["run", "--dry-run"]).ok();
    lab.run(&["--num-runs", "1", "status"]).ok();
    assert!(lab.run(&["--version"]).ok().stdout.starts_with("lab "));
}

#[test]
fn the_later_layer_counts_and_tables_merge_key_by_key() {
    let lab = Lab::new();
    lab.write(
        "work/c.toml",
        "num_runs = 2\nrun_beta = false\n[env_config]\nwind = 0.75\nextra = \"added\"\n\
         [common_config]\ngamma = 0.9\n[algorithm_configs.Alpha]\nlr = 0.25\nlabel = \"file\"\n\
         [algorithm_configs.Alpha.schedule]\nwarmup = 3\n",
    );
    let count = |words: &[&str], variables: &[(&str, &str)]| slots(&lab, words, variables).len();
    assert_eq!(count(&[], &[]), 2, "one run of two algorithms");
    assert_eq!(count(&["--config", "c.toml"], &[]), 2, "two runs of one");
    assert_eq!(count(&[], &[("RLE_CONFIG", "c.toml")]), 2);
    let variable = [
        ("RLE_NUM_RUNS", "3"),
        ("RLE_NO_SUCH_OPTION", "x"),
        ("RLE_VERSION", "2.0"),
        ("RLE_HELP", "x"),
    ];
    assert_eq!(count(&["--config", "c.toml"], &variable), 3, "a variable over the file");
    let set = ["--config", "c.toml", "--set", "num_runs=4"];
    assert_eq!(count(&set, &variable), 4, "--set over a variable");
    let option = ["--config", "c.toml", "--num-runs", "5", "--set", "num_runs=4"];
    assert_eq!(count(&option, &variable), 5, "an option over all");
    assert_eq!(count(&[&option[..], &["num_runs=6"]].concat(), &variable), 6, "the last option");
    let beta = ["--config", "c.toml", "--run-beta"];
    assert_eq!(count(&beta, &[]), 4, "a flag over the file's");

    let set = "algorithm_configs.Alpha.schedule.decay=0.5";
    let size = "env_config.size=7";
    lab.run(&["--config", "c.toml", "--set", set, "--set", size, "num_runs=1"]).ok();
    let record = lab.record("alpha_0");
    let config = &record["algorithm"]["config"];
    assert_eq!((&config["lr"], &config["label"]), (&0.25.into(), &"file".into()));
    assert_eq!(config["schedule"], serde_json::json!({ "warmup": 3, "decay": 0.5 }));
    assert_eq!(config["steps"], 3, "a default that nothing overrides");
    let environment = &record["environment"]["config"];
    assert_eq!((&environment["wind"], &environment["size"]), (&0.75.into(), &7.into()));
    assert_eq!((&environment["map"], &environment["extra"]), (&"small".into(), &"added".into()));
    assert_eq!(record["common_config"]["gamma"], 0.9);
    assert_eq!(record["common_config"]["limits"]["steps"], 500);
}

#[test]
fn the_declared_type_decides_what_a_word_is() {
    let lab = Lab::new();
    let set = |assignments: &[&str]| {
        let words: Vec<String> =
            assignments.iter().map(|word| format!("algorithm_configs.alpha.{word}")).collect();
        let words = words.iter().flat_map(|word| ["--set", word]);
        let words: Vec<&str> = ["--algorithms", "alpha"].into_iter().chain(words).collect();
        lab.run(&words).ok();
        lab.record("alpha_0")["algorithm"]["config"].clone()
    };
    let config = set(&[
        "label=1e5",
        "lr=1e-3",
        "steps=2",
        "greedy=on",
        "layers=[8, 16]",
        "schedule.decay=1",
    ]);
    assert_eq!(config["label"], "1e5");
    assert_eq!(config["lr"], 0.001);
    assert_eq!(config["steps"], 2);
    assert_eq!(config["greedy"], true);
    assert_eq!(config["layers"], serde_json::json!([8, 16]));
    assert_eq!(config["schedule"]["decay"], 1.0);
    let config = set(&["label=true", "lr=1", "greedy=0", "layers=[]", "schedule.decay=null"]);
    assert_eq!(config["label"], "true");
    assert_eq!(config["greedy"], false);
    assert!(config["schedule"]["decay"].is_null());
    assert_eq!(set(&["label="])["label"], "");
    assert_eq!(set(&["label=a=b,c d"])["label"], "a=b,c d");
}

#[test]
fn list_tells_what_is_registered() {
    let lab = Lab::new();
    let before = lab.tree();
    let listed = lab.run(&["list", "--format", "json"]).ok().json();
    let algorithms = listed["algorithms"].as_array().unwrap();
    let slugs: Vec<String> = algorithms.iter().map(|algorithm| text(&algorithm["slug"])).collect();
    assert_eq!(slugs[..3], ["alpha", "beta", "wild"], "in source order");
    assert_eq!(listed["schema_version"], 1);
    assert_eq!(algorithms[0]["flag"], "run_alpha");
    assert_eq!(algorithms[0]["description"], "Well-behaved.");
    assert_eq!(algorithms[0]["config"]["lr"], 0.0003);
    assert!(text(&algorithms[0]["location"]).contains("lab.rs:"));
    assert_eq!(listed["stages"], serde_json::json!(["rollout", "rollout_inner", "train"]));
    let formless = algorithms.iter().find(|algorithm| algorithm["slug"] == "formless").unwrap();
    assert!(formless["config"].is_null() && text(&formless["fault"]).starts_with("table"));
    let text = lab.run(&["list"]).ok().stdout;
    assert!(text.contains("formless cannot run: table"), "{text}");
    for word in [
        "Beta w/ \"β\", v2",
        "run_hungry",
        "models/wm.bin",
        "own_step",
        "stages rollout, rollout_inner, train",
    ] {
        assert!(text.contains(word), "no {word} in {text}");
    }
    assert!(lab.tree() == before);
}
