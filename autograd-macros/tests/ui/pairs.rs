use pullback::prelude::*;

mod no_row {
    use super::*;
    #[custom_function(pairs)]
    pub fn dot<T: Real>(x: T, #[column] y: T) -> T { x * y }
}

mod no_column {
    use super::*;
    #[custom_function(pairs)]
    pub fn dot<T: Real>(#[row] x: T, y: T) -> T { x * y }
}

mod neither {
    use super::*;
    #[custom_function(pairs)]
    pub fn dot<T: Real>(x: T, y: T) -> T { x * y }
}

mod both_on_one {
    use super::*;
    #[custom_function(pairs)]
    pub fn dot<T: Real>(#[row] #[column] x: T, #[column] y: T) -> T { x * y }
}

mod row_of_values {
    use super::*;
    #[custom_function(pairs)]
    pub fn scaled<T: Real>(#[row] x: T, #[column] y: T, #[row] scale: f64) -> T { scale * x * y }
}

mod misspelled_side {
    use super::*;
    #[custom_function(pairs)]
    pub fn dot<T: Real>(#[row] x: T, #[columns] y: T) -> T { x * y }
}

mod unknown_reduction {
    use super::*;
    #[custom_function(pairs(reduce = mean))]
    pub fn dot<T: Real>(#[row] x: T, #[column] y: T) -> T { x * y }
}

mod nearly_a_reduction {
    use super::*;
    #[custom_function(pairs(reduce = maxx))]
    pub fn dot<T: Real>(#[row] x: T, #[column] y: T) -> T { x * y }
}

mod reduction_in_quotes {
    use super::*;
    #[custom_function(pairs(reduce = "max"))]
    pub fn dot<T: Real>(#[row] x: T, #[column] y: T) -> T { x * y }
}

mod reduction_alone {
    use super::*;
    #[custom_function(pairs(max))]
    pub fn dot<T: Real>(#[row] x: T, #[column] y: T) -> T { x * y }
}

mod order_of_none {
    use super::*;
    #[custom_function(pairs(order = 0))]
    pub fn dot<T: Real>(#[row] x: T, #[column] y: T) -> T { x * y }
}

mod extreme_of_several {
    use super::*;
    #[custom_function(pairs(reduce = max), outputs(a, b))]
    pub fn dot<T: Real>(#[row] x: T, #[column] y: T) -> (T, T) { (x * y, x) }
}

mod extreme_of_a_row {
    use super::*;
    #[custom_function(pairs(reduce = log_sum_exp))]
    pub fn dot<T: Real>(#[row] x: T, #[column] y: T) -> [T; 2] { [x, y] }
}

mod own_gradient {
    use super::*;
    #[custom_function(pairs, grad(x) = grad_output * y)]
    pub fn dot<T: Real>(#[row] x: T, #[column] y: T) -> T { x * y }
}

mod elementwise_too {
    use super::*;
    #[custom_function(elementwise, pairs)]
    pub fn dot<T: Real>(#[row] x: T, #[column] y: T) -> T { x * y }
}

mod side_of_an_elementwise_function {
    use super::*;
    #[custom_function(elementwise)]
    pub fn dot<T: Real>(#[row] x: T, y: T) -> T { x * y }
}

mod side_of_an_array {
    use super::*;
    use pullback::ndarray::{Array1, ArrayView1};
    #[custom_function(grad(x) = grad_output.to_owned())]
    pub fn same(#[column] x: ArrayView1<f64>) -> Array1<f64> { x.to_owned() }
}

mod shapes_of_pairs {
    use super::*;
    #[custom_function(pairs, shapes(x = [n], y = [m], output = [n]))]
    pub fn dot<T: Real>(#[row] x: T, #[column] y: T) -> T { x * y }
}

mod batch_of_pairs {
    use super::*;
    #[custom_function(pairs, batch(x))]
    pub fn dot<T: Real>(#[row] x: T, #[column] y: T) -> T { x * y }
}

mod saves {
    use super::*;
    #[custom_function(pairs, saves(n))]
    pub fn dot<T: Real>(#[row] x: T, #[column] y: T) -> T { x * y }
}

mod entries_of_pairs {
    use super::*;
    #[custom_function(pairs)]
    pub fn chosen<T: Real>(#[row] x: T, #[column] y: T, #[each] label: &[i64]) -> T { x * y * label as f64 }
}

mod arrays {
    use super::*;
    use pullback::ndarray::{Array1, ArrayView2};
    #[custom_function(pairs)]
    pub fn dot(#[row] x: ArrayView2<f64>, #[column] y: ArrayView2<f64>) -> Array1<f64> { x.dot(&y.t()).sum_axis(pullback::ndarray::Axis(1)) }
}

mod block {
    use super::*;
    use pullback::ndarray::{Array1, ArrayView1};
    pub struct Dot;
    #[custom_function(pairs)]
    impl Dot {
        #[forward]
        pub fn forward(x: ArrayView1<f64>) -> Array1<f64> { x.to_owned() }
        #[backward]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { grad_output.to_owned() }
    }
}

mod row_as_a_slice {
    use super::*;
    #[custom_function(pairs)]
    pub fn first<T: Real>(#[row] x: &[T], #[column] y: T) -> T { x[0] * y }
    pub fn called(x: &Tensor2<f64>, y: &Tensor1<f64>) -> Tensor1<f64> { first(x, y) }
}

fn main() {}

mod rows_and_columns {
    use super::*;
    #[custom_function(pairs)]
    pub fn dot<T: Real>(#[rows] x: T, #[columns] y: T) -> T { x * y }
}

mod reduce_beside_pairs {
    use super::*;
    #[custom_function(pairs, reduce = log_sum_exp)]
    pub fn dot<T: Real>(#[row] x: T, #[column] y: T) -> T { x * y }
}
