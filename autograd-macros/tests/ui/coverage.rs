use pullback::ndarray::{Array1, Array2, ArrayView1, ArrayView2};
use pullback::prelude::*;

mod gradient_of_a_borrowed_array {
    use super::*;
    pub struct Scale;
    #[custom_function]
    impl Scale {
        #[forward]
        pub fn forward(x: &Array2<f64>, weight: ArrayView2<f64>) -> Array2<f64> { x * &weight }
        #[backward(x)]
        fn grad_x(grad_output: ArrayView2<f64>, weight: ArrayView2<f64>) -> Array2<f64> { &grad_output * &weight }
        #[backward(weight)]
        fn grad_weight(grad_output: ArrayView2<f64>, x: ArrayView2<f64>) -> Array2<f64> { &grad_output * &x }
    }
}

mod gradient_of_a_value {
    use super::*;
    pub struct Scale;
    #[custom_function]
    impl Scale {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, factor: f64) -> Array1<f64> { &x * factor }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, factor: f64) -> Array1<f64> { &grad_output * factor }
        #[backward(factor)]
        fn grad_factor(grad_output: ArrayView1<f64>) -> f64 { grad_output.sum() }
    }
}

mod gradient_of_an_exempt_input {
    use super::*;
    pub struct Mask;
    #[custom_function]
    impl Mask {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, #[non_differentiable] mask: ArrayView1<f64>) -> Array1<f64> { &x * &mask }
        #[backward(x, mask)]
        fn backward(grad_output: ArrayView1<f64>, mask: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) {
            (&grad_output * &mask, grad_output.to_owned())
        }
    }
}

