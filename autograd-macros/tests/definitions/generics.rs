//! The generic parameters of a definition.

use super::model::{Definition, Element, Rank, Value};

pub(crate) struct Generics {
    /// The names and bounds of types.
    types: Vec<(&'static str, &'static str)>,
    /// Whether there is `const N: usize`.
    constant: bool,
}

impl Generics {
    pub(crate) fn of(definition: &Definition) -> Self {
        let mut types = Vec::new();
        types.extend(match definition.element {
            Element::Double => None,
            Element::Generic => Some(("T", "Element")),
            Element::Number => Some(("T", "Real")),
        });
        if definition.rank == Rank::Generic {
            types.push(("D", "Dimension"));
        }
        if definition.takes(Value::Closure) {
            types.push(("F", "Fn(f64) -> f64 + Clone + Send + Sync + 'static"));
        }
        let constant = definition.takes(Value::Row);
        Self { types, constant }
    }

    /// Returns what declares them, without brackets, and a clause; bounds are in the one or the other.
    pub(crate) fn declared(&self, in_clause: bool) -> (String, String) {
        let bounds = self.types.iter();
        let bounds = bounds.map(|(name, bound)| format!("{name}: {bound}"));
        let bounds: Vec<String> = bounds.collect();
        let (types, clause) = if in_clause && !bounds.is_empty() {
            let names = self.types.iter().map(|(name, _)| (*name).to_owned());
            (names.collect(), format!("where {}", bounds.join(", ")))
        } else {
            (bounds, String::new())
        };
        (self.with_constant(types, "const N: usize"), clause)
    }

    /// Returns what declares them for the struct of a block.
    pub(crate) fn unbounded(&self) -> String {
        let (parameters, _) = self.declared(true);
        parameters
    }

    /// Returns the fields of the struct of a block.
    pub(crate) fn fields(&self) -> String {
        let names: Vec<&str> = self.types.iter().map(|(name, _)| *name).collect();
        if names.is_empty() {
            return String::new();
        }
        format!("(std::marker::PhantomData<({},)>)", names.join(", "))
    }

    /// Returns the arguments of the struct within the block.
    pub(crate) fn arguments(&self) -> String {
        let names = self.types.iter().map(|(name, _)| (*name).to_owned());
        in_brackets(&self.with_constant(names.collect(), "N"))
    }

    /// Returns the arguments in the checks; those of values are inferred.
    pub(crate) fn concrete(&self, dimension: &str) -> String {
        let types = self.types.iter().map(|(name, _)| match *name {
            "T" => "f64".to_owned(),
            "D" => dimension.to_owned(),
            _ => "_".to_owned(),
        });
        in_brackets(&self.with_constant(types.collect(), "_"))
    }

    fn with_constant(&self, mut parameters: Vec<String>, constant: &str) -> String {
        parameters.extend(self.constant.then(|| constant.to_owned()));
        parameters.join(", ")
    }
}

/// Returns parameters or arguments in brackets, if there are any.
pub(crate) fn in_brackets(parameters: &str) -> String {
    if parameters.is_empty() {
        String::new()
    } else {
        format!("<{parameters}>")
    }
}
