use pullback::ndarray::{Array1, Array2, ArrayD, ArrayView1, ArrayView2, ArrayViewD, ArrayViewMut1};
use pullback::prelude::*;

mod no_list {
    use super::*;
    #[custom_function(shapes, grad(x) = grad_output.to_owned())]
    pub fn f(x: ArrayView1<f64>) -> Array1<f64> { x.to_owned() }
}

mod empty {
    use super::*;
    #[custom_function(shapes(), grad(x) = grad_output.to_owned())]
    pub fn f(x: ArrayView1<f64>) -> Array1<f64> { x.to_owned() }
}

mod not_a_list {
    use super::*;
    #[custom_function(shapes = [n], grad(x) = grad_output.to_owned())]
    pub fn f(x: ArrayView1<f64>) -> Array1<f64> { x.to_owned() }
}

mod another_rank {
    use super::*;
    #[custom_function(shapes(x = [n, i], output = [n]), grad(x) = grad_output.to_owned())]
    pub fn f(x: ArrayView1<f64>) -> Array1<f64> { x.to_owned() }
}

mod rank_of_the_output {
    use super::*;
    #[custom_function(shapes(x = [n], output = [n, 1]), grad(x) = grad_output.to_owned())]
    pub fn f(x: ArrayView1<f64>) -> Array1<f64> { x.to_owned() }
}

mod too_many_after_the_leading {
    use super::*;
    #[custom_function(shapes(x = [.., n, i], output = x), grad(x) = grad_output.to_owned())]
    pub fn f(x: ArrayView1<f64>) -> Array1<f64> { x.to_owned() }
}

mod bound_nowhere {
    use super::*;
    #[custom_function(shapes(x = [n], output = [m]), grad(x) = grad_output.to_owned())]
    pub fn f(x: ArrayView1<f64>) -> Array1<f64> { x.to_owned() }
    fn caller(x: &Tensor1<f64>) -> Tensor1<f64> { f(x) }
    fn shape() { let _ = F::output_shape([3]); }
}

mod misspelled_axis {
    use super::*;
    #[custom_function(shapes(x = [rows], output = [row - 1]), grad(x) = grad_output.to_owned())]
    pub fn f(x: ArrayView1<f64>) -> Array1<f64> { x.to_owned() }
}

mod bound_by_an_expression {
    use super::*;
    #[custom_function(shapes(x = [2 * n], output = [n]), grad(x) = grad_output.to_owned())]
    pub fn f(x: ArrayView1<f64>) -> Array1<f64> { x.to_owned() }
}

mod named_as_a_parameter {
    use super::*;
    #[custom_function(shapes(x = [factor], output = [factor]), grad(x) = grad_output.mapv(|g| g * *factor as f64))]
    pub fn f(x: ArrayView1<f64>, factor: usize) -> Array1<f64> { x.mapv(|x| x * factor as f64) }
}

mod named_as_an_output {
    use super::*;
    #[custom_function(shapes(x = [output], output = [output]), grad(x) = grad_output.to_owned())]
    pub fn f(x: ArrayView1<f64>) -> Array1<f64> { x.to_owned() }
}

mod named_as_a_gradient {
    use super::*;
    #[custom_function(shapes(x = [grad_output], output = x), grad(x) = grad_output.to_owned())]
    pub fn f(x: ArrayView1<f64>) -> Array1<f64> { x.to_owned() }
}

mod shape_of_a_value {
    use super::*;
    #[custom_function(shapes(x = [n], factor = [n], output = [n]), grad(x) = &grad_output * *factor)]
    pub fn f(x: ArrayView1<f64>, factor: f64) -> Array1<f64> { &x * factor }
}

mod unknown_name {
    use super::*;
    #[custom_function(shapes(x = [n], outptu = [n]), grad(x) = grad_output.to_owned())]
    pub fn f(x: ArrayView1<f64>) -> Array1<f64> { x.to_owned() }
}

mod output_without_one {
    use super::*;
    #[custom_function(shapes(x = [n]), grad(x) = grad_output.to_owned())]
    pub fn f(x: ArrayView1<f64>) -> Array1<f64> { x.to_owned() }
}

mod twice {
    use super::*;
    #[custom_function(shapes(x = [n], x = [m], output = x), grad(x) = grad_output.to_owned())]
    pub fn f(x: ArrayView1<f64>) -> Array1<f64> { x.to_owned() }
}

mod two_lists {
    use super::*;
    #[custom_function(shapes(x = [n], output = [n]), shapes(x = [n], output = [n]), grad(x) = grad_output.to_owned())]
    pub fn f(x: ArrayView1<f64>) -> Array1<f64> { x.to_owned() }
}

mod no_shape {
    use super::*;
    #[custom_function(shapes(x, output = [n]), grad(x) = grad_output.to_owned())]
    pub fn f(x: ArrayView1<f64>) -> Array1<f64> { x.to_owned() }
}

