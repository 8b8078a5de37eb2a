//! One use of a function of numbers: what generated code calls, and the node that it leaves.

use std::marker::PhantomData;
use std::panic::Location;

use autograd_kernels::Loops;
use ndarray::{Array, Dimension};

use super::{Elementwise, Shared, along, constant, fitting, values};
use crate::basic::{Add, Mul};
use crate::function::{
    Call, ForwardCall, Function, GradOutput, Origin, Rule, SavedItems, attach, meta, record,
};
use crate::saved::Saved;
use crate::tape::SavedInfo;
use crate::tensor::Tensor;
use crate::thread::{is_grad_enabled, unrecorded};
use crate::{Element, Error};

/// The runtime of a function of numbers.
#[derive(Debug)]
pub struct OfNumbers<F>(PhantomData<F>);

impl<F: Function> OfNumbers<F> {
    /// Applies the function, whose attribute is `at`, to tensors. Those of `places` have gradients.
    ///
    /// # Panics
    /// If the inputs do not broadcast.
    #[track_caller]
    pub fn apply<T, D, L, G, const I: usize, const O: usize, const E: usize>(
        loops: L,
        derivatives: impl FnOnce(L) -> Derivatives<G>,
        at: &'static Location<'static>,
        inputs: [&Tensor<T, D>; I],
        places: &'static [usize; E],
    ) -> [Tensor<T, D>; O]
    where
        T: Element,
        D: Dimension,
        L: Loops<T>,
        G: Loops<T> + 'static,
    {
        let name = F::NAME;
        let guard = unrecorded();
        let outputs: [Array<T, D>; O] = values(name, &loops, &inputs.map(Tensor::view));
        drop(guard);
        let outputs = outputs.map(Tensor::from);
        let is_followed = |input: &&Tensor<T, D>| {
            input.raw.level() > 0 || input.requires_grad() && is_grad_enabled()
        };
        if !inputs.iter().any(is_followed) {
            return outputs;
        }
        let derivatives = derivatives(loops);
        let are_given = matches!(derivatives, Derivatives::Given(_));
        let (Derivatives::Generated(loops) | Derivatives::Given(loops)) = derivatives;
        let order = loops.order() + usize::from(are_given);
        let function = Shared::new(Elementwise {
            name,
            order,
            at,
            loops,
        });
        let function = Followed {
            function,
            are_given,
            places,
        };
        function.follow::<F, D, I, O>(outputs, inputs)
    }
}

/// How the derivatives of a function of numbers are computed.
#[derive(Debug)]
pub enum Derivatives<L> {
    /// They are those of these loops.
    Generated(L),
    /// These loops compute the gradients from the inputs and the gradients of the outputs.
    Given(L),
}

/// A function of numbers in a graph or in forward mode.
struct Followed<T: Element, const E: usize> {
    function: Shared<T>,
    /// Whether the function is that of its gradients.
    are_given: bool,
    /// The inputs that have gradients.
    places: &'static [usize; E],
}

impl<T: Element, const E: usize> Clone for Followed<T, E> {
    fn clone(&self) -> Self {
        Self {
            function: self.function.clone(),
            ..*self
        }
    }
}

impl<T: Element, const E: usize> Followed<T, E> {
    /// Gives the outputs the tangents of each level, and beneath them the node that they come from.
    #[track_caller]
    fn follow<F: Function, D: Dimension, const I: usize, const O: usize>(
        self,
        outputs: [Tensor<T, D>; O],
        inputs: [&Tensor<T, D>; I],
    ) -> [Tensor<T, D>; O] {
        let levels = inputs.iter().map(|input| input.raw.level());
        let Some(level @ 1..) = levels.max() else {
            return self.recorded::<F, D, I, O>(outputs, inputs);
        };
        let mut call = ForwardCall::new(F::NAME, level);
        let split = inputs.map(|input| call.split(input));
        let primals = split.each_ref().map(|(primal, _)| primal);
        let outputs = self.clone().follow::<F, D, I, O>(outputs, primals);
        if call.failed() {
            return outputs.map(|output| call.without_tangent(output));
        }
        let mut tangents = [None; I];
        for &place in self.places {
            tangents[place] = split[place].1.as_ref();
        }
        let tangents = self.tangents(&primals, &tangents, O);
        let names = F::SIGNATURE.outputs.iter().map(|output| output.name);
        let mut tangents = names.zip(tangents);
        outputs.map(|output| match tangents.next() {
            Some((name, tangent)) => call.with_tangent(output, name, tangent),
            None => output,
        })
    }

