//! Drawings on pages.

use crate::picture::{Kind, Picture};
use crate::style::{FONTS, PAGE, SCRIPT, class};
use crate::svg::{draw_svg, summary};
use crate::text::{push, series, xml};

/// Writes a self-contained page, which forbids the browser to load anything.
pub(crate) fn write_html(picture: &Picture) -> String {
    let mut page = String::new();
    let title = xml(&title(picture));
    push!(
        &mut page,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n{HEAD}<title>{title}</title>\n\
         <style>\nbody{{font-family:{FONTS}}}\n{PAGE}</style>\n</head>\n<body>\n\
         <header><div><h1>{title}</h1><p>{}</p></div>\n{ZOOM}</header>\n\
         <main tabindex=\"0\" aria-label=\"Drawing\">\n",
        xml(&summary(picture)),
    );
    page.push_str(&draw_svg(picture, false));
    page.push_str("</main>\n");
    legend(picture, &mut page);
    push!(
        &mut page,
        "<div id=\"card\" aria-hidden=\"true\"></div>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n"
    );
    page
}

/// Returns the title of the page, with the names of the outputs.
fn title(picture: &Picture) -> String {
    let names: Vec<String> = picture
        .boxes
        .iter()
        .filter(|shown| shown.kind == Kind::Output && shown.title != "output")
        .map(|shown| shown.title.clone())
        .collect();
    if names.is_empty() {
        "Graph".to_owned()
    } else {
        format!("Graph of {}", series(&names))
    }
}

/// Writes what the shapes in the drawing mean.
fn legend(picture: &Picture, page: &mut String) {
    let shapes = [
        (Kind::Output, "output", OUTPUT),
        (Kind::Constant, "constant: nothing was recorded", OUTPUT),
        (Kind::Function, "function", BOX),
        (Kind::Leaf, "leaf", ROUND),
        (Kind::Elided, "not drawn", BOX),
    ];
    page.push_str("<footer>\n<ul class=\"legend\">\n");
    for (kind, what, shape) in shapes {
        if picture.boxes.iter().any(|shown| shown.kind == kind) {
            let class = class(kind);
            push!(
                page,
                "<li><svg width=\"24\" height=\"16\" aria-hidden=\"true\"><g class=\"{class}\">{shape}</g></svg>{what}</li>\n"
            );
        }
    }
    if !picture.groups.is_empty() {
        push!(
            page,
            "<li><svg width=\"24\" height=\"16\" aria-hidden=\"true\">{FRAME}</svg>repeated this many times</li>\n"
        );
    }
    page.push_str("</ul>\n");
    page.push_str(KEYS);
    page.push_str("</footer>\n");
}

const HEAD: &str = "<meta charset=\"utf-8\">\n\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
    <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
    script-src 'unsafe-inline'\">\n";

/// Hidden until the script, which it needs, shows it.
const ZOOM: &str = "<div class=\"zoom\" role=\"group\" aria-label=\"Zoom\" hidden>\
    <button id=\"out\" aria-label=\"Smaller\" title=\"Smaller ( - )\">−</button>\
    <button id=\"scale\" aria-label=\"Full size\" title=\"Full size ( 0 )\">100 %</button>\
    <button id=\"in\" aria-label=\"Larger\" title=\"Larger ( + )\">+</button>\
    <button id=\"fit\" title=\"The whole drawing ( f )\">Fit</button></div>";

const KEYS: &str = "<p class=\"keys\">Data flows down. Point at a box, or go to it with Tab and the arrow keys, to \
    read what it saved; Ctrl and the wheel zoom, dragging moves.</p>\n";

const BOX: &str =
    "<rect class=\"shape\" x=\"1\" y=\"1\" width=\"22\" height=\"14\" rx=\"4\"></rect>";
const ROUND: &str =
    "<rect class=\"shape\" x=\"1\" y=\"1\" width=\"22\" height=\"14\" rx=\"7\"></rect>";
const OUTPUT: &str = "<path class=\"shape\" d=\"M5 1h14l4 4v6l-4 4h-14l-4 -4v-6z\"></path>";
const FRAME: &str =
    "<rect class=\"frame\" x=\"1\" y=\"1\" width=\"22\" height=\"14\" rx=\"4\"></rect>";
