#[automatically_derived]
#[allow(deprecated, unused_variables)]
impl<L> ::pullback::nn::Module for Layer<L>
where
    L: ::core::marker::Send + ::core::marker::Sync + 'static,
    L: ::pullback::nn::Module,
{
    fn name(&self) -> ::std::borrow::Cow<'static, ::core::primitive::str> {
        match self {
            Self::Linear { 0: field_0 } => {
                <Linear as ::pullback::nn::Module>::name(field_0)
            }
            Self::Inner { 0: field_0 } => <L as ::pullback::nn::Module>::name(field_0),
            Self::Scale { path: field_path, exponent: field_exponent } => {
                ::std::borrow::Cow::Borrowed("Layer::Scale")
            }
            Self::Relu {} => ::std::borrow::Cow::Borrowed("Layer::Relu"),
        }
    }
    fn visit_fields<'a>(
        &'a self,
        path: &::pullback::nn::ParameterPath<'_>,
        visitor: &mut dyn ::pullback::nn::Visitor<'a>,
    ) {
        match self {
            Self::Linear { 0: field_0 } => {
                <Linear as ::pullback::nn::Module>::visit_fields(field_0, path, visitor)
            }
            Self::Inner { 0: field_0 } => {
                <L as ::pullback::nn::Module>::visit_fields(field_0, path, visitor)
            }
            Self::Scale { path: field_path, exponent: field_exponent } => {
                <Parameter<
                    f32,
                    Ix1,
                > as ::pullback::nn::Field>::visit(
                    field_path,
                    &::pullback::nn::ParameterPath::field(path, "path"),
                    visitor,
                );
            }
            Self::Relu {} => {}
        }
    }
    fn visit_fields_mut(
        &mut self,
        path: &::pullback::nn::ParameterPath<'_>,
        visitor: &mut dyn ::pullback::nn::VisitorMut,
    ) {
        match self {
            Self::Linear { 0: field_0 } => {
                <Linear as ::pullback::nn::Module>::visit_fields_mut(
                    field_0,
                    path,
                    visitor,
                )
            }
            Self::Inner { 0: field_0 } => {
                <L as ::pullback::nn::Module>::visit_fields_mut(field_0, path, visitor)
            }
            Self::Scale { path: field_path, exponent: field_exponent } => {
                <Parameter<
                    f32,
                    Ix1,
                > as ::pullback::nn::Field>::visit_mut(
                    field_path,
                    &::pullback::nn::ParameterPath::field(path, "path"),
                    visitor,
                );
            }
            Self::Relu {} => {}
        }
    }
    fn as_module(&self) -> &dyn ::pullback::nn::Module {
        match self {
            Self::Linear { 0: field_0 } => {
                <Linear as ::pullback::nn::Module>::as_module(field_0)
            }
            Self::Inner { 0: field_0 } => {
                <L as ::pullback::nn::Module>::as_module(field_0)
            }
            Self::Scale { path: field_path, exponent: field_exponent } => self,
            Self::Relu {} => self,
        }
    }
    fn as_module_mut(&mut self) -> &mut dyn ::pullback::nn::Module {
        match self {
            Self::Linear { 0: field_0 } => {
                <Linear as ::pullback::nn::Module>::as_module_mut(field_0)
            }
            Self::Inner { 0: field_0 } => {
                <L as ::pullback::nn::Module>::as_module_mut(field_0)
            }
            Self::Scale { path: field_path, exponent: field_exponent } => self,
            Self::Relu {} => self,
        }
    }
    fn extra_repr(&self) -> ::std::string::String {
        match self {
            Self::Linear { 0: field_0 } => {
                <Linear as ::pullback::nn::Module>::extra_repr(field_0)
            }
            Self::Inner { 0: field_0 } => {
                <L as ::pullback::nn::Module>::extra_repr(field_0)
            }
            Self::Scale { path: field_path, exponent: field_exponent } => {
                ::pullback::nn::extra_repr(
                    &[("exponent", field_exponent as &dyn ::core::fmt::Display)],
                )
            }
            Self::Relu {} => ::pullback::nn::extra_repr(&[]),
        }
    }
}
#[automatically_derived]
#[allow(unused_variables)]
impl<L> ::core::fmt::Display for Layer<L>
where
    L: ::core::marker::Send + ::core::marker::Sync + 'static,
    L: ::pullback::nn::Module,
{
    fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        ::pullback::nn::fmt(self, f)
    }
}
#[automatically_derived]
impl<L> ::pullback::__private::HoldsTensor for Layer<L>
where
    L: ::core::marker::Send + ::core::marker::Sync + 'static,
    L: ::pullback::nn::Module,
{
    const AS_SKIPPED: ::core::primitive::bool = true;
}
