::core::compile_error! {
    "`#[module]` has no argument `skp`\n= help: did you mean `skip`? its arguments: `skip`, `show`, `rename`"
}
#[automatically_derived]
#[allow(deprecated, unused_variables)]
impl<T: ::core::marker::Send + ::core::marker::Sync + 'static> ::pullback::nn::Module
for Dropout<T> {
    fn name(&self) -> ::std::borrow::Cow<'static, ::core::primitive::str> {
        ::core::panic!("this module has mistakes that the compiler has reported")
    }
    fn visit_fields<'visit>(
        &'visit self,
        path: &::pullback::nn::ParameterPath<'_>,
        visitor: &mut dyn ::pullback::nn::Visitor<'visit>,
    ) {}
    fn visit_fields_mut(
        &mut self,
        path: &::pullback::nn::ParameterPath<'_>,
        visitor: &mut dyn ::pullback::nn::VisitorMut,
    ) {}
    fn as_module(&self) -> &dyn ::pullback::nn::Module {
        self
    }
    fn as_module_mut(&mut self) -> &mut dyn ::pullback::nn::Module {
        self
    }
}
#[automatically_derived]
#[allow(unused_variables)]
impl<T> ::core::fmt::Display for Dropout<T> {
    fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        ::core::panic!("this module has mistakes that the compiler has reported")
    }
}
