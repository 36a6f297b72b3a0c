use std::path::PathBuf;

use Stands::{
    Edited, Failed, Interrupted, Lost, Matching, Nothing, OfAnotherRequest, Unusable,
    WithAnotherOutput, WithoutItsOutput,
};
use tempfile::TempDir;

use super::*;
use crate::record::sample;

/// A record that stands at a slot, by what is special about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stands {
    Nothing,
    Unusable,
    Matching,
    OfAnotherRequest,
    Edited,
    WithoutItsOutput,
    WithAnotherOutput,
    Failed,
    Interrupted,
    Lost,
}

const PLAIN: Policy<'static> = Policy { resume: true, rerun: false, accept: &[] };
const NO_REUSE: Policy<'static> = Policy { resume: false, rerun: false, accept: &[] };
const RERUN: Policy<'static> = Policy { resume: true, rerun: true, accept: &[] };
const RERUN_NO_REUSE: Policy<'static> = Policy { resume: false, rerun: true, accept: &[] };

fn source(provenance: &mut Provenance) -> &mut crate::record::provenance::Source {
    provenance.source.get_or_insert_default()
}

fn policy_path(export: &TempDir) -> PathBuf {
    export.path().join("policy.bin")
}

fn state_of(stands: Stands, export: &TempDir) -> RecordState {
    let mut head = sample::complete();
    let policy = policy_path(export);
    std::fs::write(&policy, "learnt").unwrap();
    let found = artifacts::hash_path(&policy).unwrap();
    let tracked = TrackedPath {
        path: "policy.bin".to_owned(),
        kind: found.kind,
        bytes: found.bytes,
        sha256: found.sha256,
    };
    head.artifact_paths.insert("policy".to_owned(), tracked);
    match stands {
        Nothing => return RecordState::Missing,
        Unusable => return RecordState::Unusable("is empty".to_owned()),
        Matching => {}
        OfAnotherRequest => {
            head.algorithm.config = Value::parse_json(br#"{"lr": 0.2}"#).unwrap();
            head.request.hash = Identity::of_record(&head).unwrap().hash().to_owned();
        }
        Edited => head.request.hash = "0".repeat(64),
        WithoutItsOutput => std::fs::remove_file(&policy).unwrap(),
        WithAnotherOutput => std::fs::write(&policy, "another").unwrap(),
        Failed => {
            head.status = RunStatus::Failed;
            head.error = Some("boom\n  caused by: more".to_owned());
        }
        Interrupted => head.status = RunStatus::Interrupted,
        Lost => head.status = RunStatus::Running,
    }
    RecordState::Head(Box::new(head))
}

fn decision(stands: Stands, policy: Policy<'_>) -> Decision {
    let export = TempDir::new().unwrap();
    let state = state_of(stands, &export);
    let identity = Identity::of_record(&sample::complete()).unwrap();
    let provenance = Provenance::default();
    let request = ComparedRequest { identity: &identity, provenance: &provenance };
    decide(export.path(), &sample::slot(), &state, request, policy)
}

/// Whether the record is moved aside first, and why; none is reuse.
type Told<'a> = Option<(bool, &'a str)>;

