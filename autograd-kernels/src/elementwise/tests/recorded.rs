//! Formulas that are recorded, beside dual numbers.

use super::*;
use crate::element::Element;
use crate::element::number::Number;
use crate::elementwise::dual::Dual;
use crate::elementwise::recorded::{Recorded, WIDTH, recorded, tape, values};

/// Each function of `Real` and each operator, of two numbers between 0 and 1.
fn functions<R: Real>(x: R, y: R) -> Vec<R>
where
    f64: Literal<R>,
{
    let more = x + 1.5;
    let mut sum = x;
    sum += y;
    sum -= 0.25;
    sum *= y;
    sum /= 2.0;
    vec![
        x + y,
        x - y,
        x * y,
        x / y,
        -x,
        1.0 - x,
        2.0 / y,
        x * 3.0 - y / 4.0,
        sum,
        [x, y, x].into_iter().sum(),
        x.exp(),
        x.exp_m1(),
        x.ln(),
        x.ln_1p(),
        x.powi(3),
        x.powf(y),
        x.powf(2.5),
        x.sqrt(),
        x.cbrt(),
        x.recip(),
        (x - y).abs(),
        x.signum(),
        x.floor(),
        x.sin(),
        x.cos(),
        x.tan(),
        x.asin(),
        x.acos(),
        x.atan(),
        x.atan2(y),
        x.sinh(),
        x.cosh(),
        x.tanh(),
        x.asinh(),
        more.acosh(),
        x.atanh(),
        x.sigmoid(),
        x.softplus(),
        x.erf(),
        x.normal_cdf(),
        x.normal_pdf(),
        x.gelu(),
        x.gelu_tanh(),
        x.hypot(y),
        x.max(y),
        x.min(y),
        x.max(0.5),
        x.clamp(0.25, y),
        x.mul_add(y, 2.0),
        x.square(),
        x.rsqrt(),
        (x - 0.5).relu(),
        (x - 0.5).leaky_relu(y),
        (x - 0.5).elu(y),
        x.silu(),
        y,
        R::from(2.0) * 3.0,
    ]
}

const COUNT: usize = 57;

fn same_as_dual_numbers<T: Element>() {
    let x: Vec<T> = (0..WIDTH)
        .map(|lane| T::from_f64((lane as f64 + 0.5) / WIDTH as f64))
        .collect();
    // A kink and ties among them.
    let y: Vec<T> = (0..WIDTH).map(|lane| x[lane * 7 % WIDTH]).collect();
    let call = |[x, y]: [Recorded<T>; 2]| -> [Recorded<T>; COUNT] {
        functions(x, y).try_into().expect("all functions")
    };
    let found = values([&x, &y], call).expect("no branches");
    for lane in 0..WIDTH {
        let [x, y] = [x[lane], y[lane]].map(T::Number::of);
        for (function, value) in functions(Dual::<_, 0>::constant(x), Dual::constant(y))
            .iter()
            .enumerate()
        {
            assert_eq!(
                found[function][lane],
                value.value.element(),
                "function {function}"
            );
        }
    }
    let ones = [T::one(); WIDTH];
    for wanted in [[true, true], [true, false], [false, true]] {
        let results = recorded([(&x, wanted[0]), (&y, wanted[1])], call);
        for function in 0..COUNT {
            let mut gradients = [[T::zero(); WIDTH]; 2];
            tape::<T>().with_borrow_mut(|tape| {
                tape.pull(
                    &[results[function]],
                    |_| &ones[..],
                    2,
                    |input, found| {
                        gradients[input] = *found;
                    },
                );
            });
            for lane in 0..WIDTH {
                let [x, y] = [x[lane], y[lane]].map(T::Number::of);
                let dual = |number, index: usize| {
                    if wanted[index] {
                        Dual::<_, 2>::variable(number, index)
                    } else {
                        Dual::constant(number)
                    }
                };
                let result = functions(dual(x, 0), dual(y, 1))[function];
                for input in 0..2 {
                    let expected = result.tangent(input).map_or(T::zero(), Number::element);
                    let found = gradients[input][lane];
                    let near = (found - expected).abs()
                        <= T::epsilon() * T::from_f64(8.0) * (T::one() + expected.abs());
                    assert!(
                        near,
                        "function {function}, input {input}: {found} for {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn recorded_functions_have_the_values_and_slopes_of_dual_numbers() {
    same_as_dual_numbers::<f32>();
    same_as_dual_numbers::<f64>();
}

#[test]
fn lanes_that_take_different_branches_are_found() {
    let branch = |[x]: [Recorded<f64>; 1]| [if x > 0.5 { x * 2.0 } else { x }];
    assert!(values([&[0.1, 0.2]], branch).is_some());
    assert!(values([&[0.7, 0.9]], branch).is_some());
    assert!(values([&[0.1, 0.9]], branch).is_none());
    let compared = |[x]: [Recorded<f64>; 1]| {
        [x.partial_cmp(&0.5)
            .map_or(x, |order| x * f64::from(order as i8))]
    };
    assert!(values([&[0.1, 0.9]], compared).is_none());
    assert!(values([&[0.1, f64::NAN]], compared).is_none());
    let plain = |[x]: [Recorded<f64>; 1]| [x * plain(x)];
    assert!(values([&[0.1, 0.1]], plain).is_some());
    assert!(values([&[0.1, 0.2]], plain).is_none());
}

#[test]
fn too_many_operations_are_not_recorded() {
    let many = |count: usize| move |[x]: [Recorded<f64>; 1]| [(0..count).fold(x, |x, _| x + 1.0)];
    assert_eq!(values([&[0.5]], many(8000)).unwrap()[0][0], 8000.5);
    assert!(values([&[0.5]], many(9000)).is_none());
}

#[test]
fn what_a_maximum_does_not_choose_makes_no_nan() {
    let root = |[x]: [Recorded<f64>; 1]| [x.sqrt().max(1.0)];
    let results = recorded([(&[0.0], true)], root);
    tape::<f64>().with_borrow_mut(|tape| {
        tape.pull(
            &results,
            |_| &[1.0],
            1,
            |_, found| assert_eq!(found[0], 0.0),
        );
    });
}
