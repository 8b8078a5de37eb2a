//! The loops over a block of elements, and where their results go.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::slice::from_mut;

use super::dual::Dual;
use super::evaluation::{BLOCK, LANES, Results};
use super::formula::Formula;
use super::order::{AllInputs, Order, Variables};
use crate::element::Element;
use crate::element::number::Number;
use crate::loops::wide::Loop;

/// Elements of the results that are computed at a time.
#[derive(Clone, Copy)]
pub(super) struct Part {
    start: usize,
    length: usize,
    /// The length up to a multiple of [`LANES`].
    padded: usize,
}

impl Part {
    /// Returns the parts of results of this length.
    #[inline(always)]
    fn all(length: usize) -> impl Iterator<Item = Self> {
        (0..length).step_by(BLOCK).map(move |start| {
            let length = (length - start).min(BLOCK);
            let padded = length.div_ceil(LANES) * LANES;
            // With this the compiler checks no index.
            assert!(padded <= BLOCK, "a multiple");
            Self {
                start,
                length,
                padded,
            }
        })
    }

    /// Returns this part of `N` inputs.
    #[inline(always)]
    fn of<'a, T, const N: usize>(self, inputs: &[&'a [T]]) -> [&'a [T]; N] {
        let mut slices = [&[][..]; N];
        let mut index = 0;
        while index < N {
            let input = inputs[index];
            let start = if input.len() <= BLOCK { 0 } else { self.start };
            slices[index] = &input[start..][..self.padded];
            index += 1;
        }
        slices
    }

    /// Copies blocks to the results that are wanted.
    #[inline(always)]
    fn copy<T: Copy>(self, blocks: &[Block<T>], results: &mut [&mut [MaybeUninit<T>]]) {
        let pairs = blocks.iter().zip(results);
        for (block, result) in pairs.filter(|(_, result)| !result.is_empty()) {
            let result = &mut result[self.start..];
            match result.first_chunk_mut() {
                // Of a length that the compiler knows.
                Some(whole) => *whole = *block,
                None => result.copy_from_slice(&block[..self.length]),
            }
        }
    }
}

/// Returns how many elements the results that are wanted have.
fn length<T>(results: &[&mut [MaybeUninit<T>]]) -> usize {
    results.iter().map(|result| result.len()).max().unwrap_or(0)
}

type Block<T> = [MaybeUninit<T>; BLOCK];

/// The most slices that are read beside a result that is written directly. Such a loop first compares the addresses of
/// all with that of the result, which for more slices takes longer than to copy a block.
const MOST_READS: usize = 7;

/// A place that elements of results are written to.
pub(super) trait Sink<T> {
    /// Writes an element of a result of one component.
    fn put(&mut self, component: usize, result: usize, at: usize, element: T);
}

/// A block for each result of the only component.
impl<T, const N: usize> Sink<T> for &mut [Block<T>; N] {
    #[inline(always)]
    fn put(&mut self, _component: usize, result: usize, at: usize, element: T) {
        self[result][at] = MaybeUninit::new(element);
    }
}

/// Blocks for each component: `N` derivatives with respect to inputs, then `O` with respect to gradients.
struct Components<T: Copy, D: Order, const N: usize, const O: usize> {
    of_inputs: D::Of<[Block<T>; N]>,
    of_gradients: D::Of<[Block<T>; O]>,
}

impl<T: Copy, D: Order, const N: usize, const O: usize> Sink<T> for &mut Components<T, D, N, O> {
    #[inline(always)]
    fn put(&mut self, component: usize, result: usize, at: usize, element: T) {
        let block = if result < N {
            &mut self.of_inputs.as_mut()[component][result]
        } else {
            &mut self.of_gradients.as_mut()[component][result - N]
        };
        block[at] = MaybeUninit::new(element);
    }
}

/// The computation of a part of the results.
pub(super) trait Work<T> {
    /// The number of slices that are read.
    const READS: usize;

    fn each(&self, part: Part, sink: impl Sink<T>);
}

/// A loop over work that has `N` results.
pub(super) struct OneComponent<'a, 'b, T, W, const N: usize>(
    pub(super) W,
    pub(super) Results<'a, 'b, T>,
);

