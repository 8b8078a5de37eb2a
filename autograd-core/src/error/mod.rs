//! The one error type: a kind, a function and a line.

mod kind;
mod mismatch;
pub(crate) mod panic;

pub use kind::ErrorKind;
pub use mismatch::{Check, Derivative, Mismatch, Unsolved};

use std::fmt;
use std::panic::{Location, RefUnwindSafe};
use std::sync::Arc;

/// An error of a backward pass, of forward mode or of a gradient check.
///
/// Its cause is state that the types do not show: a graph that was freed, an input that no output depends on, a
/// gradient of the wrong shape. [`kind`](Self::kind) is for programs; `Display` writes [`message`](Self::message) and
/// then the line, [`applied_at`](Self::applied_at), if it is known. `Debug` writes the same, for `?` in `main`,
/// `unwrap` and `expect`.
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
/// let line = error.applied_at().expect("the line of `sum`");
/// assert_eq!(error.to_string(), format!("{} (applied at {line})", error.message()));
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

/// The error that a backward function returned.
#[derive(Clone)]
struct Source(Arc<dyn std::error::Error + Send + Sync>);

/// A source is only displayed, so an error crosses `catch_unwind` whatever its source is.
impl RefUnwindSafe for Source {}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_string() == other.0.to_string()
    }
}

impl Error {
    /// Returns an error without a function. Not `From`: a second conversion into this type would leave
    /// `collect::<Result<_, _>>()?` ambiguous in functions that return it.
    pub(crate) fn new(kind: ErrorKind) -> Self {
        kind.error(None, None)
    }

    /// Returns the message without the line that `Display` adds.
    pub fn message(&self) -> String {
        Message(&self.0).to_string()
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Returns the name of the function that failed, if the error is about one.
    pub fn function(&self) -> Option<&'static str> {
        self.mismatch()
            .map_or(self.0.function, |mismatch| mismatch.function)
    }

    /// Returns the line that applied the function; without a function, the line of the call.
    pub fn applied_at(&self) -> Option<&'static Location<'static>> {
        self.0.at
    }

    /// Returns the result of a failed gradient check.
    pub fn mismatch(&self) -> Option<&Mismatch> {
        match self.kind() {
            ErrorKind::Gradcheck(mismatch) => Some(mismatch),
            _ => None,
        }
    }

    /// Returns the error, of this kind, of a function of the author's that returned `source`.
    pub(crate) fn failed(
        source: Box<dyn std::error::Error + Send + Sync>,
        function: &'static str,
        at: &'static Location<'static>,
        kind: impl FnOnce(String) -> ErrorKind,
    ) -> Self {
        let source = match source.downcast::<PassedOn>() {
            Ok(passed_on) => return passed_on.0,
            Err(source) => source,
        };
        let reason = source.to_string();
        let mut error = kind(reason).of(function, at);
        Arc::make_mut(&mut error.0).source = Some(Source(source.into()));
        error
    }

    /// Returns the error with the example of a batch whose pass it is of.
    pub(crate) fn of_example(
        mut self,
        example: usize,
        function: &'static str,
        at: &'static Location<'static>,
    ) -> Self {
        let source = self.0.source.clone();
        if self.0.at == Some(at) {
            // It is written once.
            Arc::make_mut(&mut self.0).at = None;
        }
        let mut of_example = ErrorKind::Example {
            example,
            error: self,
        }
        .of(function, at);
        Arc::make_mut(&mut of_example.0).source = source;
        of_example
    }

    /// Returns the failed gradient check, to add the names of its function and input.
    pub(crate) fn mismatch_mut(&mut self) -> Option<&mut Mismatch> {
        match &mut Arc::make_mut(&mut self.0).kind {
            ErrorKind::Gradcheck(mismatch) => Some(mismatch),
            _ => None,
        }
    }
}

/// An error with its function, which a backward function or a `#[jvp]` rule passes on as it is.
#[derive(Clone)]
pub(crate) struct PassedOn(pub(crate) Error);

impl fmt::Debug for PassedOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for PassedOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl std::error::Error for PassedOn {}

impl ErrorKind {
    /// Returns the error of this kind in a function applied at this line.
    pub(crate) fn of(self, function: &'static str, at: &'static Location<'static>) -> Error {
        self.error(Some(function), Some(at))
    }

    /// Returns the error of this kind in a call at this line.
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

/// An error without its line.
struct Message<'a>(&'a Inner);

impl fmt::Display for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(Inner { kind, function, .. }) = self;
        let unnamed = match kind {
            ErrorKind::Example { .. } => "vmap",
            _ => "a function",
        };
        kind.write(function.unwrap_or(unnamed), f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Message(&self.0), f)?;
        match (self.0.function, self.0.at) {
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
