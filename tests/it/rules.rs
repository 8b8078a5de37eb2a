//! The rules of a definition, as they show when it runs. What they forbid is in `autograd-macros/tests/ui/`.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pullback::ndarray::{
    Array0, Array1, Array2, ArrayView, ArrayView1, ArrayView2, Axis, Ix2, array,
};
use pullback::prelude::*;
use pullback::{AnyTensor, Order, SavedSignature, saved_tensors_hooks};

use crate::functions::{Linear, Square, SquareOnce, leaf};

/// Several outputs, one of them no array of floats; an intermediate.
struct Extremes;

#[custom_function]
impl Extremes {
    #[forward(outputs(largest, place, total), saves(count))]
    fn forward(x: ArrayView1<f64>) -> (Array0<f64>, usize, Array0<f64>, usize) {
        let place = (0..x.len()).fold(0, |best, i| if x[i] > x[best] { i } else { best });
        (
            Array0::from_elem((), x[place]),
            place,
            Array0::from_elem((), x.sum()),
            x.len(),
        )
    }

    #[backward(x)]
    fn backward(
        grad_largest: Option<ArrayView<f64, pullback::ndarray::Ix0>>,
        grad_total: Array0<f64>,
        place: usize,
        count: usize,
    ) -> Array1<f64> {
        SEEN.with_borrow_mut(|seen| seen.push(grad_largest.is_some()));
        let mut gradient = Array1::from_elem(count, grad_total.into_scalar());
        if let Some(grad) = grad_largest {
            gradient[place] += grad[()];
        }
        gradient
    }
}

thread_local! {
    static SEEN: RefCell<Vec<bool>> = const { RefCell::new(Vec::new()) };
}

#[test]
fn outputs_intermediates_and_undefined_gradients() {
    let x = leaf([1.0, 5.0, 2.0]);
    let (largest, place, total) = Extremes::apply(&x);
    assert_eq!((largest.item(), place, total.item()), (5.0, 1, 8.0));
    (&largest * 10.0 + &total).backward().unwrap();
    assert_eq!(x.grad(), Some(array![1.0, 11.0, 1.0]));
    // Only one output is used: the other's gradient is zeros, or `None` where it is asked for so.
    for (used, expected) in [(0, [0.0, 1.0, 0.0]), (2, [1.0, 1.0, 1.0])] {
        let (largest, _, total) = Extremes::apply(&x);
        let (dx,) = grad(if used == 0 { &largest } else { &total }, (&x,)).unwrap();
        assert_eq!(dx.to_array(), Array1::from_iter(expected));
    }
    assert_eq!(SEEN.take(), [true, true, false]);
    assert_eq!(largest.grad_fn().unwrap().name(), "Extremes");
    Gradcheck::new()
        .run(
            |(x,)| {
                let (a, _, b) = Extremes::apply(x);
                (a, b)
            },
            (&x,),
        )
        .unwrap();
}

/// A float output without a gradient.
struct Masked;

#[custom_function]
impl Masked {
    #[forward(outputs(y, mask), non_differentiable(mask))]
    fn forward(x: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) {
        let mask = x.mapv(|x| if x > 0.0 { 1.0 } else { 0.0 });
        (&x * &mask, mask)
    }

    #[backward(x)]
    fn backward(grad_y: Array1<f64>, mask: ArrayView1<f64>) -> Array1<f64> {
        grad_y * mask
    }
}

#[test]
fn a_float_output_can_be_exempt() {
    let x = leaf([1.0, -1.0]);
    let (y, mask) = Masked::apply(&x);
    assert!(y.requires_grad() && !mask.requires_grad());
    assert_eq!(mask.to_array(), array![1.0, 0.0]);
    Gradcheck::new()
        .run(|(x,)| Masked::apply(x).0, (&x,))
        .unwrap();
}

/// An input without a gradient, joint coverage, `None` for a gradient, and
/// `needs_input_grad`.
struct Joint;

thread_local! {
    static NEEDS: RefCell<Vec<JointNeedsInputGrad>> = const { RefCell::new(Vec::new()) };
}

