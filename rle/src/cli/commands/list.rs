//! The command `list`: what is registered in this program.

use serde::Serialize;

use crate::Error;
use crate::algorithm::registry;
use crate::algorithm::spec::{AlgorithmSpec, ConfigSource};
use crate::console::{Table, stdout_width};
use crate::suite::resolve_config;
use crate::value::Value;

use crate::cli::show::{self, Format};

#[derive(Serialize)]
struct ListedAlgorithm<'a> {
    name: &'a str,
    slug: &'a str,
    flag: Option<&'a str>,
    prepare: Option<&'a str>,
    requires: Vec<&'a str>,
    /// None where the defaults cannot be used, which `fault` explains.
    config: Option<Value>,
    fault: Option<String>,
    location: Option<String>,
    description: &'a str,
}

#[derive(Serialize)]
struct Listed<'a> {
    algorithms: Vec<ListedAlgorithm<'a>>,
    stages: Vec<&'static str>,
}

pub(in crate::cli) fn list(specs: &[AlgorithmSpec], format: Format) -> Result<u8, Error> {
    let stages = registry::stages();
    match format {
        Format::Json => {
            show::json(&Listed { algorithms: specs.iter().map(listed).collect(), stages })?;
        }
        Format::Text => show::out(&text(specs, &stages))?,
    }
    Ok(0)
}

/// One algorithm whose defaults cannot be used must not hide the others.
fn listed(spec: &AlgorithmSpec) -> ListedAlgorithm<'_> {
    let config = match (&spec.variant, &spec.config) {
        (Some(variant), _) => resolve_config(spec, &[&variant.change]),
        (None, ConfigSource::Typed(config_type)) => config_type.defaults().map_err(Error::from),
        (None, ConfigSource::Untyped(value)) => Ok(value.clone()),
    };
    let (config, fault) = match config {
        Ok(config) => (Some(config), None),
        Err(fault) => (None, Some(fault.to_string())),
    };
    ListedAlgorithm {
        name: &spec.name,
        slug: &spec.slug,
        flag: spec.flag.as_deref(),
        prepare: spec.prepare.as_ref().map(|prepare| prepare.name.as_str()),
        requires: spec.requires.iter().map(|required| required.path.as_str()).collect(),
        config,
        fault,
        location: spec.location.map(|location| location.to_string()),
        description: spec.doc,
    }
}

fn text(specs: &[AlgorithmSpec], stages: &[&str]) -> String {
    if specs.is_empty() {
        return "no algorithm is registered: mark a function with #[rle::algorithm], and add `use \
                that_crate as _;` if it is in another crate\n"
            .to_owned();
    }
    let mut table = Table::new(["algorithm", "slug", "flag", "description", "where"]);
    for spec in specs {
        let place = spec.location.map_or(String::new(), |location| location.to_string());
        let flag = spec.flag.as_deref().unwrap_or("always selected");
        table.row([&spec.name, &spec.slug, flag, spec.doc, &place]);
    }
    let mut text = table.render(stdout_width());
    text.push('\n');
    for spec in specs {
        let ListedAlgorithm { slug, config, fault, prepare, requires, .. } = listed(spec);
        text.extend(config.iter().map(|config| format!("{slug} config {config}\n")));
        text.extend(fault.iter().map(|fault| format!("{slug} cannot run: {fault}\n")));
        text.extend(prepare.iter().map(|prepare| format!("{slug} prepare {prepare}\n")));
        text.extend(requires.iter().map(|required| format!("{slug} requires {required}\n")));
    }
    let stages = if stages.is_empty() { "none".to_owned() } else { stages.join(", ") };
    text + "\nstages " + &stages + "\n"
}
