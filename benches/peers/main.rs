//! Writes scalars with `tensorboard-rs`, and prints the seconds until all are in the file.

use std::time::Instant;

use tensorboard_rs::summary_writer::SummaryWriter;

const TAGS: [&str; 5] =
    ["train/loss", "train/entropy", "train/grad_norm", "rollout/return", "rollout/length"];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let count: usize = arguments[1].parse().expect("a number of scalars");
    let mut writer = SummaryWriter::new(&arguments[2]);
    let began = Instant::now();
    for index in 0..count {
        writer.add_scalar(TAGS[index % TAGS.len()], index as f32, index / TAGS.len());
    }
    // Waits for its thread.
    drop(writer);
    println!("{}", began.elapsed().as_secs_f64());
}
