//! Words for messages.

use std::fmt::Display;

/// Returns a number with its noun: `1 gradient`, `2 gradients`.
pub fn counted<N: Display + PartialEq + From<u8>>(number: N, one: &str, many: &str) -> String {
    let noun = if number == N::from(1) { one } else { many };
    format!("{number} {noun}")
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_is_singular() {
        let words = [0_usize, 1, 2].map(|number| counted(number, "axis", "axes"));
        assert_eq!(words, ["0 axes", "1 axis", "2 axes"]);
    }
}
