//! The values of a start's children: what they inherit is said in the table of settings.

use std::path::Path;

use crate::names::SlotId;
use crate::suite::config::SuiteConfig;
use crate::suite::config::settings::{Child, settings};

impl SuiteConfig {
    /// The values of a worker.
    pub(crate) fn for_worker(&self) -> Self {
        self.inherited_by(Child::Worker)
    }

    /// The values of a trial of one slot, which writes below `export_dir`; `stop_at_save` stops it
    /// after each checkpoint.
    pub(crate) fn for_trial(&self, slot: &SlotId, export_dir: &Path, stop_at_save: bool) -> Self {
        let mut config = self.inherited_by(Child::Trial);
        config.stop_at_save = stop_at_save;
        config
            .export_dir(export_dir)
            .algorithms([slot.slug().as_str()])
            .run_numbers([slot.run_idx()])
            .checkpoints(true)
            .log_backends([])
    }

    /// The suite with the defaults of the settings that the child does not inherit.
    fn inherited_by(&self, child: Child) -> Self {
        let mut config = self.clone();
        let mut defaults = Self::new(self.env_name.as_str());
        let reset = settings().filter(|setting| !setting.inherited_by.contains(&child));
        for setting in reset {
            let Some(field) = setting.field else { continue };
            field(&mut config).copy_from(field(&mut defaults));
            // What the shared configuration may set too would set it again.
            config.common_config.remove(setting.key);
        }
        config
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::config::raw::{Given, Raw};
    use crate::value::Value;

    /// A value that is not the default.
    fn other(key: &str) -> &'static str {
        match key {
            "num_runs" => "5",
            "run_numbers" => "1,3",
            "base_seed" => "18446744073709551615",
            "export_dir" | "log_dir" => "elsewhere",
            "algorithms" => "beta",
            "resume_completed_runs" | "resume_checkpoints" => "false",
            "rerun" => "beta:1",
            "accept" => "provenance.source",
            "jobs" | "gpus_per_run" | "retries" => "3",
            "timeout" | "stop_after" | "log_flush_interval" => "90s",
            "on_busy" => "wait",
            "provenance_mode" => "supplied",
            "provenance" => "ticket=EXP-12",
            "provenance_packages" | "provenance_inputs" | "log_tags" => "a,b",
            "log_backend" => "none",
            "log_level" => "debug",
            "log_mode" => "disabled",
            "log_project" | "log_name" => "x",
            _ => "true",
        }
    }

    /// What the child has of a setting whose value is not the default, and that value.
    fn in_child(key: &str, child: Child, default: &Value) -> (Value, Value) {
        let setting = settings().find(|setting| setting.key == key).unwrap();
        let field = setting.field.unwrap();
        let mut config = SuiteConfig::new("maze");
        let raw = Raw::Text(other(key).to_owned());
        field(&mut config).assign(&Given { raw: &raw, origin: "test", specs: &[] }).unwrap();
        let given = field(&mut config).value();
        assert_ne!(given, *default, "{key} has a value of its own in this test");
        let slot = SlotId::new(crate::Slug::new("alpha").unwrap(), 2);
        let mut child = match child {
            Child::Worker => config.for_worker(),
            Child::Trial => config.for_trial(&slot, Path::new("/scratch"), true),
        };
        (field(&mut child).value(), given)
    }

    #[test]
    fn a_worker_and_a_trial_inherit_of_every_setting_what_the_table_says() {
        for setting in settings() {
            let Some(field) = setting.field else { continue };
            let default = field(&mut SuiteConfig::new("maze")).value();
            for child in [Child::Worker, Child::Trial] {
                let (found, given) = in_child(setting.key, child, &default);
                let expected = match (setting.key, child) {
                    ("export_dir", Child::Trial) => Value::from("/scratch"),
                    ("algorithms", Child::Trial) => Value::from(vec!["alpha"]),
                    ("run_numbers", Child::Trial) => Value::from(vec![2]),
                    ("checkpoint_enabled", Child::Trial) => Value::from(true),
                    ("log_backend", Child::Trial) => Value::from(vec!["none"]),
                    _ if setting.inherited_by.contains(&child) => given,
                    _ => default.clone(),
                };
                assert_eq!(found, expected, "{} in a {child:?}", setting.key);
            }
        }
    }

    #[test]
    fn neither_child_stops_retries_or_deals_out_gpus_as_the_suite_does() {
        let not_inherited =
            ["jobs", "gpus_per_run", "fail_fast", "retries", "timeout", "stop_after"];
        for key in not_inherited {
            let setting = settings().find(|setting| setting.key == key).unwrap();
            assert_eq!(setting.inherited_by, [], "{key}");
        }
    }

    #[test]
    fn the_shared_configuration_sets_nothing_again_that_a_child_does_not_inherit() {
        let config = SuiteConfig::new("maze").common("restart_completed_runs", true).common("a", 1);
        let slot = SlotId::new(crate::Slug::new("alpha").unwrap(), 0);
        let trial = config.for_trial(&slot, Path::new("/scratch"), false);
        assert_eq!(trial.common_config.keys().collect::<Vec<_>>(), ["a"]);
    }
}
