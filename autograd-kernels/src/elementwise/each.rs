//! Loops over the numbers of a formula.

/// Runs a block for each index below a constant. There is no iterator that the compiler would have to see through before
/// it unrolls the loop.
///
/// Not unrolled here: rustc evaluates a condition on constants for each index and each formula, which took more memory
/// than there was for the tests of formulas, and no loop was faster.
macro_rules! each {
    ($index:ident < $count:expr => $body:block) => {
        let mut next: usize = 0;
        while next < ($count) {
            let $index = next;
            $body
            next += 1;
        }
    };
}

/// [`each`], where the compiler would make vector code of the loop, and not of the one around it: it unrolls loops of few
/// rounds, as those of eight indices each are.
macro_rules! each_of_many {
    ($index:ident < $count:expr => $body:block) => {
        each_of_many!(@ $index $count, $body, 0 1 2 3 4 5 6 7);
    };
    (@ $index:ident $count:expr, $body:block, $($step:literal)*) => {
        let mut next: usize = 0;
        while next < ($count) {
            $(each_of_many!(# $index $count, $body, next, $step);)*
            next += 8;
        }
    };
    (# $index:ident $count:expr, $body:block, $next:ident, $step:literal) => {
        if $next + $step < ($count) {
            let $index = $next + $step;
            $body
        }
    };
}

pub(crate) use {each, each_of_many};
