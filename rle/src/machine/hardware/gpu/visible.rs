//! Which GPUs a CUDA program of this environment sees.
//!
//! `CUDA_VISIBLE_DEVICES` is a list of indices or of identifiers, the first entry says of which.
//! The list ends before the first entry that stands for no GPU, so `-1`, `NoDevFiles` and an
//! empty text are no GPUs at all; a GPU that stands twice makes the whole list void. Of divided
//! GPUs a process sees one instance, and then nothing else.

use super::{Device, Instance};
use crate::machine::hardware::description::Gpu;
use crate::machine::hardware::machine::Machine;

/// What the environment says about the choice of GPUs.
#[derive(Debug)]
pub(super) struct Choice {
    /// The entries of the list; none where there is no list.
    entries: Option<Vec<String>>,
    /// Whether indices count by place on the bus, not by speed.
    by_place: bool,
}

/// A GPU or a part of one, by their indices.
type Chosen = (usize, Option<usize>);

impl Choice {
    pub(super) fn read(machine: &Machine) -> Self {
        let list = machine.raw_variable("CUDA_VISIBLE_DEVICES");
        let entries = list.map(|list| list.split(',').map(|entry| entry.trim().to_owned()));
        Self {
            entries: entries.map(Iterator::collect),
            by_place: machine.variable("CUDA_DEVICE_ORDER") == Some("PCI_BUS_ID"),
        }
    }

    /// Whether nothing is visible, whatever there is.
    pub(super) fn is_nothing(&self) -> bool {
        let Some(entries) = &self.entries else { return false };
        let first = entries.first().map_or("", String::as_str);
        !is_identifier(first) && leading_number(first).is_none()
    }

    /// The visible ones of all GPUs of the machine.
    pub(super) fn among(&self, mut devices: Vec<Device>) -> Vec<Gpu> {
        let visible = self.visible(&mut devices);
        visible.into_iter().map(|chosen| gpu(&devices, chosen)).collect()
    }

    /// The identifiers of the visible ones, in the order in which CUDA counts them; none for one
    /// that does not tell its own.
    #[cfg_attr(not(feature = "gpu"), expect(dead_code, reason = "for the library alone"))]
    pub(super) fn identifiers(&self, mut devices: Vec<Device>) -> Vec<Option<String>> {
        let visible = self.visible(&mut devices);
        let identifier = |(index, part): Chosen| match part {
            Some(part) => devices[index].instances.get(part)?.uuid.clone(),
            None => devices[index].uuid.clone(),
        };
        visible.into_iter().map(identifier).collect()
    }

    fn visible(&self, devices: &mut [Device]) -> Vec<Chosen> {
        self.order(devices);
        let chosen = match &self.entries {
            None => (0..devices.len())
                .filter_map(|index| device_or_first_instance(devices, index))
                .collect(),
            Some(entries) => listed(entries, devices),
        };
        match chosen.iter().find(|(_, instance)| instance.is_some()) {
            Some(one) => vec![*one],
            None => chosen,
        }
    }

    /// Puts the GPUs into the order in which CUDA counts them.
    fn order(&self, devices: &mut [Device]) {
        devices.sort_by_key(|device| device.place);
        if self.by_place || devices.windows(2).all(|pair| pair[0].gpu == pair[1].gpu) {
            return;
        }
        devices.sort_by_key(|device| std::cmp::Reverse(device.speed));
        let counts = |entries: &Vec<String>| {
            entries.len() < devices.len()
                && entries.first().is_some_and(|first| !is_identifier(first))
        };
        if self.entries.as_ref().is_some_and(counts) {
            tracing::warn!(
                "CUDA counts unequal GPUs by a speed that it does not tell, so the described ones \
                 may be others than the used ones; CUDA_DEVICE_ORDER=PCI_BUS_ID says which are meant"
            );
        }
    }
}

fn is_identifier(entry: &str) -> bool {
    entry.starts_with("GPU-") || entry.starts_with("MIG-")
}

/// The number that an entry begins with, as C's `strtoul` reads it; none where it is negative.
fn leading_number(entry: &str) -> Option<usize> {
    let digits = entry.strip_prefix('+').unwrap_or(entry);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok()
}

fn listed(entries: &[String], devices: &[Device]) -> Vec<Chosen> {
    let kind = |entry: &str| entry.get(..4).filter(|_| is_identifier(entry)).map(str::to_owned);
    let first = entries.first().and_then(|entry| kind(entry));
    let mut chosen: Vec<Chosen> = Vec::new();
    for entry in entries.iter().take_while(|entry| kind(entry) == first) {
        let Some(one) = find(entry, devices) else { break };
        if chosen.contains(&one) {
            return Vec::new();
        }
        chosen.push(one);
    }
    chosen
}

fn find(entry: &str, devices: &[Device]) -> Option<Chosen> {
    if entry.starts_with("MIG-") {
        let all = devices.iter().enumerate().flat_map(|(index, device)| {
            device.instances.iter().enumerate().map(move |(part, one)| ((index, Some(part)), one))
        });
        return only(all.filter(|(_, one)| starts(one.uuid.as_ref(), entry)).map(|(at, _)| at));
    }
    if entry.starts_with("GPU-") {
        let all = devices.iter().enumerate();
        let found = only(all.filter(|(_, one)| starts(one.uuid.as_ref(), entry)).map(|(at, _)| at));
        return device_or_first_instance(devices, found?);
    }
    device_or_first_instance(devices, leading_number(entry)?)
}

/// The GPU itself; of a divided one its first instance, none where it has none.
fn device_or_first_instance(devices: &[Device], index: usize) -> Option<Chosen> {
    let device = devices.get(index)?;
    if !device.is_divided {
        return Some((index, None));
    }
    (!device.instances.is_empty()).then_some((index, Some(0)))
}

fn starts(uuid: Option<&String>, prefix: &str) -> bool {
    uuid.is_some_and(|uuid| uuid.starts_with(prefix))
}

/// The only one; none where there are several.
fn only<T>(mut found: impl Iterator<Item = T>) -> Option<T> {
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

fn gpu(devices: &[Device], (index, part): Chosen) -> Gpu {
    let device = &devices[index];
    match part.and_then(|part| device.instances.get(part)) {
        Some(Instance { gpu, .. }) => gpu.clone(),
        None => device.gpu.clone(),
    }
}
