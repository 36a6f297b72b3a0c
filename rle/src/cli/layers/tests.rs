use super::*;
use crate::record::ProvenanceMode;

#[test]
fn help_and_version_are_no_variables() {
    let keys: Vec<_> = variable_keys().collect();
    assert!(keys.contains(&"num_runs") && keys.contains(&"format"), "{keys:?}");
    for switch in ["help", "version"] {
        assert!(!keys.contains(&switch), "{keys:?}");
    }
}

#[test]
fn paths_may_quote_segments_that_hold_dots() {
    let (path, text) = split_assignment("algorithm_configs.\"PPO v1.2\".lr=a=b").unwrap();
    assert_eq!(path, ["algorithm_configs", "PPO v1.2", "lr"]);
    assert_eq!(text, "a=b");
    for bad in ["lr", "a..b=1", "=1", "\"a=1", ""] {
        assert!(split_assignment(bad).is_err(), "{bad}");
    }
}

fn assigned(
    config: SuiteConfig,
    options: &[(&str, &str)],
    variables: &[(&str, &str)],
) -> Result<SuiteConfig, Error> {
    let owned = |(key, text): &(&str, &str)| ((*key).to_owned(), (*text).to_owned());
    let values = options.iter().map(owned).collect();
    let invocation = Invocation { command: crate::cli::args::Command::Run, operand: None, values };
    let variables = variables.iter().map(|(name, text)| (name.into(), text.into())).collect();
    assign_with(config, &invocation, &[], &variables).map(|request| request.config)
}

#[test]
fn an_option_outranks_the_same_key_of_the_shared_configuration() {
    let config = SuiteConfig::new("e").common("just_vis", true);
    let mut config = assigned(config, &[("just_vis", "false")], &[]).unwrap();
    crate::suite::config::selection::separate_common(&mut config, &[]).unwrap();
    assert!(!config.selection.just_vis);
}

#[test]
fn variables_give_options_but_neither_help_nor_version() {
    let variables = [("RLE_NUM_RUNS", "3"), ("RLE_BASE_SEED", ""), ("RLE_VERSION", "1.2")];
    let config = assigned(SuiteConfig::new("e"), &[], &variables).unwrap();
    assert_eq!((config.selection.num_runs, config.selection.base_seed), (3, 0));
    assert!(config.flags.is_empty());
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_no_text_is_refused() {
    use std::os::unix::ffi::OsStringExt;
    let variables = [("RLE_NUM_RUNS".into(), OsString::from_vec(vec![0xff]))].into();
    let error = variable("RLE_NUM_RUNS", &variables).unwrap_err();
    assert!(error.to_string().contains("RLE_NUM_RUNS"), "{error}");
}

#[test]
fn facts_are_added_one_by_one_and_keep_the_kind_that_they_have() {
    let suite = || SuiteConfig::new("x").provenance("build", 7);
    let config = assigned(
        suite(),
        &[
            ("provenance", "ticket=EXP-12=b"),
            ("provenance", "build=8"),
            ("set", "provenance.host.name=a"),
        ],
        &[],
    );
    // Only one level: a deeper path is refused rather than flattened.
    assert!(config.unwrap_err().to_string().contains("the path ends too early or goes too deep"));
    let config = assigned(
        suite(),
        &[
            ("provenance", "ticket=EXP-12=b"),
            ("provenance", "build=8"),
            ("set", "provenance.room=5"),
        ],
        &[],
    );
    let metadata = Value::Object(config.unwrap().provenance.metadata);
    assert_eq!(metadata.to_string(), r#"{"build":8,"room":"5","ticket":"EXP-12=b"}"#);
    let message = assigned(suite(), &[("provenance", "build=new")], &[]).unwrap_err().to_string();
    assert!(message.starts_with("--provenance: ") && message.contains("build"), "{message}");
    let message = assigned(suite(), &[("provenance", "ticket")], &[]).unwrap_err().to_string();
    assert!(message.contains("expected KEY=VALUE"), "{message}");
}

#[test]
fn a_table_of_a_file_adds_facts_and_a_mode_is_one_of_three() {
    let config = SuiteConfig::new("x").provenance("build", 7);
    let mut layers = Layers::new(config, &[], Command::Run);
    let table = Value::parse_json(br#"{"ticket": {"id": 12}}"#).unwrap();
    layers.assign("provenance", &Raw::Value(table), "f: provenance").unwrap();
    let metadata = Value::Object(layers.config.provenance.metadata.clone());
    assert_eq!(metadata.to_string(), r#"{"build":7,"ticket":{"id":12}}"#);
    let text = Raw::Value(Value::from("a=b"));
    assert!(layers.assign("provenance", &text, "f: provenance").is_err());
    let config = assigned(layers.config, &[("provenance_mode", "require_clean")], &[]).unwrap();
    assert_eq!(config.provenance.mode, ProvenanceMode::RequireClean);
    let message = assigned(config, &[("provenance_mode", "clean")], &[]).unwrap_err().to_string();
    assert!(
        message.starts_with("--provenance-mode: `clean` is not a provenance mode"),
        "{message}"
    );
}

#[test]
fn packages_and_patterns_are_lists() {
    let given = [("provenance_packages", "burn, rand"), ("provenance_inputs", "[data/*.json]")];
    let config = assigned(SuiteConfig::new("x"), &given, &[]).unwrap();
    assert_eq!(config.provenance.packages, ["burn", "rand"]);
    assert_eq!(config.provenance.inputs, ["data/*.json"]);
}
