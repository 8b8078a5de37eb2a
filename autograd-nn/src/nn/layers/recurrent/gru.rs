//! Gated recurrent units.

use rand_core::Rng;

use super::cells::{Cells, RecurrentCell, Step};
use super::{RecurrentBuilder, recurrent_module};
use crate::ndarray::Axis;
use crate::nn::Forward;
use crate::{Element, Tensor, Tensor2, Tensor3};

/// Gated recurrent units (Cho and others, 2014), as PyTorch computes them: with the state h and the input x of a
/// step,
#[doc = crate::math!(
    r"\begin{aligned}"
    r"r &= \sigma\left(W_{ir} x + b_{ir} + W_{hr} h + b_{hr}\right) \\"
    r"z &= \sigma\left(W_{iz} x + b_{iz} + W_{hz} h + b_{hz}\right) \\"
    r"n &= \tanh\left(W_{in} x + b_{in} + r \odot \left(W_{hn} h + b_{hn}\right)\right) \\"
    r"h &\gets (1 - z) \odot n + z \odot h"
    r"\end{aligned}"
)]
/// Weights and biases hold those of r, z and n in this order. A sequence of shape `[steps, batch, input]` gives the
/// states of the last layer at each step, `[steps, batch, hidden · directions]`, and those of all layers after the
/// last step, `[layers · directions, batch, hidden]`. The state before the first step is zeros, or given beside the
/// sequence.
///
/// ```
/// use pullback::ndarray::Array3;
/// use pullback::nn::{Generator, Gru};
/// use pullback::prelude::*;
///
/// let gru = Gru::<f32>::new(8, 16, &mut Generator::seed(7));
/// let x = Tensor::from(Array3::zeros((10, 4, 8)));
/// let (output, state) = gru.forward(&x);
/// assert_eq!((output.shape(), state.shape()), (&[10, 4, 16][..], &[1, 4, 16][..]));
/// let (output, _) = gru.forward((&x, &state));
/// assert_eq!(output.shape(), [10, 4, 16]);
/// ```
#[derive(Debug)]
pub struct Gru<T: Element = f32> {
    cells: Cells<T>,
}

recurrent_module!(Gru);

/// The gates of a cell: r, z and n.
const GATES: usize = 3;

impl<T: Element> Gru<T> {
    /// One layer with biases, whose weights and biases are within 1 / √`hidden_size` of 0.
    ///
    /// ```
    /// use pullback::nn::{Generator, Gru, Module};
    ///
    /// let gru = Gru::<f32>::new(8, 16, &mut Generator::seed(7));
    /// assert_eq!(gru.parameter_count(), 3 * (16 * 8 + 16 * 16 + 16 + 16));
    /// ```
    pub fn new(input_size: usize, hidden_size: usize, generator: &mut impl Rng) -> Self {
        Self::builder(input_size, hidden_size).build(generator)
    }

    /// A network with other options.
    ///
    /// ```
    /// use pullback::nn::{Generator, Gru};
    ///
    /// let gru = Gru::<f32>::builder(8, 16).num_layers(2).bidirectional(true).build(&mut Generator::seed(7));
    /// assert_eq!(gru.cells().len(), 4);
    /// ```
    pub fn builder(input_size: usize, hidden_size: usize) -> RecurrentBuilder<Self> {
        RecurrentBuilder::new(input_size, hidden_size)
    }

    /// The weights, of each layer there and back.
    ///
    /// ```
    /// use pullback::nn::{Generator, Gru};
    ///
    /// let gru = Gru::<f32>::new(8, 16, &mut Generator::seed(7));
    /// assert_eq!(gru.cells()[0].weight_ih.shape(), [3 * 16, 8]);
    /// ```
    pub fn cells(&self) -> &[RecurrentCell<T>] {
        self.cells.list()
    }

    /// The weights, to change them.
    ///
    /// ```
    /// use pullback::nn::{Generator, Gru};
    ///
    /// let mut gru = Gru::<f32>::new(8, 16, &mut Generator::seed(7));
    /// gru.cells_mut()[0].weight_hh.update(|mut weight| weight.fill(0.0));
    /// assert_eq!(gru.cells()[0].weight_hh.view().sum(), 0.0);
    /// ```
    pub fn cells_mut(&mut self) -> &mut [RecurrentCell<T>] {
        self.cells.list_mut()
    }

    #[track_caller]
    fn run(&self, input: &Tensor3<T>, state: Option<&Tensor3<T>>) -> (Tensor3<T>, Tensor3<T>) {
        let states = self.cells.states(self, input, state);
        let (output, last) = self.cells.run::<Self>(self, input, &states);
        let last: Vec<&Tensor2<T>> = last.iter().collect();
        (output, Tensor::stack(Axis(0), &last))
    }
}

impl<T: Element> RecurrentBuilder<Gru<T>> {
    /// The network, with values from the generator.
    ///
    /// ```
    /// use pullback::nn::{Generator, Gru};
    ///
    /// let build = |seed| Gru::<f32>::builder(8, 16).build(&mut Generator::seed(seed));
    /// assert_eq!(build(7).cells()[0].weight_ih.to_array(), build(7).cells()[0].weight_ih.to_array());
    /// ```
    pub fn build(self, generator: &mut impl Rng) -> Gru<T> {
        Gru {
            cells: Cells::new(self.sizes, GATES, generator),
        }
    }
}

impl<T: Element> Step<T> for Gru<T> {
    type State = Tensor2<T>;

    #[track_caller]
    fn step(cell: &RecurrentCell<T>, of_input: &Tensor2<T>, h: &Tensor2<T>) -> Tensor2<T> {
        let hidden = h.shape()[1];
        let of_state = h.linear(&cell.weight_hh, cell.bias_hh.as_deref());
        let parts = |x: &Tensor2<T>| x.split(Axis(1), &[2 * hidden, hidden]);
        let (of_input, of_state) = (parts(of_input), parts(&of_state));
        let gates = (&of_input[0] + &of_state[0]).sigmoid();
        let gates = gates.split(Axis(1), &[hidden; 2]);
        let n = (&of_input[1] + &gates[0] * &of_state[1]).tanh();
        &n + &gates[1] * (h - &n)
    }

    fn output(state: &Tensor2<T>) -> &Tensor2<T> {
        state
    }
}

/// From a state of zeros.
impl<T: Element> Forward<&Tensor3<T>> for Gru<T> {
    type Output = (Tensor3<T>, Tensor3<T>);

    /// # Panics
    /// If the last length is not `input_size`, or there are no steps.
    #[track_caller]
    fn forward(&self, input: &Tensor3<T>) -> (Tensor3<T>, Tensor3<T>) {
        self.run(input, None)
    }
}

/// From a given state.
impl<T: Element> Forward<(&Tensor3<T>, &Tensor3<T>)> for Gru<T> {
    type Output = (Tensor3<T>, Tensor3<T>);

    /// # Panics
    /// If the shapes do not fit, or there are no steps.
    #[track_caller]
    fn forward(&self, (input, state): (&Tensor3<T>, &Tensor3<T>)) -> (Tensor3<T>, Tensor3<T>) {
        self.run(input, Some(state))
    }
}
