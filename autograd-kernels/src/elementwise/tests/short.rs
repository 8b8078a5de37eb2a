//! Evaluations of short arrays have the bits of those of any arrays.

use ndarray::ArrayD;

use super::super::entries::entries;
use super::super::faster::{Faster, LEAST, REPLAYED};
use super::*;
use crate::element::Element;

/// Rows of two numbers times an entry and a number, and the number's sine.
struct Scaled(Vec<f64>);

impl Formula<3, 3> for Scaled {
    type Entries = Entries<f64>;

    const INPUTS: &'static [Item] = &[Item::Row(2), Item::Number];
    const OUTPUTS: &'static [Item] = &[Item::Row(2), Item::Number];

    fn entries(&self, elements: Elements) -> Entries<f64> {
        entries(&self.0, elements)
    }

    #[inline(always)]
    fn at<R: Real>(&self, entries: &Entries<f64>, at: Place, [x, y, z]: [R; 3]) -> [R; 3]
    where
        f64: Literal<R>,
    {
        [x * z * entries.at(at), y.exp() * z, z.sin()]
    }
}

/// A formula whose values are computed by a replay where there are enough elements.
struct Replayed;

impl Formula<1, 1> for Replayed {
    type Entries = ();

    const IS_VECTOR_CODE: bool = false;

    fn faster() -> Option<&'static Faster> {
        static FASTER: Faster = Faster::known(REPLAYED);
        Some(&FASTER)
    }

    fn entries(&self, _: Elements) {}

    fn at<R: Real>(&self, (): &(), at: Place, inputs: [R; 1]) -> [R; 1]
    where
        f64: Literal<R>,
    {
        One.at(&(), at, inputs)
    }
}

/// The sum of the numbers of a row that is taken apart.
struct Long;

impl Formula<5, 1> for Long {
    type Entries = ();

    const INPUTS: &'static [Item] = &[Item::Row(5)];

    fn entries(&self, _: Elements) {}

    #[inline(always)]
    fn at<R: Real>(&self, (): &(), _: Place, [a, b, c, d, e]: [R; 5]) -> [R; 1]
    where
        f64: Literal<R>,
    {
        [a + b + c + d + e]
    }
}

/// Returns the results that are wanted, if the arrays are short.
fn short<T: Element>(
    loops: &dyn Loops<T>,
    evaluation: Evaluation,
    inputs: &[Option<&[T]>],
    length: usize,
    wanted: &[bool],
) -> Option<Vec<Option<Vec<T>>>> {
    let mut results = vec![None; wanted.len()];
    let give = &mut |index: usize, result: std::borrow::Cow<'_, [T]>| {
        assert!(results[index].is_none(), "each is given once");
        results[index] = Some(result.into_owned());
    };
    evaluate_short(loops, evaluation, inputs, length, wanted, give).then_some(results)
}

/// Checks the results of `length` elements; of each array a bit says whether it is one item for all, another whether there is
/// none.
fn check<T: Element>(
    loops: &dyn Loops<T>,
    evaluation: Evaluation,
    length: usize,
    bits: [usize; 2],
) {
    let items = [loops.inputs(), loops.outputs()].concat();
    let (own, results) = match evaluation {
        Evaluation::Values => (loops.inputs(), loops.outputs().len()),
        _ => (&items[..], items.len()),
    };
    let is = |bits: usize, index: usize| bits >> index & 1 == 1;
    let arrays = own.iter().enumerate().map(|(index, item)| {
        let count = if is(bits[0], index) { 1 } else { length };
        let shape = [&[count][..], item.row().as_slice()].concat();
        let numbers = numbers([count * item.numbers()], index as f64);
        let numbers: Vec<T> = numbers.iter().map(|x| T::from_f64(x + 0.6)).collect();
        ArrayD::from_shape_vec(shape, numbers).expect("a number for each")
    });
    let arrays: Vec<ArrayD<T>> = arrays.collect();
    // Gradients may be missing.
    let given = |index: &usize| *index < loops.inputs().len() || !is(bits[1], *index);
    let inputs = (0..own.len()).map(|index| given(&index).then_some(&arrays[index]));
    let slices: Vec<_> = inputs.clone().map(|input| input?.as_slice()).collect();
    let views: Vec<_> = inputs.map(|input| Some(input?.view())).collect();
    let mut wanted: Vec<bool> = (0..results).map(|index| !is(bits[1], index)).collect();
    if evaluation != Evaluation::Values {
        wanted[loops.inputs().len()..].fill(false);
    }
    let found = short(loops, evaluation, &slices, length, &wanted).expect("short arrays");
    let expected = evaluate(loops, evaluation, &views, &[length], &wanted);
    // No number is NaN or of two signs of zero.
    assert_eq!(
        found, expected,
        "{length} elements of {evaluation:?}, {bits:?}"
    );
}

#[test]
fn short_arrays_have_the_results_of_all_arrays() {
    let one = Blocks::<One, 1, 1, 2>(One);
    let replayed = Blocks::<Replayed, 1, 1, 1>(Replayed);
    let lengths = [
        1,
        2,
        LANES - 1,
        LANES,
        LANES + 1,
        64,
        65,
        BLOCK - 1,
        BLOCK,
        BLOCK + 1,
        LEAST - 1,
    ];
    for length in lengths {
        let list = (0..length).map(|index| 1.0 + index as f64 / 8.0).collect();
        let scaled = Blocks::<Scaled, 3, 3, 1>(Scaled(list));
        for evaluation in [Evaluation::Values, Evaluation::Partials { order: 1 }] {
            for bits in 0..16 {
                let bits = [bits & 3, bits >> 2];
                check::<f64>(&one, evaluation, length, bits);
                check::<f64>(&replayed, evaluation, length, bits);
                check::<f32>(&FIRST, evaluation, length, bits);
                check::<f64>(&FIRST, evaluation, length, bits);
                check::<f32>(&scaled, evaluation, length, bits);
                check::<f64>(&scaled, evaluation, length, [bits[0], bits[1] << 2]);
            }
        }
    }
}

#[test]
fn other_arrays_are_not_short() {
    let numbers = vec![0.5; LEAST];
    let of = |loops: &dyn Loops<f64>, lengths: &[usize], length: usize| {
        let inputs: Vec<_> = lengths
            .iter()
            .map(|length| Some(&numbers[..*length]))
            .collect();
        let wanted = vec![true; loops.outputs().len()];
        short(loops, Evaluation::Values, &inputs, length, &wanted)
    };
    assert!(of(&FIRST, &[3, 1, 3], 3).is_some());
    let not = [
        ("no elements", of(&FIRST, &[0, 0, 0], 0)),
        ("many", of(&FIRST, &[LEAST; 3], LEAST)),
        ("stretched", of(&FIRST, &[2, 4, 4], 4)),
        ("of pairs", of(&TWO, &[3, 3, 3], 3)),
        (
            "rows that are taken apart",
            of(&Blocks::<Long, 5, 1, 1>(Long), &[15], 3),
        ),
    ];
    for (case, results) in not {
        assert_eq!(results, None, "{case}");
    }
}
