//! Whole expansions, to be read in review like the Rust files that they are: `snapshots/*.rs`.
//!
//! `UPDATE_EXPECT=1 cargo test -p autograd-macros` writes them anew.

use expect_test::{ExpectFile, expect_file};
use proc_macro2::TokenStream;
use quote::quote;

use crate::place::Place;
use crate::stages;

fn custom_function(args: TokenStream, item: TokenStream) -> TokenStream {
    stages::custom_function(args, item, &Place::default(), "pullback")
}

/// Expands, compares, and returns the expansion.
fn check_text(args: TokenStream, item: TokenStream, expected: &ExpectFile) -> String {
    let expanded = custom_function(args, item);
    let file = syn::parse2(expanded.clone()).unwrap_or_else(|error| panic!("{error}\n{expanded}"));
    let text = prettyplease::unparse(&file);
    expected.assert_eq(&text);
    text
}

fn check(args: TokenStream, item: TokenStream, expected: &ExpectFile) {
    let stripped = crate::strip::helpers(item.clone());
    let text = check_text(args, item, expected);
    // The item itself is there as it was written, and first.
    let stripped = syn::parse2(stripped).expect("the item without our attributes");
    let stripped = prettyplease::unparse(&stripped);
    // Parameters that it does not use may have been marked, each then on a line of its own.
    let dense = |text: &str| {
        let text = text.replace("#[allow(unused_variables)]", "");
        text.split_whitespace()
            .collect::<String>()
            .replace(",)", ")")
    };
    let text = dense(&text);
    let is_there = |line: &str| line.trim() == "todo!()" || text.contains(&dense(line));
    assert!(text.contains(&dense(&stripped)) || stripped.lines().all(is_there));
}

#[test]
fn linear_function() {
    let item = quote! {
        impl LinearFunction {
            /// y = x Wᵀ + b
            #[forward]
            pub fn forward(
                input: ArrayView2<f32>,
                weight: ArrayView2<f32>,
                bias: Option<ArrayView1<f32>>,
            ) -> Array2<f32> {
                let output = input.dot(&weight.t());
                match bias {
                    Some(bias) => output + bias,
                    None => output,
                }
            }

            #[backward(input)]
            fn grad_input(grad_output: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> {
                grad_output.dot(&weight)
            }

            #[backward(weight)]
            fn grad_weight(grad_output: ArrayView2<f32>, input: ArrayView2<f32>) -> Array2<f32> {
                grad_output.t().dot(&input)
            }

            #[backward(bias)]
            fn grad_bias(grad_output: ArrayView2<f32>) -> Array1<f32> {
                grad_output.sum_axis(Axis(0))
            }
        }
    };
    check(
        quote!(),
        item,
        &expect_file!["./snapshots/linear_function.rs"],
    );
}

#[test]
fn elementwise() {
    let args = quote!(elementwise);
    let item = quote! {
        /// y = x / √(1 + (x/limit)²)
        pub fn squash<T: Real>(x: T, limit: T) -> T {
            x / (1.0 + (x / limit).powi(2)).sqrt()
        }
    };
    check_text(args, item, &expect_file!["./snapshots/elementwise.rs"]);
}

#[test]
fn elementwise_with_values_and_a_gradient() {
    let args = quote!(elementwise, grad(x) = grad_output * scale);
    let item = quote! {
        fn quantized<T: Real>(x: T, #[non_differentiable] step: T, levels: &[f64], scale: f64) -> T {
            T::from(levels[0]) + (x / step).round() * step * scale
        }
    };
    check_text(
        args,
        item,
        &expect_file!["./snapshots/elementwise_given.rs"],
    );
}

#[test]
fn elementwise_with_an_entry_for_each_element() {
    let args = quote!(elementwise, grad(x, once) = grad_output * slope(x, label));
    let item = quote! {
        fn chosen<T: Real>(x: T, #[each] label: &[i64]) -> T {
            x * label as f64
        }
    };
    check_text(args, item, &expect_file!["./snapshots/elementwise_each.rs"]);
}

#[test]
fn several_outputs() {
    let item = quote! {
        impl LayerNorm {
            #[forward(outputs(y, scale, rank), saves(mean, count), non_differentiable(scale))]
            pub(crate) fn forward<'a>(
                mut x: Array2<f64>,
                gain: &Tensor1<f64>,
                #[non_differentiable] mask: Option<ArrayView2<f64>>,
                axes: &'a [usize],
                mode: Mode,
            ) -> Result<(Array2<f64>, Array1<f64>, usize, Array1<f64>, usize), ShapeError> {
                todo!()
            }

            #[backward(x, gain)]
            fn backward(
                grad_y: Option<Array2<f64>>,
                x: ArrayView2<f64>,
                mask: Option<ArrayView2<f64>>,
                axes: &[usize],
                mode: Mode,
                scale: ArrayView1<f64>,
                rank: usize,
                mean: ArrayView1<f64>,
                count: usize,
                needs_input_grad: LayerNormNeedsInputGrad,
                context: &LayerNormContext,
            ) -> (Array2<f64>, Option<Array1<f64>>) {
                todo!()
            }

            #[jvp]
            fn jvp(
                x: ArrayView2<f64>,
                tangent_x: ArrayView2<f64>,
                tangent_gain: Option<Array1<f64>>,
                mask: Option<ArrayView2<f64>>,
                axes: &[usize],
                rank: usize,
                y: ArrayView2<f64>,
            ) -> Array2<f64> {
                todo!()
            }
        }
    };
    check(
        quote!(),
        item,
        &expect_file!["./snapshots/several_outputs.rs"],
    );
}

