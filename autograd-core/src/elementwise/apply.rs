//! One use of an elementwise function, and the node that it leaves.

use std::marker::PhantomData;
use std::panic::Location;

use autograd_kernels::Loops;
use ndarray::IxDyn;

use super::arrays::{constant, of_each_number, row_sums, whole};
use super::directional::along;
use super::forward::caught_values;
use super::over::Over;
use super::shared::{NamedLoops, Shared};
use crate::Element;
use crate::basic::{Add, Mul};
use crate::compiled::compiled_once;
use crate::error::Error;
use crate::function::{
    Call, ForwardCall, Function, GradOutput, Origin, Rule, SavedItems, attach, forward_panicked,
    meta, record,
};
use crate::saved::Saved;
use crate::tape::{SavedInfo, applied_at};
use crate::tensor::{Tensor, TensorD};
use crate::thread::{is_grad_enabled, unrecorded};

/// The elementwise function `F`, as generated code applies it.
#[derive(Debug)]
pub struct Elementwise<F>(PhantomData<F>);

impl<F: Function> Elementwise<F> {
    /// Applies the function to tensors. The inputs at `places` have gradients.
    ///
    /// # Panics
    /// If the inputs do not broadcast, or do not have rows of the lengths that the function takes.
    #[track_caller]
    pub fn apply<T, L, G, const I: usize, const O: usize, const E: usize>(
        loops: L,
        derivatives: impl FnOnce(L) -> Derivatives<G>,
        inputs: [&TensorD<T>; I],
        places: &'static [usize; E],
    ) -> [TensorD<T>; O]
    where
        T: Element,
        L: Loops<T>,
        G: Loops<T> + 'static,
    {
        let guard = unrecorded();
        let outputs = match caught_values(&F::SIGNATURE, &loops, &inputs) {
            Ok(outputs) => outputs,
            Err(panic) => {
                let shapes = inputs.map(|input| vec![input.to_shape()]);
                forward_panicked(panic, &F::SIGNATURE, &shapes)
            }
        };
        drop(guard);
        if !are_followed(inputs) {
            return outputs;
        }
        let derivatives = derivatives(loops);
        let are_gradients = matches!(derivatives, Derivatives::Given(_));
        let (Derivatives::Generated(loops) | Derivatives::Given(loops)) = derivatives;
        let function = Shared::new(NamedLoops {
            name: F::NAME,
            form: "elementwise",
            order: loops.order() + usize::from(are_gradients),
            applied_at: Location::caller(),
            are_gradients,
            over: Over::Elements,
            loops,
        });
        follow::<F, _, _, I, O, E>(function, places, outputs, inputs)
    }
}

/// Returns whether a function of these tensors has derivatives that are wanted.
pub(super) fn are_followed<'a, T: Element>(
    inputs: impl IntoIterator<Item = &'a TensorD<T>>,
) -> bool {
    let is_followed =
        |input: &TensorD<T>| input.raw.depth() > 0 || input.requires_grad() && is_grad_enabled();
    inputs.into_iter().any(is_followed)
}

/// The loops that compute the derivatives of an elementwise function.
#[derive(Debug)]
pub enum Derivatives<L> {
    /// The derivatives are those of these loops.
    Generated(L),
    /// These loops compute the gradients, from the inputs and the gradients of the outputs.
    Given(L),
}

