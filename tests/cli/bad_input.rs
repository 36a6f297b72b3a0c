//! Requests that are refused in words before anything is touched on disk.

use crate::support::Lab;

#[test]
fn run_numbers_outside_the_window_or_no_numbers_at_all() {
    let lab = Lab::new();
    let refused = |list: &str, parts: &[&str]| {
        lab.refuses(
            &["--num-runs", "3", "--run-numbers", list],
            &[&["--run-numbers"], parts].concat(),
        );
    };
    refused("5", &["run 5 is outside the window of --num-runs 3 (0 to 2)"]);
    refused("0,1,3", &["run 3 is outside"]);
    refused("-1", &["`-1` is not a run number", "zero-based runs such as 1 or 0,2"]);
    refused("0,0", &["run 0 is given twice"]);
    refused("abc", &["`abc` is not a run number"]);
    refused("1.0", &["`1.0` is not a run number"]);
    refused("0,", &["`` is not a run number"]);
    refused("4294967296", &["`4294967296` is not a run number"]);
    for empty in ["", "[]", " "] {
        refused(empty, &["is empty", "zero-based runs such as `0,2`"]);
    }
    lab.refuses(&["--num-runs=3", "run_numbers=5"], &["run 5 is outside"]);
    lab.refuses(&["--run-numbers"], &["--run-numbers", "value is required"]);
}

#[test]
fn windows_and_seeds_that_are_no_numbers_or_too_large() {
    let lab = Lab::new();
    lab.refuses(&["--num-runs", "0"], &["--num-runs is 0", "at least 1"]);
    lab.refuses(&["--num-runs", "-1"], &["--num-runs: `-1`", "0 to 4294967295"]);
    lab.refuses(&["--num-runs", "4294967296"], &["--num-runs: `4294967296`", "0 to 4294967295"]);
    lab.refuses(&["--num-runs", "2.5"], &["--num-runs: `2.5` is not a whole number"]);
    lab.refuses(&["--base-seed", "1e3"], &["--base-seed: `1e3` is not a whole number"]);
    lab.refuses(&["--base-seed", "18446744073709551616"], &["0 to 18446744073709551615"]);
    lab.refuses(
        &["--base-seed", "18446744073709551615", "--num-runs", "2"],
        &["seed of run 1 overflows", "18446744073709551615 + 1", "smaller --base-seed"],
    );
}

#[test]
fn unknown_words_are_named_with_the_near_match() {
    let lab = Lab::new();
    lab.refuses(
        &["--run-alhpa"],
        &["unexpected argument '--run-alhpa'", "similar argument exists: '--run-alpha'"],
    );
    lab.refuses(&["run_alhpa=true"], &["'--run-alhpa'", "'--run-alpha'"]);
    lab.refuses(&["--num-rusn=3"], &["'--num-rusn'", "'--num-runs'"]);
    lab.refuses(&["--zzz"], &["'--zzz'", "try '--help'"]);
    lab.refuses(&["-x"], &["-x"]);
    lab.refuses(&["--algorithms", "alhpa"], &["no algorithm `alhpa`", "did you mean `alpha`?"]);
    lab.refuses(&["--algorithms", "alpha,x"], &["no algorithm `x`", "`alpha`, `beta`, `wild`"]);
    lab.refuses(&["--algorithms", "alpha,Alpha"], &["names `alpha` twice"]);
    lab.refuses(&["--algorithms="], &["--algorithms names no algorithm", "--just-vis"]);
    lab.refuses(
        &["statsu"],
        &["unrecognized subcommand 'statsu'", "similar subcommand exists: 'status'"],
    );
    lab.refuses(
        &["zzz"],
        &["unrecognized subcommand 'zzz'", "commands are run, list, config, status"],
    );
    // The value of a misspelt option is not taken for a command.
    lab.refuses(&["--num-rusn", "3", "status"], &["'--num-rusn'", "'--num-runs'"]);
    lab.refuses(&["status", "list"], &["unexpected argument 'list'", "[key=value ...]"]);
    lab.refuses(&["--format", "yaml"], &["--format: `yaml`", "text or json"]);
    lab.refuses(&["--rerun", "alpha"], &["--rerun `alpha`", "such as `ippo:1`"]);
    lab.refuses(&["--rerun", "alhpa:0"], &["--rerun `alhpa:0`", "did you mean `alpha`?"]);
    lab.refuses(&["--rerun", "alpha:1"], &["--rerun `alpha:1`", "not part of this start"]);
    lab.refuses(
        &["--run-alpha", "no", "--run-beta", "no"],
        &["every flag is false", "--run-alpha"],
    );
}

