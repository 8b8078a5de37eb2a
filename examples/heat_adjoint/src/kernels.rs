//! The kernels in C and C++, behind functions that check their arguments.

#![expect(
    unsafe_code,
    reason = "only this module calls functions of other languages"
)]

use std::fmt;
use std::str::FromStr;

/// The signature of all kernels: rows, columns, share, east, south, the input, the output.
type Kernel =
    unsafe extern "C" fn(usize, usize, *const f64, *const f64, *const f64, *const f64, *mut f64);

// SAFETY: these are the signatures in `kernels/`, whose `size_t` is `usize` here.
unsafe extern "C" {
    fn heat_step(
        rows: usize,
        columns: usize,
        share: *const f64,
        east: *const f64,
        south: *const f64,
        before: *const f64,
        after: *mut f64,
    );
    fn heat_step_adjoint(
        rows: usize,
        columns: usize,
        share: *const f64,
        east: *const f64,
        south: *const f64,
        grad_after: *const f64,
        grad_before: *mut f64,
    );
    fn heat_step_cpp(
        rows: usize,
        columns: usize,
        share: *const f64,
        east: *const f64,
        south: *const f64,
        before: *const f64,
        after: *mut f64,
    );
}

/// The language of the forward kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Language {
    C,
    Cpp,
}

impl FromStr for Language {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "c" => Ok(Self::C),
            "cpp" => Ok(Self::Cpp),
            _ => Err("there are `c` and `cpp`"),
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::C => "C",
            Self::Cpp => "C++",
        })
    }
}

/// The numbers for each cell of a plate, row by row: see `kernels/heat.c`.
#[derive(Debug)]
pub struct Coefficients {
    pub rows: usize,
    pub columns: usize,
    pub share: Vec<f64>,
    pub east: Vec<f64>,
    pub south: Vec<f64>,
}

/// Writes the temperatures after a step into `after`.
///
/// # Panics
/// If a slice does not have one number for each cell.
#[track_caller]
pub fn step(coefficients: &Coefficients, language: Language, before: &[f64], after: &mut [f64]) {
    let kernel = match language {
        Language::C => heat_step,
        Language::Cpp => heat_step_cpp,
    };
    run(kernel, coefficients, before, after);
}

/// Writes the gradient with respect to the temperatures before a step into `grad_before`, from the
/// gradient with respect to those after it.
///
/// # Panics
/// If a slice does not have one number for each cell.
#[track_caller]
pub fn step_adjoint(coefficients: &Coefficients, grad_after: &[f64], grad_before: &mut [f64]) {
    run(heat_step_adjoint, coefficients, grad_after, grad_before);
}

#[track_caller]
fn run(kernel: Kernel, coefficients: &Coefficients, read: &[f64], written: &mut [f64]) {
    let Coefficients {
        rows,
        columns,
        share,
        east,
        south,
    } = coefficients;
    let cells = rows
        .checked_mul(*columns)
        .expect("as many cells as memory can hold");
    let lengths = [
        share.len(),
        east.len(),
        south.len(),
        read.len(),
        written.len(),
    ];
    assert!(
        lengths == [cells; 5],
        "a step on {rows} x {columns} cells, with {lengths:?} numbers (share, east, south, before, after)"
    );
    // SAFETY: the kernels read and write at `row * columns + column` alone, with `row < rows` and
    // `column < columns`, and at the neighbors of such a place that exist: all below `cells`, which the
    // assertion above has made the length of each slice. All are initialized, as slices are. What is written
    // overlaps nothing that is read, as `written` is an exclusive reference; `restrict` asks for no more. The
    // kernels keep no pointer, call nothing, and cannot unwind.
    unsafe {
        kernel(
            *rows,
            *columns,
            share.as_ptr(),
            east.as_ptr(),
            south.as_ptr(),
            read.as_ptr(),
            written.as_mut_ptr(),
        );
    }
}

#[cfg(test)]
mod tests {
    use pullback::nn::{Generator, init};

    use super::*;

    fn random(rows: usize, columns: usize) -> (Coefficients, Vec<f64>) {
        let mut random = Generator::seed(7);
        let mut field = || init::uniform(rows * columns, -1.0, 1.0, &mut random).to_vec();
        let (share, east, south, before) = (field(), field(), field(), field());
        (
            Coefficients {
                rows,
                columns,
                share,
                east,
                south,
            },
            before,
        )
    }

    #[test]
    fn the_twins_give_the_same_bits() {
        for (rows, columns) in [(1, 1), (1, 9), (9, 1), (2, 2), (17, 23)] {
            let (coefficients, before) = random(rows, columns);
            let mut c = vec![f64::NAN; before.len()];
            let mut cpp = vec![f64::NAN; before.len()];
            step(&coefficients, Language::C, &before, &mut c);
            step(&coefficients, Language::Cpp, &before, &mut cpp);
            let bits = |field: &[f64]| field.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&c), bits(&cpp), "{rows} x {columns}");
            assert!(c.iter().all(|x| x.is_finite()));
        }
    }

    /// Compares the step's matrix, column by column, with the adjoint's, entry by entry.
    #[test]
    fn the_adjoint_is_the_transposed_step() {
        let (coefficients, before) = random(3, 4);
        let cells = before.len();
        let column = |at: usize, adjoint: bool| {
            let (mut unit, mut result) = (vec![0.0; cells], vec![f64::NAN; cells]);
            unit[at] = 1.0;
            if adjoint {
                step_adjoint(&coefficients, &unit, &mut result);
            } else {
                step(&coefficients, Language::C, &unit, &mut result);
            }
            result
        };
        for i in 0..cells {
            let row = column(i, true);
            for (j, entry) in row.into_iter().enumerate() {
                assert!((entry - column(j, false)[i]).abs() < 1e-15, "{i} {j}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "a step on 3 x 4 cells, with [12, 12, 12, 12, 11] numbers")]
    fn a_slice_that_is_too_short_is_refused() {
        let (coefficients, before) = random(3, 4);
        step(&coefficients, Language::C, &before, &mut [0.0; 11]);
    }

    #[test]
    #[should_panic(expected = "as many cells as memory can hold")]
    fn sizes_that_overflow_are_refused() {
        let (mut coefficients, before) = random(1, 1);
        (coefficients.rows, coefficients.columns) = (usize::MAX, 2);
        step_adjoint(&coefficients, &before, &mut [0.0]);
    }
}
