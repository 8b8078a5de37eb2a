use pullback::ndarray::{Array1, Array2, ArrayView1, ArrayView2};
use pullback::prelude::*;

mod alias_without_tensor {
    use super::*;
    type Matrix<'a> = ArrayView2<'a, f64>;
    pub struct Double;
    #[custom_function]
    impl Double {
        #[forward]
        pub fn forward(x: Matrix<'_>) -> Array2<f64> { &x * 2.0 }
        #[backward(x)]
        fn backward(grad_output: ArrayView2<f64>) -> Array2<f64> { &grad_output * 2.0 }
    }
}

mod each_of_a_function_of_arrays {
    use super::*;
    #[custom_function(grad(x) = &grad_output * labels[0] as f64)]
    pub fn scaled(x: ArrayView1<f64>, #[each] labels: &[i64]) -> Array1<f64> { &x * labels[0] as f64 }
}

mod each_of_a_tensor {
    use super::*;
    pub struct Double;
    #[custom_function]
    impl Double {
        #[forward]
        pub fn forward(#[each] x: ArrayView2<f64>) -> Array2<f64> { &x * 2.0 }
        #[backward(x)]
        fn backward(grad_output: ArrayView2<f64>) -> Array2<f64> { &grad_output * 2.0 }
    }
}

mod hidden_in_a_tuple {
    use super::*;
    pub struct Add;
    #[custom_function]
    impl Add {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, pair: (ArrayView1<f64>, ArrayView1<f64>)) -> Array1<f64> {
            &x + &pair.0 + &pair.1
        }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { grad_output.to_owned() }
    }
}

mod map_of_tensors {
    use super::*;
    use std::collections::HashMap;
    pub struct Sum;
    #[custom_function]
    impl Sum {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, others: &HashMap<String, Tensor1<f64>>) -> Array1<f64> { &x * others.len() as f64 }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { grad_output.to_owned() }
    }
}

mod impl_trait {
    use super::*;
    pub struct Map;
    #[custom_function]
    impl Map {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, f: impl Fn(f64) -> f64) -> Array1<f64> { x.mapv(f) }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { grad_output.to_owned() }
    }
}

mod no_name {
    use super::*;
    pub struct Scale;
    #[custom_function]
    impl Scale {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, (a, b): (f64, f64)) -> Array1<f64> { &x * (a * b) }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { grad_output.to_owned() }
    }
}

mod no_name_in_backward {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, _: ArrayView1<f32>) -> Array1<f32> { grad_output.to_owned() }
    }
}

mod non_differentiable_value {
    use super::*;
    pub struct Scale;
    #[custom_function]
    impl Scale {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, #[non_differentiable] factor: f64) -> Array1<f64> { &x * factor }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, factor: f64) -> Array1<f64> { &grad_output * factor }
    }
}

mod nothing_differentiable {
    use super::*;
    pub struct Ones;
    #[custom_function]
    impl Ones {
        #[forward]
        pub fn forward(length: usize) -> Array1<f64> { Array1::ones(length) }
        #[backward]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { grad_output.to_owned() }
    }
}

mod only_a_borrowed_array {
    use super::*;
    #[custom_function(grad(x) = &grad_output * 2.0)]
    pub fn double(x: &Array1<f64>) -> Array1<f64> { x * 2.0 }
}

mod tensor_attribute_on_a_number {
    use super::*;
    pub struct Scale;
    #[custom_function]
    impl Scale {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, #[tensor] factor: f64) -> Array1<f64> { &x * factor }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, factor: f64) -> Array1<f64> { &grad_output * factor }
    }
}

mod tensor_attribute_on_a_vector {
    use super::*;
    type Row<'a> = ArrayView1<'a, f64>;
    pub struct Sum;
    #[custom_function]
    impl Sum {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, #[tensor] rows: Vec<Row<'_>>) -> Array1<f64> { &x + &rows[0] }
        #[backward(x, rows)]
        fn backward(grad_output: ArrayView1<f64>, rows: &[ArrayView1<f64>]) -> (Array1<f64>, Vec<Array1<f64>>) {
            (grad_output.to_owned(), vec![grad_output.to_owned(); rows.len()])
        }
    }
}

