use pullback::ndarray::{Array, Array1, Array2, ArrayView, ArrayView1, ArrayView2, Axis};
use pullback::prelude::*;

mod arrays_in_higher_order {
    use super::*;
    #[custom_function(higher_order, grad(x) = grad_output.to_array() * *factor)]
    pub fn scale(x: ArrayView1<f32>, factor: f32) -> Array1<f32> { &x * factor }
}

mod async_forward {
    use super::*;
    #[custom_function(grad(x) = grad_output.to_owned())]
    pub async fn same(x: ArrayView1<'_, f32>) -> Array1<f32> { x.to_owned() }
}

mod borrowed_value {
    use super::*;
    #[custom_function(grad(x) = &grad_output * factors[0][0])]
    pub fn scale(x: ArrayView1<f32>, factors: &[&[f32]]) -> Array1<f32> { &x * factors[0][0] }
}

mod callers_are_not_disturbed {
    use super::*;
    #[custom_function(grad(input) = grad_output.dot(&weight), grad(bias) = grad_output.sum_axis(Axis(0)))]
    pub fn linear(input: ArrayView2<f32>, weight: ArrayView2<f32>, bias: Option<ArrayView1<f32>>) -> Array2<f32> {
        let output = input.dot(&weight.t());
        match bias {
            Some(bias) => output + bias,
            None => output,
        }
    }
    fn caller() {
        // Neither the function nor the type behind it is reported a second time.
        let x = Tensor::from(Array2::<f32>::ones((1, 2)));
        let y: Tensor2<f32> = linear(&x, &x, None);
        y.sum().backward().unwrap();
        let _: Array2<f32> = Linear::forward(x.view(), x.view(), Some(Array1::ones(1).view()));
        println!("{}", Linear::NAME);
    }
}

mod expression_left_out {
    use super::*;
    #[custom_function(grad(x) = )]
    pub fn scale(x: ArrayView1<f32>, factor: f32) -> Array1<f32> { &x * factor }
}

mod grad_of_nothing {
    use super::*;
    #[custom_function(grad() = &grad_output * *factor)]
    pub fn scale(x: ArrayView1<f32>, factor: f32) -> Array1<f32> { &x * factor }
}

mod grad_without_a_name {
    use super::*;
    #[custom_function(grad = &grad_output * *factor)]
    pub fn scale(x: ArrayView1<f32>, factor: f32) -> Array1<f32> { &x * factor }
}

mod grad_without_an_expression {
    use super::*;
    #[custom_function(grad(x))]
    pub fn scale(x: ArrayView1<f32>, factor: f32) -> Array1<f32> { &x * factor }
}

mod gradient_of_a_value {
    use super::*;
    #[custom_function(grad(x) = &grad_output * *factor, grad(factor) = grad_output.sum())]
    pub fn scale(x: ArrayView1<f32>, factor: f32) -> Array1<f32> { &x * factor }
}

mod gradient_of_an_unknown_input {
    use super::*;
    #[custom_function(grad(input) = grad_output.dot(&weight), grad(wieght) = grad_output.t().dot(&input))]
    pub fn linear(input: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> { input.dot(&weight.t()) }
}

mod gradient_twice {
    use super::*;
    #[custom_function(
        grad(input) = grad_output.dot(&weight),
        grad(weight) = grad_output.t().dot(&input),
        grad(input) = grad_output.dot(&weight),
    )]
    pub fn linear(input: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> { input.dot(&weight.t()) }
}

mod higher_order_with_a_value {
    use super::*;
    #[custom_function(higher_order = true, grad(x) = grad_output * *factor)]
    pub fn scale(x: ArrayView1<f32>, factor: f32) -> Array1<f32> { &x * factor }
}

mod ignores_and_uses {
    use super::*;
    #[custom_function(grad(x, ignores_grad) = &grad_output * *factor)]
    pub fn scale(x: ArrayView1<f32>, factor: f32) -> Array1<f32> { &x * factor }
}

mod ignores_what_comes_in {
    use super::*;
    #[custom_function(grad(x) = &x * *factor)]
    pub fn scale(x: ArrayView1<f32>, factor: f32) -> Array1<f32> { &x * factor }
}

mod impl_trait {
    use super::*;
    #[custom_function(grad(x) = grad_output.mapv(|grad| grad * 2.0))]
    pub fn map(x: ArrayView1<f32>, f: impl Fn(f32) -> f32) -> Array1<f32> { x.mapv(f) }
}

mod in_a_block {
    use super::*;
    pub struct Scale;
    #[custom_function(grad(x) = &grad_output * *factor, higher_order, outputs(y))]
    impl Scale {
        #[forward]
        pub fn forward(x: ArrayView1<f32>, factor: f32) -> Array1<f32> { &x * factor }
        #[backward(x)]
        fn backward(grad_output: Array1<f32>, factor: f32) -> Array1<f32> { grad_output * factor }
    }
}

mod intermediate_in_higher_order {
    use super::*;
    #[custom_function(higher_order, outputs(y), saves(root), grad(x) = grad_y / root * 0.5)]
    pub fn sqrt(x: ArrayView1<f32>) -> (Array1<f32>, Array1<f32>) {
        let y = x.mapv(f32::sqrt);
        (y.clone(), y)
    }
}

mod intermediate_without_a_name {
    use super::*;
    #[custom_function(grad(x) = &grad_output / &q * -(nu + 1.0) / *nu)]
    pub fn student_t(x: ArrayView1<f64>, nu: f64) -> (Array1<f64>, Array1<f64>) {
        let q = x.mapv(|x| 1.0 + x * x / nu);
        (q.mapv(|q| -(nu + 1.0) / 2.0 * q.ln()), q)
    }
}

mod missing_gradient {
    use super::*;
    #[custom_function(grad(input) = grad_output.dot(&weight))]
    pub fn linear(input: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> { input.dot(&weight.t()) }
}

mod name_that_is_taken {
    use super::*;
    pub struct Scale;
    #[custom_function(grad(x) = &grad_output * *factor)]
    pub fn scale(x: ArrayView1<f32>, factor: f32) -> Array1<f32> { &x * factor }
}

mod name_of_a_macro {
    use super::*;
    #[custom_function(grad(x) = vec)]
    pub fn same(x: ArrayView1<f64>) -> Array1<f64> { x.to_owned() }
}

mod no_gradients {
    use super::*;
    #[custom_function]
    pub fn square(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
}

mod output_whose_gradient_is_not_used {
    use super::*;
    #[custom_function(outputs(y, z), grad(x) = grad_y.to_owned())]
    pub fn twice(x: ArrayView1<f32>) -> (Array1<f32>, Array1<f32>) { (x.to_owned(), x.to_owned()) }
}

mod receiver {
    use super::*;
    #[custom_function(grad(x) = grad_output.to_owned())]
    pub fn scale(&self, x: ArrayView1<f32>) -> Array1<f32> { x.to_owned() }
}

mod tensors_in_lower_order {
    use super::*;
    #[custom_function(grad(x) = Tensor::from(&grad_output * *factor))]
    pub fn scale(x: ArrayView1<f32>, factor: f32) -> Array1<f32> { &x * factor }
}

mod two_functions_of_one_name {
    use super::*;
    #[custom_function(grad(x) = 2.0 * &grad_output)]
    pub fn twice(x: ArrayView1<f64>) -> Array1<f64> { 2.0 * &x }
    #[custom_function(grad(x) = 2.0 * &grad_output)]
    fn twice(x: ArrayView1<f64>) -> Array1<f64> { 2.0 * &x }
    #[custom_function(elementwise)]
    fn thrice<T: pullback::Real>(x: T) -> T { 3.0 * x }
    #[custom_function(elementwise)]
    fn thrice<T: pullback::Real>(x: T) -> T { 3.0 * x }
}

mod unknown_argument {
    use super::*;
    #[custom_function(gard(x) = &grad_output * *factor)]
    pub fn scale(x: ArrayView1<f32>, factor: f32) -> Array1<f32> { &x * factor }
}

mod unknown_name {
    use super::*;
    #[custom_function(grad(input) = grad_output.dot(&weight), grad(weight) = grad_output.t().dot(&inptu))]
    pub fn linear(input: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> { input.dot(&weight.t()) }
}

mod value_not_dereferenced {
    use super::*;
    #[custom_function(grad(x) = &grad_output * factor)]
    pub fn scale(x: ArrayView1<f32>, factor: f32) -> Array1<f32> { &x * factor }
}

mod view_returned {
    use super::*;
    #[custom_function(grad(input) = grad_output, grad(weight) = grad_output.t().dot(&input))]
    pub fn linear(input: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> { input.dot(&weight.t()) }
}

mod without_a_bound {
    use super::*;
    #[custom_function(grad(x) = todo!("{:p}", &grad_output))]
    pub fn same<T, D>(x: ArrayView<T, D>) -> Array<T, D> { todo!("{:p}", &x) }
}

mod wrong_count_of_saves {
    use super::*;
    #[custom_function(saves(y), grad(x) = &grad_output * *factor)]
    pub fn scale(x: ArrayView1<f32>, factor: f32) -> Array1<f32> { &x * factor }
}

mod wrong_rank {
    use super::*;
    #[custom_function(grad(input) = grad_output.row(0).to_owned(), grad(weight) = grad_output.t().dot(&input))]
    pub fn linear(input: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> { input.dot(&weight.t()) }
}

mod wrong_type {
    use super::*;
    #[custom_function(grad(input) = grad_output.dot(&weight), grad(weight) = grad_output.sum())]
    pub fn linear(input: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> { input.dot(&weight.t()) }
}

mod gradient_by_an_underscore {
    use super::*;
    #[custom_function(grad_x = &grad_output * 2.0)]
    fn f(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
}

mod gradient_as_backward {
    use super::*;
    #[custom_function(backward(x) = &grad_output * 2.0)]
    fn f(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
}

mod impl_trait_returned {
    use super::*;
    #[custom_function(grad(x) = &grad_output * 2.0)]
    pub fn twice(x: ArrayView1<f32>) -> impl Into<Array1<f32>> { &x * 2.0 }
}

mod nothing_returned {
    use super::*;
    #[custom_function(grad(x) = &grad_output * 2.0)]
    pub fn twice(x: ArrayView1<f32>) { &x * 2.0 }
}

mod gradient_listed_twice {
    use super::*;
    #[custom_function(grad(x, x) = &grad_output * 2.0)]
    pub fn twice(x: ArrayView1<f32>) -> Array1<f32> { &x * 2.0 }
}

mod option_that_is_not_a_list {
    use super::*;
    #[custom_function(saves = mean, grad(x) = &grad_output_0 * *mean)]
    pub fn twice(x: ArrayView1<f32>) -> (Array1<f32>, Array1<f32>, f32) { (x.to_owned(), x.to_owned(), x.sum()) }
}

mod closure {
    use super::*;
    #[custom_function(grad(x) = |grad_output| &grad_output * 2.0)]
    pub fn twice(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
}

mod tuple_for_one_input {
    use super::*;
    #[custom_function(grad(x) = (&grad_output * &w, &grad_output * &x))]
    pub fn mul(x: ArrayView1<f64>, w: ArrayView1<f64>) -> Array1<f64> { &x * &w }
}

mod array_of_gradients {
    use super::*;
    #[custom_function(grad(x, w) = [&grad_output * &w, &grad_output * &x])]
    pub fn mul(x: ArrayView1<f64>, w: ArrayView1<f64>) -> Array1<f64> { &x * &w }
}

mod name_alone {
    use super::*;
    #[custom_function(grad(x) = grad_output)]
    pub fn same(x: ArrayView1<f64>) -> Array1<f64> { x.to_owned() }
}

mod local_of_forward {
    use super::*;
    #[custom_function(grad(x) = &grad_output / norm - &x * (x.dot(&grad_output) / norm))]
    pub fn normalized(x: ArrayView1<f64>) -> Array1<f64> { let norm = x.dot(&x).sqrt(); &x / norm }
}

mod local_from_outside {
    use super::*;
    pub fn outer() {
        let factor = 2.0;
        #[custom_function(grad(x) = &grad_output * factor)]
        fn scaled(x: ArrayView1<f64>) -> Array1<f64> { &x * factor }
    }
}

mod method_of_arrays_in_higher_order {
    use super::*;
    #[custom_function(higher_order, grad(x) = grad_output * &x.mapv(f64::cos))]
    pub fn sine(x: ArrayView1<f64>) -> Array1<f64> { x.mapv(f64::sin) }
}

mod reference_to_a_reference {
    use super::*;
    #[custom_function(higher_order, grad(x) = &grad_output * x.cos())]
    pub fn first(x: ArrayView1<f64>) -> Array1<f64> { x.mapv(f64::sin) }

