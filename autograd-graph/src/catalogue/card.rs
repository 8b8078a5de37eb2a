//! One function on the page.

use std::fmt::{self, Write as _};
use std::path::Path;

use super::docs::Docs;
use super::prose;
use crate::text::xml;
use autograd_core::catalogue::Entry;
use autograd_core::{InputSignature, SavedSignature, Signature};

/// Writes a function, at the anchor `id`.
pub(super) fn write(html: &mut String, function: &Entry, id: &str) -> fmt::Result {
    let name = xml(function.name());
    let module = xml(function.module);
    writeln!(
        html,
        "<article id=\"{id}\">\n<h3><a href=\"#{id}\">{name}</a> <code>{module}</code></h3>"
    )?;
    let docs = Docs::of(function.docs);
    summary(html, &docs)?;
    facts(html, function.signature)?;
    table(html, function.signature)?;
    checked(html, function)?;
    let (file, line) = (xml(function.file), function.line);
    writeln!(html, "<p class=\"place\"><code>{file}:{line}</code></p>")?;
    let mut more = String::new();
    prose::blocks(&mut more, docs.rest.iter().copied())?;
    if !more.is_empty() {
        writeln!(html, "<details>\n<summary>More</summary>\n{more}</details>")?;
    }
    html.push_str("</article>\n");
    Ok(())
}

fn summary(html: &mut String, docs: &Docs) -> fmt::Result {
    if docs.summary.is_empty() && docs.formulas.is_empty() {
        html.push_str(
            "<p class=\"none\">No documentation: write it above <code>#[forward]</code>.</p>\n",
        );
        return Ok(());
    }
    if !docs.summary.is_empty() {
        html.push_str("<p class=\"formula\">");
        prose::inline(html, &docs.summary.join(" "))?;
        html.push_str("</p>\n");
    }
    prose::blocks(html, docs.formulas.iter().copied())
}

/// Writes the order of differentiation, and whether there is forward mode and a write in place.
fn facts(html: &mut String, signature: &Signature) -> fmt::Result {
    let elementwise = if signature.elementwise {
        "elementwise, "
    } else {
        ""
    };
    let order = format!("{elementwise}differentiable {}", signature.order);
    let forward_mode = if signature.forward_mode {
        "forward mode"
    } else {
        "no forward mode"
    };
    let writes = signature.inputs.iter().any(|input| input.in_place);
    let facts = [
        Some(&order[..]),
        Some(forward_mode),
        writes.then_some("in place"),
    ];
    html.push_str("<ul class=\"facts\">");
    for fact in facts.into_iter().flatten() {
        write!(html, "<li>{fact}</li>")?;
    }
    html.push_str("</ul>\n");
    Ok(())
}

/// Writes the table of its inputs, outputs and saved values.
fn table(html: &mut String, signature: &Signature) -> fmt::Result {
    html.push_str(
        "<div class=\"table\"><table>\n<thead><tr><th scope=\"col\">name</th><th scope=\"col\">type</th>\
         <th scope=\"col\">is</th><th scope=\"col\">saved for the gradient of</th></tr></thead>\n<tbody>\n",
    );
    for input in signature.inputs {
        let kind = with_rows(kind(input), input.row);
        row(html, input.name, input.ty, &kind, signature)?;
    }
    for output in signature.outputs {
        // A tensor that is written to is already among the inputs.
        let written = |input: &InputSignature| input.in_place && input.name == output.name;
        let kind = match output.differentiable {
            _ if signature.inputs.iter().any(written) => "output: the written tensor",
            true => "output",
            false => "output without a gradient",
        };
        row(
            html,
            output.name,
            output.ty,
            &with_rows(kind, output.row),
            signature,
        )?;
    }
    let is_named = |saved: &SavedSignature| {
        let inputs = signature.inputs.iter().map(|input| input.name);
        let outputs = signature.outputs.iter().map(|output| output.name);
        inputs.chain(outputs).any(|name| name == saved.name)
    };
    for saved in signature.saved.iter().filter(|saved| !is_named(saved)) {
        row(html, saved.name, "", "saved by forward", signature)?;
    }
    html.push_str("</tbody>\n</table></div>\n");
    Ok(())
}

/// Adds the length of the rows of a tensor to what it is.
fn with_rows(kind: &str, row: Option<usize>) -> String {
    match row {
        Some(0) => format!("{kind}, rows"),
        Some(length) => format!("{kind}, rows of {length}"),
        None => kind.to_owned(),
    }
}

fn kind(input: &InputSignature) -> &'static str {
    match (input.tensor, input.differentiable) {
        (false, _) => "value",
        (true, true) if input.in_place => "input, written to",
        (true, false) if input.in_place => "input, written to, without a gradient",
        (true, true) if input.list => "list of inputs",
        (true, false) if input.list => "list of inputs without gradients",
        (true, true) if input.optional => "optional input",
        (true, false) if input.optional => "optional input without a gradient",
        (true, true) => "input",
        (true, false) => "input without a gradient",
    }
}

fn row(html: &mut String, name: &str, ty: &str, kind: &str, signature: &Signature) -> fmt::Result {
    let saved = signature.saved.iter().find(|saved| saved.name == name);
    let needed_for = saved.map_or(&[][..], |saved| saved.needed_for);
    write!(
        html,
        "<tr><th scope=\"row\"><code>{}</code></th><td>",
        xml(name)
    )?;
    if !ty.is_empty() {
        write!(html, "<code>{}</code>", xml(ty))?;
    }
    write!(html, "</td><td>{kind}</td><td>")?;
    for (number, input) in needed_for.iter().enumerate() {
        let comma = if number > 0 { ", " } else { "" };
        write!(html, "{comma}<code>{}</code>", xml(input))?;
    }
    html.push_str("</td></tr>\n");
    Ok(())
}

/// Writes the command that checks its derivatives.
fn checked(html: &mut String, function: &Entry) -> fmt::Result {
    let Some(test) = &function.test else {
        html.push_str(
            "<p class=\"none\">No test is generated: <code>gradcheck(…)</code> asks for one.</p>\n",
        );
        return Ok(());
    };
    // Packages outside of the workspace have absolute paths: cargo does not run their tests.
    let place = if Path::new(function.file).is_absolute() {
        ", in its workspace"
    } else {
        ""
    };
    let command = xml(&test.to_string());
    writeln!(
        html,
        "<p class=\"none\">Gradcheck{place}: <code>{command}</code></p>"
    )
}
