//! The options of both networks.

use std::marker::PhantomData;

/// The options of a recurrent network, which becomes an `L`: a [`Gru`](crate::nn::Gru) or an
/// [`Lstm`](crate::nn::Lstm).
///
/// ```
/// use pullback::nn::{Generator, Lstm};
///
/// let builder = Lstm::<f32>::builder(8, 16).num_layers(2).bidirectional(true).batch_first(true);
/// let lstm = builder.clone().build(&mut Generator::seed(7));
/// let shown = "Lstm(8, 16, num_layers=2, batch_first=True, bidirectional=True";
/// assert!(lstm.to_string().starts_with(shown));
/// ```
#[derive(Debug)]
#[must_use = "a builder makes nothing until it is asked to `build`"]
pub struct RecurrentBuilder<L> {
    pub(super) sizes: Sizes,
    network: PhantomData<fn() -> L>,
}

/// Whether the network can be cloned does not matter.
impl<L> Clone for RecurrentBuilder<L> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

/// What a network is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) input: usize,
    pub(super) hidden: usize,
    pub(super) layers: usize,
    pub(super) bias: bool,
    pub(super) batch_first: bool,
    pub(super) dropout: f64,
    pub(super) bidirectional: bool,
}

impl Sizes {
    /// How many cells read each layer's input.
    pub(super) fn directions(&self) -> usize {
        if self.bidirectional { 2 } else { 1 }
    }
}

impl<L> RecurrentBuilder<L> {
    pub(super) fn new(input: usize, hidden: usize) -> Self {
        Self {
            sizes: Sizes {
                input,
                hidden,
                layers: 1,
                bias: true,
                batch_first: false,
                dropout: 0.0,
                bidirectional: false,
            },
            network: PhantomData,
        }
    }

    /// How many layers there are, of which each reads what the one below it gives; one unless this says
    /// otherwise.
    ///
    /// # Panics
    /// If there are none.
    ///
    /// ```
    /// use pullback::nn::{Generator, Gru};
    ///
    /// let gru = Gru::<f32>::builder(8, 16).num_layers(3).build(&mut Generator::seed(7));
    /// assert_eq!(gru.cells().len(), 3);
    /// assert_eq!(gru.cells()[1].weight_ih.shape(), [3 * 16, 16]); // reads the layer below
    /// ```
    #[track_caller]
    pub fn num_layers(mut self, layers: usize) -> Self {
        assert!(
            layers > 0,
            "a recurrent network of no layers: at least one is needed"
        );
        self.sizes.layers = layers;
        self
    }

    /// Whether there are biases, as there are unless this says otherwise.
    ///
    /// ```
    /// use pullback::nn::{Generator, Gru};
    ///
    /// let gru = Gru::<f32>::builder(8, 16).bias(false).build(&mut Generator::seed(7));
    /// assert!(gru.cells()[0].bias_ih.is_none() && gru.cells()[0].bias_hh.is_none());
    /// ```
    pub fn bias(mut self, bias: bool) -> Self {
        self.sizes.bias = bias;
        self
    }

    /// Whether sequences have the shape `[batch, steps, features]`, and not `[steps, batch, features]`. States
    /// are `[layers · directions, batch, hidden]` either way.
    ///
    /// ```
    /// use pullback::ndarray::Array3;
    /// use pullback::nn::{Forward, Generator, Gru};
    ///
    /// let gru = Gru::<f32>::builder(8, 16).batch_first(true).build(&mut Generator::seed(7));
    /// let (output, state) = gru.forward(&Array3::zeros((4, 10, 8)).into());
    /// assert_eq!((output.shape(), state.shape()), (&[4, 10, 16][..], &[1, 4, 16][..]));
    /// ```
    pub fn batch_first(mut self, batch_first: bool) -> Self {
        self.sizes.batch_first = batch_first;
        self
    }

    /// With which probability, in training, elements are left out between layers; with none unless this says
    /// otherwise.
    ///
    /// # Panics
    /// If it is not between 0 and 1.
    ///
    /// ```
    /// use pullback::ndarray::Array3;
    /// use pullback::nn::{Forward, Generator, Gru, Module};
    ///
    /// let mut gru = Gru::<f32>::builder(8, 16).num_layers(2).dropout(0.5).build(&mut Generator::seed(7));
    /// let x = Array3::ones((10, 4, 8)).into();
    /// assert_ne!(gru.forward(&x).0.to_array(), gru.forward(&x).0.to_array());
    /// gru.eval();
    /// assert_eq!(gru.forward(&x).0.to_array(), gru.forward(&x).0.to_array());
    /// ```
    #[track_caller]
    pub fn dropout(mut self, p: f64) -> Self {
        assert!(
            (0.0..=1.0).contains(&p),
            "a recurrent network with the dropout {p}: it must be between 0 and 1"
        );
        self.sizes.dropout = p;
        self
    }

    /// Whether each layer reads the sequence backwards too. It then gives `2 · hidden_size` features: those of
    /// the way there, and behind them those of the way back.
    ///
    /// ```
    /// use pullback::ndarray::Array3;
    /// use pullback::nn::{Forward, Generator, Gru};
    ///
    /// let gru = Gru::<f32>::builder(8, 16).bidirectional(true).build(&mut Generator::seed(7));
    /// let (output, state) = gru.forward(&Array3::zeros((10, 4, 8)).into());
    /// assert_eq!((output.shape(), state.shape()), (&[10, 4, 32][..], &[2, 4, 16][..]));
    /// ```
    pub fn bidirectional(mut self, bidirectional: bool) -> Self {
        self.sizes.bidirectional = bidirectional;
        self
    }
}
