//! Tensors with tangents, for forward mode.
//!
//! # Note [Depths]
//! A *run* is one execution of forward mode, such as a call of [`jvp`](crate::jvp). Each run has its own depth, larger
//! than those of all runs before it. A tensor may have a tangent for each of several nested runs: the outermost layer
//! is the tangent of the largest depth, and the tensor below it, its *primal*, has the tangents of smaller depths. A
//! function removes the largest depth of its inputs, is applied to the primals, and adds the tangent that its rule
//! computes, including tangents of smaller depths: so derivatives of different runs never mix.

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
    /// A tangent that is unknown, as that of a function without a rule. The error is returned at the end of the run.
    Failed(Failure),
}

/// The reason of a missing tangent.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) error: Error,
    /// Whether backward passes can compute the derivative, because the computation is recorded.
    pub(crate) is_recorded: bool,
}

impl Failure {
    /// Returns the failure of a derivative that backward passes cannot compute either.
    pub(crate) fn lost(error: Error) -> Self {
        Self {
            error,
            is_recorded: false,
        }
    }

    /// Returns the failure of a function without a rule.
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

    /// Returns the failure of the gradients of a backward pass: nodes save no tangents.
    pub(crate) fn of_pass(
        pass: &'static str,
        called_at: &'static Location<'static>,
        is_recorded: bool,
    ) -> Self {
        let error = ErrorKind::PassInForwardMode { pass }.at(called_at);
        Self { error, is_recorded }
    }

    /// Returns the failure of the outputs of a function that is applied now to this tensor.
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
    /// Returns the largest depth of a tangent of this tensor; 0 without tangents.
    #[inline]
    pub(crate) fn depth(&self) -> u64 {
        self.dual.as_ref().map_or(0, |dual| dual.depth)
    }

    /// Returns the primal below `depth`, and the tangent of that depth, if there is one.
    pub(crate) fn split(&self, depth: u64) -> (Self, Option<Tangent<T>>) {
        match &self.dual {
            Some(dual) if dual.depth == depth => (dual.primal.clone(), Some(dual.tangent.clone())),
            _ => (self.clone(), None),
        }
    }

    /// Returns the failure of the tangent of `depth`, if it failed.
    pub(crate) fn failure(&self, depth: u64) -> Option<Failure> {
        match &self.dual.as_ref()?.tangent {
            Tangent::Failed(failure) if self.depth() == depth => Some(failure.clone()),
            _ => None,
        }
    }

    /// Adds a tangent. `depth` must be larger than those of the tensor.
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
