//! Who holds a lock, by what the system says where it says it.

use std::path::Path;

/// The process on this machine that holds the `flock` of the file at `path`.
#[cfg(target_os = "linux")]
pub(super) fn pid(path: &Path) -> Option<u32> {
    use std::os::linux::fs::MetadataExt;
    let metadata = std::fs::metadata(path).ok()?;
    let device = metadata.st_dev();
    let file = format!("{:02x}:{:02x}:{}", major(device), minor(device), metadata.st_ino());
    pid_in(&std::fs::read_to_string("/proc/locks").ok()?, &file)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn pid(_path: &Path) -> Option<u32> {
    None
}

/// A line is `1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF`; `->` marks one that waits.
#[cfg(target_os = "linux")]
fn pid_in(locks: &str, file: &str) -> Option<u32> {
    locks.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace().skip(1);
        let is_held = words.next() == Some("FLOCK") && words.nth(1) == Some("WRITE");
        let pid = words.next()?.parse().ok()?;
        // A process that is not visible from here is number 0.
        (is_held && words.next() == Some(file) && pid > 0).then_some(pid)
    })
}

/// The device numbers as glibc takes them apart.
#[cfg(target_os = "linux")]
fn major(device: u64) -> u64 {
    ((device >> 8) & 0xfff) | ((device >> 32) & !0xfff)
}

#[cfg(target_os = "linux")]
fn minor(device: u64) -> u64 {
    (device & 0xff) | ((device >> 12) & !0xff)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_holder_is_the_writer_that_does_not_wait() {
        let locks = "1: POSIX  ADVISORY  WRITE 11 fe:00:5678 0 EOF\n\
                     2: FLOCK  ADVISORY  READ 12 fe:00:5678 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 13 fe:00:9999 0 EOF\n\
                     4: FLOCK  ADVISORY  WRITE 14 fe:00:5678 0 EOF\n\
                     4: -> FLOCK  ADVISORY  WRITE 15 fe:00:5678 0 EOF\n\
                     5: FLOCK  ADVISORY  WRITE 0 fe:00:7777 0 EOF\n";
        assert_eq!(pid_in(locks, "fe:00:5678"), Some(14));
        assert_eq!(pid_in(locks, "fe:00:7777"), None);
        assert_eq!(pid_in(locks, "fe:00:1"), None);
    }
}
