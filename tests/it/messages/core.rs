//! Every variant of `Error`, and the mismatches of a gradient check.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use pullback::foreign::Recording;
use pullback::functional::{Functional, vmap};
use pullback::ndarray::{Array1, ArrayD, ArrayView1, ArrayViewD, Axis, array};
use pullback::prelude::*;
use pullback::{AnyTensor, Backward, Check, Error, Mismatch, jvp, saved_tensors_hooks};

use super::{Page, name_of};
use crate::functional::constant;
use crate::functions::{HalfTangent, Square, SquareOnce, leaf, panic_of};
use crate::residuals::mistakes;
use crate::scans;

/// The sum of a list's tensors; its backward returns a number of gradients of a length, both given.
struct Total;

#[custom_function]
impl Total {
    #[forward]
    fn forward(parts: &[ArrayView1<f64>], count: usize, length: usize) -> Array1<f64> {
        let _ = (count, length);
        parts.iter().fold(Array1::zeros(2), |sum, part| sum + part)
    }

    #[backward(parts)]
    fn backward(grad_output: ArrayView1<f64>, count: usize, length: usize) -> Vec<Array1<f64>> {
        vec![Array1::from_elem(length, grad_output[0]); count]
    }
}

/// y = x², whose tangent has one entry.
struct ShortTangent;

#[custom_function]
impl ShortTangent {
    #[forward]
    fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        &x * &x
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> {
        &grad_output * &x * 2.0
    }

    #[jvp]
    fn jvp(tangent_x: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> {
        array![tangent_x[0] * x[0] * 2.0]
    }
}

/// A function of two outputs, with a tangent for one; its backward fails.
struct Twice;

#[custom_function]
impl Twice {
    #[forward]
    fn forward(x: ArrayView1<f64>) -> Vec<Array1<f64>> {
        vec![x.to_owned(), x.to_owned()]
    }

    #[backward(x)]
    fn backward(grad_output: &[ArrayView1<f64>]) -> Result<Array1<f64>, String> {
        let count = grad_output.len();
        Err(format!("{count} gradients are too many"))
    }

    #[jvp]
    fn jvp(tangent_x: ArrayView1<f64>) -> Vec<Array1<f64>> {
        vec![tangent_x.to_owned()]
    }
}

#[custom_function(elementwise(order = 1))]
fn halved<T: Real>(x: T) -> T {
    x / 2.0
}

type Vector = Tensor1<f64>;

pub(super) fn errors(page: &mut Page) {
    page.section("pullback::Error");
    let errors = passes().into_iter().chain(given()).chain(nodes());
    for error in errors
        .chain(forward())
        .chain(independent())
        .chain(mapped())
        .chain(matrices())
        .chain(mistakes::errors())
        .chain([mistakes::error_of_rule(), scans::anomaly()])
    {
        page.says(&name_of(error.kind()), &error);
    }
    page.line(&format!("ResidualNotZero: {}", mistakes::message_of_test()));
    for error in declared() {
        page.says(&name_of(error.kind()), &error);
    }
    let wrong = || drop(Declared::apply(&leaf([1.0, 2.0]).into_dyn(), None, 3, 1));
    page.line(&format!("ReturnedShape: {}", panic_of(wrong).0));
}

/// A function with declared shapes, of which forward returns another.
struct Declared;

#[custom_function(shapes(x = [.., n], w = [.., n, 2 * n, 4], output = [.., n / k]))]
impl Declared {
    #[forward]
    fn forward(
        x: ArrayViewD<f64>,
        #[non_differentiable] w: Option<ArrayViewD<f64>>,
        k: usize,
        length: usize,
    ) -> ArrayD<f64> {
        let _ = w;
        x.sum() * ArrayD::ones(vec![length + k])
    }

