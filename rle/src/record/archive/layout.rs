//! Where archives are, and how they are named.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::record::layout::runs_dir;

pub(crate) fn superseded_dir(export_dir: &Path) -> PathBuf {
    runs_dir(export_dir).join("_superseded")
}

pub(crate) fn archived_dir(export_dir: &Path) -> PathBuf {
    runs_dir(export_dir).join("_archived_complete_runs")
}

/// `20261129T131800Z`.
pub(crate) fn timestamp(now: SystemTime) -> String {
    humantime::format_rfc3339_seconds(now).to_string().replace(['-', ':'], "")
}
