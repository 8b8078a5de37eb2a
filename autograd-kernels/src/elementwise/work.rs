//! The loops over a block of elements, and where their results go.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::angles::{Angles, OfAngles, written_have_nan};
use super::dual::Dual;
use super::each::{each, each_of_many};
use super::entries::{Elements, Place};
use super::evaluation::{BLOCK, LANES, Results};
use super::formula::{Formula, compiled_for, compiled_into};
use super::item::{Spot, common_width, part, slices, spots};
use super::order::{Order, Variables, reversed};
use super::terms::Terms;
use crate::element::Element;
use crate::element::number::Number;
use crate::loops::prefetch::prefetch;
use crate::loops::wide::{Loop, LoopInto};

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
    #[cfg_attr(optimized, inline(always))]
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
    #[cfg_attr(optimized, inline(always))]
    fn places(self) -> impl Iterator<Item = Place> {
        (0..self.padded).map(Place)
    }

    /// Returns its number among all parts.
    #[cfg_attr(optimized, inline(always))]
    fn number(self) -> usize {
        self.start / BLOCK
    }

    /// Returns its elements among all, of which `first` is that of the results' first.
    #[cfg_attr(optimized, inline(always))]
    fn elements(self, first: usize) -> Elements {
        Elements {
            first: first + self.start,
            count: self.length,
        }
    }

    /// Returns this part of the slices of `N` numbers, a slice for each number.
    #[cfg_attr(optimized, inline(always))]
    fn of<'a, T: Copy, const N: usize>(
        self,
        inputs: &[&'a [T]],
        spots: [Spot; N],
    ) -> [Input<'a, T>; N] {
        let mut parts = [Input(&[]); N];
        each!(index < N => {
            let Spot { slice, width, .. } = spots[index];
            let input = inputs[slice];
            let start = if input.len() <= BLOCK * width { 0 } else { self.start * width };
            parts[index] = Input(&input[start..][..self.padded * width]);
        });
        parts
    }

    /// Asks for the memory of the results that are wanted: while they are computed, it is on its way.
    #[cfg_attr(optimized, inline(always))]
    fn prefetch<T>(self, spots: &[Spot], results: &[&mut [MaybeUninit<T>]]) {
        for Spot {
            slice,
            offset,
            width,
        } in spots
        {
            if *offset == 0 && !results[*slice].is_empty() {
                prefetch(&results[*slice][self.start * width..][..self.length * width]);
            }
        }
    }

    /// Copies the blocks of numbers to the slices of results that are wanted. With `are_whole`, those of a slice have its
    /// elements in their order.
    #[cfg_attr(optimized, inline(always))]
    fn copy<T: Copy>(
        self,
        blocks: &[Block<T>],
        spots: &[Spot],
        are_whole: bool,
        results: &mut [&mut [MaybeUninit<T>]],
    ) {
        for (number, Spot { slice, width, .. }) in spots.iter().enumerate() {
            if spots[number].offset > 0 || results[*slice].is_empty() {
                continue;
            }
            let result = &mut results[*slice][self.start * width..];
            let result = &mut result[..self.length * width];
            let blocks = &blocks[number..number + width];
            match (result.first_chunk_mut(), blocks) {
                // Of a length that the compiler knows.
                (Some(whole), [block]) => *whole = *block,
                _ if are_whole => {
                    result.copy_from_slice(&blocks.as_flattened()[..result.len()]);
                }
                _ => {
                    // No iterators over blocks: to compare their addresses would let the compiler take them for inputs.
                    for number in 0..*width {
                        for at in 0..self.length {
                            result[at * width + number] = blocks[number][at];
                        }
                    }
                }
            }
        }
    }
}

