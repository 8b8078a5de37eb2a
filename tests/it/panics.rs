//! Panics inside of forward and backward functions: their message, their line, and what they leave as it was.

use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind, panic_any};

use pullback::functional::vmap;
use pullback::kernels::set_threads;
use pullback::ndarray::{
    Array, Array0, Array1, Array2, ArrayView0, ArrayView1, ArrayView2, ArrayViewMut1, Axis,
    Dimension, arr0, array,
};
use pullback::prelude::*;
use pullback::{AnyTensor, Backward, checkpoint};

use crate::functions::{leaf, panic_of};

fn matrix<D: Dimension>(array: Array<f64, D>) -> Tensor<f64, D> {
    Tensor::from(array).set_requires_grad(true)
}

/// y = x w
struct Product;

#[custom_function]
impl Product {
    #[forward]
    fn forward(x: ArrayView2<f64>, w: ArrayView1<f64>) -> Array1<f64> {
        x.dot(&w)
    }

    #[backward(x, w)]
    fn backward(
        grad_output: ArrayView1<f64>,
        x: ArrayView2<f64>,
        w: ArrayView1<f64>,
    ) -> (Array2<f64>, Array1<f64>) {
        assert!(w[0] < 10.0, "a weight of {}", w[0]);
        let column = grad_output.insert_axis(Axis(1));
        (column.dot(&w.insert_axis(Axis(0))), x.t().dot(&grad_output))
    }
}

/// Checks that `message` has the parts in this order, and `<line>` where the line is.
#[track_caller]
fn assert_parts(message: &str, line: u32, parts: &[&str]) {
    let mut rest = message;
    for part in parts {
        let part = part.replace("<line>", &format!("tests/it/panics.rs:{line}:"));
        let found = rest.split_once(&part);
        rest = found
            .unwrap_or_else(|| panic!("`{part}` is missing in `{message}`"))
            .1;
    }
}

