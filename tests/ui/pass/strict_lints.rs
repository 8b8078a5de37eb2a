//! Lints that a careful crate turns into errors; nothing generated is any of their business.
#![deny(
    missing_copy_implementations,
    missing_debug_implementations,
    missing_docs,
    single_use_lifetimes,
    unreachable_pub,
    unused_lifetimes,
    unused_qualifications,
    unused_results,
    warnings
)]

use pullback::ndarray::{Array1, ArrayView1, ArrayViewMut1};
use pullback::prelude::*;

// The type is more visible than what its function takes.
#[allow(unreachable_pub)]
mod functions {
    use super::*;

    /// A mode that nobody outside sees, in a function that they may see.
    #[derive(Clone, Debug)]
    pub(super) enum Mode {
        Plain,
        Scaled(Vec<f64>),
    }

    /// y = x + s·b
    #[derive(Clone, Copy, Debug)]
    pub struct Add;

    #[custom_function]
    impl Add {
        /// y = x + s·b
        #[forward(outputs(y, count), saves(scale))]
        pub(super) fn forward(
            x: ArrayView1<f64>,
            b: Option<ArrayView1<f64>>,
            mode: Mode,
        ) -> (Array1<f64>, usize, f64) {
            let scale = match &mode {
                Mode::Plain => 1.0,
                Mode::Scaled(factors) => factors.iter().product(),
            };
            let y = b.map_or_else(|| x.to_owned(), |b| &x + &b * scale);
            (y, x.len(), scale)
        }

        #[backward]
        fn backward(
            grad_y: ArrayView1<f64>,
            scale: f64,
            needs_input_grad: AddNeedsInputGrad,
        ) -> (Array1<f64>, Option<Array1<f64>>) {
            let grad_b = needs_input_grad.b.then(|| &grad_y * scale);
            (grad_y.to_owned(), grad_b)
        }

        #[jvp]
        fn jvp(
            tangent_x: Option<Array1<f64>>,
            tangent_b: Option<ArrayView1<f64>>,
            mode: &Mode,
            y: ArrayView1<f64>,
        ) -> Array1<f64> {
            let scale = match mode {
                Mode::Plain => 1.0,
                Mode::Scaled(factors) => factors.iter().product(),
            };
            let along_x = tangent_x.unwrap_or_else(|| &y * 0.0);
            tangent_b.map_or_else(|| along_x.clone(), |tangent| &along_x + &tangent * scale)
        }
    }
}

// The same in the short form.
#[allow(unreachable_pub)]
mod short {
    use super::*;

    /// Shown to nobody, in a function that is.
    #[derive(Clone, Debug)]
    pub(crate) struct Factors(Vec<f64>);

    impl Factors {
        pub(super) fn new(factors: Vec<f64>) -> Self {
            Self(factors)
        }
    }

    /// y = x + s·b
    ///
    /// # Errors
    /// None.
    #[custom_function(
        outputs(y, count),
        grad(x) = grad_y.to_owned(),
        grad(b) = &grad_y * factors.0.iter().product::<f64>() * *sign,
    )]
    #[inline]
    pub(super) fn add<T: Copy + Send + Sync + Into<f64> + 'static>(
        x: ArrayView1<f64>,
        b: ArrayView1<f64>,
        factors: Factors,
        sign: f64,
        other: &T,
    ) -> Result<(Array1<f64>, usize), std::fmt::Error> {
        let scale = factors.0.iter().product::<f64>() * sign + (*other).into();
        Ok((&x + &b * scale, x.len()))
    }

    /// y = c·x
    #[custom_function(higher_order, grad(x) = grad_output * *factor)]
    pub fn scale(x: ArrayView1<f64>, factor: f64) -> Array1<f64> {
        &x * factor
    }

    // Not used, but for what is used below.
    #[custom_function(grad(x) = grad_output.to_owned())]
    fn same(x: ArrayView1<f64>) -> Array1<f64> {
        x.to_owned()
    }

    pub(super) fn twice(x: &Tensor1<f64>) -> Tensor1<f64> {
        same(&scale(x, 2.0))
    }
}

/// Functions that write to their inputs.
pub mod in_place {
    use super::*;

    /// x ← s·x, and how many elements there are.
    #[derive(Clone, Copy, Debug)]
    pub struct Scale;

    #[custom_function]
    impl Scale {
        /// x ← s·x
        #[forward]
        pub fn forward(mut x: ArrayViewMut1<f64>, s: f64) -> Result<(), String> {
            x *= s;
            Ok(())
        }

        #[backward(x)]
        fn backward(grad_output: Array1<f64>, s: f64) -> Array1<f64> {
            grad_output * s
        }

        #[jvp]
        fn jvp(tangent_x: Array1<f64>, s: f64) -> Array1<f64> {
            tangent_x * s
        }
    }

    /// x ← 0
    #[derive(Clone, Copy, Debug)]
    pub struct Clear;

    #[custom_function]
    impl Clear {
        /// x ← 0
        #[forward]
        pub fn forward(mut x: ArrayViewMut1<f64>, list: &[ArrayView1<f64>]) {
            let _ = list;
            x.fill(0.0);
        }

        #[backward(ignores_grad)]
        fn backward(list: &[ArrayView1<f64>]) -> (Option<Array1<f64>>, Vec<Array1<f64>>) {
            (None, list.iter().map(|one| one * 0.0).collect())
        }
    }
}

mod quiet {
    use super::*;

    struct Double;

    #[custom_function]
    impl Double {
        #[forward]
        fn forward(x: ArrayView1<f64>) -> Array1<f64> {
            &x * 2.0
        }

        #[backward(x)]
        fn backward(grad_output: Array1<f64>) -> Array1<f64> {
            grad_output * 2.0
        }
    }

    pub(super) fn double(x: &Tensor1<f64>) -> Tensor1<f64> {
        Double::apply(x)
    }
}

macro_rules! scale {
    ($name:ident, $factor:expr, $view:ty) => {
        struct $name;

        #[custom_function]
        impl $name {
            #[forward]
            fn forward(x: $view) -> Array1<f64> {
                &x * $factor
            }

            #[backward(x)]
            fn backward(grad_output: Array1<f64>) -> Array1<f64> {
                grad_output * $factor
            }
        }
    };
}

scale!(Triple, 3.0, ArrayView1<f64>);

fn main() {
    let x = Tensor::from(Array1::ones(2)).set_requires_grad(true);
    let (y, count) = functions::Add::apply(&x, Some(&x), functions::Mode::Scaled(vec![2.0]));
    let (z, _) = functions::Add::apply(&y, None, functions::Mode::Plain);
    assert_eq!(count, 2);
    let (z, _) = short::add(&z, &z.detach(), short::Factors::new(vec![0.0]), 1.0, &0.0_f32).unwrap();
    let z = short::twice(&z) * 0.5;
    let mut w = &x * 1.0;
    in_place::Scale::apply(&mut w, 2.0).unwrap();
    in_place::Clear::apply(&mut w, &[&x]);
    Triple::apply(&quiet::double(&z)).sum().backward().unwrap();
    assert_eq!(x.grad().unwrap(), Array1::from_elem(2, 18.0));
}
