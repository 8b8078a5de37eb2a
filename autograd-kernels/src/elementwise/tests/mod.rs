mod faster;
mod pairs;
mod real;
mod recorded;
mod reversed;
mod short;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::available_parallelism;

use ndarray::{
    Array1, Array2, Array3, ArrayD, ArrayView1, ArrayViewD, Axis, IxDyn, ShapeBuilder, Slice,
};

use super::evaluate::runs;
use super::evaluation::{BLOCK, LANES, Wanted};
use super::*;
use crate::element::real::{Literal, Real};
use crate::parallel::set_threads;
use crate::testing::numbers;

/// x y² + sin z, and √x y.
struct Two;

impl Formula<3, 2> for Two {
    type Entries = ();

    const SIDES: &'static [Side] = &[Side::Row, Side::Column, Side::All];
    const IS_SUMMED: bool = true;

    fn entries(&self, _: Elements) {}

    #[inline(always)]
    fn at<R: Real>(&self, (): &(), _: Place, [x, y, z]: [R; 3]) -> [R; 2]
    where
        f64: Literal<R>,
    {
        [x * y.square() + z.sin(), x.sqrt() * y]
    }
}

const TWO: Blocks<Two, 3, 2, 2> = Blocks(Two);

/// x y² + sin z
struct FirstOfTwo;

impl Formula<3, 1> for FirstOfTwo {
    type Entries = ();

    fn entries(&self, _: Elements) {}

    #[inline(always)]
    fn at<R: Real>(&self, (): &(), at: Place, inputs: [R; 3]) -> [R; 1]
    where
        f64: Literal<R>,
    {
        let [first, _] = Two.at(&(), at, inputs);
        [first]
    }
}

const FIRST: Blocks<FirstOfTwo, 3, 1, 2> = Blocks(FirstOfTwo);

/// Returns the bits of the results that are wanted.
fn bits(results: Vec<Option<Vec<f64>>>) -> Vec<Option<Vec<u64>>> {
    let of = |result: Vec<f64>| result.into_iter().map(f64::to_bits).collect();
    results.into_iter().map(|result| result.map(of)).collect()
}

