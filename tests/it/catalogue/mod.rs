//! The list of all functions of a program, and its page; `page` opens that in a browser.

mod page;

use std::collections::BTreeSet;
use std::fs;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use pullback::catalogue::{Entry, Page};
use pullback::ndarray::{Array, Array1, ArrayView, ArrayView1, Dimension};
use pullback::prelude::*;
use pullback::{Order, catalogue};

/// y = x⁴ < ∞ & "more"
///
/// # Panics
/// Never: <script>alert(1)</script>
#[custom_function(grad(x) = &grad_output * &x.mapv(|x| 4.0 * x.powi(3)), gradcheck(x = [3]))]
fn fourth(x: ArrayView1<f64>) -> Array1<f64> {
    x.mapv(|x| x.powi(4))
}

struct Generic<T, D>(PhantomData<(T, D)>);

#[custom_function(name = "a <name>")]
#[doc = "The documentation above the block."]
impl<T: Element, D: Dimension> Generic<T, D> {
    /// The documentation of forward.
    #[forward]
    fn forward(
        x: ArrayView<T, D>,
        #[non_differentiable] mask: Option<ArrayView<T, D>>,
    ) -> Array<T, D> {
        mask.map_or_else(|| x.to_owned(), |mask| &x * &mask)
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor<T, D>, mask: Option<&Tensor<T, D>>) -> Tensor<T, D> {
        mask.map_or_else(|| grad_output.clone(), |mask| grad_output * mask)
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, mask: Option<&Tensor<T, D>>) -> Tensor<T, D> {
        mask.map_or_else(|| tangent_x.clone(), |mask| tangent_x * mask)
    }
}

/// Different items under the names that generated code uses.
#[forbid(unsafe_code)]
mod hygiene {
    #![allow(dead_code, reason = "their names are what matters")]

    use pullback as pb;
    use pullback::ndarray::{Array1, ArrayView1};

    const SIGNATURE: usize = 2;
    struct Signature;
    macro_rules! register {
        () => {};
    }

    pub(super) struct Named<const N: usize>;

    #[pb::custom_function(crate = pb)]
    impl Named<SIGNATURE> {
        #[doc = include_str!("documentation.md")]
        #[doc = " The end."]
        #[forward]
        fn forward(x: ArrayView1<f64>) -> Array1<f64> {
            register!();
            x.to_owned()
        }

        #[backward(x)]
        fn backward(grad_output: Array1<f64>) -> Array1<f64> {
            let _ = Signature;
            grad_output
        }
    }
}

fn named(name: &str) -> &'static Entry {
    let mut found = catalogue()
        .into_iter()
        .filter(|function| function.name() == name && function.module.ends_with("::catalogue"));
    let first = found
        .next()
        .unwrap_or_else(|| panic!("no `{name}` in the list"));
    assert!(found.next().is_none(), "`{name}` is listed twice");
    first
}

#[test]
fn functions_of_the_program_are_listed_with_their_documentation() {
    let fourth = named("fourth");
    assert_eq!(fourth.path(), "it::catalogue::fourth");
    assert_eq!(fourth.summary(), "y = x⁴ < ∞ & \"more\"");
    assert_eq!(*fourth.signature, Fourth::SIGNATURE);
    let test = fourth.test.expect("a generated test").to_string();
    assert_eq!(test, "cargo test -p pullback catalogue::fourth_gradcheck");
    // The line of the attribute.
    let source = fs::read_to_string(fourth.file).expect("tests run in the package's folder");
    let line = source
        .lines()
        .nth(fourth.line as usize - 1)
        .expect("that line");
    assert!(
        line.starts_with("#[custom_function(grad(x) = &grad_output * &x.mapv"),
        "{line}"
    );

    let x = Tensor::from(Array1::<f32>::ones(2));
    assert_eq!(Generic::apply(&x, Some(&x)).to_array(), x.to_array());
    let generic = named("a <name>");
    let docs = "The documentation above the block.\n\nThe documentation of forward.";
    assert_eq!(generic.docs, docs);
    assert_eq!(
        (generic.signature.order, generic.signature.forward_mode),
        (Order::Any, true)
    );
    assert_eq!(
        *generic.signature,
        Generic::<f32, pullback::ndarray::Ix2>::SIGNATURE
    );
    assert_eq!(generic.test, None);
}

#[test]
fn functions_within_functions_and_of_awkward_names_are_listed() {
    #[custom_function(grad(x) = grad_output.to_owned())]
    fn within(x: ArrayView1<f64>) -> Array1<f64> {
        x.to_owned()
    }
    let x = Tensor::from(Array1::ones(2));
    assert_eq!(within(&x).to_array(), x.to_array());
    assert_eq!(named("within").summary(), "");

    let functions = catalogue();
    let hygiene = functions
        .iter()
        .find(|function| function.module == "it::catalogue::hygiene");
    let hygiene = hygiene.expect("a function under other names");
    assert_eq!(hygiene.docs, "From a file.\n\nWith `code`.\n\nThe end.");
}