#[test]
fn set_paths_are_checked_word_by_word() {
    let lab = Lab::new();
    let refused = |assignment: &str, parts: &[&str]| lab.refuses(&["--set", assignment], parts);
    refused("env_confg.map=x", &["no setting `env_confg`", "did you mean `env_config`?"]);
    refused("env_config.mpa=x", &["env_config", "unknown key `mpa`", "did you mean `map`?"]);
    refused("env_config.map.size=x", &["env_config.map", "no key `size`", "string"]);
    refused("env_config.size=big", &["env_config.size", "`big` does not fit", "number"]);
    refused("common_config.gama=1", &["unknown key `gama`", "did you mean `gamma`?"]);
    refused("common_config.limits.step=1", &["common_config.limits", "did you mean `steps`?"]);
    refused("algorithm_configs.alhpa.lr=1", &["no algorithm `alhpa`", "did you mean `alpha`?"]);
    refused("algorithm_configs.alpha.lrr=1", &["unknown key `lrr`", "did you mean `lr`?"]);
    refused("algorithm_configs.alpha.schedule.warmpu=1", &["schedule", "did you mean `warmup`?"]);
    refused("algorithm_configs.alpha=1", &["algorithm_configs.ALGORITHM.KEY=VALUE"]);
    refused("lr", &["there is no `=`", "PATH=VALUE"]);
    refused("env_config..map=x", &["a part of the path is empty"]);
    refused("num_runs=many", &["num_runs", "`many` is not a whole number"]);
    refused("workers=4", &["no setting `workers`"]);
}

#[test]
fn values_that_do_not_fit_the_declared_type() {
    let lab = Lab::new();
    let refused = |value: &str, parts: &[&str]| {
        lab.refuses(
            &["--set", &format!("algorithm_configs.alpha.{value}")],
            &[&["alpha"], parts].concat(),
        );
    };
    refused("lr=abc", &["lr: `abc` does not fit", "f64"]);
    refused("lr=", &["lr: `` does not fit", "f64"]);
    refused("lr=nan", &["lr: `nan` does not fit"]);
    refused("lr=inf", &["lr: `inf` does not fit"]);
    refused("steps=-1", &["steps: `-1` does not fit", "u64"]);
    refused("steps=2.5", &["steps: `2.5` does not fit", "u64"]);
    refused("steps=18446744073709551616", &["steps: `18446744073709551616` does not fit"]);
    refused("greedy=maybe", &["greedy: `maybe` does not fit"]);
    refused("layers=[1,x]", &["layers: `[1,x]` does not fit"]);
    refused("layers=[1,-2]", &["layers", "does not fit"]);
}

#[test]
fn truth_values_of_other_words() {
    let lab = Lab::new();
    let words = "true, false, 1, 0, yes, no, on, off";
    for given in
        [&["--run-alpha", "maybe"][..], &["--run-alpha=2"], &["run_alpha=ja"], &["--run-alpha="]]
    {
        lab.refuses(given, &["--run-alpha: `", "is not a boolean", words]);
    }
    lab.refuses(&["--dry-run", "perhaps"], &["--dry-run: `perhaps`", words]);
    lab.refuses(&["--set", "run_alpha=ja"], &["--set run_alpha: `ja`", words]);
    lab.refuses_with(&[], &[("RLE_RUN_ALPHA", "ja")], &["RLE_RUN_ALPHA: `ja`", words]);
    lab.refuses_with(&[], &[("RLE_NUM_RUNS", "x")], &["RLE_NUM_RUNS: `x` is not a whole number"]);
}

