use pullback::ndarray::{Array, Array1, Array2, ArrayView, ArrayView1, ArrayView2, Dimension};
use pullback::prelude::*;
use std::marker::PhantomData;

/// A linear layer with another rule for a batch.
macro_rules! layer {
    ($name:ident, $($rule:tt)*) => {
        mod $name {
            use super::*;
            pub struct Layer;
            #[custom_function]
            impl Layer {
                #[forward]
                pub fn forward(input: ArrayView2<f32>, weight: ArrayView2<f32>, scale: f32) -> Array2<f32> {
                    input.dot(&weight.t()) * scale
                }
                #[backward]
                fn backward(
                    grad_output: ArrayView2<f32>,
                    input: ArrayView2<f32>,
                    weight: ArrayView2<f32>,
                    scale: f32,
                ) -> (Array2<f32>, Array2<f32>) {
                    (grad_output.dot(&weight) * scale, grad_output.t().dot(&input) * scale)
                }
                $($rule)*
            }
        }
    };
}

layer! { arguments,
    #[vmap(input)]
    pub fn vmap(input: &Tensor3<f32>, weight: &Tensor2<f32>, scale: f32) -> Tensor3<f32> {
        todo!("{input:?} {weight:?} {scale}")
    }
}

layer! { two_rules,
    #[vmap]
    pub fn vmap(input: &Tensor3<f32>, weight: &Tensor2<f32>, scale: f32) -> Tensor3<f32> {
        todo!("{input:?} {weight:?} {scale}")
    }
    #[vmap]
    pub fn other(input: &Tensor3<f32>, weight: &Tensor2<f32>, scale: f32) -> Tensor3<f32> {
        todo!("{input:?} {weight:?} {scale}")
    }
}

layer! { another_name,
    #[vmap]
    pub fn vmap(input: &Tensor3<f32>, wieght: &Tensor2<f32>, scale: f32) -> Tensor3<f32> {
        input.matmul(wieght) * scale
    }
}

layer! { missing_input,
    #[vmap]
    pub fn vmap(input: &Tensor3<f32>, weight: &Tensor2<f32>) -> Tensor3<f32> { todo!("{input:?} {weight:?}") }
}

layer! { further_input,
    #[vmap]
    pub fn vmap(input: &Tensor3<f32>, weight: &Tensor2<f32>, scale: f32, axis: usize) -> Tensor3<f32> {
        todo!("{input:?} {weight:?} {scale} {axis}")
    }
}

layer! { views,
    #[vmap]
    pub fn vmap(input: ArrayView3<f32>, weight: &Tensor2<f32>, scale: f32) -> Tensor3<f32> {
        todo!("{input:?} {weight:?} {scale}")
    }
}

layer! { two_axes_more,
    #[vmap]
    pub fn vmap(input: &Tensor4<f32>, weight: &Tensor2<f32>, scale: f32) -> Tensor3<f32> {
        todo!("{input:?} {weight:?} {scale}")
    }
}

layer! { other_elements,
    #[vmap]
    pub fn vmap(input: &Tensor3<f64>, weight: &Tensor2<f32>, scale: f32) -> Tensor3<f32> {
        todo!("{input:?} {weight:?} {scale}")
    }
}

layer! { optional,
    #[vmap]
    pub fn vmap(input: &Tensor3<f32>, weight: Option<&Tensor2<f32>>, scale: f32) -> Tensor3<f32> {
        todo!("{input:?} {weight:?} {scale}")
    }
}

layer! { another_value,
    #[vmap]
    pub fn vmap(input: &Tensor3<f32>, weight: &Tensor2<f32>, scale: f64) -> Tensor3<f32> {
        todo!("{input:?} {weight:?} {scale}")
    }
}

layer! { no_batch,
    #[vmap]
    pub fn vmap(input: &Tensor2<f32>, weight: &Tensor2<f32>, scale: f32) -> Tensor3<f32> {
        todo!("{input:?} {weight:?} {scale}")
    }
}

layer! { returns_one_example,
    #[vmap]
    pub fn vmap(input: &Tensor3<f32>, weight: &Tensor2<f32>, scale: f32) -> Tensor2<f32> {
        todo!("{input:?} {weight:?} {scale}")
    }
}

layer! { returns_an_array,
    #[vmap]
    pub fn vmap(input: &Tensor3<f32>, weight: &Tensor2<f32>, scale: f32) -> Array3<f32> {
        todo!("{input:?} {weight:?} {scale}")
    }
}

layer! { returns_nothing,
    #[vmap]
    pub fn vmap(input: &Tensor3<f32>, weight: &Tensor2<f32>, scale: f32) {}
}

layer! { misspelled,
    #[batched]
    pub fn vmap(input: &Tensor3<f32>, weight: &Tensor2<f32>, scale: f32) -> Tensor3<f32> {
        todo!("{input:?} {weight:?} {scale}")
    }
}

mod of_any_rank {
    use super::*;
    pub struct Twice<D>(PhantomData<D>);
    #[custom_function]
    impl<D: Dimension> Twice<D> {
        #[forward]
        pub fn forward(x: ArrayView<f32, D>) -> Array<f32, D> { &x * 2.0 }
        #[backward(x)]
        fn backward(grad_output: Array<f32, D>) -> Array<f32, D> { grad_output * 2.0 }
        #[vmap]
        pub fn vmap(x: &Tensor<f32, D>) -> Tensor<f32, D> { x * 2.0 }
    }
}

mod of_a_list {
    use super::*;
    pub struct First;
    #[custom_function]
    impl First {
        #[forward]
        pub fn forward(parts: &[ArrayView1<f32>]) -> Array1<f32> { parts[0].to_owned() }
        #[backward(parts)]
        fn backward(grad_output: ArrayView1<f32>, parts: &[ArrayView1<f32>]) -> Vec<Array1<f32>> {
            parts.iter().map(|_| grad_output.to_owned()).collect()
        }
        #[vmap]
        pub fn vmap(parts: &[&Tensor2<f32>]) -> Tensor2<f32> { parts[0] * 1.0 }
    }
}

mod with_a_place {
    use super::*;
    pub struct Largest;
    #[custom_function]
    impl Largest {
        #[forward(outputs(values, place))]
        pub fn forward(x: ArrayView1<f32>) -> (Array1<f32>, usize) { (x.to_owned(), 0) }
        #[backward(x)]
        fn backward(grad_values: ArrayView1<f32>) -> Array1<f32> { grad_values.to_owned() }
        #[vmap]
        pub fn vmap(x: &Tensor2<f32>) -> (Tensor2<f32>, usize) { (x * 1.0, 0) }
    }
}

fn main() {}
