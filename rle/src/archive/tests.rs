//! What moves promise.
