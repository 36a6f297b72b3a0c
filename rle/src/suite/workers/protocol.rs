//! The messages between a parent and its worker: one JSON document a line over a socket.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;

use serde::{Deserialize, Serialize};

use crate::record::Provenance;
use crate::suite::exec::Unsent;
use crate::suite::{SlotOutcome, SuiteConfig};

/// Names the worker in its environment: its standard input is then the socket.
pub(super) const WORKER_VARIABLE: &str = "RLE_WORKER";

/// The parent's first message: everything that the worker needs.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Task {
    /// The resolved request: files and variables may have changed since the parent read them.
    pub(super) config: SuiteConfig,
    pub(super) provenance: Provenance,
    /// `ippo:1`.
    pub(super) slot: String,
    /// The worker's own result must be the same.
    pub(super) request_hash: String,
}

/// Further messages of the parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    Stop,
}

/// Messages of the worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Report {
    /// The progress of a run or a prepare.
    Progress { position: u64, origin: u64, total: Option<u64>, message: String },
    /// The vendor's tool has not sent the metrics.
    Unsent(Unsent),
    /// What became of the slot; the record on disk says the same.
    Outcome(SlotOutcome),
    /// The start itself is not possible.
    Refused(String),
}

/// Sends one message. Fails when the other process is gone, or does not read in time where the
/// socket has a limit.
pub(super) fn send(mut socket: &UnixStream, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    socket.write_all(&line)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::*;
    use crate::suite::OnBusy;

    #[test]
    fn a_request_is_sent_to_the_last_bit() {
        let numbers = [0.1, 1e-308, 5e-324, f64::MAX, 1.0 / 3.0, -0.0, 2.0_f64.powi(63)];
        let config = SuiteConfig::new("mäze/1")
            .env_config(BTreeMap::from([("numbers", numbers)]))
            .common("big", u64::MAX)
            .common("small", i64::MIN)
            .common("single", 0.1_f32)
            .base_seed(u64::MAX - 3)
            .seeds_by_run([(2, [("learner".to_owned(), u64::MAX - 1)])])
            .algorithm_config("IPPO", BTreeMap::from([("lr", 3e-4)]))
            .variant("IPPO fast", "ippo", BTreeMap::from([("lr", 1e-3)]))
            .flag("run_ippo", true)
            .timeout(Duration::new(3, 7))
            .on_busy(OnBusy::Wait)
            .accept("provenance.source")
            .provenance("ticket", u64::MAX);
        let task = Task {
            config,
            provenance: Provenance::default(),
            slot: "ippo:2".to_owned(),
            request_hash: "ab".to_owned(),
        };
        let line = serde_json::to_string(&task).unwrap();
        assert!(!line.contains('\n'));
        let read: Task = serde_json::from_str(&line).unwrap();
        assert_eq!(format!("{read:?}"), format!("{task:?}"));
        let (before, after) = (&task.config.env_config, &read.config.env_config);
        assert_eq!(after.canonical_json().unwrap(), before.canonical_json().unwrap());
        let read: Vec<f64> = after.get("numbers").unwrap().to().unwrap();
        let bits =
            |numbers: &[f64]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
        // The canonical form knows one zero.
        assert_eq!(bits(&read)[..5], bits(&numbers)[..5]);
    }

    #[test]
    fn what_is_said_is_understood() {
        let reports = [
            Report::Progress {
                position: u64::MAX,
                origin: 3,
                total: None,
                message: "a\nb".to_owned(),
            },
            Report::Outcome(SlotOutcome::Complete { seconds: 0.1 }),
            Report::Outcome(SlotOutcome::Failed {
                message: "line\n  caused by: \u{1F9E8}".to_owned(),
            }),
            Report::Refused("no".to_owned()),
        ];
        for report in reports {
            let line = serde_json::to_string(&report).unwrap();
            assert!(!line.contains('\n'), "{line}");
            let read: Report = serde_json::from_str(&line).unwrap();
            assert_eq!(format!("{read:?}"), format!("{report:?}"));
        }
        let order = serde_json::to_string(&Order::Stop).unwrap();
        assert_eq!(serde_json::from_str::<Order>(&order).unwrap(), Order::Stop);
    }
}
