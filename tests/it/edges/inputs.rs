//! The inputs of the functions: numbers of several kinds, in tensors of every layout.

use pullback::ndarray::{Array, ArrayD, Axis, IxDyn, Slice};
use pullback::prelude::*;

/// Returns different numbers between −1.5 and 1.5, which are exact in f32.
pub fn ordinary(shape: &[usize], seed: usize) -> ArrayD<f64> {
    let mut position = 97 * seed;
    Array::from_shape_simple_fn(IxDyn(shape), || {
        position += 1;
        ((position * 331 % 769) as f64 - 384.0) / 256.0
    })
}

/// The numbers in the inputs.
#[derive(Clone, Copy, Debug)]
pub enum Fill {
    Ordinary,
    /// One number is this.
    With(f64),
    /// One is infinite, another on the other side.
    BothInfinities,
    /// Only 0 and −0, with ties.
    Zeros,
}

impl Fill {
    pub const ALL: [Self; 6] = [
        Self::Ordinary,
        Self::With(f64::NAN),
        Self::With(f64::INFINITY),
        Self::With(f64::NEG_INFINITY),
        Self::BothInfinities,
        Self::Zeros,
    ];

    pub fn is_finite(self) -> bool {
        matches!(self, Self::Ordinary | Self::Zeros)
    }

    pub fn array(self, shape: &[usize], seed: usize) -> ArrayD<f64> {
        let mut array = ordinary(shape, seed);
        let length = array.len();
        let mut set = |position: usize, value: f64| {
            if let Some(element) = array.iter_mut().nth(position % length.max(1)) {
                *element = value;
            }
        };
        match self {
            Self::Ordinary => {}
            Self::With(value) => set(2 + seed, value),
            Self::BothInfinities => {
                set(2 + seed, f64::INFINITY);
                set(3 + seed, f64::NEG_INFINITY);
            }
            Self::Zeros => (0..length).for_each(|position| {
                set(position, if position % 3 == 0 { -0.0 } else { 0.0 });
            }),
        }
        array
    }
}

/// The layout of a tensor in memory.
#[derive(Clone, Copy, Debug)]
pub enum Layout {
    Contiguous,
    Reversed,
    Gapped,
    Transposed,
    /// The first part along the first axis, everywhere.
    Repeated,
}

impl Layout {
    const ALL: [Self; 5] = [
        Self::Contiguous,
        Self::Reversed,
        Self::Gapped,
        Self::Transposed,
        Self::Repeated,
    ];

    /// Returns each layout once for the first input.
    pub fn starts(fill: Fill) -> impl Iterator<Item = (Fill, Self)> {
        Self::ALL.into_iter().map(move |layout| (fill, layout))
    }

    /// Returns the layouts of all inputs, which differ from each other.
    pub fn from(first: Self) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().cycle().skip(first as usize)
    }

    /// Returns a tensor of these numbers with this layout.
    pub fn show<T: Element>(self, array: &ArrayD<f64>) -> TensorD<T> {
        let array = array.mapv(T::from_f64);
        let axes = 0..array.ndim();
        match self {
            Self::Contiguous => Tensor::from(array),
            Self::Reversed => {
                let mut reversed = array;
                axes.clone()
                    .for_each(|axis| reversed.invert_axis(Axis(axis)));
                let reversed = Tensor::from(reversed.as_standard_layout().into_owned());
                reversed.flip(&axes.collect::<Vec<_>>())
            }
            Self::Gapped => {
                let mut shape = array.raw_dim();
                axes.for_each(|axis| shape[axis] = 2 * shape[axis] + 1);
                let mut wide = ArrayD::from_elem(shape, T::nan());
                let mut gapped = wide.view_mut();
                gapped.slice_each_axis_inplace(|_| Slice::new(1, None, 2));
                gapped.assign(&array);
                let odd = vec![Slice::new(1, None, 2).into(); array.ndim()];
                Tensor::from(wide).slice(&odd[..])
            }
            Self::Transposed => Tensor::from(array.t().as_standard_layout().into_owned()).t(),
            Self::Repeated => match array.shape() {
                [0, ..] | [] => Tensor::from(array),
                shape => {
                    let first = array.slice_axis(Axis(0), Slice::from(..1)).to_owned();
                    Tensor::from(first).broadcast_to(shape)
                }
            },
        }
    }
}
