//! The strictest crate that a user may have: the macros raise nothing in it.
#![forbid(unsafe_code)]
#![no_implicit_prelude]
#![deny(
    warnings,
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    unused_qualifications,
    unused_lifetimes,
    unused_macro_rules,
    single_use_lifetimes,
    non_local_definitions,
    rust_2018_idioms,
    let_underscore_drop,
    nonstandard_style,
    trivial_casts,
    clippy::all,
    clippy::pedantic
)]
#![forbid(clippy::items_after_statements)]

// Local modules named as the crates that an expansion mentions.
mod core {}
mod inventory {}
mod rle {}
mod serde {}
mod std {}

::rle::stages! {
    rollout,
    train,
    /// With a text of its own.
    evaluation,
    checkpoint { save, load, deep { er } },
    #[cfg(any())]
    never,
    #[cfg(any())]
    absent { never },
}

/// Not the local a guard is kept in, nor the parameter of a closure.
#[allow(dead_code, non_upper_case_globals)]
const context: u8 = 0;

mod algorithms {
    use ::rle::{PrepareContext, Result, RunContext, RunResult};

    /// A config.
    #[derive(Debug, Default, ::serde::Serialize, ::serde::Deserialize)]
    pub(crate) struct Config {
        pub(crate) lr: f64,
    }

    /// Named by a keyword.
    #[::rle::algorithm]
    pub(crate) fn r#type(_: &RunContext) -> Result<RunResult> {
        ::std::result::Result::Ok(RunResult::new())
    }

    pub(crate) mod nested {
        use super::{Config, RunContext, RunResult};

        #[::rle::algorithm(
            name = "PPO w/ GAE",
            flag = "run_gae",
            requires(r#mod = "models/wm.bin", fingerprint),
            requires(fingerprint = "models/b.bin")
        )]
        pub(crate) fn gae(
            _ctx: &RunContext,
            #[allow(unused_mut)] mut config: Config,
        ) -> ::std::result::Result<RunResult, ::std::fmt::Error> {
            let Config { lr } = config;
            if lr > 0.0 {
                return ::std::result::Result::Err(::std::fmt::Error);
            }
            ::std::result::Result::Ok(RunResult::new())
        }
    }

    #[::rle::prepare(r#type, nested::gae, always)]
    pub(crate) fn r#match(_: &PrepareContext) -> Result<u8> {
        ::std::result::Result::Ok(1)
    }

    #[cfg(any())]
    #[::rle::algorithm]
    fn switched_off(_: &RunContext) -> Result<RunResult> {}

    #[::rle::algorithm]
    #[cfg(any())]
    fn switched_off(_: &RunContext) -> Result<RunResult> {}

    #[cfg_attr(all(), ::rle::algorithm(slug = "conditional"))]
    #[cfg_attr(all(), inline)]
    #[::rle::timed("train")]
    pub(crate) fn conditional(_: &RunContext) -> Result<RunResult> {
        ::std::result::Result::Ok(RunResult::new())
    }

    #[deprecated = "for the test: our mention of it is none of the user's"]
    #[::rle::algorithm]
    pub(crate) fn old(_: &RunContext) -> Result<RunResult> {
        ::std::result::Result::Ok(RunResult::new())
    }
}

#[::rle::timed("checkpoint.deep.er")]
fn items_first(x: u32) -> u32 {
    //! An inner doc comment.
    #![allow(clippy::let_and_return)]
    use ::std::primitive::u32 as Word;
    const ONE: Word = 1;
    fn inner(x: Word) -> Word {
        x + ONE
    }
    let y = inner(x);
    y
}

#[::rle::timed("train")]
fn one_line() {}

#[::rle::timed(rollout)]
#[must_use]
fn bare_identifier() -> u32 {
    1
}

#[::rle::timed(checkpoint::save, in = stages)]
fn bare_path() -> u32 {
    ::rle::timed_block!("checkpoint.load", {
        use ::std::convert::From;
        u32::from(3_u8)
    })
}

#[::rle::timed("shared", in = ::rle_tests::stages)]
fn of_another_crate() -> u32 {
    5
}

mod beside_a_library {
    #[::rle::timed(crate::stages::train)]
    pub(super) fn full_path() -> u32 {
        4
    }

    #[::rle::timed("shared", in = super::library::stages)]
    pub(super) fn imported() -> u32 {
        6
    }
}

mod library {
    pub(crate) use ::rle_tests::stages;
}

/// With parts that only a macro gives.
macro_rules! define {
    ($(#[$meta:meta])* $vis:vis $name:ident, $label:literal, $ty:ty, $body:block, $other:item) => {
        $(#[$meta])*
        #[::rle::algorithm(name = $label)]
        $vis fn $name(_: &::rle::RunContext) -> $ty $body

        #[::rle::timed("train")]
        $other
    };
}

define! {
    pub(crate) from_macro, "From a macro", ::rle::Result<::rle::RunResult>, {
        ::std::result::Result::Ok(::rle::RunResult::new())
    },
    /// Whole.
    pub(crate) fn whole_item() -> u32 { 7 }
}

#[test]
fn everything_is_callable() {
    #[::rle::algorithm]
    fn within_a_function(_: &::rle::RunContext) -> ::rle::Result<::rle::RunResult> {
        ::std::result::Result::Ok(::rle::RunResult::new())
    }

    one_line();
    let sum = items_first(1)
        + bare_identifier()
        + bare_path()
        + beside_a_library::full_path()
        + of_another_crate()
        + beside_a_library::imported()
        + whole_item();
    ::std::assert_eq!(sum, 2 + 1 + 3 + 4 + 5 + 6 + 7);
    ::std::assert_eq!(stages::checkpoint::deep::er.name(), "checkpoint.deep.er");
}
