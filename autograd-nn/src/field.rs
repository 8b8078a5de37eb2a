//! The types that may be a module's fields.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;
use std::marker::PhantomData;

use autograd_core::Element;
use autograd_core::ndarray::Dimension;

use crate::buffer::Buffer;
use crate::mode::Mode;
use crate::module::Module;
use crate::parameter::Parameter;
use crate::path::ParameterPath;
use crate::rng_state::RngState;
use crate::visit::{Field, Visitor, VisitorMut};

impl<T: Element, D: Dimension + 'static> Field for Parameter<T, D> {
    fn visit<'a>(&'a self, path: &ParameterPath<'_>, visitor: &mut dyn Visitor<'a>) {
        visitor.parameter(path, self);
    }

    fn visit_mut(&mut self, path: &ParameterPath<'_>, visitor: &mut dyn VisitorMut) {
        visitor.parameter(path, self);
    }
}

impl<T: Element, D: Dimension + 'static> Field for Buffer<T, D> {
    fn visit<'a>(&'a self, path: &ParameterPath<'_>, visitor: &mut dyn Visitor<'a>) {
        visitor.buffer(path, self);
    }

    fn visit_mut(&mut self, path: &ParameterPath<'_>, visitor: &mut dyn VisitorMut) {
        visitor.buffer(path, self);
    }
}

#[diagnostic::do_not_recommend]
impl Field for Mode {
    fn visit<'a>(&'a self, _path: &ParameterPath<'_>, _visitor: &mut dyn Visitor<'a>) {}

    fn visit_mut(&mut self, path: &ParameterPath<'_>, visitor: &mut dyn VisitorMut) {
        visitor.mode(path, self);
    }
}

#[diagnostic::do_not_recommend]
impl Field for RngState {
    fn visit<'a>(&'a self, path: &ParameterPath<'_>, visitor: &mut dyn Visitor<'a>) {
        visitor.rng_state(path, self);
    }

    fn visit_mut(&mut self, path: &ParameterPath<'_>, visitor: &mut dyn VisitorMut) {
        visitor.rng_state(path, self);
    }
}

#[diagnostic::do_not_recommend]
impl<T: ?Sized> Field for PhantomData<T> {
    fn visit<'a>(&'a self, _path: &ParameterPath<'_>, _visitor: &mut dyn Visitor<'a>) {}

    fn visit_mut(&mut self, _path: &ParameterPath<'_>, _visitor: &mut dyn VisitorMut) {}
}

// For a type that is not a field, the compiler then explains fields and not modules. On the other impls in this file,
// the attribute shortens the compiler's list of fields.
#[diagnostic::do_not_recommend]
impl<M: Module> Field for M {
    fn visit<'a>(&'a self, path: &ParameterPath<'_>, visitor: &mut dyn Visitor<'a>) {
        let module = self.as_module();
        if visitor.enter(path, module) {
            module.visit_fields(path, visitor);
            visitor.leave(path, module);
        }
    }

    fn visit_mut(&mut self, path: &ParameterPath<'_>, visitor: &mut dyn VisitorMut) {
        self.as_module_mut().visit_mut(path, visitor);
    }
}

#[diagnostic::do_not_recommend]
impl Field for dyn Module {
    fn visit<'a>(&'a self, path: &ParameterPath<'_>, visitor: &mut dyn Visitor<'a>) {
        if visitor.enter(path, self) {
            self.visit_fields(path, visitor);
            visitor.leave(path, self);
        }
    }

    fn visit_mut(&mut self, path: &ParameterPath<'_>, visitor: &mut dyn VisitorMut) {
        if visitor.enter(path, self) {
            self.visit_fields_mut(path, visitor);
            visitor.leave(path, self);
        }
    }
}

impl<F: Field> Field for Option<F> {
    fn visit<'a>(&'a self, path: &ParameterPath<'_>, visitor: &mut dyn Visitor<'a>) {
        match self {
            Some(field) => field.visit(path, visitor),
            None => visitor.absent(path),
        }
    }

    fn visit_mut(&mut self, path: &ParameterPath<'_>, visitor: &mut dyn VisitorMut) {
        if let Some(field) = self {
            field.visit_mut(path, visitor);
        }
    }
}

