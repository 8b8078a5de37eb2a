use pullback::ndarray::{Array1, ArrayView1, ArrayView1 as View, Ix1};
use pullback::nn::Parameter;
use pullback::prelude::*;

type Weights = Tensor1<f64>;
type Real = f64;
type Count = usize;
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

mod module_as_a_value {
    use super::*;
    #[custom_function(grad(x) = &grad_output * 2.0)]
    pub fn f(x: ArrayView1<f64>, layer: &pullback::nn::Linear<f64>) -> Array1<f64> { &x * layer.parameter_count() as f64 }
}

mod trait_object_of_a_module {
    use super::*;
    #[custom_function(grad(x) = &grad_output * 2.0)]
    pub fn f(x: ArrayView1<f64>, layers: Vec<&dyn Module>) -> Array1<f64> { &x * layers.len() as f64 }
}

mod derived_struct_of_tensors {
    use super::*;
    pub mod elsewhere {
        use pullback::prelude::*;
        #[derive(Module)]
        pub struct Weights {
            #[module(skip)]
            pub input: Tensor1<f64>,
        }
    }
    #[custom_function(grad(x) = &grad_output * 2.0)]
    pub fn f(x: ArrayView1<f64>, weights: &elsewhere::Weights) -> Array1<f64> { &x * weights.input.len() as f64 }
    // A module without state is data.
    #[custom_function(grad(x) = &grad_output * 2.0)]
    pub fn right(x: ArrayView1<f64>, activation: &pullback::nn::Relu) -> Array1<f64> { let _ = activation; &x * 2.0 }
}

mod skipped_layers {
    use pullback::nn::Linear;
    use super::*;
    #[derive(Module)]
    pub struct Mixture<T: Element, L> {
        #[module(skip)]
        pub backbone: Linear<T>,
        #[module(skip)]
        pub experts: Vec<(usize, Linear<f64>)>,
        #[module(skip)]
        pub both: (usize, Option<Box<Linear<T>>>),
        #[module(skip)]
        pub right: (Tensor1<f64>, Vec<f64>, pullback::nn::Relu),
        pub gate: L,
    }
}

mod number_behind_an_alias {
    use super::*;
    pub struct Scaled;
    #[custom_function]
    impl Scaled {
        #[forward(outputs(y), saves(sum, count))]
        pub fn forward(x: ArrayView1<f64>) -> (Array1<f64>, Vec<Real>, Count) { (&x * x.sum(), vec![x.sum()], 1) }
        #[backward(x)]
        fn backward(grad_y: &Tensor1<f64>, sum: &[Real], count: Count) -> Tensor1<f64> { grad_y * sum[0] * count as f64 }
    }
}

fn main() {}
