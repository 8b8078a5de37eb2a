//! Tensors that carry a tangent: what forward mode computes with.
//!
//! # Note [Levels]
//! Each run of [`jvp`](crate::jvp) has a level of its own, larger than those of all runs before it. A
//! tensor may have a tangent for several runs, one inside the other: the outermost layer is the tangent
//! of the largest level, and the tensor beneath it, its *primal*, has the tangents of smaller levels.
//! A function takes off the largest level of its inputs, is applied to what is beneath, and puts on
//! the tangent that its rule computes from them, tangents of smaller levels included: so derivatives of
//! derivatives never mix.

use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, ErrorKind};
use crate::tape::{Edge, RawTensor};
use crate::thread::is_grad_enabled;
use autograd_kernels::Element;

static LEVELS: AtomicU64 = AtomicU64::new(1);

/// The level of a new run of forward mode.
pub(crate) fn new_level() -> u64 {
    LEVELS.fetch_add(1, Ordering::Relaxed)
}

/// One layer of a tensor in forward mode.
#[derive(Debug)]
#[doc(hidden)]
pub struct Dual<T> {
    /// See Note [Levels].
    level: u64,
    primal: RawTensor<T>,
    tangent: Tangent<T>,
}

/// The derivative of a tensor in the direction that a run of forward mode follows.
#[derive(Clone, Debug)]
pub(crate) enum Tangent<T> {
    Known(RawTensor<T>),
    /// A function on the way has none; reported when the run ends.
    Failed(Failure),
}

/// Why there is no tangent.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) error: Error,
    /// Whether the derivative is lost to forward mode alone: where the same computation is recorded,
    /// backward passes know it.
    pub(crate) is_recorded: bool,
}

impl Failure {
    /// For a derivative that backward passes do not know either.
    pub(crate) fn lost(error: Error) -> Self {
        Self {
            error,
            is_recorded: false,
        }
    }

    /// For a function that has no rule.
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

    /// For what a backward pass gives: nodes save no tangents. With `is_recorded`, backward passes know it.
    pub(crate) fn of_pass(
        pass: &'static str,
        called_at: &'static Location<'static>,
        is_recorded: bool,
    ) -> Self {
        let error = ErrorKind::PassInForwardMode { pass }.at(called_at);
        Self { error, is_recorded }
    }

    /// What is wrong with what a function, applied now, makes of it.
    pub(crate) fn applied(self) -> Self {
        Self {
            is_recorded: self.is_recorded && is_grad_enabled(),
            ..self
        }
    }

    /// What is wrong with something that depends on both.
    pub(crate) fn and(self, other: Option<Self>) -> Self {
        match other {
            Some(other) if !other.is_recorded => other,
            _ => self,
        }
    }
}

impl<T: Element> Dual<T> {
    pub(crate) fn with_edge(&self, edge: Option<&Edge>) -> Arc<Self> {
        Arc::new(Self {
            level: self.level,
            primal: self.primal.clone().with_edge(edge.cloned()),
            tangent: self.tangent.clone(),
        })
    }
}

impl<T: Element> RawTensor<T> {
    /// The largest level that this tensor has a tangent of; 0 without any.
    #[inline]
    pub(crate) fn level(&self) -> u64 {
        self.dual.as_ref().map_or(0, |dual| dual.level)
    }

    /// What is beneath `level`, and the tangent there, if there is one.
    pub(crate) fn split(&self, level: u64) -> (Self, Option<Tangent<T>>) {
        match &self.dual {
            Some(dual) if dual.level == level => (dual.primal.clone(), Some(dual.tangent.clone())),
            _ => (self.clone(), None),
        }
    }

    /// Why there is no tangent at `level`, if a function on the way could not give one.
    pub(crate) fn failure(&self, level: u64) -> Option<Failure> {
        match &self.dual.as_ref()?.tangent {
            Tangent::Failed(failure) if self.level() == level => Some(failure.clone()),
            _ => None,
        }
    }

    /// The same tensor with a tangent on top. `level` is larger than what it has.
    pub(crate) fn with_tangent(self, level: u64, tangent: Tangent<T>) -> Self {
        debug_assert!(level > self.level());
        let (buffer, edge) = (self.buffer.clone(), self.edge.clone());
        let dual = Some(Arc::new(Dual {
            level,
            primal: self,
            tangent,
        }));
        Self { buffer, edge, dual }
    }
}
