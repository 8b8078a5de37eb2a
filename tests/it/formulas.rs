//! Formulas in documentation, and where they are shown.

use pullback::catalogue::{Entry, Page};
use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;
use pullback::{catalogue, math};

/// y = 1 / (1 + e⁻ˣ)
#[doc = math!(r"\sigma(x) = \frac{1}{1 + e^{-x}}" r"\quad x < \infty")]
/// It is between 0 and 1.
///
/// Its inverse is the logit.
#[custom_function(grad(x) = &grad_output * &output * &output.mapv(|y| 1.0 - y))]
fn logistic(x: ArrayView1<f64>) -> Array1<f64> {
    x.mapv(|x| 1.0 / (1.0 + (-x).exp()))
}

mod within {
    #![doc = pullback::math!(r"x^2")]

    use pullback as pb;
    use pullback::ndarray::{Array1, ArrayView1};

    /// The attribute cannot read this documentation of the struct.
    pub(super) struct Square;

    #[pb::custom_function(crate = pb)]
    impl Square {
        #[doc = pb::math!("x^2")]
        #[forward]
        pub(super) fn forward(x: ArrayView1<f64>) -> Array1<f64> {
            &x * &x
        }

        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> {
            &grad_output * &x * 2.0
        }
    }
}

/// Every form of a formula that `math!` writes with its feature: a test of the macro writes this file.
#[doc = include_str!("../../autograd-math/tests/formulas.html")]
#[custom_function(grad(x) = grad_output.to_owned())]
fn all_kinds(x: ArrayView1<f64>) -> Array1<f64> {
    x.to_owned()
}

/// Documentation that tries to run scripts.
///
/// <math><mtext><img src="x" onerror="alert(1)"></mtext></math>
///
/// <math href="javascript:alert(1)"><mi>x</mi></math>
///
/// <div style="overflow:auto hidden;margin:1em 0;padding:.2em 0"><math><mi style="position:fixed">x</mi></math></div>
///
/// <math><mi>x</mi></math><script>alert(1)</script>
#[custom_function(grad(x) = grad_output.to_owned())]
fn hostile(x: ArrayView1<f64>) -> Array1<f64> {
    x.to_owned()
}

fn named(name: &str) -> &'static Entry {
    let functions = catalogue().into_iter();
    let mut named = functions
        .filter(|function| function.name() == name && function.module.starts_with("it::formulas"));
    named.next().expect("a function of this file")
}

fn page(name: &str) -> String {
    Page::new().functions([named(name)]).html()
}

#[test]
fn the_page_shows_formulas_of_either_form() {
    let x = Tensor::from(Array1::zeros(1));
    assert_eq!(logistic(&x).item(), 0.5);
    let page = page("logistic");
    assert!(page.contains("<p class=\"formula\">y = 1 / (1 + e⁻ˣ)</p>"));
    // The formula and its explanation are not hidden with the rest.
    let (_, behind) = page.split_once("e⁻ˣ)</p>\n").expect("the summary");
    if cfg!(feature = "math") {
        assert!(
            behind.starts_with("<div class=\"math\"><math display=\"block\""),
            "{behind}"
        );
        assert!(
            behind.contains("<mfrac><mrow><mn>1</mn></mrow>"),
            "{behind}"
        );
    } else {
        let code = "<pre>\\sigma(x) = \\frac{1}{1 + e^{-x}}\n\\quad x &lt; \\infty\n</pre>\n";
        assert!(behind.starts_with(code), "{behind}");
    }
    let more = "<summary>More</summary>\n<p>Its inverse is the logit.</p>";
    assert!(
        behind.contains("<p>It is between 0 and 1.</p>\n<ul class=\"facts\">"),
        "{behind}"
    );
    assert!(behind.contains(more), "{behind}");
}

#[test]
fn a_formula_is_not_a_summary() {
    let x = Tensor::from(Array1::ones(1));
    assert_eq!(within::Square::apply(&x).item(), 1.0);
    assert_eq!(named("logistic").summary(), "y = 1 / (1 + e⁻ˣ)");
    assert_eq!(named("Square").summary(), "");
    let page = page("Square");
    assert!(!page.contains("No documentation") && !page.contains("class=\"formula\""));
}

#[test]
fn every_formula_of_the_macro_is_shown() {
    assert_eq!(all_kinds(&Tensor::from(Array1::ones(1))).item(), 1.0);
    let written = include_str!("../../autograd-math/tests/formulas.html")
        .matches("<math")
        .count();
    assert!(written > 5);
    let page = page("all_kinds");
    assert_eq!(page.matches("<div class=\"math\"><math").count(), written);
    assert!(!page.contains("&lt;math"));
}

#[test]
fn other_html_is_escaped() {
    assert_eq!(hostile(&Tensor::from(Array1::ones(1))).item(), 1.0);
    let page = page("hostile");
    assert!(!page.contains("<math") && !page.contains("<img") && !page.contains("<script>alert"));
    assert_eq!(page.matches("&lt;math").count(), 4);
}

#[test]
fn formulas_of_built_in_functions_are_shown() {
    let functions = catalogue().into_iter();
    let built_in = functions.filter(|function| function.module.starts_with("autograd_core::"));
    let page = Page::new().functions(built_in).html();
    let form = if cfg!(feature = "math") {
        "<div class=\"math\"><math"
    } else {
        "<pre>"
    };
    let shown = page.matches(form).count();
    assert!(shown >= 30, "{shown} formulas");
    assert!(!page.contains("&lt;math") && !page.contains("```"));
}
