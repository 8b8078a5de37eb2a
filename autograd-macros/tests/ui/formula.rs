use pullback::prelude::*;

mod function_of_tensors {
    use super::*;
    #[custom_function(elementwise)]
    pub fn logistic<T: Real>(x: T) -> T { 1.0 / (1.0 + (-x).exp()) }
    #[custom_function(elementwise)]
    pub fn swish<T: Real>(x: T) -> T { x * logistic(x) }
    // A closure of that name is another one.
    #[custom_function(elementwise)]
    pub fn right<T: Real>(x: T) -> T {
        let logistic = |x: T| x * 2.0;
        logistic(x) * Logistic::formula(x)
    }
}

mod function_of_f64 {
    use super::*;
    #[custom_function(elementwise)]
    pub fn logarithm<T: Real>(x: T) -> T { f64::ln(x) }
    // Of values it is right.
    #[custom_function(elementwise)]
    pub fn right<T: Real>(x: T, rate: f64) -> T { x * f64::ln(rate) }
}

mod method_of_a_literal {
    use super::*;
    #[custom_function(elementwise)]
    pub fn octaves<T: Real>(x: T) -> T { 2.0.powf(x) }
}

mod parameter_that_is_impl_real {
    use super::*;
    #[custom_function(elementwise)]
    pub fn square(x: impl Real) -> impl Real { x * x * 2.0 }
}

mod no_return_type {
    use super::*;
    #[custom_function(elementwise)]
    pub fn twice<T: Real>(x: T) { 2.0 * x }
    pub fn used(x: &Tensor1<f64>) -> Tensor1<f64> { twice(x).sum_axis(pullback::ndarray::Axis(0)); twice(x) }
}

mod literal_as_the_result {
    use super::*;
    #[custom_function(elementwise)]
    pub fn step<T: Real>(x: T) -> T { if x > 0.0 { 1.0 } else { 0.0 } }
    // A literal that is computed with is right, and so is one of a local.
    #[custom_function(elementwise)]
    pub fn right<T: Real>(x: T, n: usize) -> T {
        let k = if n > 2 { 1.0 } else { 0.0 };
        match n { 0 => k * x, 1 => ({ 2.0 }) * x, _ => 1.0.into() }
    }
}

fn main() {}