/// What one use of a function holds; its nodes share a handle on it.
pub(crate) trait Held: Clone + Send + Sync + 'static {
    /// Calls `note` with the type and the size of each value that it holds.
    fn list_values(&self, note: &mut dyn FnMut(&'static str, usize));
}

/// The derivatives of one use of a function, as functions of tensors.
pub(crate) trait Derivable<T: Element>: Held {
    /// Returns the gradients of the inputs that need one, given those of the outputs that have one.
    fn grad_inputs(
        &self,
        inputs: &[&TensorD<T>],
        of_outputs: &[Option<&TensorD<T>>],
        needs: &[bool],
    ) -> Vec<Option<TensorD<T>>>;

    /// Returns an error if anomalies are detected, and there is one that says more than the entry of a gradient.
    fn check(
        &self,
        _inputs: &[&TensorD<T>],
        _of_outputs: &[Option<&TensorD<T>>],
        _gradients: &[Option<TensorD<T>>],
    ) -> Result<(), Error> {
        Ok(())
    }

    /// Returns the derivatives of the outputs along the tangents that there are.
    fn grad_along(
        &self,
        inputs: &[&TensorD<T>],
        tangents: &[Option<&TensorD<T>>],
        outputs: usize,
    ) -> Vec<TensorD<T>>;
}

/// Returns the outputs with their tangents of each depth, and beneath these the node that computed them.
#[track_caller]
pub(crate) fn follow<
    F: Function,
    S: Derivable<T>,
    T: Element,
    const I: usize,
    const O: usize,
    const E: usize,
>(
    function: S,
    places: &'static [usize; E],
    outputs: [TensorD<T>; O],
    inputs: [&TensorD<T>; I],
) -> [TensorD<T>; O] {
    let depths = inputs.iter().map(|input| input.raw.depth());
    let Some(depth @ 1..) = depths.max() else {
        return recorded::<F, _, _, I, O, E>(function, places, outputs, inputs);
    };
    let mut call = ForwardCall::new(F::NAME, depth);
    let split = inputs.map(|input| call.split(input));
    let primals = split.each_ref().map(|(primal, _)| primal);
    let outputs = follow::<F, _, _, I, O, E>(function.clone(), places, outputs, primals);
    if call.failed() {
        return outputs.map(|output| call.without_tangent(output));
    }
    let mut tangents = [None; I];
    for &place in places {
        tangents[place] = split[place].1.as_ref();
    }
    let tangents = function.grad_along(&primals, &tangents, O);
    let names = F::SIGNATURE.outputs.iter().map(|output| output.name);
    let mut tangents = names.zip(tangents);
    outputs.map(|output| match tangents.next() {
        Some((name, tangent)) => call.with_tangent(output, name, tangent),
        None => output,
    })
}

/// Returns the outputs with a node, if one of the inputs has an edge.
#[track_caller]
fn recorded<
    F: Function,
    S: Derivable<T>,
    T: Element,
    const I: usize,
    const O: usize,
    const E: usize,
>(
    function: S,
    places: &'static [usize; E],
    outputs: [TensorD<T>; O],
    inputs: [&TensorD<T>; I],
) -> [TensorD<T>; O] {
    let edges = places.map(|place| inputs[place].recorded_edge());
    if !edges.iter().any(Option::is_some) {
        return outputs;
    }
    let rule = const {
        &Rule {
            signature: &F::SIGNATURE,
            backward: ElementwiseNode::<T, S, I, E>::backward::<O>,
        }
    };
    let saved = ElementwiseNode {
        inputs: inputs.map(Saved::new),
        function,
        places,
    };
    let node = record(rule, edges, saved, outputs.each_ref().map(meta));
    let mut handles = std::iter::repeat_n(node, O).enumerate();
    outputs.map(|output| match handles.next() {
        Some((output_nr, node)) => attach(output, node, output_nr),
        None => output,
    })
}

impl<T: Element> Held for Shared<T> {
    fn list_values(&self, note: &mut dyn FnMut(&'static str, usize)) {
        self.loops.list_values(note);
    }
}

impl<T: Element> Derivable<T> for Shared<T> {
    fn grad_inputs(
        &self,
        inputs: &[&TensorD<T>],
        of_outputs: &[Option<&TensorD<T>>],
        needs: &[bool],
    ) -> Vec<Option<TensorD<T>>> {
        let compute = compiled_once!(T, grad_inputs: fn(
            &Shared<T>,
            &[&TensorD<T>],
            &[Option<&TensorD<T>>],
            &[bool],
        ) -> Vec<Option<TensorD<T>>>);
        applied_at(self.applied_at, || compute(self, inputs, of_outputs, needs))
    }

    fn grad_along(
        &self,
        inputs: &[&TensorD<T>],
        tangents: &[Option<&TensorD<T>>],
        outputs: usize,
    ) -> Vec<TensorD<T>> {
        let compute = compiled_once!(T, grad_along: fn(
            &Shared<T>,
            &[&TensorD<T>],
            &[Option<&TensorD<T>>],
            usize,
        ) -> Vec<TensorD<T>>);
        applied_at(self.applied_at, || compute(self, inputs, tangents, outputs))
    }
}

fn grad_inputs<T: Element>(
    function: &Shared<T>,
    inputs: &[&TensorD<T>],
    of_outputs: &[Option<&TensorD<T>>],
    needs: &[bool],
) -> Vec<Option<TensorD<T>>> {
    if !function.are_gradients {
        return function.gradients(inputs, of_outputs, needs);
    }
    let shape = function.fitting(inputs.iter().map(|x| x.shape()).enumerate());
    let of_outputs = of_outputs.iter().enumerate().map(|(output, gradient)| {
        let item = function.item(inputs.len() + output);
        let zeros = || constant(&whole(&shape, item), T::zero());
        gradient.map_or_else(zeros, Tensor::clone)
    });
    let of_outputs: Vec<_> = of_outputs.collect();
    let tensors: Vec<_> = inputs.iter().copied().chain(&of_outputs).collect();
    let whole = function.apply(&tensors).into_iter();
    let whole = whole.zip(inputs).zip(needs);
    let each = whole.map(|((gradient, input), is_needed)| {
        is_needed.then(|| {
            if gradient.has_shape_of(input) {
                gradient
            } else {
                gradient.sum_to(input.shape())
            }
        })
    });
    each.collect()
}

// Where the loops compute gradients, the slopes are those for a gradient of 1.
fn grad_along<T: Element>(
    function: &Shared<T>,
    inputs: &[&TensorD<T>],
    tangents: &[Option<&TensorD<T>>],
    outputs: usize,
) -> Vec<TensorD<T>> {
    if !function.are_gradients {
        return along(function, inputs, tangents);
    }
    let shape = function.fitting(inputs.iter().map(|x| x.shape()).enumerate());
    let item_of = |output| function.item(inputs.len() + output);
    let of_output = |output| {
        of_each_number(item_of(output), &shape, |gradient| {
            let gradients = (0..outputs).map(|other| {
                if other == output {
                    gradient.clone()
                } else {
                    constant(&whole(&shape, item_of(other)), T::zero())
                }
            });
            let gradients: Vec<_> = gradients.collect();
            let tensors: Vec<_> = inputs.iter().copied().chain(&gradients).collect();
            let slopes = function.apply(&tensors);
            let pairs = tangents.iter().zip(&slopes).enumerate();
            let products = pairs.filter_map(|(input, (tangent, slope))| {
                let item = function.item(input);
                let tangent = (*tangent)?.broadcast_to::<IxDyn>(&whole(&shape, item));
                Some(row_sums(Mul::apply(&tangent, slope), item))
            });
            let sum = products.reduce(|sum, product| Add::apply(&sum, &product));
            sum.unwrap_or_else(|| constant(&shape, T::zero()))
        })
    };
    (0..outputs).map(of_output).collect()
}

/// One use of an elementwise function on the tape, with what it saved.
#[derive(Clone)]
struct ElementwiseNode<T: Element, S, const I: usize, const E: usize> {
    inputs: [Saved<T>; I],
    function: S,
    /// The inputs that have gradients.
    places: &'static [usize; E],
}

impl<T: Element, S, const I: usize, const E: usize> ElementwiseNode<T, S, I, E> {
    /// Computes the gradients that a backward pass needs.
    fn backward<const O: usize>(self, call: &mut Call<'_>) -> Result<(), Error>
    where
        S: Derivable<T>,
    {
        let places = self.places;
        let mut restored = [const { None::<TensorD<T>> }; I];
        for (place, saved) in self.inputs.into_iter().enumerate() {
            let edge = places.iter().position(|of_edge| *of_edge == place);
            let origin = edge.map_or(Origin::Constant, Origin::Input);
            restored[place] = call.restore(Some(saved), origin)?;
        }
        // INVARIANT: all inputs were saved.
        let inputs = restored
            .each_ref()
            .map(|input| input.as_ref().expect("saved"));
        let mut of_outputs: [_; O] = std::array::from_fn(|output| call.grad::<T, IxDyn>(output));
        let of_outputs = of_outputs.each_mut().map(GradOutput::tensor_optional);
        let mut needs = [false; I];
        for (edge, place) in places.iter().enumerate() {
            needs[*place] = call.needs(edge);
        }
        let mut gradients = self.function.grad_inputs(&inputs, &of_outputs, &needs);
        self.function.check(&inputs, &of_outputs, &gradients)?;
        for (edge, place) in places.iter().enumerate() {
            call.give::<T, IxDyn>(edge, gradients[*place].take());
        }
        Ok(())
    }
}

impl<T: Element, S: Held, const I: usize, const E: usize> SavedItems
    for ElementwiseNode<T, S, I, E>
{
    fn list(&self, entry: usize, note: &mut dyn FnMut(usize, SavedInfo, Option<usize>)) {
        let mut entries = entry..;
        for (saved, entry) in self.inputs.iter().zip(&mut entries) {
            note(entry, saved.info(), None);
        }
        self.function.list_values(&mut |ty, bytes| {
            if let Some(entry) = entries.next() {
                note(entry, SavedInfo::value_of(ty, bytes, None), None);
            }
        });
    }
}
