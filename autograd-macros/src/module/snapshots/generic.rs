#[automatically_derived]
#[allow(deprecated, unused_variables)]
impl<T: Element, D, const N: usize> pb::nn::Module for Scale<T, D, N>
where
    D: RemoveAxis,
    T: ::core::marker::Send + ::core::marker::Sync + 'static,
    D: ::core::marker::Send + ::core::marker::Sync + 'static,
    T: pb::Element,
    D: pb::ndarray::Dimension + 'static,
{
    fn name(&self) -> ::std::borrow::Cow<'static, ::core::primitive::str> {
        ::std::borrow::Cow::Borrowed("Norm")
    }
    fn visit_fields<'a>(
        &'a self,
        path: &pb::nn::ParameterPath<'_>,
        visitor: &mut dyn pb::nn::Visitor<'a>,
    ) {
        <Parameter<
            T,
            D,
        > as pb::nn::Field>::visit(
            &self.0,
            &pb::nn::ParameterPath::item(path, 0),
            visitor,
        );
        <[Buffer<
            T,
            D,
        >; N] as pb::nn::Field>::visit(
            &self.1,
            &pb::nn::ParameterPath::item(path, 1),
            visitor,
        );
    }
    fn visit_fields_mut(
        &mut self,
        path: &pb::nn::ParameterPath<'_>,
        visitor: &mut dyn pb::nn::VisitorMut,
    ) {
        <Parameter<
            T,
            D,
        > as pb::nn::Field>::visit_mut(
            &mut self.0,
            &pb::nn::ParameterPath::item(path, 0),
            visitor,
        );
        <[Buffer<
            T,
            D,
        >; N] as pb::nn::Field>::visit_mut(
            &mut self.1,
            &pb::nn::ParameterPath::item(path, 1),
            visitor,
        );
    }
    fn as_module(&self) -> &dyn pb::nn::Module {
        self
    }
    fn as_module_mut(&mut self) -> &mut dyn pb::nn::Module {
        self
    }
    fn extra_repr(&self) -> ::std::string::String {
        Norm::sizes(self)
    }
}
#[automatically_derived]
#[allow(unused_variables)]
impl<T: Element, D, const N: usize> ::core::fmt::Display for Scale<T, D, N>
where
    D: RemoveAxis,
    T: ::core::marker::Send + ::core::marker::Sync + 'static,
    D: ::core::marker::Send + ::core::marker::Sync + 'static,
    T: pb::Element,
    D: pb::ndarray::Dimension + 'static,
{
    fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        pb::nn::fmt(self, f)
    }
}
#[automatically_derived]
impl<T: Element, D, const N: usize> pb::__private::HoldsTensor for Scale<T, D, N>
where
    D: RemoveAxis,
    T: ::core::marker::Send + ::core::marker::Sync + 'static,
    D: ::core::marker::Send + ::core::marker::Sync + 'static,
    T: pb::Element,
    D: pb::ndarray::Dimension + 'static,
{
    const AS_SKIPPED: ::core::primitive::bool = true;
}
