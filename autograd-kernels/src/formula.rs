//! Loops over elements that compute a function of numbers, its derivatives, and derivatives of those.
//!
//! A function of numbers is written once, for any [`Real`]. Called with elements it gives values; with [`Dual`] numbers,
//! derivatives. [`Blocks`] has the loops, each a block of elements at a time; [`evaluate`] goes through arrays of any
//! layout with them, on all threads, and knows nothing of the function.
//!
//! # Partial derivatives
//!
//! Let f have the inputs x and the outputs y, and let g be gradients of y: c₀(x, g) = Σₖ gₖ fₖ(x). Its derivatives with
//! respect to x are what a backward pass wants. They are functions of x and g, which are differentiated again along
//! directions w: c₁(x, g, w) is the derivative of c₀ along w, and so on. [`Level`] counts this.
//!
//! At level l the inputs have 2ˡ components each: themselves, directions, and directions of directions, as dual numbers
//! of dual numbers have. Along the direction that was added last, f is differentiated last, which is innermost. So a
//! component's number has a bit for each direction, the first direction's the highest; a new direction is a new lowest
//! bit.
//!
//! In c, which is the component with all bits of Σₖ gₖ fₖ(x), a component S of x occurs where the others, W = ¬S, are the
//! derivatives': ∂c/∂xᵢ is the component W of Σₖ gₖ ∂ᵢfₖ, and ∂c/∂gₖ that of fₖ.

#![allow(
    clippy::inline_always,
    clippy::needless_range_loop,
    reason = "a loop is vector code only if all of its body is in it, without the branches of zipped iterators"
)]

use std::borrow::Cow;
use std::marker::PhantomData;
use std::mem::{MaybeUninit, take};
use std::slice::from_mut;

use ndarray::ArrayViewD;

use crate::checks::size;
use crate::element::Element;
use crate::elementwise::repeated;
use crate::lanes::rows;
use crate::memory;
use crate::parallel::{split_each_mut, worth};
use crate::real::{Dual, Literal, Number, Real};
use crate::wide::{Loop, widest};

/// How many elements are computed at a time. Results wait in buffers of that size, of which the compiler knows that they
/// are no inputs.
const BLOCK: usize = 256;

/// Elements are computed in multiples of this, as many as the widest registers have: a loop over fewer would compute
/// the last ones alone, each in the time of a whole row.
const LANES: usize = 16;

/// A function of `I` numbers with `O` results.
#[doc(hidden)]
pub trait Formula<const I: usize, const O: usize>: Send + Sync {
    /// Computes it.
    fn at<R: Real>(&self, inputs: [R; I]) -> [R; O]
    where
        f64: Literal<R>;

    /// Calls `note` with the type and the size of each value that it holds.
    fn list_values(&self, _note: &mut dyn FnMut(&'static str, usize)) {}
}

/// Calls `note` with the type and the size of a value.
#[doc(hidden)]
pub fn list_value<V>(_value: &V, note: &mut dyn FnMut(&'static str, usize)) {
    note(std::any::type_name::<V>(), size_of::<V>());
}

/// Returns Σₖ gₖ ∂fₖ with respect to each input that is not `held`, and the outputs.
#[doc(hidden)]
#[inline(always)]
pub fn pulled_back<F: Formula<I, O>, R: Real, const I: usize, const O: usize>(
    formula: &F,
    inputs: [R; I],
    gradients: [R; O],
    held: [bool; I],
) -> ([R; I], [R; O]) {
    let mut numbers = [Dual::<R, I>::from(0.0); I];
    let mut input = 0;
    while input < I {
        numbers[input] = if held[input] {
            Dual::constant(inputs[input])
        } else {
            Dual::variable(inputs[input], input)
        };
        input += 1;
    }
    let results = formula.at(numbers);
    let (mut sums, mut outputs) = ([R::from(0.0); I], [R::from(0.0); O]);
    let mut output = 0;
    while output < O {
        outputs[output] = results[output].value;
        let mut input = 0;
        while input < I {
            if let Some(slope) = results[output].tangent(input) {
                sums[input] += gradients[output] * slope;
            }
            input += 1;
        }
        output += 1;
    }
    (sums, outputs)
}

/// A formula with its loops, to be differentiated up to `ORDER` times.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Blocks<F, const I: usize, const O: usize, const ORDER: usize>(pub F);

/// What is computed.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// The outputs, of the inputs.
    Values,
    /// The derivatives of the outputs along a direction, of the inputs and a direction for each.
    Tangents,
    /// The derivatives of c at this level, of all components of the inputs and of the outputs' gradients: those of the
    /// component 0 first, and of these the inputs' first.
    Partials { level: usize },
}

/// Which results of a pass are computed.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    All,
    /// Of `Partials` at level 0, the derivative with respect to this input.
    Input(usize),
    /// Of `Partials` at level 1, those with respect to the inputs themselves, where no gradient has a direction.
    Inputs,
}

/// The loops of a formula, whatever it is.
#[doc(hidden)]
pub trait Loops<T: Element>: Send + Sync + sealed::Sealed {
    /// How many inputs it has.
    fn inputs(&self) -> usize;

