//! What attributes register, in source order, and the checks of the whole program.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::algorithm::{
    AlgorithmSpec, ConfigSource, ConfigType, Location, Prepare, PrepareOutcome, Requirement,
    RunOutcome,
};
use crate::run::{PrepareContext, RunContext};
use crate::value::Value;
use crate::{Error, Slug};

/// What `#[rle::algorithm]` registers.
#[derive(Debug)]
pub struct AlgorithmEntry {
    /// Display label.
    pub name: &'static str,
    /// Checked slug.
    pub slug: &'static str,
    /// Flag that selects it.
    pub flag: Option<&'static str>,
    /// Required artifacts.
    pub requires: &'static [Requirement<&'static str>],
    /// First paragraph of the doc comment.
    pub doc: &'static str,
    /// Where the attribute stands.
    pub location: Location,
    /// Identity of the function item.
    pub type_id: fn() -> TypeId,
    /// The configuration's type.
    pub config: ConfigType,
    /// Calls the function.
    pub run: fn(&RunContext) -> RunOutcome,
}

/// One function that a prepare serves.
#[derive(Debug)]
pub struct PreparedAlgorithm {
    /// The path as written.
    pub path: &'static str,
    /// Identity of the function item.
    pub type_id: fn() -> TypeId,
}

/// What `#[rle::prepare]` registers.
#[derive(Debug)]
pub struct PrepareEntry {
    /// The function's name.
    pub name: &'static str,
    /// Whether it runs at every start that runs a slot.
    pub always: bool,
    /// The algorithms it serves.
    pub algorithms: &'static [PreparedAlgorithm],
    /// First paragraph of the doc comment.
    pub doc: &'static str,
    /// Where the attribute stands.
    pub location: Location,
    /// Calls the function.
    pub run: fn(&PrepareContext) -> PrepareOutcome,
}

/// What `stages!` registers.
#[derive(Debug)]
pub struct StageEntry {
    /// Full names, nested ones with dots.
    pub names: &'static [&'static str],
    /// Where the macro stands.
    pub location: Location,
}

inventory::collect!(AlgorithmEntry);
inventory::collect!(PrepareEntry);
inventory::collect!(StageEntry);

/// All registered algorithms in source order, with their prepares.
pub(crate) fn algorithms() -> Result<Vec<AlgorithmSpec>, Error> {
    let mut entries: Vec<&AlgorithmEntry> = inventory::iter::<AlgorithmEntry>().collect();
    // A macro of the user's may declare several at one place.
    entries.sort_by_key(|entry| (entry.location, entry.slug));
    let mut specs: Vec<AlgorithmSpec> = entries.into_iter().map(spec_of_entry).collect();
    let mut prepares: Vec<&PrepareEntry> = inventory::iter::<PrepareEntry>().collect();
    prepares.sort_by_key(|entry| (entry.location, entry.name));
    for entry in prepares {
        bind_prepare(entry, &mut specs)?;
    }
    Ok(specs)
}

