//! The program `rle`: looks at the times and locks of any export root.

use std::process::ExitCode;

fn main() -> ExitCode {
    rle::__standalone()
}
