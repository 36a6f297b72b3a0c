//! What people see while a suite runs: bars or plain lines, log output, tables.
//!
//! All of it goes to stderr except tables, which their callers print. Nothing here fails a run.
//!
//! - `text`: how numbers, times and text from data are written.
//! - `environment`: what the environment says about the display.
//! - `slots`: how many slots ended, those that run now, and how long the rest takes.
//! - `slot_log`: the log file of a slot.
//! - `stderr`: all writing to stderr: bars at the bottom, log lines above them.
//! - `logging`: the filters and formats of log output.
//! - `table`: plain tables.
//! - `suite`: the course of a suite, shown as bars or as plain lines.

mod environment;
#[cfg(feature = "cli")]
mod logging;
mod slot_log;
mod slots;
#[cfg(feature = "cli")]
mod stderr;
mod suite;
#[cfg(feature = "cli")]
mod table;
mod text;

#[cfg(feature = "cli")]
pub(crate) use logging::{init_logging, set_level};
pub(crate) use slot_log::{SlotLog, set_slot_log};
#[cfg(feature = "cli")]
pub(crate) use stderr::{stdout_width, write_lines};
pub(crate) use suite::SuiteConsole;
#[cfg(feature = "cli")]
pub(crate) use table::Table;
pub(crate) use text::{duration_text, escape_controls, escape_log_text};
