//! Tensors that carry a tangent, for forward mode.
//!
//! # Note [Depths]
//! Each run of [`jvp`](crate::jvp) has a different depth, larger than those of all runs before it. A
//! tensor may have a tangent for each of several nested runs: the outermost layer is the tangent of the
//! largest depth, and the tensor beneath it, its *primal*, has the tangents of smaller depths. A function
//! removes the layers of the largest depth from its inputs, is applied to the primals, and adds to the
//! outputs the tangent that its rule computes. The rule's inputs and tangents have the tangents of smaller
//! depths, so derivatives of derivatives never mix.

use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, ErrorKind};
use crate::tape::{Edge, RawTensor};
use crate::thread::is_grad_enabled;
use autograd_kernels::Element;

static DEPTHS: AtomicU64 = AtomicU64::new(1);

/// Returns the depth of a new run of forward mode.
pub(crate) fn new_depth() -> u64 {
    DEPTHS.fetch_add(1, Ordering::Relaxed)
}

/// One layer of a tensor in forward mode: a tensor and its tangent.
#[derive(Debug)]
#[doc(hidden)]
pub struct DualTensor<T> {
    /// See Note [Depths].
    depth: u64,
    primal: RawTensor<T>,
    tangent: Tangent<T>,
}

/// The derivative of a tensor along the direction of a run of forward mode.
#[derive(Clone, Debug)]
pub(crate) enum Tangent<T> {
    Known(RawTensor<T>),
    /// One of the functions that computed the tensor has no derivative; reported when the run ends.
    Failed(Failure),
}

/// The reason why a tensor has no tangent.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) error: Error,
    /// Whether the derivative is missing in forward mode alone: where the same computation is recorded,
    /// a backward pass has it.
    pub(crate) is_recorded: bool,
}

impl Failure {
    /// A failure of a derivative that backward passes do not have either.
    pub(crate) fn lost(error: Error) -> Self {
        Self {
            error,
            is_recorded: false,
        }
    }

    /// The failure of a function without a rule for forward mode.
    pub(crate) fn missing_rule(
        function: &'static str,
        applied_at: &'static Location<'static>,
    ) -> Self {
        let error = ErrorKind::NoForwardRule.of(function, applied_at);
        Self {
            error,
            is_recorded: true,
        }
    }

    /// The failure of a gradient, since nodes save no tangents. With `is_recorded`, a backward pass has the derivative.
    pub(crate) fn of_pass(
        pass: &'static str,
        called_at: &'static Location<'static>,
        is_recorded: bool,
    ) -> Self {
        let error = ErrorKind::PassInForwardMode { pass }.at(called_at);
        Self { error, is_recorded }
    }

    /// Returns the failure of the output of a function that is applied now.
    pub(crate) fn applied(self) -> Self {
        Self {
            is_recorded: self.is_recorded && is_grad_enabled(),
            ..self
        }
    }

    /// Returns the failure of a tensor that depends on both.
    pub(crate) fn and(self, other: Option<Self>) -> Self {
        match other {
            Some(other) if !other.is_recorded => other,
            _ => self,
        }
    }
}

impl<T: Element> DualTensor<T> {
    pub(crate) fn with_edge(&self, edge: Option<&Edge>) -> Arc<Self> {
        Arc::new(Self {
            depth: self.depth,
            primal: self.primal.clone().with_edge(edge.cloned()),
            tangent: self.tangent.clone(),
        })
    }
}

impl<T: Element> RawTensor<T> {
    /// Returns the depth of the outermost tangent; 0 without one.
    #[inline]
    pub(crate) fn depth(&self) -> u64 {
        self.dual.as_ref().map_or(0, |dual| dual.depth)
    }

    /// Returns the tensor beneath `depth`, and its tangent of this depth, if it has one.
    pub(crate) fn split(&self, depth: u64) -> (Self, Option<Tangent<T>>) {
        match &self.dual {
            Some(dual) if dual.depth == depth => (dual.primal.clone(), Some(dual.tangent.clone())),
            _ => (self.clone(), None),
        }
    }

    /// Returns why the tangent of `depth` is missing, if a function without a derivative computed the tensor.
    pub(crate) fn failure(&self, depth: u64) -> Option<Failure> {
        match &self.dual.as_ref()?.tangent {
            Tangent::Failed(failure) if self.depth() == depth => Some(failure.clone()),
            _ => None,
        }
    }

    /// Returns the tensor with a new outermost tangent. `depth` is larger than the depths that it has.
    pub(crate) fn with_tangent(self, depth: u64, tangent: Tangent<T>) -> Self {
        debug_assert!(depth > self.depth());
        let (buffer, edge) = (self.buffer.clone(), self.edge.clone());
        let dual = Some(Arc::new(DualTensor {
            depth,
            primal: self,
            tangent,
        }));
        Self { buffer, edge, dual }
    }
}
