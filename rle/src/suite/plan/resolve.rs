//! A request resolved: algorithms, runs, seeds, provenance, identities and what is logged, all
//! checked.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use crate::algorithm::{AlgorithmSpec, registry};
use crate::metrics::LogOptions;
use crate::record::provenance::{self, CaptureRequest};
use crate::record::{self, Capture, Identity, IdentityParts, RecordState, archive};
use crate::run::{Seeds, SuiteFacts};
use crate::suite::config::{SuiteConfig, log, selection, settings, variants};
use crate::suite::plan::PlannedAlgorithm;
use crate::suite::plan::algorithms::{plan_algorithms, resolve_configs};
use crate::value::Value;
use crate::{Error, SlotId, near_match};

/// What is wrong with a file on the way to where results go.
pub(crate) const NO_DIRECTORY: &str = "is a file; --export-dir must name a directory or a new path";

pub(crate) struct PlannedSlot {
    pub(crate) id: SlotId,
    /// Position in [`Plan::algorithms`].
    pub(crate) algorithm: usize,
    pub(crate) seeds: Seeds,
    pub(crate) identity: Identity,
    /// Whether it is computed whatever its record says.
    pub(super) rerun: bool,
}

/// Checks the values of a suite; gives the algorithms with their variants, and the run indices.
pub(crate) fn check<'a>(
    config: &mut SuiteConfig,
    specs: &'a [AlgorithmSpec],
) -> Result<(Cow<'a, [AlgorithmSpec]>, Vec<u32>), Error> {
    config.check_values()?;
    if config.execution.jobs == 0 {
        return Err(Error::usage("--jobs is 0; it must be at least 1"));
    }
    registry::check(specs, &settings::reserved_flags())?;
    let specs = variants::expand(specs, &config.variants)?;
    selection::separate_common(config, &specs)?;
    let runs = selection::select_runs(config)?;
    Ok((specs, runs))
}

pub(crate) struct Plan {
    pub(crate) facts: Arc<SuiteFacts>,
    pub(crate) algorithms: Vec<PlannedAlgorithm>,
    /// Run 0 of every algorithm, then run 1, and so on.
    pub(crate) slots: Vec<PlannedSlot>,
    pub(crate) provenance: Capture,
    /// The request itself, with the export directory absolute. What it says about deciding and
    /// running slots is no part of any run's identity.
    pub(crate) options: SuiteConfig,
    pub(crate) log: LogPlan,
    /// Tells this start from every other; workers have their parent's.
    pub(crate) start_id: String,
}

impl Plan {
    /// Resolves a start; reads files but writes none.
    pub(crate) fn new(mut config: SuiteConfig, specs: &[AlgorithmSpec]) -> Result<Self, Error> {
        let (specs, runs) = check(&mut config, specs)?;
        let specs = &specs;
        let selected = selection::select_algorithms(&config, specs)?;
        let configs = resolve_configs(&config, specs, &selected)?;
        let facts = suite_facts(&config)?;
        let rerun = selection::rerun_slots(&config, specs, &selected, &runs)?;
        let seeds = seeds_of_runs(&config, &runs)?;
        let algorithms = plan_algorithms(specs, &selected, configs, &facts.export_dir)?;
        let provenance = provenance_of(&config, &facts.export_dir)?;
        let log = LogPlan::of(&config, &facts)?;
        config.export_dir.clone_from(&facts.export_dir);
        let start_id = config.start_id.get_or_insert_with(start_id).clone();
        let facts = Arc::new(facts);
        let slots = Vec::new();
        let mut plan =
            Self { facts, algorithms, slots, provenance, options: config, log, start_id };
        plan.slots = plan.round_robin(&seeds, &rerun)?;
        plan.check_accepted_paths()?;
        Ok(plan)
    }

