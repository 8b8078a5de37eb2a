use pullback::ndarray::{Array, Array1, Array2, ArrayView, ArrayView1, ArrayView2, Dimension};
use pullback::prelude::*;

mod generic_and_fixed_rank {
    use super::*;
    pub struct Exp<D>(std::marker::PhantomData<D>);
    #[custom_function]
    impl<D: Dimension> Exp<D> {
        #[forward]
        pub fn forward(x: ArrayView<f64, D>) -> Array<f64, D> { x.mapv(f64::exp) }
        #[backward(x)]
        fn backward(grad_output: Array<f64, D>, output: ArrayView1<f64>) -> Array<f64, D> {
            let _ = output;
            grad_output
        }
    }
}

mod wrong_element_type {
    use super::*;
    pub struct Linear;
    #[custom_function]
    impl Linear {
        #[forward]
        pub fn forward(input: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> { input.dot(&weight.t()) }
        #[backward(input)]
        fn grad_input(grad_output: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> { grad_output.dot(&weight) }
        #[backward(weight)]
        fn grad_weight(grad_output: ArrayView2<f32>, input: ArrayView2<f64>) -> Array2<f32> {
            let _ = input;
            grad_output.to_owned()
        }
    }
}

mod wrong_element_type_of_the_result {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f64> {
            (&grad_output * &x).mapv(f64::from)
        }
    }
}

mod wrong_rank {
    use super::*;
    pub struct Linear;
    #[custom_function]
    impl Linear {
        #[forward]
        pub fn forward(input: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> { input.dot(&weight.t()) }
        #[backward(input)]
        fn grad_input(grad_output: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> { grad_output.dot(&weight) }
        #[backward(weight)]
        fn grad_weight(grad_output: ArrayView2<f32>, input: ArrayView1<f32>) -> Array2<f32> {
            let _ = input;
            grad_output.to_owned()
        }
    }
}

mod wrong_rank_of_the_gradient {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView2<f32>, x: ArrayView1<f32>) -> Array1<f32> {
            let _ = grad_output;
            x.to_owned()
        }
    }
}

mod wrong_rank_of_the_result {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array2<f32> {
            let _ = x;
            Array2::zeros((grad_output.len(), 1))
        }
    }
}

mod element_of_a_gradient {
    use super::*;
    pub struct F;
    #[custom_function]
    impl F {
        #[forward]
        fn forward(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f64>) -> Array1<f64> { &grad_output * &x }
    }
}

mod rank_of_a_gradient {
    use super::*;
    pub struct F;
    #[custom_function]
    impl F {
        #[forward]
        fn forward(x: ArrayView1<f64>, w: ArrayView2<f64>) -> Array1<f64> { w.dot(&x) }
        #[backward(x)]
        fn gx(grad_output: ArrayView2<f64>, w: ArrayView2<f64>) -> Array1<f64> { let a: Array1<f64> = w.t().dot(&grad_output); a }
        #[backward(w)]
        fn gw(grad_output: ArrayView1<f64>, x: ArrayView1<f64>) -> Array2<f64> { todo!() }
    }
}

mod element_of_forward {
    use super::*;
    pub struct F;
    #[custom_function]
    impl F {
        #[forward]
        fn forward(x: ArrayView1<f32>) -> Array1<f64> { &x * 2.0 }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { &grad_output * 2.0 }
    }
}

fn main() {}
