//! Drawings and their pages in a browser.

use pullback::AnyTensor;
use pullback::graph::Graph;
use pullback::ndarray::Axis;
use pullback::nn::{Generator, Linear, MultiheadAttention};
use pullback::ops::Reduction;
use pullback::prelude::*;
use serde_json::Value;

use super::{leaf, matrix};
use crate::browser;

/// Reports mistakes in a drawing, in the browser's default font and in the widest and the narrowest of usual fonts:
/// texts outside of their boxes, boxes and labels on boxes, arcs through boxes.
const LOOK: &str = r"
const inside = (a, b) => a.x >= b.x && a.y >= b.y && a.x + a.width <= b.x + b.width && a.y + a.height <= b.y + b.height;
const meet = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
const drawing = document.querySelector('main > svg');
const wrong = [];
let texts = 0;
let widest = 0;
for (const font of ['', 'DejaVu Sans', 'Liberation Sans']) {
  drawing.style.fontFamily = font && `'${font}'`;
  const boxes = [...drawing.querySelectorAll('.box')].map((box) => ({ id: box.id, box, place: [...box.querySelectorAll('.shape')].pop().getBBox() }));
  for (const { id, box, place } of boxes) {
    for (const text of box.querySelectorAll('text')) {
      const written = text.getBBox();
      texts += 1;
      widest = Math.max(widest, written.width);
      if (!inside(written, place)) wrong.push(`text outside of ${id}: ${text.textContent} ${font}`);
    }
    for (const other of boxes) {
      if (other.id < id && meet(place, other.place)) wrong.push(`${id} on ${other.id}`);
    }
  }
  const labels = [...drawing.querySelectorAll('.label')].map((label) => ({ text: label.textContent, place: label.getBBox() }));
  labels.forEach(({ text, place }, number) => {
    if (boxes.some((box) => meet(place, box.place))) wrong.push(`label on a box: ${text} ${font}`);
    if (labels.slice(0, number).some((other) => meet(place, other.place))) wrong.push(`label on another: ${text} ${font}`);
  });
  for (const arc of font ? [] : drawing.querySelectorAll('.arc')) {
    const length = arc.getTotalLength();
    for (let at = 0; at < length; at += 8) {
      const { x, y } = arc.getPointAtLength(at);
      // Ends are on the borders.
      const point = { x: x - 0.5, y: y - 0.5, width: 1, height: 1 };
      const through = boxes.find(({ place }) => inside(point, place));
      if (through) wrong.push(`arc from ${arc.dataset.from} to ${arc.dataset.to} through ${through.id}`);
    }
  }
}
report({ wrong: [...new Set(wrong)], texts, widest });
";

/// Returns the mistakes that the browser finds in a drawing of `boxes` boxes; `None` without a browser or a font.
fn looked_at(page: &str, script: &str, boxes: usize) -> Option<Vec<String>> {
    if !browser::is_there() {
        return None;
    }
    let opened = browser::open(&browser::with_script(page, script), "", 1200);
    assert_eq!(opened.console, [""; 0], "the console is empty");
    let report = opened.report();
    let texts = report["texts"].as_u64().expect("a count");
    assert!(texts >= 3 * 2 * boxes as u64, "{texts} texts are too few");
    if report["widest"].as_f64().expect("a width") < 1.0 {
        println!("skipped: the browser has no font");
        return None;
    }
    let wrong = report["wrong"].as_array().expect("a list").iter();
    Some(
        wrong
            .map(|what| what.as_str().expect("a text").to_owned())
            .collect(),
    )
}

