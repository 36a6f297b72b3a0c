//! All backends where the disk refuses.

use std::fmt;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::*;
use crate::Slug;
use crate::fs::small_disk::SmallDisk;
use crate::value::Value;

fn run() -> LoggedRun {
    LoggedRun {
        project: "pursuit".to_owned(),
        name: "first".to_owned(),
        group: "IPPO".to_owned(),
        slug: Slug::new("ippo").unwrap(),
        run_idx: 0,
        config: Value::from_iter([("lr", 3e-4)]),
        tags: Vec::new(),
        request: "request".to_owned(),
        resume_step: None,
    }
}

fn options(log_dir: &Path) -> LogOptions {
    let mut options = LogOptions::new(log_dir);
    options.backends = Backend::ALL.to_vec();
    options.flush_interval = Duration::from_millis(5);
    options
}

/// Collects the warnings of `body`, on whatever thread of the loggers.
fn warnings(body: impl FnOnce()) -> Vec<String> {
    let warnings = Warnings::default();
    tracing::subscriber::with_default(warnings.clone(), body);
    let texts = warnings.0.lock().unwrap();
    texts.clone()
}

#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == tracing::Level::WARN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        struct Text(String);
        impl Visit for Text {
            fn record_debug(&mut self, _: &Field, value: &dyn fmt::Debug) {
                self.0 = format!("{value:?}");
            }
        }
        let mut text = Text(String::new());
        event.record(&mut text);
        self.0.lock().unwrap().push(text.0);
    }
}

fn log(logger: &RunLogger, steps: std::ops::Range<i64>) {
    let sink = logger.sink();
    steps.for_each(|step| sink.log("train/loss", 0.5, step));
}

#[test]
fn a_full_disk_costs_points_that_are_counted_and_never_the_run() {
    let Some(disk) = SmallDisk::mount() else { return };
    let mut report = LogReport::default();
    let warnings = warnings(|| {
        let logger = RunLogger::start(&options(disk.path()), &run());
        log(&logger, 0..50_000);
        report = logger.finish(RunOutcome::Complete);
    });
    assert_eq!((warnings.len(), report.backends.len()), (3, 3), "{warnings:?}");
    for backend in &report.backends {
        let problem = backend.problem.as_deref().unwrap();
        assert!(problem.contains("No space left"), "{problem}");
        assert!((1..=50_000).contains(&backend.lost), "{} lost {}", backend.name, backend.lost);
    }
    assert!(report.lost() >= report.backends[0].lost);
}

#[test]
fn a_disk_that_gets_room_again_loses_nothing() {
    let Some(disk) = SmallDisk::mount() else { return };
    let ballast = disk.join("ballast");
    let logger = RunLogger::start(&options(disk.path()), &run());
    log(&logger, 0..10);
    let started = || {
        let swanlab = fs::read_dir(disk.join("pursuit/first/swanlab")).into_iter().flatten();
        swanlab.flatten().flat_map(|run| fs::read_dir(run.path())).flatten().flatten().any(|file| {
            let file = file.path();
            file.extension().is_some() && fs::metadata(file).is_ok_and(|file| file.len() > 0)
        })
    };
    let deadline = Instant::now() + Duration::from_mins(1);
    while !started() {
        assert!(Instant::now() < deadline, "the loggers do not start");
        std::thread::yield_now();
    }
    // Whatever is left, to the last byte.
    let mut file = fs::File::create(&ballast).unwrap();
    while file.write_all(&[0; 512]).is_ok() {}
    log(&logger, 10..200);
    drop(file);
    fs::remove_file(&ballast).unwrap();
    let report = logger.finish(RunOutcome::Complete);
    assert_eq!(report.lost(), 0, "{report:?}");
}

#[test]
fn a_directory_that_cannot_be_made_is_one_problem_of_each_backend() {
    let dir = tempfile::tempdir().unwrap();
    let log_dir = dir.path().join("logs");
    fs::write(&log_dir, "a file").unwrap();
    let mut report = LogReport::default();
    let warnings = warnings(|| {
        let logger = RunLogger::start(&options(&log_dir), &run());
        log(&logger, 0..10);
        report = logger.finish(RunOutcome::Complete);
    });
    assert_eq!((warnings.len(), report.lost()), (3, 10), "{warnings:?}");
    for backend in &report.backends {
        assert_eq!((backend.lost, &backend.upload), (10, &None));
        assert!(backend.problem.is_some());
    }
}

#[test]
fn a_project_that_a_service_refuses_is_another_one_there_and_said_once() {
    let dir = tempfile::tempdir().unwrap();
    let texts = warnings(|| {
        for run_idx in 0..3 {
            let run = LoggedRun { project: "50% of/it".to_owned(), run_idx, ..run() };
            let logger = RunLogger::start(&options(dir.path()), &run);
            let _ = logger.finish(RunOutcome::Complete);
        }
    });
    assert_eq!(
        texts,
        [
            "W&B does not accept the project name `50% of/it`; the project is called `50_ of_it` there",
            "SwanLab does not accept the project name `50% of/it`; the project is called `50__of_it` there"
        ]
    );
}

#[test]
fn names_that_cannot_be_logged_are_said_once_and_counted() {
    let dir = tempfile::tempdir().unwrap();
    let mut report = LogReport::default();
    let texts = warnings(|| {
        let logger = RunLogger::start(&options(dir.path()), &run());
        (0..5).for_each(|step| logger.sink().log("", 0.5, step));
        report = logger.finish(RunOutcome::Complete);
    });
    assert_eq!(texts, ["a metric is not logged: its name `` is empty"]);
    assert_eq!((report.refused, report.lost()), (5, 5));
}

#[test]
fn disabled_is_for_the_services_only() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = options(dir.path());
    options.mode = LogMode::Disabled;
    let logger = RunLogger::start(&options, &run());
    log(&logger, 0..10);
    let report = logger.finish(RunOutcome::Complete);
    let names: Vec<_> = report.backends.iter().map(|backend| backend.name).collect();
    assert_eq!(names, ["tensorboard"]);
}

#[test]
fn a_run_that_was_killed_before_its_first_records_is_begun_anew_by_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let logger = RunLogger::start(&options(dir.path()), &run());
    let _ = logger.finish(RunOutcome::Complete);
    let mut emptied = 0;
    for backend in ["wandb", "swanlab"] {
        let root = dir.path().join("pursuit/first").join(backend);
        for entry in fs::read_dir(root).unwrap() {
            for file in fs::read_dir(entry.unwrap().path()).unwrap() {
                let file = file.unwrap().path();
                if file.is_file() {
                    fs::write(file, "").unwrap();
                    emptied += 1;
                }
            }
        }
    }
    assert_eq!(emptied, 2);
    let resumed = LoggedRun { resume_step: Some(3), ..run() };
    let logger = RunLogger::start(&options(dir.path()), &resumed);
    log(&logger, 4..10);
    let report = logger.finish(RunOutcome::Complete);
    assert_eq!(report.lost(), 0, "{report:?}");
    assert!(report.backends.iter().all(|backend| backend.problem.is_none()), "{report:?}");
}
