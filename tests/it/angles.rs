//! Formulas of angles, which loops take for near ones first: large angles among them have the results of the near angles
//! that they are a whole number of turns from.

use std::f64::consts::TAU;

use pullback::ndarray::{Array1, Array2, Axis, s};
use pullback::prelude::*;

/// Three blocks, and some elements over.
const LENGTH: usize = 781;

/// Checks functions of both element types.
macro_rules! check_both {
    ($($name:literal: $f:expr),+ $(,)?) => {
        $(
            check::<f64>($name, $f);
            check::<f32>($name, $f);
        )+
    };
}

macro_rules! functions_of_a_sine {
    ($($name:ident + $more:literal),*) => {
        mod of_sine {
            use pullback::prelude::*;

            $(
                /// The function of a number between 0.2 and 0.8, and of more.
                #[custom_function(elementwise)]
                pub fn $name<T: Real>(x: T, y: T) -> T {
                    (0.3 * x.sin() + (0.5 + $more)).$name() * y
                }
            )*
        }

        /// Those that hide no NaN, in `lower/angles.rs` of the macros.
        #[test]
        fn functions_of_a_sine_see_large_angles() {
            $(
                check::<f64>(stringify!($name), of_sine::$name);
                check::<f32>(stringify!($name), of_sine::$name);
            )*
        }
    };
}

functions_of_a_sine!(
    abs + 0.0,
    acos + 0.0,
    acosh + 1.0,
    asin + 0.0,
    asinh + 0.0,
    atan + 0.0,
    atanh + 0.0,
    cbrt + 0.0,
    ceil + 0.0,
    cos + 0.0,
    cosh + 0.0,
    erf + 0.0,
    exp + 0.0,
    exp_m1 + 0.0,
    floor + 0.0,
    gelu + 0.0,
    gelu_tanh + 0.0,
    ln + 0.0,
    ln_1p + 0.0,
    normal_cdf + 0.0,
    normal_pdf + 0.0,
    recip + 0.0,
    round + 0.1,
    round_ties_even + 0.1,
    rsqrt + 0.0,
    sigmoid + 0.0,
    silu + 0.0,
    sin + 0.0,
    sinh + 0.0,
    softplus + 0.0,
    sqrt + 0.0,
    square + 0.0,
    tan + 0.0,
    tanh + 0.0
);

#[custom_function(elementwise)]
fn power<T: Real>(x: T, y: T) -> T {
    (x.cos() + 2.0).powi(-3) * y + x.tan().powi(0)
}

#[custom_function(elementwise)]
fn fused<T: Real>(x: T, y: T) -> T {
    x.cos().mul_add(y, x.sin())
}

/// A formula that chooses: its angles are not taken for near.
#[custom_function(elementwise)]
fn clipped<T: Real>(x: T, y: T) -> T {
    x.sin().max(0.25) * if x.cos() > 0.1 { y } else { -y }
}

mod apart {
    use pullback::prelude::*;

    pub fn positive<T: Real>(x: T) -> T {
        if x > 0.0 { x } else { T::from(0.0) }
    }
}

/// A function that chooses, by another name.
#[custom_function(elementwise)]
fn renamed<T: Real>(x: T, y: T) -> T {
    let f = apart::positive;
    f(x.sin()) * y
}

/// Two outputs, of which one has no angle in it.
#[custom_function(elementwise, outputs(wave, product))]
fn beside<T: Real>(x: T, y: T) -> (T, T) {
    (x.sin() * y, 3.0 * y)
}

#[test]
fn formulas_of_angles_see_large_ones() {
    check_both!(
        "power": power,
        "fused": fused,
        "clipped": clipped,
        "renamed": renamed,
        "beside": |x, y| beside(x, y).0,
        "rows": turned,
        // Gradients have derivatives, too.
        "squared": |x, y| fused(x, y).square(),
    );
}

/// A state that is an angle, and steps that are angles.
#[custom_function(scan, outputs(last_angle, last, read))]
fn driven<T: Real>(#[state] angle: T, #[state] v: T, #[step] x: T, y: T) -> (T, T, T) {
    let v = 0.5 * v + angle.sin() * y;
    (angle, v, v * x.cos())
}

/// Some steps of which the second has the angles.
fn of_steps<T: Element>(x: &Tensor1<T>, y: &Tensor1<T>) -> Tensor1<T> {
    let row = |x: &Tensor1<T>| x.reshape((1, LENGTH));
    let steps = [row(y), row(x), row(y), row(y)];
    let steps = Tensor2::concat(Axis(0), &steps.each_ref());
    let (_, last, read) = driven(x, y, &steps, y);
    last + read.sum_axis(Axis(0))
}

