//! What people see while a suite runs: bars or plain lines, log output, tables.
//!
//! All of it goes to stderr except tables, which their callers print. Nothing here fails a run.

#[cfg(feature = "cli")]
mod bars;
mod environment;
#[cfg(feature = "cli")]
mod foot;
#[cfg(feature = "cli")]
mod logging;
mod running;
mod slot_log;
#[cfg(feature = "cli")]
mod stderr;
mod suite;
#[cfg(feature = "cli")]
mod table;
mod tally;
mod text;

#[cfg(feature = "cli")]
pub(crate) use logging::{init_logging, set_level};
pub(crate) use slot_log::{SlotLog, set_slot_log};
#[cfg(feature = "cli")]
pub(crate) use stderr::{stdout_width, write_lines};
pub(crate) use suite::SuiteConsole;
#[cfg(feature = "cli")]
pub(crate) use table::Table;
pub(crate) use tally::SlotOutcome;
#[cfg(feature = "cli")]
pub(crate) use text::{duration_text, escape_controls, escape_log_text};
