//! What the metric loggers write is read by the programs it is written for.
//!
//! Those are packages of `RLE_PYTHON` (`python3`): `tensorboard`, `wandb`, `swanlab`. A test
//! whose package is missing is skipped, unless `RLE_REQUIRE_PEERS=1` asks for it.

mod kills;
mod sending;
mod support;
mod swanlab;
mod tensorboard;
mod wandb;