/// Of one lane.
fn of_one_lane<T: Element>(x: &Tensor1<T>, y: &Tensor1<T>) -> Tensor1<T> {
    let [first, second] = [x, y].map(|x| x.slice(s![..1]));
    let (_, last, read) = driven(&first, &second, &x.reshape((LENGTH, 1)), &second);
    read.reshape(LENGTH) + last
}

#[custom_function(pairs)]
fn rows_of_angles<T: Real>(#[row] x: T, #[column] y: T) -> T {
    x.sin() * y
}

#[custom_function(pairs)]
fn columns_of_angles<T: Real>(#[row] y: T, #[column] x: T) -> T {
    (x + 0.5).cos() * y
}

#[test]
fn steps_and_pairs_of_angles_see_large_ones() {
    check_both!(
        "steps": of_steps,
        "one lane": of_one_lane,
        "rows of pairs": rows_of_angles,
        "columns of pairs": |x, y| columns_of_angles(y, x),
    );
}

#[custom_function(elementwise)]
fn turn<T: Real>(x: [T; 3], y: [T; 2]) -> [T; 2] {
    let (sin, cos) = (x[1].sin(), (x[0] - x[2]).cos());
    [y[0] * cos - y[1] * sin, y[0] * sin + y[1] * cos]
}

/// The rows (x, x, 1) turn the rows (y, y).
fn turned<T: Element>(x: &Tensor1<T>, y: &Tensor1<T>) -> Tensor1<T> {
    let column = |x: &Tensor1<T>| x.reshape((LENGTH, 1));
    let ones = Tensor::from(Array2::from_elem((LENGTH, 1), T::one()));
    let rows = |parts: &[&Tensor2<T>]| Tensor2::concat(Axis(1), parts);
    let x = rows(&[&column(x), &column(x), &ones]);
    let y = rows(&[&column(y), &column(y)]);
    turn(&x, &y).sum_axis(Axis(1))
}

/// Compares values and derivatives to second order of large angles with those of near ones.
fn check<T: Element>(name: &str, f: impl Fn(&Tensor1<T>, &Tensor1<T>) -> Tensor1<T>) {
    let tolerance = if T::TYPE == f64::TYPE { 1e-8 } else { 2e-3 };
    let large = |place: usize| 25_000.0 + 37.7 * place as f64;
    let near = |place: usize| 0.01 * place as f64 - 4.0;
    let some: [(&str, &dyn Fn(usize) -> bool); 4] = [
        ("every third", &|place| place % 3 == 0),
        ("the last", &|place| place == LENGTH - 1),
        ("the first", &|place| place == 0),
        ("all", &|_| true),
    ];
    for (which, is_large) in some {
        let of_place = |place| {
            T::from_f64(if is_large(place) {
                large(place)
            } else {
                near(place)
            })
        };
        let x = Array1::from_shape_fn(LENGTH, of_place);
        let reduced = x.mapv(|x| T::from_f64(x.as_f64() % TAU));
        let y = Array1::from_shape_fn(LENGTH, |place| T::from_f64(0.5 + 0.001 * place as f64));
        let [found, expected] = [x, reduced].map(|x| derivatives(&f, x, y.clone()));
        for (order, (found, expected)) in found.iter().zip(&expected).enumerate() {
            for (place, (found, expected)) in found.iter().zip(expected).enumerate() {
                let (found, expected) = (found.as_f64(), expected.as_f64());
                assert!(
                    (found - expected).abs() <= tolerance * expected.abs().max(1.0),
                    "{name} of {which}, {order}: {found} is not {expected} at {place}"
                );
            }
        }
    }
}

/// Returns the values, the derivatives of their sum, and one of the second order.
fn derivatives<T: Element>(
    f: impl Fn(&Tensor1<T>, &Tensor1<T>) -> Tensor1<T>,
    x: Array1<T>,
    y: Array1<T>,
) -> [Array1<T>; 4] {
    let [x, y] = [x, y].map(|x| Tensor::from(x).set_requires_grad(true));
    let values = f(&x, &y);
    let sum = values.sum();
    let first = Grad::of(&sum).create_graph(true);
    let (of_x, of_y) = first.run((&x, &y)).unwrap();
    let second = Grad::of(&of_x.sum()).run(&x).unwrap();
    [values, of_x, of_y, second].map(|tensor| tensor.to_array())
}
