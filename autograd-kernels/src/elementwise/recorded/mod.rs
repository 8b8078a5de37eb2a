//! Formulas that are recorded, and replayed over the lanes of a block, for their values or for a pass backward.
//!
//! Dual numbers carry a tangent for each variable, which pays for few: the compiler then holds all of them in registers.
//! A formula of many numbers, as with rows of states and weights, is recorded instead. It is called once, with the
//! numbers of one lane ([`Recorded`]), which note their operations (`trace`). For gradients, the operations of a pass
//! backward are appended (`reverse`), with the slopes that dual numbers have. Of these, a [`Program`](program::Program)
//! is made once (`known`): what no result needs is dropped, and equal operations that do not depend on each other, such
//! as those of the rounds of a loop over a row, become one instruction. It is then replayed ([`Replay`]) for each row of
//! lanes, or for two (`depth`), as often as the formula takes the same branches: instruction by instruction, with vector
//! registers.
//!
//! Where a comparison has different results for the lanes of a row, the row is *divided*: it is replayed in each course
//! that lanes take, and the results are chosen; where such rows are many, in a program of all courses (`merge`), which
//! computes what they have in common once. Of a row in many courses, each lane is recorded by itself. That
//! depends on the numbers alone, not on what was replayed before.

mod depth;
mod functions;
mod known;
mod merge;
mod number;
mod program;
mod replay;
mod reverse;
mod rows;
mod schedule;
mod trace;

pub(crate) use depth::{OfReplays, depth, of_depth};
pub(crate) use replay::{Kept, Replay, Replayed, Wanted};
pub(crate) use rows::{Row, WIDTH};
pub(crate) use trace::{Recorded, Trace};
