use pullback::ndarray::{Array1, ArrayView1, arr1};
use pullback::prelude::*;

mod asks_for_the_input {
    use super::*;
    pub struct Scale;
    #[custom_function]
    impl Scale {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, factor: f64) -> Array1<f64> { &x * factor }
        #[adjoint(x)]
        fn adjoint(grad_output: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> { &grad_output * &x }
    }
    fn caller(x: &Tensor1<f64>) -> Tensor1<f64> { Scale::apply(x, 2.0) }
}

mod asks_for_the_output {
    use super::*;
    pub struct Scale;
    #[custom_function]
    impl Scale {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, factor: f64) -> Array1<f64> { &x * factor }
        #[adjoint(x)]
        fn adjoint(grad_output: ArrayView1<f64>, output: ArrayView1<f64>) -> Array1<f64> { &grad_output * &output }
    }
}

mod asks_for_an_intermediate {
    use super::*;
    pub struct Scale;
    #[custom_function]
    impl Scale {
        #[forward(outputs(y), saves(twice))]
        pub fn forward(x: ArrayView1<f64>, factor: f64) -> (Array1<f64>, f64) { (&x * factor, 2.0 * factor) }
        #[adjoint(x)]
        fn adjoint(grad_y: ArrayView1<f64>, twice: f64) -> Array1<f64> { &grad_y * twice }
    }
}

mod beside_a_backward_function {
    use super::*;
    pub struct Scale;
    #[custom_function]
    impl Scale {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, factor: f64) -> Array1<f64> { &x * factor }
        #[adjoint(x)]
        fn adjoint(grad_output: ArrayView1<f64>, factor: f64) -> Array1<f64> { &grad_output * factor }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, factor: f64) -> Array1<f64> { &grad_output * factor }
    }
}

mod beside_a_rule {
    use super::*;
    pub struct Scale;
    #[custom_function]
    impl Scale {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, factor: f64) -> Array1<f64> { &x * factor }
        #[adjoint(x)]
        fn adjoint(grad_output: ArrayView1<f64>, factor: f64) -> Array1<f64> { &grad_output * factor }
        #[jvp]
        fn jvp(tangent_x: ArrayView1<f64>, factor: f64) -> Array1<f64> { &tangent_x * factor }
    }
}

mod two {
    use super::*;
    pub struct Scale;
    #[custom_function]
    impl Scale {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, factor: f64) -> Array1<f64> { &x * factor }
        #[adjoint(x)]
        fn adjoint(grad_output: ArrayView1<f64>, factor: f64) -> Array1<f64> { &grad_output * factor }
        #[adjoint(x)]
        fn again(grad_output: ArrayView1<f64>, factor: f64) -> Array1<f64> { &grad_output * factor }
    }
}

mod not_of_all_inputs {
    use super::*;
    pub struct Scale;
    #[custom_function]
    impl Scale {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, y: ArrayView1<f64>) -> Array1<f64> { &x + &y }
        #[adjoint(x)]
        fn adjoint(grad_output: ArrayView1<f64>) -> Array1<f64> { grad_output.to_owned() }
    }
}

mod of_an_optional_input {
    use super::*;
    pub struct Scale;
    #[custom_function]
    impl Scale {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, y: Option<ArrayView1<f64>>) -> Array1<f64> { match y { Some(y) => &x + &y, None => x.to_owned() } }
        #[adjoint(x, y)]
        fn adjoint(grad_output: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) { (grad_output.to_owned(), grad_output.to_owned()) }
    }
}

mod unknown_input {
    use super::*;
    pub struct Scale;
    #[custom_function]
    impl Scale {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, factor: f64) -> Array1<f64> { &x * factor }
        #[adjoint(z)]
        fn adjoint(grad_output: ArrayView1<f64>, factor: f64) -> Array1<f64> { &grad_output * factor }
    }
}

mod of_a_value {
    use super::*;
    pub struct Scale;
    #[custom_function]
    impl Scale {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, factor: f64) -> Array1<f64> { &x * factor }
        #[adjoint(factor)]
        fn adjoint(grad_output: ArrayView1<f64>, factor: f64) -> Array1<f64> { &grad_output * factor }
    }
}

mod ignores_the_gradient {
    use super::*;
    pub struct Scale;
    #[custom_function]
    impl Scale {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, factor: f64) -> Array1<f64> { &x * factor }
        #[adjoint(x)]
        fn adjoint(factor: f64) -> Array1<f64> { arr1(&[factor]) }
    }
}

mod another_rank {
    use super::*;
    pub struct Scale;
    #[custom_function]
    impl Scale {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, factor: f64) -> Array1<f64> { &x * factor }
        #[adjoint(x)]
        fn adjoint(grad_output: ArrayView1<f64>, factor: f64) -> pullback::ndarray::Array2<f64> { pullback::ndarray::Array2::zeros((1, 1)) * factor }
    }
}

