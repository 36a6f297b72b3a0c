//! Placeholder.

/// Placeholder.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct ValueError {
    message: String,
}
