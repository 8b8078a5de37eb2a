//! Finds the inputs that the outputs of a recorded run depend on, for strict mode.

use std::collections::HashSet;

use crate::erased::AnyTensor;
use crate::error::{Derivative, Error, ErrorKind};
use crate::recording::Recording;
use crate::tape::Node;

impl Recording {
    /// Returns an error for an output that depends on no input, and for an input that no output depends on.
    #[inline]
    pub(super) fn check_any(&self, derivative: Derivative) -> Result<(), Error> {
        let depends = self.depends();
        let output = depends.iter().position(|inputs| !inputs.contains(&true));
        let mut inputs = 0..self.inputs.len();
        let input = inputs.find(|&input| !depends.iter().any(|inputs| inputs[input]));
        let (output, input) = match (output, input) {
            (None, None) => return Ok(()),
            (Some(output), _) => (Some(output), None),
            (None, input) => (None, input),
        };
        let kind = ErrorKind::Independent {
            derivative,
            output,
            input,
        };
        Err(kind.at(self.called_at))
    }

    /// Returns an error for an output that does not depend on each of the inputs.
    #[inline]
    pub(super) fn check_each(&self, derivative: Derivative) -> Result<(), Error> {
        for (output, depends) in self.depends().iter().enumerate() {
            if let Some(input) = depends.iter().position(|depends| !depends) {
                let kind = ErrorKind::Independent {
                    derivative,
                    output: Some(output),
                    input: Some(input),
                };
                return Err(kind.at(self.called_at));
            }
        }
        Ok(())
    }

    /// Returns, for each output and input, whether the graph leads from the output to the input.
    #[inline]
    fn depends(&self) -> Vec<Vec<bool>> {
        let inputs = self.inputs.iter().filter_map(AnyTensor::edge);
        let inputs: Vec<&Node> = inputs.map(|edge| &edge.node).collect();
        let outputs = self.outputs.iter().map(|output| {
            let mut depends = vec![false; inputs.len()];
            let mut seen = HashSet::new();
            let mut pending: Vec<&Node> =
                output.edge().map(|edge| &edge.node).into_iter().collect();
            while let Some(node) = pending.pop() {
                if !seen.insert(node.0.address()) {
                    continue;
                }
                for (depends, input) in depends.iter_mut().zip(&inputs) {
                    *depends |= **input == *node;
                }
                pending.extend(node.0.edges().iter().flatten().map(|edge| &edge.node));
            }
            depends
        });
        outputs.collect()
    }
}
