//! An algorithm as the runner sees it, however it was declared.

use std::any::TypeId;
use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Slug;
use crate::algorithm::ConfigType;
use crate::run::{PrepareContext, RunContext, RunResult};
use crate::value::Value;

/// An error of a trainer: whatever it returned, with its chain of sources.
pub(crate) type TrainerError = Box<dyn StdError + Send + Sync>;

pub(crate) type RunOutcome = Result<RunResult, TrainerError>;

pub(crate) type PrepareOutcome = Result<Value, TrainerError>;

type RunFn = Arc<dyn Fn(&RunContext) -> RunOutcome + Send + Sync>;
type PrepareFn = Arc<dyn Fn(&PrepareContext) -> PrepareOutcome + Send + Sync>;

/// Where something was declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[doc(hidden)]
pub struct Location {
    /// The source file as the compiler names it.
    pub file: &'static str,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// A file or directory that must exist before an algorithm runs: texts are `&'static str` where an
/// attribute declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement<S = String> {
    /// The name under which the algorithm asks for it.
    pub label: S,
    /// The path as written.
    pub path: S,
    /// Whether the content is part of the identity.
    pub fingerprint: bool,
}

/// The outcome of a prepare, with what it returned as a JSON value.
pub(crate) fn prepare_outcome<T: Serialize, E: Into<TrainerError>>(
    returned: Result<T, E>,
) -> PrepareOutcome {
    let value = returned.map_err(Into::into)?;
    Ok(Value::from_serialize(&value).map_err(|error| error.under_key("prepared"))?)
}

/// Where an algorithm's configuration comes from before anything overrides it.
#[derive(Clone)]
pub(crate) enum ConfigSource {
    Typed(ConfigType),
    Untyped(Value),
}

/// A request for one algorithm's configuration, under its name or slug.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct AlgorithmOverride {
    /// As written: a label or a slug.
    pub(crate) algorithm: String,
    /// Where it was written, for messages.
    pub(crate) origin: String,
    pub(crate) change: ConfigChange,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ConfigChange {
    /// A table merged key by key.
    Table(Value),
    /// One value as text: the declared type decides how it is read.
    Text { path: Vec<String>, text: String },
}

/// A prepare step: run once before the first slot of its algorithms that has to run.
#[derive(Clone)]
pub(crate) struct Prepare {
    pub(crate) name: String,
    pub(crate) always: bool,
    pub(crate) location: Option<Location>,
    /// Whether several algorithms share it; it then sees no algorithm configuration.
    pub(crate) shared: bool,
    pub(crate) run: PrepareFn,
}

/// An algorithm given as a value: what `#[rle::algorithm]` declares, without the attribute.
///
/// ```
/// use rle::{AlgorithmSpec, RunContext, RunResult};
///
/// fn random(ctx: &RunContext) -> rle::Result<RunResult> {
///     Ok(RunResult::new().metric("final_reward", ctx.seed()))
/// }
///
/// let spec = AlgorithmSpec::new("Random", random).flag("run_random");
/// # let _ = spec;
/// ```
#[derive(Clone)]
#[must_use]
pub struct AlgorithmSpec {
    pub(crate) name: Cow<'static, str>,
    pub(crate) slug: Cow<'static, str>,
    pub(crate) flag: Option<Cow<'static, str>>,
    pub(crate) config: ConfigSource,
    pub(crate) requires: Vec<Requirement>,
    pub(crate) prepare: Option<Arc<Prepare>>,
    pub(crate) doc: &'static str,
    pub(crate) location: Option<Location>,
    pub(crate) type_id: Option<TypeId>,
    pub(crate) run: RunFn,
    pub(crate) faults: Vec<String>,
    /// Set where this is an algorithm under another name.
    pub(crate) variant: Option<Box<VariantOf>>,
}

#[derive(Clone)]
pub(crate) struct VariantOf {
    /// The algorithm's slug.
    pub(crate) algorithm: String,
    pub(crate) change: AlgorithmOverride,
}

impl AlgorithmSpec {
    /// An algorithm under a display label. Its configuration is an untyped table:
    /// [`config`](Self::config), read back with [`RunContext::config`].
    pub fn new<F, E>(name: impl Into<String>, run: F) -> Self
    where
        F: Fn(&RunContext) -> Result<RunResult, E> + Send + Sync + 'static,
        E: Into<TrainerError>,
    {
        let run = move |context: &RunContext| run(context).map_err(Into::into);
        let config = ConfigSource::Untyped(Value::object());
        Self::labelled(name.into(), config, Arc::new(run))
    }

