//! Memory of a graph: allocations and bytes, counted by the allocator, for each thread by itself.

#![allow(unreachable_pub, reason = "a test has no public items")]

#[path = "../../examples/gallery/adjoint.rs"]
mod adjoint;
mod counting;
mod inside;
mod modules;
mod optim;
#[path = "../../examples/gallery/reference.rs"]
mod reference;
#[path = "../../examples/gallery/reversible.rs"]
mod reversible;
mod state;

use std::panic::{self, AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use pullback::ndarray::{Array0, Array1, ArrayView0, ArrayView1, Zip};
use pullback::prelude::*;
use pullback::{checkpoint_steps, memory};

use counting::{allocations, bytes, live, signed};
use held::Owner;

/// y = max(x, 0), for which the output is kept.
struct KeepsOutput;

#[custom_function]
impl KeepsOutput {
    #[forward]
    fn forward(x: ArrayView1<f32>) -> Array1<f32> {
        x.mapv(|x| x.max(0.0))
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f32>, output: ArrayView1<f32>) -> Array1<f32> {
        let chosen = |grad: &f32, output: &f32| if *output > 0.0 { *grad } else { 0.0 };
        Zip::from(&grad_output).and(&output).map_collect(chosen)
    }
}

/// A function that saves its input, and whose gradient is written where the incoming one is.
struct KeepsInput;

#[custom_function]
impl KeepsInput {
    #[forward]
    fn forward(x: ArrayView1<f32>) -> Array1<f32> {
        x.mapv(|x| x.max(0.0))
    }

    #[backward(x)]
    fn backward(mut grad_output: Array1<f32>, x: ArrayView1<f32>) -> Array1<f32> {
        grad_output.zip_mut_with(&x, |grad, x| *grad *= f32::from(u8::from(*x > 0.0)));
        grad_output
    }
}

/// y = 2x, for which nothing is kept.
struct KeepsNothing;

#[custom_function]
impl KeepsNothing {
    #[forward]
    fn forward(x: ArrayView1<f32>) -> Array1<f32> {
        &x * 2.0
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f32>) -> Array1<f32> {
        &grad_output * 2.0
    }
}

/// Lets one test run at a time, with an empty cache: all threads share the memory of large arrays.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    memory::empty_cache();
    alone
}

type Apply = fn(&Tensor1<f32>) -> Tensor1<f32>;

fn chain(apply: Apply, leaf: &Tensor1<f32>, length: usize) -> Tensor1<f32> {
    (1..length).fold(apply(leaf), |y, _| apply(&y))
}

fn leaf(length: usize) -> Tensor1<f32> {
    Tensor::from(Array1::ones(length)).set_requires_grad(true)
}

/// The output's memory. The node and the output's count lie in blocks that the thread has kept: a thread that
/// has none allocates them too.
const FORWARD: usize = 1;
/// The gradient's memory.
const BACKWARD: usize = 1;

/// Returns the allocations of each node of a chain in forward, in backward and in drop.
fn allocations_per_node(apply: Apply) -> [usize; 3] {
    let leaf = leaf(64);
    let of_length = |length| {
        let (forward, y) = allocations(|| chain(apply, &leaf, length));
        let seed = Array1::ones(64);
        let (backward, ()) = allocations(|| y.backward_with(seed).unwrap());
        let (dropped, ()) = allocations(|| drop(y));
        [forward, backward, dropped]
    };
    // Once before, so that what a thread keeps for later is there.
    of_length(2048);
    let (short, long) = (of_length(1024), of_length(2048));
    std::array::from_fn(|phase| {
        let more = long[phase] - short[phase];
        // The pass's own lists grow by doubling.
        assert!(more % 1024 < 8, "{short:?}, {long:?}");
        more / 1024
    })
}

