//! Collects what is wrong with one use of a macro, so that one fault does not hide the next.

use std::fmt::Display;

use proc_macro2::{Span, TokenStream};

/// The errors found so far; they are told together, beside the item as it was written.
#[derive(Default)]
pub(crate) struct Errors {
    combined: Option<syn::Error>,
    count: usize,
}

impl Errors {
    pub(crate) fn push(&mut self, span: Span, message: impl Display) {
        let error = syn::Error::new(span, message);
        self.count += 1;
        match &mut self.combined {
            Some(combined) => combined.combine(error),
            None => self.combined = Some(error),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// One `compile_error!` for each error: nothing when there is none.
    pub(crate) fn into_tokens(self) -> TokenStream {
        self.combined.map(|error| error.to_compile_error()).unwrap_or_default()
    }

    #[cfg(test)]
    pub(crate) fn messages(self) -> Vec<String> {
        self.combined.into_iter().flatten().map(|error| error.to_string()).collect()
    }
}
