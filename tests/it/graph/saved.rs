//! The saved values of nodes.

use pullback::graph::Graph;
use pullback::ndarray::{Array1, ArrayView1, array, s};
use pullback::prelude::*;
use pullback::{Error, Node, saved_tensors_hooks};

use super::leaf;

/// y = x times the product of the factors, and then the sum of the parts.
struct Everything;

#[custom_function]
impl Everything {
    #[forward]
    fn forward(
        x: ArrayView1<f64>,
        #[non_differentiable] parts: &[ArrayView1<f64>],
        factors: Vec<f64>,
        shift: f32,
    ) -> Array1<f64> {
        let factor = factors.iter().product::<f64>() + f64::from(shift);
        let zeros = Array1::<f64>::zeros(x.len());
        let sum = parts.iter().fold(zeros, |sum, part| sum + part);
        &x * factor * sum
    }

    #[backward(x)]
    fn grad_x(
        grad_output: ArrayView1<f64>,
        parts: &[ArrayView1<f64>],
        factors: &[f64],
        shift: f32,
    ) -> Array1<f64> {
        let factor = factors.iter().product::<f64>() + f64::from(shift);
        let zeros = Array1::<f64>::zeros(grad_output.len());
        let sum = parts.iter().fold(zeros, |sum, part| sum + part);
        &grad_output * factor * sum
    }
}

fn node(tensor: &Tensor1<f64>) -> Node {
    tensor.grad_fn().expect("a computed tensor")
}

fn names(node: &Node) -> Vec<String> {
    let saved = node.saved().expect("not freed");
    saved.into_iter().map(|saved| saved.name).collect()
}

#[test]
fn tensors_lists_and_values_are_named() {
    let x = leaf(3);
    let parts = [
        Tensor::from(array![1.0, 2.0, 3.0]),
        Tensor::from(array![4.0, 5.0, 6.0]),
    ];
    let y = Everything::apply(&x, &[&parts[0], &parts[1]], vec![2.0, 3.0], 0.5);
    let saved = node(&y).saved().expect("not freed");
    let shown: Vec<_> = saved
        .iter()
        .map(|saved| (&*saved.name, saved.shape.as_deref(), saved.ty, saved.bytes))
        .collect();
    let three = Some(&[3][..]);
    assert_eq!(shown[0], ("parts[0]", three, "f64", 24));
    assert_eq!(shown[1], ("parts[1]", three, "f64", 24));
    assert_eq!((shown[2].0, shown[2].1, shown[2].3), ("factors", None, 24));
    assert!(shown[2].2.ends_with("Vec<f64>"));
    assert_eq!(shown[3], ("shift", None, "f32", 4));
    assert_eq!(Graph::of(&y).totals().bytes, 24 + 24 + 24 + 4);
}

#[test]
fn only_what_a_gradient_needs_is_saved() {
    let (x, c) = (leaf(3), Tensor::from(array![1.0, 2.0, 3.0]));
    assert_eq!(names(&node(&(&x * &c))), ["y"]);
    assert_eq!(names(&node(&(&x * &x))), ["x", "y"]);
    assert!(names(&node(&(&x + &c))).is_empty());
}

#[test]
fn freed_nodes_have_no_saved_values() -> Result<(), Error> {
    let x = leaf(3);
    let y = &x + &x;
    let (sum, square) = (node(&y), &y * &y);
    // A node that saves nothing can be freed too, with hooks and without.
    let handle = y.register_hook(|_| None);
    assert!(sum.saved().is_some_and(|saved| saved.is_empty()));
    Backward::of(&square.sum()).retain_graph(true).run()?;
    assert!(sum.saved().is_some() && node(&square).saved().is_some());
    square.sum().backward()?;
    assert!(sum.saved().is_none() && node(&square).saved().is_none());
    handle.remove();
    assert!(sum.saved().is_none());
    Ok(())
}

#[test]
fn hooks_do_not_change_what_is_saved() {
    let x = leaf(3);
    let y = x.exp();
    let before = node(&y).saved();
    let _handle = y.register_hook(|_| None);
    assert_eq!(node(&y).saved(), before);
}

#[test]
fn memory_of_several_nodes_counts_once() {
    let x = leaf(100);
    let y = x.exp();
    assert_eq!(Graph::of(&y).totals().bytes, 800);
    // Both save the memory of `y`, and the product saves it twice.
    assert_eq!(Graph::of(&(&y * &y)).totals().bytes, 800);
    // A view keeps the memory of the whole array.
    let part = y.slice(s![..10]);
    let z = &part * &Tensor::from(Array1::<f64>::ones(10)).set_requires_grad(true);
    let saved = node(&z).saved().expect("not freed");
    assert_eq!((saved[0].name.as_str(), saved[0].bytes), ("x", 80));
    let without: usize = Graph::of(&z).totals().bytes;
    assert!((800 + 80..800 + 80 + 200).contains(&without), "{without}");
}

#[test]
fn packed_values_take_no_memory_here() {
    let x = leaf(100);
    let y = saved_tensors_hooks(|tensor| tensor, Clone::clone, || x.exp());
    let saved = node(&y).saved().expect("not freed");
    assert_eq!(saved[0].shape.as_deref(), Some(&[100][..]));
    assert_eq!(saved[0].bytes, 0);
    assert_eq!(Graph::of(&y).totals().bytes, 0);
    assert!(Graph::of(&y).svg().contains(">saves output, packed<"));
}
