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
fn documentation_becomes_blocks() {
    let docs = "One\nline.\n\n# Panics\nIf `x` is.\n- a\n- b\n  c\n\nBehind.\n\n```\n# hidden\na < b;\n\nc\n```";
    let html = "<p>One line.</p>\n<h4>Panics</h4>\n<p>If <code>x</code> is.</p>\n\
                <ul>\n<li>a</li>\n<li>b c</li>\n</ul>\n<p>Behind.</p>\n\
                <pre>a &lt; b;\n\nc\n</pre>\n";
    assert_eq!(prose(docs), html);
    // Unclosed blocks are closed.
    assert_eq!(prose("- a"), "<ul>\n<li>a</li>\n</ul>\n");
    assert_eq!(prose("```\na"), "<pre>a\n</pre>\n");
    assert_eq!(prose(""), "");
    // A block ends with marks at least as long as those that began it.
    assert_eq!(prose("````\n```\n````\na"), "<pre>```\n</pre>\n<p>a</p>\n");
}

#[test]
fn only_formulas_are_not_escaped() {
    let math = "<math><mi>x</mi></math>";
    let html = format!("<p>a</p>\n<div class=\"math\">{math}</div>\n<p>b</p>\n");
    assert_eq!(prose(&format!("a\n{math}\nb")), html);
    let listed = prose(&format!("- a\n{math}"));
    assert_eq!(
        listed,
        format!("<ul>\n<li>a</li>\n</ul>\n<div class=\"math\">{math}</div>\n")
    );
    let code = prose(&format!("```text\n{math}\n```"));
    assert_eq!(code, format!("<pre>{}\n</pre>\n", xml(math)));
    let hostile = "<math><script>alert(1)</script></math>";
    assert_eq!(prose(hostile), format!("<p>{}</p>\n", xml(hostile)));
}

#[test]
fn text_is_escaped_and_links_become_their_text() {
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
fn anchors_differ_where_paths_do_not() {
    let exp = *catalogue().first().expect("a built-in function");
    let page = Page::new().functions([exp, exp]);
    let (_, functions) = page.groups().remove(0);
    let anchors: Vec<String> = functions.into_iter().map(|(_, id)| id).collect();
    let path = anchor(&exp.path());
    assert_eq!(anchors, [path.clone(), format!("{path}-2")]);
}
