//! How anything walks over a module.

use super::{AnyBuffer, AnyParameter, Mode, Module, Path, Seeds};

/// What is called with the parts of a module, in the order of its fields. Every method does nothing unless
/// it is written.
///
/// ```
/// use pullback::nn::{AnyParameter, Field, Parameter, Path, Visitor};
/// use pullback::ndarray::array;
///
/// /// Counts elements.
/// struct Count(usize);
///
/// impl<'a> Visitor<'a> for Count {
///     fn parameter(&mut self, _path: &Path<'_>, parameter: &'a dyn AnyParameter) {
///         self.0 += parameter.len();
///     }
/// }
///
/// let list = vec![Parameter::new(array![1.0, 2.0]), Parameter::new(array![3.0])];
/// let mut count = Count(0);
/// list.visit(&Path::root(), &mut count);
/// assert_eq!(count.0, 3);
/// ```
pub trait Visitor<'a> {
    /// A parameter. One that several fields share comes once for each: they have one
    /// [`id`](AnyParameter::id).
    fn parameter(&mut self, path: &Path<'_>, parameter: &'a dyn AnyParameter) {
        let _ = (path, parameter);
    }

    /// A buffer.
    fn buffer(&mut self, path: &Path<'_>, buffer: &'a dyn AnyBuffer) {
        let _ = (path, buffer);
    }

    /// Seeds of what a module draws.
    fn seeds(&mut self, path: &Path<'_>, seeds: &'a Seeds) {
        let _ = (path, seeds);
    }

    /// A field that is `None`.
    fn absent(&mut self, path: &Path<'_>) {
        let _ = path;
    }

    /// A module, before its parts. Its parts are left out if the answer is false.
    fn enter(&mut self, path: &Path<'_>, module: &'a dyn Module) -> bool {
        let _ = (path, module);
        true
    }

    /// A module, after its parts.
    fn leave(&mut self, path: &Path<'_>, module: &'a dyn Module) {
        let _ = (path, module);
    }
}

/// As [`Visitor`], with parts that it may change.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::{AnyParameter, AnyViewMut, Field, Parameter, Path, VisitorMut};
///
/// /// Sets what is called `bias` to zeros.
/// struct ZeroBiases;
///
/// impl VisitorMut for ZeroBiases {
///     fn parameter(&mut self, path: &Path<'_>, parameter: &mut dyn AnyParameter) {
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
/// layer.visit_mut(&Path::root(), &mut ZeroBiases);
/// assert_eq!((layer["weight"].item(), layer["bias"].item()), (1.0, 0.0));
/// ```
pub trait VisitorMut {
    /// A parameter.
    fn parameter(&mut self, path: &Path<'_>, parameter: &mut dyn AnyParameter) {
        let _ = (path, parameter);
    }

    /// A buffer.
    fn buffer(&mut self, path: &Path<'_>, buffer: &mut dyn AnyBuffer) {
        let _ = (path, buffer);
    }

    /// Seeds of what a module draws.
    fn seeds(&mut self, path: &Path<'_>, seeds: &mut Seeds) {
        let _ = (path, seeds);
    }

    /// Training or evaluation.
    fn mode(&mut self, path: &Path<'_>, mode: &mut Mode) {
        let _ = (path, mode);
    }

    /// A module, before its parts. Its parts are left out if the answer is false.
    fn enter(&mut self, path: &Path<'_>, module: &mut dyn Module) -> bool {
        let _ = (path, module);
        true
    }

    /// A module, after its parts.
    fn leave(&mut self, path: &Path<'_>, module: &mut dyn Module) {
        let _ = (path, module);
    }
}
