//! What the attributes register.