/// A part of an input, with an element for each place of the part, or a row.
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
    #[cfg_attr(optimized, inline(always))]
    pub(crate) unsafe fn at(self, place: Place) -> T {
        // SAFETY: the slice has as many elements as the part has places.
        unsafe { *self.0.get_unchecked(place.0) }
    }

    /// Returns the number of the row at a place.
    ///
    /// # Safety
    /// As above, and the spot is one in a slice of such rows.
    #[expect(unsafe_code, reason = "see above")]
    #[cfg_attr(optimized, inline(always))]
    unsafe fn of_row(self, place: Place, spot: Spot) -> T {
        // SAFETY: the slice has as many rows as the part has places.
        unsafe { *self.0.get_unchecked(place.0 * spot.width + spot.offset) }
    }
}

/// Returns how many elements the results that are wanted have; or rows.
fn length<T>(results: &[&mut [MaybeUninit<T>]], spots: &[Spot]) -> usize {
    let length = |spot: &Spot| results[spot.slice].len() / spot.width;
    spots.iter().map(length).max().unwrap_or(0)
}

pub(crate) type Block<T> = [MaybeUninit<T>; BLOCK];

/// A place that elements of results are written to.
pub(super) trait Sink<T> {
    /// Writes an element of a result of one component.
    fn put(&mut self, component: usize, result: usize, at: Place, element: T);
}

impl<T, S: Sink<T>> Sink<T> for &mut S {
    #[cfg_attr(optimized, inline(always))]
    fn put(&mut self, component: usize, result: usize, at: Place, element: T) {
        (**self).put(component, result, at, element);
    }
}

/// A place for results that may be computed again, if one of them is NaN.
trait Checked<T>: Sink<T> {
    /// Returns whether a result of a part, all of which were written, is NaN.
    fn has_nan(&self, part: Part) -> bool;
}

/// Writes an element of a block.
#[cfg_attr(optimized, inline(always))]
pub(crate) fn write<T>(block: &mut Block<T>, at: Place, element: T) {
    // SAFETY: places are less than the length of a block.
    #[expect(unsafe_code, reason = "see above")]
    let place = unsafe { block.get_unchecked_mut(at.0) };
    *place = MaybeUninit::new(element);
}

/// A block for each result of the only component, which work `W` writes.
struct OfOne<'a, T, W, const N: usize>(&'a mut [Block<T>; N], PhantomData<W>);

impl<T, W: Work<T, N>, const N: usize> OfOne<'_, T, W, N> {
    /// Whether the elements of a slice have the order that they have in the result.
    const ARE_WHOLE: bool = common_width(&W::SPOTS).is_some();
}

impl<T, W: Work<T, N>, const N: usize> Sink<T> for OfOne<'_, T, W, N> {
    #[cfg_attr(optimized, inline(always))]
    fn put(&mut self, _component: usize, result: usize, at: Place, element: T) {
        if const { !Self::ARE_WHOLE } {
            return write(&mut self.0[result], at, element);
        }
        let Spot { offset, width, .. } = const { &W::SPOTS }[result];
        let blocks = self.0.as_flattened_mut();
        // SAFETY: places are less than the length of a block, and the slice has as many blocks as its rows have numbers.
        #[expect(unsafe_code, reason = "see above")]
        let place =
            unsafe { blocks.get_unchecked_mut((result - offset) * BLOCK + at.0 * width + offset) };
        *place = MaybeUninit::new(element);
    }
}

impl<T: Element, W: Work<T, N>, const N: usize> Checked<T> for OfOne<'_, T, W, N> {
    #[cfg_attr(optimized, inline(always))]
    fn has_nan(&self, part: Part) -> bool {
        let mut any = false;
        each!(result < N => {
            let Spot { offset, width, .. } = const { &W::SPOTS }[result];
            let (blocks, width) = match (Self::ARE_WHOLE, offset) {
                (false, _) => (1, 1),
                (true, 0) => (width, width),
                (true, _) => (0, 0),
            };
            let blocks = self.0[result..result + blocks].as_flattened();
            // SAFETY: so many places of each number were written; those of a slice are at its beginning.
            #[expect(unsafe_code, reason = "see above")]
            let of_result = unsafe { written_have_nan(&blocks[..part.padded * width]) };
            any |= of_result;
        });
        any
    }
}

