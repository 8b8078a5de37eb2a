//! Rows 78 to 90: how a pass walks.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::thread;

use pullback::Node;
use pullback::ndarray::{Array0, Array1, ArrayView0, ArrayView1, arr0, array};
use pullback::prelude::*;

use crate::functions::{Square, leaf};

/// y = x on numbers: the shortest function there is.
struct Same;

#[custom_function]
impl Same {
    #[forward]
    fn forward(x: ArrayView0<f32>) -> Array0<f32> {
        x.to_owned()
    }

    #[backward(x)]
    fn backward(grad_output: Array0<f32>, output: ArrayView0<f32>) -> Array0<f32> {
        assert!(output[()] > 0.0);
        grad_output
    }
}

type Link = fn(&[Tensor0<f32>]) -> Tensor0<f32>;

/// A chain of `length` links, each of the results so far.
fn chain(leaf: &Tensor0<f32>, length: usize, link: Link) -> Tensor0<f32> {
    let mut last = vec![leaf.clone(); 3];
    for _ in 0..length {
        let next = link(&last);
        last.rotate_right(1);
        last[0] = next;
    }
    last.swap_remove(0)
}

/// Each link uses two results before it, as networks with skips do.
const SKIPS: Link = |last| &last[0] * 0.5 + &last[2] * 0.5;

fn on_a_thread_of_2_mib(run: impl FnOnce() + Send + 'static) {
    let builder = thread::Builder::new().stack_size(2 << 20);
    builder.spawn(run).unwrap().join().unwrap();
}

#[test]
fn long_chains_are_dropped_on_a_thread_of_2_mib() {
    on_a_thread_of_2_mib(|| {
        let leaf = Tensor::from(arr0(2.0)).set_requires_grad(true);
        drop(chain(&leaf, 150_000, |last| &last[0] + &(&last[0] * 1e-6)));
        drop(chain(&leaf, 100_000, SKIPS));
        drop(chain(&leaf, 150_000, |last| Same::apply(&last[0])));
        assert_eq!(leaf.grad(), None);
    });
}

#[test]
fn long_chains_are_walked_on_a_thread_of_2_mib() {
    on_a_thread_of_2_mib(|| {
        let leaf = Tensor::from(arr0(2.0)).set_requires_grad(true);
        let y = chain(&leaf, 200_000, |last| Same::apply(&last[0]));
        y.backward().unwrap();
        assert_eq!(leaf.grad(), Some(arr0(1.0)));
        let skips = chain(&leaf, 100_000, SKIPS);
        let (dx,) = grad(&skips, (&leaf,)).unwrap();
        assert!((dx.item() - 1.0).abs() < 1e-3, "{}", dx.item());
        // Dropped after the pass, with what the nodes still point to.
        drop((y, skips));
    });
}

#[test]
fn derivatives_of_long_chains_are_walked_and_dropped_too() {
    on_a_thread_of_2_mib(|| {
        let leaf = Tensor::from(arr0(1.0)).set_requires_grad(true);
        // Steps of y' = y², whose solution is x / (1 − t·x), to t = 0.3.
        let y = chain(&leaf, 30_000, |last| &last[0] + last[0].powi(2) * 1e-5);
        let (first,) = Grad::of(&y).create_graph(true).run((&leaf,)).unwrap();
        drop(y);
        let (second,) = grad(&first, (&leaf,)).unwrap();
        let [first, second] = [first.item(), second.item()];
        assert!((first - 1.0 / 0.49).abs() < 0.03, "{first}");
        assert!((second - 0.6 / 0.343).abs() < 0.03, "{second}");
        // Written on arrays, the derivative ends in nodes that fail, one behind the other.
        let y = chain(&leaf, 30_000, |last| Same::apply(&last[0]));
        let (first,) = Grad::of(&y).create_graph(true).run((&leaf,)).unwrap();
        drop(y);
        assert!(grad(&first, (&leaf,)).is_err());
    });
}

thread_local! {
    static EVENTS: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    static NUMBERS: RefCell<Vec<(u64, u64)>> = const { RefCell::new(Vec::new()) };
}

/// The sum of a list, whose backward records its number.
#[custom_function(grad(parts) = {
    EVENTS.with_borrow_mut(|events| events.push(*number));
    parts.iter().map(|_| grad_output.to_owned()).collect::<Vec<_>>()
})]
fn join(parts: &[ArrayView1<f64>], number: u64) -> Array1<f64> {
    let _ = number;
    let zeros = Array1::zeros(parts[0].len());
    parts.iter().fold(zeros, |sum, part| sum + part)
}

/// [`join`], noting which sequence number belongs to the author's.
fn node(number: u64, parts: &[&Tensor1<f64>]) -> Tensor1<f64> {
    let y = join(parts, number);
    let sequence_nr = y.grad_fn().unwrap().sequence_nr();
    NUMBERS.with_borrow_mut(|numbers| numbers.push((sequence_nr, number)));
    y
}

/// The author's numbers in the order in which a pass from `root` should run: falling sequence numbers.
fn predicted(root: &Tensor1<f64>) -> Vec<u64> {
    let mut found: Vec<u64> = Vec::new();
    let mut pending: Vec<Node> = root.grad_fn().into_iter().collect();
    while let Some(node) = pending.pop() {
        if node.sequence_nr() > 0 && !found.contains(&node.sequence_nr()) {
            found.push(node.sequence_nr());
            pending.extend(node.next_functions().into_iter().flatten());
        }
    }
    found.sort_unstable_by(|a, b| b.cmp(a));
    let numbers = NUMBERS.take();
    let number = |nr: &u64| {
        numbers
            .iter()
            .find(|(sequence_nr, _)| sequence_nr == nr)
            .unwrap()
            .1
    };
    found.iter().map(number).collect()
}

