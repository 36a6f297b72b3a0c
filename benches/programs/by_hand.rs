//! What `list` prints for 1,000 algorithms, by a program that is written for this alone: the same
//! inventory, sorted by place, and a table of the same widths.

use std::fmt::Write as _;
use std::io::Write as _;

struct Entry {
    name: &'static str,
    slug: &'static str,
    flag: &'static str,
    doc: &'static str,
    file: &'static str,
    line: u32,
    column: u32,
    config: fn() -> String,
}

inventory::collect!(Entry);

#[derive(Default, serde::Serialize)]
struct Config {
    lr: f64,
    num_steps: u64,
}

fn config() -> String {
    serde_json::to_string(&Config::default()).expect("numbers have a JSON form")
}

include!(concat!(env!("OUT_DIR"), "/by_hand_1000.rs"));

fn main() {
    let mut entries: Vec<&Entry> = inventory::iter::<Entry>().collect();
    entries.sort_by_key(|entry| (entry.file, entry.line, entry.column));
    let rows: Vec<[String; 5]> = entries
        .iter()
        .map(|entry| {
            let place = format!("{}:{}:{}", entry.file, entry.line, entry.column);
            [entry.name, entry.slug, entry.flag, entry.doc, &place].map(ToOwned::to_owned)
        })
        .collect();
    let heads = ["algorithm", "slug", "flag", "description", "where"];
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].len());
        cells.chain([heads[column].len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let mut text = String::new();
    let mut line = |cells: &[&str]| {
        let mut line = String::new();
        for (cell, width) in cells.iter().zip(&widths) {
            write!(line, "{cell:<width$}  ").expect("writing to a string does not fail");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    };
    line(&heads);
    for row in &rows {
        line(&row.each_ref().map(String::as_str));
    }
    text.push('\n');
    for entry in &entries {
        writeln!(text, "{} config {}", entry.slug, (entry.config)())
            .expect("writing to a string does not fail");
    }
    text.push_str("\nstages none\n");
    std::io::stdout().write_all(text.as_bytes()).expect("stdout takes the table");
}
