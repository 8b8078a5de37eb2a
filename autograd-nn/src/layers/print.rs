//! Options in the format of PyTorch.

use std::fmt::{Debug, Display};

/// Formats a `bool` like Python.
pub(super) fn truth(holds: bool) -> &'static str {
    if holds { "True" } else { "False" }
}

/// Formats numbers as a Python tuple.
pub(super) fn tuple(numbers: &[usize]) -> String {
    let list: Vec<String> = numbers.iter().map(usize::to_string).collect();
    let comma = if numbers.len() == 1 { "," } else { "" };
    format!("({}{comma})", list.join(", "))
}

/// Adds an option to the text.
pub(super) fn add(text: &mut String, name: &str, value: impl Display) {
    add_text(text, &format!("{name}={value}"));
}

/// Adds an option to the text, if it does not have its usual value.
pub(super) fn add_unless<V: PartialEq + Debug>(
    text: &mut String,
    name: &str,
    value: V,
    usual: V,
    shown: impl FnOnce(V) -> String,
) {
    if value != usual {
        add_text(text, &format!("{name}={}", shown(value)));
    }
}

fn add_text(text: &mut String, option: &str) {
    if !text.is_empty() {
        text.push_str(", ");
    }
    text.push_str(option);
}
