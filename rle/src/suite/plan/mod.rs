//! The plan of a start: everything resolved and checked before anything is touched on disk.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::Error;
use crate::algorithm::overrides::{AlgorithmOverride, ConfigChange};
use crate::algorithm::registry;
use crate::algorithm::spec::{AlgorithmSpec, ConfigSource};
use crate::algorithm::typed;
use crate::fs::FileLock;
use crate::names::{SlotId, Slug};
use crate::near_match;
use crate::record::archive;
use crate::record::decision::{self, ComparedRequest, Decision, Policy, SlotAction};
use crate::record::identity::{Identity, IdentityParts};
use crate::record::provenance::{self, Capture, CaptureRequest};
use crate::record::{self, RecordState, RecordedRequirement};
use crate::run::artifacts;
use crate::run::checkpoint::{self, Found, Latest};
use crate::run::context::SuiteFacts;
use crate::run::seeds::Seeds;
use crate::suite::config::{OnBusy, SuiteConfig};
use crate::suite::config::{selection, settings, variants};
use crate::suite::exec::logging::LogPlan;
use crate::value::Value;

/// What is wrong with a file on the way to where results go.
pub(crate) const NO_DIRECTORY: &str = "is a file; --export-dir must name a directory or a new path";

/// One selected algorithm with its configuration resolved.
pub(crate) struct PlannedAlgorithm {
    pub(crate) spec: AlgorithmSpec,
    pub(crate) slug: Slug,
    pub(crate) config: Value,
    pub(crate) requirements: BTreeMap<String, RecordedRequirement>,
    pub(crate) required_paths: BTreeMap<String, PathBuf>,
}

/// One requested slot.
pub(crate) struct PlannedSlot {
    pub(crate) id: SlotId,
    /// Position in [`Plan::algorithms`].
    pub(crate) algorithm: usize,
    pub(crate) seeds: Seeds,
    pub(crate) identity: Identity,
    /// Whether it is computed whatever its record says.
    rerun: bool,
}

/// A start, resolved.
pub(crate) struct Plan {
    pub(crate) facts: Arc<SuiteFacts>,
    pub(crate) algorithms: Vec<PlannedAlgorithm>,
    /// Run 0 of every algorithm, then run 1, and so on.
    pub(crate) slots: Vec<PlannedSlot>,
    pub(crate) provenance: Capture,
    pub(crate) options: Options,
    pub(crate) log: LogPlan,
    /// Tells this start from every other; workers have their parent's.
    pub(crate) start_id: String,
}

/// How slots are decided and run: no part of any request's identity.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub(crate) struct Options {
    pub(crate) resume_completed_runs: bool,
    pub(crate) restart_completed_runs: bool,
    pub(crate) checkpoint_enabled: bool,
    pub(crate) resume_checkpoints: bool,
    pub(crate) accept: Vec<String>,
    pub(crate) jobs: usize,
    pub(crate) gpus_per_run: usize,
    pub(crate) fail_fast: bool,
    pub(crate) retries: u32,
    pub(crate) timeout: Option<Duration>,
    pub(crate) stop_after: Option<Duration>,
    pub(crate) on_busy: OnBusy,
    pub(crate) stop_at_save: bool,
}

impl Plan {
    /// Resolves a start; reads files but writes none.
    ///
    /// # Errors
    /// The first thing that is wrong with the request, the registry or a required artifact.
    pub(crate) fn new(mut config: SuiteConfig, specs: &[AlgorithmSpec]) -> Result<Self, Error> {
        config.check_values()?;
        registry::check(specs, &settings::reserved_flags())?;
        let specs = &variants::expand(specs, &config.variants)?;
        selection::separate_common(&mut config, specs)?;
        let runs = selection::select_runs(&config)?;
        let selected = selection::select_algorithms(&config, specs)?;
        let resolved = resolve_configs(&config, specs, &selected)?;
        let facts = suite_facts(&config)?;
        let rerun = selection::rerun_slots(&config, specs, &selected, &runs)?;
        let seeds = seeds_of_runs(&config, &runs)?;
        let algorithms = plan_algorithms(specs, &selected, resolved, &facts.export_dir)?;
        let provenance = provenance_of(&config, &facts.export_dir)?;
        let log = LogPlan::of(&config, &facts)?;
        let mut plan = Self {
            facts: Arc::new(facts),
            algorithms,
            slots: Vec::new(),
            provenance,
            options: Options::of(&config)?,
            log,
            start_id: config.start_id.clone().unwrap_or_else(start_id),
        };
        plan.slots = plan.round_robin(&seeds, &rerun)?;
        plan.check_accepted_paths()?;
        Ok(plan)
    }

