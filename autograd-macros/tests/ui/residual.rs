use pullback::ndarray::{Array1, Array2, ArrayView1, ArrayView2, ArrayViewMut1};
use pullback::prelude::*;

mod adjoint_beside {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward]
        pub fn forward(a: ArrayView1<f64>, b: ArrayView1<f64>) -> Array1<f64> { &a + &b }
        #[residual]
        fn residual(output: &Tensor1<f64>, a: &Tensor1<f64>, b: &Tensor1<f64>) -> Tensor1<f64> { output - a - b }
        #[adjoint(a, b)]
        fn adjoint(grad_output: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) { (grad_output.to_owned(), grad_output.to_owned()) }
    }
}

mod alone_in_one_element_type {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward]
        pub fn forward(a: ArrayView1<f64>, b: ArrayView1<f32>) -> Array1<f64> { &a * b.len() as f64 }
        #[residual]
        fn residual(output: &Tensor1<f64>, a: &Tensor1<f64>, b: &Tensor1<f32>) -> Tensor1<f64> { output - a * b.len() as f64 }
    }
}

mod arrays {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward]
        pub fn forward(a: ArrayView1<f64>, b: ArrayView1<f64>) -> Array1<f64> { &a + &b }
        #[residual]
        fn residual(output: ArrayView1<f64>, a: ArrayView1<f64>, b: ArrayView1<f64>) -> Array1<f64> { &output - &a - b }
    }
}

mod array_returned {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward]
        pub fn forward(a: ArrayView1<f64>, b: ArrayView1<f64>) -> Array1<f64> { &a + &b }
        #[residual]
        fn residual(output: &Tensor1<f64>, a: &Tensor1<f64>, b: &Tensor1<f64>) -> Array1<f64> { (output - a - b).into_array() }
    }
}

mod backward_beside {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward]
        pub fn forward(a: ArrayView1<f64>, b: ArrayView1<f64>) -> Array1<f64> { &a + &b }
        #[residual]
        fn residual(output: &Tensor1<f64>, a: &Tensor1<f64>, b: &Tensor1<f64>) -> Tensor1<f64> { output - a - b }
        #[backward]
        fn backward(grad_output: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) { (grad_output.to_owned(), grad_output.to_owned()) }
    }
}

mod computed_number {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward(outputs(y), saves(sum))]
        pub fn forward(a: ArrayView1<f64>, b: ArrayView1<f64>) -> (Array1<f64>, f64) { (&a + &b, a.sum()) }
        #[residual]
        fn residual(y: &Tensor1<f64>, a: &Tensor1<f64>, b: &Tensor1<f64>, sum: f64) -> Tensor1<f64> { y - a - b + sum }
    }
}

mod dense_is_a_number {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward]
        pub fn forward(a: ArrayView1<f64>, b: ArrayView1<f64>) -> Array1<f64> { &a + &b }
        #[residual(dense = "large")]
        fn residual(output: &Tensor1<f64>, a: &Tensor1<f64>, b: &Tensor1<f64>) -> Tensor1<f64> { output - a - b }
    }
}

mod dense_without_number {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward]
        pub fn forward(a: ArrayView1<f64>, b: ArrayView1<f64>) -> Array1<f64> { &a + &b }
        #[residual(dense)]
        fn residual(output: &Tensor1<f64>, a: &Tensor1<f64>, b: &Tensor1<f64>) -> Tensor1<f64> { output - a - b }
    }
}

mod gradient_asked_for {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward]
        pub fn forward(a: ArrayView1<f64>, b: ArrayView1<f64>) -> Array1<f64> { &a + &b }
        #[residual]
        fn residual(grad_output: &Tensor1<f64>, output: &Tensor1<f64>, a: &Tensor1<f64>, b: &Tensor1<f64>) -> Tensor1<f64> { output - a - b + grad_output }
    }
}

mod in_place {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward]
        pub fn forward(mut a: ArrayViewMut1<f64>, b: ArrayView1<f64>) -> Array1<f64> { a += &b; a.to_owned() }
        #[residual]
        fn residual(output_0: &Tensor1<f64>, a: &Tensor1<f64>, b: &Tensor1<f64>) -> Tensor1<f64> { output_0 - a - b }
    }
}

