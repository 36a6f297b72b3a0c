//! An algorithm of a library that knows the crate under another name.

use engine::prelude::*;

engine::stages! { crate = engine, learn }

/// What beta is told.
#[derive(Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    lr: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { lr: 0.5 }
    }
}

/// With a typed configuration and a prepare.
#[engine::algorithm(name = "Beta", crate = engine)]
fn beta(ctx: &RunContext, config: Settings) -> engine::Result<RunResult> {
    let prepared: f64 = ctx.prepared()?;
    Ok(RunResult::new().metric("product", learn(config.lr, prepared)))
}

#[engine::prepare(beta, crate = engine)]
fn ready(_: &PrepareContext) -> engine::Result<f64> {
    Ok(4.0)
}

#[engine::timed("learn", crate = engine)]
fn learn(lr: f64, prepared: f64) -> f64 {
    lr * prepared
}
