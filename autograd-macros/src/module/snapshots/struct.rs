#[automatically_derived]
#[allow(deprecated, unused_variables)]
impl ::pullback::nn::Module for Linear {
    fn name(&self) -> ::std::borrow::Cow<'static, ::core::primitive::str> {
        ::std::borrow::Cow::Borrowed("Linear")
    }
    fn visit_fields<'a>(
        &'a self,
        path: &::pullback::nn::ParameterPath<'_>,
        visitor: &mut dyn ::pullback::nn::Visitor<'a>,
    ) {
        <Parameter<
            f32,
            Ix2,
        > as ::pullback::nn::Field>::visit(
            &self.weight,
            &::pullback::nn::ParameterPath::field(path, "weight"),
            visitor,
        );
        <Option<
            Parameter<f32, Ix1>,
        > as ::pullback::nn::Field>::visit(
            &self.bias,
            &::pullback::nn::ParameterPath::field(path, "offset"),
            visitor,
        );
    }
    fn visit_fields_mut(
        &mut self,
        path: &::pullback::nn::ParameterPath<'_>,
        visitor: &mut dyn ::pullback::nn::VisitorMut,
    ) {
        <Parameter<
            f32,
            Ix2,
        > as ::pullback::nn::Field>::visit_mut(
            &mut self.weight,
            &::pullback::nn::ParameterPath::field(path, "weight"),
            visitor,
        );
        <Option<
            Parameter<f32, Ix1>,
        > as ::pullback::nn::Field>::visit_mut(
            &mut self.bias,
            &::pullback::nn::ParameterPath::field(path, "offset"),
            visitor,
        );
    }
    fn as_module(&self) -> &dyn ::pullback::nn::Module {
        self
    }
    fn as_module_mut(&mut self) -> &mut dyn ::pullback::nn::Module {
        self
    }
    fn extra_repr(&self) -> ::std::string::String {
        ::pullback::nn::extra_repr(
            &[("in_features", &self.in_features as &dyn ::core::fmt::Display)],
        )
    }
}
#[automatically_derived]
#[allow(unused_variables)]
impl ::core::fmt::Display for Linear {
    fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        ::pullback::nn::fmt(self, f)
    }
}
#[automatically_derived]
impl ::pullback::__private::HoldsTensor for Linear {
    const AS_SKIPPED: ::core::primitive::bool = true;
}
