//! Einstein's summation convention: `ij,jk->ik`.

use ndarray::{Dimension, IxDyn, arr0};

use super::Contract;
use crate::Element;
use crate::kernels::Subscripts;
use crate::kernels::counted;
use crate::tensor::{Tensor, TensorD};

/// Returns a contraction of tensors over axes with names.
///
/// The name of an axis is a letter. Commas separate the names of the operands; the names of the output follow `->`. A
/// name that the output does not have is summed over; a name that an operand has twice is its diagonal. `...` is
/// any number of leading axes, which broadcast. Without `->`, the output has the axes of `...` and the names that occur
/// once, in alphabetical order. Axes of length 1 are repeated.
///
/// Operands are multiplied from left to right, each time as products of matrices, without copies.
///
/// # Panics
/// If `equation` is not valid, it does not name as many axes as an operand has, or axes of one name have different
/// lengths.
///
/// ```
/// use pullback::{Tensor, ndarray::array, ops::einsum};
///
/// let x = Tensor::from(array![[1.0, 2.0], [3.0, 4.0]]);
/// assert_eq!(einsum("ij,kj->ik", (&x, &x)).to_array(), array![[5.0, 11.0], [11.0, 25.0]].into_dyn());
/// assert_eq!(einsum("ii", (&x,)).item(), 5.0);
/// assert_eq!(einsum("i...->...", (&x,)).to_array(), array![4.0, 6.0].into_dyn());
/// let y = Tensor::from(array![10.0, 1.0]);
/// assert_eq!(einsum("ij,j->i", (&x, &y)).to_array(), array![12.0, 34.0].into_dyn());
/// ```
#[must_use]
#[track_caller]
pub fn einsum<O: EinsumOperands>(equation: &str, operands: O) -> TensorD<O::Element> {
    contracted(equation, &operands.to_dyn())
}

/// The operands of [`einsum`]: a tuple of up to eight references to tensors of any ranks; or a reference to a slice, an
/// array or a `Vec` of references to tensors of one rank.
///
/// ```
/// use pullback::{Tensor, ndarray::array, ops::einsum};
///
/// let x = Tensor::from(array![[1.0, 2.0], [3.0, 4.0]]);
/// let several = [&x, &x, &x];
/// assert_eq!(einsum("ij,jk,ki", &several).item(), einsum("ij,jk,ki", &several[..]).item());
/// ```
pub trait EinsumOperands: sealed::Sealed {
    /// The type of the tensors' elements.
    type Element: Element;

