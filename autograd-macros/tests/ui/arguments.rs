use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

mod crate_is_no_path {
    use super::*;
    pub struct Square;
    #[custom_function(crate = "pullback")]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> { &grad_output * &x * 2.0 }
    }
}

mod empty_list {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward(saves())]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> { &grad_output * &x * 2.0 }
    }
}

mod given_twice {
    use super::*;
    pub struct Square;
    #[custom_function(name = "square", name = "sq")]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> { &grad_output * &x * 2.0 }
    }
}

mod name_is_no_text {
    use super::*;
    pub struct Square;
    #[custom_function(name = square)]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> { &grad_output * &x * 2.0 }
    }
}

mod option_of_backward_twice {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x, once, once)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> { &grad_output * &x * 2.0 }
    }
}

mod named_twice_in_a_list {
    use super::*;
    pub struct Relu;
    #[custom_function]
    impl Relu {
        #[forward(outputs(y, mask), non_differentiable(mask, mask))]
        pub fn forward(x: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) { (x.to_owned(), x.to_owned()) }
        #[backward(x)]
        fn backward(grad_y: ArrayView1<f64>, mask: ArrayView1<f64>) -> Array1<f64> { &grad_y * &mask }
    }
}

mod not_a_bare_name {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x = 1)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> { &grad_output * &x * 2.0 }
    }
}

mod not_in_parentheses {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward = "y"]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> { &grad_output * &x * 2.0 }
    }
}

mod outputs_is_no_list {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward(outputs = y)]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> { &grad_output * &x * 2.0 }
    }
}

mod parameter_attribute_twice {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(
            x: ArrayView1<f32>,
            #[non_differentiable]
            #[non_differentiable]
            mask: ArrayView1<f32>,
        ) -> Array1<f32> {
            &x * &mask
        }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, mask: ArrayView1<f32>) -> Array1<f32> { &grad_output * &mask }
    }
}

mod parameter_attribute_with_arguments {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(
            x: ArrayView1<f32>,
            #[non_differentiable(always)] mask: ArrayView1<f32>,
        ) -> Array1<f32> {
            &x * &mask
        }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, mask: ArrayView1<f32>) -> Array1<f32> { &grad_output * &mask }
    }
}

mod unknown_argument {
    use super::*;
    pub struct Square;
    #[custom_function(nmae = "square")]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> { &grad_output * &x * 2.0 }
    }
}

mod unknown_argument_of_forward {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward(output(y))]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> { &grad_output * &x * 2.0 }
    }
}

mod misspelt_names_of_outputs {
    use super::*;
    pub struct Norm;
    #[custom_function]
    impl Norm {
        #[forward(ouputs(y, mask), saves(mean), non_differentiable(mask))]
        pub fn forward(x: ArrayView1<f32>) -> (Array1<f32>, Array1<f32>, f32) { (x.to_owned(), x.to_owned(), x.sum()) }
        #[backward(x)]
        fn backward(grad_y: ArrayView1<f32>, mean: f32) -> Array1<f32> { &grad_y * mean }
    }
}

mod names_of_what_is_saved_without_parentheses {
    use super::*;
    pub struct Norm;
    #[custom_function]
    impl Norm {
        #[forward(saves = mean)]
        pub fn forward(x: ArrayView1<f32>) -> (Array1<f32>, f32) { (x.to_owned(), x.sum()) }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, mean: f32) -> Array1<f32> { &grad_output * mean }
    }
}

mod quoted_names {
    use super::*;
    pub struct Max;
    #[custom_function]
    impl Max {
        #[forward(outputs("value", "place"))]
        pub fn forward(x: ArrayView1<f32>) -> (Array1<f32>, usize) { (x.to_owned(), 0) }
        #[backward("x")]
        fn backward(grad_value: ArrayView1<f32>, place: usize) -> Array1<f32> { &grad_value * place as f32 }
    }
}

fn main() {}

mod options_of_forward_above_the_block {
    use super::*;
    pub struct Max;
    #[custom_function(outputs(y), saves(place))]
    impl Max {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> (Array1<f32>, usize) { (x.to_owned(), 0) }
        #[backward(x)]
        fn backward(grad_y: ArrayView1<f32>, place: usize) -> Array1<f32> { &grad_y * place as f32 }
    }
}
