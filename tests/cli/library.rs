//! The same machinery from a program with its own `main`, without attributes.

use std::collections::BTreeMap;
use std::path::Path;

use rle::SlotAction::{Reuse, Run};
use rle::{AlgorithmSpec, Episode, RunContext, RunResult, SlotOutcome, Suite, SuiteConfig};

use crate::support::{names, tree};

fn random(ctx: &RunContext) -> rle::Result<RunResult> {
    let offset: f64 = ctx.config().get("offset").and_then(rle::value::Value::as_f64).unwrap_or(0.0);
    let policy = ctx.artifact_path("policy.txt")?;
    std::fs::write(&policy, "random\n")?;
    let episode = Episode { cum_reward: 2.0, ..Episode::default() };
    Ok(RunResult::new()
        .metric("seed", ctx.seed())
        .metric("offset", offset)
        .episode(episode)
        .artifact_path("policy", policy))
}

fn failing(_: &RunContext) -> Result<RunResult, std::io::Error> {
    Err(std::io::Error::other("no simulator"))
}

fn suite(directory: &Path) -> SuiteConfig {
    SuiteConfig::new("bandit").export_dir(directory.join("out")).source_dir(directory)
}

#[test]
fn a_suite_of_values_runs_and_tells_every_outcome() {
    let directory = tempfile::tempdir().unwrap();
    let start = || {
        Suite::new(suite(directory.path()).num_runs(2).flag("run_failing", true))
            .algorithm(
                AlgorithmSpec::new("Random", random)
                    .config([("offset", 0.5)].into_iter().collect::<BTreeMap<_, _>>()),
            )
            .algorithm(AlgorithmSpec::new("Failing", failing).flag("run_failing"))
            .algorithm(AlgorithmSpec::new("Off", failing).flag("run_off"))
    };
    let report = start().run().unwrap();
    let slots: Vec<String> = report.slots.iter().map(|slot| slot.slot.to_string()).collect();
    assert_eq!(slots, ["random:0", "failing:0", "random:1", "failing:1"]);
    assert!(matches!(report.slots[0].outcome, SlotOutcome::Complete { .. }));
    let failed = SlotOutcome::Failed { message: "no simulator".to_owned() };
    assert_eq!(report.slots[1].outcome, failed);
    assert_eq!((report.exit_status(), report.is_complete()), (1, false));
    let plan = start().plan().unwrap();
    let actions: Vec<rle::SlotAction> = plan.slots.iter().map(|slot| slot.action).collect();
    assert_eq!(actions, [Reuse, Run, Reuse, Run]);
    let records = rle::load_records(directory.path().join("out")).unwrap();
    let complete: Vec<_> = records.iter().filter(|record| record.head.error.is_none()).collect();
    assert_eq!(complete.len(), 2);
    assert_eq!(complete[1].metric::<u64>("seed").unwrap(), 1);
    assert_eq!(complete[1].metric::<f64>("offset").unwrap(), 0.5);
    assert_eq!(complete[1].episode_history[0].cum_reward, 2.0);
    assert!(complete[1].artifact_path("policy").unwrap().is_file());
}

#[test]
fn clashes_are_refused_before_anything_is_created() {
    let directory = tempfile::tempdir().unwrap();
    let before = tree(directory.path(), true);
    let refused = |specs: Vec<AlgorithmSpec>, parts: &[&str]| {
        let error =
            Suite::new(suite(directory.path())).algorithms(specs).run().unwrap_err().to_string();
        for part in parts {
            assert!(error.contains(part), "no `{part}` in {error}");
        }
        assert!(tree(directory.path(), true) == before);
    };
    let spec = |name: &str| AlgorithmSpec::new(name, random);
    refused(
        vec![spec("PPO w/ GAE"), spec("ppo-w-gae")],
        &["`PPO w/ GAE` and `ppo-w-gae`", "same slug `ppo_w_gae`", "`slug`"],
    );
    refused(vec![spec("A").slug("x"), spec("B").slug("x")], &["`A` and `B`", "same slug `x`"]);
    refused(vec![spec("日本")], &["`日本`", "slug"]);
    refused(vec![spec("Runs")], &["`Runs`", "`runs`", "reserved"]);
    refused(vec![spec("A").slug("_logs")], &["`A`", "`_logs`"]);
    refused(vec![spec(&"x".repeat(101))], &["100"]);
    refused(vec![spec("A").flag("run_numbers")], &["`A`", "flag `run_numbers`", "built-in option"]);
    refused(vec![spec("A").flag("jobs")], &["flag `jobs`", "built-in option"]);
    refused(vec![spec("A").flag("Run-A")], &["flag `Run-A`", "a-z, 0-9 and `_`"]);
    refused(
        vec![spec("A").requires("m", "a").requires("m", "b")],
        &["`A`", "`m` is declared twice"],
    );
    let shield = |_: &rle::PrepareContext| -> rle::Result<u8> { Ok(1) };
    let other = |_: &rle::PrepareContext| -> rle::Result<u8> { Ok(2) };
    refused(
        vec![spec("A").prepare("shield", shield), spec("B").prepare("shield", other)],
        &["two prepares are named `shield`"],
    );
    refused(vec![spec("A").prepare("../up", shield)], &["`A`", "`../up`"]);
    refused(vec![spec("A").config(f64::NAN)], &["`A`", "NaN"]);
    refused(vec![], &["no algorithm", "#[rle::algorithm]", "use that_crate as _;"]);
}

