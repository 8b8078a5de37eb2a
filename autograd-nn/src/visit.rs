//! Traversal: a field calls a visitor with each of its parts.

use crate::buffer::AnyBuffer;
use crate::mode::Mode;
use crate::module::Module;
use crate::parameter::any::AnyParameter;
use crate::path::ParameterPath;
use crate::rng_state::RngState;

/// A type that can be a field of a module, and is trained, saved and printed with it: parameters, buffers, modules,
/// and lists, arrays, tuples, maps and `Option`s of them.
///
/// Mark plain data `#[module(skip)]`. A parameter in any other container is a compile error, since it would silently
/// not be trained.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use pullback::ndarray::array;
/// use pullback::nn::{Field, Parameter, Stateful};
///
/// /// Any field can be saved.
/// fn names(field: &(impl Field + Stateful)) -> Vec<String> {
///     field.state_dict().names().map(str::to_owned).collect()
/// }
///
/// let weight = Parameter::new(array![1.0]);
/// assert_eq!(names(&vec![weight.clone(), weight.clone()]), ["0", "1"]);
/// assert_eq!(names(&BTreeMap::from([("head".to_owned(), Some(weight))])), ["head"]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a parameter, buffer or module, nor a list, map or `Option` of them",
    label = "neither trained nor saved with the module",
    note = "derive `Module` for a type of your own that holds some; mark plain data `#[module(skip)]`"
)]
pub trait Field {
    /// Calls the visitor with every part of the field.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::{AnyParameter, Field, Parameter, ParameterPath, Visitor};
    ///
    /// struct Paths(Vec<String>);
    ///
    /// impl<'a> Visitor<'a> for Paths {
    ///     fn parameter(&mut self, path: &ParameterPath<'_>, _: &'a dyn AnyParameter) {
    ///         self.0.push(path.to_string());
    ///     }
    /// }
    ///
    /// let mut paths = Paths(Vec::new());
    /// let weight = Parameter::new(array![1.0]);
    /// vec![(weight.clone(), weight)].visit(&ParameterPath::root().field("layers"), &mut paths);
    /// assert_eq!(paths.0, ["layers.0.0", "layers.0.1"]);
    /// ```
    fn visit<'a>(&'a self, path: &ParameterPath<'_>, visitor: &mut dyn Visitor<'a>);

    /// Calls the visitor with every part of the field, by mutable reference.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::{AnyParameter, Field, Parameter, ParameterPath, VisitorMut};
    ///
    /// struct Freeze;
    ///
    /// impl VisitorMut for Freeze {
    ///     fn parameter(&mut self, _: &ParameterPath<'_>, parameter: &mut dyn AnyParameter) {
    ///         parameter.set_requires_grad(false);
    ///     }
    /// }
    ///
    /// let mut layers = vec![Parameter::new(array![1.0])];
    /// layers.visit_mut(&ParameterPath::root(), &mut Freeze);
    /// assert!(!layers[0].requires_grad());
    /// ```
    fn visit_mut(&mut self, path: &ParameterPath<'_>, visitor: &mut dyn VisitorMut);
}

/// A traversal of a module, whose methods are called with its parts in the order of the fields. By default a method
/// does nothing.
///
/// ```
/// use pullback::nn::{AnyParameter, Field, Parameter, ParameterPath, Visitor};
/// use pullback::ndarray::array;
///
/// /// Counts elements.
/// struct Count(usize);
///
/// impl<'a> Visitor<'a> for Count {
///     fn parameter(&mut self, _path: &ParameterPath<'_>, parameter: &'a dyn AnyParameter) {
///         self.0 += parameter.len();
///     }
/// }
///
/// let list = vec![Parameter::new(array![1.0, 2.0]), Parameter::new(array![3.0])];
/// let mut count = Count(0);
/// list.visit(&ParameterPath::root(), &mut count);
/// assert_eq!(count.0, 3);
/// ```
pub trait Visitor<'a> {
    /// Visits a parameter. A parameter that several fields share is visited in each of them, with the same
    /// [`id`](AnyParameter::id).
    fn parameter(&mut self, path: &ParameterPath<'_>, parameter: &'a dyn AnyParameter) {
        let _ = (path, parameter);
    }

    /// Visits a buffer.
    fn buffer(&mut self, path: &ParameterPath<'_>, buffer: &'a dyn AnyBuffer) {
        let _ = (path, buffer);
    }

    /// Visits the random state of a module.
    fn rng_state(&mut self, path: &ParameterPath<'_>, seeds: &'a RngState) {
        let _ = (path, seeds);
    }

    /// Visits a field that is `None`.
    fn absent(&mut self, path: &ParameterPath<'_>) {
        let _ = path;
    }

    /// Visits a module before its parts. If it returns false, the parts are skipped.
    fn enter(&mut self, path: &ParameterPath<'_>, module: &'a dyn Module) -> bool {
        let _ = (path, module);
        true
    }

    /// Visits a module after its parts.
    fn leave(&mut self, path: &ParameterPath<'_>, module: &'a dyn Module) {
        let _ = (path, module);
    }
}

