use super::*;

fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    dir
}

fn hash_of(files: &[(&str, &str)]) -> String {
    hash_path(tree(files).path()).unwrap().sha256
}

#[test]
fn a_file_is_the_hash_of_its_content() {
    let dir = tree(&[("a", "abc")]);
    let identity = hash_path(&dir.path().join("a")).unwrap();
    assert_eq!(
        serde_json::to_string(&identity).unwrap(),
        "{\"kind\":\"file\",\"bytes\":3,\"sha256\":\
         \"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"}"
    );
}

#[test]
fn a_directory_is_the_hash_of_the_documented_manifest() {
    let dir = tree(&[("b/c.txt", "abc"), ("a", "")]);
    let mut manifest = Vec::new();
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let bytes = |hex: &str| -> Vec<u8> {
        (0..32).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect()
    };
    let fields: [&[u8]; 10] = [
        b"rle-directory-v1",
        b"a",
        b"file",
        &bytes(empty),
        b"b",
        b"directory",
        b"",
        b"b/c.txt",
        b"file",
        &bytes(abc),
    ];
    for field in fields {
        manifest.extend((field.len() as u64).to_le_bytes());
        manifest.extend(field);
    }
    let identity = hash_path(dir.path()).unwrap();
    assert_eq!(identity.sha256, crate::value::digest::sha256_hex(&manifest));
    assert_eq!((identity.kind, identity.bytes), (PathKind::Directory, 3));
}

#[test]
fn equal_trees_in_different_places_have_one_identity() {
    let files = [("x/ä-日本.bin", "1"), ("line\nbreak", "2"), ("x/y/z", "")];
    assert_eq!(hash_of(&files), hash_of(&files));
}

#[test]
fn every_change_of_a_tree_changes_its_identity() {
    let plain = hash_of(&[("a/b", "1"), ("c", "2")]);
    let changes = [
        ("content", hash_of(&[("a/b", "1"), ("c", "3")])),
        ("a renamed file", hash_of(&[("a/b", "1"), ("d", "2")])),
        ("a renamed directory", hash_of(&[("e/b", "1"), ("c", "2")])),
        ("a moved file", hash_of(&[("b", "1"), ("a/x", ""), ("c", "2")])),
        ("swapped contents", hash_of(&[("a/b", "2"), ("c", "1")])),
        ("a missing file", hash_of(&[("a/b", "1")])),
        ("a further file", hash_of(&[("a/b", "1"), ("c", "2"), ("d", "")])),
        ("a file where a directory was", hash_of(&[("a", "1"), ("c", "2")])),
    ];
    for (change, hash) in changes {
        assert_ne!(hash, plain, "{change}");
    }
}

#[test]
fn an_empty_directory_counts_and_is_no_empty_file() {
    let (none, with_dir, with_file) = (tree(&[]), tree(&[]), tree(&[("d", "")]));
    fs::create_dir(with_dir.path().join("d")).unwrap();
    let hashes = [none, with_dir, with_file].map(|dir| hash_path(dir.path()).unwrap().sha256);
    assert_ne!(hashes[0], hashes[1]);
    assert_ne!(hashes[1], hashes[2]);
}

#[test]
fn a_missing_path_is_an_error_naming_it() {
    let dir = tree(&[]);
    let error = hash_path(&dir.path().join("policy.bin")).unwrap_err().to_string();
    assert!(error.contains("policy.bin"), "{error}");
}

#[test]
fn a_large_tree_hashes_the_same_every_time() {
    let names: Vec<_> = (0..500).map(|index| format!("d{}/f{index}", index % 7)).collect();
    let files: Vec<_> = names.iter().map(|name| (name.as_str(), name.as_str())).collect();
    let dir = tree(&files);
    let first = hash_path(dir.path()).unwrap();
    assert_eq!(first.bytes, names.iter().map(|name| name.len() as u64).sum::<u64>());
    assert_eq!(hash_path(dir.path()).unwrap(), first);
}

