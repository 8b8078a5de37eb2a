//! Conversion of panics in functions to exceptions.

use std::cell::{Cell, RefCell};
use std::panic;
use std::path::Path;
use std::sync::Once;

use pullback::foreign::{catch_panic, panic_text};

/// A panic on its way out.
struct Panicked {
    text: String,
    place: Option<String>,
    /// The text without the function's name and shapes, and the line of `apply`, if a function has passed the panic on:
    /// an exception names its function in the words of Python, and there is no line of the user's.
    passed_on: Option<String>,
}

thread_local! {
    /// The last panic, while panics of this thread become exceptions. One that passes on another keeps its place.
    static LAST: RefCell<Option<Panicked>> = const { RefCell::new(None) };
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Runs `body`, and returns the text and place of a panic as an error.
///
/// The panic hook does not print such a panic, which the exception reports.
pub(crate) fn caught<R>(body: impl FnOnce() -> R) -> Result<R, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if CAUGHT.get() {
                let text = panic_text(panic.payload()).to_owned();
                let former = LAST.take();
                let former =
                    former.filter(|former| text.ends_with(&format!("panicked: {}", former.text)));
                let (place, passed_on) = if let Some(former) = former {
                    (former.place, Some(former.text))
                } else {
                    let place = panic.location();
                    // Cargo passes relative paths to the compiler only for the user's own files.
                    let own = place.filter(|place| Path::new(place.file()).is_relative());
                    (own.map(ToString::to_string), None)
                };
                LAST.set(Some(Panicked {
                    text,
                    place,
                    passed_on,
                }));
            } else {
                before(panic);
            }
        }));
    });
    let outer = CAUGHT.replace(true);
    LAST.take();
    let result = catch_panic(body);
    CAUGHT.set(outer);
    result.map_err(|text| {
        let Some(panicked) = LAST.take() else {
            return text;
        };
        let text = panicked.passed_on.unwrap_or(text);
        match panicked.place {
            Some(place) => format!("{text} (at {place})"),
            None => text,
        }
    })
}