impl<T: Element, W: Work<T>, const N: usize> Loop for OneComponent<'_, '_, T, W, N> {
    #[inline(always)]
    fn run(self) {
        let Self(work, results) = self;
        for part in Part::all(length(results)) {
            let mut spare = [[MaybeUninit::uninit(); BLOCK]; N];
            // Whole blocks of a single result are written where they belong.
            let place = if const { N == 1 && W::READS <= MOST_READS } {
                results[0][part.start..].first_chunk_mut::<BLOCK>()
            } else {
                None
            };
            let place = place.and_then(|block| from_mut(block).try_into().ok());
            let is_spare = place.is_none();
            work.each(part, place.unwrap_or(&mut spare));
            if is_spare {
                part.copy(&spare, results);
            }
        }
    }
}

/// A loop that computes derivatives with respect to all components of inputs and gradients.
pub(super) struct AllComponents<'a, 'b, T, F, D, const I: usize, const O: usize>(
    pub(super) PartialWork<'a, T, F, D, AllInputs, I, O, I, false>,
    pub(super) Results<'a, 'b, T>,
);

impl<T, F, D, const I: usize, const O: usize> Loop for AllComponents<'_, '_, T, F, D, I, O>
where
    T: Element,
    F: Formula<I, O>,
    D: Order,
{
    #[inline(always)]
    fn run(self) {
        let Self(work, results) = self;
        for part in Part::all(length(results)) {
            let mut blocks = Components::<T, D, I, O> {
                of_inputs: D::filled([[MaybeUninit::uninit(); BLOCK]; I]),
                of_gradients: D::filled([[MaybeUninit::uninit(); BLOCK]; O]),
            };
            work.each(part, &mut blocks);
            for component in 0..D::COUNT {
                let (to_inputs, to_gradients) = results[component * (I + O)..].split_at_mut(I);
                part.copy(&blocks.of_inputs.as_ref()[component], to_inputs);
                part.copy(&blocks.of_gradients.as_ref()[component], to_gradients);
            }
        }
    }
}

/// The outputs.
pub(super) struct ValueWork<'a, T, F, const I: usize, const O: usize> {
    pub(super) formula: &'a F,
    pub(super) inputs: &'a [&'a [T]],
}

impl<T: Element, F: Formula<I, O>, const I: usize, const O: usize> Work<T>
    for ValueWork<'_, T, F, I, O>
{
    const READS: usize = I;

    #[inline(always)]
    fn each(&self, part: Part, mut sink: impl Sink<T>) {
        let (formula, x) = (self.formula, part.of::<T, I>(self.inputs));
        for at in 0..part.padded {
            let mut numbers = [Dual::constant(T::Number::from(0.0)); I];
            let mut input = 0;
            while input < I {
                numbers[input] = Dual::<T::Number, 0>::constant(T::Number::of(x[input][at]));
                input += 1;
            }
            let outputs = formula.at(numbers);
            let mut output = 0;
            while output < O {
                sink.put(0, output, at, outputs[output].value.element());
                output += 1;
            }
        }
    }
}

/// The derivatives of the outputs along one direction.
pub(super) struct TangentWork<'a, T, F, const I: usize, const O: usize> {
    pub(super) formula: &'a F,
    pub(super) inputs: &'a [&'a [T]],
}

impl<T: Element, F: Formula<I, O>, const I: usize, const O: usize> Work<T>
    for TangentWork<'_, T, F, I, O>
{
    const READS: usize = 2 * I;

    #[inline(always)]
    fn each(&self, part: Part, mut sink: impl Sink<T>) {
        let (x, directions) = self.inputs.split_at(I);
        let (x, directions) = (part.of::<T, I>(x), part.of::<T, I>(directions));
        let formula = self.formula;
        for at in 0..part.padded {
            let mut numbers = [Dual::constant(T::Number::from(0.0)); I];
            let mut input = 0;
            while input < I {
                let direction = T::Number::of(directions[input][at]);
                let value = T::Number::of(x[input][at]);
                numbers[input] = Dual::along(value, [direction], I > 1);
                input += 1;
            }
            let outputs = formula.at(numbers);
            let mut output = 0;
            while output < O {
                sink.put(0, output, at, outputs[output].tangents[0].element());
                output += 1;
            }
        }
    }
}

/// The partial derivatives of the pairing with respect to `N` variables. If they are `ALONE`, no gradient has a
/// direction, and derivatives with respect to directions and gradients are left out.
pub(super) struct PartialWork<
    'a,
    T,
    F,
    D,
    V,
    const I: usize,
    const O: usize,
    const N: usize,
    const ALONE: bool,
> {
    formula: &'a F,
    inputs: &'a [&'a [T]],
    of: PhantomData<(D, V)>,
}

