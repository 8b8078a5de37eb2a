//! Whole expansions, to be read in review like the Rust files that they are: `snapshots/*.rs`.
//!
//! `UPDATE_EXPECT=1 cargo test -p autograd-macros` writes them anew.

use expect_test::{ExpectFile, expect_file};
use proc_macro2::TokenStream;
use quote::quote;

fn check(args: TokenStream, item: TokenStream, expected: &ExpectFile) {
    let author = crate::strip::helpers(item.clone());
    let expanded = super::custom_function(args, item, "pullback");
    let file = syn::parse2(expanded.clone()).unwrap_or_else(|error| panic!("{error}\n{expanded}"));
    let text = prettyplease::unparse(&file);
    expected.assert_eq(&text);
    // The item itself is there as it was written, and first.
    let author = syn::parse2(author).expect("the author's item");
    assert!(text.contains(&prettyplease::unparse(&author)));
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
fn mul_constant() {
    let item = quote! {
        impl MulConstant {
            #[forward]
            pub fn forward(tensor: ArrayView2<f64>, constant: f64) -> Array2<f64> {
                &tensor * constant
            }

            #[backward(tensor)]
            fn backward(grad_output: Array2<f64>, constant: f64) -> Array2<f64> {
                grad_output * constant
            }
        }
    };
    check(
        quote!(name = "mul_constant"),
        item,
        &expect_file!["./snapshots/mul_constant.rs"],
    );
}

#[test]
fn exp() {
    let item = quote! {
        impl<T: Element, D: Dimension> Exp<T, D> {
            #[forward]
            pub fn forward(i: ArrayView<T, D>) -> Array<T, D> {
                i.mapv(T::exp)
            }

            #[backward(i)]
            fn backward(grad_output: &Tensor<T, D>, output: &Tensor<T, D>) -> Tensor<T, D> {
                grad_output * output
            }
        }
    };
    check(
        quote!(crate = pb),
        item,
        &expect_file!["./snapshots/exp.rs"],
    );
}
