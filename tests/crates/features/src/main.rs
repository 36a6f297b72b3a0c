//! Prints the canonical text and the hash of some values, whatever features `serde_json` has.

use std::collections::BTreeMap;
use std::error::Error;

use rle::value::Value;
use serde::{Deserialize, Serialize};

/// Numbers in every form, keys in odd order, and more digits than a double holds.
const TEXT: &str = r#"{
    "z": {"b": 1.0, "a": 1e2, "_": [-0.0, -0, 0, 1E-7, 1.0e+21]},
    "seed": 18446744073709551615, "next": 18446744073709551614,
    "lowest": -9223372036854775808, "beyond": 18446744073709551616,
    "odd": 9007199254740993, "long": 0.1000000000000000055511151231257827,
    "rounded": 2.2250738585072011e-308, "third": 0.30000000000000004,
    "A": {"y": {"q": null, "c": "\u00e9\n"}, "x": [{"b": 2, "a": [true, "NaN"]}]}
}"#;

#[derive(Serialize, Deserialize)]
struct Config {
    seed: u64,
    lr: f32,
    horizon: f64,
    schedule: Schedule,
    handed_in: serde_json::Value,
    number: serde_json::Number,
    by_index: BTreeMap<i64, f64>,
    #[serde(flatten)]
    rest: Rest,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Schedule {
    Linear { from: f64, steps: u64, free: serde_json::Value },
}

#[derive(Serialize, Deserialize)]
struct Rest {
    gamma: f64,
    limit: u64,
}

fn config() -> Result<Config, serde_json::Error> {
    Ok(Config {
        seed: u64::MAX - 1,
        lr: 3e-4,
        horizon: 1e21,
        schedule: Schedule::Linear {
            from: 0.1,
            steps: (1 << 53) + 1,
            free: serde_json::from_str("[1.50, 10, 1e1]")?,
        },
        handed_in: serde_json::from_str(TEXT)?,
        number: serde_json::from_str("4.20")?,
        by_index: [(10, -0.0), (-9, 1.0)].into(),
        rest: Rest { gamma: 0.99, limit: u64::MAX },
    })
}

#[cfg(feature = "raw_value")]
fn raw() -> Result<Value, Box<dyn Error>> {
    let raw = serde_json::value::RawValue::from_string(TEXT.to_owned())?;
    let value = Value::from_serialize(&raw)?;
    let back: Box<serde_json::value::RawValue> = value.to()?;
    Ok(Value::from_serialize(&back)?)
}

#[cfg(not(feature = "raw_value"))]
fn raw() -> Result<Value, Box<dyn Error>> {
    Ok(Value::parse_json(TEXT.as_bytes())?)
}

fn show(name: &str, value: &Value) -> Result<(), Box<dyn Error>> {
    println!("{name} {} {}", value.canonical_sha256()?, value.canonical_json()?);
    // The text as it is stored, too: what one build writes another one reads.
    println!("{name} {value}");
    let read = Value::parse_json(value.to_json_pretty().as_bytes())?;
    if read != *value {
        return Err(format!("{name} did not come back from its text").into());
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let handed_in: serde_json::Value = serde_json::from_str(TEXT)?;
    let ours = Value::from_serialize(&handed_in)?;
    show("handed_in", &ours)?;
    show("handed_back", &Value::from_serialize(&ours.to::<serde_json::Value>()?)?)?;
    show("read", &Value::parse_json(TEXT.as_bytes())?)?;
    show("raw", &raw()?)?;
    let config = Value::from_serialize(&config()?)?;
    show("config", &config)?;
    let read = Value::parse_json(config.to_string().as_bytes())?;
    show("config_read", &Value::from_serialize(&read.to::<Config>()?)?)?;
    Ok(())
}
