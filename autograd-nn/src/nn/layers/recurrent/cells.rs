//! Weights for each layer and direction, and how they read a sequence.

use rand_core::Rng;

use super::builder::Sizes;
use crate::ndarray::{Axis, Ix1, Ix2};
use crate::nn::layers::{Dropout, evenly, print, shapes};
use crate::nn::{Field, Forward, Module, Parameter, Path, Visitor, VisitorMut, init};
use crate::{Element, Tensor, Tensor2, Tensor3};

/// The weights of one layer in one direction.
///
/// ```
/// use pullback::nn::{Generator, Lstm, RecurrentCell};
///
/// // A bias of 1 for the gate that forgets, the second of four, as many start with.
/// let mut lstm = Lstm::<f32>::new(8, 16, &mut Generator::seed(7));
/// let cell: &mut RecurrentCell<f32> = &mut lstm.cells_mut()[0];
/// if let Some(bias) = &mut cell.bias_ih {
///     bias.update(|mut bias| bias.slice_mut(pullback::ndarray::s![16..32]).fill(1.0));
/// }
/// assert_eq!(lstm.cells()[0].bias_ih.as_ref().unwrap().view()[20], 1.0);
/// ```
#[derive(Debug)]
pub struct RecurrentCell<T: Element> {
    /// Of shape `[gates · hidden, input]`: what is made of the input.
    pub weight_ih: Parameter<T, Ix2>,
    /// Of shape `[gates · hidden, hidden]`: what is made of the state.
    pub weight_hh: Parameter<T, Ix2>,
    /// Of shape `[gates · hidden]`: what is added to the former, if anything.
    pub bias_ih: Option<Parameter<T, Ix1>>,
    /// Of shape `[gates · hidden]`: what is added to the latter, if anything.
    pub bias_hh: Option<Parameter<T, Ix1>>,
}

/// The weights of a network.
#[derive(Debug)]
pub(super) struct Cells<T: Element> {
    sizes: Sizes,
    /// Those of a layer, there and back, and then those of the next.
    list: Vec<RecurrentCell<T>>,
    dropout: Option<Dropout>,
}

/// What one step of a network does.
pub(super) trait Step<T: Element> {
    /// What one step leaves to the next.
    type State: Clone;

    /// The state after a step: `of_input` is what the cell has made of its input.
    fn step(cell: &RecurrentCell<T>, of_input: &Tensor2<T>, state: &Self::State) -> Self::State;

    /// What of the state the network gives.
    fn output(state: &Self::State) -> &Tensor2<T>;
}

impl<T: Element> Cells<T> {
    pub(super) fn new(sizes: Sizes, gates: usize, generator: &mut impl Rng) -> Self {
        let Sizes { hidden, bias, .. } = sizes;
        let rows = gates * hidden;
        let mut list = Vec::with_capacity(sizes.layers * sizes.directions());
        for layer in 0..sizes.layers {
            let input = match layer {
                0 => sizes.input,
                _ => hidden * sizes.directions(),
            };
            for _ in 0..sizes.directions() {
                list.push(RecurrentCell {
                    weight_ih: evenly((rows, input), hidden, generator),
                    weight_hh: evenly((rows, hidden), hidden, generator),
                    bias_ih: bias.then(|| evenly(rows, hidden, generator)),
                    bias_hh: bias.then(|| evenly(rows, hidden, generator)),
                });
            }
        }
        let dropout = (sizes.dropout > 0.0).then(|| Dropout::new(sizes.dropout, generator));
        Self {
            sizes,
            list,
            dropout,
        }
    }

    /// Each cell with what PyTorch puts behind the names of its weights.
    fn suffixes(&self) -> impl Iterator<Item = String> + use<T> {
        let directions = self.sizes.directions();
        (0..self.list.len()).map(move |place| {
            let reverse = if place % directions == 1 {
                "_reverse"
            } else {
                ""
            };
            format!("_l{}{reverse}", place / directions)
        })
    }

