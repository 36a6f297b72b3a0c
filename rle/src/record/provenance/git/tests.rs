use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use super::session::{Missing, Session};
use super::*;
use crate::value::digest::{hash_file, hex};

/// A git that reads no configuration but the repository's own.
pub(crate) fn plain_git() -> Git {
    let env = [
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_AUTHOR_NAME", "a"),
        ("GIT_AUTHOR_EMAIL", "a@example.org"),
        ("GIT_COMMITTER_NAME", "a"),
        ("GIT_COMMITTER_EMAIL", "a@example.org"),
    ];
    let env = env.map(|(name, value)| (name.into(), value.into())).to_vec();
    Git { env, patience: Duration::from_mins(1), ..Git::default() }
}

/// A repository for one test.
pub(crate) struct Repository {
    dir: tempfile::TempDir,
}

impl Repository {
    /// An empty one, or nothing, with a line on stderr, where there is no git.
    pub(crate) fn new() -> Option<Self> {
        let repository = Self { dir: tempfile::tempdir().unwrap() };
        match repository.try_run(&["init", "-q", "-b", "main"]) {
            Err(Missing::NotInstalled) => {
                eprintln!("SKIPPED: there is no git here");
                None
            }
            outcome => {
                outcome.unwrap();
                Some(repository)
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        String::from_utf8(self.try_run(arguments).unwrap()).unwrap()
    }

    pub(crate) fn commit_all(&self) {
        self.run(&["add", "-A"]);
        self.run(&["commit", "-q", "-m", "x"]);
    }

    fn try_run(&self, arguments: &[&str]) -> Result<Vec<u8>, Missing> {
        let git = plain_git();
        let deadline = Instant::now() + git.patience;
        Session { git: &git, root: self.path(), deadline }.ask(arguments)
    }

    fn evidence(&self, sources: &[&str]) -> Evidence {
        evidence_at(&plain_git(), self.path(), sources)
    }

    /// One that is a clone of this one, made with these options.
    pub(crate) fn cloned(&self, options: &[&str]) -> Self {
        let clone = Self { dir: tempfile::tempdir().unwrap() };
        let from = format!("file://{}", self.path().display());
        let arguments = ["-c", "protocol.file.allow=always", "clone", "-q"];
        clone.run(&[&arguments, options, &[from.as_str(), "."]].concat());
        clone
    }
}

fn evidence_at(git: &Git, root: &Path, sources: &[&str]) -> Evidence {
    let root = fs::canonicalize(root).unwrap();
    let hash = |name: &str| hash_file(&root.join(name)).map(|digest| hex(&digest.sha256));
    let files: BTreeMap<String, String> =
        sources.iter().map(|name| ((*name).to_owned(), hash(name).unwrap_or_default())).collect();
    git.evidence(Sources {
        root: &root,
        files: &files,
        export_dir: &root.join("exports"),
        patterns: &["**/*.rs".to_owned()],
    })
}

fn reason(evidence: &Evidence) -> String {
    evidence.reason().unwrap_or_default()
}

#[test]
fn a_clean_tree_has_a_revision_and_no_reason() {
    let Some(repository) = Repository::new() else { return };
    repository.write("x.rs", "1");
    repository.commit_all();
    let evidence = repository.evidence(&["x.rs"]);
    assert_eq!((evidence.source.dirty, evidence.reason()), (Some(false), None));
    assert_eq!(evidence.source.revision.unwrap(), repository.run(&["rev-parse", "HEAD"]).trim());
    assert_eq!((evidence.source.branch.as_deref(), evidence.source.remote), (Some("main"), None));
    assert_eq!(evidence.source.diff_sha256, None);
    assert_eq!(evidence.source.vcs.as_deref(), Some("git"));
}

#[test]
fn a_changed_tracked_file_and_an_untracked_source_make_the_tree_dirty() {
    let Some(repository) = Repository::new() else { return };
    repository.write("x.rs", "1");
    repository.write("README.md", "1");
    repository.commit_all();
    repository.write("README.md", "2");
    assert_eq!(repository.evidence(&["x.rs"]).source.dirty, Some(true));
    repository.run(&["checkout", "-q", "README.md"]);
    repository.write("notes.txt", "untracked, no source");
    assert_eq!(repository.evidence(&["x.rs"]).source.dirty, Some(false));
    repository.write("deep/new ä.rs", "untracked source");
    assert_eq!(repository.evidence(&["x.rs", "deep/new ä.rs"]).source.dirty, Some(true));
    repository.write(".git/info/exclude", "deep\n");
    assert_eq!(repository.evidence(&["x.rs", "deep/new ä.rs"]).source.dirty, Some(false));
}

#[test]
fn the_export_directory_never_makes_a_tree_dirty() {
    let Some(repository) = Repository::new() else { return };
    repository.write("exports/runs/ippo_0.json", "1");
    repository.write("x.rs", "1");
    repository.commit_all();
    repository.write("exports/runs/ippo_0.json", "2");
    repository.write("exports/new.rs", "");
    assert_eq!(repository.evidence(&["x.rs"]).source.dirty, Some(false));
}

#[test]
fn a_workspace_below_the_top_of_its_repository_is_judged_as_well() {
    let Some(repository) = Repository::new() else { return };
    repository.write("rust/x.rs", "1");
    repository.write("rust/exports/log", "1");
    repository.commit_all();
    let root = repository.path().join("rust");
    repository.write("rust/exports/log", "2");
    assert_eq!(evidence_at(&plain_git(), &root, &["x.rs"]).source.dirty, Some(false));
    repository.write("rust/y.rs", "");
    assert_eq!(evidence_at(&plain_git(), &root, &["x.rs", "y.rs"]).source.dirty, Some(true));
}

#[test]
fn a_repository_without_a_commit_says_so() {
    let Some(repository) = Repository::new() else { return };
    repository.write("x.rs", "1");
    let evidence = repository.evidence(&["x.rs"]);
    assert_eq!(reason(&evidence), "the git repository has no commit yet");
    assert_eq!((evidence.source.revision, evidence.source.dirty), (None, Some(true)));
}

#[test]
fn a_directory_without_a_repository_says_so() {
    let Some(_git) = Repository::new() else { return };
    let dir = tempfile::tempdir().unwrap();
    let evidence = evidence_at(&plain_git(), dir.path(), &[]);
    assert_eq!(reason(&evidence), "not a git repository");
    assert_eq!(
        (evidence.source.vcs, evidence.source.revision, evidence.source.dirty),
        (None, None, None)
    );
}

#[test]
fn a_missing_git_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let git = Git { program: dir.path().join("git").into(), ..Git::default() };
    let evidence = evidence_at(&git, dir.path(), &[]);
    assert_eq!(reason(&evidence), "git is not installed, or not in PATH");
}

#[test]
fn a_detached_checkout_and_a_worktree_have_a_revision() {
    let Some(repository) = Repository::new() else { return };
    repository.write("x.rs", "1");
    repository.commit_all();
    let revision = repository.run(&["rev-parse", "HEAD"]).trim().to_owned();
    repository.run(&["checkout", "-q", "--detach"]);
    let detached = repository.evidence(&["x.rs"]);
    assert_eq!(reason(&detached), "the checkout is detached: it is on no branch");
    assert_eq!(
        (detached.source.revision.as_ref(), detached.source.branch),
        (Some(&revision), None)
    );
    let elsewhere = tempfile::tempdir().unwrap();
    let worktree = elsewhere.path().join("worktree");
    repository.run(&["worktree", "add", "-q", worktree.to_str().unwrap()]);
    let evidence = evidence_at(&plain_git(), &worktree, &["x.rs"]);
    assert_eq!(evidence.missing, [Missing::Worktree]);
    assert_eq!((evidence.source.revision, evidence.source.dirty), (Some(revision), Some(false)));
    assert_eq!(evidence.source.branch.as_deref(), Some("worktree"));
}

#[test]
fn a_shallow_clone_has_all_values_and_says_what_it_is() {
    let Some(repository) = Repository::new() else { return };
    for content in ["1", "2"] {
        repository.write("x.rs", content);
        repository.commit_all();
    }
    let clone = repository.cloned(&["--depth", "1"]);
    let evidence = clone.evidence(&["x.rs"]);
    assert_eq!(evidence.missing, [Missing::Shallow]);
    assert_eq!(evidence.source.revision.unwrap(), repository.run(&["rev-parse", "HEAD"]).trim());
    assert_eq!(
        (evidence.source.branch.as_deref(), evidence.source.dirty),
        (Some("main"), Some(false))
    );
    assert_eq!(repository.cloned(&[]).evidence(&["x.rs"]).missing, []);
}

#[test]
fn a_submodule_and_the_repository_that_holds_it_say_what_they_are() {
    let Some(inner) = Repository::new() else { return };
    inner.write("lib.rs", "1");
    inner.commit_all();
    let Some(outer) = Repository::new() else { return };
    outer.write("x.rs", "1");
    let from = format!("file://{}", inner.path().display());
    outer.run(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &from, "dep"]);
    outer.commit_all();
    let sources = ["x.rs", "dep/lib.rs"];
    let evidence = outer.evidence(&sources);
    assert_eq!(
        (evidence.missing, evidence.source.dirty),
        (vec![Missing::HasSubmodules], Some(false))
    );
    let inside = evidence_at(&plain_git(), &outer.path().join("dep"), &["lib.rs"]);
    assert_eq!((inside.missing, inside.source.dirty), (vec![Missing::InSubmodule], Some(false)));
    assert_eq!(inside.source.revision.unwrap(), inner.run(&["rev-parse", "HEAD"]).trim());
    outer.write("dep/lib.rs", "2");
    assert_eq!(outer.evidence(&sources).source.dirty, Some(true));
}

