//! A record for tests to vary.

use std::collections::BTreeMap;

use super::{
    REQUEST_SCHEMA, RecordHead, RecordedAlgorithm, RecordedEnvironment, RequestTag, RunStatus,
    SCHEMA_VERSION,
};
use crate::record::{Identity, Provenance};
use crate::value::Value;
use crate::{SlotId, Slug};

/// The slot `alpha:1`.
pub(crate) fn slot() -> SlotId {
    SlotId::new(Slug::new("alpha").unwrap(), 1)
}

/// A complete record of that slot without outputs.
pub(crate) fn complete() -> RecordHead {
    let mut head = RecordHead {
        schema_version: SCHEMA_VERSION,
        status: RunStatus::Complete,
        request: RequestTag { schema_version: REQUEST_SCHEMA, hash: String::new() },
        algorithm: RecordedAlgorithm {
            name: "Alpha".to_owned(),
            slug: "alpha".to_owned(),
            config: Value::parse_json(br#"{"lr": 0.1}"#).unwrap(),
        },
        run_idx: 1,
        seed: 8,
        seeds: BTreeMap::from([("learner".to_owned(), 8)]),
        environment: RecordedEnvironment { name: "maze".to_owned(), config: Value::object() },
        common_config: Value::object(),
        provenance: Value::from_serialize(&Provenance::default()).unwrap(),
        required_artifacts: BTreeMap::new(),
        artifact_paths: BTreeMap::new(),
        hardware_id: None,
        started_at: "2026-11-29T13:18:00.000000Z".to_owned(),
        finished_at: Some("2026-11-29T13:18:01.000000Z".to_owned()),
        seconds: Some(1.0),
        attempts: Vec::new(),
        accepted: Vec::new(),
        error: None,
        summary: BTreeMap::new(),
        artifacts: BTreeMap::new(),
        checkpoint: None,
        log_dir: None,
    };
    head.request.hash = Identity::of_record(&head).unwrap().hash().to_owned();
    head
}