    /// An algorithm with a typed configuration, handed to `run` as its second argument.
    pub fn with_config<C, F, E>(name: impl Into<String>, run: F) -> Self
    where
        C: Serialize + DeserializeOwned + Default + 'static,
        F: Fn(&RunContext, C) -> Result<RunResult, E> + Send + Sync + 'static,
        E: Into<TrainerError>,
    {
        let run = move |context: &RunContext| {
            let config = context.config_as::<C>()?;
            run(context, config).map_err(Into::into)
        };
        let config = ConfigSource::Typed(ConfigType::of::<C>());
        Self::labelled(name.into(), config, Arc::new(run))
    }

    fn labelled(name: String, config: ConfigSource, run: RunFn) -> Self {
        let slug = Slug::text_from_label(&name);
        Self::from_parts(name.into(), slug.into(), config, run)
    }

    pub(crate) fn from_parts(
        name: Cow<'static, str>,
        slug: Cow<'static, str>,
        config: ConfigSource,
        run: RunFn,
    ) -> Self {
        Self {
            name,
            slug,
            flag: None,
            config,
            requires: Vec::new(),
            prepare: None,
            doc: "",
            location: None,
            type_id: None,
            run,
            faults: Vec::new(),
            variant: None,
        }
    }

    /// Replaces the slug that the label gives.
    pub fn slug(mut self, slug: impl Into<String>) -> Self {
        self.slug = Cow::Owned(slug.into());
        self
    }

    /// Makes the algorithm depend on a flag of the suite (`run_ippo`, option `--run-ippo`).
    pub fn flag(mut self, flag: impl Into<String>) -> Self {
        self.flag = Some(Cow::Owned(flag.into()));
        self
    }

    /// The default configuration: a map, or anything that serialises to one.
    ///
    /// For an algorithm made with [`with_config`](Self::with_config) the type's own default is
    /// the default; override it with [`SuiteConfig::algorithm_config`](crate::SuiteConfig::algorithm_config).
    pub fn config(mut self, config: impl Serialize) -> Self {
        match (Value::from_serialize(&config), &self.config) {
            (_, ConfigSource::Typed(_)) => self.faults.push(format!(
                "algorithm `{}`: a typed configuration has its own default; use \
                 SuiteConfig::algorithm_config to override it",
                self.name
            )),
            (Ok(value), ConfigSource::Untyped(_)) => self.config = ConfigSource::Untyped(value),
            (Err(error), _) => {
                self.faults.push(format!("configuration of algorithm `{}`: {error}", self.name));
            }
        }
        self
    }

    /// A step that runs once before the first slot that has to run. `name` names its
    /// directory below `_prepared` and its timing stage `<name>_prepare`.
    pub fn prepare<F, T, E>(mut self, name: impl Into<String>, run: F) -> Self
    where
        F: Fn(&PrepareContext) -> Result<T, E> + Send + Sync + 'static,
        T: Serialize,
        E: Into<TrainerError>,
    {
        let run = move |context: &PrepareContext| prepare_outcome(run(context));
        self.prepare = Some(Arc::new(Prepare {
            name: name.into(),
            always: false,
            location: None,
            shared: false,
            run: Arc::new(run),
        }));
        self
    }

    /// A file or directory that must exist before anything runs: relative paths stand below
    /// the export directory.
    pub fn requires(self, label: impl Into<String>, path: impl Into<String>) -> Self {
        self.required(label.into(), path.into(), false)
    }

    /// Like [`requires`](Self::requires), and its content is part of the run's identity.
    pub fn requires_fingerprint(self, label: impl Into<String>, path: impl Into<String>) -> Self {
        self.required(label.into(), path.into(), true)
    }

    fn required(mut self, label: String, path: String, fingerprint: bool) -> Self {
        if self.requires.iter().any(|required| required.label == label) {
            self.faults.push(format!(
                "algorithm `{}`: the required artifact `{label}` is declared twice",
                self.name
            ));
        }
        self.requires.push(Requirement { label, path, fingerprint });
        self
    }

    /// `IPPO (src/ppo.rs:12)`: for messages about the registry.
    pub(crate) fn described(&self) -> String {
        match &self.location {
            Some(location) => format!("`{}` ({location})", self.name),
            None => format!("`{}`", self.name),
        }
    }
}

impl fmt::Debug for AlgorithmSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AlgorithmSpec")
            .field("name", &self.name)
            .field("slug", &self.slug)
            .field("flag", &self.flag)
            .finish_non_exhaustive()
    }
}