#[test]
fn a_request_of_values_is_checked_like_one_of_words() {
    let directory = tempfile::tempdir().unwrap();
    let before = tree(directory.path(), true);
    let refused = |config: SuiteConfig, parts: &[&str]| {
        let error = Suite::new(config)
            .algorithm(AlgorithmSpec::new("Random", random))
            .run()
            .unwrap_err()
            .to_string();
        for part in parts {
            assert!(error.contains(part), "no `{part}` in {error}");
        }
        assert!(tree(directory.path(), true) == before);
    };
    let config = || suite(directory.path());
    refused(config().num_runs(0), &["at least 1"]);
    refused(config().num_runs(3).run_numbers([5]), &["run 5 is outside the window"]);
    refused(config().run_numbers([]), &["is empty"]);
    refused(config().algorithms(["Randon"]), &["`Randon`", "did you mean `random`?"]);
    refused(config().algorithm_config("Randon", ()), &["`Randon`", "did you mean `random`?"]);
    refused(config().base_seed(u64::MAX).num_runs(2), &["overflows"]);
    refused(config().common("run_length", 3), &["common_config.run_length", "reserved"]);
    refused(config().env_config(f32::NAN), &["env_config", "NaN"]);
    refused(config().common("x", [(1, f64::INFINITY)]), &["common_config.x[0][1]", "Infinity"]);
    refused(config().flag("run_random", true), &["flag `run_random`"]);
    refused(config().rerun("random"), &["--rerun `random`"]);
}

#[test]
fn the_stubs_make_a_whole_suite() {
    let directory = tempfile::tempdir().unwrap();
    let config = || {
        let flags = ["run_ippo", "run_ippo_lag", "run_icpo"];
        flags
            .into_iter()
            .fold(suite(directory.path()).num_runs(2), |suite, flag| suite.flag(flag, true))
    };
    let run = |config| Suite::new(config).algorithms(rle::stub_algorithms()).run().unwrap();
    let report = run(config());
    assert!(report.is_complete(), "{report:?}");
    let labels: Vec<&str> = report.slots.iter().map(|slot| slot.name.as_str()).collect();
    assert_eq!(labels[..3], ["IPPO", "IPPO-Lagrangian", "ICPO"]);
    assert_eq!(names(directory.path().join("out/_prepared")).len(), 2);
    let records = rle::load_records(directory.path().join("out")).unwrap();
    assert_eq!(records.len(), 6);
    assert!(records.iter().all(|record| !record.episode_history.is_empty()));
    let again = run(config());
    assert!(again.slots.iter().all(|slot| slot.outcome == SlotOutcome::Reused), "{again:?}");
    let longer = run(config().common("progress_total", 3));
    assert!(longer.slots.iter().all(|slot| matches!(slot.outcome, SlotOutcome::Complete { .. })));
}

#[test]
fn an_algorithm_can_be_tested_without_a_runner() {
    let directory = tempfile::tempdir().unwrap();
    let ctx = RunContext::for_test(directory.path())
        .name("PPO w/ GAE")
        .run_idx(2)
        .seed(7)
        .config(BTreeMap::from([("offset", 0.25)]))
        .prepared([1, 2])
        .required("model", "/models/wm.bin")
        .build();
    assert_eq!((ctx.slug(), ctx.run_idx(), ctx.seed(), ctx.num_runs()), ("ppo_w_gae", 2, 9, 3));
    assert_eq!(ctx.prepared::<Vec<u8>>().unwrap(), [1, 2]);
    assert_eq!(ctx.required("model").unwrap(), Path::new("/models/wm.bin"));
    let error = ctx.required("modle").unwrap_err().to_string();
    assert!(error.contains("`modle`") && error.contains("declared: `model`"), "{error}");
    assert!(random(&ctx).is_ok());
    assert!(directory.path().join("ppo_w_gae/artifacts/run_2/policy.txt").is_file());
    let error = ctx.artifact_path("../x").unwrap_err().to_string();
    assert!(error.contains("`../x`"), "{error}");
    assert_ne!(ctx.stream("env"), ctx.stream("policy"));
    assert_ne!(ctx.stream("env"), ctx.algorithm_stream("env"));
    let other = RunContext::for_test(directory.path()).name("Other").run_idx(2).seed(7).build();
    assert_eq!(ctx.stream("env"), other.stream("env"), "the same environment for every algorithm");
    assert_ne!(ctx.algorithm_stream("env"), other.algorithm_stream("env"));
    let error = other.prepared::<u8>().unwrap_err().to_string();
    assert!(error.contains("`Other` has no prepare"), "{error}");
}
