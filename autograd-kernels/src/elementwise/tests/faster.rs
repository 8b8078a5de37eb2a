//! Values by a replay, beside those of the loop that the compiler makes.

use std::thread::sleep;
use std::time::Duration;

use super::recorded::{COUNT, functions};
use super::*;
use crate::element::Element;
use crate::elementwise::faster::{Choice, Faster, LEAST, REPLAYED};
use crate::loops::reductions::Reduction;

/// Each function of `Real`; the replay is known to be faster where it is `SLOW`.
struct Functions<const SLOW: bool>;

impl<const SLOW: bool> Formula<2, COUNT> for Functions<SLOW> {
    type Entries = ();

    const IS_VECTOR_CODE: bool = false;

    fn faster() -> Option<&'static Faster> {
        static FASTER: Faster = Faster::known(REPLAYED);
        SLOW.then_some(&FASTER)
    }

    fn entries(&self, _: Elements) {}

    fn at<R: Real>(&self, (): &(), _: Place, [x, y]: [R; 2]) -> [R; COUNT]
    where
        f64: Literal<R>,
    {
        functions(x, y).try_into().expect("all functions")
    }
}

/// Returns the bits of all functions; those of NaN are all the same.
fn results<T: Element, const SLOW: bool>(x: &[T], y: &[T]) -> Vec<Vec<u64>> {
    let loops = Blocks::<Functions<SLOW>, 2, COUNT, 0>(Functions);
    let inputs = [x, y].map(|input| Some(ArrayView1::from(input).into_dyn()));
    let found = evaluate(
        &loops,
        Evaluation::Values,
        &inputs,
        &[x.len()],
        &[true; COUNT],
    );
    let bits = |found: T| {
        if found.is_nan() {
            1
        } else {
            found.as_f64().to_bits()
        }
    };
    let all = found.into_iter().flatten();
    all.map(|found| found.into_iter().map(bits).collect())
        .collect()
}

fn have_the_same_bits<T: Element>() {
    let points = [
        0.0,
        -0.0,
        1e-40,
        -1e-9,
        0.25,
        0.5,
        -0.5,
        0.75,
        1.0,
        -1.0,
        2.5,
        -3.0,
        40.0,
        -90.0,
        1e30,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    let count = points.len().pow(2);
    let at = |index: usize| T::from_f64(points[index % points.len()]);
    let x: Vec<T> = (0..count).map(at).collect();
    let y: Vec<T> = (0..count).map(|index| at(index / points.len())).collect();
    let (compiled, replayed) = (results::<T, false>(&x, &y), results::<T, true>(&x, &y));
    for (function, (compiled, replayed)) in compiled.iter().zip(&replayed).enumerate() {
        for (place, (compiled, replayed)) in compiled.iter().zip(replayed).enumerate() {
            let (x, y) = (x[place], y[place]);
            assert_eq!(compiled, replayed, "function {function} of {x} and {y}");
        }
    }
}

#[test]
fn functions_have_the_same_bits() {
    have_the_same_bits::<f32>();
    have_the_same_bits::<f64>();
}

/// `Two`, where the replay is known to be faster.
struct Slow;

impl Formula<3, 2> for Slow {
    type Entries = ();

    const SIDES: &'static [Side] = Two::SIDES;
    const IS_SUMMED: bool = true;
    const IS_VECTOR_CODE: bool = false;

    fn faster() -> Option<&'static Faster> {
        static FASTER: Faster = Faster::known(REPLAYED);
        Some(&FASTER)
    }

    fn entries(&self, _: Elements) {}

    fn at<R: Real>(&self, (): &(), at: Place, inputs: [R; 3]) -> [R; 2]
    where
        f64: Literal<R>,
    {
        Two.at(&(), at, inputs)
    }
}

const SLOW: Blocks<Slow, 3, 2, 0> = Blocks(Slow);

#[test]
fn arrays_of_every_layout_have_the_same_bits() {
    for shape in [[3, 5, 20], [1, 70, 9], [6, 40, 10]] {
        let [x, y, z] = [1.0, 2.0, 3.0].map(|seed| layouts(shape, seed));
        for layout in 0..x.len() {
            let inputs = [&x[layout], &y[0], &z[layout]].map(|array| Some(array.view()));
            for wanted in [[true, true], [false, true]] {
                let values = |loops: &dyn Loops<f64>| {
                    bits(evaluate(
                        loops,
                        Evaluation::Values,
                        &inputs,
                        &shape,
                        &wanted,
                    ))
                };
                assert_eq!(values(&SLOW), values(&TWO), "{shape:?}, layout {layout}");
            }
        }
    }
}

#[test]
fn sums_over_pairs_have_the_same_bits() {
    for [n, m] in [
        [3, 50],
        [20, 128],
        [7, 129],
        [70, 3],
        [3, 2000],
        [200, 1100],
    ] {
        let of = |shape, seed| numbers(shape, seed).into_dyn() + 0.6;
        let inputs = [of([n, 1], 1.0), of([1, m], 2.0), of([1, 1], 3.0)];
        let inputs = inputs.each_ref().map(|array| Some(array.view()));
        for targets in [[[n, 1]; 2], [[1, m]; 2], [[1, 1], [n, 1]]] {
            let sums = |loops: &dyn Loops<f64>| {
                let (shape, targets) = ([n, m], targets.map(Some));
                let found = evaluate_sums(loops, Evaluation::Values, &inputs, shape, &targets);
                let found = found
                    .into_iter()
                    .map(|sum| sum.map(|sum| sum.into_iter().collect()));
                bits(found.collect())
            };
            assert_eq!(sums(&SLOW), sums(&TWO), "{n} x {m} to {targets:?}");
        }
    }
}

