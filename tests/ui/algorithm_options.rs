//! Options that are not accepted.
use rle::prelude::*;

macro_rules! algorithms {
    ($($(#[$attr:meta])* $name:ident)*) => {
        $($(#[$attr])* fn $name(_: &RunContext) -> rle::Result<RunResult> { Ok(RunResult::new()) })*
    };
}

algorithms! {
    #[rle::algorithm(nmae = "IPPO")] unknown_near
    #[rle::algorithm(epochs = 3)] unknown
    #[rle::algorithm("IPPO")] value
    #[rle::algorithm(name)] no_value
    #[rle::algorithm(name = 3)] not_text
    #[rle::algorithm(name = "a", name = "b")] twice
    #[rle::algorithm(name = "λ")] empty_slug
    #[rle::algorithm(slug = "")] given_empty_slug
    #[rle::algorithm(slug = "Shielded-IPPO")] bad_slug
    #[rle::algorithm(slug = "runs")] reserved_slug
    #[rle::algorithm(name = "Runs")] reserved_name
    #[rle::algorithm(slug = "_logs")] framework_slug
    #[rle::algorithm(slug = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")] long_slug
    #[rle::algorithm(flag = "run-ippo")] bad_flag
    #[rle::algorithm(flag = "_run")] bad_flag_start
    #[rle::algorithm(flag = "run_numbers")] built_in_flag
    #[rle::algorithm(flag = "gpus_per_run")] built_in_flag_of_the_suite
    #[rle::algorithm(flag = "log_level")] built_in_flag_of_logging
    #[rle::algorithm(flag = "only_locked")] built_in_flag_of_a_command
    #[rle::algorithm(flag = "log")] built_in_section
    #[rle::algorithm(requires)] requires_nothing
    #[rle::algorithm(requires())] requires_empty
    #[rle::algorithm(requires("models/wm.bin"))] requires_no_label
    #[rle::algorithm(requires(a = "a", b = "b"))] requires_two
    #[rle::algorithm(requires(a = "a", fingerprints))] requires_unknown
    #[rle::algorithm(requires(a = ""))] requires_empty_path
    #[rle::algorithm(requires(a = "a"), requires(a = "b"))] requires_twice
    #[rle::algorithm(crate = "rle")] crate_text
    #[rle::algorithm(name = "A",, slug = "a")] comma
}

fn main() {}
