//! Sets of CPU numbers as the kernel writes them.

use std::collections::BTreeSet;

/// Where the kernel describes each CPU.
pub(super) const CPUS: &str = "/sys/devices/system/cpu";

/// More than the number of CPUs of any kernel: a list with a larger number is not from a kernel.
const LIMIT: u32 = 1 << 16;

pub(super) type CpuSet = BTreeSet<u32>;

/// The set of a list such as `0-3,8,10-11`; none where the text is no such list.
pub(super) fn parse_list(text: &str) -> Option<CpuSet> {
    let mut set = CpuSet::new();
    for part in text.trim().split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if last >= LIMIT {
            return None;
        }
        set.extend(first..=last);
    }
    Some(set)
}

/// The set of a mask in hexadecimal words of 32 bits, the highest first: `00000000,00000101`.
pub(super) fn parse_mask(text: &str) -> Option<CpuSet> {
    let words: Vec<u32> = text
        .trim()
        .split(',')
        .map(|word| u32::from_str_radix(word, 16).ok())
        .collect::<Option<_>>()?;
    let mut set = CpuSet::new();
    for (word, first) in words.iter().rev().zip((0..LIMIT).step_by(32)) {
        set.extend((0..32).filter(|bit| word >> bit & 1 == 1).map(|bit| first + bit));
    }
    Some(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Option<Vec<u32>> {
        parse_list(text).map(|set| set.into_iter().collect())
    }

    #[test]
    fn a_list_has_ranges_and_single_numbers() {
        assert_eq!(list("0-3,8,10-11\n"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(list("\n"), Some(vec![]));
        assert_eq!(list("5-5"), Some(vec![5]));
    }

    #[test]
    fn what_is_no_list_is_none() {
        for text in ["a", "0-", "-1", "0-4294967295", "1,x"] {
            assert_eq!(list(text), None, "{text}");
        }
    }

    #[test]
    fn a_mask_has_its_highest_word_first() {
        let mask = |text| parse_mask(text).map(|set| set.into_iter().collect::<Vec<_>>());
        assert_eq!(mask("00000000,00000101\n"), Some(vec![0, 8]));
        assert_eq!(mask("1,00000000,80000000"), Some(vec![31, 64]));
        assert_eq!(mask("f"), Some(vec![0, 1, 2, 3]));
        assert_eq!(mask("0x1"), None);
    }
}
