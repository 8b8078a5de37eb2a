//! Long calls, which signals end, such as that of Ctrl-C.
//!
//! Python handles signals on its main thread, and only between two steps of its own. So a long call of this thread runs
//! on another one, while this one waits and handles signals. If a handler raises an exception, the call is abandoned: its
//! thread runs to the end, and its result is dropped. All that it reads is its own, or kept alive by what it owns.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::intern;
use pyo3::prelude::*;

/// A call that takes longer is long, and so are the next calls of its function.
pub(crate) const LONG: Duration = Duration::from_millis(100);

/// The stack of a call's thread, which is that of a main thread on most systems.
const STACK: usize = 8 << 20;

/// The time between two looks for signals.
const PAUSE: Duration = Duration::from_millis(50);

/// How long a call may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Length {
    /// Less than it takes to release Python's lock and to get it again.
    Short,
    Usual,
    /// So long that it can be interrupted.
    Long,
}

/// Runs `work`: without Python's lock, unless it is short.
pub(crate) fn run<R: Send + 'static>(
    py: Python<'_>,
    length: Length,
    work: impl FnOnce() -> R + Send + 'static,
) -> PyResult<R> {
    if length == Length::Short {
        return Ok(work());
    }
    if length == Length::Usual || !is_main_thread(py)? {
        return Ok(py.detach(work));
    }
    let work = Arc::new(Mutex::new(Some(work)));
    let taken = {
        let work = work.clone();
        move || work.lock().unwrap_or_else(PoisonError::into_inner).take()
    };
    let (sender, mut receiver) = channel();
    let body = move || {
        if let Some(work) = taken() {
            // It was abandoned if nobody receives.
            let _ = sender.send(work());
        }
    };
    let thread = thread::Builder::new().name("pullback".to_owned());
    if thread.stack_size(STACK).spawn(body).is_err() {
        // The process has as many threads as it may have.
        let work = work.lock().unwrap_or_else(PoisonError::into_inner).take();
        // INVARIANT: no thread has taken it.
        return Ok(py.detach(work.expect("the work")));
    }
    loop {
        let (back, received) = py.detach(move || {
            let received = receiver.recv_timeout(PAUSE);
            (receiver, received)
        });
        receiver = back;
        match received {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            // INVARIANT: the work catches its panics.
            Err(RecvTimeoutError::Disconnected) => unreachable!("the work panicked"),
        }
    }
}

/// Returns whether this is the thread that handles signals.
fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import(intern!(py, "threading"))?;
    let main = threading.call_method0(intern!(py, "main_thread"))?;
    let own = threading.call_method0(intern!(py, "get_ident"))?;
    main.getattr(intern!(py, "ident"))?.eq(own)
}