#[test]
fn a_node_allocates_no_more_than_it_must() {
    let _alone = alone();
    assert_eq!(
        allocations_per_node(KeepsOutput::apply),
        [FORWARD, BACKWARD, 0]
    );
    assert_eq!(
        allocations_per_node(KeepsNothing::apply),
        [FORWARD, BACKWARD, 0]
    );
    // The incoming gradient's memory is reused.
    assert_eq!(allocations_per_node(KeepsInput::apply), [FORWARD, 0, 0]);
}

#[test]
fn nothing_is_recorded_without_a_leaf_that_requires_grad() {
    let _alone = alone();
    let constant = Tensor::from(Array1::ones(64));
    // What a thread keeps for later.
    drop(chain(KeepsOutput::apply, &leaf(64), 8));
    let (count, y) = allocations(|| KeepsOutput::apply(&constant));
    assert_eq!(count, FORWARD);
    let (count, _) = allocations(|| no_grad(|| KeepsOutput::apply(&leaf(64))));
    let (of_leaf, _) = allocations(|| leaf(64));
    assert_eq!(count - of_leaf, FORWARD);
    assert_eq!(allocations(|| drop(y)).0, 0);
}

const MIB: isize = 1 << 20;
const LENGTH: usize = 24;

#[test]
fn backward_needs_what_was_saved_and_three_tensors_at_most() {
    let _alone = alone();
    for (apply, saved) in [
        (KeepsOutput::apply as Apply, signed(LENGTH)),
        // The last output is the caller's.
        (KeepsInput::apply, signed(LENGTH)),
        (KeepsNothing::apply, 1),
    ] {
        let leaf = leaf(1 << 18);
        let (alive, _, y) = bytes(|| chain(apply, &leaf, LENGTH));
        assert!(
            (alive - saved * MIB).abs() < MIB / 8,
            "{alive} bytes for {saved} tensors"
        );
        let (added, peak, ()) = bytes(|| {
            y.sum().backward().unwrap();
            // What is stored for reuse has no owner.
            memory::empty_cache();
        });
        // The gradient that arrives, the one that is computed from it, and room for one more.
        assert!(peak < 3 * MIB + MIB / 8, "{peak} bytes more at the peak");
        // Saved values are freed: the gradient and the last output remain.
        let freed = (1 - (saved - 1)) * MIB;
        assert!(
            (added - freed).abs() < MIB / 8,
            "{added} bytes more after the pass, not {freed}"
        );
    }
}

#[test]
fn gradients_that_meet_are_added_in_place() {
    let _alone = alone();
    let leaf = leaf(1 << 18);
    for already in [0, 1] {
        let y = (1..16).fold(KeepsNothing::apply(&leaf), |y, _| {
            y + KeepsNothing::apply(&leaf)
        });
        let seed = Array1::ones(1 << 18);
        let (added, peak, ()) = bytes(|| y.backward_with(seed).unwrap());
        // The sum, and one that is added to it; the incoming one was there.
        assert!(peak < 2 * MIB + MIB / 8, "{peak} bytes more at the peak");
        let held = (1 - already - 1) * MIB;
        assert!((added - held).abs() < MIB / 8, "{added} bytes, not {held}");
    }
}

#[test]
fn what_hangs_on_an_output_goes_with_it() {
    let _alone = alone();
    let leaf = leaf(1000);
    // How many tensors of a thousand elements are alive beside the last of a chain, for each node before it.
    for (apply, saved) in [
        (KeepsOutput::apply as Apply, 1),
        (KeepsInput::apply, 1),
        (KeepsNothing::apply, 0),
    ] {
        // What a thread keeps for later.
        drop(chain(apply, &leaf, 200));
        let before = live();
        let half = chain(apply, &leaf, 50);
        let at_half = live();
        let whole = chain(apply, &half, 50);
        let other = chain(apply, &half, 50);
        drop(whole);
        drop(other);
        assert_eq!(live(), at_half, "what came after is gone");
        // An output in the middle keeps what is before it, whatever is dropped first.
        let whole = chain(apply, &half, 50);
        drop(half);
        assert!(live() - before >= (1 + 98 * saved) * 4000);
        drop(whole);
        assert_eq!(live(), before);
    }
}

