use expect_test::expect_file;

use crate::literal::text;
use crate::markdown::{code, element, paragraph};

fn as_code(formula: &str) -> String {
    paragraph(formula, code).expect(formula)
}

fn as_element(formula: &str) -> Result<String, String> {
    paragraph(formula, element)
}

fn mistake(formula: &str) -> String {
    as_element(formula).expect_err(formula)
}

#[test]
fn strings_are_read_as_the_compiler_reads_them() {
    macro_rules! check {
        ($($literal:literal)*) => {
            $(assert_eq!(text(stringify!($literal)).as_deref(), Some($literal));)*
        };
    }
    check!("" "\\alpha \"x\" \'y\'" r"\frac{1}{2}" r#"a"b"# r##"a"#b"## "\n\r\t\0\x41\u{1_F600}é" "a \
        b");
    for other in [
        "x", "r", "r#x", "1", "'a'", "b\"a\"", "br\"a\"", "c\"a\"", "\"a\"b", "-", "",
    ] {
        assert_eq!(text(other), None, "{other}");
    }
}

#[test]
fn without_the_feature_the_source_is_kept() {
    assert_eq!(
        as_code(r"\frac{1}{2}"),
        "\n\n```text\n\\frac{1}{2}\n```\n\n\n"
    );
    assert_eq!(
        as_code("\n    a\n      b\n\n    c  \n  "),
        "\n\n```text\na\n  b\n\nc\n```\n\n\n"
    );
    // Backticks in the formula do not end the block.
    assert_eq!(
        as_code("a\n```\nb````c"),
        "\n\n`````text\na\n```\nb````c\n`````\n\n\n"
    );
    // A blank of two bytes before one of one.
    assert_eq!(as_code("\u{a0}a\n b"), "\n\n```text\na\nb\n```\n\n\n");
    for empty in ["", " \n "] {
        let message = paragraph(empty, code).unwrap_err();
        assert_eq!(message, "this formula is empty");
    }
}

/// The tests of the catalogue read `tests/formulas.html` too: its page accepts every form of a formula.
#[test]
fn formulas_become_elements() {
    let formulas = [
        r"\sigma(x) = \frac{1}{1 + e^{-x}}",
        r"f(x) = \begin{cases} x & x > 0 \\ \alpha(e^x - 1) & x \le 0 \end{cases}",
        r"\begin{aligned} m_t &= \beta_1 m_{t-1} + (1 - \beta_1) g_t \\ \hat{m}_t &= \frac{m_t}{1 - \beta_1^t} \end{aligned}",
        r"\begin{aligned} a &= b & c &= d \end{aligned} \begin{matrix*}[r] 1 \\ 22 \end{matrix*}",
        r"\operatorname{softmax}(x)_i = \frac{e^{x_i}}{\sum_{j=1}^{n} e^{x_j}}, \quad 0 < i \le n",
        r"\left\lVert x \right\rVert_p = \sqrt[p]{\sum_i \left\lvert x_i \right\rvert^p}",
        r"\begin{pmatrix} a & b \\ c & d \end{pmatrix} \begin{array}{lcr} 1 & 2 & 3 \end{array}",
        r"\int_0^x \! e^{-t^2} \, \mathrm{d}t \quad\text{a < b & c's}, \mathbf{W} \in \mathbb{R}^{n \times m}",
        r"\mu + \theta \Gamma",
        r"\big( x \big) \& a \not< b * c_d [e] `f`",
    ];
    let mut elements = String::new();
    for formula in formulas {
        let element = as_element(formula).unwrap();
        let line = element.trim_matches('\n');
        assert_eq!(
            element,
            format!("\n\n{line}\n\n\n"),
            "empty lines on both sides"
        );
        assert!(!line.contains('\n') && !line.contains("class="), "{line}");
        elements.push_str(line);
        elements.push_str("\n\n");
    }
    expect_file!["../tests/formulas.html"].assert_eq(&elements);
}

#[test]
fn mistakes_in_a_formula_are_errors() {
    let message = mistake(r"a + \frob{b}");
    assert_eq!(
        message,
        "this formula cannot be read: unknown primitive command found, at `a + \\frob{b}`\n\
         = help: `math!` takes the mathematics of LaTeX, without `$`"
    );
    for (formula, expected) in [
        ("a {", "expected it to be closed with `}`"),
        ("a }", "cannot be read"),
        (r"\frac{1}", "cannot be read"),
        (r"\left( a", "cannot be read"),
        (
            r"\begin{nothing} a \end{nothing}",
            "unknown mathematical environment",
        ),
        ("a & b", "alignment not allowed"),
        ("$a$", "without `$`"),
        ("x^1^2", "superscript twice"),
        (r"\color{red} a", "cannot choose colors"),
        (
            r"\begin{array}{c|c} a & b \end{array}",
            "draw lines in tables",
        ),
        (
            r"\begin{matrix} \hline a \end{matrix}",
            "draw lines in tables",
        ),
        (
            r"\begin{matrix} a \\ \hline b \end{matrix}",
            "draw lines in tables",
        ),
        (
            r"\begin{matrix} a \\[2pt] b \end{matrix}",
            "distance between lines",
        ),
        (r"\operatorname{<script>} a", "not the name of an operator"),
        (r"\operatorname{a&b} a", "not the name of an operator"),
        (r"\not{ab}", "more than a page can show"),
        (r"\def\a{b} \a", "`\\def` is not allowed"),
        (r"\newcommand{\a}{b} \a", "`\\newcommand` is not allowed"),
        (r"\charé", "`\\char` is not allowed"),
        (r"a + \char'101", "`\\char` is not allowed"),
        ("% nothing", "this formula is empty"),
        (r"\,\!", "this formula is empty"),
    ] {
        let message = mistake(formula);
        assert!(message.contains(expected), "{formula}: {message}");
        let first = message.chars().next().expect("a message");
        assert!(first.is_lowercase() || first == '`', "{message}");
    }
}

/// The macro returns one line of known elements, or a message, for any input.
#[test]
fn no_formula_crashes_the_macro() {
    let n = 4096;
    let nested = |open: &str, close: &str| {
        let depth = n / (open.len() + close.len());
        open.repeat(depth) + &close.repeat(depth)
    };
    let hostile = [
        nested("{", "}"),
        nested(r"\left(", r"\right)"),
        nested(r"\sqrt{", "}"),
        nested("x^{", "}"),
        nested(r"\begin{matrix}", r"\end{matrix}"),
        nested(r"\text{", "}"),
        "{".repeat(n),
        r"\hat".repeat(n / 4),
        r"\not".repeat(n / 4),
        r"\frac".repeat(n / 5),
        r"\relax".repeat(n / 6),
        "%\n".repeat(n / 2),
        "x".repeat(n + 1),
        format!("x{}", "'".repeat(n - 1)),
        r"\".to_owned(),
        "#1 _^& ~".to_owned(),
        "\0\u{7f}\u{feff}\u{202e}".to_owned(),
        r"\text{</mtext></math><script>alert(1)</script> &lt; &#60;}".to_owned(),
        r"</mi><script>alert(1)</script>".to_owned(),
        "\\text{a\n\nb}".to_owned(),
        "\\mathbf{\u{10ffff}é中}\\mathbb{1a}".to_owned(),
        r"\hspace{-1em}\hspace{1em}\kern1pt\rule{1pt}{2pt}\raise1pt x".to_owned(),
    ];
    for formula in hostile {
        let shown: String = formula.chars().take(40).collect();
        match as_element(&formula) {
            Ok(element) => {
                let line = element.trim_matches('\n');
                assert!(!line.contains(['\n', '\0']), "{shown}: {line}");
                for foreign in ["<script", "<merror", "class="] {
                    assert!(!line.contains(foreign), "{shown}: {line}");
                }
                assert_eq!(
                    line.matches("<m").count(),
                    line.matches("</m").count(),
                    "{shown}"
                );
            }
            Err(message) => assert!(!message.contains("bug"), "{shown}: {message}"),
        }
    }
}