mod colon {
    use super::*;
    #[custom_function(shapes(x: [n], output: [n]), grad(x) = grad_output.to_owned())]
    pub fn f(x: ArrayView1<f64>) -> Array1<f64> { x.to_owned() }
}

mod a_name_for_an_input {
    use super::*;
    #[custom_function(shapes(x = n, output = [n]), grad(x) = grad_output.to_owned())]
    pub fn f(x: ArrayView1<f64>) -> Array1<f64> { x.to_owned() }
}

mod like_a_stranger {
    use super::*;
    #[custom_function(shapes(x = [n], output = y), grad(x) = grad_output.to_owned())]
    pub fn f(x: ArrayView1<f64>) -> Array1<f64> { x.to_owned() }
}

mod like_a_value {
    use super::*;
    #[custom_function(shapes(x = [n], output = count), grad(x) = &grad_output * *count as f64)]
    pub fn f(x: ArrayView1<f64>, count: usize) -> Array1<f64> { &x * count as f64 }
}

mod like_what_may_be_missing {
    use super::*;
    #[custom_function(shapes(x = [n], shift = [n], output = shift), grad(x) = grad_output.to_owned(), grad(shift) = grad_output.to_owned())]
    pub fn f(x: ArrayView1<f64>, shift: Option<ArrayView1<f64>>) -> Array1<f64> { match shift { Some(shift) => &x + &shift, None => x.to_owned() } }
}

mod only_of_what_may_be_missing {
    use super::*;
    #[custom_function(shapes(x = [n], scale = [m], output = [m]), grad(x, scale) = (&grad_output * 1.0, grad_output.to_owned()))]
    pub fn f(x: ArrayView1<f64>, scale: Option<ArrayView1<f64>>) -> Array1<f64> { match scale { Some(scale) => &scale * x.sum(), None => x.to_owned() } }
}

mod leading_axes_last {
    use super::*;
    #[custom_function(shapes(x = [n, ..], output = x), grad(x) = grad_output.to_owned())]
    pub fn f(x: ArrayViewD<f64>) -> ArrayD<f64> { x.to_owned() }
}

mod leading_axes_of_the_output_alone {
    use super::*;
    #[custom_function(shapes(x = [n], output = [.., n]), grad(x) = grad_output.to_owned())]
    pub fn f(x: ArrayView1<f64>) -> Array1<f64> { x.to_owned() }
}

mod any_length_of_an_output {
    use super::*;
    #[custom_function(shapes(x = [n], output = [_]), grad(x) = grad_output.to_owned())]
    pub fn f(x: ArrayView1<f64>) -> Array1<f64> { x.to_owned() }
}

mod fraction {
    use super::*;
    #[custom_function(shapes(x = [n], output = [0.5 * n]), grad(x) = grad_output.to_owned())]
    pub fn f(x: ArrayView1<f64>) -> Array1<f64> { x.to_owned() }
}

mod comparison {
    use super::*;
    #[custom_function(shapes(x = [n], output = [n > 1]), grad(x) = grad_output.to_owned())]
    pub fn f(x: ArrayView1<f64>) -> Array1<f64> { x.to_owned() }
}

mod length_of_a_tensor {
    use super::*;
    #[custom_function(shapes(x = [n], output = [x - 1]), grad(x) = grad_output.to_owned())]
    pub fn f(x: ArrayView1<f64>) -> Array1<f64> { x.to_owned() }
}

mod list_without_a_list {
    use super::*;
    #[custom_function(shapes(parts = [n], output = [1]), grad(parts) = parts.iter().map(|part| part * grad_output[0]).collect())]
    pub fn f(parts: &[ArrayView1<f64>]) -> Array1<f64> { parts[0].to_owned() }
}

mod elementwise {
    use super::*;
    #[custom_function(elementwise, shapes(x = [n], output = [n]))]
    pub fn f<T: Real>(x: T) -> T { x * x }
}

