//! Formulas that the page includes without escaping.
//!
//! Documentation may be from any crate of the program, so only this part of it is HTML on the page: one `<math>`
//! element on a separate line, with the elements, attributes and styles that `math!` writes. They only show a formula:
//! links, scripts and other styles are escaped.

/// The HTML that `math!` puts around an element; the page has its own frame.
const FRAME: &[&str] = autograd_math::written!(frame);
const ELEMENTS: &[&str] = autograd_math::written!(elements);
/// The attributes whose values are words and lengths.
const ATTRIBUTES: &[&str] = autograd_math::written!(attributes);
const STYLES: &[&str] = autograd_math::written!(styles);

/// Returns the `<math>` element that a line consists of, if it only shows a formula.
pub(super) fn element(line: &str) -> Option<&str> {
    let line = line.trim();
    let element = line
        .strip_prefix(FRAME[0])
        .and_then(|line| line.strip_suffix(FRAME[1]))
        .unwrap_or(line);
    is_formula(element).then_some(element)
}

fn is_formula(text: &str) -> bool {
    let mut open = Vec::new();
    let mut rest = text;
    while let Some((before, tag)) = rest.split_once('<') {
        let Some((tag, behind)) = tag.split_once('>') else {
            return false;
        };
        // Text outside of the element is not a formula, and `math!` does not write a single `>`.
        if before.contains('>') || open.is_empty() && !before.is_empty() {
            return false;
        }
        rest = behind;
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return false;
            }
            if open.is_empty() {
                return rest.is_empty();
            }
        } else {
            let (name, attributes) = tag.split_at(tag.find(' ').unwrap_or(tag.len()));
            let is_outermost = open.is_empty();
            if is_outermost != (name == "math")
                || !ELEMENTS.contains(&name)
                || !are_harmless(attributes)
            {
                return false;
            }
            open.push(name);
        }
    }
    false
}

/// Returns whether all of ` name="value" name="value"` is known.
fn are_harmless(mut attributes: &str) -> bool {
    while !attributes.is_empty() {
        let parts = attributes
            .strip_prefix(' ')
            .and_then(|rest| rest.split_once("=\""))
            .and_then(|(name, rest)| Some((name, rest.split_once('"')?)));
        let Some((name, (value, behind))) = parts else {
            return false;
        };
        let is_plain = || {
            let plain = |letter: char| letter.is_ascii_alphanumeric() || ".%".contains(letter);
            value.chars().all(plain)
        };
        let is_known = match name {
            "style" => STYLES.contains(&value),
            _ => ATTRIBUTES.contains(&name) && is_plain(),
        };
        if !is_known {
            return false;
        }
        attributes = behind;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_taken_with_and_without_their_frame() {
        let math =
            "<math display=\"block\"><mi>x</mi><mo>&lt;</mo><mspace width=\"1em\"></mspace></math>";
        assert_eq!(element(math), Some(math));
        assert_eq!(element(&format!("  {math} ")), Some(math));
        let framed = FRAME.join(math);
        assert_eq!(element(&framed), Some(math));
        assert_eq!(element("<math></math>"), Some("<math></math>"));
        for style in STYLES {
            let math = format!("<math><mtd style=\"{style}\"></mtd></math>");
            assert_eq!(element(&math), Some(&*math));
        }
    }

    #[test]
    fn elements_that_do_more_than_show_a_formula_are_refused() {
        let hostile = [
            "",
            "x",
            "<math>",
            "<mi>x</mi>",
            "<math></math> x",
            "x <math></math>",
            "<math></math><math></math>",
            "<math><math></math></math>",
            "<math></math",
            "<math><mi></math></mi>",
            "<math><mi>x</math>",
            "<math/>",
            "<math><mspace/></math>",
            "<MATH></MATH>",
            "<math ></math>",
            "<math><mi\u{c}href=\"x\"></mi></math>",
            "<math><script>alert(1)</script></math>",
            "<math><mtext><img src=\"x\" onerror=\"alert(1)\"></mtext></math>",
            "<math><mtext><style></style></mtext></math>",
            "<math><annotation-xml encoding=\"text/html\"></annotation-xml></math>",
            "<math><semantics></semantics></math>",
            "<math><maction></maction></math>",
            "<math><mglyph></mglyph></math>",
            "<math><!-- --></math>",
            "<math><![CDATA[x]]></math>",
            "<math><?x?></math>",
            "<math href=\"javascript:alert(1)\"></math>",
            "<math xlink:href=\"x\"></math>",
            "<math><mi onclick=\"alert(1)\">x</mi></math>",
            "<math><mi id=\"search\">x</mi></math>",
            "<math><mi class=\"formula\">x</mi></math>",
            "<math><mi style=\"position:fixed\">x</mi></math>",
            "<math><mi style=\"text-align:left;position:fixed\">x</mi></math>",
            "<math><mi width='1em'>x</mi></math>",
            "<math><mi width=1em>x</mi></math>",
            "<math><mi width>x</mi></math>",
            "<math><mi width=\"1em\"height=\"1em\">x</mi></math>",
            "<math><mi width=\"url(x)\">x</mi></math>",
            "<math><mi width=\"1em\" \">x</mi></math>",
            "<math><mi>></mi></math>",
            "<math><mi><</mi></math>",
            "<div style=\"overflow:auto hidden;margin:1em 0;padding:.2em 0\"><math></math>",
            "<div style=\"position:fixed\"><math></math></div>",
            "<div><math></math></div>",
        ];
        for text in hostile {
            assert_eq!(element(text), None, "{text}");
        }
    }
}