/// The first of `Slow`.
struct FirstOfSlow;

impl Formula<3, 1> for FirstOfSlow {
    type Entries = ();

    const IS_VECTOR_CODE: bool = false;

    fn faster() -> Option<&'static Faster> {
        Slow::faster()
    }

    fn entries(&self, _: Elements) {}

    fn at<R: Real>(&self, (): &(), at: Place, inputs: [R; 3]) -> [R; 1]
    where
        f64: Literal<R>,
    {
        FirstOfTwo.at(&(), at, inputs)
    }
}

#[test]
fn reductions_over_pairs_have_the_same_bits() {
    let [n, m] = [40, 900];
    let inputs = [
        numbers([n, 1], 1.0),
        numbers([1, m], 2.0),
        numbers([1, 1], 3.0),
    ];
    let inputs = inputs.each_ref().map(|array| Some(array.view().into_dyn()));
    for reduction in [Reduction::Max, Reduction::LogSumExp] {
        let reduced = |loops: &dyn Loops<f64>| {
            let (found, places) = evaluate_reduced(loops, reduction, &inputs, [n, m]);
            (bits(vec![Some(found)]), places)
        };
        let slow = Blocks::<_, 3, 1, 0>(FirstOfSlow);
        assert_eq!(reduced(&slow), reduced(&FIRST), "{reduction:?}");
    }
}

/// Returns whether a call of so many elements is replayed after its first run, with loops that take some milliseconds.
fn is_replayed(faster: &'static Faster, count: usize, [compiled, replayed]: [u64; 2]) -> bool {
    let mut choice = Choice::between::<f64>(Some(faster), count);
    let mut last = false;
    for _ in 0..2 {
        choice.run(Wanted::All, |wanted| {
            last = wanted == Wanted::Replayed;
            sleep(Duration::from_millis(if last {
                replayed
            } else {
                compiled
            }));
            true
        });
    }
    last
}

#[test]
fn the_loop_that_took_less_time_is_chosen() {
    static SLOW: Faster = Faster::new();
    static FAST: Faster = Faster::new();
    // Too few elements to find out.
    assert!(!is_replayed(&SLOW, LEAST - 1, [20, 0]));
    assert!(is_replayed(&SLOW, LEAST, [20, 0]));
    assert!(!is_replayed(&FAST, LEAST, [0, 20]));
    // It is known now, and found again in large calls.
    assert!(is_replayed(&SLOW, LEAST, [0, 20]));
    assert!(!is_replayed(&FAST, LEAST, [20, 0]));
    assert!(!is_replayed(&SLOW, 1 << 20, [0, 20]));
}

#[test]
fn what_cannot_be_replayed_is_compiled() {
    static FASTER: Faster = Faster::new();
    let (mut choice, mut replays) = (Choice::between::<f64>(Some(&FASTER), LEAST), 0);
    for _ in 0..3 {
        choice.run(Wanted::All, |wanted| {
            replays += usize::from(wanted == Wanted::Replayed);
            wanted == Wanted::All
        });
    }
    assert_eq!(replays, 1);
}

/// Numbers that are chosen, with ties; it is recorded where it is not written out.
struct Chosen<const WRITTEN_OUT: bool>;

impl<const WRITTEN_OUT: bool> Formula<3, 2> for Chosen<WRITTEN_OUT> {
    type Entries = ();

    const IS_WRITTEN_OUT: bool = WRITTEN_OUT;

    fn entries(&self, _: Elements) {}

    fn at<R: Real>(&self, (): &(), _: Place, [x, y, z]: [R; 3]) -> [R; 2]
    where
        f64: Literal<R>,
    {
        let largest = (x * y).max(y * z).max(0.5);
        [largest * x.min(z), (x.max(y).min(z)).sin()]
    }
}

#[test]
fn tangents_are_those_of_the_compiled_loop() {
    let points = [0.25, 0.5, 1.0, 1.0, 2.0, -0.75, 0.0];
    let count = points.len().pow(3);
    let at = |stride: usize| {
        Array1::from_shape_fn(count, |index| points[index / stride % points.len()]).into_dyn()
    };
    let numbers = [at(1), at(7), at(49), at(5), at(3), at(2), at(11), at(13)];
    let view = |index: usize| Some(numbers[index].view());
    let (values, gradients) = ([0, 1, 2].map(view), [3, 4].map(view));
    let directions = [5, 6, 7].map(view);
    let all = |loops: &dyn Loops<f64>| {
        let run = |evaluation, inputs: &[_], wanted: &[bool]| {
            evaluate(loops, evaluation, inputs, &[count], wanted)
        };
        let tangents = [&values[..], &directions].concat();
        let both = [&values[..], &gradients, &directions, &[None, None]].concat();
        let second = [true, true, true, true, true, true, true, true, false, false];
        [
            run(Evaluation::Tangents, &tangents, &[true, true]),
            run(Evaluation::Partials { order: 2 }, &both, &second),
        ]
    };
    let [compiled, recorded] = [
        all(&Blocks::<_, 3, 2, 2>(Chosen::<true>)),
        all(&Blocks::<_, 3, 2, 2>(Chosen::<false>)),
    ];
    for (compiled, recorded) in compiled.iter().flatten().zip(recorded.iter().flatten()) {
        assert_eq!(compiled.is_some(), recorded.is_some());
        for (compiled, recorded) in compiled.iter().flatten().zip(recorded.iter().flatten()) {
            assert!(
                (compiled - recorded).abs() < 1e-12,
                "{recorded} is not {compiled}"
            );
        }
    }
}
