//! The scheduler's job that this process is part of, by the variables that it sets.

use std::env;

use serde::{Deserialize, Serialize};

use crate::machine::host;

/// A job of Slurm or PBS, as far as the scheduler says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SchedulerJob {
    /// `slurm` or `pbs`.
    pub scheduler: String,
    /// The job's own id: with Slurm a number, also of an array's task; with PBS `17[3].server`.
    pub job_id: String,
    /// The id that the tasks of an array share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array_job_id: Option<String>,
    /// The task's index in its array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array_task: Option<String>,
    /// The node, as the scheduler names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The partition (Slurm) or the queue (PBS).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// How often the scheduler has started the job again; none before the first time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restarts: Option<u32>,
}

impl SchedulerJob {
    /// The job of this process.
    pub(crate) fn current() -> Option<Self> {
        Self::from_variables(|name| env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        if let Some(job_id) = variable("SLURM_JOB_ID") {
            return Some(Self {
                scheduler: "slurm".to_owned(),
                job_id,
                array_job_id: variable("SLURM_ARRAY_JOB_ID"),
                array_task: variable("SLURM_ARRAY_TASK_ID"),
                node: variable("SLURMD_NODENAME"),
                queue: variable("SLURM_JOB_PARTITION"),
                restarts: variable("SLURM_RESTART_COUNT").and_then(|count| count.parse().ok()),
            });
        }
        let job_id = variable("PBS_JOBID")?;
        // The first is of PBS Professional and OpenPBS, the second of Torque.
        let array_task = variable("PBS_ARRAY_INDEX").or_else(|| variable("PBS_ARRAYID"));
        Some(Self {
            scheduler: "pbs".to_owned(),
            array_job_id: array_task.as_ref().and_then(|_| array_of(&job_id)),
            job_id,
            array_task,
            // PBS names the submitting host only.
            node: Some(host::name()),
            queue: variable("PBS_QUEUE"),
            restarts: None,
        })
    }

    /// The job in short, as it is named to the scheduler: `slurm 123_4`, `pbs 17[3].server`.
    pub(crate) fn short(&self) -> String {
        match (self.scheduler.as_str(), &self.array_job_id, &self.array_task) {
            // The raw id of an array's last task is the array's own.
            ("slurm", Some(array), Some(task)) => format!("slurm {array}_{task}"),
            (scheduler, ..) => format!("{scheduler} {}", self.job_id),
        }
    }
}

/// `17[].server` of `17[3].server`; none of the ids of Torque's arrays, which have no brackets.
fn array_of(job_id: &str) -> Option<String> {
    let (array, rest) = job_id.split_once('[')?;
    let (_, server) = rest.split_once(']')?;
    Some(format!("{array}[]{server}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(variables: &[(&str, &str)]) -> Option<SchedulerJob> {
        SchedulerJob::from_variables(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_task_of_a_slurm_array_is_named_by_array_and_task() {
        let task = job(&[
            ("SLURM_ARRAY_JOB_ID", "7"),
            ("SLURM_ARRAY_TASK_ID", "3"),
            ("SLURM_JOB_ID", "10"),
            ("SLURM_JOB_PARTITION", "gpu"),
            ("SLURMD_NODENAME", "n17"),
            ("SLURM_RESTART_COUNT", "2"),
        ])
        .unwrap();
        assert_eq!(task.short(), "slurm 7_3");
        assert_eq!(task.job_id, "10");
        assert_eq!((task.node.as_deref(), task.queue.as_deref()), (Some("n17"), Some("gpu")));
        assert_eq!(task.restarts, Some(2));
        let plain = job(&[("SLURM_JOB_ID", "10")]).unwrap();
        assert_eq!((plain.short().as_str(), plain.restarts), ("slurm 10", None));
    }

    #[test]
    fn a_job_of_pbs_is_named_by_its_id() {
        let plain = job(&[("PBS_JOBID", "17.server"), ("PBS_QUEUE", "batch")]).unwrap();
        assert_eq!(
            (plain.short().as_str(), plain.queue.as_deref()),
            ("pbs 17.server", Some("batch"))
        );
        assert_eq!(plain.array_job_id, None);
        let task = job(&[("PBS_JOBID", "17[3].server"), ("PBS_ARRAY_INDEX", "3")]).unwrap();
        assert_eq!(task.short(), "pbs 17[3].server");
        assert_eq!(task.array_job_id.as_deref(), Some("17[].server"));
        let torque = job(&[("PBS_JOBID", "17-3.server"), ("PBS_ARRAYID", "3")]).unwrap();
        assert_eq!((torque.array_job_id, torque.array_task.as_deref()), (None, Some("3")));
    }

    #[test]
    fn without_a_scheduler_there_is_no_job() {
        assert_eq!(job(&[("SLURM_CPUS_ON_NODE", "4")]), None);
    }
}