    fn round_robin(
        &self,
        seeds: &[(u32, Seeds)],
        rerun: &[SlotId],
    ) -> Result<Vec<PlannedSlot>, Error> {
        let provenance = self.provenance.identity();
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

    /// A path given with `--accept` must be one of a request's own, or of a record's.
    fn check_accepted_paths(&self) -> Result<(), Error> {
        for path in &self.options.records.accept {
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

    /// `IPPO run 1`.
    pub(crate) fn label(&self, slot: &PlannedSlot) -> String {
        format!("{} run {}", self.algorithm(slot).spec.name, slot.id.run_idx())
    }

    pub(crate) fn algorithm(&self, slot: &PlannedSlot) -> &PlannedAlgorithm {
        &self.algorithms[slot.algorithm]
    }
}

fn start_id() -> String {
    format!("{}_{}", archive::timestamp(SystemTime::now()), std::process::id())
}

pub(super) fn suite_facts(config: &SuiteConfig) -> Result<SuiteFacts, Error> {
    if config.env_name.is_empty() {
        return Err(Error::usage("the environment's name is empty; give SuiteConfig::new one"));
    }
    let common_config = Value::Object(config.common_config.clone());
    for (what, value) in [("env_config", &config.env_config), ("common_config", &common_config)] {
        value.canonical_json().map_err(|error| error.under_key(what))?;
    }
    let export_dir = std::path::absolute(&config.export_dir)
        .map_err(Error::cannot("resolve the export directory", &config.export_dir))?;
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
        num_runs: config.selection.num_runs,
    })
}

/// The provenance that another process of this start captured, else this one's.
fn provenance_of(config: &SuiteConfig, export_dir: &Path) -> Result<Capture, Error> {
    if let Some(captured) = &config.captured {
        return Capture::new(captured.clone(), Vec::new());
    }
    provenance::capture(&CaptureRequest {
        mode: config.provenance.mode,
        source_dir: config.provenance.source_dir.clone(),
        export_dir: export_dir.to_owned(),
        packages: config.provenance.packages.clone(),
        inputs: config.provenance.inputs.clone(),
        metadata: config.provenance.metadata.clone(),
    })
}

fn seeds_of_runs(config: &SuiteConfig, runs: &[u32]) -> Result<Vec<(u32, Seeds)>, Error> {
    for (&run_idx, mapping) in &config.seeds_by_run {
        Seeds::of_run(config.selection.base_seed, run_idx, Some(mapping))?;
    }
    runs.iter()
        .map(|&run_idx| {
            let mapping = config.seeds_by_run.get(&run_idx);
            Ok((run_idx, Seeds::of_run(config.selection.base_seed, run_idx, mapping)?))
        })
        .collect()
}

#[derive(Clone, Debug)]
pub(crate) struct LogPlan {
    pub(in crate::suite) options: LogOptions,
    pub(in crate::suite) project: String,
    pub(in crate::suite) name: String,
    pub(in crate::suite) tags: Vec<String>,
}

impl LogPlan {
    pub(in crate::suite) fn of(config: &SuiteConfig, facts: &SuiteFacts) -> Result<Self, Error> {
        let settings = &config.log;
        settings.level.as_deref().map(log::parse_level).transpose()?;
        let mut options = LogOptions::new(match &settings.dir {
            None => facts.export_dir.join("_logs"),
            Some(dir) => {
                std::path::absolute(dir).map_err(Error::cannot("resolve the log directory", dir))?
            }
        });
        options.backends = match &settings.backends {
            Some(backends) => backends.clone(),
            None if cfg!(feature = "loggers") => options.backends,
            None => Vec::new(),
        };
        log::check_built(&options.backends)?;
        if let Some(mode) = &settings.mode {
            options.mode = mode.resolve(&options.backends)?;
        }
        options.flush_interval = settings.flush_interval.unwrap_or(options.flush_interval);
        let last = facts.export_dir.file_name().unwrap_or_default().to_string_lossy();
        Ok(Self {
            options,
            project: settings.project.clone().unwrap_or_else(|| facts.env_name.clone()),
            name: settings.name.clone().unwrap_or_else(|| last.into_owned()),
            tags: settings.tags.clone(),
        })
    }

    /// The directory of this start's metrics as records name it, where there are any.
    pub(in crate::suite) fn recorded_dir(&self, facts: &SuiteFacts) -> Option<String> {
        let directory = self.options.experiment_dir(&self.project, &self.name)?;
        let stored = directory.strip_prefix(&facts.export_dir).unwrap_or(&directory);
        Some(stored.to_string_lossy().into_owned())
    }
}
