//! The control groups of this process: which ones, and where their files are.

use std::path::{Component, Path, PathBuf};

use super::machine::Machine;

/// The two designs of control groups; a machine may have both at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// A hierarchy for each controller.
    V1,
    /// One hierarchy for all of them.
    V2,
}

/// A mounted hierarchy.
#[derive(Debug)]
struct Mount {
    version: Version,
    /// The group that is visible at the mount point, a path in the hierarchy.
    root: String,
    point: PathBuf,
    /// Options of the hierarchy, among them its controllers where there is one for each.
    options: String,
}

/// The directories of this process's group in every mounted hierarchy that has a controller,
/// each followed by those of its ancestors, as far up as they are mounted.
pub(super) fn lineages(machine: &Machine, controller: &str) -> Vec<(Version, Vec<PathBuf>)> {
    let groups = Membership::read(machine);
    let mut lineages = Vec::new();
    for mount in mounts(machine) {
        if mount.version == Version::V1 && !has(&mount.options, controller) {
            continue;
        }
        let Some(group) = groups.path(mount.version, controller) else { continue };
        if let Some(below) = below_mount(&mount.root, &group) {
            let leaf = mount.point.join(below);
            let up = leaf.ancestors().take_while(|path| path.starts_with(&mount.point));
            lineages.push((mount.version, up.map(Path::to_owned).collect()));
        }
    }
    lineages
}

/// The groups that this process is in.
struct Membership {
    /// Controllers (none in the second version) and the path in their hierarchy.
    groups: Vec<(Option<String>, String)>,
    /// The group that sets its CPUs, used where the list of groups is not known.
    fallback: Option<String>,
}

impl Membership {
    fn read(machine: &Machine) -> Self {
        let text = machine.text("/proc/self/cgroup").unwrap_or_default();
        let groups = text.lines().filter_map(|line| {
            let mut parts = line.splitn(3, ':');
            let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
            let controllers = (!controllers.is_empty()).then(|| controllers.to_owned());
            Some((controllers, path.to_owned()))
        });
        let fallback = machine.text("/proc/self/cpuset").map(|path| path.trim().to_owned());
        Self { groups: groups.collect(), fallback }
    }

    fn path(&self, version: Version, controller: &str) -> Option<String> {
        if self.groups.is_empty() {
            return self.fallback.clone();
        }
        let wanted = |controllers: &Option<String>| match (version, controllers) {
            (Version::V2, None) => true,
            (Version::V1, Some(controllers)) => has(controllers, controller),
            _ => false,
        };
        self.groups
            .iter()
            .find(|(controllers, _)| wanted(controllers))
            .map(|(_, path)| path.clone())
    }
}

fn has(list: &str, item: &str) -> bool {
    list.split(',').any(|one| one == item)
}

/// The path of a group below the mount point at which `root` of its hierarchy is visible.
///
/// None where the group is elsewhere. A root above the own namespace reads `/..`: how the way
/// down from there is named cannot be seen, but its group is an ancestor all the same.
fn below_mount(root: &str, group: &str) -> Option<PathBuf> {
    let plain = |path: &str| {
        let mut parts = Path::new(path).components().skip(1);
        parts.all(|part| matches!(part, Component::Normal(_)))
    };
    let climbs = |path: &str| {
        let mut parts = Path::new(path).components().skip(1);
        parts.all(|part| part == Component::ParentDir)
    };
    if !plain(group) {
        return None;
    }
    if !plain(root) {
        return climbs(root).then(PathBuf::new);
    }
    Path::new(group).strip_prefix(root).ok().map(Path::to_owned)
}

fn mounts(machine: &Machine) -> Vec<Mount> {
    if let Some(text) = machine.text("/proc/self/mountinfo") {
        return text.lines().filter_map(mount_of_mountinfo).collect();
    }
    let text = machine.text("/proc/mounts").unwrap_or_default();
    text.lines().filter_map(mount_of_mounts).collect()
}

/// `36 35 98:0 /root /point rw,noatime shared:1 - cgroup cgroup rw,memory`
fn mount_of_mountinfo(line: &str) -> Option<Mount> {
    let (place, kind) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let (root, point) = (place.next()?, place.next()?);
    let mut kind = kind.split(' ');
    let (system, options) = (kind.next()?, kind.nth(1).unwrap_or_default());
    mount(system, root, point, options)
}

/// `cgroup /point cgroup rw,memory 0 0`
fn mount_of_mounts(line: &str) -> Option<Mount> {
    let mut fields = line.split(' ').skip(1);
    let (point, system, options) = (fields.next()?, fields.next()?, fields.next()?);
    mount(system, "/", point, options)
}

fn mount(system: &str, root: &str, point: &str, options: &str) -> Option<Mount> {
    let (version, options) = match system {
        "cgroup" => (Version::V1, options.to_owned()),
        "cgroup2" => (Version::V2, options.to_owned()),
        // What the hierarchy of CPU sets was before it became one of many.
        "cpuset" => (Version::V1, "cpuset".to_owned()),
        _ => return None,
    };
    Some(Mount { version, root: unescaped(root), point: unescaped(point).into(), options })
}

/// A path of a mount table, in which `\040` is a space.
fn unescaped(path: &str) -> String {
    let octal = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok();
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = tail.get(..3).filter(|_| *first == b'\\').and_then(octal);
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &tail[3..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn below(root: &str, group: &str) -> Option<String> {
        below_mount(root, group).map(|path| path.to_string_lossy().into_owned())
    }

    #[test]
    fn a_group_is_found_below_the_part_of_its_hierarchy_that_is_mounted() {
        assert_eq!(below("/", "/a/b").as_deref(), Some("a/b"));
        assert_eq!(below("/docker/1", "/docker/1").as_deref(), Some(""));
        assert_eq!(below("/docker/1", "/docker/1/job").as_deref(), Some("job"));
        assert_eq!(below("/docker/1", "/docker/12"), None);
        assert_eq!(below("/docker/1", "/"), None);
    }

    #[test]
    fn a_root_above_the_namespace_is_an_ancestor_and_a_group_outside_it_has_none() {
        assert_eq!(below("/..", "/").as_deref(), Some(""));
        assert_eq!(below("/../..", "/job").as_deref(), Some(""));
        assert_eq!(below("/../other", "/"), None);
        assert_eq!(below("/", "/../other"), None);
    }

    #[test]
    fn a_path_of_a_mount_table_is_unescaped() {
        assert_eq!(unescaped(r"/a\040b\134c\011"), "/a b\\c\t");
        assert_eq!(unescaped(r"/a\04"), r"/a\04");
        assert_eq!(unescaped("/\u{e9}\\040"), "/\u{e9} ");
    }

    #[test]
    fn a_line_of_mountinfo_may_have_any_number_of_optional_fields() {
        for optional in ["", "shared:1 ", "shared:1 master:2 "] {
            let line = format!("36 35 0:1 /r /p rw,x {optional}- cgroup none rw,memory");
            let mount = mount_of_mountinfo(&line).unwrap();
            assert_eq!((mount.root.as_str(), mount.options.as_str()), ("/r", "rw,memory"));
            assert_eq!(mount.point, Path::new("/p"));
        }
        assert!(mount_of_mountinfo("36 35 0:1 / / rw - ext4 /dev/a rw").is_none());
    }
}
