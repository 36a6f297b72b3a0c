use super::*;

const PACKAGE: &str = "[package]\nname = \"p\"\n";
const WORKSPACE: &str = "[workspace]\nmembers = [\"p\"]\n";

fn plant(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    dir
}

fn read_at(dir: &Path) -> Tree {
    read_with(dir, &[])
}

fn read_with(dir: &Path, patterns: &[&str]) -> Tree {
    let patterns: Vec<String> = patterns.iter().map(|text| (*text).to_owned()).collect();
    read(dir, &dir.join("exports/classic"), &Inputs::new(&patterns).unwrap()).unwrap()
}

fn names(tree: &Tree) -> Vec<&str> {
    tree.files.keys().map(String::as_str).collect()
}

#[test]
fn the_sources_of_a_workspace_are_found_and_nothing_else() {
    let dir = plant(&[
        ("Cargo.toml", WORKSPACE),
        ("Cargo.lock", ""),
        ("rust-toolchain", ""),
        ("rust-toolchain.toml", ""),
        (".cargo/config.toml", ""),
        (".cargo/registry/src/dep/lib.rs", ""),
        (".hidden/x.rs", ""),
        (".git/x.rs", ""),
        ("README.md", ""),
        ("notes.rs.txt", ""),
        ("data/big.bin", ""),
        ("p/Cargo.toml", PACKAGE),
        ("p/src/ä/mod.rs", ""),
        ("p/build.rs", ""),
        ("p/target/debug/build/out.rs", ""),
        ("target/x.rs", ""),
        ("elsewhere/CACHEDIR.TAG", ""),
        ("elsewhere/x.rs", ""),
        ("p/src/target/shot.rs", ""),
        ("exports/classic/ippo/artifacts/run_0/generated.rs", ""),
    ]);
    let tree = read_at(dir.path());
    assert_eq!(
        names(&tree),
        [
            ".cargo/config.toml",
            "Cargo.lock",
            "Cargo.toml",
            "p/Cargo.toml",
            "p/build.rs",
            "p/src/target/shot.rs",
            "p/src/ä/mod.rs",
            "rust-toolchain",
            "rust-toolchain.toml",
        ]
    );
}

#[test]
fn a_package_inside_a_workspace_belongs_to_the_whole_of_it() {
    let dir = plant(&[
        ("Cargo.toml", WORKSPACE),
        ("p/Cargo.toml", PACKAGE),
        ("p/src/lib.rs", ""),
        ("q/lib.rs", ""),
    ]);
    let tree =
        read(&dir.path().join("p/src"), &dir.path().join("exports"), &Inputs::default()).unwrap();
    assert_eq!(names(&tree), ["Cargo.toml", "p/Cargo.toml", "p/src/lib.rs", "q/lib.rs"]);
}

#[test]
fn a_lone_package_is_its_own_root() {
    let dir = plant(&[("x.rs", ""), ("p/Cargo.toml", PACKAGE), ("p/src/main.rs", "")]);
    let tree =
        read(&dir.path().join("p/src"), &dir.path().join("exports"), &Inputs::default()).unwrap();
    assert_eq!(names(&tree), ["Cargo.toml", "src/main.rs"]);
}

#[test]
fn without_a_manifest_there_is_a_reason_and_no_tree() {
    let dir = plant(&[("x.rs", "")]);
    let reason = read(dir.path(), dir.path(), &Inputs::default()).err().unwrap();
    assert!(reason.starts_with("no Cargo.toml in "), "{reason}");
    let reason = read(&dir.path().join("gone"), dir.path(), &Inputs::default()).err().unwrap();
    assert!(reason.contains("gone cannot be read"), "{reason}");
}