    pub(super) fn visit<'a>(&'a self, path: &Path<'_>, visitor: &mut dyn Visitor<'a>) {
        for (cell, suffix) in self.list.iter().zip(self.suffixes()) {
            let name = |weight: &str| format!("{weight}{suffix}");
            cell.weight_ih
                .visit(&path.field(&name("weight_ih")), visitor);
            cell.weight_hh
                .visit(&path.field(&name("weight_hh")), visitor);
            if let (Some(of_input), Some(of_state)) = (&cell.bias_ih, &cell.bias_hh) {
                of_input.visit(&path.field(&name("bias_ih")), visitor);
                of_state.visit(&path.field(&name("bias_hh")), visitor);
            }
        }
        if let Some(dropout) = &self.dropout {
            dropout.visit(&path.field("dropout"), visitor);
        }
    }

    pub(super) fn visit_mut(&mut self, path: &Path<'_>, visitor: &mut dyn VisitorMut) {
        let suffixes = self.suffixes();
        for (cell, suffix) in self.list.iter_mut().zip(suffixes) {
            let name = |weight: &str| format!("{weight}{suffix}");
            cell.weight_ih
                .visit_mut(&path.field(&name("weight_ih")), visitor);
            cell.weight_hh
                .visit_mut(&path.field(&name("weight_hh")), visitor);
            if let (Some(of_input), Some(of_state)) = (&mut cell.bias_ih, &mut cell.bias_hh) {
                of_input.visit_mut(&path.field(&name("bias_ih")), visitor);
                of_state.visit_mut(&path.field(&name("bias_hh")), visitor);
            }
        }
        if let Some(dropout) = &mut self.dropout {
            dropout.visit_mut(&path.field("dropout"), visitor);
        }
    }

    pub(super) fn options(&self) -> String {
        let sizes = &self.sizes;
        let mut text = format!("{}, {}", sizes.input, sizes.hidden);
        let truth = |holds| print::truth(holds).to_owned();
        print::add_unless(&mut text, "num_layers", sizes.layers, 1, |n| n.to_string());
        print::add_unless(&mut text, "bias", sizes.bias, true, truth);
        print::add_unless(&mut text, "batch_first", sizes.batch_first, false, truth);
        print::add_unless(&mut text, "dropout", sizes.dropout, 0.0, |p| {
            format!("{p:?}")
        });
        print::add_unless(
            &mut text,
            "bidirectional",
            sizes.bidirectional,
            false,
            truth,
        );
        text
    }

    /// The weights, of each layer there and back.
    pub(super) fn list(&self) -> &[RecurrentCell<T>] {
        &self.list
    }

    pub(super) fn list_mut(&mut self) -> &mut [RecurrentCell<T>] {
        &mut self.list
    }

    /// The states of all cells, each `[batch, hidden]`: those that are given, or zeros.
    #[track_caller]
    pub(super) fn states(
        &self,
        network: &dyn Module,
        input: &Tensor3<T>,
        given: Option<&Tensor3<T>>,
    ) -> Vec<Tensor2<T>> {
        let (batch_axis, count) = (usize::from(!self.sizes.batch_first), self.list.len());
        let batch = input.shape()[batch_axis];
        let Some(given) = given else {
            let zeros = Tensor::from(init::zeros((batch, self.sizes.hidden)));
            return vec![zeros; count];
        };
        let expected = [count, batch, self.sizes.hidden];
        let found = given.shape();
        let wrong = format_args!("the state that is given has shape {found:?}, not {expected:?}");
        shapes::fits(network, input.shape(), *found == expected, wrong);
        unstack(given)
    }

    /// What the last layer gives at each step, and the state after the last step of each cell.
    #[track_caller]
    pub(super) fn run<S: Step<T>>(
        &self,
        network: &dyn Module,
        input: &Tensor3<T>,
        states: &[S::State],
    ) -> (Tensor3<T>, Vec<S::State>) {
        let shape = input.shape();
        let fits = shape[2] == self.sizes.input;
        shapes::fits(network, shape, fits, "its last length is not `input_size`");
        let steps = shape[usize::from(self.sizes.batch_first)];
        shapes::fits(network, shape, steps > 0, "there are no steps");
        let mut x = self.turned(input.clone());
        let mut last = Vec::with_capacity(states.len());
        let directions = self.sizes.directions();
        let layers = self.list.chunks(directions).zip(states.chunks(directions));
        for (number, (cells, states)) in layers.enumerate() {
            if let Some(dropout) = self.dropout.as_ref().filter(|_| number > 0) {
                x = dropout.forward(&x);
            }
            let mut outputs = Vec::with_capacity(directions);
            for (direction, (cell, state)) in cells.iter().zip(states).enumerate() {
                let (output, state) = read::<T, S>(cell, &x, state, direction == 1);
                outputs.push(output);
                last.push(state);
            }
            x = match &outputs[..] {
                [one] => one.clone(),
                both => Tensor::concat(Axis(2), &both.iter().collect::<Vec<_>>()),
            };
        }
        (self.turned(x), last)
    }

    /// With the steps first, and back.
    #[track_caller]
    fn turned(&self, x: Tensor3<T>) -> Tensor3<T> {
        if self.sizes.batch_first {
            x.swap_axes(0, 1)
        } else {
            x
        }
    }
}

/// One cell over a sequence, whose steps come first.
#[track_caller]
fn read<T: Element, S: Step<T>>(
    cell: &RecurrentCell<T>,
    x: &Tensor3<T>,
    state: &S::State,
    backwards: bool,
) -> (Tensor3<T>, S::State) {
    // Of all steps at once: it does not depend on the state.
    let mut of_input = unstack(&x.linear(&cell.weight_ih, cell.bias_ih.as_deref()));
    if backwards {
        of_input.reverse();
    }
    let mut state = state.clone();
    let mut outputs = Vec::with_capacity(of_input.len());
    for of_input in &of_input {
        state = S::step(cell, of_input, &state);
        outputs.push(S::output(&state).clone());
    }
    if backwards {
        outputs.reverse();
    }
    let output = Tensor::stack(Axis(0), &outputs.iter().collect::<Vec<_>>());
    (output, state)
}

/// The matrices of the first axis. By halves: the gradient of a part is as large as what it is a part of, so
/// n parts of the whole would cost n², and these cost n · log n.
#[track_caller]
fn unstack<T: Element>(x: &Tensor3<T>) -> Vec<Tensor2<T>> {
    fn halve<T: Element>(x: &Tensor3<T>, parts: &mut Vec<Tensor2<T>>) {
        match x.shape()[0] {
            0 => {}
            1 => parts.push(x.squeeze(Axis(0))),
            length => {
                for half in x.split(Axis(0), &[length / 2, length - length / 2]) {
                    halve(&half, parts);
                }
            }
        }
    }
    let mut parts = Vec::with_capacity(x.shape()[0]);
    halve(x, &mut parts);
    parts
}