#[test]
fn lists() {
    let item = quote! {
        impl Weighted {
            #[forward]
            fn forward(parts: &[ArrayView1<f64>], weight: ArrayView1<f64>) -> Array1<f64> {
                todo!()
            }

            #[backward]
            fn backward(
                grad_output: ArrayView1<f64>,
                parts: &[ArrayView1<f64>],
            ) -> (Vec<Array1<f64>>, Array1<f64>) {
                todo!()
            }

            #[jvp]
            fn jvp(
                parts: &[ArrayView1<f64>],
                tangent_parts: &[Option<ArrayView1<f64>>],
                tangent_weight: ArrayView1<f64>,
            ) -> Array1<f64> {
                todo!()
            }
        }
    };
    check(quote!(), item, &expect_file!["./snapshots/lists.rs"]);
}

#[test]
fn in_place() {
    let item = quote! {
        impl Update {
            #[forward]
            fn forward(
                mut x: ArrayViewMut1<f64>,
                #[non_differentiable] mut calls: ArrayViewMut1<f64>,
            ) -> Result<(), Full> {
                todo!()
            }

            #[backward(x)]
            fn backward(
                grad_output: ArrayView1<f64>,
                x: ArrayView1<f64>,
                output_x: ArrayView1<f64>,
            ) -> Array1<f64> {
                todo!()
            }

            #[jvp]
            fn jvp(tangent_x: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> {
                todo!()
            }
        }
    };
    check(quote!(), item, &expect_file!["./snapshots/in_place.rs"]);
}

#[test]
fn fallback() {
    let item = quote! {
        impl<T: Element> Double<T> {
            #[forward]
            pub fn forward(x: ArrayView1<T>) -> Array1<T> {
                &x + &x
            }

            #[backward(y)]
            fn backward(grad_output: ArrayView2<T>) -> Array1<T> {
                todo!()
            }
        }
    };
    check(quote!(), item, &expect_file!["./snapshots/fallback.rs"]);
}

#[test]
fn short_generic() {
    let item = quote! {
        pub(crate) fn scaled_power<'a, T, D: Dimension, F: ?Sized>(
            x: ArrayView<'a, T, D>,
            #[non_differentiable] mask: Option<ArrayView<T, D>>,
            n: i32,
            axes: &'a [usize],
            label: Option<&str>,
            f: &F,
        ) -> Result<(Array<T, D>, usize, usize), Unfit>
        where
            T: Element,
            F: Fn(&'a [usize]) -> T,
        {
            todo!()
        }
    };
    let args = quote! {
        higher_order,
        outputs(y, count),
        saves(power),
        grad(x) = grad_y * x.powi(n - 1) * T::from(axes.len() * count * power) * mask.map_or(x, |x| x),
    };
    check_text(args, item, &expect_file!["./snapshots/short_generic.rs"]);
}

/// Only the test that is generated beside the rest.
#[test]
fn gradcheck() {
    let item = quote! {
        impl<'a, T: Element, D: Dimension, E: Dimension, F, const N: usize> Blend<'a, T, D, E, F, N> {
            #[forward(outputs(blended, count, total))]
            fn forward(
                x: Array<T, D>,
                y: Option<ArrayView<T, D>>,
                #[non_differentiable] mask: Option<ArrayD<f32>>,
                shape: &[usize; N],
                map: F,
            ) -> Result<(Array<T, E>, usize, Array0<T>), Unfit> {
                todo!()
            }

            #[backward]
            fn backward(
                grad_blended: &Tensor<T, E>,
                grad_total: &Tensor0<T>,
            ) -> (Tensor<T, D>, Tensor<T, D>) {
                todo!()
            }
        }
    };
    let args = quote!(gradcheck(
        x = [ROWS, 2 + 1],
        y = [2, 3],
        mask = [],
        shape = &[1, 2],
        map = each [|x: f64| x, |x: f64| -x],
        E = Ix3,
        estimated(y),
        together(mask, y),
    ), gradcheck(
        x = [1],
        y = [1],
        mask = [2],
        shape = &[1],
        map = |x: f64| x,
        E = Ix1,
        eps = 1e-5,
    ));
    let expanded = custom_function(args, item);
    let file: syn::File = syn::parse2(expanded.clone()).unwrap_or_else(|_| panic!("{expanded}"));
    let test = file
        .items
        .into_iter()
        .filter(|item| matches!(item, syn::Item::Fn(_)));
    let text = prettyplease::unparse(&syn::File {
        shebang: None,
        attrs: Vec::new(),
        items: test.collect(),
        frontmatter: None,
    });
    expect_file!["./snapshots/gradcheck.rs"].assert_eq(&text);
}

#[test]
fn batch() {
    let item = quote! {
        impl<T: Element, D: Dimension> Blend<T, D> {
            #[forward(outputs(y, count, pieces))]
            pub fn forward<'a>(
                q: &'a Tensor<T, D>,
                mask: Option<Array2<f64>>,
                parts: &[ArrayView1<f64>],
                weight: ArrayView2<f64>,
                mode: Mode,
            ) -> Result<(Array<T, D>, usize, Vec<Array2<f64>>), Unfit> {
                todo!()
            }

            #[backward]
            fn backward(
                grad_y: ArrayView<T, D>,
                grad_pieces: &[ArrayView2<f64>],
            ) -> (Array<T, D>, Array2<f64>, Vec<Array1<f64>>, Array2<f64>) {
                todo!()
            }
        }
    };
    let expanded = custom_function(quote!(batch(q, mask, parts)), item);
    let file: syn::File = syn::parse2(expanded.clone()).unwrap_or_else(|_| panic!("{expanded}"));
    let is_shown = |item: &syn::Item| matches!(item, syn::Item::Const(_));
    let text = prettyplease::unparse(&syn::File {
        shebang: None,
        attrs: Vec::new(),
        items: file.items.into_iter().filter(is_shown).collect(),
        frontmatter: None,
    });
    expect_file!["./snapshots/batch.rs"].assert_eq(&text);
}

