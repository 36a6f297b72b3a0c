//! GPUs and threads, shared by workers that run at once.

use std::collections::BTreeSet;
use std::process::Command;
use std::thread;

use crate::Error;
use crate::machine::hardware;
use crate::sync::Mutex;

/// Thread counts that numerical libraries read.
const THREAD_VARIABLES: [&str; 2] = ["RAYON_NUM_THREADS", "OMP_NUM_THREADS"];

/// Which GPUs are free. Tokens are opaque: indices, UUIDs, MIG ids.
#[derive(Debug)]
pub(in crate::suite) struct Devices {
    per_run: usize,
    free: Mutex<BTreeSet<(usize, String)>>,
    threads_per_run: usize,
}

/// The GPUs of one worker, free again when it ends.
#[derive(Debug)]
pub(super) struct Share<'a> {
    devices: &'a Devices,
    gpus: Vec<(usize, String)>,
}

impl Devices {
    /// Fails when fewer GPUs are visible than `jobs` runs of `per_run` need.
    pub(in crate::suite) fn new(
        jobs: usize,
        per_run: usize,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, Error> {
        let visible = if per_run == 0 { Vec::new() } else { visible_gpus(&variable) };
        if visible.len() < jobs * per_run {
            return Err(Error::usage(format!(
                "--jobs {jobs} with --gpus-per-run {per_run} needs {} GPUs, but {} visible; lower \
                 one of them",
                jobs * per_run,
                if visible.len() == 1 {
                    "1 is".to_owned()
                } else {
                    format!("{} are", visible.len())
                }
            )));
        }
        let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Ok(Self {
            per_run,
            free: Mutex::new(visible.into_iter().enumerate().collect()),
            threads_per_run: (cores / jobs).max(1),
        })
    }

    /// The lowest free GPUs; there are enough for as many workers as jobs.
    pub(super) fn take(&self) -> Share<'_> {
        let mut free = self.free.lock();
        let gpus: Vec<_> = free.iter().take(self.per_run).cloned().collect();
        for gpu in &gpus {
            free.remove(gpu);
        }
        Share { devices: self, gpus }
    }
}

impl Share<'_> {
    pub(super) fn apply(&self, command: &mut Command, set: impl Fn(&str) -> bool) {
        if self.devices.per_run > 0 {
            let tokens: Vec<&str> = self.gpus.iter().map(|(_, token)| token.as_str()).collect();
            command.env("CUDA_VISIBLE_DEVICES", tokens.join(","));
        }
        for variable in THREAD_VARIABLES.into_iter().filter(|variable| !set(variable)) {
            command.env(variable, self.devices.threads_per_run.to_string());
        }
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        let mut free = self.devices.free.lock();
        free.extend(self.gpus.drain(..));
    }
}

/// `CUDA_VISIBLE_DEVICES` as it stands, else the indices that `nvidia-smi` lists.
fn visible_gpus(variable: &impl Fn(&str) -> Option<String>) -> Vec<String> {
    if let Some(tokens) = variable("CUDA_VISIBLE_DEVICES") {
        // CUDA itself stops at the first entry that is not a GPU.
        return tokens
            .split(',')
            .map(|token| token.trim().to_owned())
            .take_while(|token| !token.is_empty() && token != "-1" && token != "NoDevFiles")
            .collect();
    }
    hardware::gpu_indices()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn four(name: &str) -> Option<String> {
        (name == "CUDA_VISIBLE_DEVICES").then(|| "GPU-a,GPU-b,MIG-c, 7".to_owned())
    }

    fn environment(share: &Share<'_>) -> Vec<(String, String)> {
        let mut command = Command::new("true");
        share.apply(&mut command, |variable| variable == "OMP_NUM_THREADS");
        command
            .get_envs()
            .filter_map(|(name, value)| {
                Some((name.to_str()?.to_owned(), value?.to_str()?.to_owned()))
            })
            .collect()
    }

    #[test]
    fn each_worker_has_its_own_gpus_and_gives_them_back() {
        let devices = Devices::new(2, 2, four).unwrap();
        let first = devices.take();
        let second = devices.take();
        let gpus = |share: &Share<'_>| environment(share)[0].1.clone();
        assert_eq!(gpus(&first), "GPU-a,GPU-b");
        assert_eq!(gpus(&second), "MIG-c,7");
        drop(first);
        assert_eq!(gpus(&devices.take()), "GPU-a,GPU-b");
    }

    #[test]
    fn a_thread_count_that_the_user_set_stays() {
        let devices = Devices::new(1, 0, |_| None).unwrap();
        let names: Vec<String> =
            environment(&devices.take()).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["RAYON_NUM_THREADS"]);
    }

    #[test]
    fn too_few_gpus_are_said() {
        let error = Devices::new(3, 2, four).unwrap_err().to_string();
        assert!(error.contains("needs 6 GPUs, but 4 are visible"), "{error}");
        let none = |name: &str| (name == "CUDA_VISIBLE_DEVICES").then(|| "-1,0".to_owned());
        assert!(Devices::new(1, 1, none).is_err());
    }
}