    #[backward(x)]
    fn backward(grad_output: ArrayViewD<f64>, n: usize) -> ArrayD<f64> {
        ArrayD::from_elem(vec![n], grad_output.sum())
    }
}

/// Errors of shapes that are not the declared ones.
fn declared() -> Vec<Error> {
    let refused =
        |x: &[usize], w: Option<&[usize]>, k| Declared::output_shape(x, w, k, 0).unwrap_err();
    vec![
        refused(&[7, 2], Some(&[7, 3, 4, 4]), 1),
        refused(&[7, 2], Some(&[2, 4, 4]), 1),
        refused(&[7, 2], Some(&[7, 2, 4, 5]), 1),
        refused(&[7, 2], Some(&[7, 2, 5, 4]), 1),
        refused(&[7, 2], None, 0),
    ]
}

/// Errors of backward passes.
fn passes() -> Vec<Error> {
    let (x, other) = (leaf([1.0, 2.0]), leaf([3.0]));
    let freed = Square::apply(&x).sum();
    freed.backward().unwrap();
    let once = SquareOnce::apply(&x).sum();
    let (first,) = Grad::of(&once).create_graph(true).run((&x,)).unwrap();
    let y = halved(&x).sum();
    let (of_numbers,) = Grad::of(&y).create_graph(true).run((&x,)).unwrap();
    let infinite = (&leaf([0.0]).ln() * 0.0).sum();
    let lost = |_: &AnyTensor| Err::<AnyTensor, _>("the file is gone");
    let unpacked = saved_tensors_hooks(|tensor| tensor, lost, || x.exp().sum());
    vec![
        (&x * 2.0).backward().unwrap_err(),
        constant([1.0]).sum().backward().unwrap_err(),
        (&x * 2.0).backward_with(array![1.0]).unwrap_err(),
        freed.backward().unwrap_err(),
        Total::apply(&[&x, &x], 2, 3).sum().backward().unwrap_err(),
        Total::apply(&[&x, &x], 1, 2).sum().backward().unwrap_err(),
        Twice::apply(&x)[0].sum().backward().unwrap_err(),
        first.sum().backward().unwrap_err(),
        of_numbers.sum().backward().unwrap_err(),
        detect_anomaly(|| infinite.backward()).unwrap_err(),
        grad(&x.sum(), (&constant([1.0]),)).unwrap_err(),
        grad(&x.exp().sum(), (&other,)).unwrap_err(),
        unpacked.backward().unwrap_err(),
    ]
}

/// Errors of missing and wrong inputs.
fn given() -> Vec<Error> {
    let x = leaf([1.0]);
    let none: &[&Vector] = &[];
    let of = |inputs: Vec<AnyTensor>| {
        let transposed = |x: &Tensor2<f64>| x.t();
        let run = Recording::of(transposed, inputs.clone(), &vec![true; inputs.len()]);
        run.unwrap_err()
    };
    vec![
        Backward::of(&x.sum()).inputs(none).run().unwrap_err(),
        of(vec![]),
        of(vec![array![1.0_f32].into()]),
    ]
}

/// Errors of nodes and hooks.
fn nodes() -> Vec<Error> {
    let x = leaf([1.0]);
    let y = x.exp();
    let node = y.grad_fn().expect("a computed tensor");
    let single = Tensor::from(array![1.0_f32]).into_dyn();
    let mut errors = vec![
        node.apply::<f64>(&[]).unwrap_err(),
        node.apply(&[Some(single)]).unwrap_err(),
    ];
    let hook = y.register_hook(|_| Some(constant([1.0, 2.0])));
    errors.push(y.sum().backward().unwrap_err());
    hook.remove();
    let hook = node.register_prehook(|_: &[Option<TensorD<f64>>]| Some(vec![]));
    errors.push(y.sum().backward().unwrap_err());
    hook.remove();
    errors
}

/// Errors of forward mode.
fn forward() -> Vec<Error> {
    let x = constant([2.0, 3.0]);
    let twice = |x: &Vector| SquareOnce::apply(&Square::apply(x));
    vec![
        Functional::new()
            .forward_mode(true)
            .jvp(|(x,)| Square::apply(x), (&x,), (&x,))
            .unwrap_err(),
        Functional::new()
            .create_graph(true)
            .jvp(
                |x| grad(&x.square().sum(), (x,)).unwrap().0,
                &leaf([1.0]),
                &constant([1.0]),
            )
            .unwrap_err(),
        jvp(|(x,)| x.exp(), (&x,), (&constant([1.0]),)).unwrap_err(),
        jvp(|(x,)| ShortTangent::apply(x), (&x,), (&x,)).unwrap_err(),
        jvp(|(x,)| Twice::apply(x), (&x,), (&x,)).unwrap_err(),
        jvp(twice, &x, &x).unwrap_err(),
    ]
}

/// Errors of `strict`.
fn independent() -> Vec<Error> {
    let (x, w) = (constant([2.0]), constant([3.0]));
    let crossed = |(x, w): (&Vector, &Vector)| (x * x, w * w);
    let partly = |(x, w): (&Vector, &Vector)| (x * x).sum() + w.sum();
    let strict = Functional::new().strict(true);
    vec![
        strict.jvp(|x| (x * x, w.clone()), &x, &x).unwrap_err(),
        strict.jvp(|(x, _)| x * x, (&x, &w), (&x, &w)).unwrap_err(),
        strict.jacobian(crossed, (&x, &w)).unwrap_err(),
        strict.hessian(|x| (x * 2.0).sum(), &x).unwrap_err(),
        strict.hvp(partly, (&x, &w), (&x, &w)).unwrap_err(),
    ]
}

/// x / 2, whose gradient has a wrong shape for numbers above 1.
#[custom_function(batch(x), grad(x) = Array1::from_elem(1 + usize::from(x[0] > 1.0), grad_output[0] / 2.0))]
fn misshapen(x: ArrayView1<f64>) -> Array1<f64> {
    &x / 2.0
}

/// Errors of an example of `vmap`, and of `apply_batch`.
fn mapped() -> Vec<Error> {
    let x = Tensor::from(array![[1.0], [2.0]]);
    let of_constant = |x: &Vector| grad(&x.sum(), x);
    let kept = Mutex::new(None);
    let keep = |x: &Vector| {
        kept.lock().expect("no panic").replace(x * 2.0);
        x.sum()
    };
    let _ = vmap(
        keep,
        Axis(0),
        &Tensor::from(array![[1.0]]).set_requires_grad(true),
    );
    let kept = kept.into_inner().expect("no panic").expect("a tensor");
    let of_batch =
        Misshapen::apply_batch(&Tensor::from(array![[1.0], [2.0]]).set_requires_grad(true));
    vec![
        vmap(of_constant, Axis(0), &x).unwrap_err(),
        of_batch.sum().backward().unwrap_err(),
        kept.sum().backward().unwrap_err(),
    ]
}

/// Errors of matrices that have no inverse, determinant or factor, or whose factors have no derivative.
fn matrices() -> Vec<Error> {
    let singular = Tensor::from(array![[1.0, 2.0], [2.0, 4.0]]);
    let negative = Tensor::from(array![[1.0, 0.0], [0.0, -1.0]]);
    let infinite = Tensor::from(array![[f64::INFINITY]]);
    let ones = Tensor::from(array![[1.0, 1.0], [1.0, 1.0]]).set_requires_grad(true);
    let eye = Tensor::from(array![[1.0, 0.0], [0.0, 1.0]]).set_requires_grad(true);
    let (_, vectors) = eye.eigh().expect("finite numbers");
    vec![
        singular.solve(&constant([1.0, 2.0])).unwrap_err(),
        singular.inv().unwrap_err(),
        singular.det().unwrap_err(),
        negative.cholesky().unwrap_err(),
        infinite.eigh().unwrap_err(),
        ones.qr().0.sum().backward().unwrap_err(),
        vectors.sum().backward().unwrap_err(),
    ]
}

/// Right but for the factor.
#[custom_function(grad(x) = &grad_output * 3.0)]
fn doubled(x: ArrayView1<f64>) -> Array1<f64> {
    &x * 2.0
}

#[custom_function(grad(x) = {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let calls = CALLS.fetch_add(1, Ordering::Relaxed);
    // Too little for central differences to see.
    &grad_output * (1.0 + f64::from(calls) / f64::from(1 << 20))
})]
fn counting(x: ArrayView1<f64>) -> Array1<f64> {
    x.to_owned()
}

