use pullback::ndarray::{Array0, Array1, Array2, Array6, ArrayView1, ArrayView2, ArrayView6, ArrayViewMut1, arr0};
use pullback::prelude::*;

mod unknown_name {
    use super::*;
    pub struct Linear;
    #[custom_function(batch(inptu))]
    impl Linear {
        #[forward]
        pub fn forward(input: ArrayView2<f64>, weight: ArrayView2<f64>) -> Array2<f64> { input.dot(&weight.t()) }
        #[backward(input)]
        fn grad_input(grad_output: ArrayView2<f64>, weight: ArrayView2<f64>) -> Array2<f64> { grad_output.dot(&weight) }
        #[backward(weight)]
        fn grad_weight(grad_output: ArrayView2<f64>, input: ArrayView2<f64>) -> Array2<f64> { grad_output.t().dot(&input) }
    }
}

mod value {
    use super::*;
    #[custom_function(batch(x, factor), grad(x) = &grad_output * *factor)]
    pub fn scale(x: ArrayView1<f64>, factor: f64) -> Array1<f64> { &x * factor }
    fn caller(x: &Tensor2<f64>) -> Tensor2<f64> { Scale::apply_batch(x, 2.0) }
}

mod twice {
    use super::*;
    #[custom_function(batch(x, x), grad(x) = &grad_output * 2.0)]
    pub fn double(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
}

mod nothing {
    use super::*;
    #[custom_function(batch(), grad(x) = &grad_output * 2.0)]
    pub fn double(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
    #[custom_function(batch = x, grad(x) = &grad_output * 3.0)]
    pub fn triple(x: ArrayView1<f64>) -> Array1<f64> { &x * 3.0 }
}

mod elementwise {
    use super::*;
    #[custom_function(elementwise, batch(x))]
    pub fn square<T: Real>(x: T) -> T { x * x }
}

mod written_by_hand {
    use super::*;
    pub struct Double;
    #[custom_function(batch(x))]
    impl Double {
        #[forward]
        pub fn forward(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { &grad_output * 2.0 }
        pub fn apply_batch(x: &Tensor2<f64>) -> Tensor2<f64> { x * 2.0 }
    }
}

mod written_to {
    use super::*;
    pub struct Double;
    #[custom_function(batch(x))]
    impl Double {
        #[forward]
        pub fn forward(mut x: ArrayViewMut1<f64>) { x *= 2.0; }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { &grad_output * 2.0 }
    }
}

mod changes_a_value {
    use super::*;
    #[custom_function(batch(x), grad(x) = grad_output.to_owned())]
    pub fn counted(x: ArrayView1<f64>, count: &mut usize) -> Array1<f64> {
        *count += 1;
        x.to_owned()
    }
}

mod largest_rank {
    use super::*;
    #[custom_function(batch(x), grad(x) = ArrayView6::from_shape(x.raw_dim(), &[0.0]).unwrap().to_owned() * grad_output[()])]
    pub fn total(x: ArrayView6<f64>) -> Array0<f64> { arr0(x.sum()) }
    #[custom_function(batch(x), grad(x) = grad_output.iter().copied().collect())]
    pub fn raised(x: ArrayView1<f64>) -> Array6<f64> { todo!("{x}") }
}

mod output_may_be_missing {
    use super::*;
    #[custom_function(batch(x), outputs(y, half), grad(x) = { let _ = (grad_y, grad_half); todo!() })]
    pub fn halves(x: ArrayView1<f64>) -> (Array1<f64>, Option<Array1<f64>>) { (x.to_owned(), Some(&x / 2.0)) }
}

mod value_that_threads_cannot_share {
    use std::cell::Cell;
    use super::*;
    #[custom_function(batch(x), grad(x) = grad_output.to_owned())]
    pub fn counted(x: ArrayView1<f64>, count: &Cell<usize>) -> Array1<f64> {
        count.set(count.get() + 1);
        x.to_owned()
    }
}

mod indices {
    use super::*;
    #[custom_function(batch(x, order), grad(x) = order.iter().map(|place| grad_output[*place]).collect())]
    pub fn permute(x: ArrayView1<f64>, order: &[usize]) -> Array1<f64> { order.iter().map(|place| x[*place]).collect() }
}

fn main() {}
