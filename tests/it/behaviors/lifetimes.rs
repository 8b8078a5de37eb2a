//! Rows 91 and 104: how long a node keeps what it keeps.

use std::cell::RefCell;
use std::sync::{Arc, Mutex};
use std::thread;

use pullback::ndarray::{Array1, ArrayView1, array};
use pullback::prelude::*;
use pullback::{Backward, ErrorKind};

use crate::functions::leaf;
use crate::pruning::is_shared;

/// c·x and x, written on arrays; its backward asks for an input, an output, an intermediate and a value.
struct OnArrays;

#[custom_function]
impl OnArrays {
    #[forward(outputs(first, second), saves(made))]
    fn forward(
        x: ArrayView1<f64>,
        #[non_differentiable] c: ArrayView1<f64>,
        token: Arc<()>,
        maker: Arc<()>,
    ) -> (Array1<f64>, Array1<f64>, Arc<()>) {
        assert!(Arc::strong_count(&token) > 1);
        (&c * &x, x.to_owned(), maker)
    }

    #[backward(x)]
    fn backward(
        grad_first: ArrayView1<f64>,
        grad_second: ArrayView1<f64>,
        c: ArrayView1<f64>,
        first: ArrayView1<f64>,
        token: &Arc<()>,
        made: &Arc<()>,
    ) -> Array1<f64> {
        assert!(Arc::strong_count(token) > 1 && Arc::strong_count(made) > 1);
        assert_eq!(first.len(), c.len());
        &grad_first * &c + grad_second
    }
}

/// The function of `OnArrays`, written on tensors.
struct OnTensors;

#[custom_function]
impl OnTensors {
    #[forward(outputs(first, second), saves(made))]
    fn forward(
        x: &Tensor1<f64>,
        #[non_differentiable] c: &Tensor1<f64>,
        token: Arc<()>,
        maker: Arc<()>,
    ) -> (Tensor1<f64>, Tensor1<f64>, Arc<()>) {
        assert!(Arc::strong_count(&token) > 1);
        (c * x, x * 1.0, maker)
    }

    #[backward(x)]
    fn backward(
        grad_first: &Tensor1<f64>,
        grad_second: &Tensor1<f64>,
        c: &Tensor1<f64>,
        first: &Tensor1<f64>,
        token: &Arc<()>,
        made: &Arc<()>,
    ) -> Tensor1<f64> {
        assert!(Arc::strong_count(token) > 1 && Arc::strong_count(made) > 1);
        grad_first * c + grad_second * first / first
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Written {
    OnArrays,
    OnTensors,
}

/// The pass through the graph before it is dropped.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Pass {
    None,
    Backward,
    Retained,
    /// A pass that does not run the node.
    Elsewhere,
    /// A pass that fails before the node.
    Failed,
}

/// The handle that is held to the end.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Holder {
    OtherOutput,
    Node,
    Nobody,
}

/// y, whose backward fails.
#[custom_function(grad(y) = Array1::zeros(grad_output.len() + 1))]
fn failing(y: ArrayView1<f64>) -> Array1<f64> {
    y.to_owned()
}

fn run(pass: Pass, first: &Tensor1<f64>, second: &Tensor1<f64>) {
    let loss = (first + second).sum();
    match pass {
        Pass::None => {}
        Pass::Backward => loss.backward().unwrap(),
        Pass::Retained => Backward::of(&loss).retain_graph(true).run().unwrap(),
        Pass::Elsewhere => drop(grad(&loss, (first,)).unwrap()),
        Pass::Failed => {
            let error = failing(&(first + second)).sum().backward().unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::GradientShape { .. }));
        }
    }
}

/// Returns whether the node still holds its input, its output, its value and its intermediate.
fn kept(written: Written, pass: Pass, holder: Holder) -> [bool; 4] {
    let (x, c) = (leaf([1.0, 2.0, 3.0]), Tensor::from(array![4.0, 5.0, 6.0]));
    let (token, maker) = (Arc::new(()), Arc::new(()));
    let apply = match written {
        Written::OnArrays => OnArrays::apply,
        Written::OnTensors => OnTensors::apply,
    };
    let (first, second) = apply(&x, &c, Arc::clone(&token), Arc::clone(&maker));
    run(pass, &first, &second);
    let (node, value) = (first.grad_fn(), first.detach());
    drop(first);
    let _other = (holder == Holder::OtherOutput).then_some(second);
    let _node = node.filter(|_| holder == Holder::Node);
    let counted = [&token, &maker].map(|kept| Arc::strong_count(kept) > 1);
    [is_shared(c), is_shared(value), counted[0], counted[1]]
}

