//! Kills, concurrent starts and changed sources: what a suite keeps, and what it computes again.
#![allow(clippy::unwrap_used, reason = "tests: what is missing may panic")]

mod checkpoints;
mod kills;
mod ledger;
mod random;
mod restarts;
mod sources;
mod steps;
mod together;
