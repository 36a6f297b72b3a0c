//! The commands that look at files of any program, run as users do: in the program `rle` and in a
//! generated one.

mod locks;
mod stages;
mod support;
mod times;
