//! The loops over a block of elements, and where their results go.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::slice::from_mut;

use super::dual::Dual;
use super::entries::{Elements, Place};
use super::evaluation::{BLOCK, LANES, Results};
use super::formula::Formula;
use super::order::{Order, Variables};
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
            assert!(padded <= BLOCK, "a multiple");
            Self {
                start,
                length,
                padded,
            }
        })
    }

    /// Returns the places of the elements.
    #[inline(always)]
    fn places(self) -> impl Iterator<Item = Place> {
        (0..self.padded).map(Place)
    }

    /// Returns its elements among all, of which `first` is that of the results' first.
    #[inline(always)]
    fn elements(self, first: usize) -> Elements {
        Elements {
            first: first + self.start,
            count: self.length,
        }
    }

    /// Returns this part of `N` inputs.
    #[inline(always)]
    fn of<'a, T: Copy, const N: usize>(self, inputs: &[&'a [T]]) -> [Input<'a, T>; N] {
        let mut parts = [Input(&[]); N];
        let mut index = 0;
        while index < N {
            let input = inputs[index];
            let start = if input.len() <= BLOCK { 0 } else { self.start };
            parts[index] = Input(&input[start..][..self.padded]);
            index += 1;
        }
        parts
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

/// A part of an input, with an element for each place of the part.
///
/// Elements are read and written without checks of their index. The compiler removes such checks where it can prove
/// them, which depends on how a program is divided into units; a check that stays makes the last elements of each
/// block run one by one.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a, T>(pub(crate) &'a [T]);

impl<T: Copy> Input<'_, T> {
    /// Returns the element at a place.
    ///
    /// # Safety
    /// The place is one of the part that the input was made for.
    #[expect(unsafe_code, reason = "see above")]
    #[inline(always)]
    pub(crate) unsafe fn at(self, place: Place) -> T {
        // SAFETY: the slice has as many elements as the part has places.
        unsafe { *self.0.get_unchecked(place.0) }
    }
}

/// Returns how many elements the results that are wanted have.
fn length<T>(results: &[&mut [MaybeUninit<T>]]) -> usize {
    results.iter().map(|result| result.len()).max().unwrap_or(0)
}

pub(crate) type Block<T> = [MaybeUninit<T>; BLOCK];

/// The most slices that are read beside a result that is written directly. Such a loop first compares the addresses of
/// all with that of the result, which for more slices takes longer than to copy a block.
const MOST_READS: usize = 7;

/// A place that elements of results are written to.
pub(super) trait Sink<T> {
    /// Writes an element of a result of one component.
    fn put(&mut self, component: usize, result: usize, at: Place, element: T);
}

/// Writes an element of a block.
#[inline(always)]
pub(crate) fn write<T>(block: &mut Block<T>, at: Place, element: T) {
    // SAFETY: places are less than the length of a block.
    #[expect(unsafe_code, reason = "see above")]
    let place = unsafe { block.get_unchecked_mut(at.0) };
    *place = MaybeUninit::new(element);
}

/// A block for each result of the only component.
impl<T, const N: usize> Sink<T> for &mut [Block<T>; N] {
    #[inline(always)]
    fn put(&mut self, _component: usize, result: usize, at: Place, element: T) {
        write(&mut self[result], at, element);
    }
}

/// Blocks for each component: `N` derivatives with respect to inputs, then `O` with respect to gradients.
struct Components<T: Copy, D: Order, const N: usize, const O: usize> {
    of_inputs: D::Of<[Block<T>; N]>,
    of_gradients: D::Of<[Block<T>; O]>,
}

impl<T: Copy, D: Order, const N: usize, const O: usize> Sink<T> for &mut Components<T, D, N, O> {
    #[inline(always)]
    fn put(&mut self, component: usize, result: usize, at: Place, element: T) {
        let block = if result < N {
            &mut self.of_inputs.as_mut()[component][result]
        } else {
            &mut self.of_gradients.as_mut()[component][result - N]
        };
        write(block, at, element);
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

/// A loop that computes derivatives with respect to all components of the variables and of the gradients.
pub(super) struct AllComponents<'a, 'b, T, F, D, V, const I: usize, const O: usize, const N: usize>(
    pub(super) PartialWork<'a, T, F, D, V, I, O, N, false>,
    pub(super) Results<'a, 'b, T>,
);

impl<T, F, D, V, const I: usize, const O: usize, const N: usize> Loop
    for AllComponents<'_, '_, T, F, D, V, I, O, N>
where
    T: Element,
    F: Formula<I, O>,
    D: Order,
    V: Variables,
{
    #[inline(always)]
    fn run(self) {
        let Self(work, results) = self;
        for part in Part::all(length(results)) {
            let mut blocks = Components::<T, D, N, O> {
                of_inputs: D::filled([[MaybeUninit::uninit(); BLOCK]; N]),
                of_gradients: D::filled([[MaybeUninit::uninit(); BLOCK]; O]),
            };
            work.each(part, &mut blocks);
            for component in 0..D::COUNT {
                let (to_inputs, to_gradients) = results[component * (I + O)..].split_at_mut(I);
                part.copy(
                    &blocks.of_inputs.as_ref()[component],
                    &mut to_inputs[V::START..],
                );
                // The first group's loop has them.
                if V::START == 0 {
                    part.copy(&blocks.of_gradients.as_ref()[component], to_gradients);
                }
            }
        }
    }
}

/// The outputs.
pub(super) struct ValueWork<'a, T, F, const I: usize, const O: usize> {
    pub(super) formula: &'a F,
    pub(super) first: usize,
    pub(super) inputs: &'a [&'a [T]],
}