mod tensor_by_value {
    use super::*;
    pub struct Double;
    #[custom_function]
    impl Double {
        #[forward]
        pub fn forward(x: Tensor1<f64>) -> Tensor1<f64> { &x + &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { &grad_output * 2.0 }
    }
}

mod view_by_reference {
    use super::*;
    #[custom_function(grad(x) = &grad_output * 2.0)]
    pub fn double(x: &ArrayView1<f64>) -> Array1<f64> { x * 2.0 }
}

mod shared_array {
    use super::*;
    #[custom_function(grad(x) = &grad_output * 2.0)]
    pub fn f(x: ArrayView1<f64>, w: pullback::ndarray::ArcArray1<f64>) -> Array1<f64> { &x * 2.0 + &w }
}

mod parameter {
    use super::*;
    #[custom_function(grad(x) = &grad_output * 2.0)]
    pub fn f(x: ArrayView1<f64>, w: &pullback::nn::Parameter<f64, pullback::ndarray::Ix1>) -> Array1<f64> { &x * 2.0 + &w.view() }
}

mod needs_input_grad_of_another_type {
    use super::*;
    pub struct Double;
    #[custom_function]
    impl Double {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, needs_input_grad: bool) -> Array1<f64> { if needs_input_grad { &x * 2.0 } else { x.to_owned() } }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { &grad_output * 2.0 }
    }
}

mod named_twice {
    use super::*;
    pub struct Product;
    #[custom_function(gradcheck(x = [3]))]
    impl Product {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> { &grad_output * &x }
    }
}

mod view_by_reference_with_a_gradient {
    use super::*;
    pub struct Product;
    #[custom_function(gradcheck(x = [3], w = [3] in -1.0..1.0))]
    impl Product {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, w: &ArrayView1<f64>) -> Array1<f64> { &x * w }
        #[backward]
        fn backward(
            grad_output: ArrayView1<f64>,
            x: ArrayView1<f64>,
            w: ArrayView1<f64>,
            needs_input_grad: ProductNeedsInputGrad,
        ) -> (Array1<f64>, Option<Array1<f64>>) {
            (&grad_output * &w, needs_input_grad.w.then(|| &grad_output * &x))
        }
    }
}

mod struct_of_tensors {
    use super::*;
    pub struct Weights {
        pub input: Tensor1<f64>,
    }
    pub struct Scaled;
    #[custom_function]
    impl Scaled {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, weights: Option<&Weights>) -> Array1<f64> { &x * weights.map_or(1.0, |w| w.input.view()[0]) }
        #[backward(x)]
        fn backward(grad_output: Array1<f64>) -> Array1<f64> { grad_output }
    }
}

mod iterator_of_views {
    use super::*;
    pub struct Sum;
    #[custom_function]
    impl Sum {
        #[forward]
        pub fn forward<'a>(x: ArrayView1<f64>, parts: impl Iterator<Item = ArrayView1<'a, f64>>) -> Array1<f64> {
            parts.fold(x.to_owned(), |sum, part| sum + &part)
        }
        #[backward(x)]
        fn backward(grad_output: Array1<f64>) -> Array1<f64> { grad_output }
    }
}

mod parameter_of_the_block_that_gives_views {
    use super::*;
    pub struct Sum<P>(std::marker::PhantomData<P>);
    #[custom_function]
    impl<P: Iterator<Item = ArrayView1<'static, f64>>> Sum<P> {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, parts: P) -> Array1<f64> { parts.fold(x.to_owned(), |sum, part| sum + &part) }
        #[backward(x)]
        fn backward(grad_output: Array1<f64>) -> Array1<f64> { grad_output }
    }
}

mod complex_elements {
    use super::*;
    pub type Complex<T> = (T, T);
    pub struct Double;
    #[custom_function]
    impl Double {
        #[forward]
        pub fn forward(x: ArrayView1<Complex<f64>>, y: ArrayView1<f64>) -> Array1<f64> { x.mapv(|x| x.0) + y }
        #[backward(x, y)]
        fn backward(grad_output: ArrayView1<f64>) -> (Array1<Complex<f64>>, Array1<f64>) { (grad_output.mapv(|x| (x, 0.0)), grad_output.to_owned()) }
    }
}

fn main() {}

mod reference_to_an_option {
    use super::*;
    pub struct Shift;
    #[custom_function]
    impl Shift {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, bias: &Option<ArrayView1<f64>>) -> Array1<f64> { match bias { Some(bias) => &x + bias, None => x.to_owned() } }
        #[backward]
        fn backward(grad_output: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) { (grad_output.to_owned(), grad_output.to_owned()) }
    }
}

mod exclusive_reference_to_an_array {
    use super::*;
    pub struct Double;
    #[custom_function]
    impl Double {
        #[forward]
        pub fn forward(x: &mut Array1<f64>) { *x *= 2.0; }
        #[backward(x)]
        fn backward(grad_output: Array1<f64>) -> Array1<f64> { grad_output * 2.0 }
    }
}

mod view_in_a_box {
    use super::*;
    pub struct Double;
    #[custom_function]
    impl Double {
        #[forward]
        pub fn forward(x: Box<ArrayView1<f64>>) -> Array1<f64> { &*x * 2.0 }
        #[backward(x)]
        fn backward(grad_output: Array1<f64>) -> Array1<f64> { grad_output * 2.0 }
    }
}
