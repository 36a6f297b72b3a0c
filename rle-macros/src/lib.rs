//! The attribute macros of the `rle` crate.
//!
//! Nothing here decides anything at run time: an expansion is the function as written, and either
//! one registration of plain data or one guard line. Use them through `rle`, whose documentation
//! covers both.
#![forbid(unsafe_code)]

mod algorithm;
mod args;
mod body;
mod built_in;
mod error;
mod item;
mod main_fn;
mod name;
mod prepare;
mod stages;
mod timed;
mod tokens;

use proc_macro::TokenStream;

/// Registers a function as an algorithm of the program.
///
/// The function takes the context, and as a second argument its configuration if it has one: any
/// `Serialize + DeserializeOwned + Default` type. It stays an ordinary function.
///
/// ```ignore
/// /// Independent PPO.
/// #[rle::algorithm(name = "IPPO", flag = "run_ippo", requires(model = "models/wm.bin"))]
/// fn ippo(ctx: &RunContext, config: Ippo) -> rle::Result<RunResult> {
///     // ..
/// }
/// ```
///
/// - `name = ".."`: its name in tables and curves. Any string; the function's name by default.
/// - `slug = ".."`: its name in files, `[a-z0-9_]+`, at most 100 bytes. By default the name
///   lower-cased, every run of other characters one `_`. Two algorithms of one crate with the same
///   slug do not compile.
/// - `flag = ".."`: the flag that selects it, `[a-z][a-z0-9_]*`: `run_ippo` gives the program an
///   option `--run-ippo`. Several algorithms may share one. Without a flag it is always selected.
/// - `requires(label = "path")` or `requires(label = "path", fingerprint)`: a file that must exist
///   before anything runs; with `fingerprint` its content is part of the run's identity. One
///   artifact each; write it as often as needed.
/// - `crate = path`: where the `rle` crate is found, if it is not called `rle`.
#[proc_macro_attribute]
pub fn algorithm(attr: TokenStream, item: TokenStream) -> TokenStream {
    algorithm::expand(attr.into(), item.into()).into()
}

/// Registers a function that runs once before its algorithms do, and whose value they get.
///
/// The algorithms are named by the paths of their functions, so that a typo does not compile. The
/// value may be anything `Serialize`.
///
/// ```ignore
/// #[rle::prepare(shielded_ippo, algorithms::shielded_q)]
/// fn synthesise_shield(ctx: &PrepareContext) -> rle::Result<ShieldFiles> {
///     // ..
/// }
/// ```
///
/// - `always`: run it at every start that runs anything, rather than reuse its result.
/// - `crate = path`: where the `rle` crate is found, if it is not called `rle`.
#[proc_macro_attribute]
pub fn prepare(attr: TokenStream, item: TokenStream) -> TokenStream {
    prepare::expand(attr.into(), item.into()).into()
}

/// Records how long each call of a function takes, under a stage declared by [`stages!`].
///
/// Free functions, methods, associated functions, generic, `async`, `unsafe` and `extern` ones,
/// with any return type. A return, an early one, a `?` and a panic are recorded alike. The body of
/// an `async fn` is timed from its first poll to its end, waiting included. A `const fn` cannot be
/// timed.
///
/// ```ignore
/// #[rle::timed("train")]
/// fn train_step(policy: &mut Policy) -> f64 {
///     // ..
/// }
/// ```
///
/// The stage is a literal (`"train"`, `"checkpoint.save"`) or a path (`train`,
/// `checkpoint::save`), looked for in `crate::stages`: one that is not declared does not compile.
///
/// - `debug`: only where `RLE_DEBUG` is set.
/// - `metric`: each call's time also goes to the metrics, as `time_profile/<stage>`.
/// - `group = ".."`: its block in summaries, instead of the one of the module.
/// - `in = path`: another module of stages. A binary beside a library rather writes
///   `use mylib::stages;` at its root.
/// - `crate = path`: where the `rle` crate is found, if it is not called `rle`.
///
/// [`stages!`]: macro@stages
#[proc_macro_attribute]
pub fn timed(attr: TokenStream, item: TokenStream) -> TokenStream {
    timed::expand(attr.into(), item.into()).into()
}

/// Records how long a block takes; takes what [`timed`](macro@timed) takes, then the block.
///
/// Its value is the value of the block, and `return`, `break` and `?` work in it as without the
/// macro. (It has a name of its own because an attribute and a function-like macro of one crate
/// cannot share one.)
///
/// ```ignore
/// let loss = rle::timed_block!("train", { policy.update(&batch)? });
/// ```
#[proc_macro]
pub fn timed_block(input: TokenStream) -> TokenStream {
    timed::expand_block(input.into()).into()
}

/// Declares the stages of this crate: a module `stages` of constants.
///
/// ```ignore
/// rle::stages! {
///     rollout,
///     /// Gradient steps.
///     train,
///     checkpoint { save, load },
/// }
/// ```
///
/// Names are `[a-z][a-z0-9_]*`. A stage in a group is called `checkpoint.save`; the group itself
/// is no stage. Names that end in `_run` or `_prepare` are kept for the time of whole runs and
/// prepares. Doc comments and `#[cfg]` may stand before a name. Write it at the root of the crate,
/// where [`timed`](macro@timed) looks for it. A first `crate = path,` says where the `rle` crate is
/// found, if it is not called `rle`; the path must hold in any module.
#[proc_macro]
pub fn stages(input: TokenStream) -> TokenStream {
    stages::expand(input.into()).into()
}

/// Makes a program of a `main` that returns the suite's configuration.
///
/// The function returns `SuiteConfig` or any `Result` of one. It is called at every start, in
/// workers too, after the command line is read.
///
/// ```ignore
/// #[rle::main]
/// fn main() -> SuiteConfig {
///     SuiteConfig::new("pursuit").num_runs(3)
/// }
/// ```
///
/// `crate = path` says where the `rle` crate is found, if it is not called `rle`.
#[proc_macro_attribute]
pub fn main(attr: TokenStream, item: TokenStream) -> TokenStream {
    main_fn::expand(attr.into(), item.into()).into()
}
