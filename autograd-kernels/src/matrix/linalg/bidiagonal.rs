//! Singular values of upper bidiagonal matrices: the QR iteration of Demmel and Kahan (1990), as LAPACK's `bdsqr` has it.
//! Without a shift, its steps find the smallest singular values to nearly all digits.

use super::FactorError;
use super::rotations::Rows;
use crate::element::Element;
use crate::math::hypot;

/// The number of steps on all rows after which an iteration has failed, for each singular value: several times as many as
/// were ever needed.
const MOST_STEPS: usize = 6;

/// An upper bidiagonal matrix, which becomes diagonal.
pub(super) struct Bidiagonal {
    pub(super) diagonal: Vec<f64>,
    /// The elements above the diagonal.
    pub(super) above: Vec<f64>,
    /// The distance from 1 to the next number of the element type.
    pub(super) epsilon: f64,
}

/// The rotations of one step, of the rows of `Uᵀ` and of `Vᵀ`.
#[derive(Default)]
struct Step {
    left: Vec<[f64; 2]>,
    right: Vec<[f64; 2]>,
}

impl Bidiagonal {
    /// Makes the matrix diagonal, and rotates the rows of `left` and `right` with its rows and columns. Elements of the
    /// diagonal may become negative.
    pub(super) fn iterate<T: Element>(
        &mut self,
        left: &mut Rows<T>,
        right: &mut Rows<T>,
    ) -> Result<(), FactorError> {
        let size = self.diagonal.len();
        let eighth_root = self.epsilon.sqrt().sqrt().sqrt();
        let tolerance = self.epsilon * (1.0 / eighth_root).clamp(10.0, 100.0);
        let negligible = self.negligible(tolerance);
        let mut rest = MOST_STEPS * size * size;
        let (mut end, mut block, mut is_downward) = (size, 0..0, true);
        let mut step = Step::default();
        while end > 1 {
            let start = self.start(end, negligible);
            if start == end - 1 {
                end -= 1;
                continue;
            }
            let (d, e) = (
                &mut self.diagonal[start..end],
                &mut self.above[start..end - 1],
            );
            if start >= block.end || end <= block.start {
                // From the larger end to the smaller one.
                is_downward = d[0].abs() >= d[d.len() - 1].abs();
            }
            block = start..end;
            if !is_downward {
                d.reverse();
                e.reverse();
            }
            let smallest = converged(d, e, tolerance);
            if let Some(smallest) = smallest {
                let largest = d
                    .iter()
                    .chain(&*e)
                    .fold(0.0_f64, |most, x| most.max(x.abs()));
                let ratio = size as f64 * tolerance * (smallest / largest);
                let is_exact = ratio <= self.epsilon.max(0.01 * tolerance);
                let shift = if is_exact {
                    0.0
                } else {
                    shift(d, e, self.epsilon)
                };
                step.run(d, e, shift);
                rest = rest.saturating_sub(d.len());
            }
            if !is_downward {
                d.reverse();
                e.reverse();
            }
            if smallest.is_none() {
                continue;
            }
            if is_downward {
                left.rotate(start, false, &step.left);
                right.rotate(start, false, &step.right);
            } else {
                // The reversed block is that of the transpose.
                left.rotate(end - 1, true, &step.right);
                right.rotate(end - 1, true, &step.left);
            }
            if rest == 0 {
                return Err(FactorError::NotConverged);
            }
        }
        Ok(())
    }

    /// Returns the magnitude of elements above the diagonal that do not change a singular value.
    fn negligible(&self, tolerance: f64) -> f64 {
        let size = self.diagonal.len() as f64;
        let (Some(first), rest) = (self.diagonal.first(), self.diagonal.iter().skip(1)) else {
            return 0.0;
        };
        // A lower bound of the smallest singular value.
        let mut along = first.abs();
        let mut smallest = along;
        for (d, e) in rest.zip(&self.above) {
            along = d.abs() * (along / (along + e.abs()));
            smallest = if along < smallest { along } else { smallest };
            if smallest == 0.0 {
                break;
            }
        }
        let least = MOST_STEPS as f64 * size * size * f64::MIN_POSITIVE;
        (tolerance * smallest / size.sqrt()).max(least)
    }

    /// Returns the start of the block that ends at `end`: the element above its first column is negligible, and becomes 0.
    fn start(&mut self, end: usize, negligible: f64) -> usize {
        for i in (0..end - 1).rev() {
            if self.above[i].abs() <= negligible {
                self.above[i] = 0.0;
                return i + 1;
            }
        }
        0
    }
}

