use pullback::ndarray::{Array1, ArrayView1, ArrayView1 as View, Ix1};
use pullback::nn::Parameter;
use pullback::prelude::*;

type Weights = Tensor1<f64>;
type Real = f64;
type Vector = Array1<f64>;
type Generic<T> = Tensor<T, Ix1>;
type OfModule = Parameter<f64, Ix1>;

mod tensor_behind_an_alias {
    use super::*;
    #[custom_function(grad(x) = &grad_output * 2.0)]
    pub fn f(x: ArrayView1<f64>, w: &Weights) -> Array1<f64> { &x * 2.0 + &w.view() }
}

mod view_under_another_name {
    use super::*;
    #[custom_function(grad(x) = &grad_output * 2.0)]
    pub fn f(x: ArrayView1<f64>, w: View<f64>) -> Array1<f64> { &x * 2.0 + &w }
}

mod element_behind_an_alias {
    use super::*;
    #[custom_function(grad(x) = &grad_output * 2.0)]
    pub fn f(x: ArrayView1<f64>, w: ArrayView1<Real>) -> Array1<f64> { &x * 2.0 + &w }
}

mod array_behind_an_alias {
    use super::*;
    #[custom_function(grad(x) = &grad_output * 2.0)]
    pub fn f(x: ArrayView1<f64>, w: Vector) -> Array1<f64> { &x * 2.0 + w }
}

mod optional_and_listed {
    use super::*;
    #[custom_function(grad(x) = &grad_output * 2.0)]
    pub fn f(x: ArrayView1<f64>, w: Option<&Weights>) -> Array1<f64> { &x * f64::from(u8::from(w.is_some())) }
    #[custom_function(grad(x) = &grad_output * 2.0)]
    pub fn g(x: ArrayView1<f64>, w: &[Weights]) -> Array1<f64> { &x * w[0].item() }
}

mod generic_alias {
    use super::*;
    #[custom_function(grad(x) = &grad_output * T::from_f64(2.0))]
    pub fn f<T: Element>(x: ArrayView1<T>, w: &Generic<T>) -> Array1<T> { &x + &w.view() }
}

mod parameter_of_a_module {
    use super::*;
    #[custom_function(grad(x) = &grad_output * 2.0)]
    pub fn f(x: ArrayView1<f64>, w: &OfModule) -> Array1<f64> { &x * 2.0 + &w.view() }
}

mod output_behind_an_alias {
    use super::*;
    #[custom_function(grad(x) = &grad_y * 2.0, outputs(y, z))]
    pub fn f(x: ArrayView1<f64>) -> (Array1<f64>, Vector) { (&x * 2.0, &x * 3.0) }
}

fn main() {}
