//! Whole expansions, to be read in review: `snapshots/*.rs`; and single rules and bounds.
//!
//! `UPDATE_EXPECT=1 cargo test -p autograd-macros` writes the snapshots anew.

use expect_test::{ExpectFile, expect_file};
use proc_macro2::TokenStream;
use quote::quote;

fn check(item: TokenStream, expected: &ExpectFile) {
    let expanded = super::derive(item);
    let file = syn::parse2(expanded.clone()).unwrap_or_else(|error| panic!("{error}\n{expanded}"));
    expected.assert_eq(&prettyplease::unparse(&file));
}

#[test]
fn a_struct() {
    let item = quote! {
        pub struct Linear {
            weight: Parameter<f32, Ix2>,
            #[module(rename = "offset")]
            bias: Option<Parameter<f32, Ix1>>,
            #[module(skip, show)]
            in_features: usize,
            #[module(skip)]
            r#fn: fn(f32) -> f32,
        }
    };
    check(item, &expect_file!["./snapshots/struct.rs"]);
}

#[test]
fn a_tuple_struct_of_parameters_of_its_own() {
    let item = quote! {
        #[module(name = "Norm", crate = pb, extra_repr = Norm::sizes)]
        struct Scale<T: Element, D, const N: usize>(Parameter<T, D>, [Buffer<T, D>; N])
        where
            D: RemoveAxis;
    };
    check(item, &expect_file!["./snapshots/generic.rs"]);
}

#[test]
fn an_enum() {
    let item = quote! {
        enum Layer<L> {
            Linear(Linear),
            Inner(L),
            Scale { path: Parameter<f32, Ix1>, #[module(skip, show)] exponent: i32 },
            Relu,
        }
    };
    check(item, &expect_file!["./snapshots/enum.rs"]);
}

#[test]
fn with_mistakes() {
    let item = quote! {
        struct Dropout<T> {
            #[module(skp)]
            rate: T,
        }
    };
    check(item, &expect_file!["./snapshots/fallback.rs"]);
}

#[test]
fn what_can_be_no_module() {
    let item = quote! {
        struct Tied<'a>(&'a Parameter<f32, Ix1>);
    };
    check(item, &expect_file!["./snapshots/stand_in.rs"]);
}

