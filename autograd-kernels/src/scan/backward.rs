//! Some steps backward: the adjoints before them and the derivatives of the pairing.

use std::iter::repeat_n;
use std::marker::PhantomData;
use std::ops::Range;

use super::counts::ScanCounts;
use super::lanes::{Lanes, Rows, block, block_mut, copy_blocks, replace};
use super::replays::Replays;
use super::source::Stream;
use crate::element::Element;
use crate::element::number::Number;
use crate::element::real::Real;
use crate::elementwise::Formula;
use crate::elementwise::angles::{OfAngles, has_nan, written_have_nan};
use crate::elementwise::dual::Dual;
use crate::elementwise::each::each;
use crate::elementwise::entries::Place;
use crate::elementwise::evaluation::BLOCK;
use crate::elementwise::order::{Order, reversed};
use crate::elementwise::terms::Terms;
use crate::elementwise::work::{Block, Input, write};
use crate::loops::wide::Loop;

/// Some steps backward.
#[derive(Debug)]
pub struct Backward<'a, 'b, T> {
    pub(super) lanes: Lanes,
    /// The steps; the last one is the first to be computed.
    pub(super) steps: Range<usize>,
    /// The inputs, component after component.
    pub(super) inputs: &'a [Stream<'a, T>],
    /// The states before the steps, a block for each component of each, if the steps are run again.
    pub(super) states: &'a [T],
    /// The gradients of the results, component after component. Those of states are not used.
    pub(super) gradients: &'a [Stream<'a, T>],
    /// The adjoints after the steps, a block for each component of each state; then those before the steps.
    pub(super) adjoints: &'a mut [T],
    /// The derivatives with respect to each step that are wanted, by the component of the sum that they are.
    pub(super) of_steps: &'a mut [Option<Rows<'b, T>>],
    /// Whether each of them has the sums of a replay's rows of lanes.
    pub(super) sums: &'a [bool],
    /// Whether those with respect to shared inputs are.
    pub(super) wants_shared: bool,
    /// Their sums over the steps, a block for each component of each, to which these steps are added.
    pub(super) of_shared: &'a mut [T],
    pub(super) replays: &'a mut Replays<T>,
}

