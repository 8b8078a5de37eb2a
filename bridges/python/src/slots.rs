//! The arguments of a call one by one: a list of tensors has a slot for each of them.

use std::borrow::Cow;

use pullback::InputSignature;

use crate::argument::{Given, Value};

/// One argument.
#[derive(Debug)]
pub(crate) struct Slot {
    /// The name in errors: `parts[1]` for a tensor of a list.
    pub(crate) name: Cow<'static, str>,
    pub(crate) input: &'static InputSignature,
    /// The index of the parameter.
    pub(crate) parameter: usize,
    /// Whether it is one tensor of a list.
    pub(crate) of_list: bool,
}

/// Returns the declared shape of a tensor, or of each tensor of a list, as it is written.
pub(crate) fn each_shape(shape: Option<&'static str>, list: bool) -> Option<&'static str> {
    let shape = shape?;
    // That of a list is in brackets, `[[n, i]]`, but for the shape of an argument.
    if list && shape.starts_with("[[") {
        shape.get(1..shape.len() - 1)
    } else {
        Some(shape)
    }
}

/// The slots of a function.
#[derive(Debug)]
pub(crate) struct Slots {
    inputs: &'static [InputSignature],
    /// For each parameter, the length of its list.
    lengths: Vec<Option<usize>>,
    flat: Vec<Slot>,
}

impl Slots {
    /// Returns a slot for each parameter, also for a list.
    pub(crate) fn of(inputs: &'static [InputSignature]) -> Self {
        Self::made(inputs, vec![None; inputs.len()])
    }

    /// Returns the slots for lists of these lengths; `None` if the function does not have as many lists.
    pub(crate) fn of_lengths(inputs: &'static [InputSignature], lengths: &[usize]) -> Option<Self> {
        let is_list = |input: &&InputSignature| input.list;
        if inputs.iter().filter(is_list).count() != lengths.len() {
            return None;
        }
        let mut rest = lengths.iter().copied();
        let lengths = inputs.iter();
        let lengths = lengths.map(|input| input.list.then(|| rest.next()).flatten());
        Some(Self::made(inputs, lengths.collect()))
    }

    fn made(inputs: &'static [InputSignature], lengths: Vec<Option<usize>>) -> Self {
        let mut slots = Vec::with_capacity(inputs.len());
        for (parameter, (input, length)) in inputs.iter().zip(&lengths).enumerate() {
            let of_list = length.is_some();
            slots.extend((0..length.unwrap_or(1)).map(|index| Slot {
                name: if of_list {
                    format!("{}[{index}]", input.name).into()
                } else {
                    input.name.into()
                },
                input,
                parameter,
                of_list,
            }));
        }
        Self {
            inputs,
            lengths,
            flat: slots,
        }
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Slot> {
        self.flat.iter()
    }

    /// Returns the slots of tensors.
    pub(crate) fn tensors(&self) -> impl Iterator<Item = &Slot> {
        self.iter().filter(|slot| slot.input.tensor)
    }

    pub(crate) fn len(&self) -> usize {
        self.flat.len()
    }

    /// Returns, for each parameter, the length of its list; `None` for other parameters.
    pub(crate) fn lengths(&self) -> &[Option<usize>] {
        &self.lengths
    }

    /// Returns an argument for each parameter, from a value for each slot.
    pub(crate) fn given<'a, 'py>(
        &self,
        values: impl IntoIterator<Item = Value<'a, 'py>>,
    ) -> Vec<Given<'a, 'py>> {
        let mut values = values.into_iter();
        let inputs = self.inputs.iter().zip(&self.lengths);
        let given = inputs.map_while(|(input, length)| {
            let value = match length {
                None => values.next()?,
                Some(length) => {
                    // `_pullback` refuses a list that has None.
                    let places = values
                        .by_ref()
                        .take(*length)
                        .filter_map(|value| value.place());
                    Value::List(places.collect())
                }
            };
            let name = input.name;
            Some(Given { name, value })
        });
        given.collect()
    }
}
