//! A configuration as flat names and plain values, which is all that TensorBoard filters by.

use crate::value::Value;

/// A value that TensorBoard compares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::metrics) enum Plain<'a> {
    Number(f64),
    Text(&'a str),
    Bool(bool),
}

/// Calls `visit` with each name, its levels joined by dots, and its value. Lists are their JSON
/// text; null is none and left out, and so is an object without keys.
pub(in crate::metrics) fn for_each(config: &Value, visit: &mut impl FnMut(&str, Plain<'_>)) {
    walk(config, &mut String::new(), visit);
}

fn walk(value: &Value, name: &mut String, visit: &mut impl FnMut(&str, Plain<'_>)) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let length = name.len();
                if length > 0 {
                    name.push('.');
                }
                name.push_str(key);
                walk(value, name, visit);
                name.truncate(length);
            }
        }
        Value::Null => {}
        Value::Bool(truth) => visit(name, Plain::Bool(*truth)),
        Value::Number(number) => visit(name, Plain::Number(number.as_f64())),
        Value::String(text) => visit(name, Plain::Text(text)),
        Value::Array(_) => visit(name, Plain::Text(&value.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_keys_become_dotted_names() {
        let text = br#"{"a":{"b":{"lr":0.5},"on":true},"layers":[64,64],"name":"x","none":null}"#;
        let mut flat = Vec::new();
        for_each(&Value::parse_json(text).unwrap(), &mut |name, plain| {
            flat.push(format!("{name} {plain:?}"));
        });
        let expected = [
            "a.b.lr Number(0.5)",
            "a.on Bool(true)",
            "layers Text(\"[64,64]\")",
            "name Text(\"x\")",
        ];
        assert_eq!(flat, expected);
    }
}
