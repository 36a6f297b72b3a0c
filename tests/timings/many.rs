//! Many writers of one file, some of which are killed, and a reader all the while.

use std::collections::BTreeSet;
use std::io::{BufRead, Read};
use std::thread;

use crate::program::{Program, entries, fast_dir, names_in};

const FILES: [&str; 3] = ["timings.json", "timings.json.lock", "timings_hardware.json"];

fn reader(dir: &str) -> Program {
    let mut reader = Program::start(&["read", dir]);
    reader.await_line("ready");
    reader
}

#[test]
fn sixty_four_processes_lose_no_entry_and_a_reader_sees_whole_files_only() {
    const WRITERS: u32 = 64;
    const UPDATES: u32 = 50;
    let dir = fast_dir();
    let path = dir.path().to_str().unwrap();
    let reader = reader(path);
    let start =
        |writer: u32| Program::start(&["update", path, &writer.to_string(), &UPDATES.to_string()]);
    let mut writers: Vec<_> = (0..WRITERS).map(start).collect();
    for writer in &mut writers {
        writer.await_line("ready");
    }
    writers.iter_mut().for_each(Program::go);
    for writer in writers {
        assert_eq!(writer.end_well().len(), UPDATES as usize);
    }
    let readings: u64 = reader.end_well().last().unwrap().parse().unwrap();
    assert!(readings > 100, "{readings}");
    let entries = entries(dir.path());
    assert!(entries.keys().copied().eq(1..=WRITERS * UPDATES), "{}", entries.len());
    assert!(entries.values().all(|times| *times == 1));
    assert_eq!(names_in(dir.path()), FILES);
}

#[test]
fn what_a_killed_writer_was_told_is_saved_is_there() {
    const WRITERS: u32 = 24;
    const UPDATES: u32 = 1000;
    let dir = fast_dir();
    let path = dir.path().to_str().unwrap();
    let reader = reader(path);
    // Each is killed after another number of answers, at another moment of its next update.
    let acknowledged: BTreeSet<u32> = thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                scope.spawn(move || {
                    let number = writer.to_string();
                    let mut program =
                        Program::start(&["update", path, &number, &UPDATES.to_string()]);
                    program.await_line("ready");
                    program.go();
                    let answers = 3 + (writer * 7) % 23;
                    let mut told: Vec<u32> =
                        (0..answers).map(|_| program.line().parse().unwrap()).collect();
                    for _ in 0..(writer * 911) % 4000 {
                        thread::yield_now();
                    }
                    program.child.kill().unwrap();
                    // What it was told before the kill counts too; a line may be cut.
                    let rest = program.stdout.by_ref().lines().map_while(Result::ok);
                    told.extend(rest.filter_map(|line| line.parse::<u32>().ok()));
                    program.child.wait().unwrap();
                    told
                })
            })
            .collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    assert!(acknowledged.len() > 200, "{}", acknowledged.len());
    reader.end_well();
    // A further writer sweeps what the killed ones left.
    Program::start(&["save", path, "10000"]).end_well();
    let entries = entries(dir.path());
    let lost: Vec<_> = acknowledged.iter().filter(|run| !entries.contains_key(run)).collect();
    assert!(lost.is_empty(), "{lost:?}");
    assert!(entries.values().all(|times| *times == 1));
    // At most the one update of each in which it was killed was saved without an answer.
    assert!(entries.len() <= acknowledged.len() + WRITERS as usize);
    assert_eq!(names_in(dir.path()), FILES);
}
