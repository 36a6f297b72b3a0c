//! Canonical JSON: the one text that all values of the same meaning share, to be hashed.
//!
//! Keys sorted by their UTF-8 bytes, no white space, minimal escapes, 64-bit integers exact,
//! an integral float in their range as that integer, other floats in the form of ECMAScript's
//! `Number.prototype.toString`. Of two shortest decimals that are equally near, which the standard
//! leaves open, it is the one farther from zero.

use std::fmt::Write as _;

use super::digest::sha256_hex;
use super::error::{PathStep, ValueError};
use super::json_value::Value;
use super::number::{Number, non_finite_word};

impl Value {
    /// The canonical JSON text: the one text of all values that count as the same (see the
    /// documentation of request identity). A NaN or an infinity is an error that names the key.
    pub fn canonical_json(&self) -> Result<String, ValueError> {
        let mut text = String::new();
        write_value(self, &mut text)?;
        Ok(text)
    }

    /// The SHA-256 of the canonical JSON text, as 64 hexadecimal digits.
    pub fn canonical_sha256(&self) -> Result<String, ValueError> {
        self.canonical_json().map(|text| sha256_hex(text.as_bytes()))
    }
}

/// Whether two numbers have the same canonical text.
pub(crate) fn same_number(a: Number, b: Number) -> bool {
    matches!((number_text(a), number_text(b)), (Ok(a), Ok(b)) if a == b)
}

fn write_value(value: &Value, out: &mut String) -> Result<(), ValueError> {
    match value {
        Value::Number(number) => out.push_str(&number_text(*number)?),
        // Their one JSON text; the escapes of a string are minimal.
        Value::Null | Value::Bool(_) | Value::String(_) => out.push_str(&value.to_string()),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(item, out).map_err(|error| error.under(PathStep::Index(index)))?;
            }
            out.push(']');
        }
        Value::Object(entries) => {
            out.push('{');
            // The map's order is that of the keys' bytes.
            for (index, (key, item)) in entries.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                let _ = write!(out, "{}:", Value::from(key.as_str()));
                write_value(item, out).map_err(|error| error.under_key(key))?;
            }
            out.push('}');
        }
    }
    Ok(())
}

fn number_text(number: Number) -> Result<String, ValueError> {
    if let Some(integer) = number.as_i128() {
        return Ok(integer.to_string());
    }
    let x = number.as_f64();
    if x.is_finite() {
        Ok(ecmascript(x))
    } else {
        let word = non_finite_word(x);
        Err(ValueError::new(format!("{word} is not accepted, a finite number is needed")))
    }
}

/// `Number.prototype.toString` of a finite float.
fn ecmascript(x: f64) -> String {
    if x == 0.0 {
        return "0".to_owned();
    }
    let sign = if x < 0.0 { "-" } else { "" };
    let shortest = format!("{:e}", x.abs());
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let digits = mantissa.replace('.', "");
    let exponent: i32 = exponent.parse().unwrap_or(0);
    format!("{sign}{}", place_point(&digits, exponent))
}

/// The digits `d.ddd` times ten to the `exponent`, as ECMAScript writes them.
fn place_point(digits: &str, exponent: i32) -> String {
    // At most 17 digits.
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    match exponent {
        -6..0 => format!("0.{}{digits}", zeros(-exponent - 1)),
        0..21 if count <= exponent + 1 => format!("{digits}{}", zeros(exponent + 1 - count)),
        0..21 => {
            let (whole, fraction) = digits.split_at(usize::try_from(exponent + 1).unwrap_or(0));
            format!("{whole}.{fraction}")
        }
        _ => {
            let (first, rest) = digits.split_at(1);
            let point = if rest.is_empty() { "" } else { "." };
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{first}{point}{rest}e{sign}{}", exponent.abs())
        }
    }
}

