use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

mod lifetime_of_the_block {
    use super::*;
    pub struct Scaled<'a>(std::marker::PhantomData<&'a ()>);
    #[custom_function]
    impl<'a> Scaled<'a> {
        #[forward]
        pub fn forward(x: ArrayView1<'a, f64>, factors: &'a [f64]) -> Array1<f64> { &x * factors[0] }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<'a, f64>, factors: &'a [f64]) -> Array1<f64> { &grad_output * factors[0] }
    }
}

mod static_view {
    use super::*;
    #[custom_function(grad(x) = &grad_output * 2.0)]
    pub fn twice(x: ArrayView1<'static, f64>) -> Array1<f64> { &x * 2.0 }
    pub fn used(x: &Tensor1<f64>) -> Tensor1<f64> { twice(x) }
}

mod lifetime_of_forward {
    use super::*;
    pub struct Twice;
    #[custom_function]
    impl Twice {
        #[forward]
        pub fn forward<'a>(x: ArrayView1<'a, f64>, axes: &'a [usize]) -> Array1<f64> { &x * axes.len() as f64 }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<'a, f64>, axes: &'a [usize]) -> Array1<f64> { &grad_output * axes.len() as f64 }
    }
}

mod alias_without_its_lifetime {
    use super::*;
    type Signal<'a> = ArrayView1<'a, f64>;
    #[custom_function(grad(x) = &grad_output * 2.0)]
    pub fn twice(#[tensor] x: Signal) -> Array1<f64> { &x * 2.0 }
}

fn main() {}
