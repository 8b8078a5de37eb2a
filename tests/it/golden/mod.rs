//! The built-in functions against PyTorch: outputs and gradients of `tests/golden/torch.json`.
//!
//! Each group of functions has a file with a `function`, which returns the function of a case.

mod attributes;
mod elementwise;
mod linear;
mod reductions;
mod shapes;

use std::collections::BTreeSet;

use pullback::ndarray::{Array, ArrayD, Dimension, Zip};
use pullback::prelude::*;
use serde_json::Value;

use attributes::{Attribute, Attributes};

/// The function of a case, of its inputs.
type Function<T> = Box<dyn Fn(&[TensorD<T>]) -> TensorD<T>>;

/// The functions of the file that do not exist yet.
const MISSING: [&str; 0] = [];

/// Returns the functions of an operation of the file, from each group that has one.
fn functions<T: Element>(op: &str, attributes: &Attributes) -> Vec<Function<T>> {
    let groups = [
        elementwise::function(op, attributes),
        linear::function(op, attributes),
        reductions::function(op, attributes),
        shapes::function(op, attributes),
    ];
    groups.into_iter().flatten().collect()
}

struct Case {
    op: String,
    attributes: Attributes,
    inputs: Vec<ArrayD<f64>>,
    output: ArrayD<f64>,
    upstream: ArrayD<f64>,
    /// `None` for an input that is a constant.
    gradients: Vec<Option<ArrayD<f64>>>,
}

impl Case {
    fn read(case: &Value) -> Self {
        Self {
            op: field(case, "op"),
            attributes: Attributes(case["attrs"].clone()),
            inputs: field(case, "inputs"),
            output: field(case, "output"),
            upstream: field(case, "upstream"),
            gradients: field(case, "grads"),
        }
    }

    /// Returns what differs by more than `tolerance` times the largest entry.
    fn run<T: Element>(&self, tolerance: f64) -> Result<(), String> {
        let functions = functions::<T>(&self.op, &self.attributes);
        let Some(function) = functions.first() else {
            return Ok(()); // see `every_function_is_known_or_missing`
        };
        let inputs: Vec<TensorD<T>> = self.inputs.iter().zip(&self.gradients).map(leaf).collect();
        let output = function(&inputs);
        agree("the output", &output.to_array(), &self.output, tolerance)?;
        let upstream = self.upstream.mapv(T::from_f64);
        let passed = output.backward_with(upstream);
        passed.map_err(|error| error.to_string())?;
        for (index, (input, expected)) in inputs.iter().zip(&self.gradients).enumerate() {
            let name = format!("the gradient of input {index}");
            match (input.grad(), expected) {
                (Some(gradient), Some(expected)) => {
                    agree(&name, &gradient, expected, tolerance)?;
                }
                (None, None) => {}
                (found, _) => return Err(format!("{name} is {found:?}")),
            }
        }
        Ok(())
    }
}

pub(crate) fn field<A: Attribute>(case: &Value, name: &str) -> A {
    A::read(&case[name]).unwrap_or_else(|| panic!("a case without `{name}`"))
}

fn leaf<T: Element>((input, gradient): (&ArrayD<f64>, &Option<ArrayD<f64>>)) -> TensorD<T> {
    Tensor::from(input.mapv(T::from_f64)).set_requires_grad(gradient.is_some())
}

pub(crate) fn agree<T: Element>(
    name: &str,
    found: &ArrayD<T>,
    expected: &ArrayD<f64>,
    tolerance: f64,
) -> Result<(), String> {
    if found.shape() != expected.shape() {
        let (found, expected) = (found.shape(), expected.shape());
        return Err(format!("{name} has shape {found:?}, not {expected:?}"));
    }
    let largest = expected.fold(0.0_f64, |largest, x| largest.max(x.abs()));
    // `<=` is false for NaN.
    let is_close =
        |&found: &T, &expected: &f64| (found.as_f64() - expected).abs() <= tolerance * largest;
    if Zip::from(found).and(expected).all(is_close) {
        return Ok(());
    }
    Err(format!("{name} is {found}\nnot {expected}"))
}

/// Returns an input with the rank of a function.
pub(crate) fn ranked<T: Element, D: Dimension>(x: &TensorD<T>) -> Tensor<T, D> {
    let ranked = x.clone().into_dimensionality();
    ranked.expect("the function's rank")
}

fn cases() -> Vec<Case> {
    let file: Value = serde_json::from_str(include_str!("../../golden/torch.json")).expect("JSON");
    let cases = file["cases"].as_array().expect("a list of cases");
    cases.iter().map(Case::read).collect()
}

fn run_all<T: Element>(tolerance: f64) {
    let failures: Vec<String> = cases()
        .iter()
        .filter_map(|case| {
            let failure = case.run::<T>(tolerance).err()?;
            Some(format!("{} {}: {failure}", case.op, case.attributes.0))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn outputs_and_gradients_are_pytorchs_in_f64() {
    run_all::<f64>(1e-10);
}

#[test]
fn outputs_and_gradients_are_pytorchs_in_f32() {
    run_all::<f32>(1e-5);
}

#[test]
fn every_function_is_known_or_missing() {
    let cases = cases();
    assert_eq!(cases.len(), 63);
    let mut missing = BTreeSet::new();
    for case in &cases {
        let groups = functions::<f64>(&case.op, &case.attributes).len();
        assert!(groups <= 1, "`{}` is in {groups} groups", case.op);
        if groups == 0 {
            missing.insert(case.op.as_str());
        }
    }
    assert_eq!(missing, BTreeSet::from(MISSING));
}

#[test]
fn what_differs_is_found() {
    let expected = Array::from(vec![1.0, 100.0]).into_dyn();
    let off_by = |difference: f64| agree("it", &(&expected + difference), &expected, 1e-10);
    assert!(off_by(0.9e-8).is_ok());
    assert!(off_by(1.1e-8).is_err());
    assert!(off_by(f64::NAN).is_err());
    let longer = Array::from(vec![1.0, 100.0, 0.0]).into_dyn();
    assert!(agree("it", &longer, &expected, 1e-10).is_err());
}

#[test]
#[should_panic(expected = "no attribute `axis` of type `usize` in {\"axis\":-1}")]
fn an_attribute_of_another_type_is_refused() {
    let attributes = Attributes(serde_json::json!({ "axis": -1 }));
    assert_eq!(attributes.get::<Option<usize>>("axes"), None);
    attributes.get::<usize>("axis");
}