#[test]
fn a_workspace_is_recognised_in_every_spelling() {
    for manifest in [
        "[workspace]",
        "  [ workspace ]  # all of it",
        "[package]\nname = \"p\"\n[workspace.dependencies]\n",
        "[\"workspace\"]",
        "workspace.members = []",
        "workspace = { members = [] }",
    ] {
        assert!(declares_workspace(manifest), "{manifest}");
    }
    for manifest in [
        "[package]\nversion.workspace = true",
        "[package]\nworkspace = \"..\"",
        "# [workspace]",
        "[package.metadata.workspace]",
        "[workspaces]",
        "[lints]\nworkspace = true",
        "",
    ] {
        assert!(!declares_workspace(manifest), "{manifest}");
    }
}

#[test]
fn content_name_and_place_of_a_file_all_count() {
    let hash = |files: &[(&str, &str)]| {
        let dir = plant(files);
        fs::write(dir.path().join("Cargo.toml"), WORKSPACE).unwrap();
        read_at(dir.path()).sha256
    };
    let plain = hash(&[("a/x.rs", "1")]);
    assert_eq!(hash(&[("a/x.rs", "1"), ("README.md", "new")]), plain);
    for changed in [
        hash(&[("a/x.rs", "2")]),
        hash(&[("a/y.rs", "1")]),
        hash(&[("x.rs", "1")]),
        hash(&[("a/x.rs", "1"), ("b.rs", "")]),
        hash(&[]),
    ] {
        assert_ne!(changed, plain);
    }
}

#[test]
fn inputs_count_by_their_content_wherever_a_pattern_finds_them() {
    let dir = plant(&[
        ("Cargo.toml", WORKSPACE),
        ("src/main.rs", ""),
        ("data/a.json", "1"),
        ("data/deep/b.json", "1"),
        ("data/c.csv", ""),
        ("data/deep/.hidden.json", ""),
        ("maps/x/tile.bin", ""),
        ("maps/.order", ""),
        (".settings/s.json", ""),
        (".git/config.json", ""),
        ("target/debug/a.json", ""),
        ("exports/classic/runs/ippo_0.json", ""),
        ("exports/classic/log.json", ""),
        ("exports/other/runs/ippo_0.json", ""),
        ("exports/other/_logs/ippo_0.log", ""),
    ]);
    let patterns = ["**/*.json", "maps", "src/*.rs", ".settings/*.json"].map(str::to_owned);
    let inputs = Inputs::new(&patterns).unwrap();
    let tree = read(dir.path(), &dir.path().join("exports/classic"), &inputs).unwrap();
    assert!(inputs.unmatched().is_empty(), "{inputs:?}");
    assert_eq!(
        names(&tree),
        [
            ".settings/s.json",
            "Cargo.toml",
            "data/a.json",
            "data/deep/b.json",
            "maps/.order",
            "maps/x/tile.bin",
            "src/main.rs",
        ]
    );
    fs::write(dir.path().join("exports/classic/runs/ippo_1.json"), "new").unwrap();
    fs::write(dir.path().join("exports/other/runs/ippo_1.json"), "new").unwrap();
    let again = || read_with(dir.path(), &["**/*.json", "maps", ".settings/*.json"]).sha256;
    assert_eq!(again(), tree.sha256);
    fs::write(dir.path().join("data/deep/b.json"), "2").unwrap();
    assert_ne!(again(), tree.sha256);
}

#[test]
fn an_unfinished_directory_named_like_one_of_an_export_hides_no_source() {
    let dir = plant(&[
        ("Cargo.toml", WORKSPACE),
        ("_logs/x.log", ""),
        ("runs/x.rs", ""),
        ("p/Cargo.toml", PACKAGE),
        ("p/runs/x.rs", ""),
        ("p/_logs/x.log", ""),
    ]);
    assert_eq!(
        names(&read_at(dir.path())),
        ["Cargo.toml", "p/Cargo.toml", "p/runs/x.rs", "runs/x.rs"]
    );
}