#[test]
fn a_configuration_file_is_refused_with_its_name_and_the_place() {
    let lab = Lab::new();
    let path = lab.root().join("work/bad.toml");
    let refused = |text: &str, parts: &[&str]| {
        lab.write("work/bad.toml", text);
        lab.refuses(&["--config", "bad.toml"], &[&["bad.toml"], parts].concat());
    };
    refused("num_runs = 3\n[env_config\nmap = 1\n", &["line 2, column 12"]);
    refused("# Über\nmap = \"ü\" x\n", &["line 2, column 11"]);
    refused("num_runs = 1\nnum_runs = 2\n", &["line 2, column 1", "duplicate key"]);
    refused("num_rusn = 3\n", &["no setting `num_rusn`", "did you mean `num_runs`?"]);
    refused("run_alhpa = true\n", &["did you mean `run_alpha`?"]);
    refused("run_alpha = \"ja\"\n", &["run_alpha: `\"ja\"` is not a boolean"]);
    refused("num_runs = -1\n", &["num_runs: `-1` is not a whole number"]);
    refused("run_numbers = [0, -1]\n", &["run_numbers: `-1` is not a run number"]);
    refused("env_config = 3\n", &["`env_config` must be a table", "3"]);
    refused("[algorithm_configs]\nalpha = 3\n", &["`algorithm_configs.alpha` must be a table"]);
    refused(
        "[algorithm_configs.alpha]\nlrr = 1\n",
        &["alpha", "unknown key `lrr`", "did you mean `lr`?"],
    );
    refused("[algorithm_configs.alpha]\nlr = \"x\"\n", &["alpha", "lr", "f64"]);
    refused(
        "[algorithm_configs.alhpa]\nlr = 1\n",
        &["no algorithm `alhpa`", "did you mean `alpha`?"],
    );
    refused("[algorithm_configs.alpha]\nlr = nan\n", &["alpha", "lr: NaN is not accepted"]);
    refused("[env_config]\nwind = -inf\n", &["env_config.wind: -Infinity is not accepted"]);
    refused("[common_config.limits]\nx = [1.0, nan]\n", &["common_config.limits.x[1]: NaN"]);
    refused("[common_config]\nrun_length = 5\n", &["common_config.run_length", "reserved"]);
    std::fs::remove_file(path).unwrap();
    lab.refuses(&["--config", "bad.toml"], &["cannot read bad.toml", "No such file"]);
    lab.refuses(&["--config", "."], &["cannot read .", "directory"]);
    std::fs::write(lab.work().join("bad.toml"), b"map = \"\xff\"").unwrap();
    lab.refuses(&["--config", "bad.toml"], &["bad.toml", "UTF-8"]);
}

#[test]
fn numbers_that_no_configuration_may_hold() {
    let lab = Lab::new();
    let refused = |suite: &str, parts: &[&str]| {
        lab.refuses_with(&[], &[("LAB_SUITE", suite)], parts);
        lab.refuses_with(&["status"], &[("LAB_SUITE", suite)], parts);
    };
    refused("nan environment", &["env_config.wind: NaN is not accepted"]);
    refused("nan common", &["common_config.gamma: -Infinity is not accepted"]);
    refused("nan algorithm", &["algorithm_configs.Alpha.lr: NaN is not accepted"]);
}

