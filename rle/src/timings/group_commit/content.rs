//! The text of an offer: those of both files within one.

use std::sync::Arc;

use crate::timings::file;
use crate::timings::hardware::{self, Descriptions};
use crate::timings::raw::Raw;
use crate::timings::scan::{Fault, Scanner};
use crate::timings::stages::{self, Stages};
use crate::timings::store::Timings;

/// The version of an offer's content; a holder leaves any other to its owner.
const SCHEMA_VERSION: u64 = 1;

/// The text of an offer of these times.
pub(super) fn render(timings: &Timings) -> String {
    format!(
        "{{\"hardware\": {}, \"schema_version\": {SCHEMA_VERSION}, \"timings\": {}}}\n",
        timings.hardware.render().trim_end(),
        stages::render(&timings.stages).trim_end()
    )
}

/// The times that the text of an offer holds.
pub(super) fn parse(source: &Arc<String>) -> Result<(Stages, Descriptions), Fault> {
    let (mut stages, mut hardware, mut version) = (None, None, None);
    let mut scanner = Scanner::new(source);
    file::expect_object(&mut scanner)?;
    scanner.object(|scanner, key| {
        let raw = Raw::new(source, scanner.value()?);
        match &*key {
            "hardware" => hardware = Some(hardware::parse(&Arc::new(raw.text().to_owned()))?),
            "timings" => stages = Some(stages::parse(&Arc::new(raw.text().to_owned()))?),
            "schema_version" => version = raw.value().as_u64(),
            _ => return Err(Fault::Content(format!("has the unknown key {key:?}"))),
        }
        Ok(())
    })?;
    scanner.finish()?;
    match (stages, hardware, version) {
        (Some(stages), Some(hardware), Some(SCHEMA_VERSION)) => Ok((stages, hardware)),
        _ => Err(Fault::Content("is not an offer of this version".to_owned())),
    }
}
