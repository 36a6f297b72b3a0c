use std::fs;

use super::changes::changed_files;
use super::git::tests::{Repository, plain_git};
use super::*;
use crate::value::digest::{hash_file, hex};

fn request_of(repository: &Repository) -> CaptureRequest {
    CaptureRequest {
        source_dir: Some(repository.path().join("src")),
        export_dir: repository.path().join("exports/classic"),
        ..CaptureRequest::default()
    }
}

fn provenance_of(repository: &Repository) -> Provenance {
    capture_with(&plain_git(), &request_of(repository)).unwrap().provenance
}

fn source_of(repository: &Repository) -> Source {
    provenance_of(repository).source.unwrap()
}

fn refusal(repository: &Repository) -> Option<String> {
    let request = CaptureRequest { mode: ProvenanceMode::RequireClean, ..request_of(repository) };
    capture_with(&plain_git(), &request).err().map(|error| error.to_string())
}

fn program() -> Option<Repository> {
    let repository = Repository::new()?;
    repository.write("Cargo.toml", "[package]\nname = \"p\"\n");
    repository.write("Cargo.lock", "[[package]]\nname = \"burn\"\nversion = \"0.18.0\"\n");
    repository.write("src/ppo.rs", "fn lr() -> f64 { 3e-4 }");
    repository.commit_all();
    Some(repository)
}

#[test]
fn an_edit_changes_the_identity_and_names_the_file() {
    let Some(repository) = program() else { return };
    let before = provenance_of(&repository);
    repository.write("src/ppo.rs", "fn lr() -> f64 { 1e-3 }");
    repository.write("src/new.rs", "");
    // Written again as it was: no edit.
    repository.write("Cargo.toml", "[package]\nname = \"p\"\n");
    let after = provenance_of(&repository);
    assert_ne!(after.identity(), before.identity());
    assert_eq!(explain_sources(&before, &after), "src/new.rs added, src/ppo.rs changed");
    assert_eq!(explain_sources(&after, &before), "src/new.rs removed, src/ppo.rs changed");
    let files = &after.source.unwrap().files;
    assert!(changed_files(files, files).is_empty());
}

#[test]
fn an_edit_is_noticed_without_git_too() {
    let Some(repository) = program() else { return };
    fs::remove_dir_all(repository.path().join(".git")).unwrap();
    let before = provenance_of(&repository);
    repository.write("src/ppo.rs", "fn lr() -> f64 { 1e-3 }");
    let after = provenance_of(&repository);
    assert_ne!(after.identity(), before.identity());
    assert_eq!(explain_sources(&before, &after), "src/ppo.rs changed");
}

#[test]
fn committing_the_dirty_tree_changes_the_evidence_and_not_the_identity() {
    let Some(repository) = program() else { return };
    repository.write("src/ppo.rs", "fn lr() -> f64 { 1e-3 }");
    let dirty = provenance_of(&repository);
    repository.commit_all();
    let clean = provenance_of(&repository);
    assert_eq!(clean.identity(), dirty.identity());
    let (dirty, clean) = (dirty.source.unwrap(), clean.source.unwrap());
    assert_eq!((dirty.dirty, clean.dirty), (Some(true), Some(false)));
    assert_eq!((dirty.diff_sha256.is_some(), clean.diff_sha256.is_some()), (true, false));
    assert_ne!(clean.revision, dirty.revision);
}

#[test]
fn a_commit_of_documents_does_not_change_the_identity() {
    let Some(repository) = program() else { return };
    let before = provenance_of(&repository);
    repository.write("README.md", "new");
    repository.commit_all();
    assert_eq!(provenance_of(&repository).identity(), before.identity());
}

#[test]
fn results_and_logs_in_the_repository_change_nothing_whether_ignored_or_not() {
    let Some(repository) = program() else { return };
    let before = provenance_of(&repository);
    for ignored in ["", "exports\n*.out\n"] {
        repository.write(".git/info/exclude", ignored);
        repository.write("exports/classic/runs/ippo_0.json", "{}");
        repository.write("exports/classic/ippo/artifacts/run_0/policy.rs", "");
        repository.write("slurm-4711.out", "epoch 3");
        repository.write("exports/train.log", "epoch 3");
        assert_eq!(provenance_of(&repository), before);
    }
}

#[test]
fn without_git_the_identity_is_the_same() {
    let Some(repository) = program() else { return };
    let with = provenance_of(&repository);
    fs::remove_dir_all(repository.path().join(".git")).unwrap();
    let without = provenance_of(&repository);
    assert_eq!(without.identity(), with.identity());
    let source = without.source.unwrap();
    assert_eq!(source.vcs, None);
    assert_eq!(source.reason.as_deref(), Some("not a git repository"));
}