#[test]
fn every_record_under_every_policy() {
    let asked = "asked for with --rerun alpha:1";
    let off = "reuse is turned off";
    let unusable = "its record is empty";
    let differs = "request differs at `algorithm.config.lr`: 0.2 -> 0.1";
    let cases: [(Stands, [Told<'_>; 3]); 10] = [
        // As it is, without reuse, with --rerun.
        (Nothing, [Some((false, "no record yet")); 3]),
        // Without --rerun an unusable record has stopped the start.
        (Unusable, [Some((true, unusable)); 3]),
        (Matching, [None, Some((true, off)), Some((true, asked))]),
        (OfAnotherRequest, [Some((true, differs)), Some((true, off)), Some((true, asked))]),
        (Edited, [Some((true, "it was edited")), Some((true, off)), Some((true, asked))]),
        (
            WithoutItsOutput,
            [Some((true, "output `policy` is missing")), Some((true, off)), Some((true, asked))],
        ),
        (
            WithAnotherOutput,
            [Some((true, "output `policy` changed")), Some((true, off)), Some((true, asked))],
        ),
        (Failed, [Some((false, "failed: boom")), Some((false, "failed")), Some((false, asked))]),
        (
            Interrupted,
            [Some((false, "interrupted")), Some((false, "interrupted")), Some((false, asked))],
        ),
        (Lost, [Some((false, "lost:")), Some((false, "lost:")), Some((false, asked))]),
    ];
    for (stands, expected) in cases {
        for (policy, expected) in [PLAIN, NO_REUSE, RERUN].into_iter().zip(expected) {
            let found = decision(stands, policy);
            let case = format!("{stands:?} under {policy:?}: {found:?}");
            let Some((set_aside, reason)) = expected else {
                assert_eq!(found.action, SlotAction::Reuse, "{case}");
                assert!(found.reasons.is_empty() && !found.set_aside, "{case}");
                continue;
            };
            assert_eq!((found.action, found.set_aside), (SlotAction::Run, set_aside), "{case}");
            assert_eq!(found.reasons.len(), 1, "{case}");
            assert!(found.reasons[0].text.contains(reason), "{case}");
        }
        // With both, `--rerun` is the reason that is told.
        assert_eq!(decision(stands, RERUN_NO_REUSE), decision(stands, RERUN), "{stands:?}");
    }
}

#[test]
fn all_differences_are_told_with_both_values() {
    let mut asked = sample::complete();
    asked.seeds.insert("env".to_owned(), 1 << 60);
    asked.environment.config.insert("map", "big");
    let identity = Identity::of_record(&asked).unwrap();
    let provenance = Provenance::default();
    let request = ComparedRequest { identity: &identity, provenance: &provenance };
    let head = RecordState::Head(Box::new(sample::complete()));
    let decision = decide(Path::new("/nowhere"), &sample::slot(), &head, request, PLAIN);
    let texts: Vec<_> = decision.reasons.iter().map(|reason| reason.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            r#"request differs at `environment.config.map`: absent -> "big""#,
            "request differs at `seeds.env`: absent -> 1152921504606846976",
        ]
    );
    assert_eq!(decision.reasons[1].new, Some(Value::from(1_u64 << 60)));
    assert!(decision.reasons[1].old.is_none());
}

#[test]
fn changed_sources_are_named_and_many_of_them_counted() {
    let tree = |files: &[(&str, &str)]| {
        let mut provenance = Provenance::default();
        source(&mut provenance).tree_sha256 = Some(format!("{files:?}"));
        source(&mut provenance).files =
            files.iter().map(|(path, hash)| ((*path).to_owned(), (*hash).to_owned())).collect();
        provenance
    };
    let told = |now: &Provenance| {
        let mut head = sample::complete();
        head.provenance = Value::from_serialize(&tree(&[("a.rs", "1"), ("b.rs", "1")])).unwrap();
        head.request.hash = Identity::of_record(&head).unwrap().hash().to_owned();
        let mut asked = head.clone();
        asked.provenance = Value::from_serialize(now).unwrap();
        let identity = Identity::of_record(&asked).unwrap();
        let request = ComparedRequest { identity: &identity, provenance: now };
        let head = RecordState::Head(Box::new(head));
        decide(Path::new("/nowhere"), &sample::slot(), &head, request, PLAIN).reasons
    };
    let few = told(&tree(&[("a.rs", "2"), ("c.rs", "1")]));
    assert_eq!(few.len(), 1);
    assert_eq!(
        few[0].text,
        "provenance.source.tree_sha256: a.rs changed, b.rs removed, c.rs added"
    );
    let names: Vec<String> = (0..40).map(|at| format!("m{at:02}.rs")).collect();
    let many: Vec<_> = names.iter().map(|name| (name.as_str(), "1")).collect();
    let many = told(&tree(&many));
    let rest = format!("and {} more", 42 - 5);
    assert!(many[0].text.ends_with(&rest), "{}", many[0].text);
}

fn reason_at(path: Option<&str>) -> Reason {
    Reason { path: path.map(str::to_owned), old: None, new: None, text: String::new() }
}

#[test]
fn an_accepted_path_is_a_field_or_the_table_that_holds_it() {
    let field = "provenance.source.tree_sha256";
    let accepts = |accepted: &str, path: Option<&str>| {
        let accept = [accepted.to_owned()];
        is_accepted(&reason_at(path), Policy { accept: &accept, ..PLAIN })
    };
    for accepted in ["provenance", "provenance.source", field] {
        assert!(accepts(accepted, Some(field)), "{accepted}");
    }
    for accepted in ["provenance.sourcex", "provenance.source.tree", "source", "", "provenance."] {
        assert!(!accepts(accepted, Some(field)), "{accepted}");
    }
    assert!(!accepts("provenance.source", Some("provenance.sourcex")));
    assert!(accepts("algorithm.config.layers", Some("algorithm.config.layers[2]")));
    assert!(!accepts("provenance", None));
}

#[test]
fn a_record_is_reused_across_what_is_accepted_and_nothing_else() {
    let mut asked = sample::complete();
    asked.environment.config.insert("map", "big");
    asked.seeds.insert("env".to_owned(), 3);
    let identity = Identity::of_record(&asked).unwrap();
    let provenance = Provenance::default();
    let request = ComparedRequest { identity: &identity, provenance: &provenance };
    let head = RecordState::Head(Box::new(sample::complete()));
    let decided = |accept: &[&str]| {
        let accept: Vec<String> = accept.iter().map(|path| (*path).to_owned()).collect();
        let policy = Policy { accept: &accept, ..PLAIN };
        decide(Path::new("/nowhere"), &sample::slot(), &head, request, policy)
    };
    let both = decided(&["environment.config", "seeds.env"]);
    assert_eq!((both.action, both.accepted.len()), (SlotAction::Reuse, 2));
    let one = decided(&["environment.config"]);
    assert_eq!((one.action, one.reasons.len(), one.set_aside), (SlotAction::Run, 2, true));
}

#[test]
fn a_program_of_which_nothing_could_be_hashed_reuses_nothing() {
    use crate::record::provenance::Executable;
    let decided = |provenance: &Provenance| {
        let mut head = sample::complete();
        head.provenance = Value::from_serialize(provenance).unwrap();
        head.request.hash = Identity::of_record(&head).unwrap().hash().to_owned();
        let identity = Identity::of_record(&head).unwrap();
        let request = ComparedRequest { identity: &identity, provenance };
        let accept = ["provenance".to_owned()];
        let policy = Policy { accept: &accept, ..PLAIN };
        let head = RecordState::Head(Box::new(head));
        decide(Path::new("/nowhere"), &sample::slot(), &head, request, policy)
    };
    let mut provenance = Provenance::default();
    assert_eq!(decided(&provenance).action, SlotAction::Reuse, "supplied");
    source(&mut provenance).reason = Some("no Cargo workspace".to_owned());
    provenance.executable =
        Some(Executable { sha256: None, reason: Some("permission denied".to_owned()) });
    let decision = decided(&provenance);
    assert_eq!((decision.action, decision.set_aside), (SlotAction::Run, true));
    let text = &decision.reasons[0].text;
    assert!(text.contains("no Cargo workspace") && text.contains("permission denied"), "{text}");
    provenance.executable = Some(Executable { sha256: Some("ab".to_owned()), reason: None });
    assert_eq!(decided(&provenance).action, SlotAction::Reuse);
}
