//! The node of a batch without examples: its outputs have no elements, and all gradients are zeros, to every order.

use std::panic::Location;

use crate::array::PackedShape;
use crate::erased::AnyTensor;
use crate::error::Error;
use crate::tape::{BackwardCall, Edge, InternalRule, internal_node_with_outputs};
use crate::thread::is_grad_enabled;
use autograd_kernels::{ElementType, Shape};

/// Attaches `outputs` to a node after `inputs` of these names, if any of them requires grad.
#[inline]
pub(super) fn no_examples(
    function: &'static str,
    names: Vec<String>,
    inputs: Vec<AnyTensor>,
    outputs: Vec<AnyTensor>,
    called_at: &'static Location<'static>,
) -> Vec<AnyTensor> {
    let edges = inputs.iter().map(|input| input.edge().cloned());
    let rule = NoExamples {
        function,
        names,
        inputs: inputs.iter().map(Like::of).collect(),
        outputs: outputs.iter().map(Like::of).collect(),
    };
    if is_grad_enabled() {
        rule.attach(edges.collect(), outputs, called_at)
    } else {
        outputs
    }
}

struct NoExamples {
    function: &'static str,
    names: Vec<String>,
    inputs: Vec<Like>,
    outputs: Vec<Like>,
}

/// The element type and the shape of a tensor.
#[derive(Clone)]
struct Like(ElementType, Shape);

impl Like {
    #[inline]
    fn of(tensor: &AnyTensor) -> Self {
        Self(tensor.element_type(), Shape::from(tensor.shape()))
    }

    #[inline]
    fn zeros(&self) -> AnyTensor {
        AnyTensor::zeros_of_type(self.0, &self.1)
    }
}

impl NoExamples {
    #[inline]
    fn attach(
        self,
        edges: Vec<Option<Edge>>,
        outputs: Vec<AnyTensor>,
        called_at: &'static Location<'static>,
    ) -> Vec<AnyTensor> {
        if edges.iter().all(Option::is_none) {
            return outputs;
        }
        let shapes = outputs
            .iter()
            .map(|output| PackedShape::from(&Shape::from(output.shape())));
        let shapes: Box<[PackedShape]> = shapes.collect();
        let node = internal_node_with_outputs(self, edges.into_boxed_slice(), shapes, called_at);
        let outputs = (0..).zip(outputs);
        let attached = outputs.map(|(output_nr, output)| {
            let node = node.clone();
            output.with_edge(Some(Edge { node, output_nr }))
        });
        attached.collect()
    }
}

impl InternalRule for NoExamples {
    const NAME: &'static str = "Vmap";

    #[inline]
    fn name(&self) -> &'static str {
        self.function
    }

    #[inline]
    fn input_name(&self, edge: usize) -> String {
        let name = self.names.get(edge).cloned();
        name.unwrap_or_else(|| format!("grad_outputs[{}]", edge - self.names.len()))
    }

    #[inline]
    fn backward(&self, call: BackwardCall<'_>) -> Result<(), Error> {
        let needed: Vec<usize> = (0..call.needs.len())
            .filter(|&edge| call.needs[edge])
            .collect();
        let mut found: Vec<AnyTensor> = needed
            .iter()
            .map(|&edge| self.inputs[edge].zeros())
            .collect();
        if call.create_graph {
            let seeds = call.grads.iter().map(|seed| seed.as_ref()?.edge().cloned());
            let edges = call.node.0.edges().iter().cloned().chain(seeds);
            let derivative = Self {
                function: self.function,
                names: self.names.clone(),
                inputs: self.inputs.iter().chain(&self.outputs).cloned().collect(),
                outputs: needed
                    .iter()
                    .map(|&edge| self.inputs[edge].clone())
                    .collect(),
            };
            found = derivative.attach(edges.collect(), found, call.node.applied_at());
        }
        for (edge, zeros) in needed.into_iter().zip(found) {
            call.results[edge] = Some(zeros.into_grad());
        }
        Ok(())
    }
}