    #[custom_function(higher_order, grad(x) = (x.cos() * &grad_output).relu())]
    pub fn second(x: ArrayView1<f64>) -> Array1<f64> { x.mapv(f64::sin) }
}

mod arrow {
    use super::*;
    #[custom_function(grad(x) => &grad_output * 2.0)]
    pub fn twice(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
}

mod statements {
    use super::*;
    #[custom_function(grad(x) = let k = 2.0; &grad_output * k)]
    pub fn twice(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
}

mod no_return_type {
    use super::*;
    #[custom_function(grad(x) = &grad_output * 2.0)]
    pub fn twice(x: ArrayView1<f64>) { &x * 2.0 }
    pub fn used(x: &Tensor1<f64>) -> Tensor1<f64> { twice(&twice(x).exp()) }
}

mod optional_input_as_an_operand {
    use super::*;
    #[custom_function(grad(x) = &grad_output * &gain, grad(gain) = &grad_output * &x)]
    pub fn scaled(x: ArrayView1<f64>, gain: Option<ArrayView1<f64>>) -> Array1<f64> { todo!("{x} {gain:?}") }
}

mod error_in_a_gradient {
    use super::*;
    fn solved(g: ArrayView1<f64>) -> Result<Array1<f64>, std::fmt::Error> { Ok(g.to_owned()) }
    #[custom_function(grad(x) = solved(grad_output)? * 2.0)]
    pub fn doubled(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
}

fn main() {}

mod beginning_of_a_name {
    use super::*;
    #[custom_function(grad(x) = &grad_out * &x * 2.0)]
    pub fn square(x: ArrayView1<f64>) -> Array1<f64> { &x * &x }
}

mod gradient_under_another_name {
    use super::*;
    #[custom_function(grad(x) = &dy * &x * 2.0)]
    pub fn square(x: ArrayView1<f64>) -> Array1<f64> { &x * &x }
}

mod tuple_of_more_than_the_inputs {
    use super::*;
    #[custom_function(grad(x) = (&grad_output * &x, None))]
    pub fn half_of_the_square(x: ArrayView1<f64>) -> Array1<f64> { &x * &x * 0.5 }
}

mod view_as_an_operand {
    use super::*;
    #[custom_function(grad(x) = grad_output * &x * 2.0)]
    pub fn square(x: ArrayView1<f64>) -> Array1<f64> { &x * &x }
    #[custom_function(grad(x) = &grad_output * x * 2.0)]
    pub fn second(x: ArrayView1<f64>) -> Array1<f64> { &x * &x }
    // An array takes a view.
    #[custom_function(grad(x) = -&grad_output * x * 2.0)]
    pub fn right(x: ArrayView1<f64>) -> Array1<f64> { -(&x * &x) }
}

mod negated_view {
    use super::*;
    #[custom_function(grad(x) = -grad_output)]
    pub fn minus(x: ArrayView1<f64>) -> Array1<f64> { -&x }
}

mod reference_as_an_operand {
    use super::*;
    #[custom_function(grad(x) = &grad_output * scale)]
    pub fn scaled(x: ArrayView1<f64>, scale: f64) -> Array1<f64> { &x * scale }
}

mod integer_as_an_operand {
    use super::*;
    #[custom_function(grad(x) = &grad_output * &x * 2)]
    pub fn square(x: ArrayView1<f64>) -> Array1<f64> { &x * &x }
}

mod integer_value_as_an_operand {
    use super::*;
    #[custom_function(grad(x) = &grad_output * *count)]
    pub fn scaled(x: ArrayView1<f64>, count: u32) -> Array1<f64> { &x * f64::from(count) }
}

mod option_as_an_operand {
    use super::*;
    #[custom_function(grad(x) = &grad_output * *scale)]
    pub fn scaled(x: ArrayView1<f64>, scale: Option<f64>) -> Array1<f64> { &x * scale.unwrap_or(1.0) }
}

mod length_as_an_operand {
    use super::*;
    #[custom_function(shapes(x = [n], output = [n]), grad(x) = &grad_output / n)]
    pub fn scaled(x: ArrayView1<f64>) -> Array1<f64> { &x / x.len() as f64 }
}

mod gradient_without_an_equals_sign {
    use super::*;
    #[custom_function(grad(x) &grad_output * &x * 2.0)]
    pub fn square(x: ArrayView1<f64>) -> Array1<f64> { &x * &x }
}

mod gradient_in_quotes {
    use super::*;
    #[custom_function(grad(x) = "&grad_output * &x * 2.0")]
    pub fn square(x: ArrayView1<f64>) -> Array1<f64> { &x * &x }
}

mod one_gradient_for_two {
    use super::*;
    #[custom_function(grad(x, w) = &grad_output * &w)]
    pub fn mul(x: ArrayView1<f64>, w: ArrayView1<f64>) -> Array1<f64> { &x * &w }
}
