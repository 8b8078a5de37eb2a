//! What an iterator yields, in a list or as tokens.

use proc_macro2::TokenStream;
use quote::ToTokens;

/// In place of `collect`, which compiles some ten functions of the standard library for each closure before it: whoever
/// builds a function builds the macros first, and they would have a sixth more code.
///
/// What several functions iterate over is such a list too (`list.into_iter()`), as iterators are compiled for each closure
/// behind them.
pub(crate) trait Lists: Iterator + Sized {
    fn listed(self) -> Vec<Self::Item> {
        let mut all = Vec::new();
        for item in self {
            all.push(item);
        }
        all
    }

    /// Returns the tokens of all items, one after the other.
    fn tokens(self) -> TokenStream
    where
        Self::Item: ToTokens,
    {
        let mut all = TokenStream::new();
        for item in self {
            item.to_tokens(&mut all);
        }
        all
    }
}

impl<I: Iterator> Lists for I {}
