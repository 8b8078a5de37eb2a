//! Pictures of graphs, and traces: `fold` tests repeated blocks, `saved` the saved values of nodes, `trace` traces;
//! this file tests the contents of drawings.

mod fold;
mod page;
mod readme;
mod saved;
mod trace;
mod xml;

use pullback::Error;
use pullback::graph::{self, Graph};
use pullback::ndarray::{Array1, Array2, ArrayView1, Ix1, Ix2, array};
use pullback::nn::AnyParameter;
use pullback::prelude::*;
use xml::{Element as Drawn, elements};

/// (x, 2 x): a function of two outputs.
struct Twice;

#[custom_function(gradcheck(x = [3]))]
impl Twice {
    #[forward]
    fn forward(x: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) {
        (x.to_owned(), &x * 2.0)
    }

    #[backward(x)]
    fn backward(grad_output_0: &Tensor1<f64>, grad_output_1: &Tensor1<f64>) -> Tensor1<f64> {
        grad_output_0 + grad_output_1 * 2.0
    }
}

fn leaf(length: usize) -> Tensor1<f64> {
    Tensor::from(Array1::from_elem(length, 0.5)).set_requires_grad(true)
}

fn matrix(rows: usize, columns: usize) -> Tensor2<f64> {
    Tensor::from(Array2::from_elem((rows, columns), 0.5)).set_requires_grad(true)
}

/// Returns the boxes of a drawing: the kind and the lines of each.
fn boxes(svg: &str) -> Vec<(String, Vec<String>)> {
    let mut boxes = Vec::new();
    let mut lines = Vec::new();
    for element in elements(svg) {
        let class = element.attribute("class").unwrap_or_default().to_owned();
        match &element.name[..] {
            "text" if class == "title" || class.starts_with("line") => lines.push(element.text),
            "g" if class.starts_with("box ") => {
                boxes.push((class["box ".len()..].to_owned(), std::mem::take(&mut lines)));
            }
            _ => {}
        }
    }
    boxes
}

/// Returns the titles of the boxes of one kind.
fn titles(svg: &str, kind: &str) -> Vec<String> {
    boxes(svg)
        .into_iter()
        .filter(|(other, _)| other == kind)
        .map(|(_, lines)| lines[0].clone())
        .collect()
}

/// Returns all text of one class.
fn texts(svg: &str, class: &str) -> Vec<String> {
    let is_of = |element: &Drawn| {
        let classes = element.attribute("class").unwrap_or_default();
        classes.split(' ').any(|other| other == class)
    };
    let elements = elements(svg).into_iter();
    elements.filter(is_of).map(|element| element.text).collect()
}

fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.sort();
    texts
}

#[test]
fn a_drawing_shows_functions_leaves_and_outputs() {
    let (w, x) = (matrix(2, 3), matrix(4, 3));
    let loss = x.linear(&w, None::<&Tensor1<f64>>).tanh().sum();
    let svg = Graph::of(&loss)
        .name("weight", &w)
        .name("loss", &loss)
        .svg();
    assert_eq!(titles(&svg, "function"), ["Sum", "Tanh", "Linear"]);
    assert_eq!(titles(&svg, "leaf").len(), 2);
    assert!(titles(&svg, "leaf").contains(&"weight".to_owned()));
    assert_eq!(titles(&svg, "output"), ["loss"]);
    let linear = &boxes(&svg)[3].1;
    assert_eq!(linear[1], "[4, 2]");
    // x and w, each of 8 bytes an element, and the shape of w as a value.
    assert!(linear[2].starts_with("saves x, weight"), "{linear:?}");
    assert!(linear[3].starts_with("graph/mod.rs:"), "{linear:?}");
    assert_eq!(sorted(texts(&svg, "label")), ["weight", "x"]);
    assert!(texts(&svg, "note")[0].starts_with("3 nodes · 2 leaves · "));
}

