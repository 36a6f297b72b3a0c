//! Which machine and which scheduler's job this process is.

use std::env;
use std::fs;

/// The machine's name, or `unknown`.
pub(crate) fn name() -> String {
    ["/proc/sys/kernel/hostname", "/etc/hostname"]
        .iter()
        .find_map(|path| fs::read_to_string(path).ok())
        .map(|text| text.trim().to_owned())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "unknown".to_owned())
}

/// The scheduler's job as it names it itself: `slurm 123_4`, `pbs 17.server`.
pub(crate) fn scheduler_job() -> Option<String> {
    job_from(|name| env::var(name).ok().filter(|value| !value.is_empty()))
}

fn job_from(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    // The array's id and the task's: the raw id of an array's last task is the array's own.
    if let (Some(array), Some(task)) =
        (variable("SLURM_ARRAY_JOB_ID"), variable("SLURM_ARRAY_TASK_ID"))
    {
        return Some(format!("slurm {array}_{task}"));
    }
    if let Some(job) = variable("SLURM_JOB_ID") {
        return Some(format!("slurm {job}"));
    }
    variable("PBS_JOBID").map(|job| format!("pbs {job}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_task_is_named_by_array_and_task() {
        let slurm = |name: &str| match name {
            "SLURM_ARRAY_JOB_ID" => Some("7".to_owned()),
            "SLURM_ARRAY_TASK_ID" => Some("3".to_owned()),
            "SLURM_JOB_ID" => Some("10".to_owned()),
            _ => None,
        };
        assert_eq!(job_from(slurm).as_deref(), Some("slurm 7_3"));
        let pbs = |name: &str| (name == "PBS_JOBID").then(|| "17.server".to_owned());
        assert_eq!(job_from(pbs).as_deref(), Some("pbs 17.server"));
        assert_eq!(job_from(|_| None), None);
    }
}