#[custom_function]
impl Joint {
    #[forward]
    fn forward(
        x: ArrayView1<f64>,
        #[non_differentiable] weight: ArrayView1<f64>,
        y: ArrayView1<f64>,
    ) -> Array1<f64> {
        &x * &weight + y.mapv(f64::round)
    }

    #[backward]
    fn backward(
        grad_output: ArrayView1<f64>,
        weight: ArrayView1<f64>,
        needs_input_grad: &JointNeedsInputGrad,
    ) -> (Array1<f64>, Option<Array1<f64>>) {
        NEEDS.with_borrow_mut(|needs| needs.push(*needs_input_grad));
        (&grad_output * &weight, None)
    }
}

#[test]
fn a_joint_backward_reads_which_gradients_are_needed() {
    let (x, w, y) = (leaf([1.0]), leaf([3.0]), leaf([2.5]));
    let z = || Joint::apply(&x, &w, &y);
    assert_eq!(z().grad_fn().unwrap().next_functions().len(), 2);
    let (dx, dy) = Grad::of(&z()).run_unused((&x, &y)).unwrap();
    assert_eq!(dx.unwrap().to_array(), array![3.0]);
    assert!(dy.is_none(), "a gradient of `None` does not arrive");
    z().backward_with(array![1.0]).unwrap();
    assert_eq!(
        (x.grad(), w.grad(), y.grad()),
        (Some(array![3.0]), None, None)
    );
    grad(&z(), (&x,)).unwrap();
    let (all, only_x) = (
        JointNeedsInputGrad { x: true, y: true },
        JointNeedsInputGrad { x: true, y: false },
    );
    assert_eq!(NEEDS.take(), [all, all, only_x]);
}

/// All that is saved, in one struct.
struct Ratio;

#[custom_function]
impl Ratio {
    /// y = scale · x / w + bias
    #[forward]
    fn forward(
        x: ArrayView1<f64>,
        w: ArrayView1<f64>,
        bias: Option<ArrayView1<f64>>,
        scale: f64,
    ) -> Array1<f64> {
        let y = &x / &w * scale;
        bias.map_or_else(|| y.clone(), |bias| &y + &bias)
    }

    #[backward(x)]
    fn grad_x(grad_output: ArrayView1<f64>, w: ArrayView1<f64>, scale: f64) -> Array1<f64> {
        &grad_output / &w * scale
    }

    #[backward(w)]
    fn grad_w(grad_output: ArrayView1<f64>, context: &RatioContext) -> Array1<f64> {
        let (Some(x), Some(w), Some(scale)) = (&context.x, &context.w, &context.scale) else {
            panic!("all of it was asked for: {context:?}");
        };
        assert_eq!(context.bias.is_some(), **scale > 0.0, "the optional input");
        &grad_output * &x.view() / w.view() / w.view() * -**scale
    }

    #[backward(bias)]
    fn grad_bias(
        grad_output: ArrayView1<f64>,
        x: ArrayView1<f64>,
        bias: ArrayView1<f64>,
    ) -> Array1<f64> {
        assert_eq!(x.len(), bias.len());
        grad_output.to_owned()
    }
}

#[test]
fn a_function_that_asks_for_the_context_asks_for_all_of_it() {
    let saved = Ratio::SIGNATURE.saved.iter();
    let saved: Vec<_> = saved.map(|saved| (saved.name, saved.needed_for)).collect();
    let expected: [(&str, &[&str]); 4] = [
        ("x", &["w", "bias"]),
        ("w", &["x", "w"]),
        ("bias", &["w", "bias"]),
        ("scale", &["x", "w"]),
    ];
    assert_eq!(saved, expected);

    let (x, w, bias) = (leaf([3.0, 4.0]), leaf([2.0, 1.0]), leaf([5.0, 6.0]));
    for (bias, scale) in [(Some(&bias), 3.0), (None, -3.0)] {
        w.zero_grad();
        Ratio::apply(&x, &w, bias, scale).sum().backward().unwrap();
        assert_eq!(w.grad(), Some(array![-0.75, -4.0] * scale));
    }
    // What no function that can still be called asks for is not saved: here, all but `w`.
    let packed = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&packed);
    let pack = move |tensor: AnyTensor| {
        count.fetch_add(1, Ordering::Relaxed);
        tensor
    };
    saved_tensors_hooks(pack, AnyTensor::clone, || {
        Ratio::apply(&x, &w.detach(), None, 3.0)
    });
    assert_eq!(packed.load(Ordering::Relaxed), 1);
}

