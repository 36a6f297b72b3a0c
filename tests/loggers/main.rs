//! What the metric loggers write is read by the programs it is written for.
//!
//! Those are packages of `RLE_PYTHON` (`python3`): `tensorboard`, `wandb`, `swanlab`. A test
//! whose package is missing is skipped, unless `RLE_REQUIRE_PEERS=1` asks for it.
#![allow(
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    reason = "tests: what is missing may panic, and steps are small"
)]

mod kills;
mod sending;
mod suite;
mod support;
mod swanlab;
mod tensorboard;
mod wandb;