#[test]
fn inputs_are_told_from_what_programs_are_built_from() {
    let dir = plant(&[("Cargo.toml", WORKSPACE), ("a.rs", ""), ("x.json", "")]);
    let mut tree = read_with(dir.path(), &["*"]);
    tree.sources.sort_unstable();
    assert_eq!(tree.sources, ["Cargo.toml", "a.rs"].map(|name| tree.root.join(name)));
    assert_eq!(names(&tree), ["Cargo.toml", "a.rs", "x.json"]);
}

#[test]
fn an_export_directory_that_is_the_workspace_itself_hides_no_source() {
    let dir = plant(&[("Cargo.toml", WORKSPACE), ("src/main.rs", "")]);
    let tree = read(dir.path(), dir.path(), &Inputs::default()).unwrap();
    assert_eq!(names(&tree), ["Cargo.toml", "src/main.rs"]);
}

#[test]
fn an_export_directory_that_does_not_exist_yet_is_resolved() {
    let dir = plant(&[]);
    let real = fs::canonicalize(dir.path()).unwrap();
    let path = dir.path().join("a/b");
    assert_eq!(canonical_as_far_as_it_exists(&path), real.join("a/b"));
}

#[cfg(unix)]
mod links {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_linked_file_counts_by_content_and_a_linked_directory_not_at_all() {
        let outside = plant(&[("shared.rs", "1"), ("more/x.rs", "")]);
        let dir = plant(&[("Cargo.toml", WORKSPACE)]);
        symlink(outside.path().join("shared.rs"), dir.path().join("linked.rs")).unwrap();
        symlink(outside.path(), dir.path().join("away")).unwrap();
        symlink(outside.path(), dir.path().join("directory.rs")).unwrap();
        symlink(".", dir.path().join("loop")).unwrap();
        let before = read_at(dir.path());
        assert_eq!(names(&before), ["Cargo.toml", "linked.rs"]);
        fs::write(outside.path().join("shared.rs"), "2").unwrap();
        assert_ne!(read_at(dir.path()).sha256, before.sha256);
    }

    #[test]
    fn a_linked_directory_leads_to_inputs_only_where_a_pattern_has_its_name() {
        let outside = plant(&[("more/x.bin", "1"), ("x.rs", "")]);
        let dir = plant(&[("Cargo.toml", WORKSPACE), ("maps/real.bin", "")]);
        symlink(outside.path(), dir.path().join("data")).unwrap();
        symlink(outside.path(), dir.path().join("maps/link")).unwrap();
        symlink(".", dir.path().join("maps/loop")).unwrap();
        assert_eq!(names(&read_with(dir.path(), &["**/*.bin"])), ["Cargo.toml", "maps/real.bin"]);
        let tree = read_with(dir.path(), &["data/**/*.bin"]);
        assert_eq!(names(&tree), ["Cargo.toml", "data/more/x.bin"]);
        let tree = read_with(dir.path(), &["maps"]);
        assert_eq!(names(&tree), ["Cargo.toml", "maps/link", "maps/loop", "maps/real.bin"]);
        assert_eq!(tree.files["maps/loop"], "link to .");
    }

    #[test]
    fn a_file_that_cannot_be_read_has_the_reason_in_place_of_its_hash() {
        let dir = plant(&[("Cargo.toml", WORKSPACE)]);
        symlink("nowhere", dir.path().join("gone.rs")).unwrap();
        let tree = read_at(dir.path());
        assert_eq!(tree.files["gone.rs"], "unreadable: entity not found");
    }

    #[test]
    fn an_export_directory_behind_a_link_is_left_out() {
        let dir = plant(&[("Cargo.toml", WORKSPACE), ("out/x.rs", "")]);
        let elsewhere = plant(&[]);
        symlink(dir.path().join("out"), elsewhere.path().join("exports")).unwrap();
        let tree = read(dir.path(), &elsewhere.path().join("exports"), &Inputs::default()).unwrap();
        assert_eq!(names(&tree), ["Cargo.toml"]);
    }
}
