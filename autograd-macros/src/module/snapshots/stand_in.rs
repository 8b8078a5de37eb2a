::core::compile_error! {
    "a module cannot have lifetimes, and `Tied` has `'a`\n= help: let the module own its fields; to share a parameter, give each module a clone: clones are tied"
}
#[allow(unused_variables)]
impl<'a> ::pullback::nn::Field for Tied<'a> {
    fn visit<'visit>(
        &'visit self,
        path: &::pullback::nn::ParameterPath<'_>,
        visitor: &mut dyn ::pullback::nn::Visitor<'visit>,
    ) {}
    fn visit_mut(
        &mut self,
        path: &::pullback::nn::ParameterPath<'_>,
        visitor: &mut dyn ::pullback::nn::VisitorMut,
    ) {}
}
impl<'a> ::core::ops::Deref for Tied<'a> {
    type Target = dyn ::pullback::nn::Module;
    fn deref(&self) -> &Self::Target {
        ::core::panic!("this module has mistakes that the compiler has reported")
    }
}
impl<'a> ::core::ops::DerefMut for Tied<'a> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        ::core::panic!("this module has mistakes that the compiler has reported")
    }
}
#[automatically_derived]
#[allow(unused_variables)]
impl<'a> ::core::fmt::Display for Tied<'a> {
    fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        ::core::panic!("this module has mistakes that the compiler has reported")
    }
}