#[test]
fn residual() {
    let item = quote! {
        impl<T: Element, D: Dimension> Root<T, D> {
            #[forward(outputs(y, steps), saves(multipliers, order))]
            pub fn forward(
                a: Array<T, D>,
                shift: Option<ArrayView1<T>>,
                parts: &[ArrayView1<T>],
                #[non_differentiable] mask: ArrayView1<T>,
                options: &Options,
            ) -> Result<(Array<T, D>, usize, Array1<T>, Vec<usize>), Unfit> {
                todo!()
            }

            #[residual(dense = 512)]
            fn residual(
                y: &Tensor<T, D>,
                multipliers: &Tensor1<T>,
                a: &Tensor<T, D>,
                shift: Option<&Tensor1<T>>,
                parts: &[&Tensor1<T>],
                mask: &Tensor1<T>,
                options: &Options,
                order: &[usize],
            ) -> Result<(Tensor<T, D>, Tensor1<T>), Unfit> {
                todo!()
            }
        }
    };
    let expanded = custom_function(quote!(), item);
    let file: syn::File = syn::parse2(expanded.clone()).unwrap_or_else(|_| panic!("{expanded}"));
    let is_shown = |item: &syn::Item| matches!(item, syn::Item::Const(_));
    let text = prettyplease::unparse(&syn::File {
        shebang: None,
        attrs: Vec::new(),
        items: file.items.into_iter().filter(is_shown).collect(),
        frontmatter: None,
    });
    expect_file!["./snapshots/residual.rs"].assert_eq(&text);
}

