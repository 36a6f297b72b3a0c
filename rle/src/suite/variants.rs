//! Variants: an algorithm under another name with a configuration of its own.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::algorithm::{AlgorithmSpec, VariantOf};
use crate::slot::Slug;
use crate::suite::config::{AlgorithmOverride, ConfigChange};
use crate::suite::selection;
use crate::value::Value;

/// A variant as the suite or a configuration file gives it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Variant {
    /// Name or slug of the algorithm.
    pub(crate) algorithm: String,
    /// Replaces the slug that the variant's name gives.
    pub(crate) slug: Option<String>,
    /// Laid over the algorithm's configuration, key by key.
    pub(crate) config: Value,
    /// Where it was written, for messages.
    pub(crate) origin: String,
}

/// The algorithms with their variants behind them, in the order of the variants' names.
///
/// # Errors
/// When a variant is of an unknown algorithm, or its slug is bad or taken.
pub(crate) fn expand(
    specs: &[AlgorithmSpec],
    variants: &BTreeMap<String, Variant>,
) -> Result<Vec<AlgorithmSpec>, Error> {
    let mut all = specs.to_vec();
    for (name, variant) in variants {
        let fault = |problem: String| {
            Error::usage(format!("variant `{name}` ({}): {problem}", variant.origin))
        };
        let base = selection::find_algorithm(specs, &variant.algorithm)
            .map_err(|error| fault(error.to_string()))?;
        let base = &specs[base];
        let mut spec = base.clone();
        spec.name.clone_from(name);
        spec.slug = variant.slug.clone().unwrap_or_else(|| Slug::text_from_label(name));
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
        spec.variant = Some(VariantOf {
            algorithm: base.slug.clone(),
            change: AlgorithmOverride {
                algorithm: name.clone(),
                origin: variant.origin.clone(),
                change: ConfigChange::Table(variant.config.clone()),
            },
        });
        all.push(spec);
    }
    Ok(all)
}
