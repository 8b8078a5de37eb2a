//! The one error type: what went wrong, in which function, at which line.

mod kind;
mod mismatch;

pub use kind::ErrorKind;
pub use mismatch::{Check, Derivative, Mismatch};

use std::fmt;
use std::panic::{Location, RefUnwindSafe};
use std::sync::Arc;

/// What can go wrong when gradients are asked for.
///
/// Mistakes that the types cannot rule out and that depend on state: a graph that was freed, an input
/// that no output depends on, a gradient of the wrong shape. [`kind`](Self::kind) says which of them it is;
/// where a function is to blame, [`function`](Self::function) and [`applied_at`](Self::applied_at) say where.
///
/// `Debug` writes the message too: it is what `?` in `main`, `unwrap` and `expect` show.
///
/// ```
/// use pullback::{ErrorKind, Tensor};
/// use pullback::ndarray::array;
///
/// let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
/// let y = (&x * &x).sum();
/// y.backward()?;
/// let error = y.backward().unwrap_err();
/// assert_eq!((error.kind(), error.function()), (&ErrorKind::Freed, Some("Sum")));
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Error(Arc<Inner>);

#[derive(Clone, PartialEq)]
struct Inner {
    kind: ErrorKind,
    function: Option<&'static str>,
    at: Option<&'static Location<'static>>,
    source: Option<Source>,
}

/// What a function's author said went wrong.
#[derive(Clone)]
struct Source(Arc<dyn std::error::Error + Send + Sync>);

/// It is only ever shown, so an error crosses `catch_unwind` whatever its source is.
impl RefUnwindSafe for Source {}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_string() == other.0.to_string()
    }
}

impl Error {
    /// An error that no function is to blame for. Not `From`: a second conversion into this type would leave
    /// `collect::<Result<_, _>>()?` ambiguous in functions that return it.
    pub(crate) fn new(kind: ErrorKind) -> Self {
        kind.error(None, None)
    }

    /// Returns what went wrong.
    ///
    /// ```
    /// use pullback::{ErrorKind, Tensor};
    /// use pullback::ndarray::array;
    ///
    /// let error = Tensor::from(array![1.0, 2.0]).sum().backward().unwrap_err();
    /// assert_eq!(error.kind(), &ErrorKind::NoGraph);
    /// ```
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Returns the name of the function that it happened in.
    ///
    /// ```
    /// use pullback::{Tensor, no_grad};
    /// use pullback::ndarray::array;
    ///
    /// let x = Tensor::from(array![1.0]).set_requires_grad(true);
    /// let constant = no_grad(|| x.sum());
    /// assert_eq!(constant.backward().unwrap_err().function(), None);
    /// ```
    pub fn function(&self) -> Option<&'static str> {
        self.mismatch()
            .map_or(self.0.function, |mismatch| mismatch.function)
    }

    /// Returns the line that applied the function.
    ///
    /// ```
    /// use pullback::Tensor;
    /// use pullback::ndarray::array;
    ///
    /// let singular = Tensor::from(array![[1.0, 2.0], [2.0, 4.0]]);
    /// # #[cfg(feature = "ops")]
    /// assert!(singular.inv().unwrap_err().applied_at().is_some());
    /// ```
    pub fn applied_at(&self) -> Option<&'static Location<'static>> {
        self.0.at
    }

    /// Returns what a gradient check found, if this is its error.
    ///
    /// ```
    /// use pullback::ndarray::{Array1, ArrayView1, array};
    /// use pullback::{Gradcheck, Tensor, custom_function};
    ///
    /// #[custom_function(grad(x) = &grad_output * &x)] // 2x is right
    /// fn square(x: ArrayView1<f64>) -> Array1<f64> {
    ///     &x * &x
    /// }
    ///
    /// let error = Gradcheck::new().run(square, &Tensor::from(array![3.0])).unwrap_err();
    /// assert_eq!(error.mismatch().map(|found| found.analytical), Some(3.0));
    /// ```
    pub fn mismatch(&self) -> Option<&Mismatch> {
        match self.kind() {
            ErrorKind::Gradcheck(mismatch) => Some(mismatch),
            _ => None,
        }
    }

    /// The error of a backward function that returned one.
    pub(crate) fn failed(
        source: Box<dyn std::error::Error + Send + Sync>,
        function: &'static str,
        at: &'static Location<'static>,
    ) -> Self {
        if let Some(exceeded) = source.downcast_ref::<Exceeded>() {
            return exceeded.error();
        }
        let reason = source.to_string();
        let mut error = ErrorKind::Backward { reason }.of(function, at);
        Arc::make_mut(&mut error.0).source = Some(Source(source.into()));
        error
    }

    /// The failed gradient check, to add what is known of its function.
    pub(crate) fn mismatch_mut(&mut self) -> Option<&mut Mismatch> {
        match &mut Arc::make_mut(&mut self.0).kind {
            ErrorKind::Gradcheck(mismatch) => Some(mismatch),
            _ => None,
        }
    }
}

/// A function of numbers was differentiated once more than its loops were generated for.
pub(crate) struct Exceeded {
    pub(crate) function: &'static str,
    pub(crate) order: usize,
    /// Where its attribute is, which says the order.
    pub(crate) at: &'static Location<'static>,
}

impl Exceeded {
    pub(crate) fn error(&self) -> Error {
        ErrorKind::OrderExceeded { order: self.order }.of(self.function, self.at)
    }
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error(), f)
    }
}

impl fmt::Debug for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Exceeded {}

impl ErrorKind {
    /// The error of this kind in a function that was applied there.
    pub(crate) fn of(self, function: &'static str, at: &'static Location<'static>) -> Error {
        self.error(Some(function), Some(at))
    }

    /// The error of this kind in a call from there.
    pub(crate) fn at(self, at: &'static Location<'static>) -> Error {
        self.error(None, Some(at))
    }

    fn error(
        self,
        function: Option<&'static str>,
        at: Option<&'static Location<'static>>,
    ) -> Error {
        Error(Arc::new(Inner {
            kind: self,
            function,
            at,
            source: None,
        }))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner {
            kind, function, at, ..
        } = &*self.0;
        kind.write(function.unwrap_or("a function"), f)?;
        match (function, at) {
            (_, None) => Ok(()),
            (Some(_), Some(at)) => write!(f, " (applied at {at})"),
            (None, Some(at)) => write!(f, " (at {at})"),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let source = self.0.source.as_ref()?;
        Some(&*source.0)
    }
}
