//! The number of threads that functions use: PyTorch's, unless it was set.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use pullback::kernels;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

static IS_SET: AtomicBool = AtomicBool::new(false);
/// The number that PyTorch had at its last call.
static FOLLOWED: AtomicUsize = AtomicUsize::new(0);

/// Sets the largest number of threads that functions of this module use, in place of that of PyTorch.
#[pyfunction]
pub(crate) fn set_num_threads(count: usize) -> PyResult<()> {
    if count == 0 {
        return Err(PyValueError::new_err(
            "the number of threads must be 1 or more",
        ));
    }
    IS_SET.store(true, Ordering::Relaxed);
    kernels::set_threads(count);
    Ok(())
}

/// Returns the largest number of threads that functions of this module use.
#[pyfunction]
pub(crate) fn get_num_threads() -> usize {
    kernels::threads()
}

/// Takes over the number of threads of PyTorch, unless one was set, here or by `PULLBACK_NUM_THREADS`.
pub(crate) fn follow(of_torch: &Bound<'_, PyAny>) -> PyResult<()> {
    static IS_IN_ENVIRONMENT: OnceLock<bool> = OnceLock::new();
    let is_in_environment = || std::env::var_os("PULLBACK_NUM_THREADS").is_some();
    if IS_SET.load(Ordering::Relaxed) || *IS_IN_ENVIRONMENT.get_or_init(is_in_environment) {
        return Ok(());
    }
    let count: usize = of_torch.call0()?.extract()?;
    if count > 0 && FOLLOWED.swap(count, Ordering::Relaxed) != count {
        kernels::set_threads(count);
    }
    Ok(())
}