#[test]
fn a_pass_runs_in_falling_order_of_sequence_numbers() {
    type Graph = fn(&Tensor1<f64>, &Tensor1<f64>) -> Tensor1<f64>;
    let graphs: [(&str, Graph, &[u64]); 7] = [
        (
            "a chain",
            |x, _| node(3, &[&node(2, &[&node(1, &[x])])]),
            &[3, 2, 1],
        ),
        (
            "a diamond",
            |x, _| {
                let a = node(1, &[x]);
                let (b, c) = (node(2, &[&a]), node(3, &[&a]));
                node(4, &[&b, &c])
            },
            &[4, 3, 2, 1],
        ),
        (
            "the same twice",
            |x, _| {
                let a = node(1, &[x]);
                node(2, &[&a, &a])
            },
            &[2, 1],
        ),
        (
            "branches of different lengths",
            |x, y| {
                let long = node(2, &[&node(1, &[x])]);
                let short = node(3, &[y]);
                node(4, &[&short, &long])
            },
            &[4, 3, 2, 1],
        ),
        (
            "a skip",
            |x, y| {
                let a = node(1, &[x, y]);
                let b = node(2, &[&a]);
                let c = node(3, &[&b, &a]);
                node(4, &[&c, &a, x])
            },
            &[4, 3, 2, 1],
        ),
        (
            "a branch that is not used",
            |x, y| {
                let a = node(1, &[x]);
                drop(node(2, &[&a]));
                node(3, &[&a, y])
            },
            &[3, 1],
        ),
        (
            "a branch made on another thread, whose own count is behind",
            |x, y| {
                let here = node(1, &[x]);
                let make = || join(&[&here, y], 2);
                let there = thread::scope(|scope| scope.spawn(make).join().unwrap());
                let sequence_nr = there.grad_fn().unwrap().sequence_nr();
                NUMBERS.with_borrow_mut(|numbers| numbers.push((sequence_nr, 2)));
                node(3, &[&there, &here])
            },
            &[3, 2, 1],
        ),
    ];
    for (shape, graph, expected) in graphs {
        let (x, y) = (leaf([1.0]), leaf([2.0]));
        let root = graph(&x, &y);
        assert_eq!(predicted(&root), expected, "{shape}");
        root.backward().unwrap();
        assert_eq!(EVENTS.take(), expected, "{shape}");
    }
}

/// x, whose backward fails below 0 in one way and above 10 in the other.
#[custom_function(grad(x) = {
    assert!(x[0] <= 10.0, "too large");
    if x[0] < 0.0 { Array1::zeros(7) } else { grad_output.to_owned() }
})]
fn fragile(x: ArrayView1<f64>) -> Array1<f64> {
    x.to_owned()
}

#[test]
fn a_pass_that_fails_on_one_thread_leaves_the_others_alone() {
    let (shared, barrier) = (leaf([2.0]), Barrier::new(6));
    let trunk = Square::apply(&shared);
    let run = |own: f64| {
        let own = leaf([own]);
        let loss = (&trunk * fragile(&own)).sum();
        for _ in 0..50 {
            barrier.wait();
            let result = catch_unwind(AssertUnwindSafe(|| {
                Backward::of(&loss).retain_graph(true).run()
            }));
            let succeeded = matches!(result, Ok(Ok(())));
            assert_eq!(succeeded, (0.0..=10.0).contains(&own.item()));
        }
        (own.item(), own.grad())
    };
    let results: Vec<_> = thread::scope(|scope| {
        let owns = [1.0, -1.0, 2.0, 11.0, 3.0, -2.0];
        let threads = owns.map(|own| scope.spawn(move || run(own)));
        threads.map(|thread| thread.join().unwrap()).into()
    });
    for (own, gradient) in results {
        let right = (0.0..=10.0).contains(&own);
        assert_eq!(gradient, right.then(|| array![50.0 * 4.0]));
    }
    // 2x · (1 + 2 + 3), of the passes that succeeded.
    assert_eq!(shared.grad(), Some(array![50.0 * 4.0 * 6.0]));
    // What failed is as usable as ever.
    shared.zero_grad();
    let own = leaf([5.0]);
    (&trunk * fragile(&own)).sum().backward().unwrap();
    assert_eq!(
        (shared.grad(), own.grad()),
        (Some(array![20.0]), Some(array![4.0]))
    );
}

/// x + y, whose gradient of y is none.
struct First;

#[custom_function]
impl First {
    #[forward]
    fn forward(x: ArrayView1<f64>, y: ArrayView1<f64>) -> Array1<f64> {
        &x + &y
    }

    #[backward]
    fn backward(grad_output: Array1<f64>) -> (Array1<f64>, Option<Array1<f64>>) {
        (grad_output, None)
    }
}

#[test]
fn nothing_waits_for_a_gradient_that_is_none() {
    let (x, y) = (leaf([1.0]), leaf([2.0]));
    // `a` would get gradients from `First`, which gives none, and by way of `b`, which is newer.
    let a = node(1, &[&x]);
    let b = node(2, &[&a, &y]);
    First::apply(&b, &a).backward().unwrap();
    assert_eq!(EVENTS.take(), [2, 1]);
    assert_eq!((x.grad(), y.grad()), (Some(array![1.0]), Some(array![1.0])));
    // Only gradients of none lead to `a`: it does not run, and `b` does not wait.
    let b = node(3, &[&y]);
    let a = node(4, &[&x]);
    First::apply(&b, &a).backward().unwrap();
    assert_eq!(EVENTS.take(), [3]);
    assert_eq!((x.grad(), y.grad()), (Some(array![1.0]), Some(array![2.0])));
    NUMBERS.take();
}
