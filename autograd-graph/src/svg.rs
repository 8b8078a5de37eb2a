//! Drawings as SVG.

use std::borrow::Cow;

use crate::layout::{FRAME, Layout, Rect, Route, Size, arriving_width, layout};
use crate::picture::{Arc, Kind, Picture, Shown};
use crate::style::{DRAWING, FONTS, class};
use crate::text::{LETTERS_OF_LINE, LETTERS_OF_NAME, bytes, count, push, shortened, width, xml};

const TITLE: f64 = 13.0;
const TEXT: f64 = 11.0;
/// The distance of lines, and the room above and below them.
const LINE: f64 = 15.5;
const PADDING: f64 = 10.0;
/// The room beside the text, and in round boxes.
const BESIDE: f64 = 14.0;
const BESIDE_ROUND: f64 = 22.0;
const NARROWEST: f64 = 64.0;
/// The room around the drawing, and for the note above it.
const MARGIN: f64 = 24.0;
const NOTE: f64 = 26.0;
/// The offset of the box behind a repeated one, and the length of an arrow's tip.
const STACK: f64 = 4.0;
const TIP: f64 = 7.0;

/// Returns the summary above a drawing.
pub(crate) fn summary(picture: &Picture) -> String {
    let totals = &picture.totals;
    let plural = |number: usize, one: &str, many: &str| {
        format!("{} {}", count(number), if number == 1 { one } else { many })
    };
    let mut text = format!(
        "{} · {} · {} saved for backward",
        plural(totals.nodes, "node", "nodes"),
        plural(totals.leaves, "leaf", "leaves"),
        bytes(totals.bytes)
    );
    if totals.freed > 0 {
        push!(&mut text, " · {} freed", count(totals.freed));
    }
    if picture.elided > 0 {
        push!(
            &mut text,
            " · {} nodes in the middle are not drawn",
            count(picture.elided)
        );
    }
    text
}

/// Returns the label of an arc.
fn label(arc: &Arc) -> Cow<'_, str> {
    shortened(&arc.label, LETTERS_OF_NAME)
}

/// Draws an image: with its summary if it `is_alone`, without for a page that has the summary elsewhere.
pub(crate) fn draw_svg(picture: &Picture, is_alone: bool) -> String {
    let mut output = String::new();
    let text = &mut output;
    let label_width = |arc: &Arc| width(&label(arc), TEXT, false);
    let labels: Vec<f64> = picture.arcs.iter().map(label_width).collect();
    let mut arriving = vec![Vec::new(); picture.boxes.len()];
    for (arc, label) in picture.arcs.iter().zip(&labels) {
        arriving[arc.to].push(*label);
    }
    let boxes = picture.boxes.iter().zip(arriving);
    let sizes: Vec<Size> = boxes
        .map(|(shown, labels)| size(shown, arriving_width(labels.into_iter()) + BESIDE))
        .collect();
    let layout = layout(picture, &sizes, &labels);
    let note = summary(picture);
    let (note_width, top, role) = if is_alone {
        (width(&note, TEXT, false), MARGIN + NOTE, "img")
    } else {
        // Screen readers do not read the boxes within an image.
        (0.0, MARGIN, "group")
    };
    let inner = layout.width.max(note_width);
    let (wide, high) = (inner + 2.0 * MARGIN, layout.height + top + MARGIN + STACK);
    push!(
        text,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide:.0}\" height=\"{high:.0}\" \
         viewBox=\"0 0 {wide:.0} {high:.0}\" font-family=\"{}\" role=\"{role}\">\n",
        xml(FONTS)
    );
    if is_alone {
        // A page has the summary above, and would show the title under the pointer everywhere.
        push!(text, "<title>{}</title>\n", xml(&note));
    }
    push!(
        text,
        "<style>\n{DRAWING}</style>\n\
         <rect class=\"paper\" width=\"{wide:.0}\" height=\"{high:.0}\"/>\n"
    );
    if is_alone {
        push!(
            text,
            "<text class=\"note\" x=\"{MARGIN}\" y=\"{:.1}\">{}</text>\n",
            MARGIN + TEXT,
            xml(&note)
        );
    }
    let left = MARGIN + (inner - layout.width) / 2.0;
    push!(text, "<g transform=\"translate({left:.1} {top:.1})\">\n");
    contents(picture, &layout, text);
    text.push_str("</g>\n</svg>\n");
    output
}

fn contents(picture: &Picture, layout: &Layout, text: &mut String) {
    for frame in layout.frames.iter().flatten() {
        draw_frame(*frame, text);
    }
    for (arc, route) in picture.arcs.iter().zip(&layout.routes) {
        push!(
            text,
            "<path class=\"arc\" data-from=\"b{}\" data-to=\"b{}\" d=\"{}\"/>\n",
            arc.from,
            arc.to,
            path(route)
        );
        let (x, y) = route.points[route.points.len() - 1];
        push!(
            text,
            "<path class=\"tip\" d=\"M{x:.1} {y:.1}l-3.5 -{TIP}h7z\"/>\n"
        );
    }
    for (number, (shown, rect)) in picture.boxes.iter().zip(&layout.boxes).enumerate() {
        draw_box(number, shown, *rect, text);
    }
    // Last, on top of the arcs.
    draw_labels(picture, layout, text);
}

fn times(shown: &Shown) -> Option<String> {
    (shown.times > 1).then(|| format!("× {}", count(shown.times)))
}