mod input_left_out {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward]
        pub fn forward(a: ArrayView1<f64>, b: ArrayView1<f64>) -> Array1<f64> { &a + &b }
        #[residual]
        fn residual(output: &Tensor1<f64>, a: &Tensor1<f64>) -> Tensor1<f64> { output - a }
    }
}

mod jvp_beside {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward]
        pub fn forward(a: ArrayView1<f64>, b: ArrayView1<f64>) -> Array1<f64> { &a + &b }
        #[residual]
        fn residual(output: &Tensor1<f64>, a: &Tensor1<f64>, b: &Tensor1<f64>) -> Tensor1<f64> { output - a - b }
        #[jvp]
        fn jvp(tangent_a: &Tensor1<f64>, tangent_b: &Tensor1<f64>) -> Tensor1<f64> { tangent_a + tangent_b }
    }
}

mod list_of_outputs {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward]
        pub fn forward(a: ArrayView1<f64>, b: ArrayView1<f64>) -> Vec<Array1<f64>> { vec![&a + &b] }
        #[residual]
        fn residual(output: &[&Tensor1<f64>], a: &Tensor1<f64>, b: &Tensor1<f64>) -> Vec<Tensor1<f64>> { vec![output[0] - a - b] }
    }
}

mod misspelled {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward]
        pub fn forward(a: ArrayView1<f64>, b: ArrayView1<f64>) -> Array1<f64> { &a + &b }
        #[residul]
        fn residual(output: &Tensor1<f64>, a: &Tensor1<f64>, b: &Tensor1<f64>) -> Tensor1<f64> { output - a - b }
    }
}

mod misspelled_name {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward]
        pub fn forward(a: ArrayView1<f64>, b: ArrayView1<f64>) -> Array1<f64> { &a + &b }
        #[residual]
        fn residual(outptu: &Tensor1<f64>, a: &Tensor1<f64>, b: &Tensor1<f64>) -> Tensor1<f64> { outptu - a - b }
    }
}

mod misspelled_option {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward]
        pub fn forward(a: ArrayView1<f64>, b: ArrayView1<f64>) -> Array1<f64> { &a + &b }
        #[residual(dens = 512)]
        fn residual(output: &Tensor1<f64>, a: &Tensor1<f64>, b: &Tensor1<f64>) -> Tensor1<f64> { output - a - b }
    }
}

mod needs_input_grad {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward]
        pub fn forward(a: ArrayView1<f64>, b: ArrayView1<f64>) -> Array1<f64> { &a + &b }
        #[residual]
        fn residual(output: &Tensor1<f64>, a: &Tensor1<f64>, b: &Tensor1<f64>, needs_input_grad: RootNeedsInputGrad) -> Tensor1<f64> { output - a - b }
    }
}

mod no_result {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward]
        pub fn forward(a: ArrayView1<f64>, b: ArrayView1<f64>) -> Array1<f64> { &a + &b }
        #[residual]
        fn residual(output: &Tensor1<f64>, a: &Tensor1<f64>, b: &Tensor1<f64>) { drop(output - a - b) }
    }
}

mod optional_result {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward]
        pub fn forward(a: ArrayView1<f64>, b: ArrayView1<f64>) -> Array1<f64> { &a + &b }
        #[residual]
        fn residual(output: &Tensor1<f64>, a: &Tensor1<f64>, b: &Tensor1<f64>) -> Option<Tensor1<f64>> { Some(output - a - b) }
    }
}

mod other_number {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward(outputs(x, y))]
        pub fn forward(a: ArrayView1<f64>, b: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) { (&a + &b, &a - &b) }
        #[residual]
        fn residual(x: &Tensor1<f64>, y: &Tensor1<f64>, a: &Tensor1<f64>, b: &Tensor1<f64>) -> Tensor1<f64> { x - a - b + y }
    }
}

