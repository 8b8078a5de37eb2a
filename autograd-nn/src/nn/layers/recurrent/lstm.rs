//! Long short-term memory.

use rand_core::Rng;

use super::cells::{Cells, RecurrentCell, Step};
use super::{RecurrentBuilder, recurrent_module};
use crate::ndarray::Axis;
use crate::nn::Forward;
use crate::{Element, Tensor, Tensor2, Tensor3};

/// Long short-term memory (Hochreiter and Schmidhuber, 1997), as PyTorch computes it: with the state h, c and the
/// input x of a step,
#[doc = crate::math!(
    r"\begin{aligned}"
    r"i &= \sigma\left(W_{ii} x + b_{ii} + W_{hi} h + b_{hi}\right) \\"
    r"f &= \sigma\left(W_{if} x + b_{if} + W_{hf} h + b_{hf}\right) \\"
    r"g &= \tanh\left(W_{ig} x + b_{ig} + W_{hg} h + b_{hg}\right) \\"
    r"o &= \sigma\left(W_{io} x + b_{io} + W_{ho} h + b_{ho}\right) \\"
    r"c &\gets f \odot c + i \odot g \\"
    r"h &\gets o \odot \tanh c"
    r"\end{aligned}"
)]
/// Weights and biases hold those of i, f, g and o in this order. A sequence of shape `[steps, batch, input]` gives h
/// of the last layer at each step, `[steps, batch, hidden · directions]`, and h and c of all layers after the last
/// step, each `[layers · directions, batch, hidden]`. The state before the first step is zeros, or given beside the
/// sequence.
///
/// ```
/// use pullback::ndarray::Array3;
/// use pullback::nn::{Generator, Lstm};
/// use pullback::prelude::*;
///
/// let lstm = Lstm::<f32>::new(8, 16, &mut Generator::seed(7));
/// let x = Tensor::from(Array3::zeros((10, 4, 8)));
/// let (output, (h, c)) = lstm.forward(&x);
/// assert_eq!((output.shape(), h.shape()), (&[10, 4, 16][..], &[1, 4, 16][..]));
/// let (output, _) = lstm.forward((&x, (&h, &c)));
/// assert_eq!(output.shape(), [10, 4, 16]);
/// ```
#[derive(Debug)]
pub struct Lstm<T: Element = f32> {
    cells: Cells<T>,
}

recurrent_module!(Lstm);

/// The gates of a cell: i, f, g and o.
const GATES: usize = 4;

/// What comes out: the sequence, and the state after it.
type Outputs<T> = (Tensor3<T>, (Tensor3<T>, Tensor3<T>));

impl<T: Element> Lstm<T> {
    /// One layer with biases, whose weights and biases are within 1 / √`hidden_size` of 0.
    ///
    /// ```
    /// use pullback::nn::{Generator, Lstm, Module};
    ///
    /// let lstm = Lstm::<f32>::new(8, 16, &mut Generator::seed(7));
    /// assert_eq!(lstm.parameter_count(), 4 * (16 * 8 + 16 * 16 + 16 + 16));
    /// ```
    pub fn new(input_size: usize, hidden_size: usize, generator: &mut impl Rng) -> Self {
        Self::builder(input_size, hidden_size).build(generator)
    }

    /// A network with other options.
    ///
    /// ```
    /// use pullback::nn::{Generator, Lstm};
    ///
    /// let lstm = Lstm::<f32>::builder(8, 16).num_layers(2).bidirectional(true).build(&mut Generator::seed(7));
    /// assert_eq!(lstm.cells().len(), 4);
    /// ```
    pub fn builder(input_size: usize, hidden_size: usize) -> RecurrentBuilder<Self> {
        RecurrentBuilder::new(input_size, hidden_size)
    }

