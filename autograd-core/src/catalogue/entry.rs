//! One function of a program, described.

use std::fmt;

use crate::function::Signature;

/// One function of the program, as [`catalogue`](crate::catalogue()) lists it.
///
/// ```
/// let functions = pullback::catalogue();
/// let exp = functions.iter().find(|function| function.name() == "Exp").expect("a built-in function");
/// assert_eq!(exp.path(), "autograd_core::ops::exp::Exp");
/// assert_eq!(exp.summary(), "Returns eˣ of each element.");
/// assert_eq!(exp.signature.outputs[0].ty, "Array<T, D>");
/// assert!(exp.file.ends_with("exp.rs") && exp.line > 1);
/// let test = exp.test.expect("a generated test");
/// assert_eq!(test.to_string(), "cargo test -p autograd-core ops::exp::exp_gradcheck");
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Entry {
    /// The inputs, the outputs and the saved values.
    pub signature: &'static Signature,
    /// The documentation as it is in the source, with formulas as [`math!`](crate::math) writes them.
    pub docs: &'static str,
    /// The path of the module that defines the function, which begins with the crate.
    pub module: &'static str,
    /// The file, as cargo gave it to the compiler: in the crates of the workspace, relative to its folder.
    pub file: &'static str,
    /// The line of the attribute.
    pub line: u32,
    /// The test that `gradcheck(…)` generates; `None` without one.
    pub test: Option<Test>,
    /// The name of the type or of the free function in the source, which `name = "…"` does not change.
    item: &'static str,
}

/// A generated test. Its [`Display`](fmt::Display) is the command that runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Test {
    /// The package; `None` if cargo did not build it.
    pub package: Option<&'static str>,
    /// The path of the test's module, which begins with the crate.
    pub module: &'static str,
    /// The name of the test in its module.
    pub name: &'static str,
}

impl Entry {
    /// Makes an entry, for generated code.
    #[doc(hidden)]
    pub const fn new(
        signature: &'static Signature,
        docs: &'static str,
        [module, item]: [&'static str; 2],
        file: &'static str,
        line: u32,
    ) -> Self {
        Self {
            signature,
            docs,
            module,
            item,
            file,
            line,
            test: None,
        }
    }

    /// Returns the entry of a function, given as the free function or as the `apply` of its type. `None` if the
    /// attribute does not define it, or if it is local to another function.
    ///
    /// ```
    /// use pullback::catalogue::Entry;
    /// use pullback::ndarray::Ix1;
    /// use pullback::ops::Exp;
    ///
    /// let exp = Entry::of(&Exp::<f64, Ix1>::apply).expect("a built-in function");
    /// assert_eq!(exp.name(), "Exp");
    /// assert!(Entry::of(&f64::exp).is_none());
    /// ```
    pub fn of<F>(function: &F) -> Option<&'static Self> {
        // A function has a type of its own, which implements nothing of ours: only its path leads to the entry. It is
        // `kernels::squash<f32, …>` or `kernels::_::<impl kernels::Scale<f32>>::apply`.
        let path = std::any::type_name_of_val(function);
        let path = path.split_once("<impl ").map_or(path, |(_, of)| of);
        let (module, item) = path.split(['<', '>']).next()?.rsplit_once("::")?;
        inventory::iter::<Self>().find(|entry| (entry.module, entry.item) == (module, item))
    }

    /// Adds a test, for generated code.
    #[doc(hidden)]
    #[must_use]
    pub const fn with_test(self, package: Option<&'static str>, name: &'static str) -> Self {
        let test = Test {
            package,
            module: self.module,
            name,
        };
        Self {
            test: Some(test),
            ..self
        }
    }

    /// Returns the name that graphs and errors show.
    pub const fn name(&self) -> &'static str {
        self.signature.name
    }

    /// Returns the module's path and the name: `autograd_core::ops::exp::Exp`.
    pub fn path(&self) -> String {
        format!("{}::{}", self.module, self.name())
    }

    /// Returns the first paragraph of the documentation on one line, without the formulas of [`math!`](crate::math).
    /// Without documentation it is empty.
    pub fn summary(&self) -> String {
        // Formulas are elements of HTML or blocks of code.
        let paragraphs = self.docs.split("\n\n").map(str::trim);
        let mut prose = paragraphs.filter(|text| !text.is_empty() && !text.starts_with(['<', '`']));
        let first = prose.next().unwrap_or_default();
        first.lines().map(str::trim).collect::<Vec<_>>().join(" ")
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cargo test ")?;
        if let Some(package) = self.package {
            write!(f, "-p {package} ")?;
        }
        // The path of a test does not include the crate.
        if let Some((_, inside)) = self.module.split_once("::") {
            write!(f, "{inside}::")?;
        }
        f.write_str(self.name)
    }
}