mod unknown_name {
    use super::*;
    pub struct Scale;
    #[custom_function]
    impl Scale {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, factor: f64) -> Array1<f64> { &x * factor }
        #[adjoint(x)]
        fn adjoint(grad_output: ArrayView1<f64>, facotr: f64) -> Array1<f64> { &grad_output * facotr }
    }
}

mod asks_for_flags {
    use super::*;
    pub struct Scale;
    #[custom_function]
    impl Scale {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, factor: f64) -> Array1<f64> { &x * factor }
        #[adjoint(x)]
        fn adjoint(grad_output: ArrayView1<f64>, needs_input_grad: ScaleNeedsInputGrad) -> Array1<f64> { &grad_output * 2.0 }
    }
}

mod optional_gradient {
    use super::*;
    pub struct Scale;
    #[custom_function]
    impl Scale {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, factor: f64) -> Array1<f64> { &x * factor }
        #[adjoint(x)]
        fn adjoint(grad_output: Option<ArrayView1<f64>>, factor: f64) -> Array1<f64> { &grad_output.unwrap() * factor }
    }
}

mod misspelled {
    use super::*;
    pub struct Scale;
    #[custom_function]
    impl Scale {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, factor: f64) -> Array1<f64> { &x * factor }
        #[adjont(x)]
        fn adjoint(grad_output: ArrayView1<f64>, factor: f64) -> Array1<f64> { &grad_output * factor }
    }
}

mod in_a_block {
    use super::*;
    pub struct Scale;
    #[custom_function(adjoint(x) = &grad_output * *factor)]
    impl Scale {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, factor: f64) -> Array1<f64> { &x * factor }
    }
}

mod beside_a_gradient {
    use super::*;
    #[custom_function(adjoint(x) = &grad_output * *factor, grad(x) = &grad_output * *factor)]
    pub fn scale(x: ArrayView1<f64>, factor: f64) -> Array1<f64> { &x * factor }
    fn caller(x: &Tensor1<f64>) -> Tensor1<f64> { scale(x, 2.0) }
}

mod asks_for_the_input_in_the_short_form {
    use super::*;
    #[custom_function(adjoint(x) = &grad_output * &x)]
    pub fn square(x: ArrayView1<f64>) -> Array1<f64> { &x * &x }
}

mod without_an_expression {
    use super::*;
    #[custom_function(adjoint(x))]
    pub fn double(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
}

mod without_an_input {
    use super::*;
    #[custom_function(adjoint = &grad_output * 2.0)]
    pub fn double(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
}

mod asks_for_one_of_two_inputs {
    use super::*;
    pub struct Product;
    #[custom_function]
    impl Product {
        #[forward]
        pub fn forward(values: ArrayView1<f64>, b: ArrayView1<f64>) -> Array1<f64> { &values * &b }
        #[adjoint(values, b)]
        fn adjoint(grad_output: ArrayView1<f64>, values: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) { (grad_output.to_owned(), &grad_output * &values) }
    }
}

mod asks_for_an_input_that_is_not_exempt {
    use super::*;
    pub struct Product;
    #[custom_function]
    impl Product {
        #[forward]
        pub fn forward(values: ArrayView1<f64>, b: ArrayView1<f64>) -> Array1<f64> { &values * &b }
        #[adjoint(b)]
        fn adjoint(grad_output: ArrayView1<f64>, values: ArrayView1<f64>) -> Array1<f64> { &grad_output * &values }
    }
    fn caller(x: &Tensor1<f64>) -> Tensor1<f64> { Product::apply(x, x) }
}

mod asks_for_one_of_two_inputs_in_the_short_form {
    use super::*;
    #[custom_function(adjoint(b) = &grad_output * &values)]
    pub fn product(values: ArrayView1<f64>, b: ArrayView1<f64>) -> Array1<f64> { &values * &b }
}

mod an_array_among_tensors {
    use super::*;
    pub struct Scale;
    #[custom_function]
    impl Scale {
        #[forward(outputs(y, z))]
        pub fn forward(x: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) { (&x * 2.0, &x * 3.0) }
        #[adjoint(x)]
        fn adjoint(grad_y: &Tensor1<f64>, grad_z: ArrayView1<f64>) -> Tensor1<f64> { grad_y * 2.0 + Tensor::from(&grad_z * 3.0) }
    }
}

mod returns_an_option {
    use super::*;
    pub struct Scale;
    #[custom_function]
    impl Scale {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, factor: f64) -> Array1<f64> { &x * factor }
        #[adjoint(x)]
        fn adjoint(grad_output: ArrayView1<f64>, factor: f64) -> Option<Array1<f64>> { Some(&grad_output * factor) }
    }
}

mod returns_the_struct_of_gradients {
    use super::*;
    pub struct Sum;
    #[custom_function]
    impl Sum {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, y: ArrayView1<f64>) -> Array1<f64> { &x + &y }
        #[adjoint(x, y)]
        fn adjoint(grad_output: ArrayView1<f64>) -> SumGradients { SumGradients { x: grad_output.to_owned(), y: grad_output.to_owned() } }
    }
}

