//! Functions that the users' own macros write, of each kind of fragment.

use pullback::catalogue;
use pullback::ndarray::{Array1, ArrayView1, Ix1, array};
use pullback::prelude::*;

use crate::functions::leaf;

macro_rules! of_block {
    ($name:ident($x:ident), $body:block) => {
        #[custom_function(elementwise)]
        fn $name<T: Real>($x: T) -> T $body
    };
}

of_block!(squared(x), { x * x });

macro_rules! of_body {
    ($name:ident($x:ident, $y:ident, $z:ident) = $body:expr) => {
        #[custom_function(elementwise(order = 3), name = "of_body")]
        fn $name<T: Real>($x: T, $y: T, $z: T) -> T {
            $body
        }
    };
}

macro_rules! of_items {
    ($Name:ident $($member:item)*) => {
        struct $Name;

        #[custom_function]
        impl $Name {
            $($member)*
        }
    };
}

of_items! { Tripled
    #[forward]
    fn forward(x: ArrayView1<f64>) -> Array1<f64> { &x * 3.0 }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { &grad_output * 3.0 }
}

macro_rules! of_attributes {
    ($Name:ident, $forward:meta, $backward:meta, $vis:vis, $ty:ty) => {
        struct $Name;

        #[custom_function]
        impl $Name {
            #[$forward]
            $vis fn forward(x: ArrayView1<$ty>) -> Array1<$ty> {
                &x * 5.0
            }

            #[$backward]
            fn backward(grad_output: ArrayView1<$ty>) -> Array1<$ty> {
                &grad_output * 5.0
            }
        }
    };
}

of_attributes!(Fivefold, forward, backward(x), pub(crate), f64);

macro_rules! of_arguments {
    ($name:ident, $library:path, $text:literal, $order:expr, $length:literal) => {
        #[custom_function(
                                            elementwise(order = $order),
                                            crate = $library,
                                            name = $text,
                                            gradcheck(x = [$length], y = [$length], z = [$length])
                                        )]
        fn $name<T: Real>(x: T, y: T, z: T) -> T {
            x * y - z
        }

        #[derive(Module)]
        #[module(crate = $library)]
        struct Scale {
            scale: Parameter<f64, Ix1>,
        }
    };
}

of_arguments!(difference, pullback, "a difference", 3, 4);

of_body!(sum_of_products(x, y, z) = x * y + y * z);

macro_rules! of_a_constant {
    ($Name:ident, $factor:expr) => {
        struct $Name;

        #[custom_function]
        impl $Name {
            const FACTOR: f64 = 2.0 * $factor;

            #[forward]
            fn forward(x: ArrayView1<f64>) -> Array1<f64> {
                &x * Self::FACTOR
            }

            #[backward(x)]
            fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> {
                &grad_output * Self::FACTOR
            }
        }
    };
}

of_a_constant!(Eightfold, 1.0 + 3.0);

macro_rules! of_expressions {
    ($name:ident($x:ident, $grad_output:ident) = $value:expr, $gradient:expr) => {
        #[custom_function(grad($x) = 2.0 * &$gradient)]
        fn $name($x: ArrayView1<f64>) -> Array1<f64> {
            2.0 * $value
        }
    };
}

of_expressions!(
    fourfold(x, grad_output) = &x + &x,
    &grad_output + &grad_output
);

#[test]
fn an_expression_stays_together() {
    let x = leaf([2.0, 3.0]);
    let y = fourfold(&x);
    assert_eq!(y.to_array(), array![8.0, 12.0]);
    let gradient = grad(&y.sum(), (&x,)).unwrap().0;
    assert_eq!(gradient.to_array(), array![4.0, 4.0]);
    assert_eq!(Eightfold::apply(&x).to_array(), array![16.0, 24.0]);
}

#[test]
fn fragments_are_read_as_what_they_are() {
    let x = leaf([2.0, 3.0]);
    let y = squared(&x).sum() + Tripled::apply(&x).sum() + Fivefold::apply(&x).sum();
    let both = sum_of_products(&x, &x, &x).sum() + difference(&x, &x, &x).sum();
    let gradient = grad(&(y + both), (&x,)).unwrap().0;
    // 2x + 3 + 5, 4x and 2x - 1.
    assert_eq!(gradient.to_array(), array![23.0, 31.0]);
    let module = Scale {
        scale: Parameter::new(array![1.0]),
    };
    assert_eq!(module.named_parameters()[0].0, "scale");
    let names: Vec<_> = catalogue().iter().map(|entry| entry.name()).collect();
    assert!(names.contains(&"a difference"), "{names:?}");
}
