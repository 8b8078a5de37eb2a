//! Passes from several roots, passes to chosen inputs, and retained gradients.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pullback::ndarray::array;
use pullback::prelude::*;
use pullback::{AnyTensor, Backward, ErrorKind, saved_tensors_hooks};

type Vector = Tensor1<f64>;

fn leaf(value: f64) -> Vector {
    Tensor::from(array![value]).set_requires_grad(true)
}

fn of(tensor: &Vector) -> Option<f64> {
    tensor.grad().map(|grad| grad[0])
}

#[test]
fn several_roots_add_up() {
    let (x, w) = (leaf(2.0), leaf(3.0));
    let (sum, product) = (&x + &w, &x * &w);
    let (dx, dw) = Grad::of(&sum)
        .output(&product)
        .seed(array![10.0])
        .run((&x, &w))
        .unwrap();
    assert_eq!((dx.item(), dw.item()), (31.0, 21.0));
    // Named twice, it counts twice.
    let (dx,) = Grad::of(&(&x * 2.0))
        .output(&(&x * 2.0))
        .run((&x,))
        .unwrap();
    assert_eq!(dx.item(), 4.0);
    let y = &x * &x;
    let (dx,) = Grad::of(&y)
        .output(&y)
        .retain_graph(true)
        .run((&x,))
        .unwrap();
    assert_eq!(dx.item(), 8.0);
    Backward::of(&y).output(&y).seed(array![0.5]).run().unwrap();
    assert_eq!(of(&x), Some(6.0));
    // What is wrong with any of them is told.
    let wrong = Grad::of(&(&x * &x))
        .seed(array![1.0, 2.0])
        .output(&y)
        .run((&x,));
    assert!(matches!(
        wrong.unwrap_err().kind(),
        ErrorKind::SeedShape { .. }
    ));
    let constant = Backward::of(&x.detach()).output(&y).run();
    assert_eq!(constant.unwrap_err().kind(), &ErrorKind::NoGraph);
}

#[test]
fn inputs_restrict_what_is_accumulated() {
    let (x, y) = (leaf(2.0), leaf(3.0));
    let product = &x * &y;
    let loss = (&product * &product).sum();
    Backward::of(&loss)
        .inputs((&x,))
        .retain_graph(true)
        .run()
        .unwrap();
    assert_eq!((of(&x), of(&y)), (Some(2.0 * 6.0 * 3.0), None));
    // Of a computed tensor too; a leaf that is not named gets nothing.
    Backward::of(&loss)
        .inputs((&product,))
        .retain_graph(true)
        .run()
        .unwrap();
    assert_eq!((of(&product), of(&y)), (Some(12.0), None));
    // Only passes that are asked to retain it.
    Backward::of(&loss).retain_graph(true).run().unwrap();
    assert_eq!((of(&product), of(&y)), (Some(12.0), Some(24.0)));
    Backward::of(&loss)
        .inputs(&[&product, &x])
        .retain_graph(true)
        .run()
        .unwrap();
    assert_eq!((of(&product), of(&x)), (Some(24.0), Some(3.0 * 36.0)));
    let none: &[&Vector] = &[];
    assert_eq!(
        Backward::of(&loss).inputs(none).run().unwrap_err().kind(),
        &ErrorKind::NoInputs
    );
    let constant = x.detach();
    let error = Backward::of(&loss)
        .inputs((&x, &constant))
        .run()
        .unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::InputWithoutGrad { position: 1 });
}

#[test]
fn retained_gradients_outlive_the_graph_and_add_up() {
    let x = leaf(3.0);
    let y = &x * 2.0;
    y.retain_grad();
    let loss = (&y * &y).sum();
    Backward::of(&loss).retain_graph(true).run().unwrap();
    loss.backward().unwrap();
    assert_eq!(of(&y), Some(24.0));
    // `grad` accumulates nowhere.
    let z = &x * 2.0;
    z.retain_grad();
    grad(&z.sum(), (&x,)).unwrap();
    assert_eq!(of(&z), None);
    assert_eq!((&x * 2.0).grad(), None);
}

/// Counts how many of it there are.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// exp exp exp x, how many of the three kept tensors there are, and how many there were when the pass came
/// to the first function.
fn counted(x: &Vector) -> (Vector, Arc<AtomicUsize>, Arc<AtomicUsize>) {
    let (kept, seen) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&kept);
    let pack = move |tensor: AnyTensor| {
        count.fetch_add(1, Ordering::Relaxed);
        (tensor, Counted(Arc::clone(&count)))
    };
    let unpack = |packed: &(AnyTensor, Counted)| packed.0.clone();
    let (first, last) = saved_tensors_hooks(pack, unpack, || {
        let first = x.exp();
        let last = first.exp().exp();
        (first, last)
    });
    let (there, see) = (Arc::clone(&kept), Arc::clone(&seen));
    first.register_hook(move |_| {
        see.store(there.load(Ordering::Relaxed), Ordering::Relaxed);
        None
    });
    (last, kept, seen)
}

#[test]
fn free_early_frees_each_node_as_soon_as_it_has_run() {
    let x = leaf(0.1);
    for (free_early, at_first) in [(false, 3), (true, 1)] {
        let (y, kept, seen) = counted(&x);
        assert_eq!(kept.load(Ordering::Relaxed), 3);
        Backward::of(&y).free_early(free_early).run().unwrap();
        assert_eq!(seen.load(Ordering::Relaxed), at_first);
        assert_eq!(kept.load(Ordering::Relaxed), 0);
    }
    // What it costs: a pass that fails cannot be run again.
    for (free_early, freed) in [(false, false), (true, true)] {
        let (y, _, _) = counted(&x);
        let fails = x.register_hook(|_| Some(Tensor::from(array![1.0, 2.0])));
        let first = Backward::of(&y).free_early(free_early).run();
        assert!(matches!(
            first.unwrap_err().kind(),
            ErrorKind::HookShape { .. }
        ));
        fails.remove();
        let second = y.sum().backward();
        assert_eq!(
            second.is_err_and(|error| error.kind() == &ErrorKind::Freed),
            freed
        );
    }
    // Without effect where the graph is kept.
    let (y, kept, _) = counted(&x);
    Backward::of(&y)
        .free_early(true)
        .retain_graph(true)
        .run()
        .unwrap();
    assert_eq!(kept.load(Ordering::Relaxed), 3);
}