#[test]
fn a_name_gives_a_path_below_the_root_whose_parents_exist() {
    let dir = tree(&[]);
    let root = dir.path().join("ippo/artifacts/run_0");
    let path = contained_path(&root, "nets/ä b/policy.bin").unwrap();
    assert_eq!(path, root.join("nets/ä b/policy.bin"));
    assert!(path.parent().unwrap().is_dir() && !path.exists());
    // Once more, now that it exists.
    fs::write(&path, "").unwrap();
    assert_eq!(contained_path(&root, "nets/ä b/policy.bin").unwrap(), path);
}

#[test]
fn a_name_that_would_leave_is_refused_and_creates_nothing() {
    let dir = tree(&[]);
    let root = dir.path().join("root");
    let names =
        ["", ".", "..", "../x", "a/../../x", "a/..", "./a", "a/./b", "a//b", "a/", "/etc/x", "a\0"];
    for name in names {
        let error = contained_path(&root, name).unwrap_err().to_string();
        assert!(error.contains(&format!("`{}`", name.escape_debug())), "{error}");
        assert!(error.contains("is accepted"), "{error}");
        assert!(!root.exists(), "{name:?}");
    }
}

#[test]
fn names_that_only_look_dangerous_are_accepted() {
    let dir = tree(&[]);
    for name in ["..a", "a..", "...", ".hidden", "a b", "c:d", "line\nbreak"] {
        assert_eq!(contained_path(dir.path(), name).unwrap(), dir.path().join(name));
    }
}

#[test]
fn a_file_in_the_place_of_a_parent_directory_is_an_error_naming_it() {
    let dir = tree(&[("a", "")]);
    let error = contained_path(dir.path(), "a/b/c").unwrap_err().to_string();
    assert!(error.contains("a/b"), "{error}");
}

#[test]
fn a_path_below_the_export_directory_is_stored_relative() {
    let dir = tree(&[("ippo/artifacts/run_0/policy.bin", "x")]);
    let path = dir.path().join("ippo/../ippo/artifacts/run_0/policy.bin");
    let stored = relative_to_export(dir.path(), &path).unwrap();
    assert_eq!(stored, "ippo/artifacts/run_0/policy.bin");
    assert_eq!(fs::read_to_string(resolve_stored(dir.path(), &stored)).unwrap(), "x");
}

#[test]
fn a_path_elsewhere_is_stored_absolute() {
    let (export, other) = (tree(&[]), tree(&[("policy.bin", "x")]));
    let path = other.path().join("policy.bin");
    let stored = relative_to_export(export.path(), &path).unwrap();
    assert_eq!(Path::new(&stored), fs::canonicalize(&path).unwrap());
    assert_eq!(fs::read_to_string(resolve_stored(export.path(), &stored)).unwrap(), "x");
}

#[test]
fn a_sibling_whose_name_begins_like_the_export_directory_is_elsewhere() {
    let dir = tree(&[("classic/x", ""), ("classic_2/x", "")]);
    let export = dir.path().join("classic");
    let stored = relative_to_export(&export, &dir.path().join("classic_2/x")).unwrap();
    assert!(Path::new(&stored).is_absolute(), "{stored}");
}

#[cfg(unix)]
mod links {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_link_counts_as_the_text_of_its_target() {
        let (one, two) = (tree(&[("x", "1"), ("y", "1")]), tree(&[("x", "1"), ("y", "1")]));
        symlink("x", one.path().join("link")).unwrap();
        symlink("y", two.path().join("link")).unwrap();
        let (first, second) = (hash_path(one.path()).unwrap(), hash_path(two.path()).unwrap());
        assert_ne!(first.sha256, second.sha256);
        // Its target's size is not the tree's.
        assert_eq!(first.bytes, 2);
    }

    #[test]
    fn a_link_is_no_file_that_holds_its_target() {
        let (link, file) = (tree(&[]), tree(&[("a", "target")]));
        symlink("target", link.path().join("a")).unwrap();
        assert_ne!(hash_path(link.path()).unwrap().sha256, hash_path(file.path()).unwrap().sha256);
    }

