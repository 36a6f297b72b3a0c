//! The program that runs a suite, as its own code describes it.

/// What `#[rle::main]` knows of the program at compile time.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The package's directory at compile time.
    pub manifest_dir: &'static str,
    /// The binary's name.
    pub name: &'static str,
    /// The package's version.
    pub version: &'static str,
    /// Whether a panic ends the whole program.
    pub panic_abort: bool,
}
