//! The files of the vendors: TensorBoard, Weights & Biases and SwanLab.
//!
//! - `tensorboard`, `wandb`, `swanlab`: a metric logger each.
//! - `file`: a file that is appended to, and cut back when a run resumes.
//! - `record_log`: the framing of records, read and written.
//! - `segment`, `wire`, `checksum`, `hparams`: parts of the formats.

mod checksum;
mod file;
mod hparams;
mod record_log;
mod segment;
pub(super) mod swanlab;
pub(super) mod tensorboard;
pub(super) mod wandb;
mod wire;
