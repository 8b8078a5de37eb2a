//! A module as the rules leave it.
//!
//! Only [`validate`](super::validate) makes these, and [`expand`](super::expand) needs to ask nothing
//! more.

use syn::{Generics, Ident, Member, Path, Type};

use crate::lists::Lists as _;

/// A type that becomes a module.
pub(super) struct ModuleModel {
    pub(super) definition: Definition,
    pub(super) body: Body,
}

/// The properties of the type apart from its fields.
pub(super) struct Definition {
    pub(super) ident: Ident,
    pub(super) generics: Generics,
    /// The name that is printed.
    pub(super) name: String,
    /// The library's path, where one is given.
    pub(super) runtime: Option<Path>,
    /// The function for what is printed beside the fields.
    pub(super) extra_repr: Option<Path>,
}

/// The contents of the type.
pub(super) enum Body {
    Struct(Vec<Field>),
    Enum(Vec<Variant>),
}

/// A variant of an enum.
pub(super) struct Variant {
    pub(super) ident: Ident,
    pub(super) content: Content,
}

/// The contents of a variant.
pub(super) enum Content {
    /// One module, which is visited and printed in place of the enum.
    Transparent(Box<Field>),
    /// Fields like those of a struct, or none.
    Fields(Vec<Field>),
}

/// A field of a struct or of a variant.
pub(super) struct Field {
    pub(super) member: Member,
    pub(super) ty: Type,
    pub(super) part: Part,
}

/// The role of a field in the module.
pub(super) enum Part {
    /// Visited under its name.
    Named(String),
    /// Visited under its number.
    Numbered(usize),
    /// Plain data, and what is printed of it.
    Skipped(Option<Shown>),
}

/// The way in which plain data is printed.
pub(super) struct Shown {
    /// Before the value; a field without a name is printed by its value alone.
    pub(super) label: Option<String>,
}

impl Body {
    /// Returns the fields of all variants, and whether each is the module of a transparent variant.
    pub(super) fn fields(&self) -> Vec<(&Field, bool)> {
        let plain = |field| (field, false);
        match self {
            Self::Struct(fields) => fields.iter().map(plain).listed(),
            Self::Enum(variants) => variants
                .iter()
                .flat_map(|variant| match &variant.content {
                    Content::Transparent(field) => vec![(&**field, true)],
                    Content::Fields(fields) => fields.iter().map(plain).listed(),
                })
                .listed(),
        }
    }
}

impl Field {
    /// Returns whether it belongs to the module's state.
    pub(super) fn is_visited(&self) -> bool {
        !matches!(self.part, Part::Skipped(_))
    }

    /// Returns how it is printed, if it is plain data and printed.
    pub(super) fn shown(&self) -> Option<&Shown> {
        match &self.part {
            Part::Skipped(shown) => shown.as_ref(),
            Part::Named(_) | Part::Numbered(_) => None,
        }
    }
}