#[test]
fn the_checkout_changes_the_evidence_and_not_the_identity() {
    let Some(repository) = program() else { return };
    let identity = provenance_of(&repository).identity();
    let shallow = repository.cloned(&["--depth", "1"]);
    assert_eq!(provenance_of(&shallow).identity(), identity);
    repository.run(&["checkout", "-q", "--detach"]);
    assert_eq!(provenance_of(&repository).identity(), identity);
    assert_eq!(source_of(&repository).branch, None);
    assert!(source_of(&repository).reason.unwrap().contains("detached"));
}

#[test]
fn a_clean_source_is_required_with_the_remedy() {
    let Some(repository) = program() else { return };
    assert_eq!(refusal(&repository), None);
    repository.write("exports/classic/runs/ippo_0.json", "{}");
    assert_eq!(refusal(&repository), None);
    repository.write("src/new.rs", "");
    repository.write("src/ppo.rs", "2");
    assert_eq!(
        refusal(&repository).unwrap(),
        "provenance mode require_clean: the tree is dirty (src/ppo.rs, src/new.rs); to go on, \
         commit or stash the changes, or run with --provenance-mode capture"
    );
    repository.commit_all();
    repository.run(&["checkout", "-q", "--detach"]);
    let message = refusal(&repository).unwrap();
    assert!(message.contains("detached") && message.contains("check out a branch"), "{message}");
    let message = refusal(&repository.cloned(&["--depth", "1", "--branch", "main"])).unwrap();
    assert!(message.contains("shallow") && message.contains("--unshallow"), "{message}");
    fs::remove_dir_all(repository.path().join(".git")).unwrap();
    let message = refusal(&repository).unwrap();
    assert!(message.contains("not a git repository"), "{message}");
    repository.run(&["init", "-q"]);
    let message = refusal(&repository).unwrap();
    assert!(message.contains("no commit yet; to go on, commit the sources"), "{message}");
    fs::remove_file(repository.path().join("Cargo.toml")).unwrap();
    let message = refusal(&repository).unwrap();
    assert!(message.contains("no Cargo.toml") && message.contains("source_dir"), "{message}");
}

#[test]
fn without_git_installed_a_clean_source_is_refused_and_any_other_start_runs() {
    let Some(repository) = program() else { return };
    let none = Git { program: repository.path().join("no-git").into(), ..plain_git() };
    let mut request = request_of(&repository);
    let source = capture_with(&none, &request).unwrap().provenance.source.unwrap();
    assert_eq!(source.reason.as_deref(), Some("git is not installed, or not in PATH"));
    assert_eq!(source.tree_sha256, source_of(&repository).tree_sha256);
    request.mode = ProvenanceMode::RequireClean;
    let message = capture_with(&none, &request).err().unwrap().to_string();
    assert!(message.contains("to go on, install git"), "{message}");
}

#[test]
fn what_is_supplied_is_the_callers_metadata_and_nothing_else() {
    let Some(repository) = program() else { return };
    let mut request = request_of(&repository);
    request.mode = ProvenanceMode::Supplied;
    request.packages = vec!["burn".to_owned()];
    request.metadata.insert("build".to_owned(), Value::from(7));
    let provenance = capture_with(&plain_git(), &request).unwrap().provenance;
    let json = serde_json::to_value(&provenance).unwrap();
    assert_eq!(json, serde_json::json!({"metadata": {"build": 7}}));
    assert_eq!(serde_json::to_value(provenance.identity()).unwrap(), json);
    repository.write("src/ppo.rs", "fn lr() -> f64 { 1e-3 }");
    assert_eq!(capture_with(&plain_git(), &request).unwrap().provenance, provenance);
    request.metadata.insert("build".to_owned(), Value::from(8));
    let other = capture_with(&plain_git(), &request).unwrap().provenance;
    assert_ne!(other.identity(), provenance.identity());
    request.metadata.clear();
    assert_eq!(capture_with(&plain_git(), &request).unwrap().warnings.lock().len(), 1);
}

#[test]
fn reserved_keys_and_bad_patterns_are_refused_in_every_mode() {
    let Some(repository) = program() else { return };
    for mode in [ProvenanceMode::Capture, ProvenanceMode::RequireClean, ProvenanceMode::Supplied] {
        let mut request = CaptureRequest { mode, ..request_of(&repository) };
        request.metadata.insert("source".to_owned(), Value::from("mine"));
        let message = capture_with(&plain_git(), &request).err().unwrap().to_string();
        assert!(message.contains("`source` is reserved"), "{message}");
        request.metadata.clear();
        request.inputs = vec!["../x".to_owned()];
        let message = capture_with(&plain_git(), &request).err().unwrap().to_string();
        assert!(message.contains("leaves the workspace"), "{message}");
    }
}