/// With a generic function: every order, checked.
#[test]
fn functions_on_tensors_are_differentiable_again() {
    let x = Tensor::from(array![[0.5, -1.0], [2.0, 0.1]]).set_requires_grad(true);
    Gradcheck::new()
        .second_order()
        .run(|(x,)| Square::apply(x), (&x,))
        .unwrap();
    assert_eq!(Square::<Ix2>::SIGNATURE.order, Order::Any);
    assert_eq!(SquareOnce::SIGNATURE.order, Order::Once);
}

/// Forward can fail; `apply` then fails alike.
struct Root;

#[derive(Debug, PartialEq)]
struct Negative(f64);

impl fmt::Display for Negative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} has no root", self.0)
    }
}

#[custom_function]
impl Root {
    #[forward]
    fn forward(x: ArrayView1<f64>) -> Result<Array1<f64>, Negative> {
        x.iter()
            .find(|x| **x < 0.0)
            .map_or_else(|| Ok(x.mapv(f64::sqrt)), |x| Err(Negative(*x)))
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f64>, output: ArrayView1<f64>) -> Array1<f64> {
        &grad_output / (&output * 2.0)
    }
}

#[test]
fn a_forward_that_fails_makes_apply_fail() {
    assert_eq!(Root::apply(&leaf([1.0, -4.0])).unwrap_err(), Negative(-4.0));
    let x = leaf([4.0, 9.0]);
    Gradcheck::new()
        .run(|(x,)| Root::apply(x).unwrap(), (&x,))
        .unwrap();
}

/// The signature as data.
#[test]
fn signatures_tell_what_is_saved_for_whom() {
    let signature = Linear::SIGNATURE;
    assert_eq!(
        (Linear::NAME, signature.name, signature.order),
        ("Linear", "Linear", Order::Once)
    );
    let inputs: Vec<_> = signature
        .inputs
        .iter()
        .map(|i| (i.name, i.tensor, i.optional, i.differentiable))
        .collect();
    assert_eq!(
        inputs,
        [
            ("input", true, false, true),
            ("weight", true, false, true),
            ("bias", true, true, true)
        ]
    );
    assert_eq!(
        signature.saved,
        [
            SavedSignature {
                name: "input",
                needed_for: &["weight"]
            },
            SavedSignature {
                name: "weight",
                needed_for: &["input"]
            },
        ]
    );
    let kinds = crate::inputs::Kinds::<f32>::SIGNATURE;
    assert_eq!(kinds.inputs.iter().filter(|input| !input.tensor).count(), 6);
}

/// Another name.
struct Renamed;

#[custom_function(name = "shift")]
impl Renamed {
    #[forward]
    fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        &x + 1.0
    }

    #[backward(x)]
    fn backward(grad_output: Array1<f64>) -> Array1<f64> {
        grad_output
    }
}

#[test]
fn a_function_may_have_another_name() {
    let y = Renamed::apply(&leaf([1.0]));
    assert_eq!(
        (Renamed::NAME, y.grad_fn().unwrap().name()),
        ("shift", "shift")
    );
}

/// PyTorch sums or broadcasts such gradients to fit.
struct WrongLength;

#[custom_function]
impl WrongLength {
    #[forward]
    fn forward(x: ArrayView1<f64>, bias: ArrayView1<f64>, by: usize) -> Array2<f64> {
        let _ = by;
        x.to_owned().insert_axis(Axis(1)) + bias
    }

    #[backward(x)]
    fn grad_x(grad_output: ArrayView2<f64>) -> Array1<f64> {
        grad_output.sum_axis(Axis(1))
    }

