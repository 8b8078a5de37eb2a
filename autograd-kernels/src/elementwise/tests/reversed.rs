//! Formulas with their derivatives in reverse, beside the same ones without.

use super::*;
use crate::elementwise::{passed, slope_of_divisor, value_of, variable};

/// [`Two`], in reverse.
struct Reversed;

impl Formula<3, 2> for Reversed {
    type Entries = ();

    const SIDES: &'static [Side] = Two::SIDES;
    const IS_SUMMED: bool = true;
    const IS_REVERSED: bool = true;

    fn entries(&self, _: Elements) {}

    #[inline(always)]
    fn at<R: Real>(&self, (): &(), at: Place, inputs: [R; 3]) -> [R; 2]
    where
        f64: Literal<R>,
    {
        Two.at(&(), at, inputs)
    }

    #[inline(always)]
    fn pulled_back<R: Real>(
        &self,
        (): &(),
        _: Place,
        [x, y, z]: [R; 3],
        [g, h]: [R; 2],
    ) -> ([R; 3], [R; 2])
    where
        f64: Literal<R>,
    {
        let (square, sine) = (
            variable::<R, 1>(y, 0).square(),
            variable::<R, 1>(z, 0).sin(),
        );
        let root = variable::<R, 1>(x, 0).sqrt();
        (
            [
                g * value_of(&square) + passed(h * y, &root, 0),
                passed(g * x, &square, 0) + h * value_of(&root),
                passed(g, &sine, 0),
            ],
            [x * value_of(&square) + value_of(&sine), value_of(&root) * y],
        )
    }
}

/// (Σ x²) / y of rows x of thirteen numbers, which is recorded or, if it is `REVERSED`, in reverse.
struct Many<const REVERSED: bool>;

impl<const REVERSED: bool> Formula<14, 1> for Many<REVERSED> {
    type Entries = ();

    const INPUTS: &'static [Item] = &[Item::Row(13), Item::Number];
    const IS_REVERSED: bool = REVERSED;

    fn entries(&self, _: Elements) {}

    #[inline(always)]
    fn at<R: Real>(&self, (): &(), _: Place, x: [R; 14]) -> [R; 1]
    where
        f64: Literal<R>,
    {
        let mut sum = x[0] * x[0];
        for number in &x[1..13] {
            sum += *number * *number;
        }
        [sum / x[13]]
    }

    #[inline(always)]
    fn pulled_back<R: Real>(&self, (): &(), at: Place, x: [R; 14], [g]: [R; 1]) -> ([R; 14], [R; 1])
    where
        f64: Literal<R>,
    {
        let [quotient] = self.at(&(), at, x);
        let of_sum = g * x[13].recip();
        let mut sums = x.map(|number| of_sum * number + of_sum * number);
        sums[13] = -(g * slope_of_divisor(quotient, x[13]));
        (sums, [quotient])
    }
}

/// Checks that two formulas have the same derivatives, of the inputs that are wanted.
#[track_caller]
fn check(
    [own, other]: [&dyn Loops<f64>; 2],
    order: usize,
    inputs: &[ArrayD<f64>],
    shape: &[usize],
    wanted: &[bool],
) {
    let views: Vec<_> = inputs.iter().map(|input| Some(input.view())).collect();
    let evaluation = Evaluation::Partials { order };
    let [own, other] = [own, other].map(|loops| evaluate(loops, evaluation, &views, shape, wanted));
    for (own, other) in own.iter().zip(&other) {
        assert_eq!(own.is_some(), other.is_some());
        for (own, other) in own.iter().flatten().zip(other.iter().flatten()) {
            let error = (own - other).abs() / other.abs().max(1.0);
            assert!(error < 1e-14, "{order} {shape:?} {wanted:?}: {own} {other}");
        }
    }
}

#[test]
fn derivatives_are_those_of_dual_numbers() {
    let reversed = Blocks::<Reversed, 3, 2, 2>(Reversed);
    for shape in [[1, 1], [5, 7], [3, 2 * BLOCK + 5]] {
        let of = |seed: f64| numbers(shape, seed).into_dyn() + 0.6;
        let inputs: Vec<_> = (0..10_u8).map(|seed| of(f64::from(seed))).collect();
        for few in 1..8_usize {
            let mut wanted = vec![false; 5];
            for (input, wanted) in wanted[..3].iter_mut().enumerate() {
                *wanted = few >> input & 1 == 1;
            }
            check([&reversed, &TWO], 1, &inputs[..5], &shape, &wanted);
            wanted.extend_from_within(..);
            check([&reversed, &TWO], 2, &inputs, &shape, &wanted);
            wanted[3..5].fill(true);
            check([&reversed, &TWO], 2, &inputs, &shape, &wanted);
        }
    }
}

#[test]
fn derivatives_of_many_numbers_are_those_that_are_recorded() {
    let both: [&dyn Loops<f64>; 2] = [
        &Blocks::<Many<true>, 14, 1, 2>(Many),
        &Blocks::<Many<false>, 14, 1, 2>(Many),
    ];
    let length = BLOCK + 9;
    let of = |seed: f64| {
        [
            numbers([length, 13], seed).into_dyn() + 0.6,
            numbers([length], seed + 1.0).into_dyn() + 0.6,
            numbers([length], seed + 2.0).into_dyn(),
        ]
    };
    let inputs = [of(1.0), of(5.0)].concat();
    for wanted in [[true, true], [true, false], [false, true]] {
        let [of_row, of_number] = wanted;
        let own = [of_row, of_number, false];
        check(both, 1, &inputs[..3], &[length], &own);
        let own = [of_row, of_number, true, of_row, of_number, false];
        check(both, 2, &inputs, &[length], &own);
    }
}

#[test]
fn sums_over_pairs_are_those_of_dual_numbers() {
    let reversed = Blocks::<Reversed, 3, 2, 2>(Reversed);
    let shape = [300, 1100];
    let shapes = [[300, 1], [1, 1100], [1, 1], [300, 1], [300, 1]];
    let of = |(seed, shape): (u8, [usize; 2])| numbers(shape, f64::from(seed)).into_dyn() + 0.6;
    let inputs: Vec<_> = (0..).zip(shapes).map(of).collect();
    let views: Vec<_> = inputs.iter().map(|input| Some(input.view())).collect();
    let evaluation = Evaluation::Partials { order: 1 };
    for few in 1..8_usize {
        let target = |input: usize| (few >> input & 1 == 1).then(|| shapes[input]);
        let targets = [target(0), target(1), target(2), None, None];
        let of = |loops: &dyn Loops<f64>| evaluate_sums(loops, evaluation, &views, shape, &targets);
        for (own, other) in of(&reversed).iter().zip(of(&TWO)) {
            let (Some(own), Some(other)) = (own, &other) else {
                assert_eq!(own.is_some(), other.is_some());
                continue;
            };
            for (own, other) in own.iter().zip(other) {
                assert!(
                    (own - other).abs() < 1e-12 * other.abs().max(1.0),
                    "{own} {other}"
                );
            }
        }
    }
}