mod ignores_one_of_two_gradients {
    use super::*;
    pub struct Scale;
    #[custom_function]
    impl Scale {
        #[forward(outputs(y, z))]
        pub fn forward(x: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) { (&x * 2.0, &x * 3.0) }
        #[adjoint(x)]
        fn adjoint(grad_y: ArrayView1<f64>) -> Array1<f64> { &grad_y * 2.0 }
    }
}

mod estimated {
    use super::*;
    pub struct Scale;
    #[custom_function(gradcheck(x = [3], factor = 2.0, estimated(x)))]
    impl Scale {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, factor: f64) -> Array1<f64> { &x * factor }
        #[adjoint(x)]
        fn adjoint(grad_output: ArrayView1<f64>, factor: f64) -> Array1<f64> { &grad_output * factor }
    }
}

mod axis_of_another_type {
    use super::*;
    pub struct Scale;
    #[custom_function(shapes(x = [n], output = [n]))]
    impl Scale {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, factor: f64) -> Array1<f64> { &x * factor }
        #[adjoint(x)]
        fn adjoint(grad_output: ArrayView1<f64>, factor: f64, n: f64) -> Array1<f64> { &grad_output * factor * (n / n) }
    }
}

mod a_value_that_cannot_be_saved {
    use super::*;
    pub struct Table;
    pub struct Scale;
    #[custom_function]
    impl Scale {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, table: &Table) -> Array1<f64> { &x * 2.0 }
        #[adjoint(x)]
        fn adjoint(grad_output: ArrayView1<f64>, table: &Table) -> Array1<f64> { let _ = table; &grad_output * 2.0 }
    }
}

mod without_the_attribute_of_the_block {
    use super::*;
    pub struct Scale;
    impl Scale {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, factor: f64) -> Array1<f64> { &x * factor }
        #[adjoint(x)]
        fn adjoint(grad_output: ArrayView1<f64>, factor: f64) -> Array1<f64> { &grad_output * factor }
    }
}

mod shape_of_another_type {
    use super::*;
    pub struct Total;
    #[custom_function]
    impl Total {
        #[forward]
        pub fn forward(x: ArrayView1<f64>) -> Array1<f64> { arr1(&[x.sum()]) }
        #[adjoint(x)]
        fn adjoint(grad_output: ArrayView1<f64>, shape_x: usize) -> Array1<f64> {
            Array1::from_elem(shape_x, grad_output[0])
        }
    }
}

mod shape_owned {
    use super::*;
    pub struct Total;
    #[custom_function]
    impl Total {
        #[forward]
        pub fn forward(x: ArrayView1<f64>) -> Array1<f64> { arr1(&[x.sum()]) }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, shape_x: Vec<usize>) -> Array1<f64> {
            Array1::from_elem(shape_x[0], grad_output[0])
        }
    }
}

mod shape_by_another_name {
    use super::*;
    pub struct Total;
    #[custom_function]
    impl Total {
        #[forward]
        pub fn forward(x: ArrayView1<f64>) -> Array1<f64> { arr1(&[x.sum()]) }
        #[adjoint(x)]
        fn adjoint(grad_output: ArrayView1<f64>, x_shape: &[usize]) -> Array1<f64> {
            Array1::from_elem(x_shape[0], grad_output[0])
        }
    }
}

mod shape_of_a_list {
    use super::*;
    pub struct Total;
    #[custom_function]
    impl Total {
        #[forward]
        pub fn forward(parts: &[ArrayView1<f64>]) -> Array1<f64> { arr1(&[parts.iter().map(|x| x.sum()).sum()]) }
        #[backward(parts)]
        fn backward(grad_output: ArrayView1<f64>, shape_parts: &[usize]) -> Vec<Array1<f64>> {
            shape_parts.iter().map(|n| Array1::from_elem(*n, grad_output[0])).collect()
        }
    }
}

mod shape_in_a_residual {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward]
        pub fn forward(x: ArrayView1<f64>) -> Array1<f64> { x.mapv(f64::sqrt) }
        #[residual]
        fn residual(output: &Tensor1<f64>, x: &Tensor1<f64>, shape_x: &[usize]) -> Tensor1<f64> { output * output - x }
    }
}

mod shape_in_a_rule {
    use super::*;
    pub struct Twice;
    #[custom_function]
    impl Twice {
        #[forward]
        pub fn forward(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
        #[backward(x)]
        fn backward(grad_output: &Tensor1<f64>) -> Tensor1<f64> { grad_output * 2.0 }
        #[jvp]
        fn jvp(tangent_x: &Tensor1<f64>, shape_x: &[usize]) -> Tensor1<f64> { tangent_x * 2.0 }
    }
}

fn main() {}
