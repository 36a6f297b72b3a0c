use serde::{Deserialize, Serialize};

use super::algorithms::resolve_config;
use super::resolve::suite_facts;
use crate::algorithm::AlgorithmSpec;
use crate::run::{RunContext, RunResult};
use crate::suite::config::SuiteConfig;

#[derive(Serialize, Deserialize)]
enum Optimiser {
    Sgd { momentum: f64 },
    Adam { beta: f64 },
}

#[derive(Serialize, Deserialize)]
struct Config {
    optimiser: Optimiser,
}

impl Default for Config {
    fn default() -> Self {
        Self { optimiser: Optimiser::Sgd { momentum: 0.5 } }
    }
}

#[test]
fn a_later_layer_may_choose_another_variant() {
    let run = |_: &RunContext, _: Config| -> crate::Result<RunResult> { Ok(RunResult::new()) };
    let spec = AlgorithmSpec::with_config("a", run);
    let config = SuiteConfig::new("e")
        .algorithm_config("a", Config { optimiser: Optimiser::Adam { beta: 0.9 } })
        .algorithm_config("a", Config { optimiser: Optimiser::Sgd { momentum: 0.25 } });
    let changes: Vec<_> = config.overrides.iter().collect();
    let resolved = resolve_config(&spec, &changes).unwrap();
    assert_eq!(resolved.to_string(), r#"{"optimiser":{"Sgd":{"momentum":0.25}}}"#);
}

#[test]
fn a_file_in_the_place_of_a_directory_is_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let config = SuiteConfig::new("e").export_dir(file.path().join("below"));
    let error = suite_facts(&config).unwrap_err().to_string();
    assert!(error.starts_with(&format!("{}: is a file", file.path().display())), "{error}");
}