#[test]
fn names_are_escaped() {
    let x = leaf(2);
    let y = x.exp();
    let name = "<a href=\"&\">'\\\n\u{7}</a>";
    let graph = Graph::of(&y).name(name, &x).name(name, &y);
    let shown = name.replace('\u{7}', "");
    assert_eq!(titles(&graph.svg(), "leaf")[0], shown);
    assert_eq!(titles(&graph.svg(), "output")[0], shown);
    assert!(graph.dot().contains("<a href=\\\"&\\\">'\\\\\\n</a>\\n[2]"));
    assert!(!graph.html().contains("<a href"));
}

#[test]
fn computed_tensors_have_names_too() {
    let x = leaf(2);
    let hidden = x.exp();
    let y = hidden.tanh();
    let svg = Graph::of(&y).name("hidden", &hidden).name("y", &y).svg();
    let named: Vec<bool> = boxes(&svg)
        .iter()
        .map(|(_, lines)| lines.contains(&"as hidden".to_owned()))
        .collect();
    // The output, tanh, exp, the leaf.
    assert_eq!(named, [false, false, true, false]);
    assert_eq!(titles(&svg, "output"), ["y"]);
}

#[test]
fn outputs_of_a_function_are_labeled() {
    let x = leaf(3);
    let (a, b) = Twice::apply(&x);
    let svg = Graph::of(&(&a * &b)).svg();
    // Both ways lead from one box to the other.
    assert_eq!(sorted(texts(&svg, "label")), ["x = output 0, y = output 1"]);
    let svg = Graph::of(&a).and(&b).svg();
    assert_eq!(sorted(texts(&svg, "label")), ["output 0", "output 1"]);
    assert_eq!(titles(&svg, "output").len(), 2);
}

#[test]
fn gradients_of_leaves_are_shown_if_asked_for() -> Result<(), Error> {
    let (x, w) = (leaf(2), leaf(2));
    let loss = (&x * 3.0).sum();
    loss.backward()?;
    let graph = Graph::of(&(&x * &w)).name("x", &x).name("w", &w);
    assert!(!graph.svg().contains("grad"));
    let shown = boxes(&graph.gradients(true).svg());
    let lines = |name: &str| {
        let found = shown.iter().find(|(_, lines)| lines[0] == name);
        found.expect("the leaf").1[2].clone()
    };
    // The root of 9 + 9.
    assert_eq!(lines("x"), "|grad| 4.24");
    assert_eq!(lines("w"), "no gradient");
    Ok(())
}

#[test]
fn a_freed_graph_is_drawn_without_what_it_saved() -> Result<(), Error> {
    let x = leaf(2);
    let y = x.exp();
    let loss = (&y * &y).sum();
    loss.backward()?;
    let graph = Graph::of(&loss);
    assert_eq!(graph.totals().freed, 3);
    assert_eq!(graph.totals().bytes, 0);
    let svg = graph.svg();
    assert_eq!(titles(&svg, "function"), ["Sum", "Mul", "Exp"]);
    assert!(!svg.contains("saves") && boxes(&svg)[1].1.contains(&"freed".to_owned()));
    Ok(())
}

#[test]
fn a_tensor_without_a_node_is_drawn_as_a_constant() {
    let svg = graph::svg(&Tensor::from(array![1.0, 2.0]));
    assert_eq!(boxes(&svg).len(), 1);
    assert_eq!(titles(&svg, "constant"), ["constant"]);
    let x = leaf(2);
    let svg = graph::svg(&x);
    assert_eq!(
        (titles(&svg, "leaf").len(), titles(&svg, "output").len()),
        (1, 1)
    );
    let roots: [pullback::AnyTensor; 0] = [];
    assert_eq!(boxes(&Graph::of_all(&roots).svg()), []);
    assert!(Graph::of_all(&roots).dot().starts_with("digraph {"));
}

#[test]
fn several_outputs_share_what_leads_to_them() {
    let x = leaf(2);
    let y = x.exp();
    let (a, b) = (y.tanh(), y.sin());
    let svg = Graph::of_all(&[a.clone().into(), b.clone().into()])
        .name("a", &a)
        .name("b", &b)
        .svg();
    assert_eq!(titles(&svg, "function"), ["Sin", "Tanh", "Exp"]);
    assert_eq!(sorted(titles(&svg, "output")), ["a", "b"]);
}

