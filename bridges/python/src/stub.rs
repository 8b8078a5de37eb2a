//! The definition, the documentation and the `.pyi` stub of a function.

use std::borrow::Cow;
use std::fmt::Write;

use pullback::catalogue::Entry;
use pullback::{InputSignature, OutputSignature};
use pyo3::PyResult;
use pyo3::exceptions::PyImportError;

use crate::argument::Parameter;
use crate::export::{Variant, element_types};
use crate::slots::each_shape;

pub(crate) struct Definition {
    pub(crate) source: String,
    pub(crate) docs: String,
    pub(crate) stub: String,
}

/// Returns the first lines of a stub.
pub(crate) fn head() -> String {
    "from typing import Any, Callable, Sequence, TypeVar\n\n\
     import jax  # type: ignore\n\
     import numpy\n\
     import torch  # type: ignore\n\n\
     Array = TypeVar(\"Array\", torch.Tensor, jax.Array, numpy.ndarray)\n\
     IndexArray = torch.Tensor | jax.Array | numpy.ndarray\n\n\
     def get_num_threads() -> int: ...\n\
     def half_precision(enabled: bool) -> None: ...\n\
     def set_num_threads(count: int) -> None: ...\n\
     class testing:\n    \
     @staticmethod\n    \
     def check(function: Callable[..., Any], /, *arguments: Any, estimated: Sequence[str] = ..., **keywords: Any) -> None: ...\n    \
     @staticmethod\n    \
     def check_all(cases: dict[str, Sequence[Any]], estimated: dict[str, Sequence[str]] = ...) -> None: ...\n\n\
     def vjp(function: Callable[..., Any], /, *arguments: Any, **keywords: Any) -> tuple[Any, Callable[..., Any]]: ...\n"
        .to_owned()
}

pub(crate) fn definition(
    name: &str,
    entry: &Entry,
    variants: &[Option<Variant>; 2],
    defaults: &[(&str, &str)],
) -> PyResult<Definition> {
    // INVARIANT: `Functions::add` takes no function without a variant.
    let variant = variants.iter().flatten().next().expect("a variant");
    let inputs: Vec<_> = entry
        .signature
        .inputs
        .iter()
        .zip(&variant.parameters)
        .collect();
    let names: Vec<String> = inputs
        .iter()
        .map(|(input, _)| python_name(input.name))
        .collect();
    let defaults = python_defaults(name, &inputs, defaults)?;
    let default =
        |place: usize| defaults[place].map_or(String::new(), |value| format!(" = {value}"));
    let parameters = names.iter().enumerate();
    let parameters: Vec<String> = parameters
        .map(|(place, name)| format!("{name}{}", default(place)))
        .collect();
    let source = format!(
        "def {name}({}):\n    return _call(\"{name}\", ({},))\n",
        parameters.join(", "),
        names.join(", ")
    );
    let element = element_types(variants);
    let mut docs = format!("{}\n\nArguments:\n", entry.docs.trim());
    for (name, (input, parameter)) in names.iter().zip(&inputs) {
        let array = if input.list {
            "list of arrays"
        } else {
            "array"
        };
        let about = match (
            parameter.dtype.is_some(),
            parameter.axes,
            each_shape(input.shape, input.list),
        ) {
            (false, ..) => parameter.stub.to_owned(),
            (true, _, Some(shape)) => format!("{array} of {element} of shape {shape}"),
            (true, None, None) => format!("{array} of {element}"),
            (true, Some(0), None) => format!("{array} of {element} without axes"),
            (true, Some(1), None) => format!("{array} of {element} with 1 axis"),
            (true, Some(axes), None) => format!("{array} of {element} with {axes} axes"),
        };
        let optional = if input.optional { ", or None" } else { "" };
        let constant = if input.tensor && !input.differentiable {
            ", without a gradient"
        } else {
            ""
        };
        // Writing to a `String` does not fail.
        let _ = writeln!(docs, "    {name}: {about}{optional}{constant}");
    }
    let _ = write!(
        docs,
        "\nReturns: {}.\nIt can be differentiated {}.\n",
        about_outputs(entry.signature.outputs),
        entry.signature.order
    );
    let annotated = names.iter().zip(&inputs).enumerate();
    let annotated: Vec<String> = annotated
        .map(|(place, (name, (_, parameter)))| {
            let default = if default(place).is_empty() {
                ""
            } else {
                " = ..."
            };
            format!("{name}: {}{default}", accepted(parameter))
        })
        .collect();
    let outputs: Vec<&str> = variant.outputs.iter().map(|output| output.stub).collect();
    let returned = match outputs[..] {
        [one] => one.to_owned(),
        _ => format!("tuple[{}]", outputs.join(", ")),
    };
    // The end of a docstring.
    let indented = docs
        .trim_end()
        .replace("\"\"\"", "'''")
        .replace('\n', "\n    ")
        .replace("\n    \n", "\n\n");
    let stub = format!(
        "\ndef {name}({}) -> {returned}:\n    r\"\"\"{indented}\n    \"\"\"\n",
        annotated.join(", ")
    );
    Ok(Definition { source, docs, stub })
}