impl<'a, T, F, D, V, const I: usize, const O: usize, const N: usize, const ALONE: bool>
    PartialWork<'a, T, F, D, V, I, O, N, ALONE>
{
    pub(super) fn new(formula: &'a F, inputs: &'a [&'a [T]]) -> Self {
        Self {
            formula,
            inputs,
            of: PhantomData,
        }
    }
}

impl<T, F, D, V, const I: usize, const O: usize, const N: usize, const ALONE: bool> Work<T>
    for PartialWork<'_, T, F, D, V, I, O, N, ALONE>
where
    T: Element,
    F: Formula<I, O>,
    D: Order,
    V: Variables,
{
    const READS: usize = D::COUNT * (I + O);

    #[inline(always)]
    fn each(&self, part: Part, mut sink: impl Sink<T>) {
        let mut x = D::filled([&[][..]; I]);
        let mut gradients = D::filled([&[][..]; O]);
        for component in 0..D::COUNT {
            let inputs = &self.inputs[component * (I + O)..];
            x.as_mut()[component] = part.of::<T, I>(inputs);
            gradients.as_mut()[component] = part.of::<T, O>(&inputs[I..]);
        }
        let (formula, x, gradients) = (self.formula, x.as_ref(), gradients.as_ref());
        // A derivative along the only direction of the only input is that direction times a slope. The slope has the
        // same factors as the partial derivatives, which are then computed once.
        let is_factor = const { I == 1 && D::COUNT == 2 };
        for at in 0..part.padded {
            let zero = Dual::<T::Number, N>::constant(T::Number::from(0.0));
            let mut numbers = [D::filled(zero); I];
            let mut input = 0;
            while input < I {
                let mut components = D::filled(zero);
                let mut component = 0;
                while component < D::COUNT {
                    let value = T::Number::of(x[component][input][at]);
                    components.as_mut()[component] = match V::place(input) {
                        Some(place) if component == 0 => Dual::variable(value, place),
                        _ if is_factor => Dual::constant(T::Number::from(1.0)),
                        _ => Dual::constant(value),
                    };
                    component += 1;
                }
                numbers[input] = components;
                input += 1;
            }
            let mut outputs = D::call(formula, numbers);
            let mut output = 0;
            while is_factor && output < O {
                let along = &mut outputs[output].as_mut()[1];
                let factor = T::Number::of(x[1][0][at]);
                *along = along.scaled(along.value * factor, factor);
                output += 1;
            }
            let count = if ALONE { 1 } else { D::COUNT };
            let mut component = 0;
            while component < count {
                let others = D::COUNT - 1 - component;
                let mut variable = 0;
                while variable < N {
                    let sum =
                        contracted::<T, D, N, O, ALONE>(&outputs, gradients, at, others, variable);
                    sink.put(component, variable, at, sum.element());
                    variable += 1;
                }
                let mut output = 0;
                // The derivative with respect to the last direction is the formula itself, and is never wanted.
                while !ALONE && others > 0 && output < O {
                    let derivative = outputs[output].as_ref()[others].value;
                    sink.put(component, N + output, at, derivative.element());
                    output += 1;
                }
                component += 1;
            }
        }
    }
}

/// Returns the component `others` of Σₖ gₖ ∂fₖ, along one variable.
#[inline(always)]
fn contracted<T: Element, D: Order, const N: usize, const O: usize, const ALONE: bool>(
    outputs: &[D::Of<Dual<T::Number, N>>; O],
    gradients: &[[&[T]; O]],
    at: usize,
    others: usize,
    variable: usize,
) -> T::Number {
    let (mut sum, mut is_empty) = (T::Number::from(0.0), true);
    let mut output = 0;
    while output < O {
        let mut of_gradient = 0;
        while of_gradient < if ALONE { 1 } else { D::COUNT } {
            if of_gradient & !others == 0
                && let Some(slope) =
                    outputs[output].as_ref()[others ^ of_gradient].tangent(variable)
            {
                let gradient = T::Number::of(gradients[of_gradient][output][at]);
                let product = gradient * slope;
                // The direction may be missing for some inputs: then no slope makes NaN of it.
                let vanishes = of_gradient > 0 && gradient == 0.0;
                let product = if vanishes { gradient } else { product };
                if is_empty {
                    (sum, is_empty) = (product, false);
                } else {
                    sum += product;
                }
            }
            of_gradient += 1;
        }
        output += 1;
    }
    sum
}
