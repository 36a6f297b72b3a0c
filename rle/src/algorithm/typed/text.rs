//! Words of the command line and the environment as values.

use crate::value::{Number, Value, ValueError, hint, key_steps};

/// All that a word may mean, the likeliest first: the declared type takes the first that fits.
pub(super) fn candidates(text: &str, existing: Option<&Value>) -> Vec<Value> {
    let word = text.trim();
    let mut meanings = Vec::new();
    if word.eq_ignore_ascii_case("null") || word.eq_ignore_ascii_case("none") {
        meanings.push(Value::Null);
    }
    let typed = meanings.len();
    meanings.extend(number(word).map(Value::Number));
    meanings.extend(bool_word(word).map(Value::Bool));
    meanings.extend(inline(word));
    meanings.push(text.into());
    if let Some(existing) = existing {
        // Where the type takes anything, a value stays of the kind it is.
        meanings[typed..].sort_by_key(|meaning| meaning.kind() != existing.kind());
    }
    meanings
}

/// A finite number, an integer where it is written as one.
fn number(word: &str) -> Option<Number> {
    if let Ok(integer) = word.parse::<i128>()
        && let Ok(number) = Number::from_i128(integer)
    {
        return Some(number);
    }
    // The words that a float reads besides digits (`inf`, `nan`) are no numbers here.
    let float = word.parse::<f64>().ok().filter(|float| float.is_finite());
    float.map(Number::from)
}

/// What [`bool_word`] accepts, for messages.
pub(crate) const BOOL_WORDS: &str = "true, false, 1, 0, yes, no, on, off";

/// The accepted words for a boolean, in any case.
pub(crate) fn bool_word(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Some(true),
        "false" | "0" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// A list or a table written in one line, in the manner of TOML or of JSON.
fn inline(word: &str) -> Vec<Value> {
    if !word.starts_with(['[', '{']) {
        return Vec::new();
    }
    let mut meanings = Vec::new();
    #[cfg(feature = "cli")]
    if let Some(meaning) = inline_toml(word) {
        meanings.push(meaning);
    }
    if let Ok(meaning) = Value::parse_json(word.as_bytes())
        && !meanings.contains(&meaning)
    {
        meanings.push(meaning);
    }
    meanings
}

#[cfg(feature = "cli")]
fn inline_toml(word: &str) -> Option<Value> {
    let document: Value = toml::from_str(&format!("x = {word}")).ok()?;
    match document {
        // A line break in the word could have begun a second key.
        Value::Object(mut entries) if entries.len() == 1 => entries.remove("x"),
        _ => None,
    }
}

/// Sets one value of a table without a type: the kind of the value that is there decides how
/// the text is read, and an absent key is an error.
pub(crate) fn set_untyped(
    table: &mut Value,
    path: &[String],
    text: &str,
) -> Result<(), ValueError> {
    let mut place = table;
    for (depth, key) in path.iter().enumerate() {
        place = step(place, key)
            .map_err(|message| ValueError::at(key_steps(&path[..depth]), message))?;
    }
    let meaning = read_as(place, text)
        .ok_or_else(|| format!("`{text}` does not fit, {} is expected", place.kind()))
        .and_then(|meaning| overlay(place, meaning));
    meaning.map_err(|message| ValueError::at(key_steps(path), message))
}

fn step<'v>(value: &'v mut Value, key: &str) -> Result<&'v mut Value, String> {
    match value {
        Value::Object(entries) => {
            let accepted: Vec<String> = entries.keys().cloned().collect();
            entries
                .get_mut(key)
                .ok_or_else(|| format!("unknown key `{key}`{}", hint(key, &accepted)))
        }
        Value::Array(items) => {
            let count = items.len();
            key.parse::<usize>()
                .ok()
                .and_then(|index| items.get_mut(index))
                .ok_or_else(|| format!("no item `{key}`, the list has {count}"))
        }
        other => Err(format!("no key `{key}`, this is {}", other.kind())),
    }
}

/// The first meaning of the text that is of the kind of `existing`.
fn read_as(existing: &Value, text: &str) -> Option<Value> {
    let meanings = candidates(text, None);
    match existing {
        Value::Null => meanings.into_iter().next(),
        Value::String(_) => Some(text.into()),
        // A number that is held as a float stays one.
        Value::Number(number) if number.is_float() => {
            meanings.iter().find_map(Value::as_f64).map(Value::from)
        }
        _ => meanings.into_iter().find(|meaning| meaning.kind() == existing.kind()),
    }
}

/// Lays a value on an existing one of its kind; a table may only name keys that are there.
fn overlay(existing: &mut Value, over: Value) -> Result<(), String> {
    let (Value::Object(_), Value::Object(above)) = (&*existing, &over) else {
        if existing.is_null() || existing.kind() == over.kind() {
            *existing = over;
            return Ok(());
        }
        return Err(format!("`{over}` does not fit, {} is expected", existing.kind()));
    };
    for (key, value) in above {
        overlay(step(existing, key)?, value.clone())?;
    }
    Ok(())
}