/// Returns the where clause of the expansion of a struct with this one field.
fn bounds(ty: &TokenStream) -> Vec<String> {
    let item = quote!(struct Wrapper<T, D, L: Block>(#ty););
    let file: syn::File = syn::parse2(super::derive(item)).expect("a file");
    let Some(syn::Item::Impl(module)) = file.items.first() else {
        panic!("no impl for {ty}");
    };
    let clause = module.generics.where_clause.as_ref();
    let predicates = clause.into_iter().flat_map(|clause| &clause.predicates);
    let text = predicates.map(|predicate| {
        let text = crate::show::show(predicate);
        let text = text
            .replace("::pullback::nn::", "")
            .replace("::pullback::", "");
        text.replace("+::core::marker::", "+ ")
            .replace("::core::marker::", "")
    });
    // Each parameter has those of `Module`.
    let own = text.filter(|text| {
        !["T", "D", "L"]
            .map(|param| format!("{param}:Send + Sync + 'static"))
            .contains(text)
    });
    own.collect()
}

#[test]
fn bounds_stand_on_what_a_type_comes_down_to() {
    let cases: [(TokenStream, &[&str]); 16] = [
        (quote!(Parameter<f32, Ix1>), &[]),
        (quote!(Parameter<T, Ix1>), &["T:Element"]),
        (
            quote!(Option<nn::Buffer<T, D>>),
            &["T:Element", "D:ndarray::Dimension + 'static"],
        ),
        (quote!(Vec<[(L, Option<L>); 2]>), &["L:Field"]),
        (quote!(Box<L>), &["L:Module"]),
        (quote!(Option<Box<Box<Linear<T>>>>), &["Linear<T>:Module"]),
        (quote!(Linear<T>), &["Linear<T>:Field"]),
        (quote!(HashMap<String, L>), &["L:Field"]),
        (
            quote!(HashMap<String, Linear<f32>, T>),
            &["T:::core::hash::BuildHasher"],
        ),
        (quote!(Vec<Wrapper<T, D, L>>), &[]),
        (quote!(Option<Box<Self>>), &[]),
        (quote!(PhantomData<fn() -> T>), &[]),
        (
            quote!(L::Inner),
            &["L::Inner:Field", "L::Inner:Send + Sync + 'static"],
        ),
        (
            quote!(<L as Block>::Inner),
            &[
                "<L as Block>::Inner:Field",
                "<L as Block>::Inner:Send + Sync + 'static",
            ],
        ),
        // Never fields: the mistake is to be reported here.
        (quote!(Mutex<Parameter<T, D>>), &[]),
        (quote!(&'static L), &[]),
    ];
    for (ty, expected) in &cases {
        assert_eq!(bounds(ty), *expected, "{ty}");
    }
}

/// Returns the messages of the mistakes in an item.
fn errors(item: TokenStream) -> Vec<String> {
    let file: syn::File = syn::parse2(super::derive(item)).expect("a file");
    let texts = file.items.iter().filter_map(|item| match item {
        syn::Item::Macro(call) => Some(call.mac.parse_body::<syn::LitStr>().expect("a text")),
        _ => None,
    });
    texts.map(|text| text.value()).collect()
}

#[test]
fn state_is_looked_for_where_a_type_holds_it() {
    for holds in [
        quote!(Option<nn::Parameter<f32, Ix1>>),
        quote!(Mutex<(Buffer<f32, Ix1>, usize)>),
        quote!(Arc<dyn Holds<Parameter<f32, Ix1>>>),
    ] {
        let found = errors(quote!(struct Skips { #[module(skip)] field: #holds }));
        assert_eq!(found.len(), 1, "{holds}: {found:?}");
    }
    for mentions in [
        quote!(fn(&Parameter<f32, Ix1>) -> bool),
        quote!(Box<dyn Fn(&Parameter<f32, Ix1>) + Send + Sync>),
        quote!(Vec<ParameterId>),
        quote!(PhantomData<Parameter<f32, Ix1>>),
    ] {
        let found = errors(quote!(struct Skips { #[module(skip)] field: #mentions }));
        assert_eq!(found, [""; 0], "{mentions}");
    }
}

#[test]
fn what_stays_on_a_thread_is_known_by_its_name() {
    let found = |ty| errors(quote!(struct Holds(#[module(skip)] #ty);)).len();
    assert_eq!(found(quote!(Option<Rc<f32>>)), 1);
    assert_eq!(found(quote!(cell::RefCell<f32>)), 1);
    assert_eq!(found(quote!(Mutex<RefCell<f32>>)), 0);
    // Types of the same names that could be modules.
    assert_eq!(found(quote!(Rc)), 0);
    assert_eq!(found(quote!(Cell<f32>)), 0);
}

#[test]
fn names_are_distinct_among_the_fields_of_one_variant() {
    let field = quote!(#[module(rename = "weight")] Parameter<f32, Ix1>);
    let twice = quote!(struct Twice(#field, #field););
    let message = "another field is named `weight` already; choose another name";
    assert_eq!(errors(twice), [message]);
    let apart = quote!(enum Apart { First(#field, Mode), Second(#field, Mode) });
    assert_eq!(errors(apart), [""; 0]);
    let number = quote!(
        struct Number(Mode, #[module(rename = "0")] Mode);
    );
    assert_eq!(errors(number).len(), 1);
    let plain = quote!(
        struct Plain {
            weight: Mode,
            #[module(skip, show, rename = "weight")]
            w: f64,
        }
    );
    assert_eq!(errors(plain), [""; 0]);
}
