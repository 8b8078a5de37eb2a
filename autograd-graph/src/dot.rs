//! Drawings for Graphviz.

use crate::picture::{Kind, Picture, Shown, ancestors};
use crate::svg::summary;
use crate::text::{count, push, quoted};

/// Writes a graph from top to bottom, with a cluster for each frame.
pub(crate) fn write_dot(picture: &Picture) -> String {
    let mut text = String::from("digraph {\n");
    push!(
        &mut text,
        "  graph [label=\"{}\", labelloc=t, fontname=\"Helvetica\", fontsize=11, compound=true]\n",
        quoted(&summary(picture))
    );
    text.push_str(
        "  node [fontname=\"Helvetica\", fontsize=11, style=\"rounded,filled\", shape=box, \
         color=\"#b7c2d8\", fillcolor=\"#f2f5fb\"]\n  \
         edge [fontname=\"Helvetica\", fontsize=10, color=\"#94a0b8\", arrowsize=0.7]\n",
    );
    frames(picture, &mut text);
    for arc in &picture.arcs {
        push!(&mut text, "  n{} -> n{}", arc.from, arc.to);
        if !arc.label.is_empty() {
            push!(&mut text, " [label=\"{}\"]", quoted(&arc.label));
        }
        text.push('\n');
    }
    text.push_str("}\n");
    text
}

/// Writes the boxes in their frames. A frame is listed after those around it, so a stack of open frames is enough.
fn frames(picture: &Picture, text: &mut String) {
    let mut open: Vec<usize> = Vec::new();
    for (number, shown) in picture.boxes.iter().enumerate() {
        let mut around: Vec<usize> = ancestors(&picture.groups, shown.group).collect();
        around.reverse();
        while !around.starts_with(&open) {
            open.pop();
            push!(text, "{:indent$}}}\n", "", indent = 2 * open.len() + 2);
        }
        for group in &around[open.len()..] {
            push!(
                text,
                "{:indent$}subgraph cluster_{group} {{ label=\"× {}\"; labeljust=l; style=\"rounded,dashed\"; \
                 color=\"#a79ce4\"; fontcolor=\"#5b4bb2\";\n",
                "",
                count(picture.groups[*group].times),
                indent = 2 * open.len() + 2
            );
            open.push(*group);
        }
        vertex(number, shown, 2 * open.len() + 2, text);
    }
    while open.pop().is_some() {
        push!(text, "{:indent$}}}\n", "", indent = 2 * open.len() + 2);
    }
}

fn vertex(number: usize, shown: &Shown, indent: usize, text: &mut String) {
    let mut label = shown.title.clone();
    if shown.times > 1 {
        push!(&mut label, "  × {}", count(shown.times));
    }
    for line in &shown.lines {
        push!(&mut label, "\n{line}");
    }
    let look = match shown.kind {
        Kind::Function => "",
        Kind::Leaf => ", shape=ellipse, style=filled, color=\"#8fc4a4\", fillcolor=\"#e9f6ee\"",
        Kind::Output => ", shape=octagon, style=filled, color=\"#ddb25f\", fillcolor=\"#fff3dc\"",
        Kind::Constant => ", shape=octagon, style=dashed",
        Kind::Elided => ", style=\"rounded,dashed\", color=\"#d79a9a\"",
    };
    push!(
        text,
        "{:indent$}n{number} [label=\"{}\", tooltip=\"{}\"{look}]\n",
        "",
        quoted(&label),
        quoted(&shown.hover.join("\n"))
    );
}