    /// How many outputs it has.
    fn outputs(&self) -> usize;

    /// How often it can be differentiated.
    fn order(&self) -> usize;

    /// Calls `note` with the type and the size of each value that the formula holds.
    fn list_values(&self, note: &mut dyn FnMut(&'static str, usize));

    /// Writes all elements of all results that are `asked` for and not empty. Inputs have as many, up to a multiple of
    /// [`LANES`]; one of at most [`BLOCK`] is the same in each block.
    fn run(&self, pass: Pass, asked: Asked, inputs: &[&[T]], results: Results<'_, '_, T>);
}

type Results<'a, 'b, T> = &'a mut [&'b mut [MaybeUninit<T>]];

mod sealed {
    /// Memory is taken for written that only these loops are known to write.
    pub trait Sealed {}
}

impl<F, const I: usize, const O: usize, const ORDER: usize> sealed::Sealed
    for Blocks<F, I, O, ORDER>
{
}

impl<T: Element, F: Formula<I, O>, const I: usize, const O: usize, const ORDER: usize> Loops<T>
    for Blocks<F, I, O, ORDER>
{
    fn inputs(&self) -> usize {
        I
    }

    fn outputs(&self) -> usize {
        O
    }

    fn order(&self) -> usize {
        ORDER
    }

    fn list_values(&self, note: &mut dyn FnMut(&'static str, usize)) {
        self.0.list_values(note);
    }

    fn run(&self, pass: Pass, asked: Asked, inputs: &[&[T]], results: Results<'_, '_, T>) {
        let formula = &self.0;
        // Of one input and one output, the derivative times the direction is that times the gradient: one loop is enough.
        let pass = match pass {
            Pass::Tangents if const { I == 1 && O == 1 } => Pass::Partials { level: 0 },
            pass => pass,
        };
        match pass {
            Pass::Values => {
                let work = Values::<T, F, I, O> { formula, inputs };
                compiled(OneComponent::<_, _, O>(work, results));
            }
            Pass::Tangents => {
                if const { I > 1 || O > 1 } {
                    let work = Tangents::<T, F, I, O> { formula, inputs };
                    compiled(OneComponent::<_, _, O>(work, results));
                }
            }
            Pass::Partials { level: 0 } => self.first(asked, inputs, results),
            Pass::Partials { level: 1 } if const { ORDER > 1 } => {
                if asked == Asked::Inputs {
                    let work =
                        Partials::<_, _, Second, AllInputs, I, O, I, true>::new(formula, inputs);
                    compiled(OneComponent::<_, _, I>(work, results));
                } else {
                    let work =
                        Partials::<_, _, Second, AllInputs, I, O, I, false>::new(formula, inputs);
                    compiled(AllComponents::<_, _, Second, I, O>(
                        work,
                        results,
                        PhantomData,
                    ));
                }
            }
            Pass::Partials { level: 2 } if const { ORDER > 2 } => {
                let work = Partials::<_, _, Third, AllInputs, I, O, I, false>::new(formula, inputs);
                compiled(AllComponents::<_, _, Third, I, O>(
                    work,
                    results,
                    PhantomData,
                ));
            }
            Pass::Partials { level } => {
                unreachable!("level {level} of a formula of order {ORDER}")
            }
        }
    }
}

impl<F, const I: usize, const O: usize, const ORDER: usize> Blocks<F, I, O, ORDER> {
    /// Writes derivatives of level 0: a loop for each input alone, or one for all.
    fn first<T: Element>(&self, asked: Asked, inputs: &[&[T]], results: Results<'_, '_, T>)
    where
        F: Formula<I, O>,
    {
        macro_rules! alone {
            ($($index:literal)*) => {
                match asked {
                    $(Asked::Input($index) if const { is_one_of($index, I) } => {
                        let work = Partials::<_, _, First, OneInput<$index>, I, O, 1, true>::new(
                            &self.0, inputs,
                        );
                        compiled(OneComponent::<_, _, 1>(work, &mut results[$index..]));
                    })*
                    _ => {
                        let work = Partials::<_, _, First, AllInputs, I, O, I, true>::new(
                            &self.0, inputs,
                        );
                        compiled(OneComponent::<_, _, I>(work, results));
                    }
                }
            };
        }
        alone!(0 1 2 3 4 5 6 7 8 9 10 11);
    }
}

/// Returns whether there is such an input beside others.
const fn is_one_of(index: usize, inputs: usize) -> bool {
    inputs > 1 && index < inputs
}

/// Runs a loop, for the widest registers if the program is compiled for speed: in a debug build that would only be three
/// copies of slow code.
fn compiled(work: impl Loop) {
    if cfg!(debug_assertions) {
        work.run();
    } else {
        widest(work);
    }
}

/// Which inputs are variables.
trait Variables {
    /// Returns the place of an input among the variables.
    fn place(input: usize) -> Option<usize>;
}

struct AllInputs;

impl Variables for AllInputs {
    #[inline(always)]
    fn place(input: usize) -> Option<usize> {
        Some(input)
    }
}

struct OneInput<const INDEX: usize>;

impl<const INDEX: usize> Variables for OneInput<INDEX> {
    #[inline(always)]
    fn place(input: usize) -> Option<usize> {
        if input == INDEX { Some(0) } else { None }
    }
}

/// How often c has been differentiated along directions.
trait Level {
    /// The components of a number.
    type Of<X: Copy>: Copy + AsRef<[X]> + AsMut<[X]>;

    /// How many there are.
    const COUNT: usize;

    fn filled<X: Copy>(component: X) -> Self::Of<X>;

    /// Computes a formula of numbers with these components. Of several inputs, not all need have a direction.
    fn call<B: Real, F: Formula<I, O>, const N: usize, const I: usize, const O: usize>(
        formula: &F,
        inputs: [Self::Of<Dual<B, N>>; I],
    ) -> [Self::Of<Dual<B, N>>; O];
}

macro_rules! levels {
    ($($Level:ident: $count:literal, $Number:ty, $number:expr, $components:expr;)*) => {$(
        struct $Level;

        impl Level for $Level {
            type Of<X: Copy> = [X; $count];

            const COUNT: usize = $count;

            #[inline(always)]
            fn filled<X: Copy>(component: X) -> [X; $count] {
                [component; $count]
            }

            #[inline(always)]
            fn call<B: Real, F: Formula<I, O>, const N: usize, const I: usize, const O: usize>(
                formula: &F,
                inputs: [[Dual<B, N>; $count]; I],
            ) -> [[Dual<B, N>; $count]; O] {
                let zero = Dual::constant(B::from(0.0));
                let mut numbers: [$Number; I] = [$number([zero; $count], I > 1); I];
                let mut input = 0;
                while input < I {
                    numbers[input] = $number(inputs[input], I > 1);
                    input += 1;
                }
                let results = formula.at(numbers);
                let mut outputs = [[zero; $count]; O];
                let mut output = 0;
                while output < O {
                    outputs[output] = $components(results[output]);
                    output += 1;
                }
                outputs
            }
        }
    )*};
}

levels! {
    First: 1, Dual<B, N>, |[value]: [_; 1], _| value, |number: Dual<B, N>| [number];
    Second: 2, Dual<Dual<B, N>, 1>,
        |[value, tangent]: [_; 2], several| Dual::along(value, [tangent], several),
        |number: Dual<_, 1>| [number.value, number.tangents[0]];
    Third: 4, Dual<Dual<Dual<B, N>, 1>, 1>,
        |[value, inner, outer, both]: [_; 4], _| {
            Dual::along(Dual::along(value, [inner], true), [Dual::along(outer, [both], true)], true)
        },
        |number: Dual<Dual<_, 1>, 1>| {
            let (value, outer) = (number.value, number.tangents[0]);
            [value.value, value.tangents[0], outer.value, outer.tangents[0]]
        };
}

/// Elements of the results that are computed at a time.
#[derive(Clone, Copy)]
struct Part {
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
            // What the compiler has to know, so that it checks no index.
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

    /// Copies a block to a result, if that is wanted.
    #[inline(always)]
    fn copy<T: Copy>(self, block: &Block<T>, result: &mut [MaybeUninit<T>]) {
        if result.is_empty() {
            return;
        }
        let result = &mut result[self.start..];
        match result.first_chunk_mut() {
            // Of a length that the compiler knows.
            Some(whole) => *whole = *block,
            None => result.copy_from_slice(&block[..self.length]),
        }
    }

    /// Copies blocks to the results that are wanted.
    #[inline(always)]
    fn copy_all<T: Copy>(self, blocks: &[Block<T>], results: &mut [&mut [MaybeUninit<T>]]) {
        for (block, result) in blocks.iter().zip(results) {
            self.copy(block, result);
        }
    }
}

/// Returns how many elements the results that are wanted have.
fn length<T>(results: &[&mut [MaybeUninit<T>]]) -> usize {
    results.iter().map(|result| result.len()).max().unwrap_or(0)
}

type Block<T> = [MaybeUninit<T>; BLOCK];

/// The most slices that are read beside a result that is written to directly: the loop compares the places of all with
/// that of the result first, which for more takes longer than to copy a block.
const MOST_READS: usize = 7;

/// Where elements of results go.
trait Sink<T> {
    /// Takes an element of a result of one component.
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
struct Components<T: Copy, L: Level, const N: usize, const O: usize> {
    of_inputs: L::Of<[Block<T>; N]>,
    of_gradients: L::Of<[Block<T>; O]>,
}

impl<T: Copy, L: Level, const N: usize, const O: usize> Sink<T> for &mut Components<T, L, N, O> {
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

/// What is computed for a part of the results.
trait Work<T> {
    /// How many slices it reads.
    const READS: usize;

    fn each(&self, part: Part, sink: impl Sink<T>);
}

/// Work that has `N` results.
struct OneComponent<'a, 'b, T, W, const N: usize>(W, Results<'a, 'b, T>);

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
                part.copy_all(&spare, results);
            }
        }
    }
}

/// Work that has derivatives with respect to all components of `I` inputs and `O` gradients.
struct AllComponents<'a, 'b, T, W, L, const I: usize, const O: usize>(
    W,
    Results<'a, 'b, T>,
    PhantomData<L>,
);

impl<T, W, L, const I: usize, const O: usize> Loop for AllComponents<'_, '_, T, W, L, I, O>
where
    T: Element,
    W: Work<T>,
    L: Level,
{
    #[inline(always)]
    fn run(self) {
        let Self(work, results, _) = self;
        for part in Part::all(length(results)) {
            let mut blocks = Components::<T, L, I, O> {
                of_inputs: L::filled([[MaybeUninit::uninit(); BLOCK]; I]),
                of_gradients: L::filled([[MaybeUninit::uninit(); BLOCK]; O]),
            };
            work.each(part, &mut blocks);
            for component in 0..L::COUNT {
                let (to_inputs, to_gradients) = results[component * (I + O)..].split_at_mut(I);
                part.copy_all(&blocks.of_inputs.as_ref()[component], to_inputs);
                part.copy_all(&blocks.of_gradients.as_ref()[component], to_gradients);
            }
        }
    }
}

struct Values<'a, T, F, const I: usize, const O: usize> {
    formula: &'a F,
    inputs: &'a [&'a [T]],
}

