use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

mod an_array_of_the_caller {
    use super::*;
    #[custom_function(elementwise)]
    pub fn f<T: Real>(x: T, bias: ArrayView1<f64>) -> T { x + bias[0] }
}

mod a_tensor {
    use super::*;
    #[custom_function(elementwise)]
    pub fn f<T: Real>(x: T, bias: &Tensor1<f64>) -> T { x + bias.view()[0] }
}

mod asynchronous {
    use super::*;
    #[custom_function(elementwise)]
    pub async fn f<T: Real>(x: T) -> T { x }
}

mod beside_a_block {
    use super::*;
    struct Double;
    #[custom_function(elementwise)]
    impl Double {
        #[forward]
        fn forward(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { &grad_output * 2.0 }
    }
}

mod a_const_parameter {
    use super::*;
    #[custom_function(elementwise)]
    pub fn f<T: Real, const N: usize>(x: T, table: [f64; N]) -> T { x * table[0] }
}

mod each_of_a_number {
    use super::*;
    #[custom_function(elementwise)]
    pub fn f<T: Real>(x: T, #[each] scale: T) -> T { x * scale }
}

mod each_of_a_single_value {
    use super::*;
    #[custom_function(elementwise)]
    pub fn f<T: Real>(x: T, #[each] label: i64) -> T { x * label as f64 }
}

mod each_of_a_vector {
    use super::*;
    #[custom_function(elementwise)]
    pub fn f<T: Real>(x: T, #[each] label: &Vec<usize>) -> T { x * label as f64 }
}

mod each_of_an_array {
    use super::*;
    #[custom_function(elementwise)]
    pub fn f<T: Real>(x: T, #[each] label: &Array1<i64>) -> T { x * label as f64 }
}

mod each_that_cannot_be_copied {
    use super::*;
    #[custom_function(elementwise)]
    pub fn f<T: Real>(x: T, #[each] name: &[String]) -> T { x * name.len() as f64 }
}

mod each_twice {
    use super::*;
    #[custom_function(elementwise)]
    pub fn f<T: Real>(x: T, #[each] #[each] label: &[i64]) -> T { x * label as f64 }
}

mod each_with_arguments {
    use super::*;
    #[custom_function(elementwise)]
    pub fn f<T: Real>(x: T, #[each(x)] label: &[i64]) -> T { x * label as f64 }
}

mod f64_is_returned {
    use super::*;
    #[custom_function(elementwise)]
    pub fn f<T: Real>(x: T, k: f64) -> f64 { k }
}

mod gradient_of_a_value {
    use super::*;
    #[custom_function(elementwise, grad(k) = grad_output)]
    pub fn f<T: Real>(x: T, k: f64) -> T { x * k }
}

mod gradient_once_of_the_third_order {
    use super::*;
    #[custom_function(elementwise(order = 3), grad(x, once) = grad_output * 2.0)]
    pub fn f<T: Real>(x: T) -> T { 2.0 * x }
}

mod gradient_of_nothing_known {
    use super::*;
    #[custom_function(elementwise, grad(limits) = grad_output)]
    pub fn f<T: Real>(x: T, limit: T) -> T { x / limit }
}

mod gradient_that_ignores {
    use super::*;
    #[custom_function(elementwise, grad(x) = k * x)]
    pub fn f<T: Real>(x: T, k: f64) -> T { x * k }
}

mod gradient_that_ignores_and_uses {
    use super::*;
    #[custom_function(elementwise, grad(x, ignores_grad) = grad_output * k)]
    pub fn f<T: Real>(x: T, k: f64) -> T { x * k }
}

mod gradient_twice {
    use super::*;
    #[custom_function(elementwise, grad(x) = grad_output, grad(x) = grad_output * 2.0)]
    pub fn f<T: Real>(x: T) -> T { x }
}

mod gradient_of_another_name {
    use super::*;
    #[custom_function(elementwise, grad(x) = grad_output * y)]
    pub fn f<T: Real>(x: T) -> T { x }
}

mod gradient_of_tensors {
    use super::*;
    #[custom_function(elementwise, grad(x) = grad_output.view())]
    pub fn f<T: Real>(x: T) -> T { x }
}

mod gradient_with_an_option_twice {
    use super::*;
    #[custom_function(elementwise, grad(x, ignores_grad, ignores_grad) = T::from(k))]
    pub fn f<T: Real>(x: T, k: f64) -> T { x * k }
}

mod gradient_of_an_output_misnamed {
    use super::*;
    #[custom_function(elementwise, otuputs(y), grad(x) = grad_y * k)]
    pub fn f<T: Real>(x: T, k: f64) -> T { x * k }
}

mod higher_order_too {
    use super::*;
    #[custom_function(elementwise, higher_order)]
    pub fn f<T: Real>(x: T) -> T { x }
}

mod in_the_element_type {
    use super::*;
    #[custom_function(elementwise)]
    pub fn f(x: f64) -> f64 { x * x }
}

mod a_lost_derivative {
    use super::*;
    #[custom_function(elementwise, grad(x) = grad_output)]
    pub fn through<T: Real>(x: T) -> T { x.round() }
    #[custom_function(elementwise)]
    pub fn f<T: Real>(x: T) -> T { Through::formula(x) * 2.0 }
}

mod no_bound {
    use super::*;
    #[custom_function(elementwise)]
    pub fn f<T>(x: T) -> T { 2.0 * x }
}

mod no_number {
    use super::*;
    #[custom_function(elementwise)]
    pub fn f<T: Real>(steps: usize) -> T { T::from(steps as f64) }
}

mod nothing_is_returned {
    use super::*;
    #[custom_function(elementwise)]
    pub fn f<T: Real>(x: T) { let _ = x; }
}

mod of_another_rank {
    use super::*;
    #[custom_function(elementwise, gradcheck(x = [2, 3], y = [3]))]
    pub fn f<T: Real>(x: T, y: T) -> T { x * y }
}

mod of_another_bound_with_literals {
    use super::*;
    #[custom_function(elementwise, grad(x) = grad_output * 2.0)]
    pub fn f<T: Element>(x: T) -> T { 2.0 * x }
}

mod of_a_second_type {
    use super::*;
    #[custom_function(elementwise, grad(x) = grad_output * 2.0)]
    pub fn f<U: Clone, T: Real>(x: T, others: &[U]) -> T { 2.0 * x }
}

mod of_another_bound {
    use super::*;
    #[custom_function(elementwise)]
    pub fn f<T: Element>(x: T) -> T { x * x }
}

mod of_two_bounds {
    use super::*;
    #[custom_function(elementwise)]
    pub fn f<T: Real + Default>(x: T) -> T { x + T::default() }
}

mod an_option_is_returned {
    use super::*;
    #[custom_function(elementwise)]
    pub fn f<T: Real>(x: T) -> Option<T> { Some(x) }
}

mod order_of_seven {
    use super::*;
    #[custom_function(elementwise(order = 7))]
    pub fn f<T: Real>(x: T) -> T { x }
}

mod order_by_another_name {
    use super::*;
    #[custom_function(elementwise(orders = 3))]
    pub fn f<T: Real>(x: T) -> T { x }
}

mod outputs_of_another_count {
    use super::*;
    #[custom_function(elementwise, outputs(a, b, c))]
    pub fn f<T: Real>(x: T) -> (T, T) { (x, x) }
}

mod a_parameter_without_a_name {
    use super::*;
    #[custom_function(elementwise)]
    pub fn f<T: Real>(x: T, (a, b): (f64, f64)) -> T { x * a + b }
}

mod a_receiver {
    use super::*;
    #[custom_function(elementwise)]
    pub fn f<T: Real>(self, x: T) -> T { x }
}

mod a_reference {
    use super::*;
    #[custom_function(elementwise)]
    pub fn f<T: Real>(x: &T) -> T { *x * 2.0 }
    fn caller(x: &Tensor1<f64>) -> Tensor1<f64> { f(x) }
}

mod saved_by_hand {
    use super::*;
    #[custom_function(elementwise, saves(y))]
    pub fn f<T: Real>(x: T) -> T { x }
}

mod spelled_otherwise {
    use super::*;
    #[custom_function(elementwize)]
    pub fn f<T: Real>(x: T) -> T { x }
}

mod a_function_as_a_value {
    use super::*;
    #[custom_function(elementwise)]
    pub fn f<T: Real>(x: T, g: impl Fn(f64) -> f64) -> T { x * g(1.0) }
}

mod what_real_does_not_have {
    use super::*;
    #[custom_function(elementwise)]
    pub fn f<T: Real>(x: T) -> T { x.gamma() }
}

mod an_integer_beside_a_number {
    use super::*;
    #[custom_function(elementwise)]
    pub fn f<T: Real>(x: T) -> T { 2 * x }
}

mod f64_instead_of_a_number {
    use super::*;
    #[custom_function(elementwise)]
    pub fn f<T: Real>(x: T) -> T { if x > 0.0 { x } else { 0.0 } }
}

mod inputs_of_the_check {
    use super::*;
    #[custom_function(elementwise, gradcheck(x = [3], limits = [3]))]
    pub fn f<T: Real>(x: T, limit: T) -> T { x / limit }
}


mod without_the_word {
    use super::*;
    #[custom_function]
    pub fn f<T: Real>(x: T) -> T { x * 2.0 }
    fn caller(x: &Tensor1<f64>) -> Tensor1<f64> { f(x) }
}

mod gradient_of_an_exempt_number {
    use super::*;
    #[custom_function(elementwise, grad(k) = grad_output * x)]
    pub fn scaled<T: Real>(x: T, #[non_differentiable] k: T) -> T { x * k }
}

mod gradients_with_one_of_an_exempt_number {
    use super::*;
    #[custom_function(elementwise, grad(x, k) = (grad_output * k, grad_output * x))]
    pub fn scaled<T: Real>(x: T, #[non_differentiable] k: T) -> T { x * k }
}

mod gradients_of_a_misspelt_number {
    use super::*;
    #[custom_function(elementwise, grad(x, fcator) = (grad_output * factor, grad_output * x))]
    pub fn scaled<T: Real>(x: T, factor: T) -> T { x * factor }
}

mod a_value_of_one_thread {
    use super::*;
    use std::rc::Rc;
    #[custom_function(elementwise)]
    pub fn scaled<T: Real>(x: T, factor: Rc<f64>) -> T { x * *factor }
}

mod a_value_of_one_thread_beside_a_gradient {
    use super::*;
    use std::{cell::RefCell, sync::Arc};
    #[custom_function(elementwise, grad(x) = grad_output)]
    pub fn counted<T: Real>(x: T, count: &Arc<RefCell<usize>>) -> T { *count.borrow_mut() += 1; x }
}

mod a_pointer_as_a_value {
    use super::*;
    #[custom_function(elementwise)]
    pub fn scaled<T: Real>(x: T, factor: *const f64) -> T { x * unsafe { *factor } }
}

pub struct NotClone(f64);

mod a_value_without_clone {
    use super::*;
    #[custom_function(elementwise)]
    pub fn scaled<T: Real>(x: T, factor: NotClone) -> T { x * factor.0 }
}

mod a_value_that_is_lent_without_clone {
    use super::*;
    #[custom_function(elementwise)]
    pub fn scaled<T: Real>(x: T, factor: &NotClone) -> T { x * factor.0 }
}

mod a_value_that_is_written_to {
    use super::*;
    #[custom_function(elementwise)]
    pub fn logged<T: Real>(x: T, log: &mut Vec<f64>) -> T { log.push(1.0); x }
}

mod a_function_that_is_lent {
    use super::*;
    #[custom_function(elementwise)]
    pub fn mapped<T: Real>(x: T, f: &dyn Fn(f64) -> f64) -> T { x * f(2.0) }
}

mod closure_as_a_derivative {
    use super::*;
    #[custom_function(elementwise, grad(x) = |grad_output| grad_output * 2.0)]
    pub fn twice<T: Real>(x: T) -> T { 2.0 * x }
}

fn main() {}