/// The square of the incoming gradient is itself, if that is 0 or 1.
#[custom_function(grad(x) = &grad_output * &grad_output)]
fn squaring(x: ArrayView1<f64>) -> Array1<f64> {
    x.to_owned()
}

#[custom_function(grad(x) = {
    if grad_output.strides()[0] == 2 { &grad_output * 2.0 } else { grad_output.to_owned() }
})]
fn in_one_piece(x: ArrayView1<f64>) -> Array1<f64> {
    x.to_owned()
}

#[custom_function(grad(x) = {
    if grad_output.strides()[0] == 0 { &grad_output * 2.0 } else { grad_output.to_owned() }
})]
fn in_memory(x: ArrayView1<f64>) -> Array1<f64> {
    x.to_owned()
}

#[custom_function(grad(x) = {
    let factor = if x.as_slice().is_some() { 1.0 } else { 2.0 };
    &grad_output * factor
})]
fn of_one_piece(x: ArrayView1<f64>) -> Array1<f64> {
    x.to_owned()
}

/// x twice; backward takes zeros for something else than the lack of a gradient.
struct Both;

#[custom_function]
impl Both {
    #[forward]
    fn forward(x: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) {
        (x.to_owned(), x.to_owned())
    }

    #[backward(x)]
    fn backward(
        grad_output_0: ArrayView1<f64>,
        grad_output_1: Option<ArrayView1<f64>>,
    ) -> Array1<f64> {
        match grad_output_1 {
            None => grad_output_0.to_owned(),
            Some(second) if second.sum() == 0.0 => &grad_output_0 * 2.0,
            Some(second) => &grad_output_0 + &second,
        }
    }
}

