//! Seeds of a run and the random streams derived from them.
//!
//! A stream is 64 bits of SHA-256 over length-prefixed fields, so that neighbouring runs and
//! domains share nothing, which `seed + i` does not give.

use std::collections::BTreeMap;

use crate::Error;
use crate::value::digest::FieldHasher;

/// The domain whose seed every run has.
pub(crate) const LEARNER: &str = "learner";

const STREAM_VERSION: &str = "rle-stream-v1";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seeds(BTreeMap<String, u64>);

impl Seeds {
    /// The seeds of run `run_idx`: the learner's, and those that the suite maps for it.
    pub(crate) fn of_run(
        base_seed: u64,
        run_idx: u32,
        mapped: Option<&BTreeMap<String, u64>>,
    ) -> Result<Self, Error> {
        let learner = base_seed.checked_add(u64::from(run_idx)).ok_or_else(|| {
            Error::usage(format!(
                "the seed of run {run_idx} overflows: base seed {base_seed} + {run_idx} is over {}; \
                 choose a smaller --base-seed",
                u64::MAX
            ))
        })?;
        let mut by_domain = mapped.cloned().unwrap_or_default();
        if mapped.is_some() && by_domain.get(LEARNER) != Some(&learner) {
            let found = by_domain.get(LEARNER).map_or("none".to_owned(), u64::to_string);
            return Err(Error::usage(format!(
                "seeds_by_run of run {run_idx}: `learner` must be base seed + run index = {learner}, \
                 found {found}"
            )));
        }
        by_domain.insert(LEARNER.to_owned(), learner);
        Ok(Self(by_domain))
    }

    pub(crate) fn learner(&self) -> u64 {
        self.0[LEARNER]
    }

    pub(crate) fn by_domain(&self) -> &BTreeMap<String, u64> {
        &self.0
    }

    /// 64 bits for `domain`; `extra` fields set related streams apart.
    pub(crate) fn stream(&self, env_name: &str, domain: &str, extra: &[&[u8]]) -> u64 {
        let root = self.0.get(domain).copied().unwrap_or(self.learner());
        let mut hasher = FieldHasher::new(STREAM_VERSION);
        for field in [env_name.as_bytes(), &root.to_le_bytes(), domain.as_bytes()] {
            hasher.field(field);
        }
        for field in extra {
            hasher.field(field);
        }
        let digest = hasher.finish();
        let (head, _) = digest.split_first_chunk::<8>().expect("a digest has 32 bytes");
        u64::from_le_bytes(*head)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn plain(base: u64, run: u32) -> Seeds {
        Seeds::of_run(base, run, None).unwrap()
    }

    #[test]
    fn the_learner_seed_is_base_plus_index_and_overflow_is_an_error() {
        assert_eq!(plain(7, 2).learner(), 9);
        assert_eq!(plain(u64::MAX - 2, 2).learner(), u64::MAX);
        let error = Seeds::of_run(u64::MAX - 1, 2, None).unwrap_err().to_string();
        assert!(error.contains("overflows"), "{error}");
    }

    #[test]
    fn a_mapping_must_hold_the_learner_seed() {
        let mut map = BTreeMap::from([("env".to_owned(), 5)]);
        assert!(Seeds::of_run(3, 1, Some(&map)).is_err());
        map.insert(LEARNER.to_owned(), 3);
        assert!(Seeds::of_run(3, 1, Some(&map)).is_err());
        map.insert(LEARNER.to_owned(), 4);
        assert_eq!(Seeds::of_run(3, 1, Some(&map)).unwrap().by_domain()["env"], 5);
    }

    #[test]
    fn neighbouring_runs_domains_and_indices_share_no_stream() {
        let mut seen = BTreeSet::new();
        for run in 0..20 {
            let seeds = plain(0, run);
            for domain in ["env", "policy", "env1", "learner"] {
                assert!(seen.insert(seeds.stream("cartpole", domain, &[])));
                for index in 0..20_u64 {
                    let fields: [&[u8]; 2] = [b"index", &index.to_le_bytes()];
                    assert!(seen.insert(seeds.stream("cartpole", domain, &fields)));
                }
            }
        }
    }

    #[test]
    fn a_mapped_domain_moves_only_its_own_stream() {
        let map = BTreeMap::from([(LEARNER.to_owned(), 0), ("env".to_owned(), 99)]);
        let mapped = Seeds::of_run(0, 0, Some(&map)).unwrap();
        assert_ne!(mapped.stream("e", "env", &[]), plain(0, 0).stream("e", "env", &[]));
        assert_eq!(mapped.stream("e", "policy", &[]), plain(0, 0).stream("e", "policy", &[]));
    }

    #[test]
    fn streams_never_change_between_versions() {
        // The value is part of every published result: it is pinned here.
        assert_eq!(plain(0, 0).stream("cartpole", "env", &[]), STREAM_OF_CARTPOLE_ENV_0);
    }

    // Computed with Python's hashlib.
    const STREAM_OF_CARTPOLE_ENV_0: u64 = 0x078a_b4b0_7cdf_9267;
}
