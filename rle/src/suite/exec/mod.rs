//! Carries a plan out: one slot after the other, each attempt recorded.

pub(crate) mod attempt;
pub(crate) mod execute;
mod export_dir;
pub(crate) mod isolate;
pub(crate) mod logging;
pub(crate) mod prepare;
pub(crate) mod run;
mod summary;
pub(crate) mod timing;
mod tracking;
pub(crate) mod turn;
