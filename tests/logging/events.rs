//! A small reader of event files, with TensorBoard's rule for runs that were gone on with.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The points of each tag, in file order: step and value.
pub(crate) type Curves = BTreeMap<String, Vec<(i64, f32)>>;

/// What the event files of a directory show.
pub(crate) fn curves(directory: &Path) -> Curves {
    let mut curves = Curves::new();
    for path in event_files(directory) {
        let bytes = fs::read(&path).unwrap();
        let mut rest = bytes.as_slice();
        while let Some((record, after)) = next_record(rest) {
            add_event(record, &mut curves);
            rest = after;
        }
    }
    curves
}

pub(crate) fn event_files(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.file_name().unwrap().to_string_lossy().contains("tfevents"));
    files.sort();
    files
}

/// The steps of one tag.
pub(crate) fn steps(curves: &Curves, tag: &str) -> Vec<i64> {
    curves.get(tag).map_or(Vec::new(), |points| points.iter().map(|(step, _)| *step).collect())
}

/// Every hyperparameter's name that the files hold, as text that contains it.
pub(crate) fn holds_text(directory: &Path, text: &str) -> bool {
    let holds = |bytes: Vec<u8>| bytes.windows(text.len()).any(|part| part == text.as_bytes());
    event_files(directory).iter().any(|path| holds(fs::read(path).unwrap()))
}

/// A record and what follows it; none at a torn end.
fn next_record(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?);
    let end = 12 + usize::try_from(length).ok()?;
    Some((bytes.get(12..end)?, bytes.get(end + 4..)?))
}

fn add_event(record: &[u8], curves: &mut Curves) {
    let (mut step, mut summary, mut starts) = (0, None, false);
    for (field, content) in fields(record) {
        match (field, content) {
            (2, Content::Number(number)) => step = number.cast_signed(),
            (5, Content::Bytes(bytes)) => summary = Some(bytes),
            (7, Content::Bytes(_)) => starts = true,
            _ => {}
        }
    }
    if starts {
        for points in curves.values_mut() {
            points.retain(|(known, _)| *known < step);
        }
    }
    for (field, value) in summary.map_or(Vec::new(), fields) {
        let (1, Content::Bytes(value)) = (field, value) else { continue };
        let (mut tag, mut number) = (String::new(), None);
        for (field, content) in fields(value) {
            match (field, content) {
                (1, Content::Bytes(text)) => tag = String::from_utf8(text.to_vec()).unwrap(),
                (2, Content::Float(value)) => number = Some(value),
                _ => {}
            }
        }
        if let Some(number) = number {
            curves.entry(tag).or_default().push((step, number));
        }
    }
}

enum Content<'a> {
    Number(u64),
    Float(f32),
    Bytes(&'a [u8]),
}

/// The fields of a protocol-buffer message.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Content<'_>)> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let content = match key & 7 {
            0 => Content::Number(varint(&mut bytes)),
            1 => Content::Bytes(take(&mut bytes, 8)),
            5 => Content::Float(f32::from_le_bytes(take(&mut bytes, 4).try_into().unwrap())),
            2 => {
                let length = usize::try_from(varint(&mut bytes)).unwrap();
                Content::Bytes(take(&mut bytes, length))
            }
            other => panic!("wire type {other}"),
        };
        found.push((key >> 3, content));
    }
    found
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (taken, rest) = bytes.split_at(length);
    *bytes = rest;
    taken
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let byte = take(bytes, 1)[0];
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return value;
        }
    }
    value
}
