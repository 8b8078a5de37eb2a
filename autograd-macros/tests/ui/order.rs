use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

mod arrays_in_tensors_out {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Tensor1<f32> {
            Tensor::from(&grad_output * &x * 2.0)
        }
    }
}

mod tensors_and_arrays {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: &Tensor1<f32>, x: ArrayView1<f32>) -> Tensor1<f32> {
            grad_output * &Tensor::from(x.to_owned())
        }
    }
}

mod tensors_in_arrays_out {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: &Tensor1<f32>, x: &Tensor1<f32>) -> Array1<f32> { (grad_output * x).to_array() }
    }
}

mod mixed_in_the_body {
    use super::*;
    pub struct Product;
    // What the body does with either form is not reported too.
    #[custom_function]
    impl Product {
        #[forward]
        pub fn forward(x: ArrayView1<f32>, w: ArrayView1<f32>) -> Array1<f32> { &x * &w }
        #[backward(x)]
        fn grad_x(grad_output: &Tensor1<f32>, w: ArrayView1<f32>) -> Tensor1<f32> { grad_output * w }
        #[backward(w)]
        fn grad_w(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Tensor1<f32> { &grad_output * &x }
    }
}

mod number_of_forward {
    use super::*;
    pub struct Cubed;
    #[custom_function]
    impl Cubed {
        #[forward(outputs(y), saves(square))]
        pub fn forward(x: ArrayView1<f64>) -> (Array1<f64>, f64) { (&x * x.dot(&x), x.dot(&x)) }
        #[backward(x)]
        fn backward(grad_y: &Tensor1<f64>, x: &Tensor1<f64>, square: f64) -> Tensor1<f64> {
            grad_y * square + x * (grad_y * x).sum() * 2.0
        }
    }
}

mod factors_of_forward {
    use super::*;
    use pullback::kernels::Lu;
    use pullback::ndarray::ArrayView2;
    pub struct Solved;
    #[custom_function]
    impl Solved {
        #[forward(outputs(x), saves(factors))]
        pub fn forward(a: ArrayView2<f64>, b: ArrayView1<f64>) -> (Array1<f64>, Lu<f64>) {
            let factors = Lu::new(&a).expect("not singular");
            (factors.solve(&b), factors)
        }
        #[backward(a, b)]
        fn backward(grad_x: &Tensor1<f64>, x: &Tensor1<f64>, factors: &Lu<f64>) -> (Tensor2<f64>, Tensor1<f64>) {
            let grad_b = Tensor::from(factors.solve_transposed(&grad_x.view()));
            (-grad_b.outer(x), grad_b)
        }
    }
}

mod numbers_of_forward_in_the_short_form {
    use super::*;
    #[custom_function(higher_order, outputs(y, sums), grad(x) = grad_y * sums[0])]
    pub fn scaled(x: ArrayView1<f64>) -> (Array1<f64>, Vec<f64>) { (&x * x.sum(), vec![x.sum()]) }
    // Integers have no derivative, and a function that is differentiable once needs none.
    #[custom_function(higher_order, outputs(y, sums), saves(count), grad(x, once) = grad_y * sums[0] * *count as f64)]
    pub fn right(x: ArrayView1<f64>) -> (Array1<f64>, Vec<f64>, usize) { (&x * x.sum(), vec![x.sum()], 1) }
}

mod number_of_forward_in_a_rule {
    use super::*;
    pub struct Scaled;
    #[custom_function]
    impl Scaled {
        #[forward(outputs(y, sum))]
        pub fn forward(x: ArrayView1<f64>) -> (Array1<f64>, f64) { (&x * x.sum(), x.sum()) }
        #[backward(x)]
        fn backward(grad_y: &Tensor1<f64>, x: &Tensor1<f64>) -> Tensor1<f64> { grad_y * x.sum() + (grad_y * x).sum() }
        #[jvp]
        fn jvp(x: &Tensor1<f64>, tangent_x: &Tensor1<f64>, sum: f64) -> Tensor1<f64> { tangent_x * sum + x * tangent_x.sum() }
    }
}

fn main() {}
