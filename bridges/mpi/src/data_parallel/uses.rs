//! The nodes of a graph that use parameters.

use std::collections::{HashMap, HashSet};

use pullback::Node;
use pullback::inspect::Edge;

/// A node that uses parameters: the indices of such inputs, each with the parameter's index.
#[derive(Debug)]
pub(super) struct Consumer<'g> {
    pub(super) node: &'g Node,
    pub(super) inputs: Vec<(usize, usize)>,
}

/// Returns the nodes in the graph of `root` that use parameters. `leaves` are the parameters' own nodes.
pub(super) fn consumers<'g>(root: &'g Edge, leaves: &HashMap<Node, usize>) -> Vec<Consumer<'g>> {
    let mut consumers = Vec::new();
    let mut seen = HashSet::from([root.node()]);
    let mut found = vec![root.node()];
    while let Some(node) = found.pop() {
        let mut inputs = Vec::new();
        for (input, edge) in node.edges().iter().enumerate() {
            let Some(edge) = edge else { continue };
            if edge.node().is_leaf() {
                let parameter = leaves.get(edge.node());
                inputs.extend(parameter.map(|&parameter| (input, parameter)));
            } else if seen.insert(edge.node()) {
                found.push(edge.node());
            }
        }
        if !inputs.is_empty() {
            consumers.push(Consumer { node, inputs });
        }
    }
    consumers
}

/// Returns the indices of `count` parameters in the order in which a pass completes their gradients: when it has run
/// the last node that uses them, that of the smallest sequence number. Parameters without uses are last.
pub(super) fn order(consumers: &[Consumer<'_>], count: usize) -> Vec<usize> {
    let mut last = vec![0; count];
    for consumer in consumers {
        for &(_, parameter) in &consumer.inputs {
            let number = consumer.node.sequence_nr();
            let last: &mut u64 = &mut last[parameter];
            *last = if *last == 0 {
                number
            } else {
                number.min(*last)
            };
        }
    }
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|&parameter| std::cmp::Reverse(last[parameter]));
    order
}

#[cfg(test)]
mod tests {
    use pullback::ndarray::array;
    use pullback::{Tensor, Tensor1};

    use super::*;

    #[test]
    fn a_parameter_is_ready_when_its_last_use_has_run() {
        let [first, second, twice, unused]: [Tensor1<f64>; 4] =
            [1.0, 2.0, 3.0, 4.0].map(|value| Tensor::from(array![value]).set_requires_grad(true));
        let hidden = &(&twice * &first) * &second;
        let loss = (&hidden + &twice).sum();
        let parameters = [&first, &second, &unused, &twice];
        let nodes = parameters.map(|leaf| leaf.gradient_edge().unwrap().node().clone());
        let leaves = nodes.into_iter().zip(0..).collect();
        let consumers = consumers(loss.gradient_edge().unwrap(), &leaves);
        assert_eq!(consumers.len(), 3);
        // `second` in the second product; `first` and `twice` in the first; `unused` nowhere.
        assert_eq!(order(&consumers, 4), [1, 0, 3, 2]);
    }
}
