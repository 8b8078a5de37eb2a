//! Polynomials.

use crate::element::Element;

/// Returns c₀ + c₁x + c₂x² + … of at most 16 coefficients, four summands at a time: one after the other, each would wait
/// for the one before it. Written without a loop, which the compiler might leave in that of the caller.
#[cfg_attr(optimized, inline(always))]
pub(super) fn polynomial<T: Element, const N: usize>(x: T, coefficients: [T; N]) -> T {
    const { assert!(0 < N && N <= 16, "four times four summands") };
    let square = x * x;
    let fourth = square * square;
    let powers = [x, square];
    let first = four::<T, N, 0>(powers, coefficients);
    match const { (N - 1) / 4 } {
        0 => first,
        1 => first + four::<T, N, 4>(powers, coefficients) * fourth,
        2 => {
            let third = four::<T, N, 8>(powers, coefficients);
            first + (four::<T, N, 4>(powers, coefficients) + third * fourth) * fourth
        }
        _ => {
            let second = four::<T, N, 4>(powers, coefficients);
            let third = four::<T, N, 8>(powers, coefficients);
            let last = four::<T, N, 12>(powers, coefficients);
            first + (second + (third + last * fourth) * fourth) * fourth
        }
    }
}

/// Returns up to four summands of a polynomial, from a coefficient on, without that power of x.
#[cfg_attr(optimized, inline(always))]
fn four<T: Element, const N: usize, const FIRST: usize>([x, square]: [T; 2], c: [T; N]) -> T {
    match const { N.saturating_sub(FIRST) } {
        0 => T::zero(),
        1 => c[FIRST],
        2 => c[FIRST] + c[FIRST + 1] * x,
        3 => c[FIRST] + c[FIRST + 1] * x + c[FIRST + 2] * square,
        _ => c[FIRST] + c[FIRST + 1] * x + (c[FIRST + 2] + c[FIRST + 3] * x) * square,
    }
}
