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

pub(crate) use each;
