//! The engine: runs backward passes along the tape.
//!
//! `pass` is one pass; `backward` starts one from tensors and accumulates its gradients in leaves, by `accumulate`;
//! `inputs` starts one and returns its gradients ([`grad`]); `single` is one of a single node;
//! `node_apply` runs a node for a user.
//!
//! The engine uses nodes only as `dyn TapeNode`: neither functions nor ranks.

mod accumulate;
mod anomaly;
mod backward;
mod depth;
mod inputs;
mod node_apply;
mod pass;
mod roots;
mod single;
mod trace;
mod visits;

pub use anomaly::detect_anomaly;
pub(crate) use anomaly::is_watching;
pub use backward::Backward;
pub use inputs::{Grad, grad};
pub(crate) use inputs::{LostTangents, gradients, gradients_above};
pub use roots::Seed;
pub use trace::{TraceEvent, trace};

use crate::error::panic::catching_passes;
use crate::saved;
use crate::thread::{self, Mode, Modes, cleanup, examples, replay, with_grad_mode};

/// The modes that a thread has: helper threads take them over. A new mode is added here.
const MODES: [&dyn Mode; 7] = [
    &thread::RECORDING,
    &anomaly::WATCHING,
    &trace::RECORDER,
    &replay::CALLS,
    &examples::EXAMPLES,
    &saved::PACKING,
    &saved::HOOKS,
];

/// Copies the modes of this thread, for helper threads.
pub(crate) fn modes() -> Modes {
    Modes::capture(&MODES)
}

/// Returns whether work must be done in order and on this thread: for the events of a trace, which are nested, and
/// for a checkpoint, whose second call has to do the same as the first.
pub(crate) fn is_ordered() -> bool {
    trace::recorder().is_some() || replay::is_in_checkpoint()
}

/// Runs a pass, recorded under `create_graph`, on a thread with enough stack.
#[track_caller]
fn in_mode<R: Send>(create_graph: bool, pass: impl FnOnce() -> R + Send) -> R {
    catching_passes(|| {
        depth::with_room(|| cleanup::run_pass(|| with_grad_mode(create_graph, pass)))
    })
}