/// Returns the size of a box that is at least as wide as the labels above it.
fn size(shown: &Shown, labels: f64) -> Size {
    let times = times(shown).map_or(0.0, |times| 10.0 + width(&times, TEXT, true));
    let title = shortened(&shown.title, LETTERS_OF_NAME);
    let title = width(&title, TITLE, true) + times;
    let text = shown
        .lines
        .iter()
        .map(|line| width(&shortened(line, LETTERS_OF_LINE), TEXT, false))
        .fold(title, f64::max);
    let margin = if shown.kind == Kind::Leaf {
        BESIDE_ROUND
    } else {
        BESIDE
    };
    let stack = if shown.times > 1 { STACK } else { 0.0 };
    Size {
        width: (text + 2.0 * margin).max(labels).max(NARROWEST),
        height: LINE * (1 + shown.lines.len()) as f64 + 2.0 * PADDING - 3.0 + stack,
    }
}

fn draw_frame(frame: Rect, text: &mut String) {
    push!(
        text,
        "<rect class=\"frame\" {} rx=\"12\"/>\n",
        attributes(frame)
    );
}

fn draw_labels(picture: &Picture, layout: &Layout, text: &mut String) {
    for (group, frame) in picture.groups.iter().zip(&layout.frames) {
        if let Some(frame) = frame {
            push!(
                text,
                "<text class=\"label frame-label\" x=\"{:.1}\" y=\"{:.1}\">× {}</text>\n",
                frame.x + FRAME,
                frame.y + 18.0,
                count(group.times)
            );
        }
    }
    for (arc, route) in picture.arcs.iter().zip(&layout.routes) {
        let (x, y) = route.points[route.points.len() - 1];
        if !arc.label.is_empty() {
            push!(
                text,
                "<text class=\"label\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n",
                y - TIP - 5.0,
                xml(&label(arc))
            );
        }
    }
}

fn draw_box(number: usize, shown: &Shown, rect: Rect, text: &mut String) {
    let mut hover = shown.title.clone();
    for line in &shown.hover {
        push!(&mut hover, "\n{line}");
    }
    push!(
        text,
        "<g class=\"box {}\" id=\"b{number}\" tabindex=\"0\"><title>{}</title>",
        class(shown.kind),
        xml(&hover)
    );
    let mut front = rect;
    if shown.times > 1 {
        front.height -= STACK;
        front.width -= STACK;
        draw_shape(
            shown.kind,
            Rect {
                x: front.x + STACK,
                y: front.y + STACK,
                ..front
            },
            text,
        );
    }
    draw_shape(shown.kind, front, text);
    let mut y = front.y + PADDING + 10.0;
    let middle = front.middle();
    push!(
        text,
        "<text class=\"title\" x=\"{middle:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{}",
        xml(&shortened(&shown.title, LETTERS_OF_NAME))
    );
    if let Some(times) = times(shown) {
        push!(
            text,
            "<tspan class=\"times\" dx=\"8\">{}</tspan>",
            xml(&times)
        );
    }
    text.push_str("</text>");
    for (number, line) in shown.lines.iter().enumerate() {
        y += LINE;
        let is_where = number + 1 == shown.lines.len() && line.contains(".rs:");
        push!(
            text,
            "<text class=\"line{}\" x=\"{middle:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{}</text>",
            if is_where { " where" } else { "" },
            xml(&shortened(line, LETTERS_OF_LINE))
        );
    }
    text.push_str("</g>\n");
}

fn draw_shape(kind: Kind, rect: Rect, text: &mut String) {
    let corner = 8.0;
    if matches!(kind, Kind::Output | Kind::Constant) {
        let (across, down) = (rect.width - 2.0 * corner, rect.height - 2.0 * corner);
        push!(
            text,
            "<path class=\"shape\" d=\"M{:.1} {:.1}h{across:.1}l{corner} {corner}v{down:.1}l-{corner} {corner}\
             h-{across:.1}l-{corner} -{corner}v-{down:.1}z\"/>",
            rect.x + corner,
            rect.y
        );
        return;
    }
    let is_round = kind == Kind::Leaf;
    let radius = if is_round { rect.height / 2.0 } else { corner };
    push!(
        text,
        "<rect class=\"shape\" {} rx=\"{radius:.1}\"/>",
        attributes(rect)
    );
}

/// Returns the attributes of a rectangle.
fn attributes(rect: Rect) -> String {
    format!(
        "x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"",
        rect.x, rect.y, rect.width, rect.height
    )
}

/// Returns a path of curves that begin and end vertically, and straight lines between them.
fn path(route: &Route) -> String {
    let mut path = String::new();
    let last = route.points.len() - 1;
    for (number, &(x, y)) in route.points.iter().enumerate() {
        // Under the tip, so that the line does not show beside its point.
        let y = if number == last { y - TIP + 1.0 } else { y };
        match number {
            0 => push!(&mut path, "M{x:.1} {y:.1}"),
            _ if number.is_multiple_of(2) => push!(&mut path, "L{x:.1} {y:.1}"),
            _ => {
                let (from_x, from_y) = route.points[number - 1];
                let half = (y - from_y) / 2.0;
                push!(
                    &mut path,
                    "C{from_x:.1} {:.1} {x:.1} {:.1} {x:.1} {y:.1}",
                    from_y + half,
                    y - half
                );
            }
        }
    }
    path
}
