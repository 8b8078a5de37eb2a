//! Panics of the functions, as exceptions.

use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Once;

use pullback::foreign::panic_text;

thread_local! {
    /// Where the last panic was, while panics of this thread become exceptions.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Runs `body`; what it panics with, and where.
///
/// Such a panic is reported once, as the exception: the hook leaves it alone.
pub(crate) fn caught<R>(body: impl FnOnce() -> R) -> Result<R, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if CAUGHT.get() {
                // Cargo gives the compiler relative paths of the user's own files alone.
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
    let result = panic::catch_unwind(AssertUnwindSafe(body));
    CAUGHT.set(outer);
    result.map_err(|payload| {
        let text = panic_text(&*payload);
        match PLACE.take() {
            Some(place) => format!("{text} (at {place})"),
            None => text.to_owned(),
        }
    })
}
