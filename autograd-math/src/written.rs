//! The elements, attributes and styles of a formula: `tidy` writes nothing else, and the catalogue's page accepts
//! nothing else.

/// The frame around an element, in which it scrolls where it is too wide.
///
/// `<div>` begins a block that Markdown leaves alone up to the next empty line.
pub(crate) const FRAME: [&str; 2] = [
    "<div style=\"overflow:auto hidden;margin:1em 0;padding:.2em 0\">",
    "</div>",
];

pub(crate) const ELEMENTS: [&str; 19] = [
    "math",
    "mfrac",
    "mi",
    "mn",
    "mo",
    "mover",
    "mroot",
    "mrow",
    "mspace",
    "msqrt",
    "msub",
    "msubsup",
    "msup",
    "mtable",
    "mtd",
    "mtext",
    "mtr",
    "munder",
    "munderover",
];

/// The attributes besides `style`, whose values are words and lengths.
pub(crate) const ATTRIBUTES: [&str; 14] = [
    "depth",
    "display",
    "displaystyle",
    "height",
    "largeop",
    "linethickness",
    "mathvariant",
    "maxsize",
    "minsize",
    "movablelimits",
    "scriptlevel",
    "stretchy",
    "symmetric",
    "width",
];

pub(crate) const STYLES: [&str; 7] = [FONTS, LEFT, CASE, RIGHT_SIDE, RIGHT, LEFT_SIDE, NEXT_SIDE];

/// The fonts for `math`: the default of a browser often lacks tall brackets, which these have.
pub(crate) const FONTS: &str =
    "font-family:Latin Modern Math,STIX Two Math,Cambria Math,DejaVu Math TeX Gyre,math";

// The styles of cells, which browsers center by default, with space on both sides.
pub(crate) const LEFT: &str = "text-align:left";
pub(crate) const CASE: &str = "text-align:left;padding-left:0;padding-right:1em";
pub(crate) const RIGHT_SIDE: &str = "text-align:left;padding-left:0";
// Chromium aligns blocks in a cell only with its prefixed value.
pub(crate) const RIGHT: &str = "text-align:right;text-align:-webkit-right";
pub(crate) const LEFT_SIDE: &str = "text-align:right;text-align:-webkit-right;padding-right:0";
pub(crate) const NEXT_SIDE: &str =
    "text-align:right;text-align:-webkit-right;padding-left:2em;padding-right:0";
