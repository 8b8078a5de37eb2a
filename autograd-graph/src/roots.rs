//! The boxes of outputs.

use std::collections::HashMap;

use crate::functions::Functions;
use crate::nodes::Link;
use crate::options::Graph;
use crate::picture::{BoxId, DraftArc, Kind, Placed, Shown};
use crate::text::{count, pattern, series};
use autograd_core::Shape;

/// Outputs that share one box: those of corresponding nodes of repeated blocks.
struct Class {
    shape: Shape,
    link: Option<Link>,
    given_by: Option<BoxId>,
    names: Vec<String>,
    times: usize,
}

/// Returns the boxes of outputs, and the arcs that lead to them. `leaves` has the box of each leaf.
pub(crate) fn root_boxes(
    functions: &Functions<'_, '_>,
    leaves: &HashMap<u32, usize>,
    graph: &Graph,
) -> (Vec<Placed>, Vec<DraftArc>) {
    let (mut boxes, mut arcs) = (Vec::new(), Vec::new());
    for (number, class) in classes(functions, leaves, graph).into_iter().enumerate() {
        boxes.push(placed(functions, &class));
        if let (Some(from), Some(link)) = (class.given_by, class.link) {
            let outputs = functions.nodes.all[link.to as usize].output_shapes().len();
            let label = (outputs > 1).then(|| format!("output {}", link.output_nr));
            arcs.push(DraftArc {
                from,
                to: BoxId::Output(number),
                label: label.unwrap_or_default(),
            });
        }
    }
    (boxes, arcs)
}

fn classes(
    functions: &Functions<'_, '_>,
    leaves: &HashMap<u32, usize>,
    graph: &Graph,
) -> Vec<Class> {
    let mut numbers = HashMap::new();
    let mut classes: Vec<Class> = Vec::new();
    let roots = graph.roots.iter().zip(&functions.nodes.roots).enumerate();
    for (root_number, (root, &link)) in roots {
        let given_by = link.map(|link| match leaves.get(&link.to) {
            Some(leaf) => BoxId::Leaf(*leaf),
            None => BoxId::Function(functions.box_of(link.to as usize)),
        });
        let edge = root.edge.as_ref();
        let name = edge.and_then(|edge| graph.names.of(edge.node(), edge.output_nr()));
        let alone = (!graph.fold || given_by.is_none()).then_some(root_number);
        let output_nr = link.map(|link| link.output_nr);
        let number = *numbers
            .entry((alone, given_by, output_nr))
            .or_insert(classes.len());
        if number == classes.len() {
            classes.push(Class {
                shape: root.shape.clone(),
                link,
                given_by,
                names: Vec::new(),
                times: 0,
            });
        }
        classes[number].times += 1;
        classes[number].names.extend(name.map(str::to_owned));
    }
    classes
}

fn placed(functions: &Functions<'_, '_>, class: &Class) -> Placed {
    let beside = match class.given_by {
        Some(BoxId::Function(number)) => Some(number),
        _ => None,
    };
    let around = beside.and_then(|number| functions.groups[number]);
    let times = functions.occurrences(around);
    // In the frame, if each repetition has one.
    let group = around.filter(|_| class.times.is_multiple_of(times));
    let kind = if class.given_by.is_none() {
        Kind::Constant
    } else {
        Kind::Output
    };
    let mut hover = vec![format!("an output of shape {}", class.shape)];
    if kind == Kind::Constant {
        hover.push("nothing was recorded for it".to_owned());
    }
    if class.names.len() > 1 {
        hover.push(series(&class.names));
    }
    if class.times > 1 {
        hover.push(format!("represents {} outputs", count(class.times)));
    }
    let title = match (kind, class.names.is_empty()) {
        (_, false) => pattern(&class.names),
        (Kind::Constant, true) => "constant".to_owned(),
        (_, true) => "output".to_owned(),
    };
    let shown = Shown {
        kind,
        title,
        times: class.times / functions.occurrences(group),
        lines: vec![class.shape.to_string()],
        hover,
        group,
    };
    Placed { shown, beside }
}
