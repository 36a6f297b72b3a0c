use std::sync::Arc;

use super::*;
use crate::Slug;
use crate::value::Value;

fn wandb(log_dir: &Path) -> Wandb {
    let run = LoggedRun {
        project: "pursuit".to_owned(),
        name: "first".to_owned(),
        group: "IPPO".to_owned(),
        slug: Slug::new("ippo").unwrap(),
        run_idx: 0,
        config: Value::object(),
        tags: Vec::new(),
        request: "request".to_owned(),
        resume_step: None,
    };
    Wandb::new(&LogOptions::new(log_dir), &run)
}

/// Writes batches of (name, step) whose value is the step.
fn write(logger: &mut Wandb, clock: RunClock, points: &[(u32, i64)]) {
    let names: [Arc<str>; 2] = ["loss".into(), "return".into()];
    #[expect(clippy::cast_precision_loss, reason = "small")]
    let point = |(name, step): &(u32, i64)| Point {
        name: *name,
        step: *step,
        value: *step as f64,
        nanos: 0,
    };
    let points: Vec<Point> = points.iter().map(point).collect();
    logger.write(&Batch { names: &names, points: &points, clock }).unwrap();
}

/// The rows in the file as it is now: the step, and the names beside those of W&B's own.
fn rows(logger: &Wandb) -> Vec<(i64, Vec<String>)> {
    let files = std::fs::read_dir(&logger.offline.directory.path).unwrap();
    let file = files.map(|file| file.unwrap().path()).find(|path| path.extension().is_some());
    let mut records = Records::open(&file.unwrap(), FORMAT.header).unwrap();
    let mut rows = Vec::new();
    while let Some(bytes) = records.next_record().unwrap() {
        let Some(history) = Fields::bytes_of(bytes, record::HISTORY) else { continue };
        let row = HistoryRow::read(history).unwrap();
        let names = row.items.into_iter().map(|(key, _)| key).filter(|key| !key.starts_with('_'));
        rows.push((row.step, names.collect()));
    }
    rows
}

#[test]
fn the_row_of_the_present_step_is_in_the_file_and_grows_there() {
    let dir = tempfile::tempdir().unwrap();
    let clock = RunClock::start();
    let mut logger = wandb(dir.path());
    logger.start(clock, None).unwrap();
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    write(&mut logger, clock, &[(0, 1), (0, 2)]);
    assert_eq!(rows(&logger), [(1, names(&["loss"])), (2, names(&["loss"]))]);
    write(&mut logger, clock, &[(1, 2)]);
    assert_eq!(rows(&logger), [(1, names(&["loss"])), (2, names(&["loss", "return"]))]);
    write(&mut logger, clock, &[(0, 1), (1, 3)]);
    assert_eq!(rows(&logger).len(), 3);
    assert_eq!(logger.unfit(), 1);
    logger.finish(None, clock.start_seconds()).unwrap();
    let whole = [(1, names(&["loss"])), (2, names(&["loss", "return"])), (3, names(&["return"]))];
    assert_eq!(rows(&logger), whole);
}

#[test]
fn projects_are_cut_to_what_the_service_takes() {
    assert_eq!(project_name("pursuit v2"), "pursuit v2");
    assert_eq!(project_name(r"a/b\c#d?e%f:g"), "a_b_c_d_e_f_g");
    assert_eq!(project_name(&"é".repeat(200)), "é".repeat(128));
    assert_eq!(project_name(""), "uncategorized");
}