/// Names of all declared stages, sorted, each once.
pub(crate) fn stages() -> Vec<&'static str> {
    let mut names: Vec<_> =
        inventory::iter::<StageEntry>().flat_map(|entry| entry.names.iter().copied()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn spec_of_entry(entry: &AlgorithmEntry) -> AlgorithmSpec {
    let config = if entry.config.is_typed() {
        ConfigSource::Typed(entry.config)
    } else {
        ConfigSource::Untyped(Value::object())
    };
    let (name, slug) = (entry.name.into(), entry.slug.into());
    let mut spec = AlgorithmSpec::from_parts(name, slug, config, Arc::new(entry.run));
    spec.flag = entry.flag.map(Into::into);
    spec.doc = entry.doc;
    spec.location = Some(entry.location);
    spec.type_id = Some((entry.type_id)());
    spec.requires = entry
        .requires
        .iter()
        .map(|required| Requirement {
            label: required.label.to_owned(),
            path: required.path.to_owned(),
            fingerprint: required.fingerprint,
        })
        .collect();
    spec
}

fn bind_prepare(entry: &PrepareEntry, specs: &mut [AlgorithmSpec]) -> Result<(), Error> {
    let prepare = Arc::new(Prepare {
        name: entry.name.to_owned(),
        always: entry.always,
        location: Some(entry.location),
        shared: entry.algorithms.len() > 1,
        run: Arc::new(entry.run),
    });
    for served in entry.algorithms {
        let id = (served.type_id)();
        let Some(spec) = specs.iter_mut().find(|spec| spec.type_id == Some(id)) else {
            return Err(Error::Registry(format!(
                "prepare `{}` ({}) names `{}`, which is not an algorithm; mark that function with \
                 #[rle::algorithm]",
                entry.name, entry.location, served.path
            )));
        };
        if let Some(other) = &spec.prepare {
            let place = other.location.map_or(String::new(), |at| format!(" ({at})"));
            return Err(Error::Registry(format!(
                "algorithm {} has two prepares: `{}`{place} and `{}` ({}); it can have one",
                spec.described(),
                other.name,
                entry.name,
                entry.location
            )));
        }
        spec.prepare = Some(prepare.clone());
    }
    Ok(())
}

/// Checks what only the whole list can show: slugs, flags, prepare names.
pub(crate) fn check(specs: &[AlgorithmSpec], reserved_flags: &[&str]) -> Result<(), Error> {
    let mut by_slug: BTreeMap<&str, &AlgorithmSpec> = BTreeMap::new();
    let mut by_prepare: BTreeMap<&str, &Prepare> = BTreeMap::new();
    for spec in specs {
        if let Some(fault) = spec.faults.first() {
            return Err(Error::Registry(fault.clone()));
        }
        Slug::new(spec.slug.clone())
            .map_err(|error| Error::Registry(format!("algorithm {}: {error}", spec.described())))?;
        if let Some(other) = by_slug.insert(&spec.slug, spec) {
            return Err(Error::Registry(format!(
                "the algorithms {} and {} have the same slug `{}`; give one of them another with \
                 `slug`",
                other.described(),
                spec.described(),
                spec.slug
            )));
        }
        if let Some(flag) = &spec.flag {
            check_flag(flag, spec, reserved_flags)?;
        }
        if let Some(prepare) = &spec.prepare {
            check_prepare(prepare, spec, &mut by_prepare)?;
        }
    }
    check_shared_requirements(specs)
}

/// A shared prepare sees the required artifacts of all its algorithms: a label must mean one.
fn check_shared_requirements(specs: &[AlgorithmSpec]) -> Result<(), Error> {
    let mut seen: BTreeMap<(&str, &str), (&AlgorithmSpec, &Requirement)> = BTreeMap::new();
    for spec in specs {
        let Some(prepare) = spec.prepare.as_ref().filter(|prepare| prepare.shared) else {
            continue;
        };
        for required in &spec.requires {
            let key = (prepare.name.as_str(), required.label.as_str());
            let (other, known) = *seen.entry(key).or_insert((spec, required));
            if known != required {
                return Err(Error::Registry(format!(
                    "the algorithms {} and {} share the prepare `{}` but mean two things by the \
                     required artifact `{}`; declare it alike, or under two labels",
                    other.described(),
                    spec.described(),
                    prepare.name,
                    required.label
                )));
            }
        }
    }
    Ok(())
}

fn check_flag(flag: &str, spec: &AlgorithmSpec, reserved: &[&str]) -> Result<(), Error> {
    let well_formed = flag.starts_with(|first: char| first.is_ascii_lowercase())
        && flag.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    let problem = if !well_formed {
        "must begin with a-z and hold only a-z, 0-9 and `_`"
    } else if reserved.contains(&flag) {
        "is the name of a built-in option"
    } else {
        return Ok(());
    };
    Err(Error::Registry(format!("algorithm {}: the flag `{flag}` {problem}", spec.described())))
}

fn check_prepare<'a>(
    prepare: &'a Prepare,
    spec: &AlgorithmSpec,
    seen: &mut BTreeMap<&'a str, &'a Prepare>,
) -> Result<(), Error> {
    Slug::new(prepare.name.to_ascii_lowercase()).map_err(|_| {
        Error::Registry(format!(
            "algorithm {}: the prepare's name `{}` may hold only letters, digits and `_`, and not \
             begin with `_`",
            spec.described(),
            prepare.name
        ))
    })?;
    let Some(other) = seen.insert(&prepare.name, prepare) else { return Ok(()) };
    if Arc::ptr_eq(&other.run, &prepare.run) {
        return Ok(());
    }
    let place = |prepare: &Prepare| prepare.location.map_or(String::new(), |at| format!(" ({at})"));
    Err(Error::Registry(format!(
        "two prepares are named `{}`:{} and{}; their directories would be the same, rename one",
        prepare.name,
        place(other),
        place(prepare)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::RunResult;

    fn spec(name: &str, wm: &str) -> AlgorithmSpec {
        let run = |_: &RunContext| -> crate::Result<RunResult> { Ok(RunResult::new()) };
        let mut spec = AlgorithmSpec::new(name, run).requires("wm", wm);
        spec.prepare = Some(Arc::new(Prepare {
            name: "shield".to_owned(),
            always: false,
            location: None,
            shared: true,
            run: Arc::new(|_: &PrepareContext| Ok(Value::Null)),
        }));
        spec
    }

    #[test]
    fn a_label_means_one_artifact_to_all_algorithms_of_a_prepare() {
        let first = spec("a", "models/a.bin");
        let second = |path: &str| {
            let mut second = spec("b", path);
            second.prepare.clone_from(&first.prepare);
            second
        };
        assert!(check(&[first.clone(), second("models/a.bin")], &[]).is_ok());
        let error = check(&[first.clone(), second("models/b.bin")], &[]).unwrap_err();
        assert!(error.to_string().contains("`wm`"), "{error}");
    }
}
