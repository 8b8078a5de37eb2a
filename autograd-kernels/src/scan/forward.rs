//! Some steps forward: the states after them and their outputs.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;

use super::lanes::{Lanes, Rows, block, block_mut, copy_blocks, copy_lanes, replace};
use super::replays::Replays;
use super::source::Stream;
use crate::element::Element;
use crate::element::number::Number;
use crate::elementwise::Formula;
use crate::elementwise::angles::{OfAngles, has_nan, written_have_nan};
use crate::elementwise::dual::Dual;
use crate::elementwise::each::each;
use crate::elementwise::evaluation::{BLOCK, LANES};
use crate::elementwise::order::Order;
use crate::elementwise::work::{Block, Input, write};
use crate::loops::prefetch::prefetch;
use crate::loops::wide::Loop;

/// Some steps forward.
#[derive(Debug)]
pub struct Forward<'a, 'b, T> {
    pub(super) lanes: Lanes,
    /// The steps, in the order in which they are computed.
    pub(super) steps: Range<usize>,
    /// The inputs, component after component. Those of states are not used.
    pub(super) inputs: &'a [Stream<'a, T>],
    /// The states before the steps, a block for each component of each; then those after the steps.
    pub(super) states: &'a mut [T],
    /// Room for the states before each step, if they are needed.
    pub(super) trail: &'a mut [T],
    /// The outputs that are wanted, component after component.
    pub(super) results: &'a mut [Option<Rows<'b, T>>],
    pub(super) replays: &'a mut Replays<T>,
}

/// The loop of [`Forward`].
pub(super) struct ForwardWork<
    'a,
    'b,
    T,
    F,
    D,
    const I: usize,
    const O: usize,
    const S: usize,
    const OUTPUTS: bool,
> {
    formula: &'a F,
    run: Forward<'a, 'b, T>,
    of: PhantomData<D>,
}

impl<'a, 'b, T, F, D, const I: usize, const O: usize, const S: usize, const OUTPUTS: bool>
    ForwardWork<'a, 'b, T, F, D, I, O, S, OUTPUTS>
{
    pub(super) fn new(formula: &'a F, run: Forward<'a, 'b, T>) -> Self {
        Self {
            formula,
            run,
            of: PhantomData,
        }
    }
}

impl<T, F, D, const I: usize, const O: usize, const S: usize, const OUTPUTS: bool> Loop
    for ForwardWork<'_, '_, T, F, D, I, O, S, OUTPUTS>
where
    T: Element,
    F: Formula<I, O>,
    D: Order,
{
    #[cfg_attr(optimized, inline(always))]
    fn run(self) {
        let Self { formula, run, .. } = self;
        let lanes = run.lanes;
        let mut states = D::filled([[T::zero(); BLOCK]; S]);
        for component in 0..D::COUNT {
            for state in 0..S {
                states.as_mut()[component][state] = *block(run.states, component * S + state);
            }
        }
        // Of the outputs. The states are replaced where they are: a lane reads its own before it writes them.
        let mut results = D::filled([[MaybeUninit::uninit(); BLOCK]; O]);
        let (mut angles, mut before) = (lanes.angles(), states);
        for (index, step) in run.steps.clone().enumerate() {
            if !run.trail.is_empty() {
                let mut rows = &mut run.trail[index * D::COUNT * S * lanes.padded..];
                for component in 0..D::COUNT {
                    for state in 0..S {
                        let row;
                        (row, rows) = rows.split_at_mut(lanes.padded);
                        copy_lanes(&states.as_ref()[component][state][..lanes.padded], row);
                    }
                }
            }
            let mut x = D::filled([Input::<T>(&[]); I]);
            for component in 0..D::COUNT {
                for input in S..I {
                    let stream = run.inputs[component * I + input];
                    x.as_mut()[component][input] = Input(stream.row(index, lanes.padded));
                }
            }
            // Short rows are many to a page.
            if lanes.length >= LANES {
                prefetch_rows(run.inputs, index, lanes.padded, run.results, step);
            }
            let entries = formula.entries(lanes.elements());
            angles.compute(
                index,
                StepForward::<_, _, D, I, O, S, OUTPUTS> {
                    formula,
                    lanes,
                    entries: &entries,
                    inputs: &x,
                    states: &mut states,
                    before: &mut before,
                    results: &mut results,
                },
            );
            for component in 0..D::COUNT {
                for output in 0..if OUTPUTS { O - S } else { 0 } {
                    if let Some(rows) = &mut run.results[component * (O - S) + output] {
                        lanes.copy(&results.as_ref()[component][S + output], rows, step);
                    }
                }
            }
        }
        for component in 0..D::COUNT {
            for state in 0..S {
                *block_mut(run.states, component * S + state) = states.as_ref()[component][state];
            }
        }
    }
}

