//! What the body of a generated program's `main` may give.

use crate::suite::config::SuiteConfig;

/// What `#[rle::main]` accepts as the body's value: the configuration, or a result of it.
pub trait IntoSuiteConfig {
    /// The configuration, or why there is none.
    fn into_suite_config(self) -> Result<SuiteConfig, Box<dyn std::error::Error + Send + Sync>>;
}

impl IntoSuiteConfig for SuiteConfig {
    fn into_suite_config(self) -> Result<SuiteConfig, Box<dyn std::error::Error + Send + Sync>> {
        Ok(self)
    }
}

impl<E> IntoSuiteConfig for Result<SuiteConfig, E>
where
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    fn into_suite_config(self) -> Result<SuiteConfig, Box<dyn std::error::Error + Send + Sync>> {
        self.map_err(Into::into)
    }
}
