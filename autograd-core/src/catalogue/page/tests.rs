use super::*;

fn prose(docs: &str) -> String {
    let mut html = String::new();
    prose::blocks(&mut html, docs.lines()).unwrap();
    html
}

fn inline(text: &str) -> String {
    let mut html = String::new();
    prose::inline(&mut html, text).unwrap();
    html
}

#[test]
fn what_authors_write_becomes_blocks() {
    let docs = "One\nline.\n\n# Panics\nIf `x` is.\n- a\n- b\n  c\n\nBehind.\n\n```\n# hidden\na < b;\n\nc\n```";
    let html = "<p>One line.</p>\n<h4>Panics</h4>\n<p>If <code>x</code> is.</p>\n\
                <ul>\n<li>a</li>\n<li>b c</li>\n</ul>\n<p>Behind.</p>\n\
                <pre>a &lt; b;\n\nc\n</pre>\n";
    assert_eq!(prose(docs), html);
    // What is left open is closed.
    assert_eq!(prose("- a"), "<ul>\n<li>a</li>\n</ul>\n");
    assert_eq!(prose("```\na"), "<pre>a\n</pre>\n");
    assert_eq!(prose(""), "");
}

#[test]
fn text_is_escaped_and_links_are_what_they_show() {
    assert_eq!(inline("a < b & \"c\""), "a &lt; b &amp; &quot;c&quot;");
    assert_eq!(inline("`<b>` ` c"), "<code>&lt;b&gt;</code> ` c");
    assert_eq!(
        inline("[`Exp`] and [Ln](super::Ln)"),
        "<code>Exp</code> and Ln"
    );
    assert_eq!(
        inline("[paper](https://a.b/c), [0, 1] and x[i"),
        "paper (https://a.b/c), [0, 1] and x[i"
    );
    assert_eq!(anchor("a::b<'c>"), "a.b--c-");
}

#[test]
fn the_rest_of_documentation_begins_behind_the_first_paragraph() {
    let rest = |docs| prose::behind_summary(docs).collect::<Vec<_>>();
    assert_eq!(rest("a\nb\n\nc\n\nd"), ["c", "", "d"]);
    assert!(rest("\na").is_empty());
}

#[test]
fn places_differ_where_paths_do_not() {
    let exp = *catalogue().first().expect("a built-in function");
    let page = Page::new().functions([exp, exp]);
    let places: Vec<String> = page
        .groups()
        .remove(0)
        .1
        .into_iter()
        .map(|(_, id)| id)
        .collect();
    let path = anchor(&exp.path());
    assert_eq!(places, [path.clone(), format!("{path}-2")]);
}
