//! Drawings on pages of their own.

use super::picture::Picture;
use super::style::{FONTS, PAGE, SCRIPT};
use super::svg;
use super::text::{push, xml};

/// A page that needs nothing but itself.
pub(super) fn write(picture: &Picture) -> String {
    let mut page = String::new();
    push!(
        &mut page,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Graph</title>\n<style>\nbody{{font-family:{FONTS}}}\n{PAGE}</style>\n</head>\n<body>\n\
         <header><h1>Graph</h1><p>{}</p></header>\n<main>\n{}</main>\n<div id=\"card\"></div>\n\
         <script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        xml(&svg::summary(picture)),
        svg::write(picture)
    );
    page
}
