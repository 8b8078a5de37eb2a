//! Conversion of panics in functions to exceptions.

use std::cell::{Cell, RefCell};
use std::panic;
use std::path::Path;
use std::sync::Once;

use pullback::foreign::catch_panic;

thread_local! {
    /// The place of the last panic, while panics of this thread become exceptions.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
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
                // Cargo passes relative paths to the compiler only for the user's own files.
                let place = panic
                    .location()
                    .filter(|place| Path::new(place.file()).is_relative());
                PLACE.set(place.map(ToString::to_string));
            } else {
                before(panic);
            }
        }));
    });
    let outer = CAUGHT.replace(true);
    let result = catch_panic(body);
    CAUGHT.set(outer);
    result.map_err(|text| match PLACE.take() {
        Some(place) => format!("{text} (at {place})"),
        None => text,
    })
}