/// Returns the results of each evaluation, of arrays and of a second one for each as its direction.
fn all_evaluations(inputs: &[ArrayViewD<'_, f64>], shape: &[usize]) -> Vec<Vec<Option<Vec<u64>>>> {
    let [x, y, z, g, h] = [0, 1, 2, 3, 4].map(|index| Some(inputs[index].view()));
    let directions = [&z, &x, &y, &h, &g].map(Clone::clone);
    let run = |evaluation, inputs: &[Option<ArrayViewD<'_, f64>>], wanted: &[bool]| {
        bits(evaluate(&TWO, evaluation, inputs, shape, wanted))
    };
    let inputs = [x, y, z, g, h];
    let partials = |order| Evaluation::Partials { order };
    let both = [&inputs[..], &directions].concat();
    let first = [true, true, true, false, false];
    let second = [&[true; 5][..], &first].concat();
    vec![
        run(Evaluation::Values, &inputs[..3], &[true, true]),
        run(
            Evaluation::Tangents,
            &[&inputs[..3], &directions[..3]].concat(),
            &[true, true],
        ),
        run(partials(1), &inputs, &first),
        run(partials(1), &inputs, &[false, true, false, false, false]),
        run(partials(2), &both, &second),
    ]
}

/// Returns an array of this shape in each layout.
fn layouts(shape: [usize; 3], seed: f64) -> Vec<ArrayD<f64>> {
    let whole = numbers(shape, seed) + 0.6;
    let mut column_major = Array3::zeros(shape.f());
    column_major.assign(&whole);
    let mut reversed = Array3::zeros(shape);
    reversed.assign(&whole.slice_each_axis(|_| Slice::new(0, None, -1)));
    for axis in 0..3 {
        reversed.invert_axis(Axis(axis));
    }
    let mut turned = Array3::zeros([shape[1], shape[2], shape[0]]).permuted_axes([2, 0, 1]);
    turned.assign(&whole);
    let mut spaced = Array3::zeros(shape.map(|length| 2 * length));
    spaced.slice_each_axis_inplace(|_| Slice::new(0, None, 2));
    spaced.assign(&whole);
    [whole, column_major, reversed, turned, spaced]
        .map(Array3::into_dyn)
        .into()
}

#[test]
fn inputs_of_every_layout_are_stretched() {
    for shape in [[3, 4, 5], [1, 1, 1], [7, 90, 1], [2, 2, 257]] {
        // A bit for each axis that is stretched.
        for lengths in 0..8_usize {
            let short: [usize; 3] = std::array::from_fn(|axis| {
                if lengths >> axis & 1 == 1 {
                    1
                } else {
                    shape[axis]
                }
            });
            let (stretched, whole) = (layouts(short, 1.0), layouts(shape, 2.0));
            let stretched_too = layouts([shape[0], 1, short[2]], 3.0);
            for (index, x) in stretched.iter().enumerate() {
                let [y, z] = [
                    &whole[(index + lengths) % 5],
                    &stretched_too[(index + 2) % 5],
                ];
                // What ndarray stretches has stride 0.
                let broadcast = x.broadcast(shape).unwrap().into_dyn();
                let inputs = [x.view(), y.view(), z.view(), broadcast.view(), y.view()];
                let plain = inputs.each_ref().map(|input| {
                    let whole = input.broadcast(shape).unwrap();
                    ArrayD::from_shape_vec(&shape[..], whole.iter().copied().collect()).unwrap()
                });
                let plain: Vec<_> = plain.iter().map(|plain| plain.view()).collect();
                let expected = all_evaluations(&plain, &shape);
                assert!(
                    all_evaluations(&inputs, &shape) == expected,
                    "{shape:?} {short:?} {index}"
                );
            }
        }
    }
}

/// No other test depends on the number of threads.
#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    let shape = [100, 1001];
    let x = numbers(shape, 1.0).into_dyn() + 0.6;
    let y = numbers([1, 1001], 2.0).into_dyn();
    let z = numbers([100, 1], 3.0).into_dyn();
    let inputs = [x.view(), y.view(), z.view(), x.view(), y.view()];
    let mut found = Vec::new();
    for threads in 1..=3 {
        set_threads(threads);
        found.push((
            all_evaluations(&inputs, &shape),
            pairs::all_sums([300, 1100]),
        ));
    }
    set_threads(available_parallelism().map_or(1, usize::from));
    assert!(found[1] == found[0] && found[2] == found[0]);
    let plain = |x: f64, y: f64, z: f64| x * y.square() + z.sin();
    let values = found[0].0[0][0].as_ref().unwrap();
    for (at, &bits) in values.iter().enumerate() {
        let (row, column) = (at / 1001, at % 1001);
        let expected = plain(x[[row, column]], y[[0, column]], z[[row, 0]]);
        assert!((f64::from_bits(bits) - expected).abs() < 1e-15);
    }
}

#[test]
fn empty_arrays_have_empty_results() {
    for shape in [[0, 3, 2], [2, 0, 1], [1, 1, 0]] {
        let x = Array3::<f64>::zeros(shape).into_dyn();
        let one = Array3::ones([1, 1, 1]).into_dyn();
        let inputs = [x.view(), one.view(), x.view(), one.view(), x.view()];
        for results in all_evaluations(&inputs, &shape) {
            assert!(results.iter().flatten().all(Vec::is_empty));
        }
    }
    let none = evaluate(
        &TWO,
        Evaluation::Partials { order: 1 },
        &[None, None, None, None, None],
        &[3],
        &[false; 5],
    );
    assert_eq!(none, vec![None::<Vec<f64>>; 5]);
}

#[test]
fn missing_arrays_are_zeros() {
    let x = Array1::from(vec![4.0, 9.0]).into_dyn();
    let y = Array1::from(vec![2.0, -1.0]).into_dyn();
    let inputs = [Some(x.view()), Some(y.view()), None];
    let results = evaluate(&TWO, Evaluation::Values, &inputs, &[2], &[true, true]);
    assert_eq!(results, [Some(vec![16.0, 9.0]), Some(vec![4.0, -3.0])]);
    // The first output has no gradient.
    let one = ArrayD::ones(vec![1]);
    let inputs = [Some(x.view()), Some(y.view()), None, None, Some(one.view())];
    let wanted = [true, true, true, false, false];
    let results = evaluate(
        &TWO,
        Evaluation::Partials { order: 1 },
        &inputs,
        &[2],
        &wanted,
    );
    assert_eq!(
        results[..2],
        [Some(vec![0.5, -1.0 / 6.0]), Some(vec![2.0, 3.0])]
    );
    assert_eq!(results[2], Some(vec![0.0, 0.0]));
}

/// x³ sin x
struct One;

impl Formula<1, 1> for One {
    type Entries = ();

