//! The functions that several tests define gradients of.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use pullback::foreign::panic_text;
use pullback::ndarray::{
    Array, Array1, Array2, ArrayView, ArrayView1, ArrayView2, Axis, Dimension,
};
use pullback::prelude::*;

/// Returns the message of a call's panic, and the file and line of the panic.
pub fn panic_of<R>(call: impl FnOnce() -> R) -> (String, String, u32) {
    let (message, mut places) = panics_of(call);
    let (file, line) = places.pop().expect("a place");
    (message, file, line)
}

/// Returns the message of a call's panic, and the files and lines of the panics until then: a panic inside of a function
/// is followed by one at the line of the call.
pub fn panics_of<R>(call: impl FnOnce() -> R) -> (String, Vec<(String, u32)>) {
    thread_local! {
        static PANICKED_AT: RefCell<Vec<(String, u32)>> = const { RefCell::new(Vec::new()) };
    }
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let former = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let at = info.location().map(|at| (at.file().to_owned(), at.line()));
            PANICKED_AT.with_borrow_mut(|places| places.extend(at));
            former(info);
        }));
    });
    PANICKED_AT.take();
    let Err(panic) = catch_unwind(AssertUnwindSafe(call)) else {
        panic!("nothing was refused")
    };
    (panic_text(&*panic).to_owned(), PANICKED_AT.take())
}

/// y = x Wᵀ + b
pub struct Linear;

#[custom_function(gradcheck(input = [3, 4], weight = [5, 4], bias = [5]))]
impl Linear {
    #[forward]
    pub fn forward(
        input: ArrayView2<f64>,
        weight: ArrayView2<f64>,
        bias: Option<ArrayView1<f64>>,
    ) -> Array2<f64> {
        let output = input.dot(&weight.t());
        match bias {
            Some(bias) => output + bias,
            None => output,
        }
    }

    #[backward(input)]
    fn grad_input(grad_output: ArrayView2<f64>, weight: ArrayView2<f64>) -> Array2<f64> {
        grad_output.dot(&weight)
    }

    #[backward(weight)]
    fn grad_weight(grad_output: ArrayView2<f64>, input: ArrayView2<f64>) -> Array2<f64> {
        grad_output.t().dot(&input)
    }

    #[backward(bias)]
    fn grad_bias(grad_output: ArrayView2<f64>) -> Array1<f64> {
        grad_output.sum_axis(Axis(0))
    }
}

/// y = x², differentiable any number of times.
pub struct Square<D>(PhantomData<D>);

#[custom_function(gradcheck(x = [2, 3]))]
impl<D: Dimension> Square<D> {
    #[forward]
    pub fn forward(x: ArrayView<f64, D>) -> Array<f64, D> {
        x.mapv(|x| x * x)
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor<f64, D>, x: &Tensor<f64, D>) -> Tensor<f64, D> {
        grad_output * x * 2.0
    }
}

/// y = x², differentiable once.
pub struct SquareOnce;

#[custom_function(gradcheck(x = [4]))]
impl SquareOnce {
    #[forward]
    pub fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        &x * &x
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> {
        &grad_output * &x * 2.0
    }
}

/// y = x², whose tangent is half of the right one.
pub struct HalfTangent;

#[custom_function]
impl HalfTangent {
    #[forward]
    pub fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        &x * &x
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor1<f64>, x: &Tensor1<f64>) -> Tensor1<f64> {
        grad_output * x * 2.0
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor1<f64>, x: &Tensor1<f64>) -> Tensor1<f64> {
        tangent_x * x
    }
}

/// sinh x and cosh x, each the derivative of the other. Both have a gradient and can be differentiated again, in any
/// order of modes.
pub struct SinhCosh;

#[custom_function(gradcheck(x = [3]))]
impl SinhCosh {
    #[forward(outputs(sinh, cosh))]
    pub fn forward(x: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) {
        (x.mapv(f64::sinh), x.mapv(f64::cosh))
    }

    #[backward(x)]
    fn backward(
        grad_sinh: &Tensor1<f64>,
        grad_cosh: &Tensor1<f64>,
        sinh: &Tensor1<f64>,
        cosh: &Tensor1<f64>,
    ) -> Tensor1<f64> {
        grad_sinh * cosh + grad_cosh * sinh
    }

    #[jvp]
    fn jvp(
        tangent_x: &Tensor1<f64>,
        sinh: &Tensor1<f64>,
        cosh: &Tensor1<f64>,
    ) -> (Tensor1<f64>, Option<Tensor1<f64>>) {
        (tangent_x * cosh, Some(tangent_x * sinh))
    }
}

/// A leaf of rank 1.
pub fn leaf<const N: usize>(elements: [f64; N]) -> Tensor1<f64> {
    Tensor::from(Array1::from_iter(elements)).set_requires_grad(true)
}
