//! Which algorithms and runs a start is about, checked against what is registered.

use std::collections::{BTreeMap, BTreeSet};

use crate::Error;
use crate::algorithm::{AlgorithmOverride, AlgorithmSpec};
use crate::names::{SlotId, Slug};
use crate::near_match;
use crate::record::identity::EXCLUDED_COMMON_KEYS;
use crate::suite::config::SuiteConfig;
use crate::suite::config::raw::{Given, Raw};
use crate::suite::config::settings;
use crate::value::Value;

/// Moves what only selects or resumes out of the shared configuration, and refuses keys that
/// look as if they did.
///
/// # Errors
/// For a key beginning `run_` that is no declared flag, a flag of the wrong type, and an option
/// that this version does not have.
pub(crate) fn separate_common(
    config: &mut SuiteConfig,
    specs: &[AlgorithmSpec],
) -> Result<(), Error> {
    let flags: BTreeSet<&str> = specs.iter().filter_map(|spec| spec.flag.as_deref()).collect();
    for key in EXCLUDED_COMMON_KEYS {
        let Some(value) = config.common_config.remove(key) else { continue };
        boolean(key, &value)?;
        let origin = format!("common_config.{key}");
        let given = Given { raw: &Raw::Value(value), origin: &origin, specs };
        settings::assign(config, key, &given).unwrap_or(Ok(()))?;
    }
    for &flag in &flags {
        let Some(value) = config.common_config.remove(flag) else { continue };
        let on = boolean(flag, &value)?;
        config.flags.entry(flag.to_owned()).or_insert(on);
    }
    if let Some(problem) = reserved_key(&config.common_config, &flags) {
        return Err(Error::usage(problem));
    }
    if let Some(flag) = config.flags.keys().find(|flag| !flags.contains(flag.as_str())) {
        return Err(Error::usage(format!(
            "no algorithm declares the flag `{flag}`{}",
            near_match::hint_or_list(flag, flags.iter().copied())
        )));
    }
    Ok(())
}

/// What is wrong with a key of the shared configuration that looks like a flag and is none.
pub(crate) fn reserved_key(
    common: &BTreeMap<String, Value>,
    flags: &BTreeSet<&str>,
) -> Option<String> {
    let mut keys = common.keys().filter(|key| !flags.contains(key.as_str()));
    let key = keys.find(|key| key.starts_with("run_"))?;
    Some(format!(
        "common_config.{key}: top-level keys beginning `run_` are reserved for flags, and no \
         algorithm declares this one; rename it if it is a setting{}",
        near_match::hint(key, flags.iter().copied())
    ))
}

fn boolean(key: &str, value: &Value) -> Result<bool, Error> {
    value.as_bool().ok_or_else(|| {
        Error::usage(format!("common_config.{key}: expected true or false, found {value}"))
    })
}

/// The position of the algorithm of that name or slug.
///
/// # Errors
/// When there is none, or the word is one algorithm's name and another's slug.
pub(crate) fn find_algorithm(specs: &[AlgorithmSpec], word: &str) -> Result<usize, Error> {
    let mut found = (0..specs.len()).filter(|&i| specs[i].slug == word || specs[i].name == word);
    match (found.next(), found.next()) {
        (Some(index), None) => Ok(index),
        (Some(first), Some(second)) => Err(Error::usage(format!(
            "`{word}` means both {} and {}; use a slug",
            specs[first].described(),
            specs[second].described()
        ))),
        (None, _) => {
            let known = specs.iter().flat_map(|spec| [&*spec.slug, &*spec.name]);
            let known: BTreeSet<&str> = known.collect();
            let slugs = specs.iter().map(|spec| &*spec.slug);
            let hint = near_match::nearest(word, known).map_or_else(
                || near_match::hint_or_list(word, slugs),
                |near| format!("; did you mean `{near}`?"),
            );
            Err(Error::usage(format!("there is no algorithm `{word}`{hint}")))
        }
    }
}

/// Positions of the selected algorithms, in the order in which they run.
///
/// # Errors
/// When an explicit selection names an unknown algorithm, or nothing is selected.
pub(crate) fn select_algorithms(
    config: &SuiteConfig,
    specs: &[AlgorithmSpec],
) -> Result<Vec<usize>, Error> {
    if config.selection.just_vis {
        return Ok(Vec::new());
    }
    if specs.is_empty() {
        return Err(Error::Registry(
            "this program has no algorithm: mark a function with #[rle::algorithm]; if the \
             algorithms are in another crate, add `use that_crate as _;` so that it is linked"
                .to_owned(),
        ));
    }
    let selected = selected_algorithms(config, specs)?;
    if selected.is_empty() {
        let options: BTreeSet<String> =
            specs.iter().filter_map(|spec| spec.flag.as_deref()).map(flag_option).collect();
        let options: Vec<_> = options.into_iter().collect();
        return Err(Error::usage(format!(
            "no algorithm is selected: every flag is false; set one ({}) or name algorithms with \
             --algorithms",
            options.join(", ")
        )));
    }
    Ok(selected)
}

