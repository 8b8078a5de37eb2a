//! Words of messages.

use std::fmt::Display;

/// A number with the noun that belongs to it: `1 gradient`, `2 gradients`.
pub fn counted<N: Display + PartialEq + From<u8>>(number: N, one: &str, many: &str) -> String {
    let noun = if number == N::from(1) { one } else { many };
    format!("{number} {noun}")
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_of_a_thing_is_no_plural() {
        let told = [0_usize, 1, 2].map(|number| counted(number, "axis", "axes"));
        assert_eq!(told, ["0 axes", "1 axis", "2 axes"]);
    }
}