/// y = x², whose backward loses what depends on x.
struct Detached;

#[custom_function]
impl Detached {
    #[forward]
    fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        &x * &x
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor1<f64>, x: &Tensor1<f64>) -> Tensor1<f64> {
        grad_output * x.detach() * 2.0
    }
}

/// y = x + w, whose backward takes the flag of one input for that of the other.
struct Flagged;

#[custom_function]
impl Flagged {
    #[forward]
    fn forward(x: ArrayView1<f64>, w: ArrayView1<f64>) -> Array1<f64> {
        &x + &w
    }

    #[backward]
    fn backward(
        grad_output: ArrayView1<f64>,
        needs_input_grad: FlaggedNeedsInputGrad,
    ) -> (Option<Array1<f64>>, Option<Array1<f64>>) {
        let of = |needed: bool| needed.then(|| grad_output.to_owned());
        (of(needs_input_grad.w), of(needs_input_grad.x))
    }
}

/// y = x², whose tangent loses what depends on x.
struct DetachedTangent;

#[custom_function]
impl DetachedTangent {
    #[forward]
    fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        &x * &x
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor1<f64>, x: &Tensor1<f64>) -> Tensor1<f64> {
        grad_output * x * 2.0
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor1<f64>, x: &Tensor1<f64>) -> Tensor1<f64> {
        tangent_x * x.detach() * 2.0
    }
}

/// Errors of gradient checks: a mistake for each of the checks and derivatives.
pub(super) fn mismatches(page: &mut Page) {
    page.section("pullback::Mismatch");
    let x = leaf([1.0, 2.0]);
    let (plain, all) = (Gradcheck::new(), Gradcheck::new().thorough());
    let second = Gradcheck::new().second_order();
    let results = [
        plain.run(|(x,)| doubled(x), (&x,)),
        plain.run(|(x,)| (x * 1.0, doubled(&x.reshape(2))), (&x,)),
        second.run(|(x,)| Detached::apply(x), (&x,)),
        plain
            .forward_mode()
            .run(|(x,)| HalfTangent::apply(x), (&x,)),
        second
            .forward_mode()
            .run(|(x,)| DetachedTangent::apply(x), (&x,)),
        all.run(|(x,)| squaring(&(x * 3.0)), (&x,)),
        all.run(|(x,)| counting(x), (&x,)),
        all.run(|(x,)| in_one_piece(x), (&x,)),
        all.run(|(x,)| in_memory(x), (&x,)),
        all.run(|(x,)| of_one_piece(x), (&x,)),
        all.run(|(x,)| Both::apply(x), (&x,)),
        all.run(|(x, w)| Flagged::apply(x, w), (&x, &leaf([3.0, 5.0]))),
    ];
    let mut checks: Vec<Check> = Vec::new();
    for result in results {
        let error = result.expect_err("a mistake");
        let Mismatch {
            check, derivative, ..
        } = *error.mismatch().expect("a failed check");
        checks.push(check);
        page.line(&format!(
            "Gradcheck: {check:?}, {derivative:?}: {}",
            rounded(&error.to_string())
        ));
    }
    for name in super::variants("autograd-core/src/error/mismatch.rs", "Check") {
        assert!(
            checks.iter().any(|check| format!("{check:?}") == name),
            "{name}"
        );
    }
}

/// Numbers to seven digits: the rest is the machine's.
fn rounded(text: &str) -> String {
    let words = text.split(' ').map(|word| {
        let number = word.trim_end_matches([',', ';']);
        match number.parse::<f64>() {
            Ok(value) if number.contains('e') => format!("{value:.6e}{}", &word[number.len()..]),
            _ => word.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}