/// The slice of results that are the numbers of one item, with a row of `N` for each place.
struct InPlace<'a, T, const N: usize>(&'a mut [MaybeUninit<T>]);

impl<T, const N: usize> Sink<T> for InPlace<'_, T, N> {
    #[cfg_attr(optimized, inline(always))]
    fn put(&mut self, _component: usize, result: usize, at: Place, element: T) {
        // SAFETY: the slice has as many rows as the part has places.
        #[expect(unsafe_code, reason = "see above")]
        let place = unsafe { self.0.get_unchecked_mut(at.0 * N + result) };
        *place = MaybeUninit::new(element);
    }
}

impl<T: Element, const N: usize> Checked<T> for InPlace<'_, T, N> {
    #[cfg_attr(optimized, inline(always))]
    fn has_nan(&self, part: Part) -> bool {
        // SAFETY: there was a row written for each place of the part.
        #[expect(unsafe_code, reason = "see above")]
        unsafe {
            written_have_nan(&self.0[..part.padded * N])
        }
    }
}

/// Blocks for each component: `N` derivatives with respect to inputs, then `O` with respect to gradients.
struct Components<T: Copy, D: Order, const N: usize, const O: usize> {
    of_inputs: D::Of<[Block<T>; N]>,
    of_gradients: D::Of<[Block<T>; O]>,
    /// Whether there are those, of all components but the last.
    has_gradients: bool,
}

impl<T: Copy, D: Order, const N: usize, const O: usize> Sink<T> for Components<T, D, N, O> {
    #[cfg_attr(optimized, inline(always))]
    fn put(&mut self, component: usize, result: usize, at: Place, element: T) {
        let block = if result < N {
            &mut self.of_inputs.as_mut()[component][result]
        } else {
            &mut self.of_gradients.as_mut()[component][result - N]
        };
        write(block, at, element);
    }
}

impl<T: Element, D: Order, const N: usize, const O: usize> Checked<T>
    for &mut Components<T, D, N, O>
{
    #[cfg_attr(optimized, inline(always))]
    fn has_nan(&self, part: Part) -> bool {
        let mut any = false;
        for component in 0..D::COUNT {
            for block in &self.of_inputs.as_ref()[component] {
                // SAFETY: so many places were written.
                #[expect(unsafe_code, reason = "see above")]
                let of_block = unsafe { written_have_nan(&block[..part.padded]) };
                any |= of_block;
            }
            if !self.has_gradients || component + 1 == D::COUNT {
                continue;
            }
            for block in &self.of_gradients.as_ref()[component] {
                // SAFETY: as above.
                #[expect(unsafe_code, reason = "see above")]
                let of_block = unsafe { written_have_nan(&block[..part.padded]) };
                any |= of_block;
            }
        }
        any
    }
}

/// The computation of a part of the results.
pub(super) trait Work<T, const N: usize> {
    /// Where the results are.
    const SPOTS: [Spot; N];

    /// Whether results are NaN where they depend on an angle that is: see [`Formula::HAS_ANGLES`].
    const HAS_ANGLES: bool;

    /// Computes the results by numbers of a type.
    fn each<M: Number<T>>(&self, part: Part, sink: impl Sink<T>);
}

/// A part of work, with the place of its results.
struct OfPart<'a, W, S, const N: usize> {
    work: &'a W,
    part: Part,
    sink: S,
}

impl<T: Element, W: Work<T, N>, S: Checked<T>, const N: usize> OfAngles<T> for OfPart<'_, W, S, N> {
    const HAS_ANGLES: bool = W::HAS_ANGLES;

    #[cfg_attr(optimized, inline(always))]
    fn compute<M: Number<T>>(&mut self) {
        self.work.each::<M>(self.part, &mut self.sink);
    }

    #[cfg_attr(optimized, inline(always))]
    fn has_nan(&self) -> bool {
        self.sink.has_nan(self.part)
    }
}

