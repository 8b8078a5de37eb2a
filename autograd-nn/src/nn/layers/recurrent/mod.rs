//! Networks that read a sequence step by step.

mod builder;
mod cells;
mod gru;
mod lstm;

pub use builder::RecurrentBuilder;
pub use cells::RecurrentCell;
pub use gru::Gru;
pub use lstm::Lstm;

/// What both networks are to whoever visits and prints them.
macro_rules! recurrent_module {
    ($Name:ident) => {
        /// The parameters have PyTorch's names: `weight_ih_l0`, `weight_hh_l0`, `bias_ih_l0`, `bias_hh_l0`, and
        /// those with `_reverse` at the end for what reads backwards.
        impl<T: crate::Element> crate::nn::Module for $Name<T> {
            fn name(&self) -> std::borrow::Cow<'static, str> {
                std::borrow::Cow::Borrowed(stringify!($Name))
            }

            fn visit_fields<'a>(
                &'a self,
                path: &crate::nn::Path<'_>,
                visitor: &mut dyn crate::nn::Visitor<'a>,
            ) {
                self.cells.visit(path, visitor);
            }

            fn visit_fields_mut(
                &mut self,
                path: &crate::nn::Path<'_>,
                visitor: &mut dyn crate::nn::VisitorMut,
            ) {
                self.cells.visit_mut(path, visitor);
            }

            fn as_module(&self) -> &dyn crate::nn::Module {
                self
            }

            fn as_module_mut(&mut self) -> &mut dyn crate::nn::Module {
                self
            }

            fn extra_repr(&self) -> String {
                self.cells.options()
            }
        }

        impl<T: crate::Element> std::fmt::Display for $Name<T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                crate::nn::fmt(self, f)
            }
        }
    };
}
use recurrent_module;