/// Returns the inputs whose derivatives are wanted, of numbers of one component.
pub(super) fn wanted<T>(
    counts: ScanCounts,
    of_steps: &[Option<Rows<'_, T>>],
    wants_shared: bool,
) -> Vec<bool> {
    repeat_n(true, counts.states)
        .chain(of_steps.iter().map(Option::is_some))
        .chain(repeat_n(wants_shared, counts.shared))
        .collect()
}

/// A choice of the inputs that are variables.
pub(super) trait Variables {
    /// Returns the place of an input among the variables.
    fn place(input: usize) -> Option<usize>;
}

/// The states, and the other inputs where they are wanted.
pub(super) struct AllOf<const S: usize, const X: usize, const STEPS: bool, const SHARED: bool>;

impl<const S: usize, const X: usize, const STEPS: bool, const SHARED: bool> Variables
    for AllOf<S, X, STEPS, SHARED>
{
    #[cfg_attr(optimized, inline(always))]
    fn place(input: usize) -> Option<usize> {
        let is_variable = input < S || if input < S + X { STEPS } else { SHARED };
        if is_variable { Some(input) } else { None }
    }
}

/// The loop of [`Backward`].
pub(super) struct BackwardWork<
    'a,
    'b,
    T,
    F,
    D,
    V,
    const I: usize,
    const O: usize,
    const S: usize,
    const X: usize,
> {
    formula: &'a F,
    run: Backward<'a, 'b, T>,
    of: PhantomData<(D, V)>,
}

impl<'a, 'b, T, F, D, V, const I: usize, const O: usize, const S: usize, const X: usize>
    BackwardWork<'a, 'b, T, F, D, V, I, O, S, X>
{
    pub(super) fn new(formula: &'a F, run: Backward<'a, 'b, T>) -> Self {
        Self {
            formula,
            run,
            of: PhantomData,
        }
    }
}

impl<T, F, D, V, const I: usize, const O: usize, const S: usize, const X: usize> Loop
    for BackwardWork<'_, '_, T, F, D, V, I, O, S, X>
where
    T: Element,
    F: Formula<I, O>,
    D: Order,
    V: Variables,
{
    #[cfg_attr(optimized, inline(always))]
    fn run(self) {
        let Self { formula, run, .. } = self;
        let lanes = run.lanes;
        // On the heap: the derivatives of many inputs do not fit the stack of a thread.
        let sums = &mut *Derivatives::<T, D, I, S>::zeros();
        for component in 0..D::COUNT {
            for state in 0..S {
                sums.adjoints.as_mut()[component][state] =
                    *block(run.adjoints, component * S + state);
            }
            for input in S + X..I {
                let index = component * (I - S - X) + input - S - X;
                sums.of_shared.as_mut()[component][input] = *block(run.of_shared, index);
            }
        }
        let mut angles = lanes.angles();
        let mut before = const { F::HAS_ANGLES }.then(Derivatives::<T, D, I, S>::zeros);
        for (index, step) in run.steps.clone().enumerate().rev() {
            let mut x = D::filled([Input::<T>(&[]); I]);
            let mut gradients = D::filled([Input::<T>(&[]); O]);
            for component in 0..D::COUNT {
                for input in 0..I {
                    let stream = run.inputs[component * I + input];
                    x.as_mut()[component][input] = Input(stream.row(index, lanes.padded));
                }
                for output in S..O {
                    let stream = run.gradients[component * O + output];
                    gradients.as_mut()[component][output] = Input(stream.row(index, lanes.padded));
                }
            }
            angles.compute(
                index,
                StepBackward::<_, _, D, V, I, O, S, X> {
                    formula,
                    lanes,
                    inputs: &x,
                    gradients: &gradients,
                    sums: &mut *sums,
                    before: before.as_deref_mut(),
                    of: PhantomData,
                },
            );
            for component in 0..D::COUNT {
                for input in S..S + X {
                    if V::place(input).is_some()
                        && let Some(rows) = &mut run.of_steps[component * X + input - S]
                    {
                        lanes.copy(&sums.results.as_ref()[component][input], rows, step);
                    }
                }
            }
        }
        for component in 0..D::COUNT {
            for state in 0..S {
                *block_mut(run.adjoints, component * S + state) =
                    sums.adjoints.as_ref()[component][state];
            }
            for input in S + X..I {
                let index = component * (I - S - X) + input - S - X;
                *block_mut(run.of_shared, index) = sums.of_shared.as_ref()[component][input];
            }
        }
    }
}

/// The derivatives of a block of lanes, and their sums over the steps.
struct Derivatives<T: Copy, D: Order, const I: usize, const S: usize> {
    adjoints: D::Of<[[T; BLOCK]; S]>,
    /// Of the inputs that are the same in each step, of which there are as many as inputs at most.
    of_shared: D::Of<[[T; BLOCK]; I]>,
    /// Of the inputs of the step.
    results: D::Of<[Block<T>; I]>,
}

impl<T: Element, D: Order, const I: usize, const S: usize> Derivatives<T, D, I, S> {
    #[expect(clippy::unnecessary_box_returns, reason = "it does not fit the stack")]
    fn zeros() -> Box<Self> {
        let mut room = Box::<Self>::new_uninit();
        let fields = room.as_mut_ptr();
        // SAFETY: the fields are arrays of floats, which are zeros where all bytes are 0, and of room for floats, where there
        // may be anything.
        #[expect(unsafe_code, reason = "see above")]
        unsafe {
            (&raw mut (*fields).adjoints).write_bytes(0, 1);
            (&raw mut (*fields).of_shared).write_bytes(0, 1);
            room.assume_init()
        }
    }

    /// Copies the lanes of what steps add to or replace.
    #[cfg_attr(optimized, inline(always))]
    fn copy_from(&mut self, from: &Self, lanes: Lanes) {
        copy_blocks::<_, D, S>(lanes, &from.adjoints, &mut self.adjoints);
        copy_blocks::<_, D, I>(lanes, &from.of_shared, &mut self.of_shared);
    }
}

/// One step backward, of a block of lanes.
struct StepBackward<
    'a,
    'b,
    T,
    F,
    D: Order,
    V,
    const I: usize,
    const O: usize,
    const S: usize,
    const X: usize,
> where
    T: Copy,
{
    formula: &'a F,
    lanes: Lanes,
    inputs: &'a D::Of<[Input<'b, T>; I]>,
    gradients: &'a D::Of<[Input<'b, T>; O]>,
    sums: &'a mut Derivatives<T, D, I, S>,
    /// Room for those before the step, if it may be computed again.
    before: Option<&'a mut Derivatives<T, D, I, S>>,
    of: PhantomData<V>,
}

impl<T, F, D, V, const I: usize, const O: usize, const S: usize, const X: usize> OfAngles<T>
    for StepBackward<'_, '_, T, F, D, V, I, O, S, X>
