//! The text of a program, which is an attribute of XLA's call.
//!
//! It is the name of a function with its arguments, and then steps: `squash t t | gradient 1 11 | batched 101`. The
//! lengths of lists follow the name, and there is an argument for each tensor of a list: `weighted:2 t t t`. Those of the
//! lists among the outputs follow a `=`: `split=3 t`.
//!
//! | argument | |
//! |---|---|
//! | `t` | a tensor, the next operand |
//! | `o` | a value, the next operand |
//! | `none` | an argument that is left out |
//! | `true`, `i3`, `f2.5`, `s6865` | a value: a truth, an integer, a number, a text as hexadecimal bytes |
//! | `[i3,i4`, `[f2.5` | a list of values |
//!
//! A step makes another function of the one before it. Its digits mark operands and outputs with a `1`.

use super::plain::Plain;

/// An argument of a function.
#[derive(Debug)]
pub(super) enum Argument {
    Tensor,
    Operand,
    Value(Plain<'static>),
}

/// A function that is made of another one.
#[derive(Debug)]
pub(super) enum Step {
    /// The derivatives along tangents, which are further operands. `given` marks the operands that have a tangent, and
    /// `needed` the outputs.
    Tangent { given: Vec<bool>, needed: Vec<bool> },
    /// The gradients of operands from those of outputs, which are further operands. `given` marks the outputs that have
    /// one, and `needed` the operands.
    Gradient { given: Vec<bool>, needed: Vec<bool> },
    /// The function of each example. It marks the operands that have a first axis with the examples.
    Batched(Vec<bool>),
}

/// A text that has been read.
#[derive(Debug)]
pub(super) struct Text<'t> {
    pub(super) name: &'t str,
    /// The lengths of the lists of tensors.
    pub(super) lengths: Vec<usize>,
    /// The lengths of the lists among the outputs.
    pub(super) of_outputs: Vec<usize>,
    pub(super) arguments: Vec<Argument>,
    pub(super) steps: Vec<Step>,
}

/// Reads the text of a program; `None` if it is of another form.
pub(super) fn read(text: &str) -> Option<Text<'_>> {
    let mut parts = text.split(" | ");
    let mut call = parts.next()?.split(' ');
    let head = call.next()?;
    let (head, of_outputs) = head.split_once('=').unwrap_or((head, ""));
    let mut name = head.split(':');
    Some(Text {
        name: name.next()?,
        lengths: name
            .map(|length| length.parse().ok())
            .collect::<Option<_>>()?,
        of_outputs: of_outputs
            .split_terminator(':')
            .map(|length| length.parse().ok())
            .collect::<Option<_>>()?,
        arguments: call.map(argument).collect::<Option<_>>()?,
        steps: parts.map(step).collect::<Option<_>>()?,
    })
}

fn argument(text: &str) -> Option<Argument> {
    Some(match text {
        "t" => Argument::Tensor,
        "o" => Argument::Operand,
        _ => Argument::Value(value(text)?),
    })
}

fn value(text: &str) -> Option<Plain<'static>> {
    let (kind, rest) = text.split_at_checked(1)?;
    Some(match (kind, text) {
        (_, "none") => Plain::None,
        (_, "true") => Plain::Bool(true),
        (_, "false") => Plain::Bool(false),
        ("i", _) => Plain::Int(rest.parse().ok()?),
        ("f", _) => Plain::Float(rest.parse().ok()?),
        ("s", _) => Plain::Text(String::from_utf8(bytes(rest)?).ok()?),
        ("[", _) => {
            let items = rest.split(',').filter(|item| !item.is_empty());
            Plain::List(items.map(value).collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    let places = (0..text.len()).step_by(2);
    let byte = |place| u8::from_str_radix(text.get(place..place + 2)?, 16).ok();
    places.map(byte).collect()
}

fn step(text: &str) -> Option<Step> {
    let mut words = text.split(' ');
    let name = words.next()?;
    let mut digits = || Some(words.next()?.chars().map(|digit| digit == '1').collect());
    Some(match name {
        "tangent" => Step::Tangent {
            given: digits()?,
            needed: digits()?,
        },
        "gradient" => Step::Gradient {
            given: digits()?,
            needed: digits()?,
        },
        "batched" => Step::Batched(digits()?),
        _ => return None,
    })
}
