//! What the end-to-end tests share.

rle::stages! { shared }