where
    T: Element,
    F: Formula<I, O>,
    D: Order,
    V: Variables,
{
    const HAS_ANGLES: bool = F::HAS_ANGLES;

    /// Writes the derivatives with respect to the variables. The adjoints are replaced where they are: a lane reads its own
    /// before it writes them.
    #[cfg_attr(optimized, inline(always))]
    fn compute<M: Number<T>>(&mut self) {
        let entries = self.formula.entries(self.lanes.elements());
        for at in self.lanes.places() {
            let zero = D::filled(M::from(0.0));
            let (mut x, mut of_results) = ([zero; I], [zero; O]);
            each!(component < D::COUNT => {
                each!(input < I => {
                    // SAFETY: a place of this block; the input has one for each.
                    #[expect(unsafe_code, reason = "see `Input`")]
                    let value = unsafe { self.inputs.as_ref()[component][input].at(at) };
                    x[input].as_mut()[component] = M::of(value);
                });
                each!(result < O => {
                    // SAFETY: as above.
                    #[expect(unsafe_code, reason = "see `Input`")]
                    let value = unsafe {
                        if result < S {
                            *self.sums.adjoints.as_ref()[component][result].get_unchecked(at.0)
                        } else {
                            self.gradients.as_ref()[component][result].at(at)
                        }
                    };
                    of_results[result].as_mut()[component] = M::of(value);
                });
            });
            let found = if const { F::IS_REVERSED } {
                reversed::<D, _, _, I, O>(self.formula, &entries, at, x, of_results).0
            } else {
                dual::<T, M, F, D, V, I, O>(self.formula, &entries, at, x, of_results)
            };
            each!(input < I => {
                if V::place(input).is_some() {
                    each!(component < D::COUNT => {
                        let sum = found[input].as_ref()[component].element();
                        if input < S {
                            replace(&mut self.sums.adjoints.as_mut()[component][input], at, sum);
                        } else if input < S + X {
                            write(&mut self.sums.results.as_mut()[component][input], at, sum);
                        } else {
                            // SAFETY: as above.
                            #[expect(unsafe_code, reason = "see `Input`")]
                            unsafe {
                                let of_shared = &mut self.sums.of_shared.as_mut()[component][input];
                                *of_shared.get_unchecked_mut(at.0) += sum;
                            }
                        }
                    });
                }
            });
        }
    }

    #[cfg_attr(optimized, inline(always))]
    fn has_nan(&self) -> bool {
        let padded = self.lanes.padded;
        let mut any = false;
        for component in 0..D::COUNT {
            for adjoint in &self.sums.adjoints.as_ref()[component] {
                any |= has_nan(&adjoint[..padded]);
            }
            for input in (S..I).filter(|input| V::place(*input).is_some()) {
                any |= if input < S + X {
                    let result = &self.sums.results.as_ref()[component][input][..padded];
                    // SAFETY: so many places were written.
                    #[expect(unsafe_code, reason = "see above")]
                    unsafe {
                        written_have_nan(result)
                    }
                } else {
                    has_nan(&self.sums.of_shared.as_ref()[component][input][..padded])
                };
            }
        }
        any
    }

    #[cfg_attr(optimized, inline(always))]
    fn keep(&mut self) {
        if let Some(before) = &mut self.before {
            before.copy_from(self.sums, self.lanes);
        }
    }

    #[cfg_attr(optimized, inline(always))]
    fn put_back(&mut self) {
        if let Some(before) = &self.before {
            self.sums.copy_from(before, self.lanes);
        }
    }
}

/// Computes Σₖ gₖ ∂fₖ with respect to the variables, by dual numbers: one tangent for each input.
#[cfg_attr(optimized, inline(always))]
fn dual<
    T: Element,
    M: Number<T>,
    F: Formula<I, O>,
    D: Order,
    V: Variables,
    const I: usize,
    const O: usize,
>(
    formula: &F,
    entries: &F::Entries,
    at: Place,
    x: [D::Of<M>; I],
    gradients: [D::Of<M>; O],
) -> [D::Of<M>; I] {
    let zero = Dual::<M, I>::constant(M::from(0.0));
    let mut numbers = [D::filled(zero); I];
    each!(input < I => {
        each!(component < D::COUNT => {
            let value = x[input].as_ref()[component];
            numbers[input].as_mut()[component] = match V::place(input) {
                Some(place) if component == 0 => Dual::variable(value, place),
                _ => Dual::constant(value),
            };
        });
    });
    let computed = D::call(formula, entries, at, numbers);
    let mut found = [D::filled(M::from(0.0)); I];
    each!(input < I => {
        if let Some(variable) = V::place(input) {
            each!(component < D::COUNT => {
                found[input].as_mut()[component] =
                    contracted::<_, D, I, O>(&computed, &gradients, component, variable);
            });
        }
    });
    found
}

/// Returns the component `of_sum` of Σₖ gₖ ∂fₖ, along one variable.
#[cfg_attr(optimized, inline(always))]
fn contracted<B: Real, D: Order, const N: usize, const O: usize>(
    computed: &[D::Of<Dual<B, N>>; O],
    gradients: &[D::Of<B>; O],
    of_sum: usize,
    variable: usize,
) -> B {
    let mut terms = Terms::none();
    each!(result < O => {
        each!(of_gradient < D::COUNT => {
            if of_gradient & !of_sum == 0 {
                let slopes = &computed[result].as_ref()[of_sum ^ of_gradient];
                let gradient = gradients[result].as_ref()[of_gradient];
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