/// x and 2x, of which everything that can be kept is kept.
struct KeepsAll;

/// The macro refuses a type that it sees to hold tensors.
mod held {
    use pullback::prelude::*;

    /// A value that owns tensors.
    #[derive(Clone)]
    pub struct Owner(pub Vec<Tensor1<f32>>);
}

#[custom_function]
impl KeepsAll {
    #[forward(outputs(first, second), saves(third))]
    fn forward(x: &Tensor1<f32>, owner: Owner) -> (Tensor1<f32>, Tensor1<f32>, Owner) {
        let twice = no_grad(|| x + x);
        (x.clone(), twice, owner)
    }

    #[backward(x)]
    fn backward(
        grad_first: &Tensor1<f32>,
        grad_second: &Tensor1<f32>,
        x: &Tensor1<f32>,
        first: &Tensor1<f32>,
        second: &Tensor1<f32>,
        owner: &Owner,
        third: &Owner,
    ) -> Tensor1<f32> {
        assert_eq!(owner.0.len(), third.0.len());
        (grad_first + grad_second) * (x + first - second) + grad_first + grad_second * 2.0
    }
}

type Pass = fn(&Tensor1<f32>, &Tensor0<f32>);

/// The bytes that a program of tensors leaves behind.
fn leaks(body: impl Fn()) -> isize {
    // Once before, for what the thread keeps.
    body();
    bytes(body).0
}

#[test]
fn no_node_owns_itself() {
    let _alone = alone();
    let apply = |x: &Tensor1<f32>| KeepsAll::apply(x, Owner(vec![x.clone(), x * 2.0]));
    assert_eq!(leaks(|| drop(apply(&leaf(100)))), 0);
    // One output outlives the other.
    assert_eq!(
        leaks(|| {
            let (first, second) = apply(&leaf(100));
            drop(first);
            drop(apply(&second));
        }),
        0
    );
    // After a pass, a pass that was recorded, and one that was recorded and accumulated.
    let passes: [Pass; 4] = [
        |_, loss| loss.backward().unwrap(),
        |x, loss| drop(Grad::of(loss).retain_graph(true).run((x,)).unwrap()),
        |x, loss| {
            let (first,) = Grad::of(loss).create_graph(true).run((x,)).unwrap();
            drop(Grad::of(&first.sum()).create_graph(true).run((x,)).unwrap());
        },
        |x, loss| {
            Backward::of(loss).create_graph(true).run().unwrap();
            // Such a gradient leads back to the leaf that holds it.
            x.zero_grad();
        },
    ];
    for (number, pass) in passes.into_iter().enumerate() {
        let leaked = leaks(|| {
            let x = leaf(100);
            let (first, second) = apply(&x);
            let (third, _) = apply(&(first * &second));
            pass(&x, &(third.sum() + second.sum()));
        });
        assert_eq!(leaked, 0, "pass {number}");
    }
}

/// Backward panics.
struct Panics;

#[custom_function]
impl Panics {
    #[forward]
    fn forward(x: ArrayView1<f32>) -> Array1<f32> {
        x.to_owned()
    }

    #[backward(x)]
    fn backward(grad_output: Array1<f32>, output: ArrayView1<f32>) -> Array1<f32> {
        if output.len() == 100 {
            resume_unwind(Box::new("a fault"));
        }
        grad_output
    }
}

#[test]
fn a_pass_that_panics_leaves_nothing_behind() {
    let _alone = alone();
    // What is printed is kept in memory.
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| ()));
    let leaked = leaks(|| {
        let x = leaf(100);
        let loss = (KeepsInput::apply(&Panics::apply(&x)) + KeepsOutput::apply(&x)).sum();
        for _ in 0..3 {
            assert!(catch_unwind(AssertUnwindSafe(|| loss.backward())).is_err());
        }
        assert_eq!(x.grad(), None);
    });
    panic::set_hook(hook);
    assert_eq!(leaked, 0);
}

/// y = max(x, 0) of a number.
struct Relu;