    fn entries(&self, _: Elements) {}

    #[inline(always)]
    fn at<R: Real>(&self, (): &(), _: Place, [x]: [R; 1]) -> [R; 1]
    where
        f64: Literal<R>,
    {
        [x.powi(3) * x.sin()]
    }
}

#[test]
fn derivatives_of_the_inputs_alone_are_those_among_all() {
    fn check<const I: usize, const O: usize>(loops: &dyn Loops<f64>, length: usize) {
        let shape = [length];
        let width = I + O;
        let array = |index: usize| (numbers(shape, index as f64) + 0.6).into_dyn();
        let arrays: Vec<_> = (0..width + I).map(array).collect();
        let mut inputs: Vec<_> = arrays.iter().map(|array| Some(array.view())).collect();
        inputs.resize_with(2 * width, || None);
        let evaluation = Evaluation::Partials { order: 2 };
        let mut wanted = vec![false; 2 * width];
        wanted[..I].fill(true);
        let computed = runs(loops, evaluation, &inputs, &wanted);
        assert_eq!(*computed, [Wanted::Inputs]);
        let alone = evaluate(loops, evaluation, &inputs, &shape, &wanted);
        wanted[I..width].fill(true);
        let all = evaluate(loops, evaluation, &inputs, &shape, &wanted);
        assert_eq!(alone[..I], all[..I]);
        // A direction of zeros gives the same results as none.
        let zeros = ArrayD::zeros(&shape[..]);
        inputs[width + I] = Some(zeros.view());
        wanted[I..width].fill(false);
        let computed = runs(loops, evaluation, &inputs, &wanted);
        assert_eq!(*computed, [Wanted::All]);
        assert_eq!(
            evaluate(loops, evaluation, &inputs, &shape, &wanted)[..I],
            alone[..I]
        );
    }
    for length in [1, LANES, BLOCK, 3 * BLOCK + 7] {
        check::<3, 2>(&TWO, length);
        check::<1, 1>(&Blocks::<One, 1, 1, 2>(One), length);
    }
    let [x, g, w] = [0.7, 1.5, -2.0].map(|number| ArrayD::from_elem(vec![1], number));
    let inputs = [Some(x.view()), Some(g.view()), Some(w.view()), None];
    let loops = Blocks::<One, 1, 1, 2>(One);
    let evaluation = Evaluation::Partials { order: 2 };
    let found = evaluate(
        &loops,
        evaluation,
        &inputs,
        &[1],
        &[true, false, false, false],
    );
    let (x, g, w) = (0.7_f64, 1.5, -2.0);
    let expected = g * w * ((6.0 * x - x.powi(3)) * x.sin() + 6.0 * x * x * x.cos());
    assert!((found[0].as_ref().unwrap()[0] - expected).abs() < 1e-14);
}

/// Panics at a number.
struct Panics;

impl Formula<1, 1> for Panics {
    type Entries = ();

    fn entries(&self, _: Elements) {}

    fn at<R: Real>(&self, (): &(), _: Place, [x]: [R; 1]) -> [R; 1]
    where
        f64: Literal<R>,
    {
        assert!(x != 70_000.0, "not this one");
        [x * 2.0]
    }
}

#[test]
fn after_a_panic_everything_works() {
    let formula = Blocks::<_, 1, 1, 2>(Panics);
    let range = |count: u32| Array1::from_iter((0..count).map(f64::from)).into_dyn();
    let run = |count: u32| {
        let x = range(count);
        let shape = x.shape().to_vec();
        evaluate(
            &formula,
            Evaluation::Values,
            &[Some(x.view())],
            &shape,
            &[true],
        )
    };
    for _ in 0..3 {
        let panic = catch_unwind(AssertUnwindSafe(|| run(100_000))).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"not this one"));
        assert_eq!(
            run(70_000),
            [Some((range(70_000) * 2.0).into_raw_vec_and_offset().0)]
        );
    }
}

/// x y + x
struct Line;

impl Formula<2, 1> for Line {
    type Entries = ();

    const IS_OPTIMIZED: bool = true;

    fn entries(&self, _: Elements) {}

    #[inline(always)]
    fn at<R: Real>(&self, (): &(), _: Place, [x, y]: [R; 2]) -> [R; 1]
    where
        f64: Literal<R>,
    {
        [x * y + x]
    }
}

