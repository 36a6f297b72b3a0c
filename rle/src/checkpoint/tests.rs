//! What checkpoints promise.
