//! What the commands `timings` and `locks` have in common: which files they are about.

use std::path::PathBuf;

use serde::Serialize;

use crate::Error;
use crate::cli::args::Invocation;
use crate::cli::inspect::{FileProblem, Scope, Wanted};
use crate::cli::layers::{self, Request};
use crate::cli::show::{self, Format};
use crate::fs::directory_of;
use crate::suite::config::raw::{Raw, parse_bool, parse_list, parse_uint};

/// The files that one command is about, and its options.
pub(in crate::cli) struct Inspection<'a> {
    pub(in crate::cli) scope: Scope,
    pub(in crate::cli) format: Format,
    invocation: &'a Invocation,
}

impl<'a> Inspection<'a> {
    /// Of a generated program: without a root it is about the program's own export directory, as
    /// one group of the directory that it lies in.
    pub(in crate::cli) fn of_program(
        request: &Request,
        invocation: &'a Invocation,
    ) -> Result<Self, Error> {
        let export_dir = request.config.export_dir.as_path();
        let (root, start) = match (named_root(invocation)?, export_dir.parent()) {
            (Some(root), _) => (root, None),
            (None, None) => (export_dir.to_owned(), None),
            (None, Some(parent)) if invocation.last("groups").is_none() => {
                (parent.to_owned(), Some(export_dir.to_owned()))
            }
            (None, Some(_)) => (directory_of(export_dir).to_owned(), None),
        };
        let scope = scope(root, start, invocation);
        Ok(Self { scope, format: request.asked.format, invocation })
    }

    /// Of the program that belongs to no suite.
    pub(in crate::cli) fn of_root(
        invocation: &'a Invocation,
        default_root: &str,
    ) -> Result<Self, Error> {
        let format = invocation.last("format");
        let format = format.map_or(Ok(Format::default()), |text| {
            layers::parse_format(text, "--format", invocation.command)
        })?;
        let root = named_root(invocation)?.unwrap_or_else(|| PathBuf::from(default_root));
        Ok(Self { scope: scope(root, None, invocation), format, invocation })
    }

    /// The text of an option.
    pub(in crate::cli) fn text(&self, key: &str) -> Option<&str> {
        self.invocation.last(key)
    }

    /// All texts of an option that adds up, split at commas.
    pub(in crate::cli) fn list(&self, key: &str, origin: &str) -> Result<Vec<String>, Error> {
        let given = self.invocation.values.iter().filter(|(name, _)| name == key);
        let mut list = Vec::new();
        for (_, text) in given {
            list.extend(parse_list(&Raw::Text(text.clone()), origin)?);
        }
        Ok(list)
    }

    /// Whether a switch is on.
    pub(in crate::cli) fn is_on(&self, key: &str, origin: &str) -> Result<bool, Error> {
        let given = self.text(key);
        given.map_or(Ok(false), |text| parse_bool(&Raw::Text(text.to_owned()), origin))
    }

    /// A count, at least 1.
    pub(in crate::cli) fn count(&self, key: &str, origin: &str) -> Result<Option<usize>, Error> {
        let Some(text) = self.text(key) else { return Ok(None) };
        match parse_uint::<u32>(&Raw::Text(text.to_owned()), origin, u32::MAX.into())? {
            0 => Err(Error::usage(format!("{origin}: expected at least 1, found 0"))),
            count => Ok(Some(count as usize)),
        }
    }

    /// Prints what was found, and on stderr what could not be read where no JSON says it already.
    pub(in crate::cli) fn print(
        &self,
        found: &impl Serialize,
        faults: &[FileProblem],
        text: impl FnOnce() -> String,
    ) -> Result<(), Error> {
        match self.format {
            Format::Json => {
                let export_root = self.scope.root.display().to_string();
                show::json(&Printed { export_root, found })?;
            }
            Format::Text => show::out(&text())?,
        }
        show::faults(faults, self.format);
        Ok(())
    }

    /// The directory that is read, for messages.
    pub(in crate::cli) fn place(&self) -> std::path::Display<'_> {
        self.scope.start.as_deref().unwrap_or(&self.scope.root).display()
    }
}

/// What these commands print as JSON.
#[derive(Serialize)]
struct Printed<'a, T> {
    export_root: String,
    #[serde(flatten)]
    found: &'a T,
}

/// The root that the command line names.
fn named_root(invocation: &Invocation) -> Result<Option<PathBuf>, Error> {
    match invocation.last("export_root") {
        // As a script gives it whose variable is not set.
        Some("") => Err(Error::usage(
            "--export-root names no directory; give the one of the groups, or leave the option out",
        )),
        root => Ok(root.map(PathBuf::from)),
    }
}

fn scope(root: PathBuf, start: Option<PathBuf>, invocation: &Invocation) -> Scope {
    Scope {
        root,
        start,
        groups: Wanted::of(invocation.last("groups")),
        algorithms: Wanted::of(invocation.last("algorithms")),
    }
}