mod other_rank {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward]
        pub fn forward(a: ArrayView1<f64>, b: ArrayView1<f64>) -> Array1<f64> { &a + &b }
        #[residual]
        fn residual(output: &Tensor1<f64>, a: &Tensor1<f64>, b: &Tensor1<f64>) -> Tensor2<f64> { todo!("{output}{a}{b}") }
    }
}

mod other_rank_asked_for {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward]
        pub fn forward(a: ArrayView1<f64>, b: ArrayView1<f64>) -> Array1<f64> { &a + &b }
        #[residual]
        fn residual(output: &Tensor2<f64>, a: &Tensor1<f64>, b: &Tensor1<f64>) -> Tensor1<f64> { todo!("{output}{a}{b}") }
    }
}

mod output_left_out {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward(outputs(x, y))]
        pub fn forward(a: ArrayView1<f64>, b: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) { (&a + &b, &a - &b) }
        #[residual]
        fn residual(x: &Tensor1<f64>, a: &Tensor1<f64>, b: &Tensor1<f64>) -> (Tensor1<f64>, Tensor1<f64>) { (x - a - b, x - a) }
    }
}

mod twice {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward]
        pub fn forward(a: ArrayView1<f64>, b: ArrayView1<f64>) -> Array1<f64> { &a + &b }
        #[residual]
        fn residual(output: &Tensor1<f64>, a: &Tensor1<f64>, b: &Tensor1<f64>) -> Tensor1<f64> { output - a - b }
        #[residual]
        fn other(output: &Tensor1<f64>, a: &Tensor1<f64>, b: &Tensor1<f64>) -> Tensor1<f64> { output - a + b }
    }
}

mod a_number_in_place_of_an_unknown {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward(outputs(y), saves(nu))]
        pub fn forward(a: ArrayView1<f64>) -> (Array1<f64>, f64) { (a.to_owned(), a.sum()) }
        #[residual]
        fn residual(y: &Tensor1<f64>, nu: f64, a: &Tensor1<f64>) -> (Tensor1<f64>, Tensor0<f64>) { (y - a, y.sum() - nu) }
    }
}

mod a_number_asked_for_as_a_tensor {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward(outputs(y), saves(nu))]
        pub fn forward(a: ArrayView1<f64>) -> (Array1<f64>, f64) { (a.to_owned(), a.sum()) }
        #[residual]
        fn residual(y: &Tensor1<f64>, nu: &Tensor0<f64>, a: &Tensor1<f64>) -> (Tensor1<f64>, Tensor0<f64>) { (y - a, y.sum() - nu) }
    }
}

mod a_list_of_numbers_asked_for_as_a_tensor {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward(outputs(y), saves(lambda))]
        pub fn forward(a: ArrayView1<f64>) -> (Array1<f64>, Vec<f64>) { (a.to_owned(), a.to_vec()) }
        #[residual]
        fn residual(y: &Tensor1<f64>, lambda: &Tensor1<f64>, a: &Tensor1<f64>) -> (Tensor1<f64>, Tensor1<f64>) { (y - a, lambda - a) }
    }
}

mod a_list_of_numbers_with_a_shape {
    use super::*;
    pub struct Root;
    #[custom_function(shapes(a = [n], y = [n], lambda = [n]))]
    impl Root {
        #[forward(outputs(y), saves(lambda))]
        pub fn forward(a: ArrayView1<f64>) -> (Array1<f64>, Vec<f64>) { (a.to_owned(), a.to_vec()) }
        #[residual]
        fn residual(y: &Tensor1<f64>, a: &Tensor1<f64>) -> Tensor1<f64> { y - a }
    }
}

mod a_value_asked_for_as_a_tensor {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward]
        pub fn forward(a: ArrayView1<f64>, gamma: f64) -> Array1<f64> { &a * gamma }
        #[residual]
        fn residual(output: &Tensor1<f64>, a: &Tensor1<f64>, gamma: &Tensor0<f64>) -> Tensor1<f64> { output - a * gamma }
    }
}

