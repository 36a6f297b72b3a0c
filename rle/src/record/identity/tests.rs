use proptest::collection::btree_map;
use proptest::prelude::*;
use proptest::sample::Index;
use tempfile::TempDir;

use super::*;
use crate::record::provenance::{Executable, Runtime, Source};
use crate::suite::SuiteConfig;
use crate::suite::plan::Plan;
use crate::value::PathStep;
use crate::value::arbitrary::any_value;
use crate::value::properties::{other_form, reversed_text};
use crate::{AlgorithmSpec, RunContext, RunResult};

/// All that an identity is made of, to be changed one at a time.
#[derive(Clone, Debug)]
struct Request {
    env_name: String,
    slug: String,
    /// Environment, shared and algorithm configuration.
    configs: [Value; 3],
    seeds: BTreeMap<String, u64>,
    run_idx: u32,
    provenance: Provenance,
    required: BTreeMap<String, RecordedRequirement>,
}

impl Request {
    fn hash(&self) -> String {
        let [env_config, common_config, config] = &self.configs;
        let parts = IdentityParts {
            env_name: &self.env_name,
            env_config,
            common_config,
            slug: &self.slug,
            config,
            seeds: &self.seeds,
            run_idx: self.run_idx,
            provenance: self.provenance.identity(),
            required_artifacts: &self.required,
        };
        Identity::new(parts).unwrap().hash().to_owned()
    }
}

fn any_config() -> impl Strategy<Value = Value> {
    btree_map("[a-c]{1,2}|run_x|just_vis", any_value(), 0..5).prop_map(Value::Object)
}

fn any_request() -> impl Strategy<Value = Request> {
    let configs = [any_config(), any_config(), any_config()];
    let seeds = btree_map("[a-c]{1,2}", any::<u64>(), 1..4);
    let source = "[0-9a-f]{4}";
    (configs, seeds, any::<u32>(), source, any::<bool>()).prop_map(
        |(configs, seeds, run_idx, source, is_tree)| {
            let mut provenance = Provenance {
                source: Some(Source::default()),
                runtime: Some(Runtime::default()),
                ..Provenance::default()
            };
            // Where there is no source tree the executable stands for it.
            self::source(&mut provenance).tree_sha256 = is_tree.then(|| source.clone());
            executable(&mut provenance).sha256 = Some(source);
            let model = RecordedRequirement {
                path: "models/wm.bin".to_owned(),
                sha256: Some("00".to_owned()),
            };
            Request {
                env_name: "maze".to_owned(),
                slug: "ippo".to_owned(),
                configs,
                seeds,
                run_idx,
                provenance,
                required: BTreeMap::from([("model".to_owned(), model)]),
            }
        },
    )
}

/// Changes of everything but the configurations, each of which is another request.
const CHANGES: [fn(&mut Request); 15] = [
    |request| request.env_name.push('2'),
    |request| request.slug.push('2'),
    |request| request.run_idx = request.run_idx.wrapping_add(1),
    |request| *request.seeds.values_mut().next().unwrap() ^= 1,
    |request| *request.seeds.values_mut().next().unwrap() ^= 1 << 63,
    |request| {
        let (domain, seed) = request.seeds.pop_first().unwrap();
        request.seeds.insert(format!("{domain}x"), seed);
    },
    |request| request.seeds.extend([("more".to_owned(), 0)]),
    |request| match &mut source(&mut request.provenance).tree_sha256 {
        Some(tree) => tree.push('0'),
        None => executable(&mut request.provenance).sha256 = None,
    },
    |request| runtime(&mut request.provenance).rustc.push('2'),
    |request| runtime(&mut request.provenance).target.push('2'),
    |request| runtime(&mut request.provenance).profile.push('2'),
    |request| model(request).path.push('2'),
    |request| model(request).sha256 = Some("01".to_owned()),
    |request| model(request).sha256 = None,
    |request| {
        let model = request.required.remove("model").unwrap();
        request.required.insert("another".to_owned(), model);
    },
];

fn source(provenance: &mut Provenance) -> &mut Source {
    provenance.source.get_or_insert_default()
}

fn runtime(provenance: &mut Provenance) -> &mut Runtime {
    provenance.runtime.get_or_insert_default()
}

fn executable(provenance: &mut Provenance) -> &mut Executable {
    provenance.executable.get_or_insert_default()
}

fn model(request: &mut Request) -> &mut RecordedRequirement {
    request.required.get_mut("model").unwrap()
}