    /// Makes the outputs those of a node.
    #[track_caller]
    fn recorded<F: Function, D: Dimension, const I: usize, const O: usize>(
        self,
        outputs: [Tensor<T, D>; O],
        inputs: [&Tensor<T, D>; I],
    ) -> [Tensor<T, D>; O] {
        let edges = self.places.map(|place| inputs[place].recorded_edge());
        if !edges.iter().any(Option::is_some) {
            return outputs;
        }
        let rule = const {
            &Rule {
                signature: &F::SIGNATURE,
                backward: Kept::<T, I, E>::backward::<D, O>,
            }
        };
        let kept = Kept {
            inputs: inputs.map(Saved::new),
            function: self,
        };
        let node = record(rule, edges, kept, outputs.each_ref().map(meta));
        let mut handles = std::iter::repeat_n(node, O).enumerate();
        outputs.map(|output| match handles.next() {
            Some((output_nr, node)) => attach(output, node, output_nr),
            None => output,
        })
    }

    /// Returns the gradients of the inputs that need one, given those of the outputs that have one.
    fn gradients<D: Dimension>(
        &self,
        inputs: &[&Tensor<T, D>],
        of_outputs: &[Option<&Tensor<T, D>>],
        needs: &[bool],
    ) -> Vec<Option<Tensor<T, D>>> {
        if !self.are_given {
            return self.function.gradients(inputs, of_outputs, needs);
        }
        let zeros = constant(&fitting(inputs.iter().map(|x| x.shape())), T::zero());
        let of_outputs = of_outputs.iter().map(|gradient| gradient.unwrap_or(&zeros));
        let tensors: Vec<_> = inputs.iter().copied().chain(of_outputs).collect();
        let whole = self.function.apply(&tensors).into_iter();
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

    /// Returns the derivatives of the outputs along the tangents that there are; where gradients are given, those for a
    /// gradient of 1.
    #[track_caller]
    fn tangents<D: Dimension>(
        &self,
        inputs: &[&Tensor<T, D>],
        tangents: &[Option<&Tensor<T, D>>],
        outputs: usize,
    ) -> Vec<Tensor<T, D>> {
        if !self.are_given {
            return along(&self.function, inputs, tangents);
        }
        let shape = fitting(inputs.iter().map(|x| x.shape()));
        let of_output = |output| {
            let number = |other| if other == output { T::one() } else { T::zero() };
            let gradients = (0..outputs).map(|other| constant(&shape, number(other)));
            let gradients: Vec<_> = gradients.collect();
            let tensors: Vec<_> = inputs.iter().copied().chain(&gradients).collect();
            let slopes = self.function.apply(&tensors);
            let pairs = tangents.iter().zip(&slopes);
            let products = pairs.filter_map(|(tangent, slope)| {
                Some(Mul::apply(&(*tangent)?.broadcast_to::<D>(&shape), slope))
            });
            let sum = products.reduce(|sum, product| Add::apply(&sum, &product));
            sum.unwrap_or_else(|| constant(&shape, T::zero()))
        };
        (0..outputs).map(of_output).collect()
    }
}

/// What a node of a function of numbers keeps.
#[derive(Clone)]
struct Kept<T: Element, const I: usize, const E: usize> {
    inputs: [Saved<T>; I],
    function: Followed<T, E>,
}

impl<T: Element, const I: usize, const E: usize> Kept<T, I, E> {
    /// Computes the gradients that a pass needs.
    fn backward<D: Dimension, const O: usize>(self, call: &mut Call<'_>) -> Result<(), Error> {
        let places = self.function.places;
        let mut restored = [const { None::<Tensor<T, D>> }; I];
        for (place, saved) in self.inputs.into_iter().enumerate() {
            let edge = places.iter().position(|of_edge| *of_edge == place);
            let origin = edge.map_or(Origin::Constant, Origin::Input);
            restored[place] = call.restore(Some(saved), origin)?;
        }
        // INVARIANT: all inputs were saved.
        let inputs = restored
            .each_ref()
            .map(|input| input.as_ref().expect("saved"));
        let mut of_outputs: [_; O] = std::array::from_fn(|output| call.grad::<T, D>(output));
        let of_outputs = of_outputs.each_mut().map(GradOutput::tensor_optional);
        let mut needs = [false; I];
        for (edge, place) in places.iter().enumerate() {
            needs[*place] = call.needs(edge);
        }
        let mut gradients = self.function.gradients(&inputs, &of_outputs, &needs);
        for (edge, place) in places.iter().enumerate() {
            call.give::<T, D>(edge, gradients[*place].take());
        }
        Ok(())
    }
}

impl<T: Element, const I: usize, const E: usize> SavedItems for Kept<T, I, E> {
    fn list(&self, entry: usize, note: &mut dyn FnMut(usize, SavedInfo, Option<usize>)) {
        let mut entries = entry..;
        for (saved, entry) in self.inputs.iter().zip(&mut entries) {
            note(entry, saved.info(), None);
        }
        self.function.function.loops.list_values(&mut |ty, bytes| {
            if let Some(entry) = entries.next() {
                note(entry, SavedInfo::value_of(ty, bytes, None), None);
            }
        });
    }
}
