//! Identity of a request: which facts decide whether a stored result still answers it.
//!
//! The hash is SHA-256 over the canonical JSON of one object with exactly the members that
//! [`Identity::value`] shows; records hold the same facts, so that a difference can be named.

use std::collections::BTreeMap;

use super::format::{REQUEST_SCHEMA, RecordHead, RecordedRequirement};
use super::provenance::Provenance;
use crate::value::{Value, ValueError};

/// Top-level keys of the shared configuration that select or resume and never count.
pub(crate) const EXCLUDED_COMMON_KEYS: [&str; 5] = [
    "resume_completed_runs",
    "restart_completed_runs",
    "checkpoint_enabled",
    "resume_checkpoints",
    "just_vis",
];

/// The facts of one slot's request.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    value: Value,
    hash: String,
}

/// The parts of an identity, in the record's own terms.
pub(crate) struct IdentityParts<'a> {
    pub(crate) env_name: &'a str,
    pub(crate) env_config: &'a Value,
    pub(crate) common_config: &'a Value,
    pub(crate) slug: &'a str,
    pub(crate) config: &'a Value,
    pub(crate) seeds: &'a BTreeMap<String, u64>,
    pub(crate) run_idx: u32,
    pub(crate) provenance: Value,
    pub(crate) required_artifacts: &'a BTreeMap<String, RecordedRequirement>,
}

impl Identity {
    /// Computes the identity by the current rule. A NaN or an infinity in a part is an error.
    pub(crate) fn new(parts: IdentityParts<'_>) -> Result<Self, ValueError> {
        let value = Value::from_iter([
            ("request_schema", Value::from(REQUEST_SCHEMA)),
            (
                "environment",
                Value::from_iter([
                    ("name", Value::from(parts.env_name)),
                    ("config", parts.env_config.clone()),
                ]),
            ),
            ("common_config", parts.common_config.clone()),
            (
                "algorithm",
                Value::from_iter([
                    ("slug", Value::from(parts.slug)),
                    ("config", parts.config.clone()),
                ]),
            ),
            ("seeds", Value::from_serialize(parts.seeds)?),
            ("run_idx", Value::from(parts.run_idx)),
            ("provenance", parts.provenance),
            ("required_artifacts", Value::from_serialize(parts.required_artifacts)?),
        ]);
        let hash = value.canonical_sha256()?;
        Ok(Self { value, hash })
    }

    /// The identity of the request that a record answers, by the rule of its version.
    pub(crate) fn of_record(head: &RecordHead) -> Result<Self, ValueError> {
        let provenance: Provenance = head.provenance.to()?;
        Self::new(IdentityParts {
            env_name: &head.environment.name,
            env_config: &head.environment.config,
            common_config: &head.common_config,
            slug: &head.algorithm.slug,
            config: &head.algorithm.config,
            seeds: &head.seeds,
            run_idx: head.run_idx,
            provenance: provenance.identity(),
            required_artifacts: &head.required_artifacts,
        })
    }

    /// Every field and table, as a dotted path.
    pub(crate) fn key_paths(&self) -> Vec<String> {
        fn visit(value: &Value, path: &str, paths: &mut Vec<String>) {
            for (key, value) in value.as_object().into_iter().flatten() {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                visit(value, &path, paths);
                paths.push(path);
            }
        }
        let mut paths = Vec::new();
        visit(&self.value, "", &mut paths);
        paths
    }

    pub(crate) fn value(&self) -> &Value {
        &self.value
    }

    pub(crate) fn hash(&self) -> &str {
        &self.hash
    }
}

#[cfg(test)]
mod tests;
