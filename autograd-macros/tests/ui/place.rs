use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

mod type_of_another_function {
    use super::*;
    #[custom_function(grad(x) = &grad_output * 2.0)]
    pub fn conv2d(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
    #[custom_function(grad(x) = &grad_output * 3.0)]
    pub fn conv_2d(x: ArrayView1<f64>) -> Array1<f64> { &x * 3.0 }
    pub fn used(x: &Tensor1<f64>) -> Tensor1<f64> { conv_2d(&conv2d(x)) }
}

mod type_that_is_defined {
    use super::*;
    pub struct Blur {
        pub radius: usize,
    }
    #[custom_function(grad(x) = &grad_output * 2.0)]
    pub fn blur(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
    pub fn used(x: &Tensor1<f64>) -> Tensor1<f64> { blur(x) }
}

mod type_that_is_imported {
    use pullback::nn::{Generator, Linear};
    use super::*;
    #[custom_function(grad(x) = &grad_output * 2.0)]
    pub fn linear(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
    pub fn used() -> Linear<f64> { Linear::new(1, 1, &mut Generator::seed(1)) }
}

mod type_of_a_block {
    use super::*;
    pub struct Cubed;
    #[custom_function]
    impl Cubed {
        #[forward]
        pub fn forward(x: ArrayView1<f64>) -> Array1<f64> { &x * 3.0 }
        #[backward(x)]
        fn backward(grad_output: Array1<f64>) -> Array1<f64> { grad_output * 3.0 }
    }
    #[custom_function(grad(x) = &grad_output * 3.0)]
    pub fn cubed(x: ArrayView1<f64>) -> Array1<f64> { &x * 3.0 }
    pub fn used(x: &Tensor1<f64>) -> Tensor1<f64> { Cubed::apply(&cubed(x)) }
}

mod method {
    use super::*;
    pub struct Ops;
    impl Ops {
        #[custom_function(grad(x) = &grad_output * 2.0)]
        pub fn twice(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
    }
    pub fn used(x: &Tensor1<f64>) -> Tensor1<f64> { Ops::twice(x) }
}

mod method_of_a_trait {
    use super::*;
    pub trait Ops {
        fn twice(x: ArrayView1<f64>) -> Array1<f64>;
    }
    pub struct Cpu;
    impl Ops for Cpu {
        #[custom_function(grad(x) = &grad_output * 2.0)]
        fn twice(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
    }
}

mod method_with_self {
    use super::*;
    pub struct Cpu {
        pub factor: f64,
    }
    impl Cpu {
        #[custom_function(grad(x) = &grad_output * self.factor)]
        pub fn scaled(&self, x: ArrayView1<f64>) -> Array1<f64> { &x * self.factor }
    }
}

mod two_in_a_function {
    use super::*;
    fn caller() {
        #[custom_function(grad(x) = &grad_output * 2.0)]
        fn twice(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
        #[custom_function(grad(x) = &grad_output * 3.0)]
        fn twice(x: ArrayView1<f64>) -> Array1<f64> { &x * 3.0 }
    }
}

mod two_attributes {
    use super::*;
    #[custom_function(grad(x) = &grad_output * 2.0)]
    #[custom_function(gradcheck(x = [3]))]
    pub fn twice(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
    pub fn used(x: &Tensor1<f64>) -> Tensor1<f64> { twice(x) }
}

fn main() {}

mod gradcheck_of_its_own {
    use super::*;
    #[custom_function(grad(x) = &grad_output * 2.0)]
    #[gradcheck(x = [3])]
    pub fn twice(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
    pub fn used(x: &Tensor1<f64>) -> Tensor1<f64> { twice(x) }
}

mod grad_of_its_own {
    use super::*;
    #[custom_function]
    #[grad(x)]
    pub fn twice(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
    pub fn used(x: &Tensor1<f64>) -> Tensor1<f64> { twice(x) }
}

mod forward_of_its_own {
    use super::*;
    #[custom_function(grad(x) = &grad_output * 2.0)]
    #[forward]
    pub fn twice(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
}

mod elementwise_of_its_own {
    use super::*;
    #[custom_function]
    #[elementwise]
    pub fn double<T: Real>(x: T) -> T { 2.0 * x }
    pub fn used(x: &Tensor1<f64>) -> Tensor1<f64> { double(x) }
}
