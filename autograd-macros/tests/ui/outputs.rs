use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

mod all_exempt {
    use super::*;
    pub struct Sign;
    #[custom_function]
    impl Sign {
        #[forward(non_differentiable(output))]
        pub fn forward(x: ArrayView1<f64>) -> Array1<f64> { x.mapv(f64::signum) }
        #[backward(x, ignores_grad)]
        fn backward(x: ArrayView1<f64>) -> Array1<f64> { Array1::zeros(x.len()) }
    }
}

mod borrowed {
    use super::*;
    pub struct Id;
    #[custom_function]
    impl Id {
        #[forward]
        pub fn forward(x: ArrayView1<'static, f64>) -> ArrayView1<'static, f64> { x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { grad_output.to_owned() }
    }
}

mod everything_saved {
    use super::*;
    pub struct Norm;
    #[custom_function]
    impl Norm {
        #[forward(saves(mean, rstd))]
        pub fn forward(x: ArrayView1<f64>) -> (Array1<f64>, f64) { (x.to_owned(), x.sum()) }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, mean: f64, rstd: f64) -> Array1<f64> { &grad_output * (mean + rstd) }
    }
}

mod exempt_value {
    use super::*;
    pub struct Relu;
    #[custom_function]
    impl Relu {
        #[forward(outputs(y, index), non_differentiable(index))]
        pub fn forward(x: ArrayView1<f64>) -> (Array1<f64>, usize) { (x.to_owned(), 0) }
        #[backward(x)]
        fn backward(grad_y: ArrayView1<f64>) -> Array1<f64> { grad_y.to_owned() }
    }
}

mod list {
    use super::*;
    pub struct Split;
    #[custom_function]
    impl Split {
        #[forward]
        pub fn forward(x: ArrayView1<f64>) -> Vec<Array1<f64>> { vec![x.to_owned()] }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { grad_output.to_owned() }
    }
}

mod nested_tuple {
    use super::*;
    pub struct Split;
    #[custom_function]
    impl Split {
        #[forward(outputs(y, rest))]
        pub fn forward(x: ArrayView1<f64>) -> (Array1<f64>, (Array1<f64>, usize)) { (x.to_owned(), (x.to_owned(), 1)) }
        #[backward(x)]
        fn backward(grad_y: ArrayView1<f64>) -> Array1<f64> { grad_y.to_owned() }
    }
}

mod no_floats {
    use super::*;
    pub struct Argmax;
    #[custom_function]
    impl Argmax {
        #[forward]
        pub fn forward(x: ArrayView1<f64>) -> usize { x.len() }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { grad_output.to_owned() }
    }
}

mod nothing_returned {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) { let _ = x; }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> { &grad_output * &x * 2.0 }
    }
}

mod optional {
    use super::*;
    pub struct Id;
    #[custom_function]
    impl Id {
        #[forward]
        pub fn forward(x: ArrayView1<f64>) -> Option<Array1<f64>> { Some(x.to_owned()) }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { grad_output.to_owned() }
    }
}

mod unknown_exemption {
    use super::*;
    pub struct Relu;
    #[custom_function]
    impl Relu {
        #[forward(outputs(y, mask), non_differentiable(maks))]
        pub fn forward(x: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) { (x.to_owned(), x.to_owned()) }
        #[backward(x)]
        fn backward(grad_y: ArrayView1<f64>, grad_mask: ArrayView1<f64>) -> Array1<f64> { &grad_y * &grad_mask }
    }
}

mod wrong_count_of_outputs {
    use super::*;
    pub struct Norm;
    #[custom_function]
    impl Norm {
        #[forward(outputs(y))]
        pub fn forward(x: ArrayView1<f64>) -> (Array1<f64>, f64) { (x.to_owned(), x.sum()) }
        #[backward(x)]
        fn backward(grad_y: ArrayView1<f64>) -> Array1<f64> { &grad_y * 2.0 }
    }
}

mod wrong_count_of_saves {
    use super::*;
    pub struct Norm;
    #[custom_function]
    impl Norm {
        #[forward(outputs(y), saves(mean, rstd))]
        pub fn forward(x: ArrayView1<f64>) -> (Array1<f64>, f64) { (x.to_owned(), x.sum()) }
        #[backward(x)]
        fn backward(grad_y: ArrayView1<f64>, mean: f64, rstd: f64) -> Array1<f64> { &grad_y * (mean + rstd) }
    }
}

mod shared_array {
    use super::*;
    #[custom_function(grad(x) = &grad_output * 2.0)]
    pub fn f(x: ArrayView1<f64>) -> pullback::ndarray::ArcArray1<f64> { x.to_shared() }
}

mod optional_in_a_list {
    use super::*;
    pub struct Parts;
    #[custom_function]
    impl Parts {
        #[forward]
        pub fn forward(x: ArrayView1<f64>) -> Vec<Option<Array1<f64>>> { vec![Some(x.to_owned())] }
        #[backward(x)]
        fn backward(grad_output: &[Option<ArrayView1<f64>>]) -> Array1<f64> { Array1::zeros(grad_output.len()) }
    }
}

mod number_beside_an_exempt_array {
    use super::*;
    pub struct Loss;
    #[custom_function]
    impl Loss {
        #[forward(outputs(loss, residual), non_differentiable(residual))]
        pub fn forward(x: ArrayView1<f64>) -> (f64, Array1<f64>) { (x.dot(&x), x.to_owned()) }
        #[backward(x)]
        fn backward(grad_loss: f64, residual: Array1<f64>) -> Array1<f64> { residual * 2.0 * grad_loss }
    }
}

mod option_of_a_tuple {
    use super::*;
    pub struct Find;
    #[custom_function]
    impl Find {
        #[forward(outputs(rows, count))]
        pub fn forward(x: ArrayView1<f64>) -> Option<(Array1<f64>, usize)> { Some((x.to_owned(), x.len())) }
        #[backward(x)]
        fn backward(grad_rows: ArrayView1<f64>, count: usize) -> Array1<f64> { &grad_rows * count as f64 }
    }
}

mod exemption_of_an_input {
    use super::*;
    pub struct Masked;
    #[custom_function]
    impl Masked {
        #[forward(non_differentiable(mask))]
        pub fn forward(x: ArrayView1<f64>, mask: ArrayView1<f64>) -> Array1<f64> { &x * &mask }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, mask: ArrayView1<f64>) -> Array1<f64> { &grad_output * &mask }
    }
}

fn main() {}

mod reference_to_a_tensor {
    use super::*;
    pub struct Same;
    #[custom_function]
    impl Same {
        #[forward]
        pub fn forward(x: &Tensor1<f64>) -> &Tensor1<f64> { x }
        #[backward(x)]
        fn backward(grad_output: &Tensor1<f64>) -> Tensor1<f64> { grad_output.clone() }
    }
}

mod result_of_each {
    use super::*;
    pub struct Both;
    #[custom_function]
    impl Both {
        #[forward]
        pub fn forward(x: ArrayView1<f64>) -> (Result<Array1<f64>, String>, Result<Array1<f64>, String>) { (Ok(x.to_owned()), Ok(x.to_owned())) }
        #[backward(x)]
        fn backward(grad_output_0: ArrayView1<f64>, grad_output_1: ArrayView1<f64>) -> Array1<f64> { &grad_output_0 + &grad_output_1 }
    }
}