/// What is evidence only.
const EVIDENCE: [fn(&mut Provenance); 8] = [
    |provenance| source(provenance).vcs = Some("git".to_owned()),
    |provenance| source(provenance).revision = Some("abc".to_owned()),
    |provenance| source(provenance).dirty = Some(true),
    |provenance| source(provenance).reason = Some("no git".to_owned()),
    |provenance| drop(source(provenance).files.insert("a.rs".to_owned(), "1".to_owned())),
    |provenance| runtime(provenance).rle = "99".to_owned(),
    |provenance| runtime(provenance).os = "another".to_owned(),
    |provenance| runtime(provenance).arch = "another".to_owned(),
];

proptest! {
    #[test]
    fn any_single_change_of_a_configuration_is_another_request(
        request in any_request(),
        which in 0_usize..3,
        at in any::<Index>(),
        new in any_value(),
    ) {
        let config = &request.configs[which];
        let places = config.leaves();
        let place = &places[at.index(places.len())];
        let mut changed = request.clone();
        let old = std::mem::replace(changed.configs[which].at_mut(place).unwrap(), new.clone());
        let is_same = old.canonical_json().unwrap() == new.canonical_json().unwrap();
        prop_assert_eq!(changed.hash() == request.hash(), is_same);
        let mut without = request.clone();
        if without.configs[which].remove_at(place).is_some() {
            prop_assert_ne!(without.hash(), request.hash());
        }
        let mut with = request.clone();
        if with.configs[which].insert("not there yet", Value::Null) {
            prop_assert_ne!(with.hash(), request.hash());
        }
    }

    #[test]
    fn any_other_single_change_is_another_request(request in any_request()) {
        for (index, change) in CHANGES.iter().enumerate() {
            let mut changed = request.clone();
            change(&mut changed);
            prop_assert_ne!(changed.hash(), request.hash(), "change {}", index);
        }
    }

    #[test]
    fn the_configurations_are_told_apart(request in any_request()) {
        for (a, b) in [(0, 1), (1, 2), (0, 2)] {
            let mut swapped = request.clone();
            swapped.configs.swap(a, b);
            let [a, b] = [a, b].map(|at| request.configs[at].canonical_json().unwrap());
            prop_assert_eq!(swapped.hash() == request.hash(), a == b);
        }
    }

    #[test]
    fn the_order_of_keys_and_the_form_of_numbers_are_the_same_request(request in any_request()) {
        let hash = request.hash();
        let rewritten = |rewrite: &dyn Fn(&Value) -> Value| Request {
            configs: request.configs.each_ref().map(rewrite),
            ..request.clone()
        };
        let reordered = |value: &Value| Value::parse_json(reversed_text(value).as_bytes()).unwrap();
        prop_assert_eq!(rewritten(&reordered).hash(), hash.clone());
        prop_assert_eq!(rewritten(&other_form).hash(), hash);
    }

    #[test]
    fn evidence_is_no_part_of_the_request(request in any_request()) {
        for (index, change) in EVIDENCE.iter().enumerate() {
            let mut changed = request.clone();
            change(&mut changed.provenance);
            prop_assert_eq!(changed.hash(), request.hash(), "evidence {}", index);
        }
    }

    #[test]
    fn neighbouring_seeds_stay_apart(request in any_request(), seed in (1_u64 << 53)..u64::MAX) {
        let with = |seed| {
            let mut request = request.clone();
            request.seeds.insert("learner".to_owned(), seed);
            request.configs[2].insert("seed", 0_u64);
            request.hash()
        };
        prop_assert_ne!(with(seed), with(seed + 1));
        let inside = |seed: u64| {
            let mut request = request.clone();
            request.configs[2] = Value::from_iter([("seed", Value::from(seed))]);
            request.hash()
        };
        prop_assert_ne!(inside(seed), inside(seed + 1));
    }
}