fn assert_clear(graph: &Graph, boxes: usize) {
    if let Some(wrong) = looked_at(&graph.html(), LOOK, boxes) {
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

#[test]
fn a_network_is_legible_in_a_browser() {
    let mut random = Generator::seed(7);
    let attention = MultiheadAttention::<f64>::new(8, 2, &mut random);
    let layers: Vec<_> = (0..6)
        .map(|_| Linear::<f64>::new(8, 8, &mut random))
        .collect();
    let x = matrix(6, 8);
    let mut y = x.clone();
    for layer in &layers {
        y = &y + &layer.forward(&y).gelu();
    }
    let y = attention.forward(&y.unsqueeze(Axis(0)));
    let loss = y.mse_loss(&y.detach(), Reduction::Mean) + x.square().mean();
    let mut graph = Graph::of(&loss).name("x", &x).name("loss", &loss);
    for (number, layer) in layers.iter().enumerate() {
        for (name, parameter) in layer.named_parameters() {
            graph = graph.names([(format!("layers.{number}.{name}"), parameter.to_any())]);
        }
    }
    assert_clear(&graph.gradients(true), 20);
}

#[test]
fn awkward_names_stay_in_their_boxes_in_a_browser() {
    let names = [
        "encoder.layers.with.a.rather.long.path.to.the.weight.of.the.first.projection.in_proj_weight",
        "<&\"größe\"'> 漢字仮名 русский язык ελληνικά عربي हिन्दी 🦀🦀",
        "ЩЩЩЩЩЩЖЖЖЖЖЖ ЮЮЮЮЮЮ",
        "WWWWWWWWMMMMMMMMWWWWWWWWMMMMMMMMWWWWWWWWMMMMMMMMWWWWWWWW",
        "iiiiiiiiillllllllll.......",
        "mmmmmmmmwwwwwwww@@@@@@@@%%%%%%%%QQQQQQQQ",
    ];
    let leaves = names.map(|_| matrix(2, 2));
    let first = leaves[0].clone();
    let sum = leaves[1..].iter().fold(first, |sum, leaf| sum.matmul(leaf));
    let inner = sum.sin();
    let output = inner.exp();
    let mut graph = Graph::of(&output)
        .name(names[0], &inner)
        .name(names[1], &output);
    for (name, leaf) in names.iter().zip(&leaves) {
        graph = graph.name(*name, leaf);
    }
    assert_clear(&graph.fold(false), names.len() + 8);
}

#[test]
fn a_large_graph_without_a_pattern_is_legible_in_a_browser() {
    let mut state = 7_u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % below
    };
    let mut all: Vec<Tensor1<f64>> = (0..5).map(|_| leaf(3)).collect();
    while all.len() < 200 {
        let mut one = || all[all.len().saturating_sub(12) + random(all.len().min(12))].clone();
        let (a, b) = (one(), one());
        all.push(match random(5) {
            0 => a.exp(),
            1 => a.softplus(),
            2 => a + b,
            3 => a * b,
            _ => a.maximum(&b),
        });
    }
    let roots: Vec<AnyTensor> = all[190..].iter().cloned().map(AnyTensor::from).collect();
    assert_clear(&Graph::of_all(&roots), 60);
}

#[test]
fn texts_outside_of_boxes_are_found_in_a_browser() {
    let y = leaf(3).exp() + leaf(3).sin();
    let script = "document.querySelector('#b1 .title').style.fontSize = '60px';\n\
                  document.querySelector('#b2').setAttribute('transform', 'translate(0 -1000)');\n";
    if let Some(wrong) = looked_at(&Graph::of(&y).html(), &format!("{script}{LOOK}"), 6) {
        let is_found = |what: &str| wrong.iter().any(|wrong| wrong.starts_with(what));
        assert!(is_found("text outside of b1: Add"), "{wrong:#?}");
    }
}

/// Uses a page; after each step, notes the card's text, the number of highlighted arcs and the scale.
const USE: &str = r"
const steps = [];
const note = (step) => steps.push({
  step,
  card: getComputedStyle(card).display === 'none' ? '' : card.textContent,
  lit: document.querySelectorAll('.arc.lit').length,
  scale: document.getElementById('scale').textContent,
  focus: document.activeElement.id,
});
const card = document.getElementById('card');
const at = (id) => document.getElementById(id);
const press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
note('opened');
at('b1').dispatchEvent(new PointerEvent('pointerenter', { clientX: 300, clientY: 300 }));
note('pointed');
const place = card.getBoundingClientRect();
const fits = place.right <= innerWidth && place.bottom <= innerHeight;
at('b1').dispatchEvent(new PointerEvent('pointerleave'));
note('left');
at('b0').focus();
press('ArrowUp');
press('ArrowUp');
note('up');
press('ArrowDown');
note('down');
press('Escape');
note('escaped');
at('in').click();
note('larger');
at('scale').click();
press('-');
note('smaller');
report({ steps, fits, zoom: !document.querySelector('.zoom').hidden, labels: [...document.querySelectorAll('main .box')].map((box) => box.getAttribute('aria-label')), scroll: [document.documentElement.scrollWidth, innerWidth] });
";

#[test]
fn a_page_answers_to_pointer_and_keys_in_a_browser() {
    if !browser::is_there() {
        return;
    }
    let x = leaf(3);
    let loss = x.exp().sum();
    let page = Graph::of(&loss).name("x", &x).name("loss", &loss).html();
    assert!(page.contains("<title>Graph of loss</title>"));
    let opened = browser::open(&browser::with_script(&page, USE), "", 800);
    assert_eq!(opened.console, [""; 0]);
    let report = opened.report();
    let steps = report["steps"].as_array().expect("a list");
    let step = |name: &str| {
        let found = steps.iter().find(|step| step["step"] == name);
        found.unwrap_or_else(|| panic!("no {name} in {steps:?}"))
    };
    let card = |name: &str| step(name)["card"].as_str().expect("a text");
    // Output, sum, exp, leaf.
    assert_eq!(card("opened"), "");
    assert!(
        card("pointed").starts_with("Sum\noutput []\napplied at "),
        "{}",
        card("pointed")
    );
    assert_eq!(
        (&step("pointed")["lit"], &step("left")["lit"]),
        (&Value::from(2), &Value::from(0))
    );
    assert_eq!(card("left"), "");
    assert_eq!(step("up")["focus"], "b2");
    assert_eq!(step("down")["focus"], "b1");
    assert_eq!(step("escaped")["focus"], "");
    assert_eq!(step("larger")["scale"], "125 %");
    assert_eq!(step("smaller")["scale"], "80 %");
    assert_eq!(
        (&report["fits"], &report["zoom"]),
        (&Value::from(true), &Value::from(true))
    );
    let labels = report["labels"].as_array().expect("a list");
    assert!(
        labels
            .iter()
            .all(|label| label.as_str().is_some_and(|label| label.contains('\n')))
    );
    assert_eq!(
        report["scroll"][0], report["scroll"][1],
        "nothing is wider than the window"
    );
}
