//! The description of hardware as `timings_hardware.json` holds it, and its id.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::value::Value;

/// Hexadecimal digits of the hash that an id shows.
const ID_DIGITS: usize = 16;
/// The parts that are objects.
const OBJECTS: [&str; 2] = ["memory", "cpu"];

/// What a process may use.
///
/// `None` in [`Memory`] and [`Cpu`] is written as null, which is a statement: there is no limit,
/// there is no such clock. A key that is missing in a file says nothing: it is `None` here too, but
/// it is not written back and not compared. Keys of other programs are kept.
///
/// ```
/// use rle::hardware::Hardware;
///
/// let text = r#"{"memory": {"limit_gib": 64.0, "limit_source": "cgroup", "swap_gib": 8}}"#;
/// let hardware: Hardware = serde_json::from_str(text)?;
/// assert_eq!(hardware.memory.limit_gib, Some(64.0));
/// let text = r#"{"memory":{"limit_gib":64.0,"limit_source":"cgroup","swap_gib":8}}"#;
/// assert_eq!(serde_json::to_string(&hardware)?, text);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Hardware {
    /// The memory limit.
    pub memory: Memory,
    /// The CPUs.
    pub cpu: Cpu,
    /// The GPUs, equal ones together, by name.
    pub gpus: Vec<Gpu>,
    /// Keys beside these, as they came.
    pub other: BTreeMap<String, Value>,
    /// Paths of the keys that the file lacked.
    absent: Vec<(&'static str, String)>,
}

/// How much memory a process may use. The machine's total is no limit and stands nowhere.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Memory {
    /// The limit in GiB (2^30 bytes); none where there is no limit.
    pub limit_gib: Option<f64>,
    /// Who sets it.
    pub limit_source: Option<LimitSource>,
    /// Keys beside these, as they came.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

/// Who limits the memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LimitSource {
    /// A control group of the kernel.
    Cgroup,
    /// What Slurm says that it has allocated.
    Slurm,
    /// What PBS says that it has allocated.
    Pbs,
    /// What another program wrote.
    #[serde(untagged)]
    Other(String),
}

/// The CPUs that a process may run on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Cpu {
    /// The model, as the processor or the kernel names it.
    pub processor_name: Option<String>,
    /// Cores of which at least one hardware thread may be used.
    pub physical_cores_available: Option<u32>,
    /// Hardware threads that may be used.
    pub logical_threads_available: Option<u32>,
    /// The lowest clock of these CPUs, in MHz.
    pub min_clock_mhz: Option<f64>,
    /// The highest clock of these CPUs, in MHz.
    pub max_clock_mhz: Option<f64>,
    /// Where the clocks come from; none where there are none.
    pub clock_source: Option<ClockSource>,
    /// Keys beside these, as they came.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

/// Where the range of a CPU's clock comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ClockSource {
    /// The limits of the kernel's frequency scaling.
    LinuxCpufreq,
    /// The same, extended to the boost ceiling that the firmware names through ACPI CPPC.
    LinuxCpufreqCppc,
    /// The fixed clock of a virtual machine, which is both limits.
    ProcCpuinfoVirtualNominal,
    /// What another program wrote.
    #[serde(untagged)]
    Other(String),
}

/// Equal GPUs. What a source does not tell is left out, so that it differs from nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Gpu {
    /// How many there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// The model, as the driver names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Memory of one, in GiB (2^30 bytes).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_gib: Option<f64>,
    /// Width of the memory bus of one, in bits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bus_width_bits: Option<u32>,
    /// Highest clock of the memory, in MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_memory_clock_mhz: Option<f64>,
    /// Theoretical memory bandwidth of one, in GB/s (10^9 bytes): bits / 8 x 2 x MHz / 1000, the
    /// two for the two transfers of a clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_memory_bandwidth_gb_s: Option<f64>,
    /// Keys beside these, as they came.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

impl Hardware {
    /// The description as a value, floats rounded to 2 decimals.
    pub fn to_value(&self) -> Value {
        rounded(&self.exact())
    }

    /// `hw_` and the first 16 hexadecimal digits of the SHA-256 of the canonical JSON of the
    /// description, whose floats are rounded to 2 decimals first.
    ///
    /// Programs that follow the same convention with another canonical text (Python's writes
    /// `64.0`, this one `64`) give the same hardware another id: ids are kept as they are found,
    /// and hardware is compared by [`differences`](super::differences).
    pub fn id(&self) -> String {
        id_of(&self.exact())
    }

    fn exact(&self) -> Value {
        let part = |value: Result<Value, _>| value.unwrap_or_default();
        let mut parts: BTreeMap<String, Value> = self.other.clone();
        parts.insert("memory".to_owned(), part(Value::from_serialize_lossless(&self.memory)));
        parts.insert("cpu".to_owned(), part(Value::from_serialize_lossless(&self.cpu)));
        parts.insert("gpus".to_owned(), part(Value::from_serialize_lossless(&self.gpus)));
        for (part, key) in &self.absent {
            if key.is_empty() {
                parts.remove(*part);
            } else if let Some(Value::Object(entries)) = parts.get_mut(*part) {
                entries.remove(key);
            }
        }
        parts.into()
    }
}

/// The id of any description; see [`Hardware::id`].
pub(crate) fn id_of(description: &Value) -> String {
    let sha256 = rounded(description).canonical_sha256().expect("a rounded value is finite");
    format!("hw_{}", &sha256[..ID_DIGITS])
}

/// The value with every float rounded to 2 decimals; one that is not finite is no figure.
pub(crate) fn rounded(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.is_float() => match two_decimals(number.as_f64()) {
            float if float.is_finite() => float.into(),
            _ => Value::Null,
        },
        Value::Array(items) => Value::Array(items.iter().map(rounded).collect()),
        Value::Object(entries) => {
            entries.iter().map(|(key, value)| (key.clone(), rounded(value))).collect()
        }
        other => other.clone(),
    }
}

/// Rounded to 2 decimals, as all figures of a description are.
pub(super) fn two_decimals(x: f64) -> f64 {
    // Beyond this a double has no decimals to round.
    if x.abs() < 1e13 { (x * 100.0).round() / 100.0 } else { x }
}

impl Serialize for Hardware {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.exact().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Hardware {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Value::Object(mut parts) = Value::deserialize(deserializer)? else {
            return Err(de::Error::custom("a description of hardware is an object"));
        };
        let mut hardware = Self::default();
        for part in ["memory", "cpu", "gpus"] {
            match parts.remove(part) {
                Some(value) => hardware.read_part(part, value).map_err(de::Error::custom)?,
                None => hardware.absent.push((part, String::new())),
            }
        }
        hardware.other = parts;
        Ok(hardware)
    }
}

impl Hardware {
    fn read_part(
        &mut self,
        part: &'static str,
        value: Value,
    ) -> Result<(), crate::value::ValueError> {
        if OBJECTS.contains(&part)
            && let (Some(ours), Some(theirs)) = (self.exact().get(part), value.as_object())
        {
            let ours = ours.as_object().into_iter().flat_map(BTreeMap::keys);
            let lacking = ours.filter(|key| !theirs.contains_key(*key));
            self.absent.extend(lacking.map(|key| (part, key.clone())));
        }
        let typed = match part {
            "memory" => value.into_typed().map(|memory| self.memory = memory),
            "cpu" => value.into_typed().map(|cpu| self.cpu = cpu),
            _ => value.into_typed().map(|gpus| self.gpus = gpus),
        };
        typed.map_err(|error| error.under_key(part))
    }
}