mod gradient_twice {
    use super::*;
    pub struct Linear;
    #[custom_function]
    impl Linear {
        #[forward]
        pub fn forward(input: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> { input.dot(&weight.t()) }
        #[backward(input)]
        fn grad_input(grad_output: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> { grad_output.dot(&weight) }
        #[backward(weight)]
        fn grad_weight(grad_output: ArrayView2<f32>, input: ArrayView2<f32>) -> Array2<f32> {
            grad_output.t().dot(&input)
        }
        #[backward(input)]
        fn again(grad_output: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> { grad_output.dot(&weight) }
    }
}

mod missing_gradient {
    use super::*;
    pub struct Linear;
    #[custom_function]
    impl Linear {
        #[forward]
        pub fn forward(input: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> { input.dot(&weight.t()) }
        #[backward(input)]
        fn grad_input(grad_output: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> { grad_output.dot(&weight) }
    }
}

mod named_twice {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x, x)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> (Array1<f32>, Array1<f32>) {
            (grad_output.to_owned(), x.to_owned())
        }
    }
}

mod option_misspelt {
    use super::*;
    pub struct Last;
    #[custom_function]
    impl Last {
        #[forward(saves(half))]
        pub fn forward(x: ArrayView1<f64>, y: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) { (&x * 2.0, &y * 0.5) }
        #[backward(x, onec)]
        fn grad_x(grad_output: ArrayView1<f64>, half: &Tensor1<f64>) -> Tensor1<f64> { half * &Tensor::from(grad_output.to_owned()) }
        #[backward(y, ignore_grad)]
        fn grad_y(y: ArrayView1<f64>) -> Array1<f64> { &y * 0.0 }
    }
}

mod plain_and_named {
    use super::*;
    pub struct Linear;
    #[custom_function]
    impl Linear {
        #[forward]
        pub fn forward(input: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> { input.dot(&weight.t()) }
        #[backward(input)]
        fn grad_input(grad_output: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> { grad_output.dot(&weight) }
        #[backward]
        fn all(grad_output: ArrayView2<f32>) -> (Array2<f32>, Array2<f32>) {
            (grad_output.to_owned(), grad_output.to_owned())
        }
    }
}

mod unknown_input {
    use super::*;
    pub struct Linear;
    #[custom_function]
    impl Linear {
        #[forward]
        pub fn forward(input: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> { input.dot(&weight.t()) }
        #[backward(input)]
        fn grad_input(grad_output: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> { grad_output.dot(&weight) }
        #[backward(wieght)]
        fn grad_weight(grad_output: ArrayView2<f32>, input: ArrayView2<f32>) -> Array2<f32> {
            grad_output.t().dot(&input)
        }
    }
}

mod gradient_of_a_number {
    use super::*;
    pub struct F;
    #[custom_function]
    impl F {
        #[forward]
        fn forward(x: ArrayView1<f64>, k: f64) -> Array1<f64> { &x * k }
        #[backward(x)]
        fn gx(grad_output: ArrayView1<f64>, k: f64) -> Array1<f64> { &grad_output * k }
        #[backward(k)]
        fn gk(grad_output: ArrayView1<f64>, x: ArrayView1<f64>) -> f64 { 1.0 }
    }
}

mod short_name_misspelt {
    use super::*;
    pub struct F;
    #[custom_function]
    impl F {
        #[forward]
        fn forward(x: ArrayView1<f64>, w: ArrayView1<f64>) -> Array1<f64> { &x * &w }
        #[backward(x)]
        fn gx(grad_output: ArrayView1<f64>, w: ArrayView1<f64>) -> Array1<f64> { &grad_output * &w }
        #[backward(wieght)]
        fn gw(grad_output: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> { &grad_output * &x }
    }
}

mod listed_twice_and_returned_once {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x, x)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> { &grad_output * &x * 2.0 }
    }
}

mod listed_for_another {
    use super::*;
    pub struct Product;
    #[custom_function]
    impl Product {
        #[forward]
        pub fn forward(x: ArrayView1<f32>, w: ArrayView1<f32>) -> Array1<f32> { &x * &w }
        #[backward(x, w)]
        fn grad_x(grad_output: ArrayView1<f32>, w: ArrayView1<f32>) -> Array1<f32> { &grad_output * &w }
        #[backward(w)]
        fn grad_w(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> { &grad_output * &x }
    }
}

mod missing_with_the_use_of_an_output {
    use super::*;
    pub struct Both;
    // The missing function would ask for `grad_z`.
    #[custom_function]
    impl Both {
        #[forward(outputs(y, z))]
        pub fn forward(x: ArrayView1<f32>, w: ArrayView1<f32>) -> (Array1<f32>, Array1<f32>) {
            (x.to_owned(), w.to_owned())
        }
        #[backward(x)]
        fn backward(grad_y: ArrayView1<f32>) -> Array1<f32> { grad_y.to_owned() }
    }
}

mod no_name_of_two {
    use super::*;
    pub struct Scaled;
    #[custom_function]
    impl Scaled {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, weight: ArrayView1<f64>) -> Array1<f64> { &x * &weight }
        #[backward(temperature)]
        fn backward(grad_output: ArrayView1<f64>, weight: ArrayView1<f64>) -> Array1<f64> { &grad_output * &weight }
    }
}

mod no_name_and_a_misspelt_one {
    use super::*;
    pub struct Affine;
    // `temperature` may be meant to be `bias`, which is not missing then.
    #[custom_function]
    impl Affine {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, weight: ArrayView1<f64>, bias: ArrayView1<f64>) -> Array1<f64> { &x * &weight + &bias }
        #[backward(x)]
        fn grad_x(grad_output: ArrayView1<f64>, weight: ArrayView1<f64>) -> Array1<f64> { &grad_output * &weight }
        #[backward(temperature)]
        fn grad_temperature(grad_output: ArrayView1<f64>) -> Array1<f64> { grad_output.to_owned() }
        #[backward(wieght)]
        fn grad_weight(grad_output: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> { &grad_output * &x }
    }
}

fn main() {}

mod name_that_was_copied {
    use super::*;
    pub struct Product;
    #[custom_function]
    impl Product {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, w: ArrayView1<f64>) -> Array1<f64> { &x * &w }
        #[backward(x)]
        fn grad_x(grad_output: ArrayView1<f64>, w: ArrayView1<f64>) -> Array1<f64> { &grad_output * &w }
        #[backward(x)]
        fn grad_w(grad_output: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> { &grad_output * &x }
    }
}
