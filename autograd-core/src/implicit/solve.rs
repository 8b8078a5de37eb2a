//! Solutions of the linear equations of a residual.

use std::marker::PhantomData;

use ndarray::{ArrayD, ArrayViewD, IxDyn};

use super::linear::{gradients_of, split};
use super::{System, any, is_recorded};
use crate::erased::AnyTensor;
use crate::error::{Error, PassedOn};
use crate::functional::{Functional, along};
use crate::recording::{Recording, or_zeros};
use crate::tensor::TensorD;
use crate::thread::is_grad_enabled;
use crate::{Element, custom_function};

/// The solution of linear equations with the derivative J of a residual F(y, θ) by its unknowns y.
#[derive(Debug)]
pub(super) struct ImplicitSolve<T>(PhantomData<T>);

#[custom_function]
impl<T: Element> ImplicitSolve<T> {
    /// Returns the x of Jx = b, or of `Jᵀx = b` if `transposed`.
    ///
    /// The gradient of b is w, the solution of the transposed equations for the gradient of x. Those of y and θ are
    /// minus the gradients of wᵀJx, or of xᵀJw if `transposed`: the product of a gradient of F with a vector.
    #[forward(outputs(x))]
    pub(super) fn forward(
        b: &[ArrayViewD<T>],
        unknowns: &[&TensorD<T>],
        inputs: &[&TensorD<T>],
        transposed: bool,
        system: &System,
    ) -> Result<Vec<ArrayD<T>>, Error> {
        let linear = system.linear(&any(unknowns), &any(inputs))?;
        let elements = b.iter().flatten().map(|element| element.as_f64());
        let x = linear.solve(system, elements.collect(), transposed)?;
        let tensors = split(&x, &any(unknowns)).into_iter();
        Ok(tensors
            .map(|x| x.into_typed::<T, _>().into_array())
            .collect())
    }

    #[backward]
    fn backward(
        grad_x: &[&TensorD<T>],
        x: &[&TensorD<T>],
        unknowns: &[&TensorD<T>],
        inputs: &[&TensorD<T>],
        transposed: bool,
        system: &System,
        needs_input_grad: ImplicitSolveNeedsInputGrad,
    ) -> Result<Gradients<T>, PassedOn> {
        let w = Self::apply(grad_x, unknowns, inputs, !transposed, system).map_err(PassedOn)?;
        let ImplicitSolveNeedsInputGrad {
            unknowns: of_unknowns,
            inputs: of_inputs,
            ..
        } = needs_input_grad;
        let (count, of_w) = (unknowns.len(), any(&w));
        let (left, right) = if transposed {
            (any(x), of_w)
        } else {
            (of_w, any(x))
        };
        let mut needs = vec![of_unknowns; count];
        needs.resize(count + inputs.len(), of_inputs);
        let tensors = [any(unknowns), any(inputs)].concat();
        let found = system.curvature(&tensors, count, left, right, &needs);
        let mut found = found.map_err(PassedOn)?.into_iter();
        let mut next = |_: &&TensorD<T>| found.next()?.map(|found| -found.into_typed::<T, _>());
        let (of_unknowns, of_inputs) = (
            unknowns.iter().map(&mut next).collect(),
            inputs.iter().map(&mut next).collect(),
        );
        Ok((w, of_unknowns, of_inputs))
    }

    /// Jẋ = ḃ − J̇x, for J and for its transpose.
    #[jvp]
    fn jvp(
        tangent_b: &[&TensorD<T>],
        tangent_unknowns: &[&TensorD<T>],
        tangent_inputs: &[&TensorD<T>],
        x: &[&TensorD<T>],
        unknowns: &[&TensorD<T>],
        inputs: &[&TensorD<T>],
        transposed: bool,
        system: &System,
    ) -> Result<Vec<TensorD<T>>, PassedOn> {
        let (count, x) = (unknowns.len(), any(x));
        let tensors = [any(unknowns), any(inputs)].concat();
        let tangents = [any(tangent_unknowns), any(tangent_inputs)].concat();
        let product = |tensors: &[AnyTensor]| system.product(tensors, count, x.clone(), transposed);
        let options = Functional::new().create_graph(is_recorded(&[&tensors, &tangents, &x]));
        let change = along(options, &product, &tensors, tangents, system.applied_at());
        let (_, change) = change.map_err(PassedOn)?;
        let right = tangent_b.iter().zip(change);
        let right: Vec<TensorD<T>> = right
            .map(|(b, change)| *b - change.into_typed::<T, IxDyn>())
            .collect();
        Self::apply(&right, unknowns, inputs, transposed, system).map_err(PassedOn)
    }
}

/// The gradients of b, of the unknowns and of the inputs.
type Gradients<T> = (
    Vec<TensorD<T>>,
    Vec<Option<TensorD<T>>>,
    Vec<Option<TensorD<T>>>,
);

impl System {
    /// Returns the gradients of lᵀJr with respect to the unknowns and inputs for which `needs` is true.
    #[inline]
    fn curvature(
        &self,
        tensors: &[AnyTensor],
        count: usize,
        left: Vec<AnyTensor>,
        right: Vec<AnyTensor>,
        needs: &[bool],
    ) -> Result<Vec<Option<AnyTensor>>, Error> {
        let create_graph = is_grad_enabled();
        let recorded = Recording::of(self.at(count), tensors, create_graph, self.applied_at())?;
        let (unknowns, all) = (&recorded.inputs[..count], vec![true; count]);
        let slopes = gradients_of(&recorded, left, unknowns, &all, true)?;
        let (slopes, right) = slopes
            .into_iter()
            .zip(right)
            .filter_map(|(slope, right)| Some((slope?, right)))
            .unzip();
        let slopes = Recording {
            outputs: slopes,
            ..recorded
        };
        gradients_of(&slopes, right, &slopes.inputs, needs, create_graph)
    }

    /// Returns Jx, or `Jᵀx` if `transposed`, as a function of the unknowns and inputs.
    #[inline]
    fn product(
        &self,
        tensors: &[AnyTensor],
        count: usize,
        x: Vec<AnyTensor>,
        transposed: bool,
    ) -> Result<Vec<AnyTensor>, Error> {
        let (unknowns, inputs) = tensors.split_at(count);
        let (records, at) = (is_recorded(&[tensors, &x]), self.applied_at());
        let residual = |unknowns: &[AnyTensor]| self.residual(unknowns, inputs);
        if transposed {
            let recorded = Recording::of(residual, unknowns, records, at)?;
            let found = recorded.vjp(x.into_iter().map(Some).collect(), records)?;
            return Ok(or_zeros(found, unknowns));
        }
        let options = Functional::new().create_graph(records);
        let (_, found) = along(options, &residual, unknowns, x, at)?;
        Ok(found)
    }
}