impl<T: Element, F: Formula<I, O>, const I: usize, const O: usize> Work<T>
    for Values<'_, T, F, I, O>
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

struct Tangents<'a, T, F, const I: usize, const O: usize> {
    formula: &'a F,
    inputs: &'a [&'a [T]],
}

impl<T: Element, F: Formula<I, O>, const I: usize, const O: usize> Work<T>
    for Tangents<'_, T, F, I, O>
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

/// The derivatives with respect to `N` variables. If they are `ALONE`, no gradient has a direction, and those with respect
/// to directions and gradients are left out.
struct Partials<'a, T, F, L, V, const I: usize, const O: usize, const N: usize, const ALONE: bool> {
    formula: &'a F,
    inputs: &'a [&'a [T]],
    of: PhantomData<(L, V)>,
}

impl<'a, T, F, L, V, const I: usize, const O: usize, const N: usize, const ALONE: bool>
    Partials<'a, T, F, L, V, I, O, N, ALONE>
{
    fn new(formula: &'a F, inputs: &'a [&'a [T]]) -> Self {
        Self {
            formula,
            inputs,
            of: PhantomData,
        }
    }
}

impl<T, F, L, V, const I: usize, const O: usize, const N: usize, const ALONE: bool> Work<T>
    for Partials<'_, T, F, L, V, I, O, N, ALONE>
where
    T: Element,
    F: Formula<I, O>,
    L: Level,
    V: Variables,
{
    const READS: usize = L::COUNT * (I + O);

    #[inline(always)]
    fn each(&self, part: Part, mut sink: impl Sink<T>) {
        let mut x = L::filled([&[][..]; I]);
        let mut gradients = L::filled([&[][..]; O]);
        for component in 0..L::COUNT {
            let inputs = &self.inputs[component * (I + O)..];
            x.as_mut()[component] = part.of::<T, I>(inputs);
            gradients.as_mut()[component] = part.of::<T, O>(&inputs[I..]);
        }
        let (formula, x, gradients) = (self.formula, x.as_ref(), gradients.as_ref());
        // All that is along the only direction of the only input is the direction times something: that something has the
        // same factors as the derivatives have, which are computed once.
        let is_factor = const { I == 1 && L::COUNT == 2 };
        for at in 0..part.padded {
            let zero = Dual::<T::Number, N>::constant(T::Number::from(0.0));
            let mut numbers = [L::filled(zero); I];
            let mut input = 0;
            while input < I {
                let mut components = L::filled(zero);
                let mut component = 0;
                while component < L::COUNT {
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
            let mut outputs = L::call(formula, numbers);
            let mut output = 0;
            while is_factor && output < O {
                let along = &mut outputs[output].as_mut()[1];
                let factor = T::Number::of(x[1][0][at]);
                *along = along.scaled(along.value * factor, factor);
                output += 1;
            }
            let count = if ALONE { 1 } else { L::COUNT };
            let mut component = 0;
            while component < count {
                let others = L::COUNT - 1 - component;
                let mut variable = 0;
                while variable < N {
                    let sum =
                        contracted::<T, L, N, O, ALONE>(&outputs, gradients, at, others, variable);
                    sink.put(component, variable, at, sum.element());
                    variable += 1;
                }
                let mut output = 0;
                // Nobody asks for the derivative with respect to the last direction: it is the formula itself.
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
fn contracted<T: Element, L: Level, const N: usize, const O: usize, const ALONE: bool>(
    outputs: &[L::Of<Dual<T::Number, N>>; O],
    gradients: &[[&[T]; O]],
    at: usize,
    others: usize,
    variable: usize,
) -> T::Number {
    let (mut sum, mut is_empty) = (T::Number::from(0.0), true);
    let mut output = 0;
    while output < O {
        let mut of_gradient = 0;
        while of_gradient < if ALONE { 1 } else { L::COUNT } {
            if of_gradient & !others == 0
                && let Some(slope) =
                    outputs[output].as_ref()[others ^ of_gradient].tangent(variable)
            {
                let gradient = T::Number::of(gradients[of_gradient][output][at]);
                let product = gradient * slope;
                // A direction that is missing for some: no slope makes it NaN.
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

/// Returns the shape that arrays have together, if each axis has one length or, in some of them, length 1; or else the
/// first axis that does not, and both lengths. All have one rank.
#[doc(hidden)]
pub fn common_shape<'a>(
    shapes: impl IntoIterator<Item = &'a [usize]>,
) -> Result<Vec<usize>, (usize, [usize; 2])> {
    let mut shapes = shapes.into_iter();
    let mut common = shapes.next().unwrap_or_default().to_vec();
    for shape in shapes {
        for (axis, (length, &other)) in common.iter_mut().zip(shape).enumerate() {
            match (*length, other) {
                (a, b) if a == b => {}
                (1, b) => *length = b,
                (_, 1) => {}
                (a, b) => return Err((axis, [a, b])),
            }
        }
    }
    Ok(common)
}

/// An input of a pass.
enum Source<'a, T: Element> {
    /// One element everywhere.
    Repeated(T),
    /// An element for each of the results.
    Whole(Cow<'a, [T]>),
    /// Fewer elements, with the strides over the axes of the results.
    Stretched {
        elements: Cow<'a, [T]>,
        strides: Vec<usize>,
    },
}

impl<'a, T: Element> Source<'a, T> {
    fn new(input: Option<&'a ArrayViewD<'_, T>>, shape: &[usize]) -> Self {
        let Some(input) = input else {
            return Self::Repeated(T::zero());
        };
        if let Some(element) = repeated(input) {
            return Self::Repeated(element);
        }
        let elements = rows(input);
        if input.shape() == shape {
            return Self::Whole(elements);
        }
        let mut stride = 1;
        let mut strides: Vec<usize> = input
            .shape()
            .iter()
            .rev()
            .map(|&length| {
                let own = if length == 1 { 0 } else { stride };
                stride *= length;
                own
            })
            .collect();
        strides.reverse();
        Self::Stretched { elements, strides }
    }

    /// Returns how many elements the loops cannot take from where they are, when they write `length` results: a block, or
    /// the last elements up to a multiple of [`LANES`].
    fn room(&self, length: usize) -> usize {
        match self {
            Self::Whole(_) if length.is_multiple_of(LANES) => 0,
            Self::Whole(_) => LANES,
            Self::Repeated(_) | Self::Stretched { .. } => length.next_multiple_of(LANES).min(BLOCK),
        }
    }

    /// Returns memory for those of all sources, one after the other.
    fn buffers(sources: &[Self], length: usize) -> Vec<T> {
        let rooms = sources.iter().map(|source| source.room(length));
        let mut buffers = Vec::with_capacity(rooms.sum());
        for source in sources {
            let element = match source {
                Self::Repeated(element) => *element,
                _ => T::zero(),
            };
            buffers.resize(buffers.len() + source.room(length), element);
        }
        buffers
    }

    /// Returns as many elements from `start` on, up to a multiple of [`LANES`], where the last is repeated: it is not
    /// known what the formula does with other numbers.
    fn elements<'b>(
        &'b self,
        start: usize,
        length: usize,
        shape: &[usize],
        buffer: &'b mut [T],
    ) -> &'b [T] {
        match self {
            Self::Repeated(_) => return buffer,
            Self::Whole(elements) if length.is_multiple_of(LANES) => {
                return &elements[start..][..length];
            }
            Self::Whole(elements) => {
                buffer[..length].copy_from_slice(&elements[start..][..length]);
            }
            Self::Stretched { .. } => self.gather(start, length, shape, buffer),
        }
        let padded = length.next_multiple_of(LANES);
        let last = buffer[length - 1];
        buffer[length..padded].fill(last);
        &buffer[..padded]
    }

    /// Writes the elements of a block that starts at `start`.
    fn gather(&self, start: usize, length: usize, shape: &[usize], buffer: &mut [T]) {
        let Self::Stretched { elements, strides } = self else {
            return;
        };
        let mut done = 0;
        while done < length {
            let mut place = start + done;
            let mut row = None;
            let mut first = 0;
            for (&length, &stride) in shape.iter().zip(strides).rev() {
                row.get_or_insert((length - place % length, stride));
                first += place % length * stride;
                place /= length;
            }
            let (rest, stride) = row.unwrap_or((1, 0));
            let to = &mut buffer[done..length.min(done + rest)];
            if stride == 0 {
                to.fill(elements[first]);
            } else {
                to.copy_from_slice(&elements[first..first + to.len()]);
            }
            done += to.len();
        }
    }
}

/// Returns the loops that are run, by what each is asked for: one for all, or one for each input that is wanted. One more
/// derivative costs less than the formula again.
fn loops<'a, T: Element>(
    function: &dyn Loops<T>,
    pass: Pass,
    inputs: &[Option<ArrayViewD<'_, T>>],
    wanted: &'a [bool],
) -> impl Iterator<Item = Asked> + use<'a, T> {
    let (count, width) = (function.inputs(), function.inputs() + function.outputs());
    let of_inputs = wanted[..count.min(wanted.len())].iter();
    let is_few = of_inputs.filter(|is_wanted| **is_wanted).count() * 2 <= count;
    let are_alone = pass == (Pass::Partials { level: 0 }) && is_few;
    let whole = match pass {
        Pass::Partials { level: 1 }
            if !wanted[count..].contains(&true)
                && inputs[width + count..].iter().all(Option::is_none) =>
        {
            Asked::Inputs
        }
        _ => Asked::All,
    };
    let alone = (0..count).filter(move |&input| are_alone && wanted[input]);
    alone.map(Asked::Input).chain((!are_alone).then_some(whole))
}

/// Runs a pass over arrays that are stretched to `shape`, a missing one being zeros; returns the results that are wanted,
/// in row-major order.
#[doc(hidden)]
pub fn evaluate<T: Element>(
    function: &dyn Loops<T>,
    pass: Pass,
    inputs: &[Option<ArrayViewD<'_, T>>],
    shape: &[usize],
    wanted: &[bool],
) -> Vec<Option<Vec<T>>> {
    if let Pass::Partials { level } = pass {
        let width = function.inputs() + function.outputs();
        let of_last = ((1 << level) - 1) * width + function.inputs();
        // The loops do not write these, and all that is wanted counts as written below.
        assert!(
            wanted.len() == width << level && !wanted[of_last..].contains(&true),
            "a derivative with respect to the last direction of a gradient is the formula itself"
        );
    } else {
        assert_eq!(wanted.len(), function.outputs(), "one for each output");
    }
    let Some(length) = size(shape) else {
        panic!("an array of shape {shape:?} has more elements than there is memory for");
    };
    let mut results: Vec<Option<Vec<T>>> = wanted
        .iter()
        .map(|&is_wanted| is_wanted.then(|| memory::take(length)))
        .collect();
    let sources: Vec<Source<'_, T>> = inputs
        .iter()
        .map(|input| Source::new(input.as_ref(), shape))
        .collect();
    let is_stretched = |source: &Source<'_, T>| matches!(source, Source::Stretched { .. });
    let longest = if sources.iter().any(is_stretched) {
        BLOCK
    } else {
        length
    };
    for asked in loops(function, pass, inputs, wanted) {
        let is_computed = |&index: &usize| match asked {
            Asked::Input(only) => index == only,
            Asked::All | Asked::Inputs => wanted[index],
        };
        let mut slices: Vec<&mut [MaybeUninit<T>]> = results
            .iter_mut()
            .enumerate()
            .filter(|(index, _)| is_computed(index))
            .filter_map(|(_, result)| Some(&mut result.as_mut()?.spare_capacity_mut()[..length]))
            .collect();
        split_each_mut(&mut slices, 1, worth::FORMULA, |first, pieces| {
            let count = pieces.first().map_or(0, |piece| piece.len());
            let mut buffers = Source::buffers(&sources, count);
            let mut written: Vec<&mut [MaybeUninit<T>]> = Vec::new();
            written.resize_with(wanted.len(), Default::default);
            let mut start = 0;
            while start < count {
                let length = match count - start {
                    rest @ ..LANES => rest,
                    rest => (rest - rest % LANES).min(longest),
                };
                let mut rest = &mut buffers[..];
                let inputs: Vec<&[T]> = sources
                    .iter()
                    .map(|source| {
                        let buffer;
                        (buffer, rest) = take(&mut rest).split_at_mut(source.room(count));
                        source.elements(first + start, length, shape, buffer)
                    })
                    .collect();
                for (index, piece) in (0..wanted.len()).filter(is_computed).zip(&mut *pieces) {
                    (written[index], *piece) = take(piece).split_at_mut(length);
                }
                function.run(pass, asked, &inputs, &mut written);
                start += length;
            }
        });
    }
    for result in results.iter_mut().flatten() {
        // SAFETY: the loops have written to all elements of what is wanted, `length` of each.
        #[expect(unsafe_code, reason = "see above")]
        unsafe {
            result.set_len(length);
        }
    }
    results
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::thread::available_parallelism;

    use ndarray::{Array1, Array2, Array3, ArrayD, Axis, IxDyn, ShapeBuilder, Slice};

    use super::*;
    use crate::set_threads;
    use crate::testing::numbers;

    /// x y² + sin z, and √x y.
    struct Two;

    impl Formula<3, 2> for Two {
        #[inline(always)]
        fn at<R: Real>(&self, [x, y, z]: [R; 3]) -> [R; 2]
        where
            f64: Literal<R>,
        {
            [x * y.square() + z.sin(), x.sqrt() * y]
        }
    }

    const TWO: Blocks<Two, 3, 2, 2> = Blocks(Two);

    /// Returns the bits of the results that are wanted.
    fn bits(results: Vec<Option<Vec<f64>>>) -> Vec<Option<Vec<u64>>> {
        let of = |result: Vec<f64>| result.into_iter().map(f64::to_bits).collect();
        results.into_iter().map(|result| result.map(of)).collect()
    }

    /// Returns what each pass gives, of arrays and of a second one for each as its direction.
    fn all_passes(inputs: &[ArrayViewD<'_, f64>], shape: &[usize]) -> Vec<Vec<Option<Vec<u64>>>> {
        let [x, y, z, g, h] = [0, 1, 2, 3, 4].map(|index| Some(inputs[index].view()));
        let directions = [&z, &x, &y, &h, &g].map(Clone::clone);
        let run = |pass, inputs: &[Option<ArrayViewD<'_, f64>>], wanted: &[bool]| {
            bits(evaluate(&TWO, pass, inputs, shape, wanted))
        };
        let inputs = [x, y, z, g, h];
        let level = |level| Pass::Partials { level };
        let both = [&inputs[..], &directions].concat();
        let first = [true, true, true, false, false];
        let second = [&[true; 5][..], &first].concat();
        vec![
            run(Pass::Values, &inputs[..3], &[true, true]),
            run(
                Pass::Tangents,
                &[&inputs[..3], &directions[..3]].concat(),
                &[true, true],
            ),
            run(level(0), &inputs, &first),
            run(level(0), &inputs, &[false, true, false, false, false]),
            run(level(1), &both, &second),
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
                    let expected = all_passes(&plain, &shape);
                    assert!(
                        all_passes(&inputs, &shape) == expected,
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
            found.push(all_passes(&inputs, &shape));
        }
        set_threads(available_parallelism().map_or(1, usize::from));
        assert!(found[1] == found[0] && found[2] == found[0]);
        let plain = |x: f64, y: f64, z: f64| x * y.square() + z.sin();
        let values = found[0][0][0].as_ref().unwrap();
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
            for results in all_passes(&inputs, &shape) {
                assert!(results.iter().flatten().all(Vec::is_empty));
            }
        }
        let none = evaluate(
            &TWO,
            Pass::Partials { level: 0 },
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
        let results = evaluate(&TWO, Pass::Values, &inputs, &[2], &[true, true]);
        assert_eq!(results, [Some(vec![16.0, 9.0]), Some(vec![4.0, -3.0])]);
        // The first output has no gradient.
        let one = ArrayD::ones(vec![1]);
        let inputs = [Some(x.view()), Some(y.view()), None, None, Some(one.view())];
        let wanted = [true, true, true, false, false];
        let results = evaluate(&TWO, Pass::Partials { level: 0 }, &inputs, &[2], &wanted);
        assert_eq!(
            results[..2],
            [Some(vec![0.5, -1.0 / 6.0]), Some(vec![2.0, 3.0])]
        );
        assert_eq!(results[2], Some(vec![0.0, 0.0]));
    }

    /// x³ sin x
    struct One;

    impl Formula<1, 1> for One {
        #[inline(always)]
        fn at<R: Real>(&self, [x]: [R; 1]) -> [R; 1]
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
            let pass = Pass::Partials { level: 1 };
            let mut wanted = vec![false; 2 * width];
            wanted[..I].fill(true);
            let asked: Vec<_> = super::loops(loops, pass, &inputs, &wanted).collect();
            assert_eq!(asked, [Asked::Inputs]);
            let alone = evaluate(loops, pass, &inputs, &shape, &wanted);
            wanted[I..width].fill(true);
            let all = evaluate(loops, pass, &inputs, &shape, &wanted);
            assert_eq!(alone[..I], all[..I]);
            // A direction of zeros is as good as none.
            let zeros = ArrayD::zeros(&shape[..]);
            inputs[width + I] = Some(zeros.view());
            wanted[I..width].fill(false);
            let asked: Vec<_> = super::loops(loops, pass, &inputs, &wanted).collect();
            assert_eq!(asked, [Asked::All]);
            assert_eq!(
                evaluate(loops, pass, &inputs, &shape, &wanted)[..I],
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
        let pass = Pass::Partials { level: 1 };
        let found = evaluate(&loops, pass, &inputs, &[1], &[true, false, false, false]);
        let (x, g, w) = (0.7_f64, 1.5, -2.0);
        let expected = g * w * ((6.0 * x - x.powi(3)) * x.sin() + 6.0 * x * x * x.cos());
        assert!((found[0].as_ref().unwrap()[0] - expected).abs() < 1e-14);
    }

    /// Panics at a number.
    struct Panics;

    impl Formula<1, 1> for Panics {
        fn at<R: Real>(&self, [x]: [R; 1]) -> [R; 1]
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
            evaluate(&formula, Pass::Values, &[Some(x.view())], &shape, &[true])
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
        #[inline(always)]
        fn at<R: Real>(&self, [x, y]: [R; 2]) -> [R; 1]
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
                let values = evaluate(&loops, Pass::Values, &inputs, x.shape(), &[true]);
                let array = |elements: &Option<Vec<f64>>| {
                    let elements = elements.clone().unwrap();
                    ArrayD::from_shape_vec(IxDyn(x.shape()), elements).unwrap()
                };
                assert_eq!(array(&values[0]), (&x * y + &x).into_dyn());
                let [x_input, y_input] = inputs;
                let inputs = [x_input, y_input, Some(x.view().into_dyn())];
                let pass = Pass::Partials { level: 0 };
                let wanted = [true, true, false];
                let partials = evaluate(&loops, pass, &inputs, x.shape(), &wanted);
                assert_eq!(array(&partials[0]), ((y + 1.0) * &x).into_dyn());
                assert_eq!(array(&partials[1]), (&x * &x).into_dyn());
                let alone = evaluate(&loops, pass, &inputs, x.shape(), &[false, true, false]);
                assert_eq!((&alone[0], &alone[1]), (&None, &partials[1]));
            }
        }
    }
}
