use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::*;

fn parse(text: &str) -> Value {
    Value::parse_json(text.as_bytes()).unwrap()
}

fn refusal<T: Serialize>(value: T) -> String {
    Value::from_serialize(&value).unwrap_err().to_string()
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Inner {
    tag: Option<char>,
    ratio: f32,
    big: u128,
    small: i128,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Shape {
    Unit,
    New(u8),
    Pair(u8, String),
    Named { side: i16 },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Internal {
    A { x: u64 },
    B,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "t", content = "c")]
enum Adjacent {
    A(u64),
    B { y: f64 },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Untagged {
    Number(f64),
    Text(String),
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Everything {
    inner: Inner,
    shapes: Vec<Shape>,
    internal: Vec<Internal>,
    adjacent: Vec<Adjacent>,
    untagged: Vec<Untagged>,
    by_number: BTreeMap<i64, bool>,
    by_truth: BTreeMap<bool, u8>,
    by_char: HashMap<char, u8>,
    tuple: (u8, f64, String),
    handed_in: serde_json::Value,
    nested: Value,
    #[serde(flatten)]
    rest: BTreeMap<String, u64>,
}

fn everything() -> Everything {
    Everything {
        inner: Inner { tag: Some('ü'), ratio: 0.1, big: u128::from(u64::MAX), small: -5 },
        shapes: vec![
            Shape::Unit,
            Shape::New(3),
            Shape::Pair(1, "two".into()),
            Shape::Named { side: -4 },
        ],
        internal: vec![Internal::A { x: u64::MAX }, Internal::B],
        adjacent: vec![Adjacent::A(1), Adjacent::B { y: -0.0 }],
        untagged: vec![Untagged::Number(2.5), Untagged::Text("t".into())],
        by_number: [(-3, true), (7, false)].into(),
        by_truth: [(true, 1), (false, 0)].into(),
        by_char: [('x', 1)].into(),
        tuple: (1, 2.0, "three".into()),
        handed_in: serde_json::json!({"b": [1, 1.0, -2], "a": null}),
        nested: parse(r#"{"k": [1.5, 18446744073709551615]}"#),
        rest: [("extra".to_owned(), u64::MAX)].into(),
    }
}

#[test]
fn everything_comes_back_from_value_and_text() {
    let value = Value::from_serialize(&everything()).unwrap();
    assert_eq!(value.to::<Everything>().unwrap(), everything());
    let text = value.to_json_pretty();
    assert_eq!(parse(&text), value);
    assert_eq!(parse(&text).into_typed::<Everything>().unwrap(), everything());
}

#[test]
fn enums_take_the_form_that_serde_json_gives_them() {
    let ours = Value::from_serialize(&everything()).unwrap();
    let theirs = serde_json::to_value(everything()).unwrap();
    assert_eq!(ours.get("shapes").unwrap().to_string(), theirs["shapes"].to_string());
    assert_eq!(ours.get("internal").unwrap().to_string(), theirs["internal"].to_string());
    assert_eq!(ours.get("adjacent").unwrap().to_string(), theirs["adjacent"].to_string());
    assert_eq!(ours.get("by_number").unwrap().to_string(), theirs["by_number"].to_string());
}

#[test]
fn variants_are_found_where_they_stand() {
    #[derive(Serialize)]
    struct Outer {
        shape: Shape,
        list: Vec<Shape>,
        plain: BTreeMap<String, u8>,
    }
    let outer = Outer {
        shape: Shape::Named { side: 1 },
        list: vec![Shape::Unit, Shape::New(1)],
        plain: [("New".to_owned(), 1)].into(),
    };
    let snapshot = Value::snapshot(&outer).unwrap();
    let paths: Vec<String> =
        snapshot.variants.iter().map(|path| error::render_path(path)).collect();
    assert_eq!(paths, ["list[1]", "shape"]);
}

#[test]
fn strict_serialising_names_the_key_of_a_non_finite_number() {
    let deep: BTreeMap<&str, Vec<BTreeMap<&str, f64>>> =
        [("optimiser", vec![BTreeMap::new(), [("lr", f64::NAN)].into()])].into();
    assert_eq!(refusal(deep), "optimiser[1].lr: NaN is not accepted, a finite number is needed");
    assert_eq!(refusal(f32::NEG_INFINITY).split(' ').next(), Some("-Infinity"));
    assert_eq!(
        refusal([Shape::Unit].map(|_| (1, f64::INFINITY))),
        "[0][1]: Infinity is not accepted, a finite number is needed"
    );
}

#[test]
fn a_non_finite_value_inside_a_value_is_seen_through_its_own_serialiser() {
    let inner: Value = [("loss", f64::INFINITY)].into_iter().collect();
    assert!(refusal(&inner).starts_with("loss: Infinity"));
    assert_eq!(Value::from_serialize_lossless(&inner).unwrap(), inner);
}

#[test]
fn non_finite_numbers_come_back_from_their_words() {
    let metrics: Value = [("a", vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0])]
        .into_iter()
        .map(|(key, list)| (key, Value::from(list)))
        .collect();
    let kept = Value::from_serialize_lossless(&metrics).unwrap();
    let text = kept.to_string();
    assert_eq!(text, r#"{"a":["NaN","Infinity","-Infinity",-0.0]}"#);
    let mut read = parse(&text);
    read.restore_non_finite();
    assert_eq!(read, metrics);
    assert!(read.get("a").unwrap().to::<Vec<f64>>().unwrap()[0].is_nan());
}

#[test]
fn a_text_that_would_come_back_as_a_number_is_refused_in_metrics_only() {
    let metric: BTreeMap<&str, &str> = [("note", "NaN")].into();
    let error = Value::from_serialize_lossless(&metric).unwrap_err();
    assert_eq!(error.path(), "note");
    assert!(Value::from_serialize(&metric).is_ok());
}

#[test]
fn integers_beyond_64_bits_are_refused() {
    assert!(Value::from_serialize(&(i128::from(i64::MIN))).is_ok());
    assert!(refusal(i128::from(i64::MIN) - 1).contains("-9223372036854775809"));
    assert!(refusal([u128::from(u64::MAX) + 1]).starts_with("[0]: the integer 184467440737"));
}

#[test]
fn keys_that_are_no_texts_are_refused() {
    let by_list: BTreeMap<Vec<u8>, u8> = [(vec![1], 1)].into();
    assert!(refusal(by_list).starts_with("a sequence cannot be a key"));
}

#[test]
fn a_key_that_stands_twice_is_refused() {
    #[derive(Serialize)]
    struct Outer {
        lr: f64,
        #[serde(flatten)]
        rest: BTreeMap<String, f64>,
    }
    let outer = Outer { lr: 1.0, rest: [("lr".to_owned(), 2.0)].into() };
    assert_eq!(refusal([outer]), "[0]: the key `lr` stands twice");
    let read = Value::parse_json(b"{\n \"a\": 1,\n \"a\": 2}").unwrap_err().to_string();
    assert!(read.contains("`a` stands twice") && read.contains("line 3"), "{read}");
}

#[test]
fn a_syntax_error_names_line_and_column() {
    let error = Value::parse_json(b"{\n  \"a\": tru }").unwrap_err().to_string();
    assert!(error.contains("line 2 column"), "{error}");
    assert!(Value::parse_json(b"").is_err());
    assert!(Value::parse_json(b"{} {}").is_err());
    assert!(Value::parse_json(b"1e999").is_err());
}

#[test]
fn nesting_beyond_what_can_be_read_back_is_refused() {
    let nest = |depth| (0..depth).fold(Value::Null, |inner, _| Value::from(vec![inner]));
    let written = Value::from_serialize(&nest(100)).unwrap();
    assert_eq!(parse(&written.to_string()), written);
    assert!(refusal(nest(101)).ends_with("nested deeper than 100 levels"));
}

#[test]
fn an_f32_is_its_shortest_decimal() {
    assert_eq!(Value::from_serialize(&0.1_f32).unwrap().to_string(), "0.1");
    assert_eq!(Value::from_serialize(&16_777_216_f32).unwrap().to_string(), "16777216.0");
}

#[test]
fn an_integral_float_reads_as_an_integer_and_an_integer_as_a_float() {
    assert_eq!(parse("64.0").to::<u8>().unwrap(), 64);
    assert_eq!(parse("-2e2").to::<i64>().unwrap(), -200);
    assert_eq!(parse("3").to::<f64>().unwrap().to_bits(), 3.0_f64.to_bits());
    let error = parse(r#"{"a": [1, 2.5]}"#).to::<BTreeMap<String, Vec<u8>>>().unwrap_err();
    assert_eq!(error.path(), "a[1]");
    assert!(parse("300.0").to::<u8>().is_err());
}

#[test]
fn errors_of_reading_name_path_and_near_match() {
    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only read from")]
    struct Outer {
        learning_rate: f64,
    }
    let wrong = parse(r#"{"ppo": {"learning_rate": "abc"}}"#);
    let error = wrong.to::<BTreeMap<String, Outer>>().unwrap_err().to_string();
    assert_eq!(error, "ppo.learning_rate: invalid type: string \"abc\", expected f64");
    let wrong = parse(r#"{"ppo": {"learning_rat": 1}}"#);
    let error = wrong.to::<BTreeMap<String, Outer>>().unwrap_err().to_string();
    assert_eq!(
        error,
        "ppo: unknown key `learning_rat`, did you mean `learning_rate`? accepted: `learning_rate`"
    );
    let error = parse(r#"{"Named": {"side": 1e9}}"#).to::<Shape>().unwrap_err();
    assert_eq!(error.path(), "Named.side");
}

#[test]
fn paths_quote_what_could_be_misread() {
    let error = ValueError::new("no").under(PathStep::Index(3)).under_key("a.b").under_key("x");
    assert_eq!(error.to_string(), "x.\"a.b\"[3]: no");
}

#[test]
fn the_number_of_a_serde_json_value_is_recognised() {
    let theirs: serde_json::Value =
        serde_json::from_str("[1.0, 1e2, -0.0, 18446744073709551615, -3]").unwrap();
    let ours = Value::from_serialize(&theirs).unwrap();
    assert_eq!(ours.to_string(), "[1.0,100.0,-0.0,18446744073709551615,-3]");
    let back: serde_json::Value = ours.to().unwrap();
    assert_eq!(back, theirs);
}

#[test]
fn differences_are_deep_and_canonical() {
    let old = parse(r#"{"a": {"lr": 1, "x": [1, 2, 3]}, "gone": null, "same": -0.0}"#);
    let new = parse(r#"{"a": {"lr": 1.0, "x": [1, 5]}, "s": {"env": 1}, "same": 0}"#);
    let shown: Vec<String> = differences(&old, &new)
        .into_iter()
        .map(|d| format!("{}: {:?} -> {:?}", d.path, text(d.old), text(d.new)))
        .collect();
    let expected = [
        r#"a.x[1]: Some("2") -> Some("5")"#,
        r#"a.x[2]: Some("3") -> None"#,
        r#"gone: Some("null") -> None"#,
        r#"s: None -> Some("{\"env\":1}")"#,
    ];
    assert_eq!(shown, expected);
}

fn text(value: Option<Value>) -> Option<String> {
    value.map(|value| value.to_string())
}

#[test]
fn paths_lead_through_objects_and_arrays() {
    let value = parse(r#"{"a": {"b": [10, {"c": 1}]}}"#);
    assert_eq!(value.get_dotted("a.b.1.c"), Some(&Value::from(1_u8)));
    assert_eq!(value.get_path(&["a", "x"]), None);
}
