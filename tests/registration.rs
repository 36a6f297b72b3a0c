//! What the attributes register.
#![allow(missing_docs)]

use std::any::TypeId;

use rle::__private::{AlgorithmEntry, ConfigType, PrepareEntry, StageEntry, inventory, type_id_of};
use rle::{PrepareContext, RunContext, RunResult};
use serde::{Deserialize, Serialize};

rle::stages! {
    rollout,
    #[cfg(all())]
    checkpoint {
        save,
        #[cfg(any())]
        never,
        deep { er },
    },
    #[cfg(any())]
    gone { never },
}

mod config {
    use super::{Deserialize, Serialize};

    #[derive(Default, Serialize, Deserialize)]
    pub struct Typed<T, const N: usize> {
        pub value: T,
    }
}

/// Independent
/// learners.
///
/// More about them.
#[rle::algorithm(name = "PPO w/ GAE", flag = "run_gae")]
#[allow(dead_code)]
pub fn gae(_: &RunContext, config: config::Typed<u8, 2>) -> rle::Result<RunResult> {
    let _ = config.value;
    Ok(RunResult::new())
}

#[rle::algorithm(slug = "fn", requires(model = "m.bin", fingerprint), requires(r#type = "t"))]
fn r#loop(_: &RunContext) -> Result<RunResult, String> {
    Err("no".into())
}

#[rle::prepare(gae, self::r#loop, always)]
/** A block
 * comment. */
fn r#match(_: &PrepareContext) -> Result<Vec<u8>, std::io::Error> {
    Ok(vec![1])
}

#[rle::prepare(crate::gae)]
fn plain(_: &PrepareContext) -> rle::Result<()> {
    Ok(())
}

fn algorithm(slug: &str) -> &'static AlgorithmEntry {
    let mut found = inventory::iter::<AlgorithmEntry>().filter(|entry| entry.slug == slug);
    let entry = found.next().expect("registered");
    assert!(found.next().is_none(), "registered once");
    entry
}

fn prepare(name: &str) -> &'static PrepareEntry {
    inventory::iter::<PrepareEntry>().find(|entry| entry.name == name).expect("registered")
}

#[test]
fn an_algorithm_with_everything() {
    let entry = algorithm("ppo_w_gae");
    assert_eq!((entry.name, entry.flag), ("PPO w/ GAE", Some("run_gae")));
    assert_eq!(entry.doc, "Independent learners.");
    assert!(entry.requires.is_empty());
    assert_eq!((entry.type_id)(), type_id_of(&gae));
    assert!(entry.location.file.ends_with("registration.rs"));
    let line = include_str!("registration.rs")
        .lines()
        .position(|line| line.starts_with("#[rle::algorithm(name = \"PPO"))
        .expect("written above");
    assert_eq!((entry.location.line as usize, entry.location.column), (line + 1, 1));
}

#[test]
fn an_algorithm_by_default() {
    let entry = algorithm("fn");
    assert_eq!((entry.name, entry.flag, entry.doc), ("loop", None, ""));
    let requires: Vec<_> =
        entry.requires.iter().map(|r| (r.label, r.path, r.fingerprint)).collect();
    assert_eq!(requires, [("model", "m.bin", true), ("type", "t", false)]);
    assert_eq!((entry.type_id)(), type_id_of(&r#loop));
}

#[test]
fn the_config_is_the_second_argument() {
    let typed = ConfigType::of::<config::Typed<u8, 2>>();
    assert_eq!(format!("{:?}", algorithm("ppo_w_gae").config), format!("{typed:?}"));
    assert_eq!(format!("{:?}", algorithm("fn").config), format!("{:?}", ConfigType::none()));
    assert_ne!(TypeId::of::<config::Typed<u8, 2>>(), TypeId::of::<config::Typed<u8, 3>>());
}

#[test]
fn a_prepare_names_its_algorithms() {
    let entry = prepare("match");
    assert!(entry.always && !prepare("plain").always);
    assert_eq!(entry.doc, "A block comment.");
    let paths: Vec<_> = entry.algorithms.iter().map(|algorithm| algorithm.path).collect();
    assert_eq!(paths, ["gae", "self::r#loop"]);
    let ids: Vec<_> = entry.algorithms.iter().map(|algorithm| (algorithm.type_id)()).collect();
    assert_eq!(ids, [type_id_of(&gae), type_id_of(&r#loop)]);
    assert_eq!((prepare("plain").algorithms[0].type_id)(), type_id_of(&gae));
}

#[test]
fn stages_are_listed_with_their_groups() {
    let mut here = inventory::iter::<StageEntry>()
        .filter(|entry| entry.location.file.ends_with("registration.rs"));
    let names = here.next().expect("registered").names;
    assert_eq!(names, ["rollout", "checkpoint.save", "checkpoint.deep.er"]);
    assert_eq!(stages::checkpoint::save.name(), "checkpoint.save");
    assert!(here.next().is_none());
}