/// Returns the type of a parameter in a stub: lists of values may be arrays, and arrays of indices lists.
fn accepted(parameter: &Parameter) -> Cow<'static, str> {
    match parameter.stub {
        "IndexArray" => "IndexArray | Sequence[Any]".into(),
        list if list.starts_with("Sequence") && parameter.dtype.is_none() => {
            format!("{list} | jax.Array | numpy.ndarray").into()
        }
        stub => stub.into(),
    }
}

/// Returns the names of the outputs, with what is declared of them.
fn about_outputs(outputs: &[OutputSignature]) -> String {
    let outputs = outputs.iter().map(|output| {
        let shape = each_shape(output.shape, output.list);
        let shape = shape.map(|shape| format!(" of shape {shape}"));
        let shape = shape
            .unwrap_or_default()
            .replace("of shape shape of", "of the shape of");
        let shape = if output.list {
            format!(" (list of arrays{shape})")
        } else {
            shape
        };
        let constant = if output.differentiable {
            ""
        } else {
            " (without a gradient)"
        };
        format!("{}{shape}{constant}", output.name)
    });
    outputs.collect::<Vec<_>>().join(", ")
}

/// Returns the default value of each parameter in Python, for the last parameters: the given ones, and `None` for those
/// that are optional.
fn python_defaults<'a>(
    name: &str,
    inputs: &[(&InputSignature, &Parameter)],
    given: &[(&str, &'a str)],
) -> PyResult<Vec<Option<&'a str>>> {
    let wrong = |parameter: &str, text: &str| {
        let text = format!("{name}: the default value of `{parameter}`: {text}");
        Err(PyImportError::new_err(text))
    };
    let optional = inputs
        .iter()
        .map(|(_, parameter)| parameter.stub.ends_with("None"));
    let mut defaults: Vec<_> = optional
        .map(|is_optional| is_optional.then_some("None"))
        .collect();
    for (parameter, value) in given {
        match inputs
            .iter()
            .position(|(input, _)| input.name == *parameter)
        {
            None => return wrong(parameter, "there is no such parameter"),
            Some(place) if inputs[place].0.tensor => return wrong(parameter, "it is a tensor"),
            Some(place) => defaults[place] = Some(*value),
        }
    }
    // In Python, only the last parameters may be left out.
    if let Some(last) = defaults.iter().rposition(Option::is_none) {
        for (parameter, _) in given {
            if inputs[..last]
                .iter()
                .any(|(input, _)| input.name == *parameter)
            {
                return wrong(parameter, "a parameter without one follows");
            }
        }
        defaults[..last].fill(None);
    }
    Ok(defaults)
}

/// Appends an underscore to a keyword of Python.
fn python_name(name: &str) -> String {
    const KEYWORDS: [&str; 35] = [
        "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class",
        "continue", "def", "del", "elif", "else", "except", "finally", "for", "from", "global",
        "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return",
        "try", "while", "with", "yield",
    ];
    let name = name.trim_start_matches("r#");
    let line = if KEYWORDS.contains(&name) { "_" } else { "" };
    format!("{name}{line}")
}
