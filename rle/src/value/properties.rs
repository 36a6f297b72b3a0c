//! What holds for all values.

use proptest::prelude::*;
use proptest::sample::Index;

use super::arbitrary::{any_value, finite};
use super::*;

/// The value with every number in the other form that means the same, where there is one.
pub(crate) fn other_form(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.is_float() => match (number.as_u64(), number.as_i64()) {
            (Some(n), _) => n.into(),
            (None, Some(n)) => n.into(),
            _ => value.clone(),
        },
        Value::Number(number) => {
            let float = Value::from(number.as_f64());
            // Beyond 2^53 most integers have no float.
            let exact = match (float.as_u64(), float.as_i64()) {
                (None, None) => false,
                forms => forms == (number.as_u64(), number.as_i64()),
            };
            if exact { float } else { value.clone() }
        }
        Value::Array(items) => Value::Array(items.iter().map(other_form).collect()),
        Value::Object(entries) => {
            entries.iter().map(|(key, value)| (key.clone(), other_form(value))).collect()
        }
        other => other.clone(),
    }
}

/// The JSON text with the keys of each object in reverse order.
pub(crate) fn reversed_text(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(reversed_text).collect();
            format!("[{}]", items.join(" ,\n"))
        }
        Value::Object(entries) => {
            let entry = |(key, value): (&String, &Value)| {
                format!("{} : {}", Value::from(key.as_str()), reversed_text(value))
            };
            let entries: Vec<String> = entries.iter().rev().map(entry).collect();
            format!("{{ {} }}", entries.join("\t,"))
        }
        scalar => scalar.to_string(),
    }
}

proptest! {
    #[test]
    fn a_value_comes_back_exactly_from_its_text(value in any_value()) {
        prop_assert_eq!(Value::parse_json(value.to_string().as_bytes()).unwrap(), value.clone());
        prop_assert_eq!(Value::parse_json(value.to_json_pretty().as_bytes()).unwrap(), value);
    }

    #[test]
    fn a_value_comes_back_exactly_through_serde(value in any_value()) {
        prop_assert_eq!(&Value::from_serialize(&value).unwrap(), &value);
        prop_assert_eq!(&value.to::<Value>().unwrap(), &value);
        let theirs: serde_json::Value = value.to().unwrap();
        prop_assert_eq!(&Value::from_serialize(&theirs).unwrap(), &value);
        prop_assert_eq!(&value.clone().into_typed::<Value>().unwrap(), &value);
    }

    #[test]
    fn the_canonical_text_is_json_of_the_same_canonical_text(value in any_value()) {
        let canonical = value.canonical_json().unwrap();
        let read = Value::parse_json(canonical.as_bytes()).unwrap();
        prop_assert_eq!(read.canonical_json().unwrap(), canonical);
        prop_assert!(differences(&value, &read).is_empty());
    }

    #[test]
    fn the_order_of_keys_and_the_form_of_numbers_do_not_count(value in any_value()) {
        let canonical = value.canonical_json().unwrap();
        let reordered = Value::parse_json(reversed_text(&value).as_bytes()).unwrap();
        prop_assert_eq!(reordered.canonical_json().unwrap(), canonical.clone());
        let other = other_form(&value);
        prop_assert_eq!(other.canonical_json().unwrap(), canonical);
        prop_assert!(differences(&value, &other).is_empty());
    }

    #[test]
    fn any_change_of_a_leaf_changes_the_canonical_text(
        value in any_value(),
        at in any::<Index>(),
        new in any_value(),
    ) {
        let places = value.leaves();
        let place = &places[at.index(places.len())];
        let mut changed = value.clone();
        let old = std::mem::replace(changed.at_mut(place).unwrap(), new.clone());
        let same_leaf = old.canonical_json().unwrap() == new.canonical_json().unwrap();
        let same = value.canonical_json().unwrap() == changed.canonical_json().unwrap();
        prop_assert_eq!(same, same_leaf);
        let found = differences(&value, &changed);
        prop_assert_eq!(found.is_empty(), same);
        prop_assert!(found.iter().all(|difference| difference.place.starts_with(place)));
    }

    #[test]
    fn a_missing_or_additional_key_changes_the_canonical_text(
        value in any_value(),
        at in any::<Index>(),
    ) {
        let places = value.leaves();
        let place = &places[at.index(places.len())];
        let mut changed = value.clone();
        if changed.remove_at(place).is_some() {
            prop_assert_ne!(value.canonical_json().unwrap(), changed.canonical_json().unwrap());
            prop_assert!(!differences(&value, &changed).is_empty());
        }
    }

    #[test]
    fn neighbouring_integers_stay_apart(n in (1_u64 << 53)..u64::MAX) {
        let texts = [n, n + 1].map(|n| Value::from(n).canonical_json().unwrap());
        prop_assert_eq!(&texts[0], &n.to_string());
        prop_assert_ne!(&texts[0], &texts[1]);
    }

    #[test]
    fn a_canonical_float_reads_back_as_the_same_float(x in finite()) {
        let text = Value::from(x).canonical_json().unwrap();
        // Adding zero takes the sign from a negative one.
        prop_assert_eq!((text.parse::<f64>().unwrap() + 0.0).to_bits(), (x + 0.0).to_bits());
    }

    #[test]
    fn an_f32_comes_back_from_its_value(bits in any::<u32>()) {
        let x = f32::from_bits(bits);
        prop_assume!(x.is_finite());
        let value = Value::from_serialize(&x).unwrap();
        prop_assert_eq!(value.to::<f32>().unwrap().to_bits(), x.to_bits());
        let canonical = value.canonical_json().unwrap();
        prop_assert_eq!((canonical.parse::<f32>().unwrap() + 0.0).to_bits(), (x + 0.0).to_bits());
        prop_assert_eq!(format!("{:e}", value.as_f64().unwrap()), format!("{x:e}"));
    }
}