#[test]
fn named_packages_and_metadata_are_identity() {
    let Some(repository) = program() else { return };
    let plain = provenance_of(&repository).identity();
    let mut request = request_of(&repository);
    request.packages = vec!["burn".to_owned(), "bern".to_owned()];
    let captured = capture_with(&plain_git(), &request).unwrap();
    let packages = captured.provenance.identity();
    let json = serde_json::to_value(&packages).unwrap();
    assert_eq!(json["packages"], serde_json::json!({"bern": null, "burn": "0.18.0"}));
    assert!(captured.warnings.lock().iter().any(|text| text.contains("no package bern")));
    request.metadata.insert("ticket".to_owned(), Value::from("EXP-12"));
    let metadata = capture_with(&plain_git(), &request).unwrap().provenance.identity();
    assert!(plain != packages && packages != metadata);
}

#[test]
fn inputs_are_part_of_the_tree_and_make_it_dirty() {
    let Some(repository) = program() else { return };
    repository.write("data/map.json", "1");
    repository.commit_all();
    let mut request = request_of(&repository);
    request.inputs = vec!["data/*.json".to_owned(), "nothing/*".to_owned()];
    let capture = || capture_with(&plain_git(), &request).unwrap();
    let before = capture();
    assert!(before.warnings.lock().iter().any(|text| text.contains("nothing matches `nothing/*`")));
    repository.write("data/map.json", "2");
    let after = capture();
    assert_eq!(explain_sources(&before.provenance, &after.provenance), "data/map.json changed");
    let clean_diff = source_of(&repository).diff_sha256;
    assert_ne!(after.provenance.source.unwrap().diff_sha256, clean_diff);
}

#[test]
fn without_a_source_tree_the_executable_is_the_identity() {
    let dir = tempfile::tempdir().unwrap();
    let request = CaptureRequest {
        source_dir: Some(dir.path().to_owned()),
        export_dir: dir.path().join("exports"),
        ..CaptureRequest::default()
    };
    let provenance = capture(&request).unwrap().provenance().clone();
    let expected = hash_file(&env::current_exe().unwrap()).unwrap();
    let json = serde_json::to_value(provenance.identity()).unwrap();
    assert_eq!(json["source"]["tree_sha256"], serde_json::Value::Null);
    assert_eq!(json["executable"]["sha256"], hex(&expected.sha256));
    assert!(provenance.source.unwrap().reason.unwrap().contains("no Cargo.toml"));
}

#[test]
fn a_source_directory_that_is_gone_gives_way_to_the_current_one() {
    let dir = tempfile::tempdir().unwrap();
    let request = CaptureRequest {
        source_dir: Some(dir.path().join("gone")),
        export_dir: dir.path().to_owned(),
        ..CaptureRequest::default()
    };
    // Tests run in their package's directory.
    let source = capture(&request).unwrap().provenance().source.clone().unwrap();
    assert!(source.files.keys().any(|path| path.ends_with("provenance/tests.rs")), "{source:?}");
}

#[test]
fn the_identity_holds_code_and_compiler_and_nothing_else() {
    let Some(repository) = program() else { return };
    let identity = serde_json::to_value(provenance_of(&repository).identity()).unwrap();
    let keys = |value: &serde_json::Value| -> Vec<String> {
        let keys: std::collections::BTreeSet<_> = value.as_object().unwrap().keys().collect();
        keys.into_iter().cloned().collect()
    };
    assert_eq!(keys(&identity), ["runtime", "source"]);
    assert_eq!(keys(&identity["source"]), ["tree_sha256"]);
    assert_eq!(keys(&identity["runtime"]), ["profile", "rustc", "target"]);
}

#[test]
fn the_build_says_what_it_was_built_by() {
    let runtime = runtime();
    assert!(runtime.rustc.starts_with("rustc 1."), "{runtime:?}");
    assert!(runtime.target.contains(&runtime.arch), "{runtime:?}");
    assert!(["debug", "release"].contains(&runtime.profile.as_str()), "{runtime:?}");
}

#[test]
fn a_record_of_an_older_or_newer_version_is_read() {
    let text = r#"{"source": {"tree_sha256": "ab", "weather": "fine"}, "moon": {"x": "1"}}"#;
    let provenance: Provenance = serde_json::from_str(text).unwrap();
    assert_eq!(provenance.source.unwrap().tree_sha256.as_deref(), Some("ab"));
}

#[cfg(feature = "cli")]
#[test]
fn another_process_reads_exactly_what_was_handed_over() {
    let Some(repository) = program() else { return };
    let mut request = request_of(&repository);
    request.packages = vec!["burn".to_owned(), "bern".to_owned()];
    request.metadata.insert("seed".to_owned(), Value::from(u64::MAX));
    request.metadata.insert("rate".to_owned(), Value::from(1.0));
    let captured = capture_with(&plain_git(), &request).unwrap().provenance;
    let handed = Capture::new(captured, Vec::new()).unwrap().for_worker();
    assert!(handed.executable.is_some());
    let text = serde_json::to_string(&handed).unwrap();
    assert_eq!(serde_json::from_str::<Provenance>(&text).unwrap(), handed);
    let value = Value::from_serialize(&handed).unwrap();
    assert_eq!(value.to::<Provenance>().unwrap(), handed);
}