    fn round_robin(
        &self,
        seeds: &[(u32, Seeds)],
        rerun: &[SlotId],
    ) -> Result<Vec<PlannedSlot>, Error> {
        let provenance = Value::from_serialize(&self.provenance.identity())?;
        let mut slots = Vec::with_capacity(seeds.len() * self.algorithms.len());
        for (run_idx, seeds) in seeds {
            for (position, algorithm) in self.algorithms.iter().enumerate() {
                let id = SlotId::new(algorithm.slug.clone(), *run_idx);
                let identity = Identity::new(IdentityParts {
                    env_name: &self.facts.env_name,
                    env_config: &self.facts.env_config,
                    common_config: &self.facts.common_config,
                    slug: algorithm.slug.as_str(),
                    config: &algorithm.config,
                    seeds: seeds.by_domain(),
                    run_idx: *run_idx,
                    provenance: provenance.clone(),
                    required_artifacts: &algorithm.requirements,
                })?;
                let rerun = rerun.contains(&id);
                let seeds = seeds.clone();
                slots.push(PlannedSlot { id, algorithm: position, seeds, identity, rerun });
            }
        }
        Ok(slots)
    }

    /// What would happen to a slot now.
    ///
    /// # Errors
    /// When its record may be neither used nor replaced, naming the file and the way out.
    pub(crate) fn decide(&self, slot: &PlannedSlot) -> Result<Decision, Error> {
        let policy = Policy {
            resume: self.options.resume_completed_runs,
            rerun: slot.rerun,
            accept: &self.options.accept,
        };
        let state = record::read_state(&self.facts.export_dir, &slot.id)?;
        let path = || record::record_path(&self.facts.export_dir, &slot.id);
        match &state {
            RecordState::Newer(version) => {
                return Err(record::newer_error(&path(), *version));
            }
            RecordState::Unusable(problem) if !policy.rerun => {
                let way_out =
                    format!("{problem}; --rerun {} moves it aside and runs again", slot.id);
                return Err(Error::file(path(), way_out));
            }
            _ => {}
        }
        let request =
            ComparedRequest { identity: &slot.identity, provenance: self.provenance.provenance() };
        let decision = decision::decide(&self.facts.export_dir, &slot.id, &state, request, policy);
        if decision.action == SlotAction::Run {
            return self.with_checkpoint(slot, decision);
        }
        Ok(decision)
    }

    /// Whether a slot that has to run goes on from a checkpoint.
    fn with_checkpoint(&self, slot: &PlannedSlot, decision: Decision) -> Result<Decision, Error> {
        let wanted = self.options.resume_checkpoints
            && !slot.rerun
            && !decision.set_aside
            && decision::unidentified(self.provenance.provenance()).is_none();
        let found = checkpoint::find(&self.facts.export_dir, &slot.id, slot.identity.hash())?;
        Ok(match found {
            Found::Newer { path, version } => {
                let problem = checkpoint::newer_problem(version);
                return Err(Error::Newer { path, problem });
            }
            Found::Nothing => decision,
            Found::Latest { latest, problems } if wanted => {
                let manifest = latest.manifest();
                let mut text = format!(
                    "goes on from checkpoint {}, saved at {} after {:.1} s",
                    manifest.sequence, manifest.saved_at, manifest.seconds
                );
                for problem in problems {
                    text.push_str("; passed over: ");
                    text.push_str(&problem);
                }
                decision.resume_from(text)
            }
            Found::Latest { .. } => decision
                .with_set_aside("its checkpoint is not wanted and is moved aside".to_owned()),
            Found::Foreign(why) => {
                decision.with_set_aside(format!("its checkpoint is moved aside: {why}"))
            }
            Found::Damaged(problems) => decision.with_set_aside(format!(
                "its checkpoints are damaged and moved aside: {}",
                problems.join("; ")
            )),
        })
    }