#[test]
fn gradients_by_name() {
    let item = quote! {
        impl<T: Element, D: Dimension, F> Blend<T, D, F> {
            #[forward]
            pub(crate) fn forward(a: ArrayView<T, D>, b: Option<ArrayView<T, D>>, parts: &[ArrayView1<f32>]) -> Array<T, D> {
                todo!()
            }

            #[backward]
            fn backward(grad_output: ArrayView<T, D>) -> Result<BlendGradients<T, D>, Unfit> {
                todo!()
            }
        }
    };
    let expanded = custom_function(quote!(), item);
    let file: syn::File = syn::parse2(expanded.clone()).unwrap_or_else(|_| panic!("{expanded}"));
    let is_shown = |item: &syn::Item| matches!(item, syn::Item::Struct(_) | syn::Item::Const(_));
    let text = prettyplease::unparse(&syn::File {
        shebang: None,
        attrs: Vec::new(),
        items: file.items.into_iter().filter(is_shown).collect(),
        frontmatter: None,
    });
    expect_file!["./snapshots/gradients_by_name.rs"].assert_eq(&text);
}

/// Gradients by name do not show whether they are tensors: where backward takes none, it is not to be differentiated, and
/// may ask for a number of forward.
#[test]
fn gradients_by_name_beside_numbers_are_no_mistake() {
    let item = quote! {
        impl Scaled {
            #[forward(outputs(y), saves(norm))]
            fn forward(x: ArrayView1<f64>, w: ArrayView1<f64>) -> (Array1<f64>, f64) { todo!() }

            #[backward(ignores_grad)]
            fn backward(norm: f64) -> ScaledGradients { todo!() }
        }
    };
    let expanded = custom_function(quote!(), item).to_string();
    assert!(!expanded.contains("compile_error"), "{expanded}");
}

#[test]
fn a_generated_test_compares_the_rule_for_a_batch() {
    let item = quote! {
        impl Twice {
            #[forward]
            fn forward(x: ArrayView1<f64>) -> Array1<f64> { todo!() }

            #[backward]
            fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { todo!() }

            #[vmap]
            fn vmap(x: &Tensor2<f64>) -> Tensor2<f64> { todo!() }
        }
    };
    let expanded = custom_function(quote!(gradcheck(x = [3])), item).to_string();
    assert!(expanded.contains("__p :: vmap ("), "{expanded}");
}

/// A length may be any, but the output has that of the input.
#[test]
fn an_output_with_any_length_of_an_input_is_named_by_the_input() {
    let item = quote! {
        impl Twice {
            #[forward]
            fn forward(x: ArrayView2<f64>) -> Array2<f64> { todo!() }

            #[backward]
            fn backward(grad_output: ArrayView2<f64>) -> Array2<f64> { todo!() }
        }
    };
    let expanded = custom_function(quote!(shapes(x = [n, _], output = x)), item).to_string();
    assert!(expanded.contains("output shape of x"), "{expanded}");
}

