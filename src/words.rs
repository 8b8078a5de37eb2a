//! Words of messages. The core has the like: it is no part of what a user sees of it.

use std::fmt::Display;

/// A number with the noun that belongs to it: `1 label`, `2 labels`.
pub(crate) fn counted<N: Display + PartialEq + From<u8>>(
    number: N,
    one: &str,
    many: &str,
) -> String {
    let noun = if number == N::from(1) { one } else { many };
    format!("{number} {noun}")
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_of_a_thing_is_no_plural() {
        let told = [0_usize, 1, 2].map(|number| counted(number, "row", "rows"));
        assert_eq!(told, ["0 rows", "1 row", "2 rows"]);
        assert_eq!(counted(1_u64, "byte", "bytes"), "1 byte");
    }
}
