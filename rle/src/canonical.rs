//! Canonical JSON: the one text that all values of the same meaning share, to be hashed.
//!
//! Keys sorted by their UTF-8 bytes, no white space, minimal escapes, 64-bit integers exact,
//! an integral float in their range as that integer, other floats in the form of ECMAScript's
//! `Number.prototype.toString`.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

use crate::value::{Number, Segment, Value, ValueError, non_finite_word};

/// The canonical text. A NaN or an infinity is an error that names its key.
pub(crate) fn to_canonical(value: &Value) -> Result<String, ValueError> {
    let mut text = String::new();
    write_value(value, &mut text)?;
    Ok(text)
}

/// The SHA-256 of some bytes, as 64 hexadecimal digits.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

/// Whether two numbers have the same canonical text.
pub(crate) fn same_number(a: Number, b: Number) -> bool {
    matches!((number_text(a), number_text(b)), (Ok(a), Ok(b)) if a == b)
}

fn write_value(value: &Value, out: &mut String) -> Result<(), ValueError> {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => out.push_str(&number_text(*number)?),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(item, out).map_err(|error| error.under(Segment::Index(index)))?;
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
                write_string(key, out);
                out.push(':');
                write_value(item, out).map_err(|error| error.under_key(key))?;
            }
            out.push('}');
        }
    }
    Ok(())
}

fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            '\0'..='\u{1f}' => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out.push('"');
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