/// A [`Visitor`] that can change the parts.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::{AnyParameter, AnyViewMut, Field, Parameter, ParameterPath, VisitorMut};
///
/// /// Sets parameters named `bias` to zeros.
/// struct ZeroBiases;
///
/// impl VisitorMut for ZeroBiases {
///     fn parameter(&mut self, path: &ParameterPath<'_>, parameter: &mut dyn AnyParameter) {
///         if path.to_string().ends_with("bias") {
///             parameter.update_any(&mut |value| match value {
///                 AnyViewMut::F32(mut value) => value.fill(0.0),
///                 AnyViewMut::F64(mut value) => value.fill(0.0),
///             });
///         }
///     }
/// }
///
/// let mut layer = std::collections::BTreeMap::from([
///     ("weight".to_owned(), Parameter::new(array![1.0])),
///     ("bias".to_owned(), Parameter::new(array![2.0])),
/// ]);
/// layer.visit_mut(&ParameterPath::root(), &mut ZeroBiases);
/// assert_eq!((layer["weight"].item(), layer["bias"].item()), (1.0, 0.0));
/// ```
pub trait VisitorMut {
    /// Visits a parameter.
    fn parameter(&mut self, path: &ParameterPath<'_>, parameter: &mut dyn AnyParameter) {
        let _ = (path, parameter);
    }

    /// Visits a buffer.
    fn buffer(&mut self, path: &ParameterPath<'_>, buffer: &mut dyn AnyBuffer) {
        let _ = (path, buffer);
    }

    /// Visits the random state of a module.
    fn rng_state(&mut self, path: &ParameterPath<'_>, seeds: &mut RngState) {
        let _ = (path, seeds);
    }

    /// Visits the mode of a module: training or evaluation.
    fn mode(&mut self, path: &ParameterPath<'_>, mode: &mut Mode) {
        let _ = (path, mode);
    }

    /// Visits a module before its parts. If it returns false, the parts are skipped.
    fn enter(&mut self, path: &ParameterPath<'_>, module: &mut dyn Module) -> bool {
        let _ = (path, module);
        true
    }

    /// Visits a module after its parts.
    fn leave(&mut self, path: &ParameterPath<'_>, module: &mut dyn Module) {
        let _ = (path, module);
    }
}

/// Calls `visit` with each parameter and its path, once for each field that holds it.
pub(crate) fn each_parameter<'a, F: Field + ?Sized>(
    field: &'a F,
    visit: impl FnMut(&ParameterPath<'_>, &'a dyn AnyParameter),
) {
    struct Each<V>(V);
    impl<'a, V: FnMut(&ParameterPath<'_>, &'a dyn AnyParameter)> Visitor<'a> for Each<V> {
        fn parameter(&mut self, path: &ParameterPath<'_>, parameter: &'a dyn AnyParameter) {
            (self.0)(path, parameter);
        }
    }
    field.visit(&ParameterPath::root(), &mut Each(visit));
}

/// Calls `visit` with each parameter by mutable reference, once for each field that holds it.
pub(crate) fn each_parameter_mut<F: Field + ?Sized>(
    field: &mut F,
    visit: impl FnMut(&mut dyn AnyParameter),
) {
    struct Each<V>(V);
    impl<V: FnMut(&mut dyn AnyParameter)> VisitorMut for Each<V> {
        fn parameter(&mut self, _: &ParameterPath<'_>, parameter: &mut dyn AnyParameter) {
            (self.0)(parameter);
        }
    }
    field.visit_mut(&ParameterPath::root(), &mut Each(visit));
}
