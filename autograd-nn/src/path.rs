//! The path of a part of a module.

use std::fmt;

/// The path from a module to one of its parts, printed with dots: `layers.0.weight`.
///
/// A path is a name and a reference to the path above it, on the stack of a visit. `to_string` returns the name that
/// [`named_parameters`](crate::nn::Module::named_parameters) lists.
///
/// ```
/// use pullback::nn::ParameterPath;
///
/// let root = ParameterPath::root();
/// let layers = root.field("layers");
/// assert_eq!(layers.item(0).field("weight").to_string(), "layers.0.weight");
/// assert_eq!(root.to_string(), "");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ParameterPath<'a> {
    above: Option<&'a ParameterPath<'a>>,
    name: Name<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Name<'a> {
    Root,
    Field(&'a str),
    Item(usize),
}

impl<'a> ParameterPath<'a> {
    /// Returns the path of the visited module itself, which has no name.
    pub fn root() -> Self {
        Self {
            above: None,
            name: Name::Root,
        }
    }

    /// Returns the path of a field, or of an entry of a map.
    #[must_use]
    pub fn field(&'a self, name: &'a str) -> Self {
        Self {
            above: Some(self),
            name: Name::Field(name),
        }
    }

    /// Returns the path of an item of a list or a tuple.
    #[must_use]
    pub fn item(&'a self, number: usize) -> Self {
        Self {
            above: Some(self),
            name: Name::Item(number),
        }
    }

    /// Returns the number of names.
    pub fn depth(&self) -> usize {
        self.above.map_or(0, |above| above.depth() + 1)
    }

    /// Returns the path without its first `depth` names, to print it.
    ///
    /// ```
    /// use pullback::nn::ParameterPath;
    ///
    /// let root = ParameterPath::root();
    /// let layers = root.field("layers");
    /// let first = layers.item(0);
    /// assert_eq!(first.field("weight").below(1).to_string(), "0.weight");
    /// ```
    pub fn below(&'a self, depth: usize) -> impl fmt::Display + use<'a> {
        Below { path: self, depth }
    }
}

struct Below<'a> {
    path: &'a ParameterPath<'a>,
    depth: usize,
}

impl fmt::Display for Below<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.depth() <= self.depth {
            return Ok(());
        }
        if let Some(path) = self.path.above
            && path.depth() > self.depth
        {
            let depth = self.depth;
            write!(f, "{}.", Below { path, depth })?;
        }
        match self.path.name {
            Name::Root => Ok(()),
            Name::Field(name) => f.write_str(name),
            Name::Item(number) => write!(f, "{number}"),
        }
    }
}

impl fmt::Display for ParameterPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.below(0).fmt(f)
    }
}