#[custom_function]
impl Relu {
    #[forward]
    fn forward(x: ArrayView0<f32>) -> Array0<f32> {
        x.mapv(|x| x.max(0.0))
    }

    #[backward(x)]
    fn backward(grad_output: Array0<f32>, output: ArrayView0<f32>) -> Array0<f32> {
        assert!(output[()] > 0.0);
        grad_output
    }
}

/// `cargo bench -- W5` does the same with a million.
const NODES: usize = 200_000;
const BYTES_PER_NODE: isize = 250;

#[test]
fn long_chains_fit_the_stack_of_a_thread_and_250_bytes_each() {
    let _alone = alone();
    let work = || {
        let leaf = Tensor::from(Array0::from_elem((), 1.0)).set_requires_grad(true);
        let (alive, _, y) = bytes(|| (1..NODES).fold(Relu::apply(&leaf), |y, _| Relu::apply(&y)));
        assert!(alive / signed(NODES) <= BYTES_PER_NODE, "{alive} bytes");
        y.backward().unwrap();
        assert_eq!(leaf.grad(), Some(Array0::from_elem((), 1.0)));
        let (dropped, _, ()) = bytes(|| drop(y));
        assert!(dropped < 0);
        // A chain that is dropped without a pass.
        let (left, _, ()) =
            bytes(|| drop((1..NODES).fold(Relu::apply(&leaf), |y, _| Relu::apply(&y))));
        assert_eq!(left, 0);
    };
    let thread = thread::Builder::new().stack_size(2 << 20).spawn(work);
    thread.expect("a thread").join().expect("no overflow");
}

#[test]
fn a_pruned_pass_leaves_nothing_of_what_a_checkpoint_recomputed() {
    let _alone = alone();
    let leaf = || Tensor::from(Array1::<f64>::ones(10_000)).set_requires_grad(true);
    let (x, w) = (leaf(), leaf());
    let function = |(x, w): (&Tensor1<f64>, &Tensor1<f64>)| {
        let deep = (0..20).fold(w.clone(), |w, _| w.sin());
        x.exp() + deep
    };
    let loss = checkpoint(function, (&x, &w)).sum();
    memory::empty_cache();
    let before = live();
    drop(Grad::of(&loss).retain_graph(true).run((&x,)).unwrap());
    memory::empty_cache();
    assert!(live() - before < 80_000, "{} bytes more", live() - before);
}

/// Returns the bytes that a loop of so many steps holds after forward, and at the peak of the pass, in states.
fn states_of_steps(steps: usize, run: impl Fn(&Tensor1<f64>) -> Tensor1<f64>) -> [f64; 2] {
    // Small enough not to be cached.
    let x = Tensor::from(Array1::<f64>::ones(7_000)).set_requires_grad(true);
    let state = f64::from(8 * 7_000);
    let (held, _, loss) = bytes(|| run(&x).sum());
    let (_, peak, ()) = bytes(|| loss.backward().unwrap());
    // The nodes, which every loop has.
    let nodes = 500.0 * steps as f64;
    [held as f64, (held + peak) as f64].map(|bytes| (bytes - nodes) / state)
}

#[test]
fn steps_hold_as_many_states_as_the_root_of_their_number() {
    let _alone = alone();
    for (steps, root) in [(100, 10.0), (900, 30.0)] {
        let [plain, _] = states_of_steps(steps, |x| (0..steps).fold(x.clone(), |x, _| x.sin()));
        assert!(
            plain > 0.95 * steps as f64,
            "{plain} states of {steps} steps"
        );
        let run = |x: &Tensor1<f64>| checkpoint_steps(x, 0..steps, |x: &Tensor1<f64>, _| x.sin());
        let [held, peak] = states_of_steps(steps, run);
        // And the state and the gradient that the pass is at.
        assert!(
            held < root + 2.0,
            "{held} states of {steps} steps after forward"
        );
        assert!(
            peak < 2.0 * root + 6.0,
            "{peak} states of {steps} steps in the pass"
        );
    }
}
