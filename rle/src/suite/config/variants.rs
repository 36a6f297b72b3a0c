//! Variants: an algorithm under another name with a configuration of its own.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::Error;
use crate::algorithm::{AlgorithmOverride, AlgorithmSpec, ConfigChange, VariantOf};
use crate::names::Slug;
use crate::suite::config::Variant;
use crate::suite::config::selection;

/// The algorithms with their variants behind them, in the order of the variants' names.
///
/// # Errors
/// When a variant is of an unknown algorithm, or its slug is bad or taken.
pub(crate) fn expand<'a>(
    specs: &'a [AlgorithmSpec],
    variants: &BTreeMap<String, Variant>,
) -> Result<Cow<'a, [AlgorithmSpec]>, Error> {
    if variants.is_empty() {
        return Ok(Cow::Borrowed(specs));
    }
    let mut all = specs.to_vec();
    for (name, variant) in variants {
        let fault = |problem: String| {
            Error::usage(format!("variant `{name}` ({}): {problem}", variant.origin))
        };
        let base = selection::find_algorithm(specs, &variant.algorithm)
            .map_err(|error| fault(error.to_string()))?;
        let base = &specs[base];
        let mut spec = base.clone();
        spec.name = name.clone().into();
        let slug = variant.slug.clone().unwrap_or_else(|| Slug::text_from_label(name));
        spec.slug = slug.into();
        Slug::new(spec.slug.clone()).map_err(|error| fault(error.to_string()))?;
        if let Some(other) = all.iter().find(|other| other.slug == spec.slug) {
            return Err(fault(format!(
                "its slug `{}` is that of {}; give it another with `slug`",
                spec.slug,
                other.described()
            )));
        }
        if all.iter().any(|other| other.name == *name) {
            return Err(fault("an algorithm has that very name".to_owned()));
        }
        spec.variant = Some(Box::new(VariantOf {
            algorithm: base.slug.to_string(),
            change: AlgorithmOverride {
                algorithm: name.clone(),
                origin: variant.origin.clone(),
                change: ConfigChange::Table(variant.config.clone()),
            },
        }));
        all.push(spec);
    }
    Ok(Cow::Owned(all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;
    use crate::{RunContext, RunResult, SuiteConfig};

    fn specs() -> Vec<AlgorithmSpec> {
        let run = |_: &RunContext| -> crate::Result<RunResult> { Ok(RunResult::new()) };
        ["IPPO", "ICPO"]
            .map(|name| AlgorithmSpec::new(name, run).flag(format!("run_{}", name.to_lowercase())))
            .to_vec()
    }

    fn expanded(config: &SuiteConfig) -> Result<Vec<(String, String, Option<String>)>, String> {
        let specs = specs();
        let all = expand(&specs, &config.variants).map_err(|error| error.to_string())?;
        let all = all.into_owned().into_iter();
        let texts = |spec: AlgorithmSpec| {
            (spec.name.into_owned(), spec.slug.into_owned(), spec.flag.map(Into::into))
        };
        Ok(all.map(texts).collect())
    }

    fn config(name: &str, algorithm: &str) -> SuiteConfig {
        SuiteConfig::new("maze").variant(name, algorithm, BTreeMap::from([("lr", 1e-3)]))
    }

    #[test]
    fn a_variant_stands_behind_the_algorithms_and_follows_its_flag() {
        let config = config("IPPO slow", "IPPO").variant("IPPO fast", "ippo", Value::object());
        let all = expanded(&config).unwrap();
        let names: Vec<_> =
            all.iter().map(|(name, slug, _)| (name.as_str(), slug.as_str())).collect();
        let variants = [("IPPO fast", "ippo_fast"), ("IPPO slow", "ippo_slow")];
        assert_eq!(names, [("IPPO", "ippo"), ("ICPO", "icpo"), variants[0], variants[1]]);
        assert_eq!(all[2].2.as_deref(), Some("run_ippo"));
    }

    #[test]
    fn a_variant_of_nothing_or_with_a_taken_or_bad_slug_is_refused() {
        let cases = [
            ("fast", "IPO", "did you mean"),
            ("Ippo", "ICPO", "its slug `ippo` is that of"),
            ("ippo!", "ICPO", "its slug `ippo` is that of"),
            ("", "ICPO", "is empty"),
            ("runs", "ICPO", "is reserved"),
        ];
        for (name, algorithm, problem) in cases {
            let error = expanded(&config(name, algorithm)).unwrap_err();
            let place = format!("variant `{name}` (the suite's code)");
            assert!(error.starts_with(&place) && error.contains(problem), "{error}");
        }
        let two = config("a b", "IPPO").variant("a-b", "IPPO", Value::object());
        assert!(expanded(&two).unwrap_err().contains("its slug `a_b` is that of"));
    }
}
