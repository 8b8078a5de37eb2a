//! Conversion of panics in functions to exceptions.

use std::cell::{Cell, RefCell};
use std::panic;
use std::path::Path;
use std::sync::Once;

use pullback::foreign::{catch_panic, panic_text};

/// The text and the place of a panic.
type Panicked = (String, Option<String>);

thread_local! {
    /// The last panic, while panics of this thread become exceptions. A panic that passes on another one, with the
    /// function's name and shapes, keeps its place.
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
                let place = match LAST.take() {
                    Some((former, place)) if text.ends_with(&format!("panicked: {former}")) => {
                        place
                    }
                    // Cargo passes relative paths to the compiler only for the user's own files.
                    _ => panic
                        .location()
                        .filter(|place| Path::new(place.file()).is_relative())
                        .map(ToString::to_string),
                };
                LAST.set(Some((text, place)));
            } else {
                before(panic);
            }
        }));
    });
    let outer = CAUGHT.replace(true);
    LAST.take();
    let result = catch_panic(body);
    CAUGHT.set(outer);
    result.map_err(|text| match LAST.take() {
        Some((_, Some(place))) => format!("{text} (at {place})"),
        _ => text,
    })
}