#[test]
fn every_element_is_computed_whatever_the_length_and_the_layout() {
    let lengths = [0, 1, LANES - 1, LANES, LANES + 1, BLOCK, BLOCK + 1, 1000];
    for (rows, columns) in lengths.map(|length| (3, length)).into_iter().chain([
        (1, 2 * BLOCK + 5),
        (1000, 7),
        (300, 5 * BLOCK + 3),
    ]) {
        let x = Array2::from_shape_fn((rows, columns), |(i, j)| (i * 3 + j) as f64);
        let column = Array2::from_shape_fn((rows, 1), |(i, _)| i as f64);
        let row = Array2::from_shape_fn((1, columns), |(_, j)| j as f64);
        let one = Array2::from_elem((1, 1), 2.0);
        for y in [&x, &column, &row, &one] {
            let inputs = [Some(x.view().into_dyn()), Some(y.view().into_dyn())];
            let loops = Blocks::<Line, 2, 1, 1>(Line);
            let values = evaluate(&loops, Evaluation::Values, &inputs, x.shape(), &[true]);
            let array = |elements: &Option<Vec<f64>>| {
                let elements = elements.clone().unwrap();
                ArrayD::from_shape_vec(IxDyn(x.shape()), elements).unwrap()
            };
            assert_eq!(array(&values[0]), (&x * y + &x).into_dyn());
            let [x_input, y_input] = inputs;
            let inputs = [x_input, y_input, Some(x.view().into_dyn())];
            let evaluation = Evaluation::Partials { order: 1 };
            let wanted = [true, true, false];
            let partials = evaluate(&loops, evaluation, &inputs, x.shape(), &wanted);
            assert_eq!(array(&partials[0]), ((y + 1.0) * &x).into_dyn());
            assert_eq!(array(&partials[1]), (&x * &x).into_dyn());
            let alone = evaluate(
                &loops,
                evaluation,
                &inputs,
                x.shape(),
                &[false, true, false],
            );
            assert_eq!((&alone[0], &alone[1]), (&None, &partials[1]));
        }
    }
}

/// sin x, whose loops over near numbers are shorter.
#[derive(Clone, Copy)]
struct Sine;

impl Formula<1, 1> for Sine {
    type Entries = ();
    const OF_ANGLE: bool = true;

    fn entries(&self, _: Elements) {}

    #[inline(always)]
    fn at<R: Real>(&self, (): &(), _: Place, [x]: [R; 1]) -> [R; 1]
    where
        f64: Literal<R>,
    {
        [x.sin()]
    }
}

#[test]
fn an_angle_has_the_same_sine_whatever_angles_are_beside_it() {
    let is_near = |index: usize| index / 1000 % 3 != 1 || index % 100 != 7;
    let angle = |index| (index as f64 - 2000.0) * if is_near(index) { 0.37 } else { 1e9 };
    let mut x: Vec<f64> = (0..5000).map(angle).collect();
    x.extend([f64::NAN, f64::INFINITY, 25_000.0, 25_000.0_f64.next_up()]);
    let alone = |f: fn(f64) -> f64| -> Vec<u64> { x.iter().map(|&x| f(x).to_bits()).collect() };
    let bits = |numbers: &[f64]| -> Vec<u64> { numbers.iter().map(|x| x.to_bits()).collect() };
    let (sines, cosines) = (alone(crate::sin), alone(crate::cos));

    let mut values = vec![0.0; x.len()];
    let gradients = vec![1.0; x.len()];
    for (length, start) in [(1, 5003), (1, 5), (3, 5000), (2500, 0), (5004, 0)] {
        let range = start..start + length;
        let x = ArrayView1::from(&x[range.clone()]);
        let found = unary::values::<f64, _>(&Of(Sine), &x);
        assert_eq!(bits(found.as_slice().unwrap()), sines[range.clone()]);
        let gradients = ArrayView1::from(&gradients[..length]);
        let found = unary::products::<f64, _>(&Of(Sine), &gradients, &x);
        assert_eq!(bits(found.as_slice().unwrap()), cosines[range.clone()]);
        let values = &mut values[range.clone()];
        values.fill(1.0);
        unary::multiply(&Of(Sine), values, x.as_slice().unwrap());
        assert_eq!(bits(values), cosines[range]);
    }
}

struct Of<F>(F);

impl<F: Formula<1, 1, Entries = ()> + Copy> Unary for Of<F> {
    fn single(&self) -> &dyn UnaryLoops<f32> {
        &self.0
    }

    fn double(&self) -> &dyn UnaryLoops<f64> {
        &self.0
    }
}