    #[test]
    fn links_in_a_loop_and_links_to_nothing_are_hashed_too() {
        let dir = tree(&[("x", "1")]);
        symlink(".", dir.path().join("here")).unwrap();
        symlink("b", dir.path().join("a")).unwrap();
        symlink("a", dir.path().join("b")).unwrap();
        symlink("nowhere", dir.path().join("dangling")).unwrap();
        assert_eq!(hash_path(dir.path()).unwrap().bytes, 1);
    }

    #[test]
    fn a_path_that_is_a_link_stands_for_what_it_leads_to() {
        let dir = tree(&[("d/x", "1")]);
        symlink("d", dir.path().join("link")).unwrap();
        let through = hash_path(&dir.path().join("link")).unwrap();
        assert_eq!(through, hash_path(&dir.path().join("d")).unwrap());
    }

    #[test]
    fn a_socket_is_an_error_naming_it() {
        let dir = tree(&[("x", "1")]);
        let _socket = UnixListener::bind(dir.path().join("socket")).unwrap();
        for path in [dir.path().to_owned(), dir.path().join("socket")] {
            let error = hash_path(&path).unwrap_err().to_string();
            assert!(error.contains("/socket: is neither a file nor a directory"), "{error}");
        }
    }

    #[test]
    fn a_name_through_a_link_that_leaves_is_refused() {
        let (dir, outside) = (tree(&[("root/x", "")]), tree(&[("y", "")]));
        let root = dir.path().join("root");
        symlink(outside.path(), root.join("away")).unwrap();
        symlink(outside.path().join("y"), root.join("file")).unwrap();
        symlink("../nothing", root.join("dangling")).unwrap();
        for name in ["away/z", "away/deeper/z", "file", "dangling", "dangling/z"] {
            let error = contained_path(&root, name).unwrap_err().to_string();
            assert!(error.contains("leaves through the symbolic link"), "{name}: {error}");
        }
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_that_stays_inside_and_a_linked_root_are_accepted() {
        let dir = tree(&[("root/real/x", "")]);
        symlink("root", dir.path().join("linked")).unwrap();
        symlink("real", dir.path().join("root/alias")).unwrap();
        let root = dir.path().join("linked");
        assert_eq!(contained_path(&root, "alias/new").unwrap(), root.join("alias/new"));
    }

    #[test]
    fn the_export_directory_may_be_reached_by_any_link() {
        let dir = tree(&[("real/a/x", "")]);
        symlink("real", dir.path().join("linked")).unwrap();
        let (real, linked) = (dir.path().join("real"), dir.path().join("linked"));
        assert_eq!(relative_to_export(&linked, &real.join("a/x")).unwrap(), "a/x");
        assert_eq!(relative_to_export(&real, &linked.join("a/x")).unwrap(), "a/x");
    }

    #[test]
    fn a_tracked_link_keeps_its_own_name() {
        let dir = tree(&[("run_0/policy_9.bin", "")]);
        symlink("policy_9.bin", dir.path().join("run_0/latest.bin")).unwrap();
        let stored = relative_to_export(dir.path(), &dir.path().join("run_0/latest.bin")).unwrap();
        assert_eq!(stored, "run_0/latest.bin");
    }
}

#[test]
fn what_several_slots_share_is_shared() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("ippo/artifacts/run_0")).unwrap();
    let root = fs::canonicalize(dir.path()).unwrap();
    let above = root.parent().unwrap().to_str().unwrap();
    for common in [".", "runs", "runs/ippo_0.json", "_logs", "ippo", "ippo/artifacts", above] {
        assert!(is_shared(dir.path(), common), "{common}");
    }
    for own in ["ippo/artifacts/run_0", "ippo/artifacts/run_0/policy", "plots", "/opt/models/a"] {
        assert!(!is_shared(dir.path(), own), "{own}");
    }
}
