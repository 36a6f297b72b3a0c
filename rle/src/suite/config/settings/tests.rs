//! The list of built-in options in `rle-macros` is generated from this table.

use std::path::Path;

use super::{reserved_flags, settings};

/// Set to write the list instead of comparing it.
const WRITE: &str = "RLE_WRITE_BUILT_IN";

fn macros_source() -> String {
    let names = reserved_flags();
    let lines = names.iter().map(|name| format!("    \"{name}\",\n")).collect::<Vec<_>>().concat();
    format!(
        "//! Names that no flag may have. Generated from the settings of `rle`; do not edit: run\n\
         //! `{WRITE}=1 cargo test -p rle --lib built_in_options`.\n\n\
         pub(crate) const BUILT_IN_FLAGS: [&str; {}] = [\n{lines}];\n",
        names.len()
    )
}

#[test]
fn built_in_options_of_the_macros_are_those_of_the_settings() {
    let macros = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rle-macros/src");
    if !macros.is_dir() {
        eprintln!("skipped: {} is not part of a packaged crate", macros.display());
        return;
    }
    let path = macros.join("built_in.rs");
    let expected = macros_source();
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, &expected).expect("the list can be written");
    }
    let found = std::fs::read_to_string(&path).expect("the list can be read");
    assert!(
        found == expected,
        "{} differs from the settings: run `{WRITE}=1 cargo test -p rle --lib built_in_options`",
        path.display()
    );
}

#[test]
fn the_page_on_the_command_line_names_every_option() {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    if !pages.is_dir() {
        eprintln!("skipped: {} is not part of a packaged crate", pages.display());
        return;
    }
    let page = |name| std::fs::read_to_string(pages.join(name)).expect("a page can be read");
    let text = page("command-line.md") + &page("inspecting.md");
    let options = settings().map(|setting| format!("--{}", setting.key.replace('_', "-")));
    let missing: Vec<String> = options.filter(|option| !text.contains(option.as_str())).collect();
    assert!(missing.is_empty(), "docs/command-line.md does not describe {}", missing.join(", "));
}
