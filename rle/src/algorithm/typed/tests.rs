use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

use super::resolve::SetText;
use super::*;
use crate::value::{PathStep, Value, ValueError};

fn parse(text: &str) -> Value {
    Value::parse_json(text.as_bytes()).unwrap()
}

fn set(path: &str, text: &str) -> SetText {
    (path.split('.').map(str::to_owned).collect(), text.to_owned())
}

fn resolved<C>(tables: &str, texts: &[SetText]) -> String
where
    C: Serialize + serde::de::DeserializeOwned + Default + 'static,
{
    ConfigType::of::<C>().resolve_layers(&[&parse(tables)], texts).unwrap().to_string()
}

fn fault<C>(tables: &str, texts: &[SetText]) -> String
where
    C: Serialize + serde::de::DeserializeOwned + Default + 'static,
{
    ConfigType::of::<C>().resolve_layers(&[&parse(tables)], texts).unwrap_err().to_string()
}

#[derive(Serialize, Deserialize)]
enum Optimiser {
    Sgd { lr: f64, momentum: f64 },
    Adam { lr: f64, betas: (f64, f64) },
    Plain(f64),
    Off,
}

#[derive(Serialize, Deserialize)]
#[serde(default)]
struct Ppo {
    #[serde(alias = "learning_rate")]
    lr: f64,
    num_steps: u64,
    small: f32,
    name: String,
    clip: Option<f64>,
    shuffle: bool,
    layers: Vec<u32>,
    optimiser: Optimiser,
}

impl Default for Ppo {
    fn default() -> Self {
        Self {
            lr: 3e-4,
            num_steps: 64,
            small: 0.1,
            name: "ppo".into(),
            clip: Some(0.2),
            shuffle: false,
            layers: vec![64, 64],
            optimiser: Optimiser::Sgd { lr: 0.1, momentum: 0.9 },
        }
    }
}

const DEFAULT_PPO: &str = concat!(
    r#"{"clip":0.2,"layers":[64,64],"lr":0.0003,"name":"ppo","num_steps":64,"#,
    r#""optimiser":{"Sgd":{"lr":0.1,"momentum":0.9}},"shuffle":false,"small":0.1}"#
);

fn ppo_with(old: &str, new: &str) -> String {
    assert!(DEFAULT_PPO.contains(old));
    DEFAULT_PPO.replace(old, new)
}

#[test]
fn nothing_asked_resolves_to_the_defaults() {
    assert_eq!(resolved::<Ppo>("null", &[]), DEFAULT_PPO);
    assert_eq!(resolved::<Ppo>("{}", &[]), DEFAULT_PPO);
}