#[test]
fn minus_zero_and_whole_floats_are_the_integers() {
    let with = |text: &str| {
        let mut configs = [Value::object(), Value::object(), Value::object()];
        configs[2] = Value::parse_json(text.as_bytes()).unwrap();
        let request = Request {
            env_name: "maze".to_owned(),
            slug: "ippo".to_owned(),
            configs,
            seeds: BTreeMap::new(),
            run_idx: 0,
            provenance: Provenance::default(),
            required: BTreeMap::new(),
        };
        request.hash()
    };
    let plain = with(r#"{"a": [0, 1], "b": 100}"#);
    for text in [
        r#"{"b": 100, "a": [0, 1]}"#,
        r#"{"a": [-0.0, 1.0], "b": 100}"#,
        r#"{"a": [0.0, 1], "b": 1e2}"#,
    ] {
        assert_eq!(with(text), plain, "{text}");
    }
    assert_ne!(with(r#"{"a": [1, 0], "b": 100}"#), plain);
    assert_ne!(with(r#"{"a": ["0", 1], "b": 100}"#), plain);
    assert_ne!(with(r#"{"a": [false, 1], "b": 100}"#), plain);
}

/// A start of one algorithm that requires a file, in a workspace of its own.
struct Bench {
    root: TempDir,
}

impl Bench {
    fn new() -> Self {
        let root = TempDir::new().unwrap();
        std::fs::write(root.path().join("Cargo.toml"), "[workspace]\n").unwrap();
        std::fs::create_dir(root.path().join("export")).unwrap();
        let bench = Self { root };
        bench.write("wm.bin", "weights");
        bench.write("wm2.bin", "weights");
        bench
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.root.path().join("export").join(name), text).unwrap();
    }

    fn config(&self) -> SuiteConfig {
        SuiteConfig::new("maze")
            .export_dir(self.root.path().join("export"))
            .source_dir(self.root.path())
            .num_runs(2)
            .flag("run_a", true)
    }
}

fn hash(config: SuiteConfig) -> String {
    hash_of(config, |spec| spec)
}

fn hash_of(config: SuiteConfig, change: impl Fn(AlgorithmSpec) -> AlgorithmSpec) -> String {
    let run = |_: &RunContext| Ok::<_, crate::Error>(RunResult::new());
    let specs = [change(AlgorithmSpec::new("A", run).flag("run_a"))];
    let plan = Plan::new(config, &specs).unwrap();
    plan.slots[0].identity.hash().to_owned()
}

#[test]
fn what_selects_or_resumes_is_no_part_of_the_request() {
    let bench = Bench::new();
    let plain = hash(bench.config());
    for key in EXCLUDED_COMMON_KEYS {
        assert_eq!(hash(bench.config().common(key, false)), plain, "{key}");
    }
    for config in [
        bench.config().common("run_a", true),
        bench.config().common("resume_completed_runs", true),
        bench.config().num_runs(5).run_numbers([0]),
        bench.config().algorithms(["a"]).flag("run_a", false),
        bench.config().rerun("a:0"),
    ] {
        assert_eq!(hash(config), plain);
    }
}

#[test]
fn nested_keys_of_the_same_names_count() {
    let bench = Bench::new();
    let nested = |key: &str, value: bool| {
        let table = BTreeMap::from([(key.to_owned(), value)]);
        [
            hash(bench.config().common("nested", table.clone())),
            hash(bench.config().env_config(table.clone())),
            hash(bench.config().algorithm_config("a", table)),
        ]
    };
    for key in EXCLUDED_COMMON_KEYS.into_iter().chain(["run_a"]) {
        for (on, off) in nested(key, true).into_iter().zip(nested(key, false)) {
            assert_ne!(on, off, "{key}");
        }
    }
    let total = |count: u64| hash(bench.config().common("progress_total", count));
    assert_ne!(total(1), total(2));
}

#[test]
fn a_reserved_key_is_refused_at_the_top_only() {
    let bench = Bench::new();
    let run = |_: &RunContext| Ok::<_, crate::Error>(RunResult::new());
    let specs = [AlgorithmSpec::new("A", run).flag("run_a")];
    let Err(error) = Plan::new(bench.config().common("run_length", 3), &specs) else {
        panic!("the key is accepted");
    };
    assert!(error.to_string().contains("common_config.run_length"), "{error}");
}

#[test]
fn the_content_of_a_required_artifact_counts_where_it_is_fingerprinted() {
    let bench = Bench::new();
    let requires =
        |path: &'static str| hash_of(bench.config(), move |spec| spec.requires("model", path));
    let fingerprinted = |path: &'static str| {
        hash_of(bench.config(), move |spec| spec.requires_fingerprint("model", path))
    };
    let before = [requires("wm.bin"), fingerprinted("wm.bin")];
    assert_ne!(before[0], before[1]);
    assert_ne!(before[0], requires("wm2.bin"));
    assert_ne!(before[1], fingerprinted("wm2.bin"), "the path counts beside the content");
    bench.write("wm.bin", "Weights");
    assert_eq!(requires("wm.bin"), before[0]);
    assert_ne!(fingerprinted("wm.bin"), before[1]);
    bench.write("wm.bin", "weights");
    assert_eq!(fingerprinted("wm.bin"), before[1]);
}

#[test]
fn a_record_gives_the_identity_of_its_request() {
    let head = crate::record::sample::complete();
    let text = serde_json::to_vec(&head).unwrap();
    let read: RecordHead = Value::parse_json(&text).unwrap().to().unwrap();
    assert_eq!(Identity::of_record(&read).unwrap().hash(), head.request.hash);
    let place = [PathStep::Key("algorithm".to_owned()), PathStep::Key("slug".to_owned())];
    let identity = Identity::of_record(&read).unwrap();
    assert_eq!(identity.value().at(&place).and_then(Value::as_str), Some("alpha"));
}
