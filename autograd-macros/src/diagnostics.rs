//! Collects all mistakes of an item, to report them at once, and has the wording that messages share.
//!
//! Every message is lower case, sets code in backticks and states what is wrong, what was expected
//! instead, and, where that is not obvious, what to write. It is reported on the token to change and
//! uses the names of the definition.

use proc_macro2::TokenStream;
use quote::ToTokens;

use crate::lists::Lists as _;

/// Collects mistakes. Dropping one without [`Diagnostics::finish`] is a bug: mistakes would be lost.
#[derive(Default)]
pub(crate) struct Diagnostics {
    errors: Vec<syn::Error>,
    finished: bool,
    /// Whether a type is wrong in a way that the compiler would report again.
    pub(crate) is_unreadable: bool,
    /// Whether an input may have been meant to be of another kind: other rules would only repeat that.
    pub(crate) is_doubtful: bool,
}

impl Diagnostics {
    /// Records a mistake on the given tokens.
    pub(crate) fn error(&mut self, on: &impl ToTokens, message: impl Into<String>) {
        self.errors
            .push(syn::Error::new_spanned(on, message.into()));
    }

    /// Records a mistake, with what to write instead.
    pub(crate) fn error_with_help(&mut self, on: &impl ToTokens, message: &str, help: &str) {
        self.error(on, format!("{message}\n= help: {help}"));
    }

    /// Records a mistake, unless one with this message has been recorded.
    pub(crate) fn once(&mut self, on: &impl ToTokens, message: &str, help: &str) {
        let text = format!("{message}\n= help: {help}");
        if self.errors.iter().all(|error| error.to_string() != text) {
            self.error(on, text);
        }
    }

    /// Records a mistake on the attribute, in place of all others, which follow from it.
    pub(crate) fn only(&mut self, message: &str, help: &str) {
        self.errors.clear();
        self.error_with_help(&TokenStream::new(), message, help);
    }

    /// Returns what was parsed, or records why it could not be.
    pub(crate) fn ok<T>(&mut self, parsed: syn::Result<T>) -> Option<T> {
        parsed.map_err(|error| self.errors.push(error)).ok()
    }

    /// Returns the number of mistakes that have been recorded so far.
    pub(crate) fn len(&self) -> usize {
        self.errors.len()
    }

    /// Returns all mistakes as `compile_error!` calls, or `Ok` if there are none.
    pub(crate) fn finish(mut self) -> Result<(), TokenStream> {
        self.finished = true;
        match self.errors.as_slice() {
            [] => Ok(()),
            errors => Err(errors.iter().map(syn::Error::to_compile_error).tokens()),
        }
    }
}

impl Drop for Diagnostics {
    fn drop(&mut self) {
        debug_assert!(
            self.finished || std::thread::panicking(),
            "diagnostics were dropped unchecked"
        );
    }
}

/// Returns `` `a`, `b`, `c` ``.
pub(crate) fn list<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    let quoted = names
        .into_iter()
        .map(|name| format!("`{}`", name.as_ref()))
        .listed();
    quoted.join(", ")
}

/// Returns `1 array is` or `2 arrays are`.
pub(crate) fn count(number: usize, thing: &str) -> String {
    if number == 1 {
        format!("1 {thing} is")
    } else {
        format!("{number} {thing}s are")
    }
}

/// Returns ``did you mean `weight`? ``, to begin a help line with, if some candidate is near enough.
pub(crate) fn did_you_mean(wanted: &str, candidates: &[String]) -> String {
    nearest(wanted, candidates)
        .map(|index| format!("did you mean `{}`? ", candidates[index]))
        .unwrap_or_default()
}

/// Returns the index of the candidate that was probably meant.
pub(crate) fn nearest(wanted: &str, candidates: &[String]) -> Option<usize> {
    let distances = candidates
        .iter()
        .map(|candidate| distance(wanted, candidate));
    // Where no letter is left of a short name, nothing is alike.
    let letters = wanted.chars().count();
    let near = distances
        .enumerate()
        .filter(|(_, distance)| *distance <= 1.max(wanted.len() / 3) && *distance < letters);
    near.min_by_key(|(_, distance)| *distance)
        .map(|(index, _)| index)
        .or_else(|| begun(wanted, candidates))
}

/// Returns the index of the first candidate that begins so: `grad_out` of `grad_output`.
fn begun(wanted: &str, candidates: &[String]) -> Option<usize> {
    const LETTERS: usize = 4;
    let begins = |candidate: &String| candidate.starts_with(wanted);
    let first = candidates.iter().position(begins);
    first.filter(|_| wanted.chars().count() >= LETTERS)
}

/// Returns the distance of two names if it is at most this. Of most names the letters need not be compared: compilers run
/// macros without optimization.
pub(crate) fn distance_within(a: &str, b: &str, most: usize) -> Option<usize> {
    if a == b {
        return Some(0);
    }
    let lengths = [a, b].map(|name| name.chars().count());
    let may_be_near = most > 0 && lengths[0].abs_diff(lengths[1]) <= most;
    let distance = may_be_near.then(|| distance(a, b));
    distance.filter(|distance| *distance <= most)
}

/// Returns the number of letters to insert, delete, replace or swap with a neighbor.
pub(crate) fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().listed(), b.chars().listed());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                let swap = if swapped {
                    rows[i - 2][j - 2] + 1
                } else {
                    usize::MAX
                };
                replaced
                    .min(swap)
                    .min(rows[i - 1][j] + 1)
                    .min(rows[i][j - 1] + 1)
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swapped_pair_of_letters_is_one_edit() {
        assert_eq!(distance("wieght", "weight"), 1);
        assert_eq!(distance("foward", "forward"), 1);
        assert_eq!(distance("", "abc"), 3);
    }

    #[test]
    fn only_near_names_are_suggested() {
        let names = ["input", "weight"].map(String::from);
        assert_eq!(did_you_mean("wieght", &names), "did you mean `weight`? ");
        assert_eq!(did_you_mean("other", &names), "");
        assert_eq!(did_you_mean("weig", &names), "did you mean `weight`? ");
        assert_eq!(did_you_mean("in", &names), "");
        let short = ["x", "nu"].map(String::from);
        assert_eq!(did_you_mean("q", &short), "");
        assert_eq!(did_you_mean("ν", &short), "");
        assert_eq!(did_you_mean("xs", &short), "did you mean `x`? ");
        assert_eq!(did_you_mean("un", &short), "did you mean `nu`? ");
    }

    #[test]
    #[should_panic(expected = "dropped unchecked")]
    #[cfg(debug_assertions)]
    fn unchecked_diagnostics_are_a_bug() {
        drop(Diagnostics::default());
    }
}