    /// The checkpoint that a slot goes on from.
    pub(crate) fn latest_checkpoint(&self, slot: &PlannedSlot) -> Result<Option<Latest>, Error> {
        let found = checkpoint::find(&self.facts.export_dir, &slot.id, slot.identity.hash())?;
        Ok(match found {
            Found::Latest { latest, .. } => Some(latest),
            _ => None,
        })
    }

    /// A path given with `--accept` must be one of a request's own, or of a record's.
    fn check_accepted_paths(&self) -> Result<(), Error> {
        for path in &self.options.accept {
            let is_in = |identity: &Identity| identity.value().get_dotted(path).is_some();
            let known = self.slots.iter().any(|slot| {
                is_in(&slot.identity)
                    || self.recorded_identity(slot).is_some_and(|identity| is_in(&identity))
            });
            if !known && !self.slots.is_empty() {
                let keys = self.slots.iter().flat_map(|slot| slot.identity.key_paths());
                let keys: BTreeSet<String> = keys.collect();
                let hint = near_match::hint(path, keys.iter().map(String::as_str));
                return Err(Error::usage(format!(
                    "--accept {path}: no request has such a field{hint} (give a path as `status` \
                     shows it, such as provenance.source)"
                )));
            }
        }
        Ok(())
    }

    fn recorded_identity(&self, slot: &PlannedSlot) -> Option<Identity> {
        match record::read_state(&self.facts.export_dir, &slot.id) {
            Ok(RecordState::Head(head)) => Identity::of_record(&head).ok(),
            _ => None,
        }
    }

    /// Like [`decide`](Self::decide), and a slot that has to run but is held by another process
    /// is busy.
    pub(crate) fn inspect(&self, slot: &PlannedSlot) -> Result<Decision, Error> {
        let lock = record::lock_path(&self.facts.export_dir, &slot.id);
        if !FileLock::is_held(&lock)? {
            return self.decide(slot);
        }
        // Whoever holds the slot may be about to write it: what cannot be read is theirs to mend.
        match self.decide(slot) {
            Ok(decision) if decision.action == SlotAction::Reuse => Ok(decision),
            _ => Ok(Decision::busy()),
        }
    }

    /// `IPPO run 1`.
    pub(crate) fn label(&self, slot: &PlannedSlot) -> String {
        format!("{} run {}", self.algorithm(slot).spec.name, slot.id.run_idx())
    }

    pub(crate) fn algorithm(&self, slot: &PlannedSlot) -> &PlannedAlgorithm {
        &self.algorithms[slot.algorithm]
    }
}

impl Options {
    fn of(config: &SuiteConfig) -> Result<Self, Error> {
        if config.jobs == 0 {
            return Err(Error::usage("--jobs is 0; it must be at least 1"));
        }
        Ok(Self {
            resume_completed_runs: config.resume_completed_runs,
            restart_completed_runs: config.restart_completed_runs,
            checkpoint_enabled: config.checkpoint_enabled,
            resume_checkpoints: config.resume_checkpoints,
            accept: config.accept.clone(),
            jobs: config.jobs as usize,
            gpus_per_run: config.gpus_per_run as usize,
            fail_fast: config.fail_fast,
            retries: config.retries,
            timeout: config.timeout,
            stop_after: config.stop_after,
            on_busy: config.on_busy,
            stop_at_save: config.stop_at_save,
        })
    }
}

fn start_id() -> String {
    format!("{}_{}", archive::timestamp(SystemTime::now()), std::process::id())
}