#[test]
fn entries_are_found_by_their_functions() {
    assert!(Entry::of(&fourth).is_some_and(|entry| std::ptr::eq(entry, named("fourth"))));
    let generic = Entry::of(&Generic::<f32, pullback::ndarray::Ix2>::apply);
    assert!(generic.is_some_and(|entry| std::ptr::eq(entry, named("a <name>"))));
    assert!(Entry::of(&catalogue).is_none() && Entry::of(&|| fourth).is_none());
}

/// Collects the file and line of each attribute in the sources of the built-in functions.
fn attributes(folder: &Path, found: &mut BTreeSet<(PathBuf, u32)>) {
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() && !path.ends_with("tests") {
            attributes(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("a readable source");
            let lines = text.lines().zip(1..);
            let is_definition = |line: &str| {
                line.starts_with("#[custom_function") || line.starts_with("elementary! {")
            };
            let attributes = lines.filter(|(line, _)| is_definition(line));
            found.extend(attributes.map(|(_, line)| (path.clone(), line)));
        }
    }
}

#[test]
fn every_built_in_function_is_listed_once_with_a_summary() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut defined = BTreeSet::new();
    attributes(&root.join("autograd-core/src"), &mut defined);
    assert!(
        defined.len() > 100,
        "{} are too few to be all",
        defined.len()
    );

    let functions = catalogue();
    let built_in = functions
        .iter()
        .filter(|function| function.module.starts_with("autograd_core::"));
    let mut listed = BTreeSet::new();
    for function in built_in {
        let place = (root.join(function.file), function.line);
        assert!(listed.insert(place), "{} is listed twice", function.path());
        assert!(
            !function.summary().is_empty(),
            "{} has no summary",
            function.path()
        );
    }
    assert_eq!(listed, defined);
    let paths: Vec<_> = functions
        .iter()
        .map(|function| (function.module, function.name()))
        .collect();
    assert!(paths.is_sorted());
}

/// Returns the tags of a page, without the contents of `<style>` and `<script>`.
fn tags(page: &str) -> Vec<&str> {
    let mut tags = Vec::new();
    let mut rest = page;
    while let Some((_, behind)) = rest.split_once('<') {
        let (tag, behind) = behind.split_once('>').expect("a tag that ends");
        tags.push(tag);
        rest = behind;
        if let "style" | "script" = tag {
            let (_, behind) = rest.split_once(&format!("</{tag}>")).expect("its end");
            tags.push(if tag == "style" { "/style" } else { "/script" });
            rest = behind;
        }
    }
    tags
}

#[test]
fn the_page_is_well_formed_complete_and_on_its_own() {
    let page = catalogue::html();
    let mut open = Vec::new();
    let mut places = BTreeSet::new();
    let mut links = BTreeSet::new();
    for tag in tags(&page) {
        let name = tag.split_whitespace().next().expect("a tag has a name");
        match name.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "in {tag}"),
            None if ["!DOCTYPE", "meta", "input"].contains(&name) => {}
            None => open.push(name),
        }
        let attribute = |name: &str| {
            let (_, value) = tag.split_once(&format!(" {name}=\""))?;
            value.split('"').next()
        };
        assert_eq!(attribute("src"), None, "{tag}");
        if let Some(place) = attribute("id") {
            assert!(places.insert(place), "two elements have the id {place}");
        }
        if let Some(link) = attribute("href") {
            links.insert(
                link.strip_prefix('#')
                    .unwrap_or_else(|| panic!("{tag} refers to another page")),
            );
        }
    }
    assert!(open.is_empty(), "{open:?} are not closed");
    assert!(
        links.is_subset(&places),
        "{:?} have no target",
        links.difference(&places)
    );
    for outside in ["http:", "https:", "url(", "@import", "fetch("] {
        assert!(!page.contains(outside), "{outside}");
    }

    let functions = catalogue();
    assert_eq!(page.matches("<article ").count(), functions.len());
    for function in functions {
        let place = format!("{}:{}<", function.file, function.line);
        assert!(page.contains(&place), "{place} is missing");
    }
    assert!(page.contains(&format!("<b>{}</b> functions", catalogue().len())));
    assert!(page.contains("id=\"it.catalogue.fourth\""));
    assert!(page.contains("y = x⁴ &lt; ∞ &amp; &quot;more&quot;"));
    assert!(page.contains("a &lt;name&gt;") && !page.contains("<script>alert"));
}

#[test]
fn a_page_has_the_title_and_functions_that_it_is_given() {
    let page = Page::new()
        .title("a < b")
        .functions([named("fourth")])
        .html();
    assert!(page.contains("<title>a &lt; b</title>") && page.contains("<h1>a &lt; b</h1>"));
    assert_eq!(page.matches("<article ").count(), 1);
    assert!(page.contains("<li><b>1</b> with a generated gradcheck</li>"));
    assert!(page.contains("<code>cargo test -p pullback catalogue::fourth_gradcheck</code>"));
    let empty = Page::new().functions([]).html();
    assert_eq!(empty.matches("<article ").count(), 0);
}
