use std::fs;

use super::git::tests::{Repository, plain_git};
use super::*;

fn provenance_of(repository: &Repository) -> Provenance {
    let request = CaptureRequest {
        source_dir: Some(repository.path().join("src")),
        export_dir: repository.path().join("exports/classic"),
    };
    capture_with(&plain_git(), &request)
}

fn program() -> Option<Repository> {
    let repository = Repository::new()?;
    repository.write("Cargo.toml", "[package]\nname = \"p\"\n");
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
    assert_eq!(
        changed_files(&before.source, &after.source),
        ["src/new.rs added", "src/ppo.rs changed"]
    );
    assert_eq!(
        changed_files(&after.source, &before.source),
        ["src/new.rs removed", "src/ppo.rs changed"]
    );
    assert!(changed_files(&after.source, &after.source).is_empty());
}

#[test]
fn committing_the_dirty_tree_changes_the_evidence_and_not_the_identity() {
    let Some(repository) = program() else { return };
    repository.write("src/ppo.rs", "fn lr() -> f64 { 1e-3 }");
    let dirty = provenance_of(&repository);
    repository.commit_all();
    let clean = provenance_of(&repository);
    assert_eq!(clean.identity(), dirty.identity());
    assert_eq!((dirty.source.dirty, clean.source.dirty), (Some(true), Some(false)));
    assert_ne!(clean.source.revision, dirty.source.revision);
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
fn results_below_the_workspace_change_nothing() {
    let Some(repository) = program() else { return };
    let before = provenance_of(&repository);
    repository.write("exports/classic/runs/ippo_0.json", "{}");
    repository.write("exports/classic/ippo/artifacts/run_0/policy.rs", "");
    assert_eq!(provenance_of(&repository), before);
}

#[test]
fn without_git_the_identity_is_the_same() {
    let Some(repository) = program() else { return };
    let with = provenance_of(&repository);
    fs::remove_dir_all(repository.path().join(".git")).unwrap();
    let without = provenance_of(&repository);
    assert_eq!(without.identity(), with.identity());
    assert_eq!(without.source.vcs, None);
    assert!(without.source.reason.is_some());
}

#[test]
fn without_a_source_tree_the_executable_is_the_identity() {
    let dir = tempfile::tempdir().unwrap();
    let request = CaptureRequest {
        source_dir: Some(dir.path().to_owned()),
        export_dir: dir.path().join("exports"),
    };
    let provenance = capture(&request);
    let expected = hash_file(&env::current_exe().unwrap()).unwrap();
    assert_eq!(provenance.executable.sha256, Some(hex(&expected.sha256)));
    let json = serde_json::to_value(provenance.identity()).unwrap();
    assert_eq!(json["source"]["tree_sha256"], serde_json::Value::Null);
    assert_eq!(json["executable"]["sha256"], hex(&expected.sha256));
    assert!(provenance.source.reason.unwrap().contains("no Cargo.toml"));
}

#[test]
fn a_source_directory_that_is_gone_gives_way_to_the_current_one() {
    let dir = tempfile::tempdir().unwrap();
    let gone = Some(dir.path().join("gone"));
    let request = CaptureRequest { source_dir: gone, export_dir: dir.path().to_owned() };
    // Tests run in their package's directory.
    let source = capture(&request).source;
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
    let text = r#"{"source": {"tree_sha256": "ab", "branch": "main"}, "packages": {"x": "1"}}"#;
    let provenance: Provenance = serde_json::from_str(text).unwrap();
    assert_eq!(provenance.source.tree_sha256.as_deref(), Some("ab"));
}