fn suite_facts(config: &SuiteConfig) -> Result<SuiteFacts, Error> {
    if config.env_name.is_empty() {
        return Err(Error::usage("the environment's name is empty; give SuiteConfig::new one"));
    }
    let common_config = Value::Object(config.common_config.clone());
    for (what, value) in [("env_config", &config.env_config), ("common_config", &common_config)] {
        value.canonical_json().map_err(|error| error.under_key(what))?;
    }
    let export_dir = std::path::absolute(&config.export_dir)
        .map_err(|error| Error::io("resolve the export directory", &config.export_dir, error))?;
    if export_dir.to_str().is_none() {
        return Err(Error::file(export_dir, "the export directory's name is not valid UTF-8"));
    }
    if let Some(file) = record::runs_dir(&export_dir).ancestors().find(|path| path.is_file()) {
        return Err(Error::file(file, NO_DIRECTORY));
    }
    Ok(SuiteFacts {
        env_name: config.env_name.clone(),
        env_config: config.env_config.clone(),
        common_config,
        export_dir,
        num_runs: config.num_runs,
    })
}

/// The provenance that another process of this start captured, else this one's.
fn provenance_of(config: &SuiteConfig, export_dir: &Path) -> Result<Capture, Error> {
    if let Some(captured) = &config.captured {
        return Capture::new(captured.clone(), Vec::new());
    }
    provenance::capture(&CaptureRequest {
        mode: config.provenance_mode,
        source_dir: config.source_dir.clone(),
        export_dir: export_dir.to_owned(),
        packages: config.provenance_packages.clone(),
        inputs: config.provenance_inputs.clone(),
        metadata: config.provenance_metadata.clone(),
    })
}

fn seeds_of_runs(config: &SuiteConfig, runs: &[u32]) -> Result<Vec<(u32, Seeds)>, Error> {
    for (&run_idx, mapping) in &config.seeds_by_run {
        Seeds::of_run(config.base_seed, run_idx, Some(mapping))?;
    }
    runs.iter()
        .map(|&run_idx| {
            let mapping = config.seeds_by_run.get(&run_idx);
            Ok((run_idx, Seeds::of_run(config.base_seed, run_idx, mapping)?))
        })
        .collect()
}

/// Resolved configurations of the selected algorithms, and a check of all that are overridden.
fn resolve_configs(
    config: &SuiteConfig,
    specs: &[AlgorithmSpec],
    selected: &[usize],
) -> Result<BTreeMap<usize, Value>, Error> {
    let overrides = selection::overrides_by_algorithm(config, specs)?;
    let own = |index: usize| overrides.get(&index).map_or(&[][..], Vec::as_slice);
    let mut resolved = BTreeMap::new();
    for (index, spec) in specs.iter().enumerate() {
        if own(index).is_empty() && !selected.contains(&index) {
            continue;
        }
        // A variant is its algorithm as configured, and then what is its own.
        let inherited = spec.variant.as_ref().and_then(|variant| {
            let base = specs.iter().position(|base| base.slug == variant.algorithm)?;
            Some((own(base), &variant.change))
        });
        let mut changes = Vec::new();
        if let Some((base, change)) = inherited {
            changes.extend_from_slice(base);
            changes.push(change);
        }
        changes.extend_from_slice(own(index));
        resolved.insert(index, resolve_config(spec, &changes)?);
    }
    Ok(resolved)
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
                    ConfigChange::Table(table) => typed::merge(&mut value, table.clone()),
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

fn plan_algorithms(
    specs: &[AlgorithmSpec],
    selected: &[usize],
    mut resolved: BTreeMap<usize, Value>,
    export_dir: &Path,
) -> Result<Vec<PlannedAlgorithm>, Error> {
    let mut missing = Vec::new();
    let mut planned = Vec::with_capacity(selected.len());
    for &index in selected {
        let spec = specs[index].clone();
        let slug = Slug::new(spec.slug.clone())?;
        let mut requirements = BTreeMap::new();
        let mut required_paths = BTreeMap::new();
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
            required_paths.insert(required.label.clone(), path);
        }
        let config = resolved.remove(&index).expect("every selected algorithm was resolved");
        planned.push(PlannedAlgorithm { spec, slug, config, requirements, required_paths });
    }
    if missing.is_empty() {
        return Ok(planned);
    }
    Err(Error::MissingArtifacts(format!(
        "required artifacts are missing; provide them or deselect their algorithms:\n{}",
        missing.join("\n")
    )))
}

#[cfg(test)]
mod tests;
