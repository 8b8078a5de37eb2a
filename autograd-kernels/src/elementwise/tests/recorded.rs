//! Formulas that are recorded, beside dual numbers.

use std::cell::Cell;

use super::*;
use crate::element::Element;
use crate::element::number::Number;
use crate::elementwise::dual::Dual;
use crate::elementwise::recorded::{Recorded, Replay, Replayed, Row, Trace, WIDTH, Wanted, depth};

/// Each function of `Real` and each operator, of two numbers between 0 and 1.
pub(super) fn functions<R: Real>(x: R, y: R) -> Vec<R>
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
        x.detach(),
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

pub(super) const COUNT: usize = 58;

/// A formula that is replayed, and how often it was recorded.
struct Of<F, const I: usize, const O: usize>(F, Cell<usize>);

impl<F, const I: usize, const O: usize> Of<F, I, O> {
    fn new<T>(formula: F) -> Self
    where
        F: Fn([Recorded<T>; I]) -> [Recorded<T>; O],
    {
        Self(formula, Cell::new(0))
    }
}

impl<T, F, const I: usize, const O: usize> Replayed<T> for Of<F, I, O>
where
    T: Element,
    F: Fn([Recorded<T>; I]) -> [Recorded<T>; O],
{
    fn record(&self, inputs: &[T]) -> Trace<T> {
        self.1.update(|count| count + 1);
        Trace::of(&inputs[..I], || {
            (self.0)(std::array::from_fn(Recorded::Node))
        })
    }
}

/// Returns the lanes of a result.
fn of<T: Element>(replay: &Replay<T>, result: usize) -> [T; WIDTH] {
    let [row] = replay.results().rows(result);
    row.0
}

/// Returns the results, or the gradients with respect to the inputs that are wanted, of lanes that are repeated.
fn replayed<T: Element, const I: usize, const O: usize>(
    wanted: Wanted,
    inputs: &[&[T]],
    formula: impl Fn([Recorded<T>; I]) -> [Recorded<T>; O],
) -> Vec<[T; WIDTH]> {
    let results: Vec<usize> = match &wanted {
        Wanted::Values(count) => (0..*count).collect(),
        Wanted::Gradients(wanted) => (0..I).filter(|input| wanted[*input]).collect(),
        Wanted::Kept(..) | Wanted::GradientsOfKept(_) => unreachable!("a replay of its own"),
    };
    let mut replay = Replay::new(wanted, 1, inputs.len(), I.max(O));
    for (index, lanes) in inputs.iter().enumerate() {
        *replay.input(index) = [Row(std::array::from_fn(|lane| lanes[lane % lanes.len()]))];
    }
    replay.run(&Of::new(formula));
    results
        .into_iter()
        .map(|result| of(&replay, result))
        .collect()
}

fn values<T: Element, const I: usize, const O: usize>(
    inputs: [&[T]; I],
    formula: impl Fn([Recorded<T>; I]) -> [Recorded<T>; O],
) -> Vec<[T; WIDTH]> {
    replayed(Wanted::Values(O), &inputs, formula)
}