mod an_unknown_that_is_not_asked_for {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward(outputs(y), saves(nu))]
        pub fn forward(a: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) { (a.to_owned(), a.to_owned()) }
        #[residual]
        fn residual(y: &Tensor1<f64>, a: &Tensor1<f64>) -> (Tensor1<f64>, Tensor1<f64>) { (y - a, y - a) }
    }
}

mod an_output_that_is_no_unknown {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward(outputs(y, loss))]
        pub fn forward(a: ArrayView1<f64>) -> (Array1<f64>, pullback::ndarray::Array0<f64>) { (a.to_owned(), pullback::ndarray::arr0(0.0)) }
        #[residual]
        fn residual(y: &Tensor1<f64>, a: &Tensor1<f64>) -> Tensor1<f64> { y - a }
    }
}

mod by_value {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward]
        pub fn forward(a: ArrayView1<f64>) -> Array1<f64> { a.to_owned() }
        #[residual]
        fn residual(output: &Tensor1<f64>, a: Tensor1<f64>) -> Tensor1<f64> { output - a }
    }
}

mod optional_by_reference {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward]
        pub fn forward(a: ArrayView1<f64>, b: Option<ArrayView1<f64>>) -> Array1<f64> { b.map_or(a.to_owned(), |b| &a + &b) }
        #[residual]
        fn residual(output: &Tensor1<f64>, a: &Tensor1<f64>, b: &Option<Tensor1<f64>>) -> Tensor1<f64> { output - a }
    }
}

mod an_array_among_tensors {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward]
        pub fn forward(a: ArrayView1<f64>, b: ArrayView1<f64>) -> Array1<f64> { &a + &b }
        #[residual]
        fn residual(output: &Tensor1<f64>, a: &Tensor1<f64>, b: ArrayView1<f64>) -> Tensor1<f64> { output - a - b.sum() }
    }
}

mod a_misspelled_unknown {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward(outputs(y), saves(nu))]
        pub fn forward(a: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) { (a.to_owned(), a.to_owned()) }
        #[residual]
        fn residual(y: &Tensor1<f64>, mu: &Tensor1<f64>, a: &Tensor1<f64>) -> (Tensor1<f64>, Tensor1<f64>) { (y - a, mu - a) }
    }
}

mod beside_the_gradient_of_one_input {
    use super::*;
    pub struct Root;
    #[custom_function]
    impl Root {
        #[forward]
        pub fn forward(a: ArrayView1<f64>, b: ArrayView1<f64>) -> Array1<f64> { &a + &b }
        #[residual]
        fn residual(output: &Tensor1<f64>, a: &Tensor1<f64>, b: &Tensor1<f64>) -> Tensor1<f64> { output - a - b }
        #[backward(a)]
        fn of_a(grad_output: ArrayView1<f64>) -> Array1<f64> { grad_output.to_owned() }
    }
}

mod in_the_attribute {
    use super::*;
    pub struct Root;
    #[custom_function(residual = balance)]
    impl Root {
        #[forward]
        pub fn forward(a: ArrayView1<f64>) -> Array1<f64> { a.to_owned() }
        #[backward]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { grad_output.to_owned() }
    }
}

mod in_the_attribute_of_a_function {
    use super::*;
    #[custom_function(residual = output - a)]
    pub fn same(a: ArrayView1<f64>) -> Array1<f64> { a.to_owned() }
}

mod without_the_attribute_of_the_block {
    use super::*;
    pub struct Root;
    impl Root {
        #[forward]
        pub fn forward(a: ArrayView1<f64>) -> Array1<f64> { a.to_owned() }
        #[residual]
        fn residual(output: &Tensor1<f64>, a: &Tensor1<f64>) -> Tensor1<f64> { output - a }
    }
}

fn callers_have_no_errors_of_their_own() {
    let x = Tensor::from(Array1::<f64>::zeros(2));
    let _: Tensor1<f64> = arrays::Root::apply(&x, &x);
    let _: Tensor1<f64> = input_left_out::Root::apply(&x, &x);
    let _: Tensor1<f64> = twice::Root::apply(&x, &x);
}

fn main() {
    callers_have_no_errors_of_their_own();
    let _: fn(ArrayView2<f64>) -> Array2<f64> = |x| x.to_owned();
}