impl<F: Field> Field for [F] {
    fn visit<'a>(&'a self, path: &ParameterPath<'_>, visitor: &mut dyn Visitor<'a>) {
        for (number, field) in self.iter().enumerate() {
            field.visit(&path.item(number), visitor);
        }
    }

    fn visit_mut(&mut self, path: &ParameterPath<'_>, visitor: &mut dyn VisitorMut) {
        for (number, field) in self.iter_mut().enumerate() {
            field.visit_mut(&path.item(number), visitor);
        }
    }
}

/// Containers that are visited as slices.
macro_rules! as_slices {
    ($(($($generics:tt)*) $Container:ty),+) => {$(
        impl<$($generics)*> Field for $Container {
            fn visit<'a>(&'a self, path: &ParameterPath<'_>, visitor: &mut dyn Visitor<'a>) {
                self[..].visit(path, visitor);
            }

            fn visit_mut(&mut self, path: &ParameterPath<'_>, visitor: &mut dyn VisitorMut) {
                self[..].visit_mut(path, visitor);
            }
        }
    )+};
}

as_slices!((F: Field) Vec<F>, (F: Field, const N: usize) [F; N]);

/// Visits the values in the order of the keys.
impl<F: Field> Field for BTreeMap<String, F> {
    fn visit<'a>(&'a self, path: &ParameterPath<'_>, visitor: &mut dyn Visitor<'a>) {
        for (name, field) in self {
            field.visit(&path.field(name), visitor);
        }
    }

    fn visit_mut(&mut self, path: &ParameterPath<'_>, visitor: &mut dyn VisitorMut) {
        for (name, field) in self {
            field.visit_mut(&path.field(name), visitor);
        }
    }
}

/// Visits the values in the order of the keys, which are sorted at each visit; a `BTreeMap` needs no sorting.
impl<F: Field, S: BuildHasher> Field for HashMap<String, F, S> {
    fn visit<'a>(&'a self, path: &ParameterPath<'_>, visitor: &mut dyn Visitor<'a>) {
        let mut entries: Vec<_> = self.iter().collect();
        entries.sort_unstable_by_key(|(name, _)| *name);
        for (name, field) in entries {
            field.visit(&path.field(name), visitor);
        }
    }

    fn visit_mut(&mut self, path: &ParameterPath<'_>, visitor: &mut dyn VisitorMut) {
        let mut entries: Vec<_> = self.iter_mut().collect();
        entries.sort_unstable_by_key(|(name, _)| *name);
        for (name, field) in entries {
            field.visit_mut(&path.field(name), visitor);
        }
    }
}

/// A field by mutable reference. An optimizer of two models takes `(Borrowed(&mut encoder), Borrowed(&mut decoder))`.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::{Borrowed, Field, Parameter, ParameterPath, Visitor};
///
/// let (mut a, mut b) = (Parameter::new(array![1.0]), vec![Parameter::new(array![2.0])]);
/// let both = (Borrowed(&mut a), Borrowed(&mut b));
/// # struct Nothing;
/// # impl Visitor<'_> for Nothing {}
/// both.visit(&ParameterPath::root(), &mut Nothing);
/// ```
#[derive(Debug)]
pub struct Borrowed<'b, F: ?Sized>(pub &'b mut F);

#[diagnostic::do_not_recommend]
impl<F: Field + ?Sized> Field for Borrowed<'_, F> {
    fn visit<'a>(&'a self, path: &ParameterPath<'_>, visitor: &mut dyn Visitor<'a>) {
        self.0.visit(path, visitor);
    }

    fn visit_mut(&mut self, path: &ParameterPath<'_>, visitor: &mut dyn VisitorMut) {
        self.0.visit_mut(path, visitor);
    }
}

macro_rules! tuples {
    ($($F:ident $place:tt),+) => {
        #[diagnostic::do_not_recommend]
        impl<$($F: Field),+> Field for ($($F,)+) {
            fn visit<'a>(&'a self, path: &ParameterPath<'_>, visitor: &mut dyn Visitor<'a>) {
                $(self.$place.visit(&path.item($place), visitor);)+
            }

            fn visit_mut(&mut self, path: &ParameterPath<'_>, visitor: &mut dyn VisitorMut) {
                $(self.$place.visit_mut(&path.item($place), visitor);)+
            }
        }
    };
}

tuples!(A 0);
tuples!(A 0, B 1);
tuples!(A 0, B 1, C 2);
tuples!(A 0, B 1, C 2, D 3);
tuples!(A 0, B 1, C 2, D 3, E 4);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11);