fn same_as_dual_numbers<T: Element>() {
    let x: Vec<T> = (0..WIDTH)
        .map(|lane| T::from_f64((lane as f64 + 0.5) / WIDTH as f64))
        .collect();
    // A kink and ties among them.
    let y: Vec<T> = (0..WIDTH).map(|lane| x[lane * 7 % WIDTH]).collect();
    let call = |[x, y]: [Recorded<T>; 2]| -> [Recorded<T>; COUNT] {
        functions(x, y).try_into().expect("all functions")
    };
    let found = values([&x, &y], call);
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
    for wanted in [[true, true], [true, false], [false, true]] {
        for function in 0..COUNT {
            let call = |[x, y]: [Recorded<T>; 2]| [functions(x, y)[function]];
            let ones = [T::one()];
            let gradients = Wanted::Gradients(wanted.to_vec());
            let mut gradients = replayed(gradients, &[&x, &y, &ones], call).into_iter();
            for input in (0..2).filter(|input| wanted[*input]) {
                let found = gradients.next().expect("it is wanted");
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
                    let expected = result.tangent(input).map_or(T::zero(), Number::element);
                    let found = found[lane];
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

/// Compares, for each function, the gradients of what is kept with those of a replay that computes it again.
fn of_kept_same_as_again<T: Element>() {
    let x: [T; WIDTH] = std::array::from_fn(|lane| T::from_f64((lane as f64 + 0.5) / 32.0));
    let y: [T; WIDTH] = std::array::from_fn(|lane| x[lane * 7 % WIDTH]);
    let wanted = vec![true; 2];
    let mut without_functions = 0;
    for function in 0..COUNT {
        let formula = Of::new(|[x, y]: [Recorded<T>; 2]| {
            let z = functions(x, y)[function];
            [z * x, z + y * y]
        });
        let Some(mut kept) = Replay::of_kept(&formula.record(&[x[0], y[0]]), 1, 2, &wanted) else {
            without_functions += 1;
            continue;
        };
        let seeds = [[T::from_f64(3.0); WIDTH], x];
        *kept.forward.input(0) = [Row(x)];
        *kept.forward.input(1) = [Row(y)];
        kept.forward.run(&formula);
        let rows: Vec<_> = (0..2 + kept.count)
            .map(|result| Row(of(&kept.forward, result)))
            .collect();
        let values = replayed(Wanted::Values(2), &[&x, &y], |x| formula.0(x));
        assert_eq!([rows[0].0, rows[1].0], values[..]);
        for (input, row) in [x, y, seeds[0], seeds[1]].into_iter().enumerate() {
            *kept.backward.input(input) = [Row(row)];
        }
        kept.backward.write::<1>(4, rows[2..].as_chunks().0);
        kept.backward.run(&formula);
        let all = [&x[..], &y, &seeds[0], &seeds[1]];
        let again = replayed(Wanted::Gradients(wanted.clone()), &all, |x| formula.0(x));
        for input in 0..2 {
            assert_eq!(
                of(&kept.backward, input),
                again[input],
                "function {function}"
            );
        }
    }
    assert!(without_functions < COUNT / 2, "{without_functions}");
}

#[test]
fn gradients_of_what_is_kept_are_those_of_what_is_computed_again() {
    of_kept_same_as_again::<f32>();
    of_kept_same_as_again::<f64>();
}

#[test]
fn recorded_functions_have_the_values_and_slopes_of_dual_numbers() {
    same_as_dual_numbers::<f32>();
    same_as_dual_numbers::<f64>();
}

/// Returns whether lanes, each with other numbers than the next, are replayed together.
fn are_replayed<const I: usize, const O: usize>(
    inputs: [&[f64]; I],
    formula: impl Fn([Recorded<f64>; I]) -> [Recorded<f64>; O],
) -> bool {
    let mut replay = Replay::new(Wanted::Values(O), 1, I, O);
    for (index, lanes) in inputs.iter().enumerate() {
        *replay.input(index) = [Row(std::array::from_fn(|lane| lanes[lane % lanes.len()]))];
    }
    let formula = Of::new(formula);
    replay.run(&formula);
    formula.1.get() < WIDTH
}

/// The same functions with a number that is computed beside the operations, so that no lane stands for another.
#[test]
fn a_lane_has_the_same_gradients_from_its_own_recording() {
    let x: Vec<f64> = (0..WIDTH).map(|lane| (lane as f64 + 0.5) / 32.0).collect();
    let y: Vec<f64> = (0..WIDTH).map(|lane| x[lane * 7 % WIDTH]).collect();
    let call = |[x, y]: [Recorded<f64>; 2]| -> [Recorded<f64>; COUNT] {
        functions(x, y).try_into().expect("all functions")
    };
    let escaping = |[x, y]: [Recorded<f64>; 2]| {
        let zero = plain(x) * 0.0;
        call([x + zero, y])
    };
    let gradients: Vec<f64> = (0..COUNT).map(|function| 1.0 + function as f64).collect();
    let mut inputs = vec![&x[..], &y];
    inputs.extend(gradients.chunks(1));
    for wanted in [[true, true], [true, false], [false, true]] {
        let wanted = || Wanted::Gradients([&wanted[..], &[false; COUNT]].concat());
        let [together, alone] = [
            replayed(wanted(), &inputs, call),
            replayed(wanted(), &inputs, escaping),
        ];
        assert!(!together.is_empty());
        for (together, alone) in together.iter().zip(&alone) {
            for lane in 0..WIDTH {
                let (expected, found) = (together[lane], alone[lane]);
                let near = (found - expected).abs() <= 1e-13 * expected.abs().max(1.0);
                assert!(near, "lane {lane}: {found} for {expected}");
            }
        }
    }
}

#[test]
fn a_lane_of_minus_zero_is_not_that_of_zero() {
    let found = values([&[0.0, -0.0]], |[x]| [(x + plain(x) * 0.0).recip()]);
    assert_eq!(found[0][..2], [f64::INFINITY, f64::NEG_INFINITY]);
}

/// More formulas than a thread keeps programs of, which differ in one thing each, in turns.
#[test]
fn the_program_of_a_call_is_not_that_of_a_similar_one() {
    let x = [0.25, 0.5, -0.75, -0.0];
    let of_x = |formula: &dyn Fn(Recorded<f64>) -> Recorded<f64>, expected: &dyn Fn(f64) -> f64| {
        let found = values([&x], |[x]| [formula(x)]);
        for lane in 0..WIDTH {
            let expected = expected(x[lane % x.len()]);
            assert_eq!(found[0][lane].to_bits(), expected.to_bits());
        }
    };
    for _ in 0..3 {
        for factor in (0..20).map(f64::from).chain([-0.0]) {
            of_x(&|x| x * factor, &|x| x * factor);
        }
        of_x(&|x| x.floor(), &f64::floor);
        of_x(&|x| x.abs(), &f64::abs);
        of_x(&|x| x.powi(2), &|x| x * x);
        of_x(&|x| x.powi(3), &|x| x * x * x);
        of_x(&|x| 1.0 - x, &|x| 1.0 - x);
        of_x(&|x| x - 1.0, &|x| x - 1.0);
        of_x(&|x| if x < 0.5 { x } else { x * 1.0 }, &|x| x);
        of_x(&|x| if x < 0.5 { -x } else { x }, &|x| {
            if x < 0.5 { -x } else { x }
        });
        // A function and its gradient; the gradient with respect to one input, and to the other.
        for wanted in [[true, true], [true, false], [false, true]] {
            let gradients = Wanted::Gradients(wanted.to_vec());
            let found = replayed(gradients, &[&[3.0], &[5.0], &[1.0]], |[x, y]| [x * y]);
            let expected = [(5.0, wanted[0]), (3.0, wanted[1])];
            let expected = expected.into_iter().filter(|(_, is_wanted)| *is_wanted);
            assert!(
                found
                    .into_iter()
                    .eq(expected.map(|(slope, _)| [slope; WIDTH]))
            );
        }
        // Equal values, but only one has a derivative.
        for (formula, slope) in [(Recorded::detach as fn(_) -> _, 0.0), (|x| x * 1.0, 1.0)] {
            let gradients = Wanted::Gradients(vec![true]);
            let found = replayed(gradients, &[&[3.0], &[1.0]], |[x]| [formula(x)]);
            assert_eq!(found, [[slope; WIDTH]]);
        }
    }
}

#[test]
fn lanes_that_take_different_branches_are_found() {
    let branch = |[x]: [Recorded<f64>; 1]| [if x > 0.5 { x * 2.0 } else { x }];
    assert!(are_replayed([&[0.1, 0.2]], branch));
    assert!(are_replayed([&[0.7, 0.9]], branch));
    assert!(are_replayed([&[0.1, 0.9]], branch));
    let compared = |[x]: [Recorded<f64>; 1]| {
        [x.partial_cmp(&0.5)
            .map_or(x * 0.0, |order| x * f64::from(order as i8))]
    };
    assert!(are_replayed([&[0.1, 0.2]], compared));
    assert!(are_replayed([&[0.1, 0.9]], compared));
    // What is computed beside the operations is not recorded.
    assert!(!are_replayed([&[0.1, 0.2]], |[x]| [x * plain(x)]));
    assert!(are_replayed([&[0.1, 0.2]], |[x]| [x * plain(
        Recorded::Constant(0.5)
    )]));
}

#[test]
fn lanes_in_several_courses_are_replayed_in_each() {
    fn steps<R: Real>([x, y]: [R; 2]) -> [R; 2] {
        let size = if x > 0.5 { x * y } else { y / x };
        let sum = if size > y { size - x } else { size.exp() + x };
        [sum, if sum < 1.0 { y } else { sum * x }]
    }
    let formula = Of::new(steps::<Recorded<f64>>);
    let mut values = Replay::new(Wanted::Values(2), 1, 2, 2);
    let mut gradients = Replay::new(Wanted::Gradients(vec![true; 2]), 1, 4, 2);
    for round in 0..20 {
        let x = |lane: usize| 0.05 + ((7 * lane + 3 * round) % 32) as f64 / 20.0;
        let y = |lane: usize| 0.1 + ((5 * lane + round) % 11) as f64 / 7.0;
        for replay in [&mut values, &mut gradients] {
            *replay.input(0) = [Row(std::array::from_fn(x))];
            *replay.input(1) = [Row(std::array::from_fn(y))];
        }
        *gradients.input(2) = [Row([2.0; WIDTH])];
        *gradients.input(3) = [Row([10.0; WIDTH])];
        values.run(&formula);
        gradients.run(&formula);
        for lane in 0..WIDTH {
            let variables = [x(lane), y(lane)];
            let found = [0, 1].map(|result| of(&values, result)[lane]);
            assert_eq!(found, steps(variables), "lane {lane}");
            let dual = [0, 1].map(|index| Dual::<_, 2>::variable(variables[index], index));
            let [sum, last] = steps(dual);
            for variable in 0..2 {
                let expected = 2.0 * sum.signed(variable) + 10.0 * last.signed(variable);
                let found = of(&gradients, variable)[lane];
                assert!((found - expected).abs() <= 1e-14 * expected.abs().max(1.0));
            }
        }
    }
}

/// A formula of five courses, which have most operations in common and end in the middle of a sum.
fn in_courses<R: Real>([x, y, z]: [R; 3]) -> [R; 3]
where
    f64: Literal<R>,
{
    let mut sum = x.exp() * y;
    for step in 0..6 {
        sum += (x * (f64::from(step) + 0.5)).exp() * z;
        if step == 2 && y > 0.3 {
            sum += if y > 0.6 { y.sqrt() } else { x * z };
        }
    }
    let last = if z < x { sum * z } else { sum };
    [x.exp() * y, last, y]
}

#[test]
fn courses_in_one_program_have_the_results_of_their_own() {
    let number = |lane: usize, factor: usize| ((lane * factor + 3) % 31) as f64 / 31.0 + 0.01;
    for wanted in [
        Wanted::Values(3),
        Wanted::Gradients(vec![true, true, true, false, false, false]),
        Wanted::Gradients(vec![false, true, false, true, true, true]),
    ] {
        let formula = Of::new(in_courses);
        let (inputs, results): (_, Vec<usize>) = match &wanted {
            Wanted::Gradients(wanted) => (6, (0..6).filter(|at| wanted[*at]).collect()),
            _ => (3, vec![0, 1, 2]),
        };
        let new = || Replay::new(wanted.clone(), 1, inputs, 6);
        let bits = |replay: &mut Replay<f64>, row: usize| {
            for input in 0..inputs {
                // Rows in several courses; after some, rows in one, as they have the numbers of one lane.
                *replay.input(input) = [Row(std::array::from_fn(|lane| {
                    let lane = if row % 20 < 12 { lane } else { row };
                    number(lane + row, 2 * input + 5)
                }))];
            }
            replay.run(&formula);
            let bits = |at: &usize| of(replay, *at).map(f64::to_bits);
            results.iter().map(bits).collect::<Vec<_>>()
        };
        let mut replay = new();
        for row in 0..60 {
            assert_eq!(
                bits(&mut replay, row),
                bits(&mut new(), row),
                "row {row}, {wanted:?}"
            );
        }
    }
}

#[test]
fn rows_that_are_replayed_together_have_the_results_of_their_own() {
    assert_eq!([depth::<f32>(2 * WIDTH), depth::<f64>(2 * WIDTH)], [2, 1]);
    let number = |lane: usize, factor: usize| ((lane * factor + 3) % 31) as f32 / 31.0 + 0.01;
    let formula = Of::new(in_courses::<Recorded<f32>>);
    for wanted in [
        Wanted::Values(3),
        Wanted::Gradients(vec![true, true, true, false, false, false]),
    ] {
        let inputs = if wanted == Wanted::Values(3) { 3 } else { 6 };
        let mut together = Replay::new(wanted.clone(), 2, inputs, 6);
        // Lanes in several courses, in both rows or in one of them; in one course, in both or each in its own.
        for first in [[0, 1], [0, 100], [100, 0], [100, 100], [100, 117]] {
            let lanes = first.map(|first| {
                [0, 1, 2, 3, 4, 5].map(|input| {
                    let lane = |lane| if first < 100 { first + lane } else { first };
                    Row(std::array::from_fn(|at| number(lane(at), 2 * input + 5)))
                })
            });
            for input in 0..inputs {
                *together.input(input) = lanes.map(|lanes| lanes[input]);
            }
            together.run(&formula);
            for (row, lanes) in lanes.iter().enumerate() {
                let mut own = Replay::new(wanted.clone(), 1, inputs, 6);
                for input in 0..inputs {
                    *own.input(input) = [lanes[input]];
                }
                own.run(&formula);
                for result in 0..3 {
                    let found = together.results().rows::<2>(result)[row].0;
                    let expected = of(&own, result);
                    assert_eq!(
                        found.map(f32::to_bits),
                        expected.map(f32::to_bits),
                        "{first:?}, row {row}, result {result}, {wanted:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn results_depend_on_the_numbers_alone_however_many_courses_lanes_take() {
    let formula = Of::new(|[x]: [Recorded<f64>; 1]| {
        [(0..WIDTH).fold(x, |sum, step| {
            if x > step as f64 {
                (sum * x).sqrt()
            } else {
                sum
            }
        })]
    });
    let lanes: [f64; WIDTH] = std::array::from_fn(|lane| lane as f64 + 0.3);
    let new = || {
        let mut replay = Replay::new(Wanted::Gradients(vec![true; 2]), 1, 2, 2);
        *replay.input(1) = [Row([3.0; WIDTH])];
        replay
    };
    for courses in [2, 8, 9, WIDTH] {
        let numbers: [f64; WIDTH] = std::array::from_fn(|lane| lanes[lane % courses]);
        let bits = |mut replay: Replay<f64>| {
            *replay.input(0) = [Row(numbers)];
            replay.run(&formula);
            [0, 1].map(|result| of(&replay, result).map(f64::to_bits))
        };
        let expected = bits(new());
        for (number, found) in numbers.iter().zip(expected[0]) {
            // x to the power of 1, in as many steps.
            let slope = f64::from_bits(found) / 3.0;
            assert!((slope - 1.0).abs() < 1e-13, "{slope} at {number}");
        }
        for before in [5, 16, 30] {
            let mut replay = new();
            for x in &lanes[WIDTH - before..] {
                *replay.input(0) = [Row([*x; WIDTH])];
                replay.run(&formula);
            }
            assert_eq!(bits(replay), expected, "{courses} courses after {before}");
        }
    }
}

#[test]
fn each_course_has_its_program() {
    let formula = Of::new(|[x, y]: [Recorded<f64>; 2]| {
        let (x, y) = if x > 0.5 { (x, y) } else { (y, x) };
        [x - y, if y == 0.25 { y } else { x }]
    });
    let mut replay = Replay::new(Wanted::Gradients(vec![true; 2]), 1, 4, 2);
    for _ in 0..2 {
        for (x, y) in [(0.75, 0.5), (0.75, 0.25), (0.25, 0.75), (0.5, 0.25)] {
            let (first, second) = if x > 0.5 { (0, 1) } else { (1, 0) };
            let least = if x > 0.5 { y } else { x };
            let mut expected = [0.0; 2];
            expected[first] = 2.0;
            expected[second] = -2.0;
            expected[if least == 0.25 { second } else { first }] += 10.0;
            for (index, number) in [x, y, 2.0, 10.0].into_iter().enumerate() {
                *replay.input(index) = [Row([number; WIDTH])];
            }
            replay.run(&formula);
            assert_eq!(
                [0, 1].map(|input| of(&replay, input)),
                expected.map(|x| [x; WIDTH])
            );
        }
    }
}

#[test]
fn a_chain_is_the_sum_of_its_terms() {
    let dot = |[a, b, c, d, e, f, g, h]: [Recorded<f64>; 8]| {
        let sum = a * b + b * c + c * d + d * e + e * f + f * g + g * h;
        [sum * sum, a + b + c + d + e]
    };
    let x = [1.5, 2.0, 0.5, 3.0, 0.25, 4.0, 1.0, 2.5];
    let inputs = x.map(|x| [x]);
    let inputs = inputs.each_ref().map(|x| &x[..]);
    let sum: f64 = x.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let found = values(inputs, dot);
    assert_eq!([found[0][0], found[1][0]], [sum * sum, 7.25]);
    let all = [&inputs[..], &[&[1.0], &[8.0]]].concat();
    let found = replayed(Wanted::Gradients(vec![true; 8]), &all, dot);
    for (place, found) in found.iter().enumerate() {
        let before = if place > 0 { x[place - 1] } else { 0.0 };
        let after = x.get(place + 1).unwrap_or(&0.0);
        let of_sum = if place < 5 { 8.0 } else { 0.0 };
        assert_eq!(found[0], 2.0 * sum * (before + after) + of_sum);
    }
}

/// Sums of products, in all places, with products that have other uses too.
fn sums_of_products<R: Real>([x, y, z]: [R; 3]) -> [R; 9]
where
    f64: Literal<R>,
{
    let product = x * z;
    let chain = |first: R, last: R| first + y * z + z * z + x * x + x * y + last;
    [
        x * y + z,
        z + x * y,
        x * y + z * x,
        product + x * y,
        product,
        chain(x, y * y),
        chain(x * y, z * y),
        chain(x, y),
        (x * y + z) * (y * z + x) + (x * x + y) * z,
    ]
}

#[test]
fn sums_of_products_are_rounded_as_they_are_written() {
    let x: Vec<f64> = (0..WIDTH).map(|lane| (lane as f64).sin()).collect();
    let y: Vec<f64> = (0..WIDTH).map(|lane| 1.0 / (lane as f64 + 3.0)).collect();
    let z: Vec<f64> = (0..WIDTH).map(|lane| (lane as f64).cos() * 7.0).collect();
    let found = values([&x, &y, &z], sums_of_products::<Recorded<f64>>);
    for lane in 0..WIDTH {
        let expected = sums_of_products([x[lane], y[lane], z[lane]]);
        let found: Vec<f64> = found.iter().map(|row| row[lane]).collect();
        assert_eq!(found, expected, "lane {lane}");
    }
}

#[test]
fn too_many_operations_are_not_recorded() {
    let many = |count: usize| move |[x]: [Recorded<f64>; 1]| [(0..count).fold(x, |x, _| x + 1.0)];
    assert_eq!(values([&[0.5]], many(65_000))[0][0], 65_000.5);
    assert!(!are_replayed([&[0.5, 0.25]], many(66_000)));
    assert_eq!(values([&[0.5]], many(66_000))[0][0], 66_000.5);
}

#[test]
fn what_a_maximum_does_not_choose_makes_no_nan() {
    let root = |[x]: [Recorded<f64>; 1]| [x.sqrt().max(1.0)];
    let found = replayed(Wanted::Gradients(vec![true]), &[&[0.0], &[1.0]], root);
    assert_eq!(found[0][0], 0.0);
}

#[test]
fn results_may_be_inputs_and_constants() {
    let formula = Of::new(|[x, y]: [Recorded<f64>; 2]| [y, x, Recorded::Constant(3.0)]);
    let mut replay = Replay::new(Wanted::Values(3), 1, 2, 3);
    *replay.input(0) = [Row([1.0; WIDTH])];
    *replay.input(1) = [Row([2.0; WIDTH])];
    for _ in 0..3 {
        replay.run(&formula);
        replay.carry::<1>(2, 0);
    }
    assert_eq!(
        [0, 1].map(|input| replay.input::<1>(input)[0].0[0]),
        [2.0, 1.0]
    );
    assert_eq!(of(&replay, 2)[0], 3.0);
}
