//! Running gradients back along the tape.
//!
//! `pass` walks the tape once; `backward` starts it from tensors and has `accumulate` write the result into
//! the leaves; `inputs` starts it from tensors and hands the result back ([`grad`]); `by_hand` runs one node.
//!
//! The engine knows nodes only as `dyn TapeNode`: neither functions nor ranks.

mod accumulate;
mod anomaly;
mod backward;
mod by_hand;
mod depth;
mod inputs;
mod modes;
mod notes;
mod pass;
mod roots;
mod trace;

pub use anomaly::detect_anomaly;
pub use backward::Backward;
pub use inputs::{Grad, grad};
pub(crate) use inputs::{LostTangents, gradients, gradients_above};
pub(crate) use modes::Modes;
pub use roots::Seed;
pub use trace::{TraceEvent, trace};

use crate::grad_mode::with_grad_mode;
use crate::pass_end;

/// Runs a pass, which is recorded only under `create_graph`, where there is room for it.
fn in_mode<R: Send>(create_graph: bool, pass: impl FnOnce() -> R + Send) -> R {
    depth::with_room(|| pass_end::pass(|| with_grad_mode(create_graph, pass)))
}
