//! The numbers that a formula is called with: the inputs that are variables, and the components of a number at an
//! order.

use super::dual::Dual;
use super::each::each;
use super::entries::Place;
use super::formula::{Formula, SliceFormula};
use super::item::Item;
use crate::element::real::{Literal, Real};

/// A choice of the inputs that are variables.
pub(super) trait Variables {
    /// The first input that is a variable.
    const START: usize;

    /// Returns the place of an input among the variables.
    fn place(input: usize) -> Option<usize>;
}

pub(super) struct AllInputs;

impl Variables for AllInputs {
    const START: usize = 0;

    #[cfg_attr(optimized, inline(always))]
    fn place(input: usize) -> Option<usize> {
        Some(input)
    }
}

/// The partial derivatives of a pairing with respect to `I` inputs, and the `O` outputs, as numbers of some components.
pub(crate) type PulledBack<C, const I: usize, const O: usize> = ([C; I], [C; O]);

/// The order of derivatives: at order n, the pairing has been differentiated along n − 1 directions.
pub(crate) trait Order {
    /// The components of a number.
    type Of<X: Copy>: Copy + AsRef<[X]> + AsMut<[X]>;

    /// The number of components.
    const COUNT: usize;

    fn filled<X: Copy>(component: X) -> Self::Of<X>;

    /// Computes a formula of numbers with these components. Some of several inputs may have no direction.
    fn call<R: Real, F: Formula<I, O>, const I: usize, const O: usize>(
        formula: &F,
        entries: &F::Entries,
        at: Place,
        inputs: [Self::Of<R>; I],
    ) -> [Self::Of<R>; O]
    where
        f64: Literal<R>;

    /// Computes Σₖ gₖ ∂fₖ with respect to each input of a formula, and its outputs, of numbers with these components. Some of
    /// several inputs and gradients may have no direction.
    fn pulled_back<R: Real, F: Formula<I, O>, const I: usize, const O: usize>(
        formula: &F,
        entries: &F::Entries,
        at: Place,
        inputs: [Self::Of<R>; I],
        gradients: [Self::Of<R>; O],
    ) -> PulledBack<Self::Of<R>, I, O>
    where
        f64: Literal<R>;

    /// Computes a step of a formula with slices, of inputs with these components; returns the first of them, which are new
    /// `states`, and so many outputs.
    fn step<R: Real, F: SliceFormula>(
        formula: &F,
        items: &[Item],
        inputs: Vec<Self::Of<R>>,
        counts: [usize; 2],
    ) -> Vec<Self::Of<R>>
    where
        f64: Literal<R>;
}

/// Computes the partial derivatives of a pairing and the outputs, of a formula in reverse, for numbers that are elements:
/// those that operators beside `f64` are known of.
#[cfg_attr(optimized, inline(always))]
pub(crate) fn reversed<D: Order, B: Real, F: Formula<I, O>, const I: usize, const O: usize>(
    formula: &F,
    entries: &F::Entries,
    at: Place,
    inputs: [D::Of<B>; I],
    gradients: [D::Of<B>; O],
) -> PulledBack<D::Of<B>, I, O> {
    let zero = D::filled(Dual::<B, 0>::constant(B::from(0.0)));
    let (mut numbers, mut of_outputs) = ([zero; I], [zero; O]);
    let (mut partials, mut outputs) = ([D::filled(B::from(0.0)); I], [D::filled(B::from(0.0)); O]);
    each!(component < D::COUNT => {
        each!(input < I => {
            numbers[input].as_mut()[component] = Dual::constant(inputs[input].as_ref()[component]);
        });
        each!(output < O => {
            let gradient = gradients[output].as_ref()[component];
            of_outputs[output].as_mut()[component] = Dual::constant(gradient);
        });
    });
    let (sums, results) = D::pulled_back(formula, entries, at, numbers, of_outputs);
    each!(component < D::COUNT => {
        each!(input < I => {
            partials[input].as_mut()[component] = sums[input].as_ref()[component].value;
        });
        each!(output < O => {
            outputs[output].as_mut()[component] = results[output].as_ref()[component].value;
        });
    });
    (partials, outputs)
}