#[test]
fn a_pattern_of_a_reference_has_a_name() {
    let item = quote! {
        impl Scaled {
            #[forward]
            fn forward(x: ArrayView1<f64>, &factor: &f64) -> Array1<f64> { todo!() }

            #[backward]
            fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { todo!() }
        }
    };
    let expanded = custom_function(quote!(), item).to_string();
    assert!(!expanded.contains("no name"), "{expanded}");
}

/// Whatever the attribute is put on, and whatever is in it, the expansion is an error and nothing else.
#[test]
fn nonsense_is_an_error() {
    let items = [
        "",
        "+ +",
        "impl",
        "impl {}",
        "impl X;",
        "impl X { #[forward(] fn forward() {} }",
        "impl X { #[forward((()))] fn forward(x: ArrayView1<f32>) -> Array1<f32> {} }",
        "impl X { #[forward] fn forward(x: &[ArrayView1<f32>]) -> Array9<f32> {} #[backward] }",
        "impl X { #[backward] const X: [u8; { 3 }] = [1; 3]; #[forward] type T = u8; m!(); n! {} }",
        "impl X { #[forward] fn f(x: &[ArrayViewMut1<f32>], y: &mut ArrayView1<f32>) {} #[jvp] fn j() {} }",
        "impl X { #[forward] fn f(x: ArrayView6<f32>) -> Array1<f32> {} #[vmap] fn v(&self, x: &[f32]) {} }",
        "impl !Send for X {}",
        "unsafe\nimpl<T> Trait<T> for X where T: Copy {}",
        "pub(crate) const unsafe\nextern \"C\" fn f() {}",
        "macro_rules! m { () => {} }",
        "use a::b;",
        "let x = 1;",
    ];
    let args = [
        "",
        "name",
        "name = ",
        "crate = 1",
        "crate(a)",
        ", ,",
        "1 + 1",
        "grad(x) = y",
    ];
    for item in items {
        // What does not even lex never reaches a macro.
        let Ok(item) = item.parse::<TokenStream>() else {
            continue;
        };
        for args in args {
            let expanded = custom_function(args.parse().unwrap(), item.clone());
            assert!(
                expanded.to_string().contains("compile_error"),
                "{args} {item}"
            );
            assert!(
                !expanded.to_string().contains("bug in it"),
                "a panic on {args} {item}"
            );
        }
    }
}

/// The compiler has refused functions that are not whole, and hears nothing more of them.
#[test]
fn unfinished_functions_are_left_to_the_compiler() {
    let items = [
        "impl X { fn }",
        "impl X { #[forward] fn forward() }",
        "impl X { #[forward] fn forward(..) -> ! {} }",
        "impl X { #[forward] fn forward(x: ArrayView1) -> (Array1<f32>, ..) {} }",
        "impl X { #[forward] fn forward(mut x: ArrayViewMut1<f32>) {} #[jvp(1)] fn j(tangent_x: [f32]) }",
    ];
    for item in items {
        let expanded = custom_function(quote!(), item.parse().unwrap());
        assert!(!expanded.to_string().contains("compile_error"), "{item}");
    }
}

/// Other code may refer to it, and would report it as missing too.
#[test]
fn an_item_that_can_have_no_function_stays() {
    let item = quote!(
        struct Exp {
            base: f64,
        }
    );
    let expanded = custom_function(quote!(), item.clone()).to_string();
    assert!(expanded.contains("compile_error"), "{expanded}");
    assert!(expanded.contains(&item.to_string()), "{expanded}");
}

#[test]
fn scan() {
    let args = quote!(scan(reverse), outputs(last, rate));
    let item = quote! {
        pub fn leaky<T: Real>(tau: T, #[state] mut v: T, #[step] x: T, scale: f64) -> (T, T) {
            v = tau * v + scale * x;
            (v, v.sigmoid())
        }
    };
    check_text(args, item, &expect_file!["./snapshots/scan.rs"]);
}