/// The number of steps after which a row is used that is asked for.
const AHEAD: usize = 4;

/// Asks for the rows that are read and written some steps later: at the end of a page of memory a processor asks for no more
/// by itself. Not inlined, so that the loop of few lanes remains small.
#[inline(never)]
fn prefetch_rows<T: Element>(
    inputs: &[Stream<'_, T>],
    index: usize,
    length: usize,
    results: &mut [Option<Rows<'_, T>>],
    step: usize,
) {
    for input in inputs {
        input.prefetch(index + AHEAD, length);
    }
    for rows in results.iter_mut().flatten() {
        if step + AHEAD < rows.nrows()
            && let Some(row) = rows.row_mut(step + AHEAD).as_slice_mut()
        {
            prefetch(row);
        }
    }
}

/// One step forward, of a block of lanes.
struct StepForward<
    'a,
    'b,
    T,
    F,
    D,
    const I: usize,
    const O: usize,
    const S: usize,
    const OUTPUTS: bool,
> where
    T: Element,
    F: Formula<I, O>,
    D: Order,
{
    formula: &'a F,
    lanes: Lanes,
    entries: &'a F::Entries,
    inputs: &'a D::Of<[Input<'b, T>; I]>,
    states: &'a mut D::Of<[[T; BLOCK]; S]>,
    /// Room for the states before the step.
    before: &'a mut D::Of<[[T; BLOCK]; S]>,
    results: &'a mut D::Of<[Block<T>; O]>,
}

impl<T, F, D, const I: usize, const O: usize, const S: usize, const OUTPUTS: bool> OfAngles<T>
    for StepForward<'_, '_, T, F, D, I, O, S, OUTPUTS>
where
    T: Element,
    F: Formula<I, O>,
    D: Order,
{
    const HAS_ANGLES: bool = F::HAS_ANGLES;

    #[cfg_attr(optimized, inline(always))]
    fn compute<M: Number<T>>(&mut self) {
        let zero = Dual::<M, 0>::constant(M::from(0.0));
        for at in self.lanes.places() {
            let mut numbers = [D::filled(zero); I];
            each!(input < I => {
                each!(component < D::COUNT => {
                    // SAFETY: a place of this block; the input has one for each.
                    #[expect(unsafe_code, reason = "see `Input`")]
                    let value = unsafe {
                        if input < S {
                            *self.states.as_ref()[component][input].get_unchecked(at.0)
                        } else {
                            self.inputs.as_ref()[component][input].at(at)
                        }
                    };
                    numbers[input].as_mut()[component] = Dual::constant(M::of(value));
                });
            });
            let computed = D::call(self.formula, self.entries, at, numbers);
            each!(result < if OUTPUTS { O } else { S } => {
                each!(component < D::COUNT => {
                    let value = computed[result].as_ref()[component].value.element();
                    if result < S {
                        replace(&mut self.states.as_mut()[component][result], at, value);
                    } else {
                        write(&mut self.results.as_mut()[component][result], at, value);
                    }
                });
            });
        }
    }

    #[cfg_attr(optimized, inline(always))]
    fn has_nan(&self) -> bool {
        let mut any = false;
        for component in 0..D::COUNT {
            for state in &self.states.as_ref()[component] {
                any |= has_nan(&state[..self.lanes.padded]);
            }
            for result in S..if OUTPUTS { O } else { S } {
                let result = &self.results.as_ref()[component][result][..self.lanes.padded];
                // SAFETY: so many places were written.
                #[expect(unsafe_code, reason = "see above")]
                let of_result = unsafe { written_have_nan(result) };
                any |= of_result;
            }
        }
        any
    }

    #[cfg_attr(optimized, inline(always))]
    fn keep(&mut self) {
        copy_blocks::<_, D, S>(self.lanes, self.states, self.before);
    }

    #[cfg_attr(optimized, inline(always))]
    fn put_back(&mut self) {
        copy_blocks::<_, D, S>(self.lanes, self.before, self.states);
    }
}
