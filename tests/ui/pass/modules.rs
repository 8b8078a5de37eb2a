//! Derived modules under no prelude, strict lints, and names that generated code uses too.

#![no_implicit_prelude]
#![deny(warnings, unused, missing_docs, unused_qualifications)]
#![deny(unreachable_pub, elided_lifetimes_in_paths, trivial_casts, unused_lifetimes)]
#![deny(single_use_lifetimes, unsafe_code, deprecated)]

use ::pullback as pb;
use ::pullback::Module;
use ::pullback::ndarray::{Dimension, Ix1, IxDyn};
use ::pullback::nn::{Buffer, Mode, Parameter};
use ::std::boxed::Box;
use ::std::collections::{BTreeMap, HashMap};
use ::std::marker::PhantomData;
use ::std::option::Option;
use ::std::string::String;
use ::std::vec::Vec;

/// Fields whose names generated code has too.
#[derive(Module)]
pub struct Names {
    /// A path.
    pub path: Parameter<f64, Ix1>,
    /// A visitor.
    pub visitor: Option<Parameter<f64, Ix1>>,
    /// A formatter.
    pub f: Buffer<f32, IxDyn>,
    /// Itself.
    pub self_: Mode,
    /// A name that a keyword has.
    pub r#type: Parameter<f64, Ix1>,
    /// A number.
    #[module(skip, show)]
    pub r#loop: usize,
    /// Any module.
    pub name: Option<Box<dyn pb::nn::Module>>,
    /// A list of lists.
    pub field_0: Vec<[(Parameter<f64, Ix1>, Mode); 2]>,
}

/// An enum whose variants have such fields.
#[derive(Module)]
pub enum Variants<L, T> {
    /// A module.
    Inner(L),
    /// A module of any type.
    Other(Box<dyn pb::nn::Module>),
    /// Fields.
    Fields {
        /// A path.
        path: Parameter<T, Ix1>,
        /// A visitor.
        visitor: Parameter<T, Ix1>,
        /// A number.
        #[module(skip, show)]
        r#fn: f64,
    },
    /// Fields without names.
    Pair(L, #[module(skip, show)] f64),
    /// Plain data.
    Data(#[module(skip)] fn(T) -> T),
    /// Nothing.
    Unit,
}

/// No variants.
#[derive(Module)]
pub enum Never {}

/// No fields.
#[derive(Module)]
#[module(crate = pb)]
pub struct Unit;

/// A tuple struct.
#[derive(Module)]
#[module(name = "T", extra_repr = rank)]
pub struct Tuple<T, D, const N: usize>(pub [Parameter<T, D>; N], pub PhantomData<fn(D)>)
where
    D: Dimension;

fn rank<T, D: Dimension, const N: usize>(_: &Tuple<T, D, N>) -> String {
    ::std::format!("{:?}", D::NDIM)
}

/// A module of modules of a kind, and of itself.
#[derive(Module)]
pub struct Tree<L: ::std::clone::Clone, S> {
    leaf: L,
    children: Vec<Tree<L, S>>,
    left: Option<Box<Tree<L, S>>>,
    named: HashMap<String, L, S>,
    sorted: BTreeMap<String, Option<L>>,
}

/// An associated type.
pub trait Block {
    /// What the block holds.
    type Inner;
}

/// A module of it.
#[derive(Module)]
pub struct Blocks<B: Block> {
    inner: Vec<B::Inner>,
    first: <B as Block>::Inner,
    /// An old one.
    #[deprecated]
    pub last: Option<Parameter<f32, Ix1>>,
}

/// What a parameter is called here.
pub type Weight<T> = Parameter<T, Ix1>;

/// A module of an alias, and of a module with parameters of its own.
#[derive(Module)]
pub(crate) struct Aliased<T>
where
    T: ::std::fmt::Display,
{
    weight: Weight<T>,
    inner: Tuple<T, Ix1, 2>,
    boxed: Box<Tuple<T, Ix1, 1>>,
}

fn is_module<M: pb::nn::Module + ::std::fmt::Display>() {}

fn main() {
    is_module::<Names>();
    is_module::<Variants<Unit, f32>>();
    is_module::<Never>();
    is_module::<Tuple<f64, IxDyn, 3>>();
    is_module::<Aliased<f32>>();
}
