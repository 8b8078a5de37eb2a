//! Modules are shared between threads: `Module` asks for `Send` and `Sync`.
//!
//! The compiler reports it too, on the derive and without what to write. Where a type's tokens
//! show it, this rule does.

use syn::visit::{Visit, visit_path_segment};
use syn::{GenericArgument, Member, PathArguments, PathSegment, Type};

use crate::diagnostics::Diagnostics;
use crate::module::parse::{Field, Item};

/// A field must be usable from several threads.
///
/// ```text
/// weight: RefCell<Parameter<f32, Ix2>>,
/// //      ^^^^^^^ `RefCell` keeps `weight` on one thread
/// ```
///
/// Returns whether all of them are.
pub(super) fn are_shared(item: &Item, diagnostics: &mut Diagnostics) -> bool {
    let mut all = true;
    for field in item.fields() {
        let mut search = Search(None);
        search.visit_type(&field.ty);
        if let Some(segment) = search.0 {
            all = false;
            refuse(field, segment, diagnostics);
        }
    }
    all
}

fn refuse(field: &Field, segment: &PathSegment, diagnostics: &mut Diagnostics) {
    let name = match &field.member {
        Member::Named(name) => format!("`{name}`"),
        Member::Unnamed(_) => "this field".to_owned(),
    };
    let container = &segment.ident;
    let message =
        format!("`{container}` keeps {name} on one thread, and a module is shared between threads");
    let is_state = argument(segment).is_some_and(|ty| {
        let shown = crate::show::show(ty);
        shown.contains("Parameter") || shown.contains("Buffer") || shown.contains("dyn Module")
    });
    let help = match (container == "Rc", is_state) {
        (false, true) => {
            "remove it: `forward` can read parameters and set buffers by shared \
                          reference, and an optimizer takes the module by a mutable one"
        }
        (true, true) => {
            "remove it: clones of a parameter are tied, wherever they are; \
                         for a module of any type write `Box<dyn Module>`"
        }
        (false, false) => "write `Mutex` or `RwLock`, with `#[module(skip)]` on the field",
        (true, false) => "write `Arc`, with `#[module(skip)]` on the field",
    };
    diagnostics.error_with_help(container, &message, help);
}

fn argument(segment: &PathSegment) -> Option<&Type> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
        return None;
    };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}

/// The first `Rc` or `RefCell` in a type. `Cell` is not looked for: that of an LSTM has the name too.
struct Search<'ast>(Option<&'ast PathSegment>);

impl<'ast> Visit<'ast> for Search<'ast> {
    fn visit_path_segment(&mut self, segment: &'ast PathSegment) {
        // What is in a `Mutex` need not be shared by itself.
        if segment.ident == "Mutex" || segment.ident == "PhantomData" {
            return;
        }
        let stays = segment.ident == "Rc" || segment.ident == "RefCell";
        if stays && argument(segment).is_some() && self.0.is_none() {
            self.0 = Some(segment);
        }
        visit_path_segment(self, segment);
    }
}