/// Writes the `N` results of work: those of a single item where they belong, others by a block for each.
pub(super) fn one_component<F, T, W, const I: usize, const O: usize, const N: usize>(
    work: W,
    results: Results<'_, '_, T>,
) where
    F: Formula<I, O>,
    T: Element,
    W: Work<T, N>,
{
    if const { !matches!(common_width(&W::SPOTS), Some(width) if width == N) } {
        return compiled_for::<F, I, O>(OneComponent::<_, _, N>(work, results));
    }
    let result = &mut *results[0];
    let length = result.len() / N;
    let start = length - length % LANES;
    let (whole, rest) = result.split_at_mut(start * N);
    let into = |start, count, out: &mut [_]| {
        let work = Direct::<_, N> {
            work: &work,
            start,
            count,
        };
        compiled_into::<F, _, I, O>(work, out);
    };
    if !whole.is_empty() {
        into(0, start, whole);
    }
    if !rest.is_empty() {
        let mut spare = [[MaybeUninit::uninit(); LANES]; N];
        let spare = spare.as_flattened_mut();
        into(start, length - start, spare);
        rest.copy_from_slice(&spare[..rest.len()]);
    }
}

/// A loop over work whose results are the numbers of one item, in a slice for as many as are a multiple of [`LANES`].
struct Direct<'a, W, const N: usize> {
    work: &'a W,
    /// The place of the first result.
    start: usize,
    count: usize,
}

impl<T: Element, W: Work<T, N>, const N: usize> LoopInto<MaybeUninit<T>> for Direct<'_, W, N> {
    #[cfg_attr(optimized, inline(always))]
    fn run_into(self, out: &mut [MaybeUninit<T>]) {
        let mut angles = Angles::new(true);
        for part in Part::all(self.count) {
            let out = &mut out[part.start * N..][..part.padded * N];
            let start = self.start + part.start;
            angles.compute(
                part.number(),
                OfPart {
                    work: self.work,
                    part: Part { start, ..part },
                    sink: InPlace::<T, N>(out),
                },
            );
        }
    }
}

/// A loop over work that has `N` results.
struct OneComponent<'a, 'b, T, W, const N: usize>(W, Results<'a, 'b, T>);