impl<T: Element, F: Formula<I, O>, const I: usize, const O: usize> Work<T>
    for ValueWork<'_, T, F, I, O>
{
    const READS: usize = I;

    #[inline(always)]
    fn each(&self, part: Part, mut sink: impl Sink<T>) {
        let (formula, x) = (self.formula, part.of::<T, I>(self.inputs));
        let entries = formula.entries(part.elements(self.first));
        for at in part.places() {
            let mut numbers = [Dual::constant(T::Number::from(0.0)); I];
            let mut input = 0;
            while input < I {
                // SAFETY: a place of this part.
                #[expect(unsafe_code, reason = "see above")]
                let value = unsafe { x[input].at(at) };
                numbers[input] = Dual::<T::Number, 0>::constant(T::Number::of(value));
                input += 1;
            }
            let outputs = formula.at(&entries, at, numbers);
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
    pub(super) first: usize,
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
        let entries = formula.entries(part.elements(self.first));
        for at in part.places() {
            let mut numbers = [Dual::constant(T::Number::from(0.0)); I];
            let mut input = 0;
            while input < I {
                // SAFETY: a place of this part.
                #[expect(unsafe_code, reason = "see above")]
                let (value, direction) = unsafe { (x[input].at(at), directions[input].at(at)) };
                let (value, direction) = (T::Number::of(value), T::Number::of(direction));
                numbers[input] = Dual::along(value, [direction], I > 1);
                input += 1;
            }
            let outputs = formula.at(&entries, at, numbers);
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
    first: usize,
    inputs: &'a [&'a [T]],
    of: PhantomData<(D, V)>,
}

impl<'a, T, F, D, V, const I: usize, const O: usize, const N: usize, const ALONE: bool>
    PartialWork<'a, T, F, D, V, I, O, N, ALONE>
{
    pub(super) fn new(formula: &'a F, first: usize, inputs: &'a [&'a [T]]) -> Self {
        Self {
            formula,
            first,
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
        let mut x = D::filled([Input::<T>(&[]); I]);
        let mut gradients = D::filled([Input::<T>(&[]); O]);
        for component in 0..D::COUNT {
            let inputs = &self.inputs[component * (I + O)..];
            x.as_mut()[component] = part.of::<T, I>(inputs);
            gradients.as_mut()[component] = part.of::<T, O>(&inputs[I..]);
        }
        let (formula, x, gradients) = (self.formula, x.as_ref(), gradients.as_ref());
        // A derivative along the only direction of the only input is that direction times a slope. The slope has the
        // same factors as the partial derivatives, which are then computed once.
        let is_factor = const { I == 1 && D::COUNT == 2 };
        let entries = formula.entries(part.elements(self.first));
        for at in part.places() {
            let zero = Dual::<T::Number, N>::constant(T::Number::from(0.0));
            let mut numbers = [D::filled(zero); I];
            let mut input = 0;
            while input < I {
                let mut components = D::filled(zero);
                let mut component = 0;
                while component < D::COUNT {
                    // SAFETY: a place of this part.
                    #[expect(unsafe_code, reason = "see above")]
                    let value = T::Number::of(unsafe { x[component][input].at(at) });
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
            let mut outputs = D::call(formula, &entries, at, numbers);
            let mut output = 0;
            while is_factor && output < O {
                let along = &mut outputs[output].as_mut()[1];
                // SAFETY: a place of this part.
                #[expect(unsafe_code, reason = "see above")]
                let factor = T::Number::of(unsafe { x[1][0].at(at) });
                *along = along.scaled(along.value * factor, factor);
                output += 1;
            }
            let count = if ALONE { 1 } else { D::COUNT };
            let mut component = 0;
            while component < count {
                let others = D::COUNT - 1 - component;
                let mut variable = 0;
                while variable < N {
                    // SAFETY: a place of this part.
                    #[expect(unsafe_code, reason = "see above")]
                    let sum = unsafe {
                        contracted::<T, D, N, O, ALONE>(&outputs, gradients, at, others, variable)
                    };
                    sink.put(component, variable, at, sum.element());
                    variable += 1;
                }
                let mut output = 0;
                // The derivative with respect to the last direction is the formula itself, and is never wanted.
                while !ALONE && V::START == 0 && others > 0 && output < O {
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
///
/// # Safety
/// The place is one of the part that the gradients were made for.
#[expect(unsafe_code, reason = "see above")]
#[inline(always)]
unsafe fn contracted<T: Element, D: Order, const N: usize, const O: usize, const ALONE: bool>(
    outputs: &[D::Of<Dual<T::Number, N>>; O],
    gradients: &[[Input<'_, T>; O]],
    at: Place,
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
                // SAFETY: as the caller promises.
                let gradient = T::Number::of(unsafe { gradients[of_gradient][output].at(at) });
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