mod written_by_hand {
    use super::*;
    pub struct Double;
    #[custom_function(shapes(x = [n], output = [n]))]
    impl Double {
        #[forward]
        pub fn forward(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { &grad_output * 2.0 }
        pub fn output_shape(n: usize) -> usize { n }
    }
}

mod unknown_axis_in_backward {
    use super::*;
    pub struct Double;
    #[custom_function(shapes(x = [length], output = [length]))]
    impl Double {
        #[forward]
        pub fn forward(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, lenght: usize) -> Array1<f64> { &grad_output * lenght as f64 }
    }
}

mod axis_of_another_type {
    use super::*;
    pub struct Double;
    #[custom_function(shapes(x = [n], output = [n]))]
    impl Double {
        #[forward]
        pub fn forward(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, n: i64) -> Array1<f64> { &grad_output * n as f64 }
    }
}

mod written_to {
    use super::*;
    pub struct Double;
    #[custom_function(shapes(x = [n], output = [n]))]
    impl Double {
        #[forward]
        pub fn forward(mut x: ArrayViewMut1<f64>) { x *= 2.0; }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { &grad_output * 2.0 }
    }
}

mod length_of_no_axis {
    use super::*;
    #[custom_function(shapes(x = [n], output = [n]), gradcheck(m = 3), grad(x) = grad_output.to_owned())]
    pub fn f(x: ArrayView1<f64>) -> Array1<f64> { x.to_owned() }
}

mod lengths_that_disagree {
    use super::*;
    #[custom_function(shapes(x = [n], output = [n]), gradcheck(n = 3, x = [4]), grad(x) = grad_output.to_owned())]
    pub fn f(x: ArrayView1<f64>) -> Array1<f64> { x.to_owned() }
}

mod shapes_that_disagree {
    use super::*;
    #[custom_function(
        shapes(x = [n], y = [n], output = [n]),
        gradcheck(x = [3], y = [4]),
        grad(x) = grad_output.to_owned(),
        grad(y) = grad_output.to_owned(),
    )]
    pub fn f(x: ArrayView1<f64>, y: ArrayView1<f64>) -> Array1<f64> { &x + &y }
}

mod length_that_is_a_shape {
    use super::*;
    #[custom_function(shapes(x = [n], output = [n]), gradcheck(n = [3]), grad(x) = grad_output.to_owned())]
    pub fn f(x: ArrayView1<f64>) -> Array1<f64> { x.to_owned() }
}

mod value_of_another_type {
    use super::*;
    #[custom_function(shapes(x = [n, m], output = [n * factor]), grad(x) = Array2::zeros((n, m)) * grad_output[0] * *factor)]
    pub fn f(x: ArrayView2<f64>, factor: f64) -> Array1<f64> { x.column(0).mapv(|x| x * factor) }
}

mod more_axes_than_the_rank {
    use super::*;
    #[custom_function(shapes(x = [n, m], output = [n]), grad(x) = grad_output.to_owned(), gradcheck(n = 3))]
    pub fn f(x: ArrayView1<f64>) -> Array1<f64> { x.to_owned() }
}

mod an_axis_twice_with_a_check {
    use super::*;
    #[custom_function(shapes(x = [n, n], output = [n]), adjoint(x) = grad_output.to_owned(), gradcheck(n = 3))]
    pub fn f(x: ArrayView1<f64>) -> Array1<f64> { x.to_owned() }
}

mod an_axis_of_a_number {
    use super::*;
    #[custom_function(shapes(x = [n], output = []), grad(x) = grad_output.to_owned(), gradcheck(n = 3))]
    pub fn f(x: pullback::ndarray::ArrayView0<f64>) -> pullback::ndarray::Array0<f64> { x.to_owned() }
}

mod no_axis_where_one_is_checked {
    use super::*;
    #[custom_function(shapes(x = [], output = [n]), grad(x) = grad_output.to_owned(), gradcheck(n = 3))]
    pub fn f(x: ArrayView1<f64>) -> Array1<f64> { x.to_owned() }
}

mod no_such_field {
    use super::*;
    #[derive(Clone)]
    pub struct Pattern { rows: usize }
    #[custom_function(shapes(x = [pattern.columns], output = [pattern.rows]), adjoint(x) = grad_output.to_owned(), gradcheck(pattern = Pattern { rows: 2 }))]
    pub fn f(x: ArrayView1<f64>, pattern: Pattern) -> Array1<f64> { x.to_owned() }
}

mod length_of_an_option {
    use super::*;
    #[custom_function(shapes(x = [n], output = [n * k]), grad(x) = grad_output.to_owned(), gradcheck(n = 3, k = Some(1)))]
    pub fn f(x: ArrayView1<f64>, k: Option<usize>) -> Array1<f64> { x.to_owned() * k.unwrap_or(1) as f64 }
}

mod too_many_axes {
    use super::*;
    #[custom_function(grad(x) = grad_output.to_owned(), shapes(x = [
        a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12,
        a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25,
        a26, a27, a28, a29, a30, a31, a32, a33, a34, a35, a36, a37, a38,
        a39, a40, a41, a42, a43, a44, a45, a46, a47, a48, a49, a50, a51,
        a52, a53, a54, a55, a56, a57, a58, a59, a60, a61, a62, a63, a64
    ], output = x))]
    pub fn f(x: ArrayViewD<f64>) -> ArrayD<f64> { x.to_owned() }
}

mod shift {
    use super::*;
    #[custom_function(shapes(x = [n], output = [n / (1 << levels)]), grad(x) = grad_output.to_owned())]
    pub fn f(x: ArrayView1<f64>, levels: usize) -> Array1<f64> { x.iter().step_by(1 << levels).copied().collect() }
}

mod list_without_one {
    use super::*;
    #[custom_function(shapes(x = [n]), adjoint(x) = grad_output[0].to_owned())]
    pub fn f(x: ArrayView1<f64>) -> Vec<Array1<f64>> { vec![x.to_owned()] }
}

fn main() {}
