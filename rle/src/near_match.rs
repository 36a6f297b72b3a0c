//! Near matches for misspelt names: what the whole crate means by "near".

/// How alike two names must be, from 0 to 1, to be offered for each other.
const ALIKE: f64 = 0.75;

/// How alike names are that one slip of the finger tells apart.
const ONE_SLIP: f64 = 0.9;

/// In shorter names one slip leaves nothing in common.
const SHORTEST_WITH_SLIP: usize = 3;

/// The known name nearest to `name`, if any is near.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    known
        .into_iter()
        .map(|candidate| (likeness(&wanted, &candidate.to_lowercase()), candidate))
        .filter(|(alike, _)| *alike >= ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

fn likeness(a: &str, b: &str) -> f64 {
    let alike = strsim::jaro_winkler(a, b);
    let long_enough = a.chars().count().min(b.chars().count()) >= SHORTEST_WITH_SLIP;
    // Jaro-Winkler thinks little of two letters exchanged in a short name.
    if long_enough && strsim::osa_distance(a, b) == 1 { alike.max(ONE_SLIP) } else { alike }
}

/// ``; did you mean `x`?`` or, without a near match, nothing.
pub(crate) fn hint<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, known).map_or(String::new(), |near| format!("; did you mean `{near}`?"))
}

/// As [`hint`], or without a near match a list of what there is, cut off after some.
pub(crate) fn hint_or_list<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str> + Clone,
) -> String {
    const LONGEST: usize = 10;
    let hint = hint(name, known.clone());
    if !hint.is_empty() {
        return hint;
    }
    let known: Vec<String> = known.into_iter().map(|name| format!("`{name}`")).collect();
    match known.len() {
        0 => "; there is none".to_owned(),
        1..=LONGEST => format!("; there are {}", known.join(", ")),
        _ => format!("; there are {}, ..", known[..LONGEST].join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_finds_its_neighbour_and_a_strange_one_finds_none() {
        let known = ["ippo", "ippo_lagrangian", "icpo"];
        assert_eq!(nearest("ipo", known), Some("ippo"));
        assert_eq!(nearest("IPPO", known), Some("ippo"));
        assert_eq!(nearest("xyz", known), None);
        assert_eq!(nearest("mpa", ["map", "size"]), Some("map"));
        assert_eq!(nearest("x", ["a", "b"]), None);
    }
}
