//! What a suite logs: settings, files, records, resumed and repeated runs.

mod events;
mod losses;
mod resuming;
mod sending;
mod settings;
mod support;
mod values;