/// As [`select_algorithms`], where it is no error that every flag is false.
pub(crate) fn selected_algorithms(
    config: &SuiteConfig,
    specs: &[AlgorithmSpec],
) -> Result<Vec<usize>, Error> {
    match &config.selection.algorithms {
        _ if config.selection.just_vis => Ok(Vec::new()),
        Some(words) => select_named(words, specs),
        None => {
            let is_on = |flag: &str| config.flags.get(flag).copied().unwrap_or(false);
            let is_selected = |spec: &AlgorithmSpec| spec.flag.as_deref().is_none_or(is_on);
            Ok((0..specs.len()).filter(|&index| is_selected(&specs[index])).collect())
        }
    }
}

fn select_named(words: &[String], specs: &[AlgorithmSpec]) -> Result<Vec<usize>, Error> {
    if words.is_empty() {
        return Err(Error::usage(
            "--algorithms names no algorithm; to run none use --just-vis".to_owned(),
        ));
    }
    let mut selected = Vec::new();
    for word in words {
        let index = find_algorithm(specs, word)?;
        if selected.contains(&index) {
            return Err(Error::usage(format!("--algorithms names `{}` twice", specs[index].slug)));
        }
        selected.push(index);
    }
    selected.sort_unstable();
    Ok(selected)
}

/// `--run-ippo` for the flag `run_ippo`.
pub(crate) fn flag_option(flag: &str) -> String {
    format!("--{}", flag.replace('_', "-"))
}

/// A mistyped window must not fill the memory with its plan.
const MOST_RUNS: u32 = 1_000_000;

/// The run indices that a start is about, ascending.
///
/// # Errors
/// When the window is empty, or an index is outside it or given twice.
pub(crate) fn select_runs(config: &SuiteConfig) -> Result<Vec<u32>, Error> {
    if config.selection.num_runs == 0 {
        return Err(Error::usage("--num-runs is 0; it must be at least 1"));
    }
    let Some(numbers) = &config.selection.run_numbers else {
        if config.selection.num_runs > MOST_RUNS {
            return Err(Error::usage(format!(
                "--num-runs {} is more than one start can plan ({MOST_RUNS}); choose some of them \
                 with --run-numbers",
                config.selection.num_runs
            )));
        }
        return Ok((0..config.selection.num_runs).collect());
    };
    if numbers.is_empty() {
        return Err(Error::usage("--run-numbers is empty; give zero-based runs such as `0,2`"));
    }
    let mut seen = BTreeSet::new();
    for &number in numbers {
        if number >= config.selection.num_runs {
            return Err(Error::usage(format!(
                "--run-numbers: run {number} is outside the window of --num-runs {} (0 to {})",
                config.selection.num_runs,
                config.selection.num_runs - 1
            )));
        }
        if !seen.insert(number) {
            return Err(Error::usage(format!("--run-numbers: run {number} is given twice")));
        }
    }
    Ok(seen.into_iter().collect())
}

/// Algorithms that are configured, each under one word only.
///
/// # Errors
/// When one is configured under its name and its slug, or none has that name.
pub(crate) fn overrides_by_algorithm<'a>(
    config: &'a SuiteConfig,
    specs: &[AlgorithmSpec],
) -> Result<BTreeMap<usize, Vec<&'a AlgorithmOverride>>, Error> {
    let mut by_algorithm: BTreeMap<usize, Vec<&AlgorithmOverride>> = BTreeMap::new();
    for change in &config.overrides {
        let index = find_algorithm(specs, &change.algorithm).map_err(|error| {
            Error::usage(format!("algorithm_configs ({}): {error}", change.origin))
        })?;
        let changes = by_algorithm.entry(index).or_default();
        let clash = changes
            .iter()
            .find(|other| other.origin == change.origin && other.algorithm != change.algorithm);
        if let Some(other) = clash {
            return Err(Error::usage(format!(
                "algorithm {} is configured under its name and its slug: `{}` ({}) and `{}` ({}); \
                 use one of them",
                specs[index].described(),
                other.algorithm,
                other.origin,
                change.algorithm,
                change.origin
            )));
        }
        changes.push(change);
    }
    Ok(by_algorithm)
}

/// The slots that `--rerun` names.
///
/// # Errors
/// When a word is no slot, or one that is no part of this start.
pub(crate) fn rerun_slots(
    config: &SuiteConfig,
    specs: &[AlgorithmSpec],
    selected: &[usize],
    runs: &[u32],
) -> Result<Vec<SlotId>, Error> {
    config
        .records
        .rerun
        .iter()
        .map(|word| {
            let (name, run) = word
                .rsplit_once(':')
                .and_then(|(name, run)| Some((name, run.parse::<u32>().ok()?)))
                .ok_or_else(|| {
                    Error::usage(format!(
                        "--rerun `{word}`: expected a slot such as `ippo:1` (algorithm, colon, run)"
                    ))
                })?;
            let index = find_algorithm(specs, name)
                .map_err(|error| Error::usage(format!("--rerun `{word}`: {error}")))?;
            if !selected.contains(&index) || !runs.contains(&run) {
                return Err(Error::usage(format!(
                    "--rerun `{word}`: that slot is not part of this start; select its algorithm \
                     and run too"
                )));
            }
            Ok(SlotId::new(Slug::new(specs[index].slug.clone())?, run))
        })
        .collect()
}
