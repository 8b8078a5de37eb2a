//! Random programs, and the strategy that makes them.
//!
//! Indices are taken modulo what there is to choose from, so every program is valid, and so is whatever
//! is left of one when parts of it are taken away.

use proptest::prelude::*;
use pullback::ndarray::{ArrayD, Axis, IxDyn, Slice};

/// Leaves, steps that compute values from earlier ones, and the values that the loss is made of.
#[derive(Clone)]
pub struct Program {
    pub leaves: Vec<Leaf>,
    pub steps: Vec<Step>,
    pub outputs: Vec<u8>,
}

/// A tensor that a program starts with.
#[derive(Clone, Debug)]
pub struct Leaf {
    pub shape: Vec<usize>,
    pub layout: Layout,
    pub requires_grad: bool,
}

/// The layout of a leaf.
#[derive(Clone, Copy, Debug)]
pub enum Layout {
    RowMajor,
    Transposed,
    Reversed,
    Gaps,
}

/// One step: a function, what picks its operands, and whether it runs inside `no_grad`.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub kind: Kind,
    pub picks: [u8; 3],
    pub no_grad: bool,
}

/// The kinds as a type and as a list, named once.
macro_rules! kinds {
    ($($Kind:ident),+ $(,)?) => {
        /// The function of a step.
        #[derive(Clone, Copy, Debug)]
        pub enum Kind {
            $($Kind),+
        }

        use Kind::*;

        /// Simple ones first: a failing program is shrunk toward them.
        const KINDS: &[Kind] = &[$($Kind),+];
    };
}

kinds! {
    Neg,
    AddScalar,
    MulScalar,
    DivScalar,
    ScalarSub,
    ScalarDiv,
    Exp,
    Ln,
    Tanh,
    Powi,
    Sum,
    Mean,
    Transpose,
    SumTo,
    BroadcastTo,
    Add,
    Sub,
    Mul,
    Div,
    MatMul,
    Detach,
    Sine,
    HalfProduct,
    Damped,
    Waves,
    Powers,
    Affine,
    AffineAgain,
    Blend,
    Squares,
    Formula,
    GivenFormula,
    SineInPlace,
    TanhInPlace,
    Grown,
    Same,
    Masked,
    Nested,
    Linear,
}

impl Kind {
    /// Returns whether the step's gradient can be differentiated again.
    pub fn is_differentiable_again(self) -> bool {
        !matches!(
            self,
            HalfProduct
                | Damped
                | Powers
                | Affine
                | Blend
                | TanhInPlace
                | Grown
                | Masked
                | Nested
                | Linear
        )
    }

    /// Returns whether the step has a rule for forward mode.
    pub fn has_rule(self) -> bool {
        !matches!(self, Sine | HalfProduct | AffineAgain | Grown | Linear)
    }
}

impl Leaf {
    /// The leaf's numbers, which lie between −1.2 and 1.2 in no pattern.
    pub fn value(&self, place: usize) -> ArrayD<f64> {
        self.lay_out(
            &arbitrary(&self.shape, place as f64 * 0.754_877_666).mapv(|part| part * 2.4 - 1.2),
        )
    }

    /// Returns the elements in this leaf's layout in memory.
    pub fn lay_out(&self, value: &ArrayD<f64>) -> ArrayD<f64> {
        match self.layout {
            Layout::RowMajor => value.as_standard_layout().into_owned(),
            Layout::Transposed => value.t().as_standard_layout().into_owned().reversed_axes(),
            Layout::Reversed => {
                let reversed = |mut array: ArrayD<f64>| {
                    (0..array.ndim()).for_each(|axis| array.invert_axis(Axis(axis)));
                    array
                };
                reversed(reversed(value.clone()).as_standard_layout().into_owned())
            }
            Layout::Gaps => {
                let wide: Vec<usize> = value.shape().iter().map(|length| 2 * length).collect();
                let mut array = ArrayD::from_elem(wide, f64::NAN);
                for axis in 0..value.ndim() {
                    array.slice_axis_inplace(Axis(axis), Slice::new(0, None, 2));
                }
                array.assign(value);
                array
            }
        }
    }
}

/// Numbers between 0 and 1 that follow no pattern: multiples of the golden ratio, without their whole part.
pub fn arbitrary(shape: &[usize], start: f64) -> ArrayD<f64> {
    let mut position = start;
    ArrayD::from_shape_simple_fn(IxDyn(shape), || {
        position += 1.0;
        (position * 0.618_033_988_749_895).fract()
    })
}

/// Programs of up to four leaves and twelve steps of these kinds.
pub fn programs(of: impl Fn(Kind) -> bool) -> impl Strategy<Value = Program> {
    let kinds: Vec<Kind> = KINDS.iter().copied().filter(|kind| of(*kind)).collect();
    let length = prop_oneof![3 => 2_usize..4, 3 => Just(1_usize), 1 => Just(0_usize)];
    let layout = prop_oneof![
        Just(Layout::RowMajor),
        Just(Layout::Transposed),
        Just(Layout::Reversed),
        Just(Layout::Gaps),
    ];
    let leaf = (
        prop::collection::vec(length, 0..4),
        layout,
        prop::bool::weighted(0.8),
    )
        .prop_map(|(shape, layout, requires_grad)| Leaf {
            shape,
            layout,
            requires_grad,
        });
    let step = (
        prop::sample::select(kinds),
        any::<[u8; 3]>(),
        prop::bool::weighted(0.04),
    )
        .prop_map(|(kind, picks, no_grad)| Step {
            kind,
            picks,
            no_grad,
        });
    let parts = (
        prop::collection::vec(leaf, 1..5),
        prop::collection::vec(step, 0..13),
        prop::collection::vec(any::<u8>(), 0..3),
    );
    parts.prop_map(|(mut leaves, steps, outputs)| {
        leaves[0].requires_grad = true;
        Program {
            leaves,
            steps,
            outputs,
        }
    })
}
