//! The files of TensorBoard, Weights & Biases and SwanLab.
//!
//! Each logger knows its own format; none of them knows a service or another backend.
//!
//! - `checksum`: CRC-32 and CRC-32C.
//! - `wire`: the encoding of protocol buffers.
//! - `file`: a file being appended to, which never ends in a torn record.
//! - `record_log`: the framing of records, as W&B and SwanLab have it.
//! - `run_directory`: the directories of the offline runs of a slot.
//! - `offline_run`: an offline run of W&B or SwanLab.
//! - `tensorboard`: the logger of TensorBoard.
//! - `wandb`: the logger of W&B.
//! - `swanlab`: the logger of SwanLab.

mod checksum;
mod file;
mod offline_run;
mod record_log;
mod run_directory;
pub(super) mod swanlab;
mod tensorboard;
pub(super) mod wandb;
mod wire;

pub(super) use swanlab::Swanlab;
pub(super) use tensorboard::TensorBoard;
pub(super) use wandb::Wandb;