impl<T: Element, W: Work<T, N>, const N: usize> Loop for OneComponent<'_, '_, T, W, N> {
    #[cfg_attr(optimized, inline(always))]
    fn run(self) {
        let Self(work, results) = self;
        // Constants in memory: of a copy that a function borrows, the compiler may read the strides in the loop.
        let spots = const { &W::SPOTS };
        let mut angles = Angles::new(true);
        for part in Part::all(length(results, spots)) {
            let mut spare = [[MaybeUninit::uninit(); BLOCK]; N];
            part.prefetch(spots, results);
            angles.compute(
                part.number(),
                OfPart {
                    work: &work,
                    part,
                    sink: OfOne::<_, W, N>(&mut spare, PhantomData),
                },
            );
            let are_whole = OfOne::<T, W, N>::ARE_WHOLE;
            part.copy(&spare, spots, are_whole, results);
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
    #[cfg_attr(optimized, inline(always))]
    fn run(self) {
        let Self(work, results) = self;
        let are_pairs = F::OF_PAIRS;
        let of_inputs = const { &part::<N>(&spots::<I>(F::INPUTS, F::OF_PAIRS), V::START) };
        let of_gradients = const { &spots::<O>(F::OUTPUTS, F::OF_PAIRS) };
        let first = const { spots::<I>(F::INPUTS, F::OF_PAIRS) }[V::START].slice;
        let (count, outputs) = (slices(F::INPUTS, are_pairs), slices(F::OUTPUTS, are_pairs));
        let mut longest = 0;
        for component in 0..D::COUNT {
            let results = &results[component * (count + outputs)..];
            longest = longest.max(length(&results[first..], of_inputs));
            longest = longest.max(length(&results[count..], of_gradients));
        }
        let mut angles = Angles::new(true);
        for part in Part::all(longest) {
            let mut blocks = Components::<T, D, N, O> {
                of_inputs: D::filled([[MaybeUninit::uninit(); BLOCK]; N]),
                of_gradients: D::filled([[MaybeUninit::uninit(); BLOCK]; O]),
                has_gradients: V::START == 0,
            };
            angles.compute(
                part.number(),
                OfPart::<_, _, N> {
                    work: &work,
                    part,
                    sink: &mut blocks,
                },
            );
            for component in 0..D::COUNT {
                let results = &mut results[component * (count + outputs)..];
                let (to_inputs, to_gradients) = results.split_at_mut(count);
                let own = &blocks.of_inputs.as_ref()[component];
                part.copy(own, of_inputs, false, &mut to_inputs[first..]);
                // The first group's loop has them.
                if V::START == 0 {
                    let own = &blocks.of_gradients.as_ref()[component];
                    part.copy(own, of_gradients, false, to_gradients);
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

impl<T: Element, F: Formula<I, O>, const I: usize, const O: usize> Work<T, O>
    for ValueWork<'_, T, F, I, O>
{
    const HAS_ANGLES: bool = F::HAS_ANGLES;
    const SPOTS: [Spot; O] = spots(F::OUTPUTS, F::OF_PAIRS);

    #[cfg_attr(optimized, inline(always))]
    fn each<M: Number<T>>(&self, part: Part, mut sink: impl Sink<T>) {
        let spots = const { spots::<I>(F::INPUTS, F::OF_PAIRS) };
        let (formula, x) = (self.formula, part.of::<T, I>(self.inputs, spots));
        let entries = formula.entries(part.elements(self.first));
        for at in part.places() {
            let mut numbers = [Dual::constant(M::from(0.0)); I];
            each!(input < I => {
                // SAFETY: a place of this part.
                #[expect(unsafe_code, reason = "see above")]
                let value = unsafe { x[input].of_row(at, spots[input]) };
                numbers[input] = Dual::<M, 0>::constant(M::of(value));
            });
            let outputs = formula.outputs(&entries, at, numbers);
            each!(output < O => {
                sink.put(0, output, at, outputs[output].value.element());
            });
        }
    }
}

/// The derivatives of the outputs along one direction.
pub(super) struct TangentWork<'a, T, F, const I: usize, const O: usize> {
    pub(super) formula: &'a F,
    pub(super) first: usize,
    pub(super) inputs: &'a [&'a [T]],
}

impl<T: Element, F: Formula<I, O>, const I: usize, const O: usize> Work<T, O>
    for TangentWork<'_, T, F, I, O>
{
    const HAS_ANGLES: bool = F::HAS_ANGLES;
    const SPOTS: [Spot; O] = spots(F::OUTPUTS, F::OF_PAIRS);

    #[cfg_attr(optimized, inline(always))]
    fn each<M: Number<T>>(&self, part: Part, mut sink: impl Sink<T>) {
        let spots = const { spots::<I>(F::INPUTS, F::OF_PAIRS) };
        let (x, directions) = self.inputs.split_at(self.inputs.len() / 2);
        let (x, directions) = (
            part.of::<T, I>(x, spots),
            part.of::<T, I>(directions, spots),
        );
        let formula = self.formula;
        let entries = formula.entries(part.elements(self.first));
        for at in part.places() {
            let mut numbers = [Dual::constant(M::from(0.0)); I];
            each!(input < I => {
                // SAFETY: a place of this part.
                #[expect(unsafe_code, reason = "see above")]
                let (value, direction) = unsafe {
                    (
                        x[input].of_row(at, spots[input]),
                        directions[input].of_row(at, spots[input]),
                    )
                };
                let (value, direction) = (M::of(value), M::of(direction));
                numbers[input] = Dual::along(value, [direction], I > 1);
            });
            let outputs = formula.outputs(&entries, at, numbers);
            each!(output < O => {
                sink.put(0, output, at, outputs[output].signed(0).element());
            });
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

impl<T, F, D, V, const I: usize, const O: usize, const N: usize, const ALONE: bool> Work<T, N>
    for PartialWork<'_, T, F, D, V, I, O, N, ALONE>
where
    T: Element,
    F: Formula<I, O>,
    D: Order,
    V: Variables,
{
    const HAS_ANGLES: bool = F::HAS_ANGLES;
    const SPOTS: [Spot; N] = part(&spots::<I>(F::INPUTS, F::OF_PAIRS), V::START);

    #[cfg_attr(optimized, inline(always))]
    fn each<M: Number<T>>(&self, part: Part, mut sink: impl Sink<T>) {
        let mut x = D::filled([Input::<T>(&[]); I]);
        let mut gradients = D::filled([Input::<T>(&[]); O]);
        let are_pairs = F::OF_PAIRS;
        let of_inputs = const { spots::<I>(F::INPUTS, F::OF_PAIRS) };
        let of_outputs = const { spots::<O>(F::OUTPUTS, F::OF_PAIRS) };
        let (count, outputs) = (slices(F::INPUTS, are_pairs), slices(F::OUTPUTS, are_pairs));
        for component in 0..D::COUNT {
            let inputs = &self.inputs[component * (count + outputs)..];
            x.as_mut()[component] = part.of::<T, I>(inputs, of_inputs);
            gradients.as_mut()[component] = part.of::<T, O>(&inputs[count..], of_outputs);
        }
        let (formula, x, gradients) = (self.formula, x.as_ref(), gradients.as_ref());
        if const { F::IS_REVERSED } {
            return self.reversed::<M>(part, x, gradients, sink);
        }
        // A derivative along the only direction of the only input is that direction times a slope. The slope has the
        // same factors as the partial derivatives, which are then computed once.
        let is_factor = const { I == 1 && D::COUNT == 2 };
        let entries = formula.entries(part.elements(self.first));
        for at in part.places() {
            let zero = Dual::<M, N>::constant(M::from(0.0));
            let mut numbers = [D::filled(zero); I];
            each!(input < I => {
                let mut components = D::filled(zero);
                each!(component < D::COUNT => {
                    // SAFETY: a place of this part.
                    #[expect(unsafe_code, reason = "see above")]
                    let value = unsafe { x[component][input].of_row(at, of_inputs[input]) };
                    let value = M::of(value);
                    components.as_mut()[component] = match V::place(input) {
                        Some(place) if component == 0 => Dual::variable(value, place),
                        _ if is_factor => Dual::constant(M::from(1.0)),
                        _ => Dual::constant(value),
                    };
                });
                numbers[input] = components;
            });
            let mut outputs = D::call(formula, &entries, at, numbers);
            if is_factor {
                each!(output < O => {
                    let along = &mut outputs[output].as_mut()[1];
                    // SAFETY: a place of this part.
                    #[expect(unsafe_code, reason = "see above")]
                    let factor = M::of(unsafe { x[1][0].at(at) });
                    *along = along.scaled(along.value * factor, factor);
                });
            }
            each!(component < if ALONE { 1 } else { D::COUNT } => {
                let others = D::COUNT - 1 - component;
                each!(variable < N => {
                    // SAFETY: a place of this part.
                    #[expect(unsafe_code, reason = "see above")]
                    let sum = unsafe {
                        contracted::<T, M, D, N, O, ALONE>(
                            &outputs,
                            (gradients, of_outputs),
                            at,
                            others,
                            variable,
                        )
                    };
                    sink.put(component, variable, at, sum.element());
                });
                // The derivative with respect to the last direction is the formula itself, and is never wanted.
                if !ALONE && V::START == 0 && others > 0 {
                    each!(output < O => {
                        let derivative = outputs[output].as_ref()[others].value;
                        sink.put(component, N + output, at, derivative.element());
                    });
                }
            });
        }
    }
}

impl<T, F, D, V, const I: usize, const O: usize, const N: usize, const ALONE: bool>
    PartialWork<'_, T, F, D, V, I, O, N, ALONE>
where
    T: Element,
    F: Formula<I, O>,
    D: Order,
    V: Variables,
{
    /// Computes the partial derivatives in reverse, of inputs and gradients with these components.
    #[cfg_attr(optimized, inline(always))]
    fn reversed<M: Number<T>>(
        &self,
        part: Part,
        x: &[[Input<'_, T>; I]],
        gradients: &[[Input<'_, T>; O]],
        mut sink: impl Sink<T>,
    ) {
        let of_inputs = const { spots::<I>(F::INPUTS, F::OF_PAIRS) };
        let of_outputs = const { spots::<O>(F::OUTPUTS, F::OF_PAIRS) };
        let entries = self.formula.entries(part.elements(self.first));
        for at in part.places() {
            let zero = D::filled(M::from(0.0));
            let (mut numbers, mut of_results) = ([zero; I], [zero; O]);
            each!(component < D::COUNT => {
                each_of_many!(input < I => {
                    // SAFETY: a place of this part.
                    #[expect(unsafe_code, reason = "see above")]
                    let value = unsafe { x[component][input].of_row(at, of_inputs[input]) };
                    numbers[input].as_mut()[component] = M::of(value);
                });
                if component == 0 || !ALONE {
                    each!(output < O => {
                        // SAFETY: a place of this part.
                        #[expect(unsafe_code, reason = "see above")]
                        let value =
                            unsafe { gradients[component][output].of_row(at, of_outputs[output]) };
                        of_results[output].as_mut()[component] = M::of(value);
                    });
                }
            });
            let (sums, results) =
                reversed::<D, _, _, I, O>(self.formula, &entries, at, numbers, of_results);
            each!(component < if ALONE { 1 } else { D::COUNT } => {
                let others = D::COUNT - 1 - component;
                each_of_many!(variable < N => {
                    let sum = sums[V::START + variable].as_ref()[others];
                    sink.put(component, variable, at, sum.element());
                });
                // As above.
                if !ALONE && V::START == 0 && others > 0 {
                    each!(output < O => {
                        let derivative = results[output].as_ref()[others];
                        sink.put(component, N + output, at, derivative.element());
                    });
                }
            });
        }
    }
}

/// Returns the component `others` of Σₖ gₖ ∂fₖ, along one variable.
///
/// # Safety
/// The place is one of the part that the gradients were made for.
#[expect(unsafe_code, reason = "see above")]
#[cfg_attr(optimized, inline(always))]
unsafe fn contracted<
    T: Element,
    M: Number<T>,
    D: Order,
    const N: usize,
    const O: usize,
    const ALONE: bool,
>(
    outputs: &[D::Of<Dual<M, N>>; O],
    (gradients, spots): (&[[Input<'_, T>; O]], [Spot; O]),
    at: Place,
    others: usize,
    variable: usize,
) -> M {
    let mut terms = Terms::none();
    each!(output < O => {
        each!(of_gradient < if ALONE { 1 } else { D::COUNT } => {
            if of_gradient & !others == 0 {
                let slopes = &outputs[output].as_ref()[others ^ of_gradient];
                // SAFETY: as the caller promises.
                let gradient = unsafe { gradients[of_gradient][output].of_row(at, spots[output]) };
                let gradient = M::of(gradient);
                let product = gradient * slopes.signed(variable);
                // The direction may be missing for some inputs: then no slope makes NaN of it.
                let vanishes = of_gradient > 0 && gradient == 0.0;
                let product = if vanishes { gradient } else { product };
                terms.add(product, slopes.has(variable));
            }
        });
    });
    terms.sum()
}
