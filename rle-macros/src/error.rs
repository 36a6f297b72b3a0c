//! Collects the errors of one use of a macro, so that one does not hide the next.

use std::fmt::Display;

use proc_macro2::{Span, TokenStream};

/// The errors found so far; they are emitted together, beside the item as it was written.
#[derive(Default)]
pub(crate) struct Errors(Vec<syn::Error>);

impl Errors {
    pub(crate) fn push(&mut self, span: Span, message: impl Display) {
        self.0.push(syn::Error::new(span, message));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// One `compile_error!` for each error: nothing when there is none.
    pub(crate) fn into_tokens(self) -> TokenStream {
        self.0.iter().map(syn::Error::to_compile_error).collect()
    }

    #[cfg(test)]
    pub(crate) fn messages(self) -> Vec<String> {
        self.0.iter().map(ToString::to_string).collect()
    }
}
