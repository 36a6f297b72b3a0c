//! The generated program from outside: what it says, how it ends, what it leaves on disk.

mod bad_input;
mod files;
mod isolation;
mod library;
mod prepare;
mod records;
mod resume;
mod robustness;
mod support;
mod words;
