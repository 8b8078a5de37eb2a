//! Repeated blocks are drawn once.

use std::thread;

use pullback::AnyTensor;
use pullback::graph::Graph;
use pullback::ndarray::{Array1, Axis, s};
use pullback::prelude::*;

use super::{boxes, leaf, matrix, sorted, texts, titles};

/// Returns the labels of the frames of a drawing.
fn frames(svg: &str) -> Vec<String> {
    texts(svg, "frame-label")
}

#[test]
fn a_thousand_relus_are_one_box() {
    let mut y = leaf(8);
    for _ in 0..1000 {
        y = y.relu();
    }
    let svg = Graph::of(&y).svg();
    assert_eq!(titles(&svg, "function"), ["Relu"]);
    assert_eq!(texts(&svg, "times"), ["× 1,000"]);
    assert_eq!(boxes(&svg).len(), 3);
    assert_eq!(Graph::of(&y).totals().bytes, 1000 * 8 * 8);
    let all = Graph::of(&y).fold(false).svg();
    assert_eq!(titles(&all, "function").len(), 1000);
}

#[test]
fn residual_blocks_are_one_block() {
    let parameters: Vec<_> = (0..50).map(|_| (matrix(4, 4), leaf(4))).collect();
    let mut y = matrix(2, 4);
    for (weight, bias) in &parameters {
        y = &y + &y.linear(weight, Some(bias)).relu();
    }
    let mut graph = Graph::of(&y);
    for (layer, (weight, bias)) in parameters.iter().enumerate() {
        graph = graph
            .name(format!("layers.{layer}.weight"), weight)
            .name(format!("layers.{layer}.bias"), bias);
    }
    let svg = graph.svg();
    assert_eq!(frames(&svg), ["× 50"]);
    assert_eq!(titles(&svg, "function"), ["Add", "Relu", "Linear"]);
    assert_eq!(
        sorted(titles(&svg, "leaf")),
        ["layers.*.bias", "layers.*.weight", "leaf"]
    );
    assert!(texts(&svg, "note")[0].starts_with("150 nodes · 101 leaves"));
    let dot = graph.dot();
    assert_eq!(dot.matches(" -> ").count(), 7);
}

/// A stack of blocks of attention by several heads, in two loops.
fn attention(blocks: usize, heads: usize) -> Tensor2<f64> {
    let width = 2 * heads;
    let mut y = matrix(3, width);
    for _ in 0..blocks {
        let [q, k, v] = std::array::from_fn(|_| y.matmul(&matrix(width, width)));
        let mut parts = Vec::new();
        for head in 0..heads {
            let part = |x: &Tensor2<f64>| x.slice(s![.., 2 * head..2 * head + 2]);
            let (q, k, v) = (part(&q), part(&k), part(&v));
            parts.push(q.matmul(&k.t()).softmax(Axis(1)).matmul(&v));
        }
        let parts: Vec<&Tensor2<f64>> = parts.iter().collect();
        y = &y + &Tensor::concat(Axis(1), &parts).matmul(&matrix(width, width));
    }
    y
}

#[test]
fn repetitions_are_found_within_repetitions() {
    let y = attention(12, 4);
    let svg = Graph::of(&y).svg();
    let mut frames = frames(&svg);
    frames.sort();
    assert!(frames.contains(&"× 12".to_owned()), "{frames:?}");
    assert!(frames.contains(&"× 4".to_owned()), "{frames:?}");
    for function in ["Softmax", "Concat"] {
        let functions = titles(&svg, "function");
        assert_eq!(functions.iter().filter(|name| *name == function).count(), 1);
    }
    // The input; the weights of queries, keys and values; and the last weight of each block.
    assert_eq!(titles(&svg, "leaf").len(), 3);
}

#[test]
fn a_diamond_is_not_folded() {
    let x = leaf(3);
    let y = x.exp() * x.sin() + x.tanh();
    let svg = Graph::of(&y).svg();
    assert_eq!(titles(&svg, "function").len(), 5);
    assert!(frames(&svg).is_empty() && texts(&svg, "times").is_empty());
}

#[test]
fn a_graph_without_repetitions_is_drawn_whole() {
    let x = leaf(3);
    let y = x.exp().tanh().sin().exp().cos().tanh();
    let drawn = |fold| titles(&Graph::of(&y).fold(fold).svg(), "function");
    assert_eq!(drawn(true), ["Tanh", "Cos", "Exp", "Sin", "Tanh", "Exp"]);
    assert_eq!(drawn(true), drawn(false));
}