    /// The weights, of each layer there and back.
    ///
    /// ```
    /// use pullback::nn::{Generator, Lstm};
    ///
    /// let lstm = Lstm::<f32>::new(8, 16, &mut Generator::seed(7));
    /// assert_eq!(lstm.cells()[0].weight_ih.shape(), [4 * 16, 8]);
    /// ```
    pub fn cells(&self) -> &[RecurrentCell<T>] {
        self.cells.list()
    }

    /// The weights, to change them.
    ///
    /// ```
    /// use pullback::nn::{Generator, Lstm};
    ///
    /// let mut lstm = Lstm::<f32>::new(8, 16, &mut Generator::seed(7));
    /// lstm.cells_mut()[0].weight_hh.update(|mut weight| weight.fill(0.0));
    /// assert_eq!(lstm.cells()[0].weight_hh.view().sum(), 0.0);
    /// ```
    pub fn cells_mut(&mut self) -> &mut [RecurrentCell<T>] {
        self.cells.list_mut()
    }

    #[track_caller]
    fn run(&self, input: &Tensor3<T>, state: Option<(&Tensor3<T>, &Tensor3<T>)>) -> Outputs<T> {
        let hidden = self.cells.states(self, input, state.map(|(h, _)| h));
        let memory = self.cells.states(self, input, state.map(|(_, c)| c));
        let states: Vec<_> = hidden.into_iter().zip(memory).collect();
        let (output, last) = self.cells.run::<Self>(self, input, &states);
        let (hidden, memory): (Vec<_>, Vec<_>) = last.iter().map(|(h, c)| (h, c)).unzip();
        let stack = |states: &[&Tensor2<T>]| Tensor::stack(Axis(0), states);
        (output, (stack(&hidden), stack(&memory)))
    }
}

impl<T: Element> RecurrentBuilder<Lstm<T>> {
    /// The network, with values from the generator.
    ///
    /// ```
    /// use pullback::nn::{Generator, Lstm};
    ///
    /// let build = |seed| Lstm::<f32>::builder(8, 16).build(&mut Generator::seed(seed));
    /// assert_eq!(build(7).cells()[0].weight_ih.to_array(), build(7).cells()[0].weight_ih.to_array());
    /// ```
    pub fn build(self, generator: &mut impl Rng) -> Lstm<T> {
        Lstm {
            cells: Cells::new(self.sizes, GATES, generator),
        }
    }
}

impl<T: Element> Step<T> for Lstm<T> {
    type State = (Tensor2<T>, Tensor2<T>);

    #[track_caller]
    fn step(cell: &RecurrentCell<T>, of_input: &Tensor2<T>, (h, c): &Self::State) -> Self::State {
        let hidden = h.shape()[1];
        let gates = of_input + h.linear(&cell.weight_hh, cell.bias_hh.as_deref());
        let gates = gates.split(Axis(1), &[hidden; GATES]);
        let [i, f, o] = [0, 1, 3].map(|gate: usize| gates[gate].sigmoid());
        let c = f * c + i * gates[2].tanh();
        (o * c.tanh(), c)
    }

    fn output((h, _): &Self::State) -> &Tensor2<T> {
        h
    }
}

/// From a state of zeros.
impl<T: Element> Forward<&Tensor3<T>> for Lstm<T> {
    type Output = Outputs<T>;

    /// # Panics
    /// If the last length is not `input_size`, or there are no steps.
    #[track_caller]
    fn forward(&self, input: &Tensor3<T>) -> Outputs<T> {
        self.run(input, None)
    }
}

/// From a given state.
impl<T: Element> Forward<(&Tensor3<T>, (&Tensor3<T>, &Tensor3<T>))> for Lstm<T> {
    type Output = Outputs<T>;

    /// # Panics
    /// If the shapes do not fit, or there are no steps.
    #[track_caller]
    fn forward(&self, inputs: (&Tensor3<T>, (&Tensor3<T>, &Tensor3<T>))) -> Outputs<T> {
        let (input, state) = inputs;
        self.run(input, Some(state))
    }
}
