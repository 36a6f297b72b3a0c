//! Which of the groups and algorithms that were found are wanted.

use std::collections::BTreeSet;
use std::path::Path;

use crate::Error;
use crate::near_match;

/// The word for everything.
const ALL: &str = "all";

/// A choice among names: all of them, or those that are named.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted(Option<String>);

impl Wanted {
    /// The choice that the text of an option makes: `all`, or names with commas between them.
    pub(crate) fn of(text: Option<&str>) -> Self {
        Self(text.filter(|text| *text != ALL).map(ToOwned::to_owned))
    }

    /// The wanted ones of the `known` names; none where all are wanted.
    ///
    /// A name that holds a comma is not split where it is the whole text.
    ///
    /// # Errors
    /// For a name that is not known, with a near match or the names that there are.
    pub(super) fn among(
        &self,
        known: &BTreeSet<&str>,
        kind: &str,
        file: &str,
        root: &Path,
    ) -> Result<Option<BTreeSet<String>>, Error> {
        let Some(text) = &self.0 else { return Ok(None) };
        if known.contains(text.as_str()) {
            return Ok(Some([text.clone()].into()));
        }
        let names: BTreeSet<String> = text
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        if names.is_empty() {
            return Err(Error::usage(format!(
                "--{kind}s names no {kind}; give names with commas between them, or `{ALL}`"
            )));
        }
        match names.iter().find(|name| !known.contains(name.as_str())) {
            None => Ok(Some(names)),
            Some(name) => Err(Error::usage(format!(
                "no {file} below {} is of the {kind} `{name}`{}",
                root.display(),
                near_match::hint_or_list(name, known.iter().copied())
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn among(text: &str, known: &[&str]) -> Result<Option<Vec<String>>, String> {
        Wanted::of(Some(text))
            .among(&known.iter().copied().collect(), "group", "lock", Path::new("exports"))
            .map(|names| names.map(|names| names.into_iter().collect()))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn all_names_and_lists_of_them_are_understood() {
        let known = ["env/main", "a,b", "c"];
        assert_eq!(among("all", &known), Ok(None));
        assert_eq!(among("a,b", &known), Ok(Some(vec!["a,b".to_owned()])));
        let both = Ok(Some(vec!["c".to_owned(), "env/main".to_owned()]));
        assert_eq!(among("c, env/main,", &known), both);
    }

    #[test]
    fn a_name_that_is_not_there_is_refused_with_what_is() {
        let error = among("env/mian", &["env/main", "c"]).unwrap_err();
        assert_eq!(
            error,
            "no lock below exports is of the group `env/mian`; did you mean `env/main`?"
        );
        let error = among("x", &["env/main", "c"]).unwrap_err();
        assert_eq!(error, "no lock below exports is of the group `x`; there are `c`, `env/main`");
        assert!(among(" ,", &["c"]).unwrap_err().contains("names no group"));
        assert!(among("c", &[]).unwrap_err().ends_with("; there is none"));
    }
}
