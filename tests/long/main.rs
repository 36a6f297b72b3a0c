//! Long runs from outside: stopped, killed, crashed, resumed, archived, several at once.
#![allow(
    clippy::unwrap_used,
    clippy::float_cmp,
    reason = "tests: what is exact must be exact, and what is missing may panic"
)]

mod accept;
mod archive;
mod bad_input;
mod crashes;
mod running;
mod signals;
#[path = "../cli/support.rs"]
#[allow(dead_code, reason = "shared with another target, which uses the rest")]
mod support;
mod variants;
mod verify;
mod workers;