#[test]
fn a_suite_whose_parts_do_not_fit_together() {
    let lab = Lab::new();
    let refused = |suite: &str, words: &[&str], parts: &[&str]| {
        lab.refuses_with(words, &[("LAB_SUITE", suite)], parts);
    };
    refused("reserved", &[], &["common_config.run_length", "`run_` are reserved", "rename it"]);
    refused("unknown flag", &[], &["flag `run_alhpa`", "did you mean `run_alpha`?"]);
    refused(
        "wrong seeds",
        &["--base-seed", "5"],
        &["seeds_by_run of run 1", "`learner`", "= 6", "5"],
    );
    refused("seeds", &[], &["seeds_by_run of run 1", "`learner`", "= 1", "found 6"]);
    refused("error", &[], &["the suite's configuration: no map named `small`"]);
    let both = &[
        "Alpha",
        "lab.rs:",
        "under its name and its slug",
        "`Alpha`",
        "`alpha`",
        "use one of them",
    ];
    refused("twice", &[], both);
    let files = "[algorithm_configs.Alpha]\nlr = 1\n[algorithm_configs.alpha]\nsteps = 1\n";
    lab.write("work/both.toml", files);
    lab.refuses(&["--config", "both.toml"], both);
    lab.write("work/one.toml", "[algorithm_configs.Alpha]\nlr = 1\n");
    // One layer may say the name and the next the slug: they do not contradict each other.
    lab.run(&["--config", "one.toml", "--set", "algorithm_configs.alpha.lr=2"]).ok();
    assert_eq!(lab.record("alpha_0")["algorithm"]["config"]["lr"], 2.0);
}

#[test]
fn a_nested_key_that_looks_reserved_is_none() {
    let lab = Lab::new();
    lab.run(&["--set", "common_config.limits.run_length=7"]).ok();
    assert_eq!(lab.record("alpha_0")["common_config"]["limits"]["run_length"], 7);
}

#[test]
fn a_configuration_that_would_never_match_its_own_record() {
    let lab = Lab::new();
    let parts = ["`unordered`", "agents[", "serialised, read and serialised again", "never match"];
    lab.refuses(&["--run-unordered"], &parts);
    lab.refuses(&["status", "--algorithms", "Unordered"], &parts);
    lab.run(&["--algorithms", "unordered", "--set", "algorithm_configs.unordered.agents=[\"a\"]"])
        .ok();
}

#[test]
fn defaults_without_a_json_form() {
    let lab = Lab::new();
    lab.refuses(&["--run-formless"], &["`formless`", "its defaults", "table"]);
}

#[test]
fn a_key_that_the_type_would_ignore() {
    let lab = Lab::new();
    let parts = ["`loose`", "unknown key `lrr`", "did you mean `lr`?"];
    lab.refuses(&["--run-loose", "--set", "algorithm_configs.loose.lrr=1"], &parts);
    // Also while the algorithm is not selected: a typo is a typo.
    lab.refuses(&["--set", "algorithm_configs.Loose.lrr=1"], &parts);
    lab.write("work/c.toml", "[algorithm_configs.loose]\nlrr = 1\n");
    lab.refuses(&["--config", "c.toml"], &parts);
    let skipped = ["--run-loose", "--set", "algorithm_configs.loose.cache=7"];
    lab.refuses(&skipped, &["`loose`", "cache", "`lr`"]);
}

#[test]
fn missing_required_artifacts_are_all_listed() {
    let lab = Lab::new();
    let words = ["--run-hungry", "--run-greedy"];
    let all = [
        "required artifacts are missing",
        "`model` of algorithm `hungry`",
        "out/models/wm.bin",
        "`table` of algorithm `hungry`",
        "out/models/table.csv",
        "`data` of algorithm `greedy`",
        "out/data/offline",
    ];
    lab.refuses(&words, &all);
    lab.refuses(&[&["status"][..], &words].concat(), &all);
    lab.write("work/out/models/wm.bin", "weights");
    let before = lab.tree();
    let ended = lab.run(&words);
    ended.refused(&["`table`", "`data`"]);
    assert!(!ended.stderr.contains("wm.bin"), "{}", ended.stderr);
    assert!(lab.tree() == before);
    // An algorithm that is not selected asks for nothing.
    lab.run(&[]).ok();
}
