//! What a suite logs: settings, files, records, resumed and repeated runs.
#![allow(clippy::unwrap_used, reason = "tests: what is missing may panic")]

mod events;
mod losses;
mod resuming;
mod sending;
mod settings;
mod support;
mod values;
