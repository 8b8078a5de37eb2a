use pullback::ndarray::{Array, Array1, ArrayView, ArrayView1, Dimension};
use pullback::prelude::*;

mod array_value_of_another_type {
    use super::*;
    pub struct Take;
    #[custom_function]
    impl Take {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, indices: &Array1<usize>) -> Array1<f64> { indices.mapv(|index| x[index]) }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, indices: &Array1<i32>) -> Array1<f64> {
            let _ = indices;
            grad_output.to_owned()
        }
    }
}

mod borrowed_value {
    use super::*;
    pub struct Take;
    #[custom_function]
    impl Take {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, indices: ArrayView1<usize>) -> Array1<f64> { indices.mapv(|index| x[index]) }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, indices: ArrayView1<usize>) -> Array1<f64> {
            let _ = indices;
            grad_output.to_owned()
        }
    }
}

mod context_by_value {
    use super::*;
    pub struct Product;
    #[custom_function]
    impl Product {
        #[forward]
        pub fn forward(x: ArrayView1<f32>, w: ArrayView1<f32>) -> Array1<f32> { &x * &w }
        #[backward(x)]
        fn grad_x(grad_output: ArrayView1<f32>, context: ProductContext) -> Array1<f32> {
            &grad_output * &context.w.unwrap().view()
        }
        #[backward(w)]
        fn grad_w(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> { &grad_output * &x }
    }
}

mod context_of_another_function {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>, context: &Context) -> Array1<f32> {
            &grad_output * &x * context.factor
        }
    }
    pub struct Context {
        factor: f32,
    }
}

mod context_to_write_to {
    use std::marker::PhantomData;
    use super::*;
    pub struct Exp<T, D>(PhantomData<(T, D)>);
    #[custom_function]
    impl<T: Element, D: Dimension> Exp<T, D> {
        #[forward]
        pub fn forward(x: ArrayView<T, D>) -> Array<T, D> { x.mapv(T::exp) }
        #[backward(x)]
        fn grad_x(
            grad_output: ArrayView<T, D>,
            output: ArrayView<T, D>,
            context: &mut ExpContext<T, D>,
        ) -> Array<T, D> {
            context.output.take();
            &grad_output * &output
        }
    }
}

mod intermediate_as_tensor {
    use super::*;
    pub struct Norm;
    #[custom_function]
    impl Norm {
        #[forward(outputs(y), saves(scaled))]
        pub fn forward(x: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) { (x.to_owned(), &x * 2.0) }
        #[backward(x)]
        fn backward(grad_y: &Tensor1<f64>, scaled: &Tensor1<f64>) -> Tensor1<f64> { grad_y * scaled }
    }
}

mod optional_taken_plain {
    use super::*;
    pub struct Affine;
    #[custom_function]
    impl Affine {
        #[forward]
        pub fn forward(x: ArrayView1<f32>, bias: Option<ArrayView1<f32>>) -> Array1<f32> {
            bias.map_or_else(|| x.to_owned(), |bias| &x + &bias)
        }
        #[backward(x)]
        fn grad_x(grad_output: ArrayView1<f32>, bias: ArrayView1<f32>) -> Array1<f32> { &grad_output * &bias }
        #[backward(bias)]
        fn grad_bias(grad_output: ArrayView1<f32>) -> Array1<f32> { grad_output.to_owned() }
    }
}

mod plain_taken_as_optional {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: Option<ArrayView1<f32>>) -> Array1<f32> {
            x.map_or_else(|| grad_output.to_owned(), |x| &grad_output * &x * 2.0)
        }
    }
}

mod tensor_as_a_number {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: f32) -> Array1<f32> { &grad_output * x * 2.0 }
    }
}

mod value_as_a_view {
    use super::*;
    pub struct Take;
    #[custom_function]
    impl Take {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, indices: Array1<usize>) -> Array1<f64> { indices.mapv(|index| x[index]) }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, indices: ArrayView1<usize>) -> Array1<f64> {
            let _ = indices;
            grad_output.to_owned()
        }
    }
}

mod value_of_another_type {
    use super::*;
    pub struct Scale;
    #[custom_function]
    impl Scale {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, factor: f64) -> Array1<f64> { &x * factor }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, factor: f32) -> Array1<f64> { &grad_output * f64::from(factor) }
    }
}

mod boxed_closure {
    use super::*;
    pub struct Mapped;
    #[custom_function]
    impl Mapped {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, f: Box<dyn Fn(f64) -> f64>) -> Array1<f64> { x.mapv(f) }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, f: &Box<dyn Fn(f64) -> f64>) -> Array1<f64> { grad_output.mapv(f) }
    }
}

mod view_of_indices {
    use super::*;
    pub struct Chosen;
    #[custom_function]
    impl Chosen {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, labels: ArrayView1<usize>) -> Array1<f64> { labels.mapv(|label| x[label]) }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, labels: ArrayView1<usize>) -> Array1<f64> { labels.mapv(|label| grad_output[label]) }
    }
}

mod value_that_is_written_to {
    use super::*;
    pub struct Counted;
    #[custom_function]
    impl Counted {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, count: &mut usize) -> Array1<f64> { *count += 1; x.to_owned() }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, count: usize) -> Array1<f64> { &grad_output * count as f64 }
    }
}

fn main() {}