macro_rules! orders {
    ($($Order:ident: $count:literal, $Number:ty, $number:expr, $components:expr;)*) => {$(
        pub(crate) struct $Order;

        impl Order for $Order {
            type Of<X: Copy> = [X; $count];

            const COUNT: usize = $count;

            #[cfg_attr(optimized, inline(always))]
            fn filled<X: Copy>(component: X) -> [X; $count] {
                [component; $count]
            }

            #[cfg_attr(optimized, inline(always))]
            fn call<R: Real, F: Formula<I, O>, const I: usize, const O: usize>(
                formula: &F,
                entries: &F::Entries,
                at: Place,
                inputs: [[R; $count]; I],
            ) -> [[R; $count]; O]
            where
                f64: Literal<R>,
            {
                let zero = R::from(0.0);
                let mut numbers = [$number([zero; $count], I > 1); I];
                each!(input < I => {
                    numbers[input] = $number(inputs[input], I > 1);
                });
                let results = formula.outputs::<$Number>(entries, at, numbers);
                let mut outputs = [[zero; $count]; O];
                each!(output < O => {
                    outputs[output] = $components(results[output]);
                });
                outputs
            }

            #[cfg_attr(optimized, inline(always))]
            fn pulled_back<R: Real, F: Formula<I, O>, const I: usize, const O: usize>(
                formula: &F,
                entries: &F::Entries,
                at: Place,
                inputs: [[R; $count]; I],
                gradients: [[R; $count]; O],
            ) -> PulledBack<[R; $count], I, O>
            where
                f64: Literal<R>,
            {
                let zero = R::from(0.0);
                let mut numbers = [$number([zero; $count], true); I];
                each!(input < I => {
                    numbers[input] = $number(inputs[input], true);
                });
                let mut of_outputs = [$number([zero; $count], true); O];
                each!(output < O => {
                    of_outputs[output] = $number(gradients[output], true);
                });
                let (sums, results) =
                    formula.pulled_back::<$Number>(entries, at, numbers, of_outputs);
                let (mut partials, mut outputs) = ([[zero; $count]; I], [[zero; $count]; O]);
                each!(input < I => {
                    partials[input] = $components(sums[input]);
                });
                each!(output < O => {
                    outputs[output] = $components(results[output]);
                });
                (partials, outputs)
            }

            fn step<R: Real, F: SliceFormula>(
                formula: &F,
                items: &[Item],
                inputs: Vec<[R; $count]>,
                [states, outputs]: [usize; 2],
            ) -> Vec<[R; $count]>
            where
                f64: Literal<R>,
            {
                let number = |components| $number(components, true);
                let mut numbers: Vec<_> = inputs.into_iter().map(number).collect();
                let mut outputs = vec![number([R::from(0.0); $count]); outputs];
                formula.at::<$Number>(items, &mut numbers, &mut outputs);
                numbers.truncate(states);
                numbers.into_iter().chain(outputs).map($components).collect()
            }
        }
    )*};
}

orders! {
    First: 1, R, |[value]: [_; 1], _| value, |number| [number];
    Second: 2, Dual<R, 1>,
        |[value, tangent]: [_; 2], several| Dual::along(value, [tangent], several),
        |number: Dual<_, 1>| [number.value, number.signed(0)];
    Third: 4, Dual<Dual<R, 1>, 1>,
        |[value, inner, outer, both]: [_; 4], _| {
            Dual::along(Dual::along(value, [inner], true), [Dual::along(outer, [both], true)], true)
        },
        |number: Dual<Dual<_, 1>, 1>| {
            let (value, outer) = (number.value, number.signed(0));
            [value.value, value.signed(0), outer.value, outer.signed(0)]
        };
}