#[test]
fn steps_that_share_their_weights_show_them_once() {
    let (w, h) = (matrix(4, 4), matrix(2, 4));
    let (mut state, mut outputs) = (h, Vec::new());
    for _ in 0..20 {
        state = state.matmul(&w).tanh();
        outputs.push(AnyTensor::from(state.clone()));
    }
    let svg = Graph::of_all(&outputs).name("w", &w).svg();
    assert_eq!(frames(&svg), ["× 20"]);
    assert_eq!(titles(&svg, "function"), ["Tanh", "MatMul"]);
    // The weight outside of the frame, an output of each step inside.
    assert_eq!(titles(&svg, "output"), ["output"]);
    assert!(titles(&svg, "leaf").contains(&"w".to_owned()));
    assert!(texts(&svg, "times").is_empty());
}

#[test]
fn two_states_are_carried_from_block_to_block() {
    let (mut h, mut c) = (leaf(3), leaf(3));
    for _ in 0..20 {
        let forget = h.sigmoid();
        c = &forget * &c + &h.tanh();
        h = c.tanh() * &forget;
    }
    let svg = Graph::of(&h).svg();
    assert_eq!(frames(&svg), ["× 20"]);
    assert_eq!(titles(&svg, "function").len(), 6);
    assert_eq!(titles(&svg, "leaf").len(), 2);
}

#[test]
fn blocks_with_different_edges_are_not_folded() {
    let x = leaf(3);
    let mut all = vec![x.exp()];
    for step in 0..12_usize {
        // An earlier tensor, without a pattern.
        let other = &all[(step * step * 7) % all.len()];
        let next = other.tanh();
        all.push(next);
    }
    let outputs: Vec<AnyTensor> = all.into_iter().map(AnyTensor::from).collect();
    let svg = Graph::of_all(&outputs).svg();
    let drawn = titles(&svg, "function").len() + titles(&svg, "output").len();
    assert!(drawn > 13, "{drawn} boxes");
}

#[test]
fn leaves_of_a_long_list_are_one_box() {
    let leaves: Vec<Tensor1<f64>> = (0..1000).map(|_| leaf(2)).collect();
    let parts: Vec<&Tensor1<f64>> = leaves.iter().collect();
    let svg = Graph::of(&Tensor::concat(Axis(0), &parts)).svg();
    assert_eq!(boxes(&svg).len(), 3);
    assert_eq!(texts(&svg, "times"), ["× 1,000"]);
    assert_eq!(texts(&svg, "label"), ["parts[0] … parts[999] (1,000)"]);
    let sum = leaves[1..]
        .iter()
        .fold(leaves[0].clone(), |sum, leaf| sum + leaf);
    let svg = Graph::of(&sum).svg();
    assert_eq!(texts(&svg, "times"), ["× 999", "× 999"]);
}

#[test]
fn the_middle_of_a_large_graph_is_left_out() {
    let mut y = leaf(2);
    for _ in 0..5000 {
        y = y.relu();
    }
    let svg = Graph::of(&y).fold(false).svg();
    assert_eq!(titles(&svg, "function").len(), 2000);
    assert_eq!(titles(&svg, "elided"), ["3,000 nodes are not drawn"]);
    assert!(texts(&svg, "note")[0].ends_with("3,000 nodes in the middle are not drawn"));
    // The chain is whole: an arc to each box but the leaf's.
    assert_eq!(svg.matches("class=\"arc\"").count(), 2002);
}

#[test]
fn a_long_chain_needs_no_deep_stack() {
    let drawn = thread::Builder::new().stack_size(256 << 10).spawn(|| {
        let mut y = Tensor::from(Array1::<f64>::ones(1)).set_requires_grad(true);
        for _ in 0..50_000 {
            y = y.exp().ln();
        }
        let graph = Graph::of(&y);
        (graph.svg(), graph.fold(false).dot())
    });
    let (svg, dot) = drawn.expect("a thread").join().expect("no overflow");
    assert_eq!(frames(&svg), ["× 50,000"]);
    assert_eq!(titles(&svg, "function"), ["Ln", "Exp"]);
    assert!(dot.contains("98,000 nodes are not drawn"));
}
