use pullback::ndarray::{Array, Array1, ArrayView, ArrayView1, Dimension};
use pullback::prelude::*;

mod element_type {
    use super::*;
    pub struct Exp<T, D>(std::marker::PhantomData<(T, D)>);
    #[custom_function]
    impl<T, D: Dimension> Exp<T, D> {
        #[forward]
        pub fn forward(x: ArrayView<T, D>) -> Array<T, D> { todo!("{:?}", x.shape()) }
        #[backward(x)]
        fn backward(grad_output: Array<T, D>) -> Array<T, D> { grad_output }
    }
}

mod rank {
    use super::*;
    pub struct Exp<T, D>(std::marker::PhantomData<(T, D)>);
    #[custom_function]
    impl<T: Element, D> Exp<T, D> {
        #[forward]
        pub fn forward(x: ArrayView<T, D>) -> Array<T, D> { todo!("{:p}", &x) }
        #[backward(x)]
        fn backward(grad_output: Array<T, D>) -> Array<T, D> { grad_output }
    }
}

mod value_of_one_thread {
    use std::marker::PhantomData;
    use super::*;
    #[derive(Clone)]
    pub struct Unshared {
        factor: f64,
        of_one_thread: PhantomData<*const u8>,
    }
    // Sent, but not shared.
    unsafe impl Send for Unshared {}
    pub struct Scale;
    #[custom_function]
    impl Scale {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, settings: Unshared) -> Array1<f64> {
            let _ = settings.of_one_thread;
            &x * settings.factor
        }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, settings: &Unshared) -> Array1<f64> { &grad_output * settings.factor }
    }
}

mod value_without_clone {
    use super::*;
    pub struct Settings {
        factor: f64,
    }
    pub struct Scale;
    #[custom_function]
    impl Scale {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, settings: Settings) -> Array1<f64> { &x * settings.factor }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, settings: &Settings) -> Array1<f64> { &grad_output * settings.factor }
    }
}

mod reference_without_clone {
    use super::*;
    struct Settings { k: f64 }
    pub struct F;
    #[custom_function]
    impl F {
        #[forward]
        fn forward(x: ArrayView1<f64>, s: &Settings) -> Array1<f64> { &x * s.k }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, s: &Settings) -> Array1<f64> { &grad_output * s.k }
    }
}

mod trait_object {
    use super::*;
    pub struct F;
    #[custom_function]
    impl F {
        #[forward]
        fn forward(x: ArrayView1<f64>, f: &dyn Fn(f64) -> f64) -> Array1<f64> { x.mapv(f) }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, f: &dyn Fn(f64) -> f64) -> Array1<f64> { &grad_output * 1.0 }
    }
}

mod error_that_is_none {
    use super::*;
    pub struct Scale;
    #[custom_function]
    impl Scale {
        #[forward]
        fn forward(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Result<Array1<f64>, usize> { Err(grad_output.len()) }
    }
}

mod list_of_another_rank {
    use super::*;
    pub struct Join;
    #[custom_function]
    impl Join {
        #[forward]
        pub fn forward(parts: &[&TensorD<f64>]) -> Array1<f64> { Array1::zeros(parts.len()) }
        #[backward(parts)]
        fn backward(grad_output: &Tensor1<f64>, parts: &[&TensorD<f64>]) -> Vec<TensorD<f64>> {
            let _ = grad_output;
            parts.iter().map(|part| *part * 0.0).collect()
        }
    }
    fn f(x: &[Tensor1<f64>]) -> Tensor1<f64> { Join::apply(x) }
}

mod used_without_a_bound {
    use super::*;
    // What the body does with its elements is not reported too.
    #[custom_function(grad(x) = &grad_output * T::from_f64(2.0))]
    pub fn twice<T, D: Dimension>(x: ArrayView<T, D>) -> Array<T, D> { x.mapv(|x| x * T::from_f64(2.0)) }
}

mod closure_that_cannot_be_saved {
    use super::*;
    pub struct Mapped<F>(std::marker::PhantomData<F>);
    #[custom_function]
    impl<F: Fn(f64) -> f64> Mapped<F> {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, f: F) -> Array1<f64> { x.mapv(f) }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, f: &F) -> Array1<f64> { grad_output.mapv(f) }
    }
}

fn main() {}

mod error_of_one_thread {
    use super::*;
    pub struct Scale;
    #[custom_function]
    impl Scale {
        #[forward]
        fn forward(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
        #[backward(x)]
        fn backward(grad_output: Array1<f64>) -> Result<Array1<f64>, Box<dyn std::error::Error>> { Ok(grad_output * 2.0) }
    }
}
