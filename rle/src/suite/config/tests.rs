use super::*;
use crate::record::provenance::Source;
use crate::record::provenance::{Provenance, ProvenanceMode};
use crate::value::Value;
use crate::{AlgorithmSpec, RunContext, RunResult, Suite, load_records};

#[expect(clippy::unnecessary_wraps, reason = "the signature of an algorithm")]
fn nothing(_: &RunContext) -> crate::Result<RunResult> {
    Ok(RunResult::new())
}

fn suite(config: SuiteConfig) -> Suite {
    Suite::new(config).algorithm(AlgorithmSpec::new("A", nothing))
}

fn recorded(export_dir: &std::path::Path) -> Value {
    load_records(export_dir).unwrap().remove(0).head.provenance
}

#[test]
fn a_finished_record_names_the_executable() {
    let dir = tempfile::tempdir().unwrap();
    assert!(suite(SuiteConfig::new("x").export_dir(dir.path())).run().unwrap().is_complete());
    let provenance = recorded(dir.path());
    let sha256 = provenance.get_dotted("executable.sha256").and_then(Value::as_str);
    assert_eq!(sha256.map(str::len), Some(64), "{provenance}");
}

#[test]
fn what_another_process_captured_is_recorded_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let source = Source { tree_sha256: Some("ab".to_owned()), ..Source::default() };
    let handed = Provenance { source: Some(source), ..Provenance::default() };
    let mut config = SuiteConfig::new("x").export_dir(dir.path());
    config.captured = Some(handed);
    suite(config.clone()).run().unwrap();
    let tree = recorded(dir.path());
    let tree = tree.get_dotted("source.tree_sha256").and_then(Value::as_str);
    assert_eq!(tree, Some("ab"));
    let plan = suite(config).plan().unwrap();
    assert_eq!(plan.slots[0].action, crate::SlotAction::Reuse);
}

#[test]
fn a_start_that_is_refused_for_its_provenance_creates_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let export_dir = dir.path().join("exports");
    let config = || SuiteConfig::new("x").export_dir(&export_dir).source_dir(dir.path());
    for config in [
        config().provenance_mode(ProvenanceMode::RequireClean),
        config().provenance("runtime", "mine"),
        config().provenance("rate", f64::NAN),
        config().provenance_inputs(["/etc/*"]),
    ] {
        assert!(suite(config).run().is_err());
        assert!(!export_dir.exists());
    }
}