fn zeros(count: i32) -> String {
    "0".repeat(usize::try_from(count).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use proptest::prelude::*;

    use super::*;
    use crate::value::arbitrary::finite;

    fn canonical(text: &str) -> String {
        Value::parse_json(text.as_bytes()).unwrap().canonical_json().unwrap()
    }

    #[test]
    fn keys_are_sorted_by_their_bytes_and_white_space_is_gone() {
        let text = "{ \"b\": [1, {\"y\": null, \"x\": true}], \"\u{ff5e}\": 1, \"\u{1f600}\": 2, \"B\": 3 }";
        let sorted = "{\"B\":3,\"b\":[1,{\"x\":true,\"y\":null}],\"\u{ff5e}\":1,\"\u{1f600}\":2}";
        assert_eq!(canonical(text), sorted);
    }

    #[test]
    fn escapes_are_minimal() {
        let text = Value::from("\u{8}\t\n\u{c}\r\"\\/\u{0}\u{1f}\u{7f}\u{e9}\u{2028}");
        let wanted = "\"\\b\\t\\n\\f\\r\\\"\\\\/\\u0000\\u001f\u{7f}\u{e9}\u{2028}\"";
        assert_eq!(text.canonical_json().unwrap(), wanted);
    }

    #[test]
    fn numbers_have_one_text() {
        let cases = [
            ("1.0", "1"),
            ("-0.0", "0"),
            ("-0", "0"),
            ("1e2", "100"),
            ("18446744073709551615", "18446744073709551615"),
            ("9007199254740993", "9007199254740993"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("-9223372036854775808.0", "-9223372036854775808"),
            ("1e19", "10000000000000000000"),
            ("18446744073709551616", "18446744073709552000"),
            ("1e20", "100000000000000000000"),
            ("1e21", "1e+21"),
            ("-1.5e300", "-1.5e+300"),
            ("0.1", "0.1"),
            ("123.456", "123.456"),
            ("1e-6", "0.000001"),
            ("1.5e-6", "0.0000015"),
            ("1e-7", "1e-7"),
            ("5e-324", "5e-324"),
            ("1.7976931348623157e308", "1.7976931348623157e+308"),
            ("0.30000000000000004", "0.30000000000000004"),
            // Two shortest texts are equally near: the upper one.
            ("1308548795726862.25", "1308548795726862.3"),
            ("-2085944762447920.25", "-2085944762447920.3"),
            ("24727794678795.5625", "24727794678795.563"),
        ];
        for (text, wanted) in cases {
            assert_eq!(canonical(text), wanted, "{text}");
        }
    }

    #[test]
    fn a_non_finite_number_is_refused_by_its_key() {
        let list = Value::from(vec![1.0, f64::NEG_INFINITY]);
        let value: Value = [("env", list)].into_iter().collect();
        let error = value.canonical_json().unwrap_err().to_string();
        assert_eq!(error, "env[1]: -Infinity is not accepted, a finite number is needed");
    }

    /// Thousands of bit patterns through the reference implementation of the form.
    #[test]
    fn floats_are_written_as_ecmascript_writes_them() {
        const SCRIPT: &str = "const v = new DataView(new ArrayBuffer(8));
            require('fs').readFileSync(0, 'utf8').trim().split('\\n').forEach(bits => {
                v.setBigUint64(0, BigInt('0x' + bits));
                console.log(JSON.stringify(v.getFloat64(0)));
            })";
        let spawned = Command::new("node")
            .args(["-e", SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut node) = spawned else {
            eprintln!("skipped: there is no `node` to compare with");
            return;
        };
        let floats = sampled_floats();
        let bits: Vec<String> = floats.iter().map(|x| format!("{:x}", x.to_bits())).collect();
        node.stdin.take().unwrap().write_all(bits.join("\n").as_bytes()).unwrap();
        let output = node.wait_with_output().unwrap();
        assert!(output.status.success());
        let output = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.lines().count(), floats.len());
        for (x, theirs) in floats.iter().zip(output.lines()) {
            assert_eq!(ecmascript(*x), theirs, "{:x}", x.to_bits());
        }
    }

    fn sampled_floats() -> Vec<f64> {
        use proptest::strategy::ValueTree;
        use proptest::test_runner::TestRunner;
        let mut runner = TestRunner::deterministic();
        // Any bits, and magnitudes about the places where the form changes.
        let near = (-30_i32..30, any::<u32>())
            .prop_map(|(exponent, n)| f64::from(n) * 10_f64.powi(exponent - 9));
        let random = prop_oneof![finite(), near];
        let mut floats: Vec<f64> =
            (0..6000).map(|_| random.new_tree(&mut runner).unwrap().current()).collect();
        floats.extend((-324..=308).map(|n| format!("1e{n}").parse::<f64>().unwrap()));
        floats
    }
}
