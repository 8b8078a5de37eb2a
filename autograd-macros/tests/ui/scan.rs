use pullback::prelude::*;

mod a_column {
    use super::*;
    #[custom_function(scan)]
    pub fn f<T: Real>(#[state] v: T, #[step] x: T, #[column] y: T) -> T { v + x * y }
}

mod a_gradient_of_its_own {
    use super::*;
    #[custom_function(scan, grad(x) = grad_output)]
    pub fn f<T: Real>(#[state] v: T, #[step] x: T) -> T { v + x.round() }
}

mod a_list_for_each_element {
    use super::*;
    #[custom_function(scan)]
    pub fn f<T: Real>(#[state] v: T, #[step] x: T, #[each] on: &[bool]) -> T { if on { v + x } else { v } }
}

mod a_result_that_is_another_row {
    use super::*;
    #[custom_function(scan)]
    pub fn f<T: Real>(#[state] v: [T; 3], #[step] x: T) -> [T; 2] { [v[0] + x, v[1]] }
}

mod a_row {
    use super::*;
    #[custom_function(scan)]
    pub fn f<T: Real>(#[state] v: T, #[row] x: T) -> T { v + x }
}

mod a_slice_as_a_result {
    use super::*;
    #[custom_function(scan)]
    pub fn f<T: Real>(#[state] v: &mut [T], #[step] x: T) -> Vec<T> { v.iter().map(|v| *v + x).collect() }
}

mod a_slice_that_is_no_state {
    use super::*;
    #[custom_function(scan)]
    pub fn f<T: Real>(#[state] v: T, #[step] x: &mut [T]) -> T { v + x[0] }
}

mod a_state_that_is_not_written {
    use super::*;
    #[custom_function(scan)]
    pub fn f<T: Real>(#[state] v: &[T], #[step] x: &[T]) -> T { v[0] + x[0] }
}

mod a_state_that_is_not_returned_beside_a_slice {
    use super::*;
    #[custom_function(scan)]
    pub fn f<T: Real>(#[state] v: &mut [T], #[state] u: T, #[step] x: T) { v[0] = u + x; }
}

mod a_slice_that_is_only_read {
    use super::*;
    #[custom_function(scan)]
    pub fn f<T: Real>(#[state] u: T, #[step] x: &[T]) { u + x[0]; }
}

mod a_slice_without_a_state {
    use super::*;
    #[custom_function(scan)]
    pub fn f<T: Real>(#[step] x: &[T]) { x[0].exp(); }
}

mod a_state_that_is_written_and_returned {
    use super::*;
    #[custom_function(scan)]
    pub fn f<T: Real>(#[state] v: &mut [T], #[state] u: T, #[step] x: T) -> ([T; 2], T) { ([v[0], x], u) }
}

mod a_state_by_reference {
    use super::*;
    #[custom_function(scan)]
    pub fn f<T: Real>(#[state] v: &mut T, #[step] x: T) -> T { *v + x }
}

mod a_state_in_a_vector {
    use super::*;
    #[custom_function(scan)]
    pub fn f<T: Real>(#[state] v: Vec<T>, #[step] x: T) -> T { v[0] + x }
}

mod a_state_of_an_elementwise_function {
    use super::*;
    #[custom_function(elementwise)]
    pub fn f<T: Real>(#[state] v: T, x: T) -> T { v + x }
}

mod a_state_that_is_a_step {
    use super::*;
    #[custom_function(scan)]
    pub fn f<T: Real>(#[state] #[step] v: T, #[step] x: T) -> T { v + x }
}

mod a_state_that_is_a_value {
    use super::*;
    #[custom_function(scan)]
    pub fn f<T: Real>(#[state] v: f64, #[step] x: T) -> T { x + v }
}

mod a_state_that_is_missing {
    use super::*;
    #[custom_function(scan)]
    pub fn f<T: Real>(v: T, #[step] x: T) -> T { v + x }
}

mod a_state_that_is_not_returned {
    use super::*;
    #[custom_function(scan)]
    pub fn f<T: Real>(#[state] v: T, #[state] u: T, #[step] x: T) -> T { v + u * x }
}

mod a_step_of_a_block {
    use pullback::ndarray::{Array1, ArrayView1};
    use pullback::prelude::*;
    struct Double;
    #[custom_function]
    impl Double {
        #[forward]
        fn forward(#[step] x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { &grad_output * 2.0 }
    }
}

mod a_step_that_is_a_value {
    use super::*;
    #[custom_function(scan)]
    pub fn f<T: Real>(#[state] v: T, #[step] n: usize) -> T { v * n as f64 }
}

mod a_step_that_is_missing {
    use super::*;
    #[custom_function(scan)]
    pub fn f<T: Real>(#[state] v: T, x: T) -> T { v + x }
}

mod a_tensor_as_a_step {
    use super::*;
    #[custom_function(scan)]
    pub fn f<T: Real>(#[state] v: T, #[step] x: &Tensor1<f64>) -> T { v }
}

mod a_value_of_the_option {
    use super::*;
    #[custom_function(scan = 2)]
    pub fn f<T: Real>(#[state] v: T, #[step] x: T) -> T { v + x }
}

mod an_order {
    use super::*;
    #[custom_function(scan(order = 3))]
    pub fn f<T: Real>(#[state] v: T, #[step] x: T) -> T { v + x }
}

mod beside_a_block {
    use pullback::ndarray::{Array1, ArrayView1};
    use pullback::prelude::*;
    struct Double;
    #[custom_function(scan)]
    impl Double {
        #[forward]
        fn forward(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { &grad_output * 2.0 }
    }
}

mod elementwise_too {
    use super::*;
    #[custom_function(elementwise, scan)]
    pub fn f<T: Real>(#[state] v: T, #[step] x: T) -> T { v + x }
}

mod names_of_another_count {
    use super::*;
    #[custom_function(scan, outputs(last))]
    pub fn f<T: Real>(#[state] v: T, #[step] x: T) -> (T, T) { (v + x, v) }
}

mod needs_no_saves {
    use super::*;
    #[custom_function(scan, saves(v))]
    pub fn f<T: Real>(#[state] v: T, #[step] x: T) -> T { v + x }
}

mod no_batch {
    use super::*;
    #[custom_function(scan, batch(x))]
    pub fn f<T: Real>(#[state] v: T, #[step] x: T) -> T { v + x }
}

mod no_shapes {
    use super::*;
    #[custom_function(scan, shapes(x = [n, c]))]
    pub fn f<T: Real>(#[state] v: T, #[step] x: T) -> T { v + x }
}

mod not_marked_as_a_scan {
    use super::*;
    #[custom_function]
    pub fn f<T: Real>(#[state] v: T, #[step] x: T) -> T { v + x }
}

mod returns_nothing {
    use super::*;
    #[custom_function(scan)]
    pub fn f<T: Real>(#[state] v: T, #[step] x: T) { v + x; }
}

mod states_in_another_order {
    use super::*;
    #[custom_function(scan)]
    pub fn f<T: Real>(#[state] v: [T; 2], #[state] u: T, #[step] x: T) -> (T, [T; 2]) { (u + x, v) }
}

mod steps_of_the_check_without_their_axis {
    use super::*;
    #[custom_function(scan, gradcheck(v = [3], x = [3]))]
    pub fn f<T: Real>(#[state] v: T, #[step] x: T) -> T { v + x }
}

mod the_option_misspelled {
    use super::*;
    #[custom_function(scan(reversed))]
    pub fn f<T: Real>(#[state] v: T, #[step] x: T) -> T { v + x }
}

mod the_word_misspelled {
    use super::*;
    #[custom_function(scann)]
    pub fn f<T: Real>(#[state] v: T, #[step] x: T) -> T { v + x }
}

mod too_many_numbers {
    use super::*;
    #[custom_function(scan)]
    pub fn f<T: Real>(#[state] h: [T; 64], #[step] x: [T; 33]) -> [T; 64] { h.map(|h| h + x[0]) }
}

mod names_without_that_of_a_written_state {
    use super::*;
    #[custom_function(scan, outputs(y))]
    pub fn f<T: Real>(#[state] v: &mut [T], #[step] x: T) -> T { v[0] = x; x }
}

fn main() {}

mod misspelt_state {
    use super::*;
    #[custom_function(scan)]
    pub fn f<T: Real>(#[states] v: T, #[step] x: T) -> T { v + x }
}

mod state_with_arguments {
    use super::*;
    #[custom_function(scan)]
    pub fn f<T: Real>(#[state(0.0)] v: T, #[step] x: T) -> T { v + x }
}

mod reverse_beside_scan {
    use super::*;
    #[custom_function(scan, reverse, rtol = 1e-4)]
    pub fn f<T: Real>(#[state] v: T, #[step] x: T) -> T { v + x }
}

mod state_of_a_tuple {
    use super::*;
    #[custom_function(scan)]
    pub fn f<T: Real>(#[state] v: (T, T), #[step] x: T) -> (T, T) { (v.0 + x, v.1) }
}

mod state_that_is_a_reference_to_a_row {
    use super::*;
    #[custom_function(scan)]
    pub fn f<T: Real>(#[state] v: &mut [T; 3], #[step] x: T) { v[0] += x; }
}
