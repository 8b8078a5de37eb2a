//! Arguments that are not tensors: their types, what backward functions may ask for, and examples.

use super::model::Value;
use super::text::Types;

/// Returns the type of a parameter of forward.
pub(crate) fn ty(value: Value, types: Types) -> String {
    let element = types.element();
    match value {
        Value::Number => element.to_owned(),
        Value::Numbers => format!("&[{element}]"),
        Value::Count => "usize".to_owned(),
        Value::Maybe => format!("Option<{element}>"),
        Value::Label => "&str".to_owned(),
        Value::Settings => "&Settings".to_owned(),
        Value::Indices => "&Array1<usize>".to_owned(),
        Value::Closure => "F".to_owned(),
        Value::Pointer => "fn(f64) -> f64".to_owned(),
        Value::Row => format!("[{element}; N]"),
        Value::Entries => "&[i64]".to_owned(),
    }
}

/// Returns the type by reference, as the short form and some backward functions have it.
pub(crate) fn reference(value: Value, types: Types) -> String {
    let ty = ty(value, types);
    if ty.starts_with('&') {
        ty
    } else {
        format!("&{ty}")
    }
}

/// Returns the number that a value stands for.
pub(crate) fn number(value: Value, name: &str, by_reference: bool, types: Types) -> String {
    let star = if by_reference { "*" } else { "" };
    match value {
        Value::Number => format!("{star}{name}"),
        Value::Numbers | Value::Row => {
            let times = if value == Value::Row {
                format!(" * {}", types.converted("(N as f64)"))
            } else {
                String::new()
            };
            let zero = types.number(0.0);
            format!("{name}.iter().fold({zero}, |sum, one| sum + *one){times}")
        }
        Value::Count => types.converted(&format!("({star}{name} as f64)")),
        Value::Maybe => format!("{name}.unwrap_or({})", types.number(0.5)),
        Value::Label => types.converted(&format!("({name}.len() as f64)")),
        Value::Settings => types.converted(&format!("{name}.rate")),
        Value::Indices => types.converted(&format!("({name}.sum() as f64)")),
        Value::Closure | Value::Pointer => types.converted(&format!("{name}(0.75)")),
        Value::Entries => format!("({name} as f64)"),
    }
}

/// Returns an argument of `apply` for tensors of this shape.
pub(crate) fn example(value: Value, shape: &[usize]) -> String {
    let text = match value {
        Value::Number => "1.25",
        Value::Numbers => "&[0.5, 0.25]",
        Value::Count => "2",
        Value::Maybe => "Some(0.75)",
        Value::Label => "\"ab\"",
        Value::Settings => "&Settings { rate: 0.75 }",
        Value::Indices => "&Array1::from(vec![1_usize, 1])",
        Value::Closure | Value::Pointer => "|number| 2.0 * number",
        Value::Row => "[0.5, 0.25]",
        Value::Entries => {
            let elements = 0..shape.iter().product::<usize>();
            let entries: Vec<usize> = elements.map(|index| index % 3 + 1).collect();
            return format!("&{entries:?}");
        }
    };
    text.to_owned()
}