#[test]
fn the_remote_is_the_one_that_the_branch_follows_and_has_no_credentials() {
    let Some(repository) = Repository::new() else { return };
    repository.write("x.rs", "1");
    repository.commit_all();
    let remote = || repository.evidence(&["x.rs"]).source.remote;
    repository.run(&["remote", "add", "backup", "git@backup:x.git"]);
    assert_eq!(remote().as_deref(), Some("backup:x.git"));
    repository.run(&["remote", "add", "origin", "https://user:token@host/x.git"]);
    assert_eq!(remote().as_deref(), Some("https://host/x.git"));
    repository.run(&["remote", "add", "fork", "ssh://git@fork/x.git"]);
    repository.run(&["config", "branch.main.remote", "fork"]);
    assert_eq!(remote().as_deref(), Some("ssh://fork/x.git"));
    // Rewritten for this machine alone, perhaps with a token.
    repository.run(&["config", "url.https://token@mirror/.insteadOf", "ssh://git@fork/"]);
    assert_eq!(remote().as_deref(), Some("ssh://fork/x.git"));
}

#[test]
fn the_hash_of_the_difference_depends_on_the_sources_alone() {
    let Some(repository) = Repository::new() else { return };
    repository.write("x.rs", "1");
    repository.write("README.md", "1");
    repository.write("exports/old.rs", "1");
    repository.commit_all();
    let hash = |sources: &[&str]| repository.evidence(sources).source.diff_sha256;
    assert_eq!(hash(&["x.rs"]), None);
    repository.write("x.rs", "2");
    let changed = hash(&["x.rs"]);
    assert!(changed.is_some());
    repository.write("README.md", "2");
    repository.write("exports/old.rs", "2");
    for (key, value) in [
        ("diff.noprefix", "true"),
        ("diff.context", "9"),
        ("diff.algorithm", "histogram"),
        ("diff.external", "false"),
        ("color.ui", "always"),
        ("core.abbrev", "40"),
    ] {
        repository.run(&["config", key, value]);
    }
    assert_eq!(hash(&["x.rs"]), changed);
    repository.write("new.rs", "1");
    let added = hash(&["x.rs", "new.rs"]);
    assert_ne!(added, changed);
    repository.write("new.rs", "2");
    assert_ne!(hash(&["x.rs", "new.rs"]), added);
    repository.write("x.rs", "3");
    fs::remove_file(repository.path().join("new.rs")).unwrap();
    assert_ne!(hash(&["x.rs"]), changed);
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::*;

    #[test]
    fn a_repository_of_another_user_is_refused_in_words() {
        let Some(repository) = Repository::new() else { return };
        repository.write("x.rs", "1");
        repository.commit_all();
        let dot_git = repository.path().join(".git");
        if chown(&dot_git, Some(12_345), None)
            .and_then(|()| chown(repository.path(), Some(12_345), None))
            .is_err()
        {
            eprintln!("SKIPPED: only a privileged user can give a directory away");
            return;
        }
        let evidence = repository.evidence(&["x.rs"]);
        assert!(reason(&evidence).contains("belongs to another user"), "{evidence:?}");
        assert_eq!(evidence.source.revision, None);
    }

    fn script(dir: &Path, text: &str) -> Git {
        let program = dir.join("git");
        fs::write(&program, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Git { program: program.into(), env: Vec::new(), patience: Duration::from_millis(50) }
    }

    #[test]
    fn a_git_that_hangs_is_given_up() {
        let dir = tempfile::tempdir().unwrap();
        let started = Instant::now();
        let evidence = evidence_at(&script(dir.path(), "exec sleep 40"), dir.path(), &[]);
        assert_eq!(reason(&evidence), "git did not answer within 50ms");
        assert!(started.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn a_git_that_leaves_a_child_with_its_output_is_given_up() {
        let dir = tempfile::tempdir().unwrap();
        let started = Instant::now();
        let evidence = evidence_at(&script(dir.path(), "sleep 40 & exit 0"), dir.path(), &[]);
        assert_eq!(reason(&evidence), "git did not answer within 50ms");
        assert!(started.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn an_unknown_fault_is_told_in_the_words_of_git() {
        let dir = tempfile::tempdir().unwrap();
        let git = script(dir.path(), "echo 'fatal: index file corrupt' >&2; exit 128");
        let git = Git { patience: Duration::from_mins(1), ..git };
        let evidence = evidence_at(&git, dir.path(), &[]);
        assert_eq!(reason(&evidence), "git rev-parse failed: index file corrupt");
    }
}

#[test]
fn credentials_are_removed_in_every_form_of_address() {
    for (given, kept) in [
        ("https://user:token@host/x.git", "https://host/x.git"),
        ("https://token@host/x.git", "https://host/x.git"),
        ("https://user:p@ss:w@rd@host:8443/x.git", "https://host:8443/x.git"),
        ("https://user:pa/ss@host/x.git", "https://host/x.git"),
        ("https://user:pa#s?s@host/x.git", "https://host/x.git"),
        ("https://:token@host/x", "https://host/x"),
        ("https://user:tok%40en@host/x", "https://host/x"),
        ("HTTPS://User:Token@Host/x", "HTTPS://Host/x"),
        ("https://host/x.git?private_token=abc#deploy", "https://host/x.git"),
        ("https://host?access_token=abc@d", "https://host"),
        ("ssh://git@host:22/x.git", "ssh://host:22/x.git"),
        ("ssh://git:secret@[::1]:22/x.git", "ssh://[::1]:22/x.git"),
        ("git+ssh://git@host/x", "git+ssh://host/x"),
        ("git@host:group/x.git", "host:group/x.git"),
        ("user:token@host:group/x.git", "host:group/x.git"),
        ("https:user:token@host/x", "host/x"),
        ("helper::https://user:token@host/x", "helper::https://host/x"),
        ("ext::ssh -i key user@host %S x", "ext::"),
    ] {
        assert_eq!(without_credentials(given), kept, "{given}");
    }
}

#[test]
fn an_address_without_credentials_stays_as_it_is() {
    for address in [
        "https://host/x.git",
        "https://host/@scope/x.git",
        "https://host:8443/a@b/x.git",
        "ssh://[::1]/x",
        "host:group/x.git",
        "file:///srv/git/x.git",
        "/srv/git@2/x.git",
        "../x@y/z.git",
        "",
    ] {
        assert_eq!(without_credentials(address), address);
    }
}