#[test]
fn what_a_node_keeps_goes_with_the_pass_or_the_last_that_holds_the_node() {
    let passes = [
        Pass::None,
        Pass::Backward,
        Pass::Retained,
        Pass::Elsewhere,
        Pass::Failed,
    ];
    for written in [Written::OnArrays, Written::OnTensors] {
        for pass in passes {
            for holder in [Holder::OtherOutput, Holder::Node, Holder::Nobody] {
                let expected = holder != Holder::Nobody && pass != Pass::Backward;
                let found = kept(written, pass, holder);
                assert_eq!(found, [expected; 4], "{written:?}, {pass:?}, {holder:?}");
            }
        }
    }
}

#[test]
fn a_node_goes_with_the_nodes_that_lead_to_it() {
    let token = Arc::new(());
    let x = leaf([1.0, 2.0, 3.0]);
    let c = Tensor::from(array![1.0, 1.0, 1.0]);
    let maker = Arc::new(());
    let apply =
        |x: &Tensor1<f64>| OnTensors::apply(x, &c, Arc::clone(&token), Arc::clone(&maker)).0;
    let (trunk, count) = (apply(&x), || Arc::strong_count(&token));
    let (left, right) = (apply(&trunk), apply(&trunk));
    drop(trunk);
    assert_eq!(count(), 1 + 3);
    drop(left);
    assert_eq!(count(), 1 + 2, "the trunk is held by the right branch");
    // A graph of derivatives holds what it would need to be differentiated.
    let (derivative,) = Grad::of(&right.sum())
        .create_graph(true)
        .run((&x,))
        .unwrap();
    drop(right);
    assert_eq!(count(), 1 + 2);
    drop(derivative);
    assert_eq!(count(), 1);
}

/// A value that a function saves, and that is set later.
type Slot = Arc<Held>;

#[derive(Default)]
struct Held(Mutex<Option<Tensor1<f64>>>);

#[custom_function(grad(x) = {
    assert!(slot.0.lock().unwrap().is_some());
    grad_output.to_owned()
})]
fn remembers(x: ArrayView1<f64>, slot: Slot) -> Array1<f64> {
    let _ = slot;
    x.to_owned()
}

#[test]
fn a_cycle_that_a_user_makes_is_broken_by_the_pass() {
    let x = leaf([1.0]);
    let cycle = || {
        let slot = Slot::default();
        let y = remembers(&x, Arc::clone(&slot));
        *slot.0.lock().unwrap() = Some(y.clone());
        (y, slot)
    };
    let (y, slot) = cycle();
    let weak = Arc::downgrade(&slot);
    drop(slot);
    y.backward().unwrap();
    assert!(
        weak.upgrade().is_none(),
        "freed by the pass, while `y` is alive"
    );
    // Nothing collects cycles: without a pass, who made one empties it.
    let (y, slot) = cycle();
    let weak = Arc::downgrade(&slot);
    drop((y, slot));
    let slot = weak.upgrade().unwrap();
    let y = slot.0.lock().unwrap().take();
    drop((y, slot));
    assert!(weak.upgrade().is_none());
}

/// Drops a chain of tensors, each made by `next`, whose gradients have histories that lead from one to the next: long
/// enough to overflow a thread's stack if each was dropped inside the other.
fn drop_chain(next: impl Fn() -> Tensor1<f64>) {
    let mut last = next();
    for _ in 0..20_000 {
        let next = next();
        let y = (&next * last.sin()).sum();
        // The gradient of `next` is sin(last), with a history that leads to `last`.
        let pass = Backward::of(&y).inputs((&next,)).create_graph(true);
        pass.run().unwrap();
        last = next;
    }
    drop(last);
}

#[test]
fn a_chain_through_accumulated_gradients_is_dropped() {
    drop_chain(|| leaf([1.0]));
}

#[test]
fn a_chain_through_retained_gradients_is_dropped() {
    let x = leaf([1.0]);
    drop_chain(|| &x * 1.0);
}

/// Takes a last step when its thread ends.
struct Flush(Option<Tensor1<f64>>);

impl Drop for Flush {
    fn drop(&mut self) {
        if let Some(x) = self.0.take() {
            (&x * &x).sum().backward().unwrap();
        }
    }
}

thread_local! {
    static FLUSH: RefCell<Flush> = const { RefCell::new(Flush(None)) };
}

#[test]
fn a_thread_may_end_with_a_pass() {
    let x = leaf([1.0, 2.0]);
    let same = x.clone();
    let worker = thread::spawn(move || {
        FLUSH.with_borrow_mut(|flush| flush.0 = Some(same.clone()));
        (&same * 3.0).sum().backward().unwrap();
    });
    worker.join().unwrap();
    assert_eq!(x.grad(), Some(array![5.0, 7.0]));
}