    #[doc(hidden)]
    fn to_dyn(&self) -> Vec<TensorD<Self::Element>>;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! lists {
    ($([$($N:ident)?] $List:ty),+) => {$(
        impl<T, D $(, const $N: usize)?> sealed::Sealed for &$List {}

        impl<T: Element, D: Dimension $(, const $N: usize)?> EinsumOperands for &$List {
            type Element = T;

            fn to_dyn(&self) -> Vec<TensorD<T>> {
                self.iter().map(|&operand| operand.clone().into_dyn()).collect()
            }
        }
    )+};
}

lists!([] [&Tensor<T, D>], [N] [&Tensor<T, D>; N], [] Vec<&Tensor<T, D>>);

macro_rules! tuples {
    ($($D:ident $index:tt),+) => {
        impl<T, $($D),+> sealed::Sealed for ($(&Tensor<T, $D>,)+) {}

        impl<T: Element, $($D: Dimension),+> EinsumOperands for ($(&Tensor<T, $D>,)+) {
            type Element = T;

            fn to_dyn(&self) -> Vec<TensorD<T>> {
                vec![$(self.$index.clone().into_dyn()),+]
            }
        }
    };
}

tuples!(D0 0);
tuples!(D0 0, D1 1);
tuples!(D0 0, D1 1, D2 2);
tuples!(D0 0, D1 1, D2 2, D3 3);
tuples!(D0 0, D1 1, D2 2, D3 3, D4 4);
tuples!(D0 0, D1 1, D2 2, D3 3, D4 4, D5 5);
tuples!(D0 0, D1 1, D2 2, D3 3, D4 4, D5 5, D6 6);
tuples!(D0 0, D1 1, D2 2, D3 3, D4 4, D5 5, D6 6, D7 7);

#[track_caller]
fn contracted<T: Element>(equation: &str, operands: &[TensorD<T>]) -> TensorD<T> {
    let shapes: Vec<&[usize]> = operands.iter().map(Tensor::shape).collect();
    let parsed = parse(equation, &shapes).and_then(|parsed| {
        let lengths = parsed.lengths(&shapes)?;
        Ok((parsed, lengths))
    });
    let (Equation { inputs, output }, lengths) = match parsed {
        Ok(parsed) => parsed,
        Err(reason) => panic!("einsum `{equation}` of tensors of shapes {shapes:?}: {reason}"),
    };
    let shape_of = |names: &[u8]| -> Vec<usize> {
        names
            .iter()
            .map(|&name| lengths[usize::from(name)])
            .collect()
    };
    let one = Tensor::from(arr0(T::one()).into_dyn());
    let (mut product, mut names) = (operands[0].clone(), inputs[0].clone());
    for (number, (operand, own)) in operands.iter().zip(&inputs).enumerate().skip(1) {
        let rest = inputs[number + 1..].iter().chain([&output]);
        let later: Vec<u8> = rest.flatten().copied().collect();
        let mut kept: Vec<u8> = Vec::new();
        for &name in names.iter().chain(own) {
            if later.contains(&name) && !kept.contains(&name) {
                kept.push(name);
            }
        }
        if number + 1 == operands.len() {
            kept.clone_from(&output);
        }
        let subscripts = Subscripts::new(&names, own, &kept);
        product = Contract::<T, IxDyn, IxDyn, IxDyn>::apply(
            &product,
            operand,
            &subscripts,
            &shape_of(&kept),
        );
        names = kept;
    }
    if operands.len() == 1 {
        let subscripts = Subscripts::new(&names, [], &output);
        return Contract::apply(&product, &one, &subscripts, &shape_of(&output));
    }
    product
}

/// The names of the axes of all operands and of the output. Axes of `...` are numbered from the last, above the
/// letters.
struct Equation {
    inputs: Vec<Vec<u8>>,
    output: Vec<u8>,
}

const DOTS: u8 = 128;

fn parse(equation: &str, shapes: &[&[usize]]) -> Result<Equation, String> {
    let equation: String = equation.split_whitespace().collect();
    let (inputs, output) = match equation.split_once("->") {
        Some((inputs, output)) => (inputs, Some(output)),
        None => (&*equation, None),
    };
    let inputs: Vec<&str> = inputs.split(',').collect();
    if inputs.len() != shapes.len() {
        let (names, found) = (inputs.len(), shapes.len());
        let names = counted(names, "tensor", "tensors");
        return Err(format!("it names the axes of {names}, found {found}"));
    }
    let mut dots = 0;
    let named: Result<Vec<Vec<u8>>, String> = inputs
        .iter()
        .zip(shapes)
        .map(|(names, shape)| {
            let letters = names.chars().filter(|&c| c != '.').count();
            let own_dots = shape.len().checked_sub(letters);
            let own_dots = own_dots.filter(|&dots| dots == 0 || names.contains("..."));
            let Some(own_dots) = own_dots else {
                return Err(format!(
                    "`{names}` does not name the axes of shape {shape:?}"
                ));
            };
            dots = dots.max(own_dots);
            names_of(names, own_dots)
        })
        .collect();
    let inputs = named?;
    let output = match output {
        Some(names) if names.contains("...") => names_of(names, dots)?,
        Some(names) => names_of(names, 0)?,
        None => {
            let mut counts = [0; 256];
            for &name in inputs.iter().flatten() {
                counts[usize::from(name)] += 1;
            }
            let once = (0..DOTS).filter(|&name| counts[usize::from(name)] == 1);
            numbers(dots)?.into_iter().chain(once).collect()
        }
    };
    for (position, &name) in output.iter().enumerate() {
        let letter = char::from(name);
        if output[..position].contains(&name) {
            return Err(format!("the output has `{letter}` twice"));
        }
        if name < DOTS && !inputs.iter().any(|names| names.contains(&name)) {
            return Err(format!("no tensor has the output's `{letter}`"));
        }
    }
    Ok(Equation { inputs, output })
}

/// Parses the names of one operand, with `dots` axes for `...`.
fn names_of(written: &str, dots: usize) -> Result<Vec<u8>, String> {
    let (before, after) = match written.split_once("...") {
        Some((before, after)) => (before, Some(after)),
        None => (written, None),
    };
    let letters = |written: &str| -> Result<Vec<u8>, String> {
        let is_name = |c: char| c.is_ascii_alphabetic();
        match written.chars().find(|&c| !is_name(c)) {
            Some(other) => Err(format!("`{other}` cannot be the name of an axis")),
            None => Ok(written.bytes().collect()),
        }
    };
    let mut names = letters(before)?;
    if let Some(after) = after {
        names.extend(numbers(dots)?);
        names.extend(letters(after)?);
    }
    Ok(names)
}

/// Returns the names of the axes of `...`.
fn numbers(dots: usize) -> Result<Vec<u8>, String> {
    match u8::try_from(dots) {
        Ok(few) if few < DOTS => Ok((DOTS..DOTS + few).rev().collect()),
        _ => Err(format!(
            "`...` is {dots} axes, more than there are names for"
        )),
    }
}

impl Equation {
    /// Returns the length of each name.
    fn lengths(&self, shapes: &[&[usize]]) -> Result<[usize; 256], String> {
        let mut lengths = [1; 256];
        for (names, shape) in self.inputs.iter().zip(shapes) {
            for (&name, &length) in names.iter().zip(*shape) {
                let known = &mut lengths[usize::from(name)];
                if *known != 1 && length != 1 && *known != length {
                    let axes = match name {
                        DOTS.. => "axes of `...`".to_owned(),
                        _ => format!("axes `{}`", char::from(name)),
                    };
                    return Err(format!("{axes} have lengths {known} and {length}"));
                }
                if *known == 1 {
                    *known = length;
                }
            }
        }
        Ok(lengths)
    }
}
