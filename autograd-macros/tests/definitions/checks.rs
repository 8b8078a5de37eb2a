//! Writes the tests of a definition that do not use the library's own check, and the crate around them.

use std::fmt::Write as _;

use super::generics::Generics;
use super::model::{Content, Definition, Holds, Kind, Rank};
use super::text::Text;
use super::values;

/// The beginning of all crates of definitions.
pub(crate) const PRELUDE: &str = r"#![allow(warnings)]
use pullback::ndarray::{self, Array, Array0, Array1, Array2, Array3, ArrayD, ArrayView, ArrayView0, ArrayView1, ArrayView2};
use pullback::ndarray::{ArrayView3, ArrayViewD, ArrayViewMut, ArrayViewMut1, ArrayViewMut2, ArrayViewMut3, ArrayViewMutD};
use pullback::ndarray::{Dimension, Ix0, Ix1, Ix2, Ix3, Ix4, IxDyn};
use pullback::prelude::*;

#[derive(Clone, Debug)]
pub struct Settings { pub rate: f64 }
type Seen<'a, T, D> = ArrayView<'a, T, D>;
type Held<T, D> = Array<T, D>;
type Known<T, D> = Tensor<T, D>;
";

/// The functions that the tests of a crate share.
pub(crate) const DIFFERENCES: &str = r#"
fn tensors<D: Dimension>(numbers: &[f64], shape: &[usize]) -> Vec<Tensor<f64, D>> {
    let one = |numbers: &[f64]| {
        let array = ArrayD::from_shape_vec(shape, numbers.to_vec()).unwrap();
        Tensor::from(array.into_dimensionality::<D>().unwrap())
    };
    numbers.chunks(shape.iter().product()).map(one).collect()
}

fn square<D: Dimension>(y: Tensor<f64, D>) -> Tensor0<f64> { (&y * &y + &y * 0.3).sum() }

/// Holds the gradients of a loss by all leaves against differences of it.
fn differences<D: Dimension>(shape: &[usize], leaves: usize, loss: impl Fn(&[Tensor<f64, D>]) -> Tensor0<f64>) {
    let size = shape.iter().product::<usize>();
    let number = |place: usize| (place as f64 * 0.618_033_988_749_895).fract() * 1.4 - 0.6;
    let numbers: Vec<f64> = (1..=leaves * size).map(number).collect();
    let xs: Vec<_> = tensors::<D>(&numbers, shape).into_iter().map(|x| x.set_requires_grad(true)).collect();
    let whole = loss(&xs);
    // Without the only optional inputs there may be nothing to differentiate; else zeros are not enough below.
    if whole.requires_grad() {
        whole.backward().unwrap();
    }
    for place in 0..numbers.len() {
        let moved = |step: f64| {
            let mut numbers = numbers.clone();
            numbers[place] += step;
            loss(&tensors(&numbers, shape)).item()
        };
        let expected = (moved(1e-5) - moved(-1e-5)) / 2e-5;
        let gradient = xs[place / size].grad();
        let found = gradient.map_or(0.0, |gradient| *gradient.iter().nth(place % size).unwrap());
        let error = (found - expected).abs();
        assert!(error <= 1e-6 * (1.0 + expected.abs()), "leaf {} has {found}, expected {expected}", place / size);
    }
}
"#;

/// Returns a module with a definition; with a test of its gradients if `tested`.
pub(crate) fn module(name: &str, definition: &Definition, text: &Text, tested: bool) -> String {
    let mut module = format!("mod {name} {{\n    use super::*;\n{}", text.source());
    if tested {
        module.push_str(&test(definition));
    }
    module + "}\n"
}

fn test(definition: &Definition) -> String {
    let shape = &definition.shape;
    let dimension = match definition.rank {
        Rank::Fixed(_) | Rank::Generic => format!("Ix{}", shape.len()),
        Rank::Dyn => "IxDyn".to_owned(),
    };
    let mut leaves = 0;
    let mut before = String::new();
    let mut arguments = Vec::new();
    for input in &definition.inputs {
        let mut leaf = |exempt: bool| {
            leaves += usize::from(!exempt);
            let place = leaves.max(1) - 1;
            if exempt {
                "constant".to_owned()
            } else {
                format!("leaves[{place}]")
            }
        };
        let argument = match input.kind {
            Kind::Value(value) => values::example(value, &definition.shape),
            Kind::List => format!("&[&{}, &{}]", leaf(input.exempt), leaf(input.exempt)),
            Kind::InPlace => {
                let _ = writeln!(before, "let mut written = &{} * 1.0;", leaf(input.exempt));
                "&mut written".to_owned()
            }
            Kind::Owned => format!("{}.clone()", leaf(input.exempt)),
            Kind::View | Kind::TensorRef => format!("&{}", leaf(input.exempt)),
        };
        arguments.push(if input.optional {
            format!("is_given.then_some({argument})")
        } else {
            argument
        });
    }
    let (pattern, losses) = results(definition);
    let path = path(definition, &dimension);
    let unwrap = if definition.fallible { ".unwrap()" } else { "" };
    let call = format!("{path}({}){unwrap}", arguments.join(", "));
    format!(
        "#[test]\nfn differences_agree() {{\n\
         let constant = tensors::<{dimension}>(&[0.75, -0.5, 1.25, 0.25, 0.5, -1.0, 0.8, 0.3, 1.1][..{size}], &{shape:?}).remove(0);\n\
         for is_given in [true, false] {{\n\
         differences::<{dimension}>(&{shape:?}, {leaves}, |leaves| {{\n\
         {before}let {pattern} = {call};\n{losses}\n}});\n}}\n}}\n",
        size = shape.iter().product::<usize>(),
    )
}

/// Returns the pattern of what `apply` returns, and the loss.
fn results(definition: &Definition) -> (String, String) {
    let constant =
        |check: &str| format!("({{ {check}; Tensor0::from(Array0::from_elem((), 0.0)) }})");
    let mut names = Vec::new();
    let mut losses = Vec::new();
    for (place, output) in definition.outputs.iter().enumerate() {
        let name = format!("y{place}");
        match &output.content {
            Content::Sum {
                exempt: false,
                holds,
                ..
            } => losses.push(match holds {
                Holds::One => format!("square({name})"),
                _ => format!("{name}.into_iter().map(square).sum::<Tensor0<f64>>()"),
            }),
            Content::Sum { .. } => {
                losses.push(constant(&format!("assert!(!{name}.requires_grad())")));
            }
            Content::Count => losses.push(constant(&format!("assert_eq!({name}, 3_usize)"))),
            Content::Indices => losses.push(constant(&format!(
                "assert_eq!({name}, Array1::from(vec![1_usize, 2]))"
            ))),
        }
        names.push(name);
    }
    if let Some(input) = definition.in_place() {
        let exempt = definition.inputs[input].exempt;
        losses.push(if exempt {
            constant("assert!(!written.requires_grad())")
        } else {
            "square(written)".to_owned()
        });
    }
    let pattern = match &names[..] {
        [one] => one.clone(),
        many => format!("({})", many.join(", ")),
    };
    (pattern, losses.join(" + "))
}

/// Returns the path of the differentiable function.
fn path(definition: &Definition, dimension: &str) -> String {
    if definition.short {
        return definition.name.clone();
    }
    let arguments = Generics::of(definition).concrete(dimension);
    format!("<{}{arguments}>::apply", definition.name)
}
