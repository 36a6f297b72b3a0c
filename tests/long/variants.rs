//! One algorithm under several names, each with its own configuration.

use crate::support::Lab;

const FAST: &str = "[algorithm_configs.alpha]\nsteps = 5\n\n\
    [variants.\"Alpha fast\"]\nalgorithm = \"alpha\"\nconfig = { lr = 0.25, schedule = { warmup = 9 } }\n";

#[test]
fn a_variant_has_its_own_records_and_inherits_its_algorithms_configuration() {
    let lab = Lab::new();
    lab.write("work/suite.toml", FAST);
    for jobs in ["--jobs=1", "--jobs=2"] {
        let ended =
            lab.run(&["--config=suite.toml", "--run-beta=false", "--num-runs=2", jobs]).ok();
        for slot in ["alpha:0", "alpha_fast:0", "alpha:1", "alpha_fast:1"] {
            assert!(!ended.line(slot).contains("not run"), "{}", ended.stdout);
        }
        let variant = lab.record("alpha_fast_0");
        assert_eq!(variant["algorithm"]["name"], "Alpha fast");
        assert_eq!(variant["algorithm"]["config"]["lr"], 0.25);
        assert_eq!(variant["algorithm"]["config"]["steps"], 5);
        assert_eq!(variant["algorithm"]["config"]["schedule"]["warmup"], 9);
        let plain = lab.record("alpha_0");
        assert_eq!(plain["algorithm"]["config"]["lr"], 0.0003);
        assert_eq!(plain["algorithm"]["config"]["steps"], 5);
        assert_eq!(variant["seeds"], plain["seeds"]);
        assert!(lab.out("alpha_fast/artifacts/run_0/policy.txt").is_file());
        assert!(lab.out("alpha_fast/timings.json").is_file());
        std::fs::remove_dir_all(lab.out("")).unwrap();
    }
}

#[test]
fn a_variant_of_the_code_is_one_of_the_file_too() {
    let lab = Lab::new();
    let code = [("LAB_SUITE", "variant")];
    lab.run_with(&["--algorithms=alpha_fast"], &code).ok();
    assert_eq!(lab.calls(), ["run alpha_fast:0"]);
    assert_eq!(lab.record("alpha_fast_0")["algorithm"]["config"]["lr"], 0.25);
    let words = ["--algorithms=alpha_fast", "--set", "algorithm_configs.alpha_fast.steps=4"];
    let ended = lab.run_with(&[&words[..], &["--dry-run"]].concat(), &code).ok();
    assert!(ended.stdout.contains("`algorithm.config.steps`: 3 -> 4"), "{}", ended.stdout);
    // The same in a file answers the same request.
    lab.write(
        "work/suite.toml",
        "[variants.\"Alpha fast\"]\nalgorithm = \"Alpha\"\nconfig.lr = 0.25\n",
    );
    assert!(lab.to_run(&["--config=suite.toml", "--algorithms", "Alpha fast"]).is_empty());
}

#[test]
fn a_variant_follows_its_algorithms_flag_and_is_selected_by_name_or_slug() {
    let lab = Lab::new();
    lab.write("work/suite.toml", FAST);
    let slots = |words: &[&str]| -> Vec<String> {
        let words = [&["--config=suite.toml"], words].concat();
        lab.to_run(&words).into_iter().map(|(slot, _)| slot).collect()
    };
    assert_eq!(slots(&[]), ["alpha:0", "beta:0", "alpha_fast:0"]);
    assert_eq!(slots(&["--run-alpha", "false"]), ["beta:0"]);
    assert_eq!(slots(&["--algorithms", "alpha_fast"]), ["alpha_fast:0"]);
    assert_eq!(slots(&["--algorithms", "Alpha fast,beta"]), ["beta:0", "alpha_fast:0"]);
}

#[test]
fn a_slug_of_its_own_keeps_two_names_apart() {
    let lab = Lab::new();
    let text = "[variants.\"alpha!\"]\nalgorithm = \"alpha\"\nslug = \"alpha_loud\"\n";
    lab.write("work/suite.toml", text);
    lab.run(&["--config=suite.toml", "--algorithms=alpha_loud"]).ok();
    assert_eq!(lab.record("alpha_loud_0")["algorithm"]["name"], "alpha!");
}

#[test]
fn a_faulty_variant_is_refused_before_anything_is_made() {
    let lab = Lab::new();
    let refused = |text: &str, parts: &[&str]| {
        lab.write("work/suite.toml", text);
        lab.refuses(&["--config=suite.toml"], &[&["suite.toml"], parts].concat());
    };
    refused(
        "[variants.fast]\nalgorithm = \"alhpa\"\n",
        &["variant `fast`", "`alhpa`", "did you mean `alpha`"],
    );
    refused("[variants.beta]\nalgorithm = \"alpha\"\n", &["variant `beta`", "slug `beta`"]);
    refused(
        "[variants.fast]\nalgorithm = \"alpha\"\nslug = \"beta\"\n",
        &["variant `fast`", "slug `beta`", "give it another with `slug`"],
    );
    refused(
        "[variants.\"A b\"]\nalgorithm = \"alpha\"\n[variants.a_b]\nalgorithm = \"alpha\"\n",
        &["variant `a_b`", "slug `a_b`"],
    );
    refused(
        "[variants.fast]\nalgorithm = \"alpha\"\nconfg = { lr = 0.1 }\n",
        &["variants.fast", "`confg`", "did you mean `config`"],
    );
    refused("[variants.fast]\nconfig = { lr = 0.1 }\n", &["variants.fast", "names no algorithm"]);
    refused("[variants]\nfast = 3\n", &["variants.fast", "must be a table"]);
    refused(
        "[variants.fast]\nalgorithm = \"alpha\"\nconfig = { lrr = 0.1 }\n",
        &["`fast`", "`lrr`", "`lr`"],
    );
    refused(
        "[variants.fast]\nalgorithm = \"alpha\"\nslug = \"runs\"\n",
        &["variant `fast`", "`runs`", "reserved"],
    );
}