#[test]
fn forward_names_the_function_the_shapes_and_the_callers_line() {
    let (x, w) = (
        matrix(array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
        leaf([1.0, 2.0, 3.0]),
    );
    let line = line!() + 1;
    let (message, file, at) = panic_of(|| Product::apply(&x, &w));
    assert_eq!((file.as_str(), at), (file!(), line));
    assert_parts(
        &message,
        line,
        &[
            "forward of `Product`, applied at <line>",
            " to `x` of shape [3, 2] and `w` of shape [3], panicked: ",
            "are not compatible for matrix multiplication",
        ],
    );
    // Recorded or not.
    let line = line!() + 1;
    let (message, _, at) = panic_of(|| no_grad(|| Product::apply(&x, &w)));
    assert_eq!(at, line);
    assert!(message.contains("`w` of shape [3]"), "{message}");
    // Nothing is left as it was set for forward.
    assert!(pullback::is_grad_enabled());
}

/// The sum of `parts[index]`, and others that forward takes in every way.
struct Mixed;

#[custom_function]
impl Mixed {
    #[forward(outputs(sum))]
    fn forward(
        parts: &[ArrayView1<f64>],
        owned: Array1<f64>,
        missing: Option<ArrayView1<f64>>,
        given: Option<Array1<f64>>,
        #[non_differentiable] constant: ArrayView1<f64>,
        index: usize,
    ) -> Result<Array0<f64>, String> {
        if index == 99 {
            return Err("99".to_owned());
        }
        let others = missing.map_or(0.0, |x| x.sum()) + given.map_or(0.0, |x| x.sum());
        Ok(arr0(
            parts[index].sum() + owned.sum() + constant.sum() + others,
        ))
    }

    #[backward(parts)]
    fn parts(
        grad_sum: ArrayView0<f64>,
        parts: &[ArrayView1<f64>],
        index: usize,
    ) -> Vec<Array1<f64>> {
        let part = |(place, part): (usize, &ArrayView1<f64>)| {
            let slope = if place == index { grad_sum[()] } else { 0.0 };
            Array1::from_elem(part.len(), slope)
        };
        parts.iter().enumerate().map(part).collect()
    }

    #[backward(owned)]
    fn owned(grad_sum: ArrayView0<f64>, constant: ArrayView1<f64>) -> Array1<f64> {
        assert!(constant[0] > 0.0, "a constant below 0");
        Array1::from_elem(3, grad_sum[()])
    }

    #[backward(missing)]
    fn missing(grad_sum: ArrayView0<f64>) -> Array1<f64> {
        array![grad_sum[()]]
    }

    #[backward(given)]
    fn given(grad_sum: ArrayView0<f64>) -> Array1<f64> {
        array![grad_sum[()], grad_sum[()]]
    }
}

#[test]
fn tensors_are_listed_in_whatever_way_forward_takes_them() {
    let parts = [leaf([1.0]), leaf([2.0, 3.0])];
    let (owned, given, constant) = (
        leaf([1.0, 2.0, 3.0]),
        leaf([4.0, 5.0]),
        leaf([0.0]).detach(),
    );
    let apply = |index| {
        Mixed::apply(
            &parts,
            owned.clone(),
            None,
            Some(given.clone()),
            &constant,
            index,
        )
    };
    assert_eq!(apply(1).unwrap().item(), 20.0);
    assert_eq!(apply(99).unwrap_err(), "99");
    let (message, ..) = panic_of(|| apply(2));
    let expected = "to `parts[0]` of shape [1], `parts[1]` of shape [2], `owned` of shape [3], `given` of shape [2] and \
                    `constant` of shape [1], panicked: index out of bounds: the len is 2 but the index is 2";
    assert!(message.contains(expected), "{message}");

    // Backward knows those with a gradient, what was saved, and the gradient.
    let sum = apply(0).unwrap();
    let line = line!() + 1;
    let (message, file, at) = panic_of(|| sum.backward());
    assert_eq!((file.as_str(), at), (file!(), line));
    let expected = "to `parts[0]` of shape [1], `parts[1]` of shape [2], `owned` of shape [3], `given` of shape [2] and \
                    `constant` of shape [1] with `grad_sum` of shape [], panicked: a constant below 0";
    assert!(
        message.starts_with("backward of `Mixed`, applied at "),
        "{message}"
    );
    assert!(message.contains(expected), "{message}");

    let many: Vec<Tensor1<f64>> = (0..40).map(|_| leaf([1.0])).collect();
    let (message, ..) = panic_of(|| Mixed::apply(&many, owned.clone(), None, None, &constant, 50));
    assert!(
        message.contains("`parts[11]` of shape [1] and 30 others, panicked"),
        "{message}"
    );
}

/// Doubles in place the first two elements.
#[custom_function(grad(x) = &grad_output * 2.0)]
fn double(mut x: ArrayViewMut1<f64>) {
    x[0] *= 2.0;
    x[1] *= 2.0;
}

#[test]
fn a_tensor_that_forward_writes_to_is_listed() {
    let mut x = leaf([1.0]) * 1.0;
    let same = x.clone();
    let (message, ..) = panic_of(|| double(&mut x));
    assert!(
        message.contains(" to `x` of shape [1], panicked: "),
        "{message}"
    );
    // Another tensor has the memory, so a copy was written to.
    assert_eq!((x.to_array(), same.to_array()), (array![1.0], array![1.0]));
}

#[test]
fn backward_names_the_line_of_apply_and_panics_at_that_of_the_pass() {
    let (x, w) = (
        matrix(array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
        leaf([10.0, 2.0]),
    );
    let applied = line!() + 1;
    let y = Product::apply(&x, &w);
    let expected = [
        "backward of `Product`, applied at <line>",
        " to `x` of shape [3, 2] and `w` of shape [2] with `grad_output` of shape [3], panicked: a weight of 10",
    ];
    let loss = y.sum();
    let seed = array![1.0, 1.0, 1.0];
    let node = y.grad_fn().unwrap();
    let grads = [Some(Tensor::from(seed.clone()).into_dyn())];
    let first = line!() + 2;
    let found = [
        panic_of(|| loss.backward()),
        panic_of(|| y.backward_with(seed.clone())),
        panic_of(|| grad(&loss, &x)),
        panic_of(|| Grad::of(&loss).create_graph(true).run((&x, &w))),
        panic_of(|| Grad::of(&loss).run_unused(&x)),
        panic_of(|| Backward::of(&loss).free_early(true).run()),
        panic_of(|| node.apply::<f64>(&grads)),
    ];
    for ((message, file, line), expected_line) in found.iter().zip(first..) {
        assert_parts(message, applied, &expected);
        assert_eq!((file.as_str(), *line), (file!(), expected_line));
    }
    assert_eq!((x.grad(), w.grad()), (None, None));
}

/// A function that applies another one.
#[custom_function(grad(x) = { let _ = inner(&Tensor::from(grad_output.to_owned())); grad_output.to_owned() })]
fn outer(x: ArrayView1<f64>) -> Array1<f64> {
    inner(&Tensor::from(x.to_owned())).into_array()
}

/// The first element must be positive.
#[custom_function(grad(a) = grad_output.to_owned())]
fn inner(a: ArrayView1<f64>) -> Array1<f64> {
    assert!(a[0] > 0.0, "not positive");
    a.to_owned()
}

#[test]
fn of_nested_functions_each_names_its_line() {
    let x = leaf([-1.0, 1.0]);
    let line = line!() + 1;
    let (message, file, at) = panic_of(|| outer(&x));
    assert_eq!((file.as_str(), at), (file!(), line));
    let parts = [
        "forward of `outer`, applied at <line>",
        " to `x` of shape [2], panicked: forward of `inner`, applied at tests/it/panics.rs:",
        " to `a` of shape [2], panicked: not positive",
    ];
    assert_parts(&message, line, &parts);

    let x = leaf([1.0]);
    let line = line!() + 1;
    let y = outer(&x);
    let (message, ..) = panic_of(|| y.backward_with(array![-1.0]));
    let parts = [
        "backward of `outer`, applied at <line>",
        "panicked: forward of `inner`",
    ];
    assert_parts(&message, line, &parts);
}

#[test]
fn of_nested_passes_each_names_its_function() {
    let (x, w) = (matrix(array![[1.0, 2.0]]), leaf([10.0, 2.0]));
    let within = move |x: &Tensor2<f64>| Product::apply(x, &w);
    let y = checkpoint(within, &x);
    let (message, file, _) = panic_of(|| y.sum().backward());
    assert!(message.starts_with("backward of `Product`"), "{message}");
    assert_eq!(file, file!());
}

#[test]
fn a_panic_in_an_example_has_both_lines() {
    set_threads(2);
    let x = matrix(array![[[1.0, 2.0]], [[3.0, 4.0]]]);
    let w = leaf([10.0, 2.0]);
    let y = vmap(|x: &Tensor2<f64>| Product::apply(x, &w), Axis(0), &x).unwrap();
    let line = line!() + 1;
    let (message, file, at) = panic_of(|| y.sum().backward());
    assert_eq!((file.as_str(), at), (file!(), line));
    assert!(message.starts_with("backward of `Product`"), "{message}");
    let short = leaf([1.0]);
    let run = || vmap(|x: &Tensor2<f64>| Product::apply(x, &short), Axis(0), &x);
    let panic = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
    let message = panic.downcast_ref::<String>().expect("a text");
    assert!(
        message.contains(
            "`x` of shape [1, 2] and `short` of shape [1]"
                .replace("short", "w")
                .as_str()
        ),
        "{message}"
    );
}

#[test]
fn tensors_cross_catch_unwind() {
    fn both<T: UnwindSafe + RefUnwindSafe>() {}
    both::<Tensor2<f64>>();
    both::<AnyTensor>();
    both::<pullback::Node>();
    both::<pullback::HookHandle>();
    both::<pullback::Error>();
    both::<Parameter<f32, pullback::ndarray::Ix2>>();
    both::<Buffer<f32, pullback::ndarray::Ix1>>();
    both::<pullback::nn::Linear>();
    let (x, w) = (matrix(array![[1.0, 2.0]]), leaf([1.0]));
    assert!(catch_unwind(|| Product::apply(&x, &w)).is_err());
    assert_eq!(x.to_array(), array![[1.0, 2.0]]);
}

/// A payload that is not a text.
#[derive(Debug, PartialEq)]
struct Other(usize);

#[custom_function(grad(x) = panic_any(Other(grad_output.len())))]
fn payload(x: ArrayView1<f64>) -> Array1<f64> {
    if x[0] > 1.0 {
        panic_any(Other(7));
    }
    x.to_owned()
}

#[test]
fn a_payload_that_is_not_a_text_is_passed_on_as_it_is() {
    let caught = |run: &dyn Fn()| {
        let panic = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
        panic
            .downcast::<Other>()
            .map(|other| *other)
            .expect("the payload")
    };
    let (large, x) = (leaf([2.0]), leaf([1.0]));
    assert_eq!(caught(&|| drop(payload(&large))), Other(7));
    let y = payload(&x);
    assert_eq!(caught(&|| y.backward().unwrap()), Other(1));
}

/// The entry of a table.
#[custom_function(elementwise)]
fn entry<T: Real>(x: T, table: &[f64]) -> T {
    let index = if x > 1.0 { 5 } else { 0 };
    x * table[index]
}

/// Its gradient has a mistake.
#[custom_function(elementwise, grad(x) = { assert!(x < 0.0, "not negative"); grad_output })]
fn bad<T: Real>(x: T) -> T {
    x + 0.0
}

#[test]
fn formulas_are_functions_too() {
    let x = leaf([0.5, 2.0]);
    let line = line!() + 1;
    let (message, file, at) = panic_of(|| entry(&x, &[1.0]));
    assert_eq!((file.as_str(), at), (file!(), line));
    let parts = [
        "forward of `entry`, applied at <line>",
        " to `x` of shape [2], panicked: index out of bounds: the len is 1 but the index is 5",
    ];
    assert_parts(&message, line, &parts);
    let line = line!() + 1;
    let y = bad(&x).sum();
    let (message, ..) = panic_of(|| y.backward());
    let parts = [
        "backward of `bad`, applied at <line>",
        "`x` of shape [2] with `grad_output` of shape [2], panicked: not negative",
    ];
    assert_parts(&message, line, &parts);
}

/// y = 2x for vectors of two elements.
struct Checked;

#[custom_function]
impl Checked {
    #[forward]
    #[track_caller]
    fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        assert!(x.len() == 2, "two elements are needed");
        &x * 2.0
    }

    #[backward(x)]
    fn backward(grad_output: Array1<f64>) -> Array1<f64> {
        grad_output * 2.0
    }
}

#[test]
fn functions_with_a_check_of_shapes_panic_at_the_callers_line() {
    let x = leaf([1.0]);
    let line = line!() + 1;
    let (message, file, at) = panic_of(|| Checked::apply(&x));
    assert_eq!((file.as_str(), at), (file!(), line));
    assert!(
        message.ends_with(" to `x` of shape [1], panicked: two elements are needed"),
        "{message}"
    );
    // Built-in functions say it themselves, once.
    let line = line!() + 1;
    let (message, file, at) = panic_of(|| leaf([1.0, 2.0]) + leaf([1.0, 2.0, 3.0]));
    assert_eq!((file.as_str(), at), (file!(), line));
    assert!(!message.contains("panicked"), "{message}");
}
