//! Colors and fonts of drawings and pages.

use crate::picture::Kind;

/// The default fonts of systems.
pub(crate) const FONTS: &str = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif";

/// Returns the class of a box of this kind in the style sheet.
pub(crate) fn class(kind: Kind) -> &'static str {
    match kind {
        Kind::Function => "function",
        Kind::Leaf => "leaf",
        Kind::Output => "output",
        Kind::Constant => "constant",
        Kind::Elided => "elided",
    }
}

/// Light colors, which viewers without media queries show; then dark ones.
pub(crate) const DRAWING: &str = "\
.paper{fill:#ffffff}
text{fill:#1d2433}
.title{font-size:13px;font-weight:600}
.line,.note,.label,.times{font-size:11px}
.line{fill:#4a556b}
.where,.note{fill:#5d687e}
.shape{stroke-width:1.25}
.function .shape{fill:#f2f5fb;stroke:#b7c2d8}
.leaf .shape{fill:#e9f6ee;stroke:#8fc4a4}
.output .shape{fill:#fff3dc;stroke:#ddb25f}
.constant .shape{fill:#f6f6f7;stroke:#b9bcc4;stroke-dasharray:4 3}
.elided .shape{fill:#fbecec;stroke:#d79a9a;stroke-dasharray:4 3}
.times{fill:#5b4bb2;font-weight:600}
.frame{fill:#7a6ad6;fill-opacity:0.07;stroke:#a79ce4;stroke-width:1.25;stroke-dasharray:6 4}
.arc{fill:none;stroke:#7d89a2;stroke-width:1.25}
.tip{fill:#7d89a2}
.label{fill:#4a556b;stroke:#ffffff;stroke-width:3px;stroke-linejoin:round;paint-order:stroke}
.frame-label{fill:#5b4bb2;font-weight:600}
@media (prefers-color-scheme: dark){
.paper{fill:#12151c}
text{fill:#e8ebf2}
.line{fill:#b3bccd}
.where,.note{fill:#8b95a9}
.function .shape{fill:#1d2330;stroke:#46526a}
.leaf .shape{fill:#15291e;stroke:#3f7a58}
.output .shape{fill:#2e2512;stroke:#8a6a2c}
.constant .shape{fill:#1c1e23;stroke:#565b66}
.elided .shape{fill:#2d1a1c;stroke:#7d4a4e}
.times{fill:#b3a7f5}
.frame{fill:#8f7ff0;fill-opacity:0.08;stroke:#655aa6}
.arc{stroke:#667289}
.tip{fill:#667289}
.label{fill:#b3bccd;stroke:#12151c}
.frame-label{fill:#b3a7f5}
}
";

/// The styles of the page around the drawing.
pub(crate) const PAGE: &str = include_str!("page.css");

/// Shows the details of the box under the pointer, or with the focus, and its arcs; zooms and moves the drawing. The
/// page can be read without it.
pub(crate) const SCRIPT: &str = include_str!("page.js");
