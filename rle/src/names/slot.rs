//! Names of slots: a checked slug, a run index, and the file names that follow from them.

use std::fmt;

use serde::Serialize;

use crate::Error;

/// The longest slug, in bytes: file names built from it stay below the usual limit of 255.
const SLUG_MAX_BYTES: usize = 100;

/// Directory names of the export directory that no algorithm may have.
const RESERVED_SLUGS: [&str; 1] = ["runs"];

/// An algorithm's name in paths, options and records: `[a-z0-9_]+`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Slug(String);

impl Slug {
    /// Checks a slug.
    ///
    /// # Errors
    /// When it is empty, reserved, begins with `_`, is over 100 bytes, or holds anything
    /// but `a-z`, `0-9` and `_`.
    pub fn new(slug: impl Into<String>) -> Result<Self, Error> {
        let slug = slug.into();
        let problem = if slug.is_empty() {
            "is empty"
        } else if slug.starts_with('_') {
            "begins with `_`, which marks the framework's own entries"
        } else if RESERVED_SLUGS.contains(&slug.as_str()) {
            "is reserved"
        } else if slug.len() > SLUG_MAX_BYTES {
            "is over 100 bytes"
        } else if !slug.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_') {
            "may hold only a-z, 0-9 and `_`"
        } else {
            return Ok(Self(slug));
        };
        Err(Error::Registry(format!("the slug `{slug}` {problem}; set another one with `slug`")))
    }

    /// The slug that a label gives: lower case, every run of other characters one `_`, trimmed.
    pub(crate) fn text_from_label(label: &str) -> String {
        let mut slug = String::new();
        for character in label.chars() {
            if character.is_ascii_alphanumeric() {
                slug.push(character.to_ascii_lowercase());
            } else if !slug.is_empty() && !slug.ends_with('_') {
                slug.push('_');
            }
        }
        slug.truncate(slug.trim_end_matches('_').len());
        slug
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One seeded run of one algorithm: `ippo:1`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotId {
    slug: Slug,
    run_idx: u32,
}

impl SlotId {
    pub(crate) fn new(slug: Slug, run_idx: u32) -> Self {
        Self { slug, run_idx }
    }

    /// The algorithm's slug.
    #[must_use]
    pub fn slug(&self) -> &Slug {
        &self.slug
    }

    /// The zero-based run index.
    #[must_use]
    pub fn run_idx(&self) -> u32 {
        self.run_idx
    }

    /// `ippo_1`: the stem of the slot's record, lock and log.
    pub(crate) fn file_stem(&self) -> String {
        format!("{}_{}", self.slug, self.run_idx)
    }
}

/// The same text: `ippo:0`.
impl Serialize for SlotId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for SlotId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.slug, self.run_idx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_give_slugs() {
        for (label, slug) in [
            ("IPPO", "ippo"),
            ("IPPO-Lagrangian", "ippo_lagrangian"),
            ("PPO w/ GAE", "ppo_w_gae"),
            ("  A--B  ", "a_b"),
            ("Überlauf 2", "berlauf_2"),
            ("日本", ""),
        ] {
            assert_eq!(Slug::text_from_label(label), slug, "{label}");
        }
    }

    #[test]
    fn bad_slugs_are_refused() {
        for slug in ["", "runs", "_logs", "A", "a-b", "a/b", &"a".repeat(101)] {
            assert!(Slug::new(slug).is_err(), "{slug}");
        }
        assert!(Slug::new("a".repeat(100)).is_ok());
    }
}
