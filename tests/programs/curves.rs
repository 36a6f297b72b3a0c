//! Logs metrics to all backends: without end until it is killed, or a few points that it sends.

use std::env;
use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use rle::Slug;
use rle::metrics::{
    Backend, LogMode, LogOptions, LoggedRun, MetricSink, RunLogger, RunOutcome, UploadOutcome,
};
use rle::value::Value;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = env::args().collect();
    let [_, what, log_dir, more @ ..] = arguments.as_slice() else {
        return Err("usage: curves endless|send LOG_DIR [INTERVAL_MS|BACKEND]".into());
    };
    let mut options = LogOptions::new(log_dir);
    let run = LoggedRun {
        project: "curves".to_owned(),
        name: "test".to_owned(),
        group: "Curves".to_owned(),
        slug: Slug::new("curves")?,
        run_idx: 0,
        config: Value::from_iter([("lr", 3e-4)]),
        tags: Vec::new(),
        request: "request".to_owned(),
        resume_step: None,
    };
    if what == "endless" {
        let interval = more.first().ok_or("no interval")?.parse()?;
        options.backends = Backend::ALL.to_vec();
        options.flush_interval = Duration::from_millis(interval);
        log_without_end(&RunLogger::start(&options, &run).sink())?;
    } else {
        options.backends = Backend::parse_list(more.first().ok_or("no backend")?)?;
        options.mode = LogMode::Online;
        send(&options, &run);
    }
    Ok(())
}

/// Tells on stdout how far it is: a step, and the microseconds since the first one.
fn log_without_end(sink: &MetricSink) -> io::Result<()> {
    let start = Instant::now();
    let mut out = io::stdout().lock();
    for step in 0.. {
        #[expect(clippy::cast_precision_loss, reason = "a few thousand steps")]
        sink.log_many(&[("train/step", step as f64), ("half", step as f64 / 2.0)], step);
        writeln!(out, "{step} {}", start.elapsed().as_micros())?;
        out.flush()?;
        // The pace of a training: without one the file grows by its own speed.
        std::thread::sleep(Duration::from_micros(200));
    }
    Ok(())
}

fn send(options: &LogOptions, run: &LoggedRun) {
    let logger = RunLogger::start(options, run);
    (0..5).for_each(|step| logger.sink().log("loss", 0.5, step));
    for backend in logger.finish(RunOutcome::Complete).backends {
        let Some(upload) = backend.upload else { continue };
        assert!(upload.is_requested());
        match upload.start(Duration::from_mins(2)) {
            UploadOutcome::Sent => println!("sent"),
            UploadOutcome::NotStarted { reason } => {
                println!("{reason}; run: {}", upload.command_line());
            }
            other => println!("{other:?}"),
        }
    }
}