    #[backward(bias)]
    fn grad_bias(grad_output: ArrayView2<f64>, by: usize) -> Array1<f64> {
        Array1::from_elem(by, grad_output.sum())
    }
}

#[test]
fn gradients_are_never_summed_or_broadcast_to_fit() {
    let (x, bias) = (leaf([1.0, 2.0]), leaf([1.0, 2.0, 3.0]));
    for length in [1, 2, 6] {
        let y = WrongLength::apply(&x, &bias, length);
        let line = line!() - 1;
        let error = y.sum().backward().unwrap_err().to_string();
        let expected = format!(
            "backward of `WrongLength` gave a gradient of shape [{length}] for `bias` of shape [3] \
             (applied at tests/it/rules.rs:{line}:"
        );
        assert!(error.starts_with(&expected), "{error}");
        assert_eq!((x.grad(), bias.grad()), (None, None));
    }
}

/// Functions stay ordinary functions.
#[test]
fn forward_and_backward_can_be_called() {
    let x = array![[1.0, 2.0]];
    let w = array![[3.0, 4.0]];
    assert_eq!(Linear::forward(x.view(), w.view(), None), array![[11.0]]);
}

/// A bound of the user is enough: what generated code needs of `T` it asks for itself.
struct Halve<T>(std::marker::PhantomData<T>);

#[custom_function]
impl<T: pullback::ndarray::NdFloat> Halve<T> {
    #[forward]
    fn forward(x: ArrayView1<T>, by: T) -> Array1<T> {
        x.mapv(|x| x / by)
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<T>, x: ArrayView1<T>, by: T) -> Array1<T> {
        assert_eq!(grad_output.len(), x.len());
        grad_output.mapv(|grad| grad / by)
    }
}

#[test]
fn bounds_need_not_be_the_librarys() {
    let x = leaf([1.0, 3.0]);
    Gradcheck::new()
        .run(|(x,)| Halve::apply(x, 2.0), (&x,))
        .unwrap();
}

/// An owned gradient as a tensor, after others have read it.
struct Sides;

#[custom_function]
impl Sides {
    #[forward(outputs(sum, difference))]
    fn forward(x: ArrayView1<f64>, y: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) {
        (&x + &y, &x - &y)
    }

    #[backward(x)]
    fn grad_x(grad_sum: Tensor1<f64>, grad_difference: Option<Tensor1<f64>>) -> Tensor1<f64> {
        match grad_difference {
            Some(grad_difference) => grad_sum + grad_difference,
            None => grad_sum,
        }
    }

    #[backward(y)]
    fn grad_y(grad_sum: Tensor1<f64>, grad_difference: Option<Tensor1<f64>>) -> Tensor1<f64> {
        match grad_difference {
            Some(grad_difference) => grad_sum - grad_difference,
            None => grad_sum,
        }
    }
}

#[test]
fn a_gradient_can_be_owned_as_a_tensor() -> Result<(), pullback::Error> {
    assert_eq!(Sides::SIGNATURE.order, Order::Any);
    let (x, y) = (leaf([1.0, 3.0, 4.0]), leaf([2.0, 5.0, 7.0]));
    let product = |x: &Tensor1<f64>, y: &Tensor1<f64>| {
        let (sum, difference) = Sides::apply(x, y);
        &sum * &difference * &sum
    };
    Gradcheck::new()
        .second_order()
        .run(|(x, y)| product(x, y), (&x, &y))?;
    // One gradient comes to both inputs, or only one of two does: neither is written over.
    let seed = array![1.0, 10.0, 100.0];
    for _ in 0..2 {
        Sides::apply(&x, &y).0.backward_with(seed.clone())?;
    }
    assert_eq!((x.grad(), y.grad()), (Some(&seed * 2.0), Some(&seed * 2.0)));
    Sides::apply(&x, &y).1.backward_with(seed.clone())?;
    assert_eq!((x.grad(), y.grad()), (Some(&seed * 3.0), Some(seed)));
    Ok(())
}
