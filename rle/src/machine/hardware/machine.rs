//! Where the readers read: a root of the file system, an environment, the programs to ask.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long the GPUs' driver is waited for. Without its daemon a driver wakes each GPU up first,
/// which takes seconds each.
const DRIVER_PATIENCE: Duration = Duration::from_secs(20);

/// What a description is read from: this machine, or the captured files of another one.
///
/// ```
/// use rle::hardware::{Hardware, Machine};
///
/// let job = [("SLURM_MEM_PER_NODE", "4096")];
/// let machine = Machine::captured("/no/such/tree", job);
/// assert_eq!(Hardware::of(&machine).memory.limit_gib, Some(4.0));
/// ```
#[derive(Clone, Debug)]
pub struct Machine {
    root: PathBuf,
    environment: BTreeMap<String, String>,
    pub(super) gpus: GpuSources,
    /// Whether it is the one that this process runs on.
    #[cfg_attr(target_os = "linux", expect(dead_code, reason = "only Linux has the files"))]
    pub(super) is_this: bool,
}

/// Who is asked about GPUs; nobody where both are none.
#[derive(Clone, Debug)]
pub(super) struct GpuSources {
    /// The management library; a bare name is looked up as the system does.
    pub(super) library: Option<OsString>,
    /// The program; a bare name is looked up in the path.
    pub(super) program: Option<OsString>,
    pub(super) patience: Duration,
}

impl Machine {
    /// The machine and the environment of this process.
    pub fn this() -> Self {
        let text = |os: OsString| os.to_string_lossy().into_owned();
        Self {
            root: PathBuf::from("/"),
            environment: env::vars_os().map(|(name, value)| (text(name), text(value))).collect(),
            gpus: GpuSources {
                library: Some(DRIVER_LIBRARY.into()),
                program: Some("nvidia-smi".into()),
                patience: DRIVER_PATIENCE,
            },
            is_this: true,
        }
    }

    /// The files under `root` as those of a machine, and a process with this environment. It has
    /// no GPUs unless a library or a program to ask is named.
    pub fn captured<K: Into<String>, V: Into<String>>(
        root: impl Into<PathBuf>,
        environment: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let entries = environment.into_iter().map(|(name, value)| (name.into(), value.into()));
        Self {
            root: root.into(),
            environment: entries.collect(),
            gpus: GpuSources { library: None, program: None, patience: DRIVER_PATIENCE },
            is_this: false,
        }
    }

    /// Asks this library, an NVIDIA management library, about GPUs; without the feature `gpu`
    /// no library is asked.
    #[must_use]
    pub fn management_library(mut self, path: impl Into<PathBuf>) -> Self {
        self.gpus.library = Some(path.into().into());
        self
    }

    /// Asks this program, an `nvidia-smi`, about GPUs where no library answers.
    #[must_use]
    pub fn nvidia_smi(mut self, path: impl Into<PathBuf>) -> Self {
        self.gpus.program = Some(path.into().into());
        self
    }

    /// Asks nobody about GPUs.
    #[must_use]
    pub fn without_gpus(mut self) -> Self {
        (self.gpus.library, self.gpus.program) = (None, None);
        self
    }

    /// Waits this long for the driver of the GPUs; 20 seconds unless set.
    #[must_use]
    pub fn driver_patience(mut self, patience: Duration) -> Self {
        self.gpus.patience = patience;
        self
    }

    /// A variable of the environment, without white space around it; an empty one is none.
    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        self.raw_variable(name).map(str::trim).filter(|value| !value.is_empty())
    }

    /// A variable of the environment as it is.
    pub(super) fn raw_variable(&self, name: &str) -> Option<&str> {
        self.environment.get(name).map(String::as_str)
    }

    /// The text of a file, by its absolute path on the machine; none where it cannot be read.
    pub(super) fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        let bytes = fs::read(self.path(path)).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        // Some tools that capture a machine keep the C string's end.
        Some(text.trim_end_matches('\0').to_owned())
    }

    /// The one number that a file holds.
    pub(super) fn number(&self, path: impl AsRef<Path>) -> Option<u64> {
        self.text(path)?.trim().parse().ok()
    }

    /// The names in a directory, in no order; none where it cannot be listed.
    pub(super) fn names(&self, directory: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path(directory)) else { return Vec::new() };
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    /// Whether a device of NVIDIA is on its bus.
    pub(super) fn has_nvidia_device(&self) -> bool {
        const NVIDIA: &str = "0x10de";
        let devices = "/sys/bus/pci/devices";
        let vendor = |device: &String| self.text(format!("{devices}/{device}/vendor"));
        let names = self.names(devices);
        names.iter().filter_map(vendor).any(|vendor| vendor.trim() == NVIDIA)
    }

    fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }
}

#[cfg(target_os = "windows")]
const DRIVER_LIBRARY: &str = "nvml.dll";
#[cfg(not(target_os = "windows"))]
const DRIVER_LIBRARY: &str = "libnvidia-ml.so.1";
