//! Panics inside of forward and backward functions.
//!
//! # Note [Panics]
//! A panic inside of a function is printed with its line, in the author's code. Who called the function needs its name,
//! the shapes of its tensors and the line of `apply`. So the panic is caught, and another one is started whose message
//! has these and then the first message: at the line of `apply`, or for a backward function at the line that runs the
//! pass. Panics of functions that call each other are one sentence inside the other, the outermost first. A payload
//! that is not a text is passed on as it is. With `panic = "abort"`, the first panic ends the program.
//!
//! Nothing is done before there is a panic. Built-in functions are not caught in forward: they check shapes, and panic
//! at the caller's line already.

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};

use crate::thread::Scoped;
use autograd_kernels::Shape;

/// A caught panic.
pub struct Panic(Box<dyn Any + Send>);

impl fmt::Debug for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Panic")
    }
}

/// Runs a function of the author, and returns its panic.
#[inline]
pub fn caught<R>(function: impl FnOnce() -> R) -> Result<R, Panic> {
    // What a panic leaves half done is dropped: the panic is always passed on.
    catch_unwind(AssertUnwindSafe(function)).map_err(Panic)
}

thread_local! {
    /// Whether the panics of passes are caught by a function around them.
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Runs passes, and returns their panic, which has not been passed on at any line of ours.
pub(crate) fn caught_with_passes<R>(passes: impl FnOnce() -> R) -> Result<R, Panic> {
    let _caught = Scoped::set(&IS_CAUGHT, true);
    caught(passes)
}

/// The most tensors that a message lists.
const MOST: usize = 12;

/// Where a panic was.
pub(crate) struct Place<'a> {
    /// `forward` or `backward`.
    pub(crate) part: &'static str,
    pub(crate) function: &'a str,
    pub(crate) applied_at: &'static Location<'static>,
    /// The inputs.
    pub(crate) inputs: Vec<(String, Shape)>,
    /// The other tensors: the incoming gradients.
    pub(crate) others: Vec<(String, Shape)>,
}

impl Panic {
    /// Starts a panic with this one's message after its place, at the caller's line.
    #[track_caller]
    pub(crate) fn pass_on(self, place: &dyn fmt::Display) -> ! {
        match self.message(place) {
            Ok(message) => panic!("{message}"),
            Err(other) => resume_unwind(other),
        }
    }

    /// Starts a panic with this one's message, at the caller's line.
    #[track_caller]
    pub(crate) fn again(self) -> ! {
        match self.0.downcast::<InPass>() {
            Ok(message) => panic!("{}", message.0),
            Err(other) => resume_unwind(other),
        }
    }

    /// Unwinds to the end of the pass, which [`catching_passes`] passes on.
    pub(crate) fn pass_on_later(self, place: &dyn fmt::Display) -> ! {
        match self.message(place) {
            Ok(message) => unwind_to_pass(message),
            Err(other) => resume_unwind(other),
        }
    }

    /// Returns the message, or the payload if it is not a text.
    fn message(self, place: &dyn fmt::Display) -> Result<String, Box<dyn Any + Send>> {
        let other = match self.0.downcast::<String>() {
            Ok(text) => return Ok(format!("{place}: {text}")),
            Err(other) => other,
        };
        let text = match other.downcast::<InPass>() {
            Ok(message) => message.0,
            Err(other) => (*other.downcast::<&'static str>()?).to_owned(),
        };
        Ok(format!("{place}: {text}"))
    }
}

/// Unwinds to the end of the pass, or of the batch, which [`catching_passes`] passes on.
pub(crate) fn unwind_to_pass(message: String) -> ! {
    resume_unwind(Box::new(InPass(message)))
}

/// The message of a panic in a backward function, or in an example of a batch.
struct InPass(String);

/// Runs a pass, or the examples of a batch. A panic in a backward function, or in an example, is passed on at the
/// caller's line.
///
/// # Panics
/// If it panics.
#[track_caller]
pub fn catching_passes<R>(pass: impl FnOnce() -> R) -> R {
    match caught(pass) {
        Ok(result) => result,
        Err(Panic(payload)) => match payload.downcast::<InPass>() {
            Ok(message) if IS_CAUGHT.get() => resume_unwind(message),
            Ok(message) => panic!("{}", message.0),
            Err(other) => resume_unwind(other),
        },
    }
}

/// Without a colon at the end.
impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            part,
            function,
            applied_at,
            ..
        } = self;
        write!(f, "{part} of `{function}`, applied at {applied_at}")?;
        list(f, " to ", &self.inputs)?;
        list(f, " with ", &self.others)?;
        let is_long = self.inputs.len() + self.others.len() > 0;
        f.write_str(if is_long { ", panicked" } else { " panicked" })
    }
}

/// Returns a function with its tensors, for messages.
///
/// ```
/// use pullback::foreign::with_shapes;
///
/// let text = with_shapes("squash", [("x", &[2, 3][..]), ("limit", &[4])]);
/// assert_eq!(text, "`squash` of `x` of shape [2, 3] and `limit` of shape [4]");
/// ```
pub fn with_shapes<'a>(
    function: &str,
    tensors: impl IntoIterator<Item = (&'a str, &'a [usize])>,
) -> String {
    let tensors = tensors.into_iter();
    let tensors: Vec<_> = tensors
        .map(|(name, shape)| (name.to_owned(), Shape::from(shape)))
        .collect();
    let mut text = format!("`{function}`");
    // A text takes all that is written.
    let _ = list(&mut text, " of ", &tensors);
    text
}

/// Writes the names and shapes of tensors: `x` of shape [2], `y` of shape [3] and 5 others.
fn list(f: &mut dyn fmt::Write, before: &str, tensors: &[(String, Shape)]) -> fmt::Result {
    let shown = &tensors[..tensors.len().min(MOST)];
    for (index, (name, shape)) in shown.iter().enumerate() {
        let joined = match index {
            0 => before,
            _ if index + 1 == tensors.len() => " and ",
            _ => ", ",
        };
        write!(f, "{joined}`{name}` of shape {shape}")?;
    }
    match tensors.len() - shown.len() {
        0 => Ok(()),
        others => write!(f, " and {others} others"),
    }
}