/// Looks for an element above the diagonal that is negligible. Replaces it by 0; if there is none, returns a lower bound of
/// the smallest singular value.
fn converged(d: &[f64], e: &mut [f64], tolerance: f64) -> Option<f64> {
    let last = d.len() - 1;
    if e[last - 1].abs() <= tolerance * d[last].abs() {
        e[last - 1] = 0.0;
        return None;
    }
    let mut along = d[0].abs();
    let mut smallest = along;
    for (e, d) in e.iter_mut().zip(&d[1..]) {
        if e.abs() <= tolerance * along {
            *e = 0.0;
            return None;
        }
        along = d.abs() * (along / (along + e.abs()));
        smallest = smallest.min(along);
    }
    Some(smallest)
}

/// Returns the smaller singular value of the last two rows, or 0 if it is too small to matter.
fn shift(d: &[f64], e: &[f64], epsilon: f64) -> f64 {
    let last = d.len() - 1;
    let shift = smaller(d[last - 1].abs(), e[last - 1].abs(), d[last].abs());
    let first = d[0].abs();
    if first > 0.0 && (shift / first).powi(2) < epsilon {
        return 0.0;
    }
    shift
}

/// Returns the smaller singular value of the upper triangle f, g, h.
fn smaller(f: f64, g: f64, h: f64) -> f64 {
    let (less, more) = (f.min(h), f.max(h));
    if less == 0.0 {
        return 0.0;
    }
    let (sum, difference) = (1.0 + less / more, (more - less) / more);
    if g < more {
        let square = (g / more).powi(2);
        let root = |x: f64| (x * x + square).sqrt();
        return less * (2.0 / (root(sum) + root(difference)));
    }
    let ratio = more / g;
    if ratio == 0.0 {
        return less * more / g;
    }
    let root = |x: f64| (1.0 + (x * ratio).powi(2)).sqrt();
    2.0 * (less * (1.0 / (root(sum) + root(difference))) * ratio)
}

impl Step {
    /// Chases an element from the first row to the last.
    fn run(&mut self, d: &mut [f64], e: &mut [f64], shift: f64) {
        self.left.clear();
        self.right.clear();
        if shift == 0.0 {
            self.without_shift(d, e);
        } else {
            self.with_shift(d, e, shift);
        }
    }

    fn without_shift(&mut self, d: &mut [f64], e: &mut [f64]) {
        let last = d.len() - 1;
        let [mut cosine, mut before, mut sine_before] = [1.0, 1.0, 0.0];
        for i in 0..last {
            let ([c, s], length) = rotation(d[i] * cosine, e[i]);
            if i > 0 {
                e[i - 1] = sine_before * length;
            }
            let (left, diagonal) = rotation(before * length, d[i + 1] * s);
            d[i] = diagonal;
            cosine = c;
            [before, sine_before] = left;
            self.right.push([c, s]);
            self.left.push(left);
        }
        let rest = d[last] * cosine;
        d[last] = rest * before;
        e[last - 1] = rest * sine_before;
    }

    fn with_shift(&mut self, d: &mut [f64], e: &mut [f64], shift: f64) {
        let last = d.len() - 1;
        let mut along = (d[0].abs() - shift) * (1.0_f64.copysign(d[0]) + shift / d[0]);
        let mut beside = e[0];
        for i in 0..last {
            let ([c, s], length) = rotation(along, beside);
            if i > 0 {
                e[i - 1] = length;
            }
            along = c * d[i] + s * e[i];
            e[i] = c * e[i] - s * d[i];
            beside = s * d[i + 1];
            d[i + 1] *= c;
            self.right.push([c, s]);
            let ([c, s], length) = rotation(along, beside);
            d[i] = length;
            along = c * e[i] + s * d[i + 1];
            d[i + 1] = c * d[i + 1] - s * e[i];
            if i + 1 < last {
                beside = s * e[i + 1];
                e[i + 1] *= c;
            }
            self.left.push([c, s]);
        }
        e[last - 1] = along;
    }
}

/// Returns the cosine and sine of the rotation that maps (x, y) to (length, 0), and the length, which may be negative.
fn rotation(x: f64, y: f64) -> ([f64; 2], f64) {
    if y == 0.0 {
        return ([1.0, 0.0], x);
    }
    let length = hypot(x, y).copysign(x);
    ([x / length, y / length], length)
}
