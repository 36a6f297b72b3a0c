//! The numbers of the fields in W&B's messages.

pub(super) mod record {
    pub(in crate::metrics) const HISTORY: u32 = 2;
    pub(in crate::metrics) const SUMMARY: u32 = 3;
    pub(in crate::metrics) const RUN: u32 = 17;
    pub(in crate::metrics) const EXIT: u32 = 18;
    pub(in crate::metrics) const HEADER: u32 = 21;
}

pub(super) mod item {
    pub(in crate::metrics) const KEY: u32 = 1;
    pub(in crate::metrics) const NESTED_KEY: u32 = 2;
    pub(in crate::metrics) const JSON: u32 = 16;
}