#[test]
fn the_language_of_graphviz_is_balanced() {
    let mut y = matrix(2, 2);
    for _ in 0..5 {
        let weight = matrix(2, 2);
        y = (&y + &y.matmul(&weight).relu()).tanh();
    }
    let dot = Graph::of(&y).dot();
    assert_eq!(dot.matches('{').count(), dot.matches('}').count());
    assert_eq!(dot.matches("subgraph cluster_").count(), 1);
    assert!(dot.contains("label=\"× 5\""));
    let lines = dot.lines().map(str::trim);
    let vertices: Vec<&str> = lines
        .clone()
        .filter_map(|line| line.split_once(" [label=").map(|(name, _)| name))
        .filter(|name| !name.contains("->"))
        .collect();
    for line in lines.filter(|line| line.contains(" -> ")) {
        let ends = line
            .split(" -> ")
            .map(|end| end.split(' ').next().unwrap_or(end));
        for end in ends {
            assert!(vertices.contains(&end), "{end} in `{line}`");
        }
    }
}

#[test]
fn a_page_is_self_contained() {
    let x = leaf(2);
    let page = graph::html(&x.exp());
    let links = ["src=", "href=", "url(", "@import", "fetch("];
    assert!(links.iter().all(|link| !page.contains(link)));
    // The only address is the name of the language.
    assert_eq!(page.matches("://").count(), 1);
    assert!(page.contains("prefers-color-scheme: dark"));
    let start = page.find("<svg").expect("a drawing");
    let end = page.find("</svg>").expect("its end") + "</svg>".len();
    assert_eq!(boxes(&page[start..end]).len(), 3);
}

#[test]
fn text_fits_into_boxes_and_boxes_into_the_drawing() {
    let w = matrix(2, 2);
    let long = "a.module.with.a.rather.long.path.to.its.weight";
    let svg = Graph::of(&w.matmul(&w).sum()).name(long, &w).svg();
    let all = elements(&svg);
    // The root is the last to end.
    let (width, height) = match all.last() {
        Some(svg) => (svg.number("width"), svg.number("height")),
        None => unreachable!("a drawing"),
    };
    let shapes = all
        .iter()
        .filter(|element| element.attribute("class") == Some("shape") && element.name == "rect");
    let mut widest = 0.0_f64;
    for shape in shapes {
        assert!(shape.number("x") >= 0.0 && shape.number("y") >= 0.0);
        assert!(shape.number("x") + shape.number("width") <= width);
        assert!(shape.number("y") + shape.number("height") <= height);
        widest = widest.max(shape.number("width"));
    }
    // No font of this size has letters that are narrower on average.
    assert!(widest > 5.0 * long.len() as f64);
}

/// Weights of one layer.
#[derive(Module)]
struct Layer {
    weight: Parameter<f64, Ix2>,
    bias: Parameter<f64, Ix1>,
}

#[derive(Module)]
struct Layers {
    layers: Vec<Layer>,
    head: Parameter<f64, Ix2>,
}

#[test]
fn a_model_names_its_parameters() {
    let layer = || Layer {
        weight: Parameter::new(Array2::from_elem((3, 3), 0.5)),
        bias: Parameter::new(Array1::zeros(3)),
    };
    let layers = vec![layer(), layer()];
    // Tied: it is drawn under the first of its paths.
    let head = layers[1].weight.clone();
    let mut model = Layers { layers, head };
    model.layers[0].bias.set_requires_grad(false);
    let mut x = Tensor::from(Array2::from_elem((1, 3), 1.0));
    for layer in &model.layers {
        x = x.linear(&layer.weight, Some(&layer.bias)).tanh();
    }
    let loss = x.linear(&model.head, None).sum();
    let graph = Graph::of(&loss).names(model.named_parameters());
    let leaves = sorted(titles(&graph.svg(), "leaf"));
    let names = ["layers.0.weight", "layers.1.bias", "layers.1.weight"];
    assert_eq!(leaves, names);
    assert!(graph.html().contains("layers.1.bias") && graph.dot().contains("layers.1.bias"));
}
