//! The selected algorithms: their configurations resolved, their required artifacts found.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::algorithm::{AlgorithmOverride, AlgorithmSpec, ConfigChange, ConfigSource, typed};
use crate::record::RecordedRequirement;
use crate::run::artifacts;
use crate::suite::config::{SuiteConfig, selection};
use crate::value::Value;
use crate::{Error, Slug};

/// One selected algorithm with its configuration resolved.
pub(crate) struct PlannedAlgorithm {
    pub(crate) spec: AlgorithmSpec,
    pub(crate) slug: Slug,
    pub(crate) config: Value,
    /// Required artifacts by label, as records name them.
    pub(crate) requirements: BTreeMap<String, RecordedRequirement>,
}

pub(crate) fn required_paths(
    export_dir: &Path,
    requirements: &BTreeMap<String, RecordedRequirement>,
) -> BTreeMap<String, PathBuf> {
    let path = |requirement: &RecordedRequirement| export_dir.join(&requirement.path);
    requirements.iter().map(|(label, required)| (label.clone(), path(required))).collect()
}

/// Resolved configurations of the selected algorithms, and a check of all that are overridden.
pub(crate) fn resolve_configs(
    config: &SuiteConfig,
    specs: &[AlgorithmSpec],
    selected: &[usize],
) -> Result<BTreeMap<usize, Value>, Error> {
    let overrides = selection::overrides_by_algorithm(config, specs)?;
    let is_wanted = |index: &usize| overrides.contains_key(index) || selected.contains(index);
    (0..specs.len())
        .filter(is_wanted)
        .map(|index| {
            let changes = changes_of(index, specs, &overrides);
            Ok((index, resolve_config(&specs[index], &changes)?))
        })
        .collect()
}

/// What is laid over an algorithm's defaults, lowest first. A variant is its algorithm as
/// configured, and then what is its own.
pub(crate) fn changes_of<'a>(
    index: usize,
    specs: &'a [AlgorithmSpec],
    overrides: &BTreeMap<usize, Vec<&'a AlgorithmOverride>>,
) -> Vec<&'a AlgorithmOverride> {
    let mut changes = Vec::new();
    if let Some(variant) = &specs[index].variant {
        let base = specs.iter().position(|base| base.slug == variant.algorithm);
        changes.extend(base.and_then(|base| overrides.get(&base)).into_iter().flatten());
        changes.push(&variant.change);
    }
    changes.extend(overrides.get(&index).into_iter().flatten());
    changes
}

/// One algorithm's configuration with its overrides, lowest first.
pub(crate) fn resolve_config(
    spec: &AlgorithmSpec,
    changes: &[&AlgorithmOverride],
) -> Result<Value, Error> {
    let origins: Vec<&str> = changes.iter().map(|change| change.origin.as_str()).collect();
    let explain = |problem: String| {
        let origin = match origins.as_slice() {
            [] => "its defaults".to_owned(),
            some => {
                let mut distinct = some.to_vec();
                distinct.dedup();
                distinct.join(", ")
            }
        };
        Error::usage(format!("configuration of algorithm `{}` ({origin}): {problem}", spec.slug))
    };
    let value = match &spec.config {
        ConfigSource::Typed(config_type) => {
            let mut tables = Vec::new();
            let mut texts = Vec::new();
            for change in changes {
                match &change.change {
                    ConfigChange::Table(table) => tables.push(table),
                    ConfigChange::Text { path, text } => texts.push((path.clone(), text.clone())),
                }
            }
            config_type
                .resolve_layers(&tables, &texts)
                .map_err(|fault| explain(fault.to_string()))?
        }
        ConfigSource::Untyped(defaults) => {
            let mut value = defaults.clone();
            for change in changes {
                match &change.change {
                    ConfigChange::Table(table) => typed::merge(&mut value, table),
                    ConfigChange::Text { path, text } => typed::set_untyped(&mut value, path, text)
                        .map_err(|fault| explain(fault.to_string()))?,
                }
            }
            value
        }
    };
    value.canonical_json().map_err(|error| explain(error.to_string()))?;
    Ok(value)
}

pub(super) fn plan_algorithms(
    specs: &[AlgorithmSpec],
    selected: &[usize],
    mut configs: BTreeMap<usize, Value>,
    export_dir: &Path,
) -> Result<Vec<PlannedAlgorithm>, Error> {
    let mut missing = Vec::new();
    let mut planned = Vec::with_capacity(selected.len());
    for &index in selected {
        let spec = specs[index].clone();
        let slug = Slug::new(spec.slug.clone())?;
        let mut requirements = BTreeMap::new();
        for required in &spec.requires {
            let path = export_dir.join(&required.path);
            if !path.exists() {
                missing.push(format!(
                    "  `{}` of algorithm `{slug}`: {}",
                    required.label,
                    path.display()
                ));
                continue;
            }
            let sha256 =
                if required.fingerprint { Some(artifacts::hash_path(&path)?.sha256) } else { None };
            let requirement = RecordedRequirement { path: required.path.clone(), sha256 };
            requirements.insert(required.label.clone(), requirement);
        }
        let config = configs.remove(&index).expect("every selected algorithm was resolved");
        planned.push(PlannedAlgorithm { spec, slug, config, requirements });
    }
    if missing.is_empty() {
        return Ok(planned);
    }
    Err(Error::MissingArtifacts(format!(
        "required artifacts are missing; provide them or deselect their algorithms:\n{}",
        missing.join("\n")
    )))
}
