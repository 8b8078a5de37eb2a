//! Values and gradients computed by PyTorch: `reference.py` writes them into `reference.json`.

use std::sync::LazyLock;

use pullback::ndarray::{Array, ArrayD, Dimension, IxDyn};
use pullback::{Tensor, TensorD};
use serde_json::Value;

static CASES: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("reference.json")).expect("JSON"));

/// One function at one point.
pub struct Case {
    values: &'static Value,
    tolerance: f64,
}

impl Case {
    pub fn of(function: &str) -> Self {
        let values = CASES.get(function).expect("a case of this function");
        Self {
            values,
            tolerance: 1e-10,
        }
    }

    /// Sets the tolerance, relative to the largest entry.
    pub fn within(self, tolerance: f64) -> Self {
        Self { tolerance, ..self }
    }

    /// Returns an input without a gradient.
    pub fn array<D: Dimension>(&self, name: &str) -> Array<f64, D> {
        let array = read(&self.values["inputs"][name]);
        array.into_dimensionality().expect("an input of this rank")
    }

    /// Returns an input with a gradient, as a leaf.
    pub fn leaf<D: Dimension>(&self, name: &str) -> Tensor<f64, D> {
        Tensor::from(self.array(name)).set_requires_grad(true)
    }

    /// Compares the output and the gradients of the leaves that `function` returns, in the order of `reference.py`.
    pub fn check(&self, function: impl FnOnce(&Self) -> (TensorD<f64>, Vec<TensorD<f64>>)) {
        let (output, leaves) = function(self);
        self.compare("the output", &output.to_array(), &self.values["output"]);
        let upstream = read(&self.values["upstream"]);
        output.backward_with(upstream).expect("a graph");
        let grads = self.values["grads"].as_array().expect("a list");
        assert_eq!(grads.len(), leaves.len());
        for (place, (leaf, grad)) in leaves.iter().zip(grads).enumerate() {
            let found = leaf.grad().expect("a gradient");
            self.compare(&format!("gradient {place}"), &found, grad);
        }
    }

    fn compare(&self, what: &str, found: &ArrayD<f64>, expected: &Value) {
        let expected = read(expected);
        assert_eq!(found.shape(), expected.shape(), "{what}");
        let largest = expected.iter().fold(1e-3, |a: f64, b| a.max(b.abs()));
        for (found, expected) in found.iter().zip(&expected) {
            assert!(
                (found - expected).abs() <= self.tolerance * largest,
                "{what}: {found} for {expected}"
            );
        }
    }
}

fn read(value: &Value) -> ArrayD<f64> {
    let numbers = |value: &Value| value.as_array().expect("a list").clone();
    let length = |value: &Value| usize::try_from(value.as_u64().expect("a length")).expect("small");
    let shape: Vec<usize> = numbers(&value["shape"]).iter().map(length).collect();
    let data = numbers(&value["data"]);
    let data = data.iter().map(|number| number.as_f64().expect("a number"));
    ArrayD::from_shape_vec(IxDyn(&shape), data.collect())
        .expect("as many numbers as the shape says")
}