#[test]
fn tables_merge_key_by_key_into_the_variant_of_the_default() {
    assert_eq!(
        resolved::<Ppo>(r#"{"optimiser": {"Sgd": {"lr": 1}}}"#, &[]),
        ppo_with(r#"{"lr":0.1,"#, r#"{"lr":1.0,"#)
    );
}

#[test]
fn another_variant_replaces_that_of_the_default() {
    let adam = r#"{"optimiser": {"Adam": {"lr": 1e-3, "betas": [0.9, 0.99]}}}"#;
    let sgd = r#"{"Sgd":{"lr":0.1,"momentum":0.9}}"#;
    assert_eq!(
        resolved::<Ppo>(adam, &[]),
        ppo_with(sgd, r#"{"Adam":{"betas":[0.9,0.99],"lr":0.001}}"#)
    );
    assert_eq!(resolved::<Ppo>(r#"{"optimiser": "Off"}"#, &[]), ppo_with(sgd, r#""Off""#));
    assert_eq!(
        resolved::<Ppo>(adam, &[set("optimiser.Plain", "2")]),
        ppo_with(sgd, r#"{"Plain":2.0}"#)
    );
    let layers = [parse(adam), parse(r#"{"optimiser": {"Plain": 3}}"#)];
    let layers: Vec<&Value> = layers.iter().collect();
    let both = ConfigType::of::<Ppo>().resolve_layers(&layers, &[]).unwrap();
    assert_eq!(both.to_string(), ppo_with(sgd, r#"{"Plain":3.0}"#));
}

#[test]
fn fields_that_a_variant_needs_together_may_be_set_one_by_one() {
    let texts = [set("optimiser.Adam.betas", "[0.9, 1]"), set("optimiser.Adam.lr", "1e-3")];
    let sgd = r#"{"Sgd":{"lr":0.1,"momentum":0.9}}"#;
    assert_eq!(
        resolved::<Ppo>("{}", &texts),
        ppo_with(sgd, r#"{"Adam":{"betas":[0.9,1.0],"lr":0.001}}"#)
    );
    let error = fault::<Ppo>("{}", &texts[..1]);
    assert_eq!(error, "optimiser.Adam: missing field `lr`");
}

#[test]
fn the_declared_type_reads_the_text() {
    let cases = [
        ("lr", "1e-3", r#""lr":0.0003"#, r#""lr":0.001"#),
        ("lr", "1", r#""lr":0.0003"#, r#""lr":1.0"#),
        ("small", "0.3", r#""small":0.1"#, r#""small":0.3"#),
        ("num_steps", "1e3", r#""num_steps":64"#, r#""num_steps":1000"#),
        (
            "num_steps",
            "18446744073709551615",
            r#""num_steps":64"#,
            r#""num_steps":18446744073709551615"#,
        ),
        ("name", "1E234", r#""name":"ppo""#, r#""name":"1E234""#),
        ("name", "true", r#""name":"ppo""#, r#""name":"true""#),
        ("name", "none", r#""name":"ppo""#, r#""name":"none""#),
        ("name", "[1]", r#""name":"ppo""#, r#""name":"[1]""#),
        ("clip", "none", r#""clip":0.2"#, r#""clip":null"#),
        ("shuffle", "1", r#""shuffle":false"#, r#""shuffle":true"#),
        ("shuffle", "On", r#""shuffle":false"#, r#""shuffle":true"#),
        ("layers", "[1, 2]", "[64,64]", "[1,2]"),
    ];
    for (path, text, old, new) in cases {
        assert_eq!(resolved::<Ppo>("{}", &[set(path, text)]), ppo_with(old, new), "{path}={text}");
    }
}

#[test]
fn a_text_lies_over_tables_and_the_last_text_counts() {
    let texts = [set("lr", "2"), set("lr", "3")];
    assert_eq!(
        resolved::<Ppo>(r#"{"lr": 1, "num_steps": 5.0}"#, &texts),
        DEFAULT_PPO.replace("0.0003", "3.0").replace(":64,", ":5,")
    );
}

#[test]
fn a_text_that_fits_nowhere_names_path_text_and_type() {
    assert_eq!(
        fault::<Ppo>("{}", &[set("lr", "abc")]),
        "lr: `abc` does not fit: invalid type: string \"abc\", expected f64"
    );
    assert_eq!(
        fault::<Ppo>("{}", &[set("name", "x"), set("num_steps", "-1")]),
        "num_steps: `-1` does not fit: invalid value: integer `-1`, expected u64"
    );
    assert!(fault::<Ppo>("{}", &[set("lr", "nan")]).starts_with("lr: `nan` does not fit"));
    assert!(
        fault::<Ppo>("{}", &[set("layers", "[1, -2]")]).starts_with("layers[1]: `[1, -2]` does")
    );
}

#[test]
fn an_unknown_key_names_the_near_match() {
    let wanted = "unknown key `num_step`, did you mean `num_steps`? accepted: ";
    assert!(fault::<Ppo>(r#"{"num_step": 1}"#, &[]).starts_with(wanted));
    assert!(fault::<Ppo>("{}", &[set("num_step", "1")]).starts_with(wanted));
    assert!(
        fault::<Ppo>("{}", &[set("optimiser.Sgd.momentun", "1")])
            .starts_with("optimiser.Sgd: unknown key `momentun`, did you mean `momentum`?")
    );
    assert!(
        fault::<Ppo>(r#"{"optimiser": {"Sgdd": {"lr": 1}}}"#, &[])
            .starts_with("optimiser: unknown variant `Sgdd`, did you mean `Sgd`?")
    );
}

#[test]
fn a_type_that_denies_unknown_keys_gives_the_same_message() {
    #[derive(Default, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Strict {
        num_steps: u64,
    }
    let wanted = "unknown key `num_step`, did you mean `num_steps`? accepted: `num_steps`";
    assert_eq!(fault::<Strict>(r#"{"num_step": 1}"#, &[]), wanted);
    assert_eq!(fault::<Strict>("{}", &[set("num_step", "1")]), wanted);
}

#[test]
fn an_alias_takes_the_place_of_the_default_under_the_name() {
    let expected = ppo_with("0.0003", "0.5");
    assert_eq!(resolved::<Ppo>(r#"{"learning_rate": 0.5}"#, &[]), expected);
    assert_eq!(resolved::<Ppo>("{}", &[set("learning_rate", "0.5")]), expected);
    assert_eq!(resolved::<Ppo>(r#"{"learning_rate": 3e-4}"#, &[]), DEFAULT_PPO);
    let both = fault::<Ppo>(r#"{"learning_rate": 0.5, "lr": 1}"#, &[]);
    assert_eq!(both, "`lr` is given twice, once under another name");
}

#[test]
fn a_non_finite_number_is_refused_by_key() {
    let table: Value = [("lr", f64::NAN)].into_iter().collect();
    let error = ConfigType::of::<Ppo>().resolve_layers(&[&table], &[]).unwrap_err();
    assert_eq!(error.path(), "lr");
    assert!(error.message().starts_with("NaN is not accepted"));
}

#[test]
fn a_default_that_has_to_be_replaced_may_be_not_a_number() {
    #[derive(Serialize, Deserialize)]
    struct Given {
        must_set: f64,
    }
    impl Default for Given {
        fn default() -> Self {
            Self { must_set: f64::NAN }
        }
    }
    assert!(fault::<Given>("{}", &[]).starts_with("must_set: NaN is not accepted"));
    assert_eq!(resolved::<Given>("{}", &[set("must_set", "1")]), r#"{"must_set":1.0}"#);
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", deny_unknown_fields)]
enum Schedule {
    Constant { value: f64 },
    Linear { from: f64, to: f64 },
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Loose {
    Constant { value: f64 },
    Named { label: String },
}

#[derive(Serialize, Deserialize)]
struct Tagged {
    steps: u64,
    schedule: Schedule,
    loose: Loose,
}

impl Default for Tagged {
    fn default() -> Self {
        let schedule = Schedule::Constant { value: 1.0 };
        Self { steps: 1, schedule, loose: Loose::Constant { value: 2.0 } }
    }
}

#[test]
fn an_internally_tagged_variant_drops_the_fields_of_the_default() {
    assert_eq!(
        resolved::<Tagged>(r#"{"schedule": {"kind": "Linear", "from": 1, "to": 0}}"#, &[]),
        concat!(
            r#"{"loose":{"kind":"Constant","value":2.0},"#,
            r#""schedule":{"from":1.0,"kind":"Linear","to":0.0},"steps":1}"#
        )
    );
    let texts = [set("loose.label", "7"), set("loose.kind", "Named")];
    assert_eq!(
        resolved::<Tagged>("{}", &texts),
        concat!(
            r#"{"loose":{"kind":"Named","label":"7"},"#,
            r#""schedule":{"kind":"Constant","value":1.0},"steps":1}"#
        )
    );
}

#[test]
fn a_key_that_an_internally_tagged_enum_swallows_is_refused() {
    let error = fault::<Tagged>(r#"{"loose": {"valeu": 1}}"#, &[]);
    assert!(error.starts_with("loose: unknown key `valeu`, did you mean `value`?"), "{error}");
    assert!(error.contains("identity"), "{error}");
    let error = fault::<Tagged>("{}", &[set("loose.valeu", "1")]);
    assert!(error.starts_with("loose: unknown key `valeu`, did you mean `value`?"), "{error}");
}

#[test]
fn a_field_that_is_read_but_never_written_is_refused() {
    #[derive(Default, Serialize, Deserialize)]
    #[serde(default)]
    struct Hidden {
        lr: f64,
        #[serde(skip_serializing)]
        secret: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    }
    assert!(fault::<Hidden>(r#"{"secret": 5}"#, &[]).contains("identity"));
    assert!(fault::<Hidden>("{}", &[set("secret", "5")]).contains("identity"));
    assert_eq!(resolved::<Hidden>("{}", &[set("note", "x")]), r#"{"lr":0.0,"note":"x"}"#);
    assert_eq!(resolved::<Hidden>("{}", &[set("note", "none")]), r#"{"lr":0.0}"#);
}

#[test]
fn flattened_fields_are_known_and_their_neighbours_are_not() {
    #[derive(Default, Serialize, Deserialize)]
    #[serde(default)]
    struct Common {
        gamma: f64,
        horizon: u64,
    }
    #[derive(Default, Serialize, Deserialize)]
    #[serde(default)]
    struct Flat {
        lr: f64,
        #[serde(flatten)]
        common: Common,
    }
    assert_eq!(
        resolved::<Flat>(r#"{"gamma": 1}"#, &[set("horizon", "8")]),
        r#"{"gamma":1.0,"horizon":8,"lr":0.0}"#
    );
    assert!(fault::<Flat>(r#"{"gama": 1}"#, &[]).starts_with("unknown key `gama`"));
    assert!(fault::<Flat>("{}", &[set("gama", "1")]).starts_with("unknown key `gama`"));
}

#[test]
fn a_type_that_does_not_survive_the_round_trip_is_refused_by_key() {
    #[derive(Default, Serialize, Deserialize)]
    #[serde(default)]
    struct Unordered {
        tags: HashSet<String>,
        #[serde(serialize_with = "rounded")]
        lossy: f64,
    }
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
    fn rounded<S: serde::Serializer>(x: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64((x * 10.0 + 0.5).floor())
    }
    let error = fault::<Unordered>(r#"{"tags": ["a", "b"]}"#, &[]);
    assert!(error.starts_with("tags["), "{error}");
    let error = fault::<Unordered>(r#"{"lossy": 0.33}"#, &[]);
    assert!(error.starts_with("lossy: changes from 3.0 to 30.0"), "{error}");
}

#[test]
fn a_set_is_caught_however_its_order_falls() {
    #[derive(Default, Serialize, Deserialize)]
    struct Tags(HashSet<u8>);
    for _ in 0..200 {
        assert!(fault::<Tags>("[1, 2]", &[]).starts_with('['));
    }
    assert_eq!(resolved::<Tags>("[1]", &[]), "[1]");
}

#[test]
fn a_map_takes_new_keys_and_a_free_value_keeps_its_kind() {
    #[derive(Serialize, Deserialize)]
    struct Open {
        by_name: BTreeMap<String, serde_json::Value>,
    }
    impl Default for Open {
        fn default() -> Self {
            let by_name = [("version".to_owned(), serde_json::json!("1"))].into();
            Self { by_name }
        }
    }
    assert_eq!(
        resolved::<Open>("{}", &[set("by_name.version", "2"), set("by_name.new", "2")]),
        r#"{"by_name":{"new":2,"version":"2"}}"#
    );
}

#[test]
fn a_key_inside_a_variant_is_ignored_at_its_full_place() {
    let error =
        fault::<Ppo>(r#"{"optimiser": {"Adam": {"lr": 1, "betas": [0, 1], "eps": 1}}}"#, &[]);
    assert!(error.starts_with("optimiser.Adam: unknown key `eps`"), "{error}");
}

#[test]
fn words_for_a_table_without_a_type_follow_the_kind_that_is_there() {
    let table =
        r#"{"map": "small", "size": 8, "p": 0.5, "wind": false, "deep": {"a": [1, 2]}, "n": null}"#;
    let apply = |path: &str, text: &str| {
        let mut table = parse(table);
        let (path, text) = set(path, text);
        set_untyped(&mut table, &path, &text).map(|()| table.get_path(&path).unwrap().to_string())
    };
    assert_eq!(apply("map", "1E234").unwrap(), r#""1E234""#);
    assert_eq!(apply("size", "9").unwrap(), "9");
    assert_eq!(apply("p", "1").unwrap(), "1.0");
    assert_eq!(apply("wind", "yes").unwrap(), "true");
    assert_eq!(apply("wind", "1").unwrap(), "true");
    assert_eq!(apply("deep.a", "[3]").unwrap(), "[3]");
    assert_eq!(apply("deep.a.1", "5").unwrap(), "5");
    assert_eq!(apply("n", "5").unwrap(), "5");
    assert_eq!(
        apply("size", "big").unwrap_err().to_string(),
        "size: `big` does not fit, a number is expected"
    );
    assert_eq!(
        apply("deep.b", "1").unwrap_err().to_string(),
        "deep: unknown key `b`, accepted: `a`"
    );
    assert!(apply("deep", r#"{"b": 1}"#).unwrap_err().to_string().contains("unknown key `b`"));
    assert!(apply("maps", "x").unwrap_err().to_string().contains("did you mean `map`?"));
    assert!(apply("map.x", "1").is_err());
}

#[test]
fn without_a_type_the_tables_are_the_configuration() {
    let tables = parse(r#"{"lr": 1}"#);
    let config = ConfigType::none().resolve_layers(&[&tables], &[set("lr", "2")]).unwrap();
    assert_eq!(config.to_string(), r#"{"lr":2}"#);
    assert!(!ConfigType::none().is_typed());
}

#[cfg(feature = "cli")]
#[test]
fn a_fault_moves_under_the_place_of_its_configuration() {
    let fault = |place: &[PathStep]| ValueError::at(place.to_vec(), "no").under_key("env_config");
    assert_eq!(fault(&[PathStep::Key("lr".to_owned())]).to_string(), "env_config.lr: no");
    assert_eq!(fault(&[PathStep::Index(1)]).path(), "env_config[1]");
    assert_eq!(fault(&[]).path(), "env_config");
}

#[cfg(feature = "cli")]
#[test]
fn an_inline_table_may_be_written_as_toml_or_json() {
    let sgd = r#"{"Sgd":{"lr":0.1,"momentum":0.9}}"#;
    let expected = ppo_with(sgd, r#"{"Plain":2.0}"#);
    for text in ["{ Plain = 2 }", r#"{"Plain": 2}"#] {
        assert_eq!(resolved::<Ppo>("{}", &[set("optimiser", text)]), expected);
    }
    let dated: Value = toml::from_str("day = 1979-05-27").unwrap();
    assert_eq!(dated.to_string(), r#"{"day":"1979-05-27"}"#);
}
