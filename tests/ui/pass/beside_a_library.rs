//! A binary that times stages of the library beside it.
#![deny(warnings)]

use rle_tests::stages;

mod inner {
    #[rle::timed("shared")]
    pub(crate) fn work() -> u8 {
        1
    }
}

fn main() {
    assert_eq!(inner::work(), 1);
}
