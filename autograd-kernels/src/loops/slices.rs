//! Several slices changed in one loop, as in the step of an optimizer, which reads and writes a value and its state.

#![allow(
    clippy::inline_always,
    reason = "a loop is compiled for an instruction set if it is inlined into a function that is"
)]

#[cfg(any(optimized, test))]
use super::wide::SHORT;
use super::wide::{Loop, widest};
use crate::parallel::{parts, split_mut, threads, worth};

/// Arrays of one to four slices of one length, which are changed together: `[&mut [T]; N]`.
pub trait Slices: Send + Sized + sealed::Sealed {
    /// One element of each slice: `[T; N]`.
    type Elements;

    #[doc(hidden)]
    fn cut(self, at: usize) -> (Self, Self);

    #[doc(hidden)]
    fn each<U: Copy>(self, y: &[U], f: &impl Fn(Self::Elements, U) -> Self::Elements);
}

mod sealed {
    pub trait Sealed {}
    impl<T, const N: usize> Sealed for [&mut [T]; N] {}
}

macro_rules! slices {
    ($N:literal: $($x:ident)+) => {
        impl<T: Copy + Send> Slices for [&mut [T]; $N] {
            type Elements = [T; $N];

            fn cut(self, at: usize) -> (Self, Self) {
                let [$($x),+] = self.map(|x| x.split_at_mut(at));
                ([$($x.0),+], [$($x.1),+])
            }

            #[cfg_attr(optimized, inline(always))]
            fn each<U: Copy>(self, y: &[U], f: &impl Fn([T; $N], U) -> [T; $N]) {
                // Arguments, so that the compiler can assume that they do not alias: see `Loop`.
                #[cfg_attr(optimized, inline(always))]
                fn each<T: Copy, U: Copy>(
                    $($x: &mut [T],)+
                    y: &[U],
                    f: &impl Fn([T; $N], U) -> [T; $N],
                ) {
                    let length = y.len();
                    $(let $x = &mut $x[..length];)+
                    for i in 0..length {
                        [$($x[i]),+] = f([$($x[i]),+], y[i]);
                    }
                }
                let [$($x),+] = self;
                each($($x,)+ y, f);
            }
        }
    };
}

slices!(1: a);
slices!(2: a b);
slices!(3: a b c);
slices!(4: a b c d);

/// `x[..][i] = f(x[..][i], y[i])`
struct ZipSlices<'a, S, U, F>(S, &'a [U], &'a F);

impl<S: Slices, U: Copy, F: Fn(S::Elements, U) -> S::Elements> Loop for ZipSlices<'_, S, U, F> {
    #[cfg_attr(optimized, inline(always))]
    fn run(self) {
        self.0.each(self.1, self.2);
    }
}

/// Replaces the elements at each index of all slices by `f` of them and of the element of `y` at that index.
///
/// # Panics
/// If the lengths differ.
#[inline]
#[track_caller]
pub fn zip_slices_in_place<'a, T, U: Copy + Sync, const N: usize>(
    x: [&'a mut [T]; N],
    y: &[U],
    f: impl Fn([T; N], U) -> [T; N] + Sync,
) where
    [&'a mut [T]; N]: Slices<Elements = [T; N]>,
{
    assert!(
        x.iter().all(|x| x.len() == y.len()),
        "slices of one length are needed, found {:?} and {}",
        x.each_ref().map(|x| x.len()),
        y.len()
    );
    #[cfg(optimized)]
    if y.len() < SHORT {
        return x.each(y, &f);
    }
    zip_long(x, y, &f);
}

#[inline(never)]
fn zip_long<S: Slices, U: Copy + Sync>(
    x: S,
    y: &[U],
    f: &(impl Fn(S::Elements, U) -> S::Elements + Sync),
) {
    let parts = parts(threads(), y.len(), worth::LOOP);
    if parts < 2 {
        return widest(ZipSlices(x, y, f));
    }
    let mut pieces = Vec::with_capacity(parts);
    let (mut x, mut y) = (x, y);
    for left in (1..=parts).rev() {
        let at = y.len() / left;
        let (piece, rest) = x.cut(at);
        pieces.push(Some((piece, &y[..at])));
        (x, y) = (rest, &y[at..]);
    }
    split_mut(&mut pieces, 1, 1, |_, pieces| {
        for (x, y) in pieces.iter_mut().filter_map(Option::take) {
            widest(ZipSlices(x, y, f));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_changed_once_whatever_the_length() {
        for length in [
            0,
            1,
            SHORT - 1,
            SHORT,
            1000,
            2 * worth::LOOP - 1,
            5 * worth::LOOP + 17,
        ] {
            let y: Vec<f32> = (0..length).map(|i| (i % 1000) as f32).collect();
            let mut x = [1.0_f32, 2.0, 3.0, 4.0].map(|start| vec![start; length]);
            let [a, b, c, d] = &mut x;
            zip_slices_in_place([a, b, c, d], &y, |[a, b, c, d], y| {
                [a + y, b - y, c * y, d + a]
            });
            let wanted = y.iter().map(|y| [1.0 + y, 2.0 - y, 3.0 * y, 5.0]);
            for (i, wanted) in wanted.enumerate() {
                assert_eq!([x[0][i], x[1][i], x[2][i], x[3][i]], wanted);
            }
        }
    }

    #[test]
    #[should_panic(expected = "found [2, 1] and 2")]
    fn lengths_must_agree() {
        zip_slices_in_place([&mut [1.0, 2.0], &mut [1.0]], &[1.0, 2.0], |x, _| x);
    }
}
