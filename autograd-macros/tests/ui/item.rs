use pullback::ndarray::{Array1, ArrayView1};
use pullback::prelude::*;

mod an_argument_is_missing {
    use super::*;
    pub struct Scale;
    #[custom_function]
    impl Scale {
        #[forward]
        fn forward(x: ArrayView1<f64>, factor: f64) -> Array1<f64> { &x * factor }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, factor: f64) -> Array1<f64> { &grad_output * factor }
    }
    fn caller() {
        let x = Tensor::from(Array1::ones(3));
        let _ = Scale::apply(&x);
    }
}

mod apply_by_hand {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> { &grad_output * &x * 2.0 }
        pub fn apply() {}
    }
}

mod apply_called_where_forward_is_wrong {
    use super::*;
    pub struct Exp;
    #[custom_function]
    impl Exp {
        #[forward(outputs(y, z))]
        pub fn forward(x: ArrayView1<f64>) -> Array1<f64> { x.exp() }
        #[backward(x)]
        fn backward(grad_y: &Tensor1<f64>, x: &Tensor1<f64>) -> Tensor1<f64> { grad_y * Self::apply(x).0 }
        #[vmap]
        fn of_batch(x: &Tensor2<f64>) -> (Tensor2<f64>, Tensor2<f64>) {
            let each: Vec<_> = (0..x.nrows()).map(|row| Self::apply(&x.row(row)).0).collect();
            (Tensor::stack(pullback::ndarray::Axis(0), &each), Tensor::stack(pullback::ndarray::Axis(0), &each))
        }
    }
}

mod apply_called_where_forward_is_generic {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward<const M: usize>(x: ArrayView1<f64>) -> Array1<f64> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: &Tensor1<f64>, x: &Tensor1<f64>) -> Tensor1<f64> { grad_output * Self::apply(x) / x * 2.0 }
    }
}

mod async_forward {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub async fn forward(x: ArrayView1<'_, f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> { &grad_output * &x * 2.0 }
    }
}

mod backward_on_a_macro_call {
    use super::*;
    macro_rules! gradient {
        () => {
            fn nothing() {}
        };
    }
    pub struct Square;
    #[custom_function]
    impl Square {
        #[backward(x)]
        gradient!();
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> { &grad_output * &x * 2.0 }
    }
}

mod backward_with_self {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(&self, grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> { &grad_output * &x * 2.0 }
    }
}

mod called_on_an_instance {
    use super::*;
    pub struct Double;
    #[custom_function]
    impl Double {
        #[forward]
        fn forward(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { &grad_output * 2.0 }
    }
    fn caller() {
        let x = Tensor::from(Array1::ones(3));
        Double.apply(&x);
    }
}

mod captured_from_outside {
    use super::*;
    fn caller() {
        #[allow(unused_variables)]
        let weight = Tensor::from(Array1::<f64>::ones(3)).set_requires_grad(true);
        pub struct Scale;
        #[custom_function]
        impl Scale {
            #[forward]
            fn forward(x: ArrayView1<f64>) -> Array1<f64> {
                x.mapv(|x| x * weight.item())
            }
            #[backward(x)]
            fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> {
                grad_output.mapv(|grad| grad * weight.item())
            }
        }
    }
}

mod const_forward {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub const fn forward(x: ArrayView1<f32>) -> Array1<f32> {
            std::mem::forget(x);
            panic!()
        }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> { &grad_output * &x * 2.0 }
    }
}

mod empty {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {}
}

mod extern_forward {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub extern "Rust" fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> { &grad_output * &x * 2.0 }
    }
}

mod forward_called_from_outside {
    use super::*;
    mod functions {
        use super::*;
        pub struct Square;
        #[custom_function]
        impl Square {
            #[forward]
            fn forward(x: ArrayView1<f64>) -> Array1<f64> { &x * &x }
            #[backward(x)]
            fn backward(grad_output: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> { &grad_output * &x * 2.0 }
        }
    }
    fn caller() {
        let x = Array1::ones(3);
        functions::Square::forward(x.view());
    }
}

mod forward_on_a_constant {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        const RATE: f32 = 2.0;
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> { &grad_output * &x * 2.0 }
    }
}

mod forward_with_self {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(&self, x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> { &grad_output * &x * 2.0 }
    }
}

mod impl_of_a_trait {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Clone for Square {
        fn clone(&self) -> Self { Square }
    }
}

mod misspelt_attribute {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[foward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> { &grad_output * &x * 2.0 }
    }
}

mod no_backward {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
    }
}

mod no_forward {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> { &grad_output * &x * 2.0 }
    }
}

mod on_a_module {
    use super::*;
    #[custom_function]
    pub mod square {}
}

mod on_a_struct {
    use super::*;
    #[custom_function]
    pub struct Square;
}

mod on_a_trait {
    use super::*;
    #[custom_function]
    pub trait Square {
        #[forward]
        fn forward(x: ArrayView1<f32>) -> Array1<f32>;
    }
}

mod parameters_of_its_own {
    use super::*;
    pub struct Sum;
    #[custom_function]
    impl Sum {
        #[forward]
        pub fn forward<const N: usize>(x: ArrayView1<f64>, weights: [f64; N]) -> Array1<f64> {
            &x * weights.iter().sum::<f64>()
        }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { grad_output.to_owned() }
    }
}

mod parameters_of_the_block_alone {
    use super::*;
    use pullback::ndarray::{Array, ArrayView};
    pub struct Twice;
    #[custom_function]
    impl<T: Element, D: Rank> Twice {
        #[forward]
        fn forward(x: ArrayView<T, D>) -> Array<T, D> { &x + &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView<T, D>) -> Array<T, D> { &grad_output + &grad_output }
    }

    pub struct Scale<T>(std::marker::PhantomData<T>);
    #[custom_function]
    impl<T: Element, D: Rank> Scale<T> {
        #[forward]
        fn forward(x: ArrayView<T, D>, factor: f64) -> Array<T, D> { x.to_owned() * T::from_f64(factor) }
        #[backward(x)]
        fn backward(grad_output: ArrayView<T, D>, factor: f64) -> Array<T, D> { grad_output.to_owned() * T::from_f64(factor) }
    }
}

mod two_attributes {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        #[backward(x)]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> { &grad_output * &x * 2.0 }
    }
}

mod two_blocks_for_one_type {
    use super::*;
    pub struct Scale<T>(T);
    #[custom_function]
    impl<T: Element> Scale<T> {
        #[forward]
        pub fn forward(x: ArrayView1<T>, k: T) -> Array1<T> { &x * k }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<T>, k: T) -> Array1<T> { &grad_output * k }
    }
    #[custom_function]
    impl<T: Element> Scale<T> {
        #[forward]
        pub fn forward(x: ArrayView1<T>) -> Array1<T> { x.to_owned() }
        #[backward]
        fn backward(grad_output: ArrayView1<T>) -> Array1<T> { grad_output.to_owned() }
    }
}

mod two_forwards {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[forward]
        pub fn again(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> { &grad_output * &x * 2.0 }
    }
}

mod type_without_a_name {
    use super::*;
    pub trait Square {}
    #[custom_function]
    impl dyn Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> { &grad_output * &x * 2.0 }
    }
}

mod under_some_configurations {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[cfg(not(windows))]
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> { &grad_output * &x * 2.0 }
    }
}

mod unsafe_forward {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        unsafe fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> { &grad_output * &x * 2.0 }
    }
}

mod attribute_of_another_framework {
    use super::*;
    pub struct F;
    #[custom_function]
    impl F {
        #[forward]
        fn forward(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
        #[vjp(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { &grad_output * 2.0 }
    }
}

mod attribute_of_the_short_form {
    use super::*;
    pub struct F;
    #[custom_function]
    impl F {
        #[forward]
        fn forward(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
        #[grad(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { &grad_output * 2.0 }
    }
}

mod outputs_alone {
    use super::*;
    pub struct F;
    #[custom_function]
    impl F {
        #[forward]
        #[outputs(y)]
        fn forward(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
        #[backward(x)]
        fn backward(grad_y: ArrayView1<f64>) -> Array1<f64> { &grad_y * 2.0 }
    }
}

mod saves_alone {
    use super::*;
    pub struct F;
    #[custom_function]
    impl F {
        #[forward]
        #[saves(k)]
        fn forward(x: ArrayView1<f64>) -> (Array1<f64>, f64) { (&x * 2.0, 1.0) }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, k: f64) -> Array1<f64> { &grad_output * k }
    }
}

mod attribute_by_a_path {
    use super::*;
    pub struct F;
    #[custom_function]
    impl F {
        #[pullback::forward]
        fn forward(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { &grad_output * 2.0 }
    }
}

mod attribute_in_cfg_attr {
    use super::*;
    pub struct F;
    #[custom_function]
    impl F {
        #[cfg_attr(all(), forward)]
        fn forward(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { &grad_output * 2.0 }
    }
}

mod attribute_of_a_parameter_misspelt {
    use super::*;
    pub struct F;
    #[custom_function]
    impl F {
        #[forward]
        fn forward(x: ArrayView1<f64>, #[non_diferentiable] m: ArrayView1<f64>) -> Array1<f64> { &x * &m }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, m: ArrayView1<f64>) -> Array1<f64> { &grad_output * &m }
    }
}

mod no_attribute_above {
    use super::*;
    pub struct F;
    impl F {
        #[forward]
        fn forward(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { &grad_output * 2.0 }
    }
}

mod async_backward {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        async fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> { &grad_output * &x * 2.0 }
    }
}

mod forward_with_self_and_what_is_saved {
    use super::*;
    pub struct Scaled;
    #[custom_function]
    impl Scaled {
        #[forward(saves(before))]
        pub fn forward(&self, mut x: pullback::ndarray::ArrayViewMut1<f32>) -> Array1<f32> {
            x *= 2.0;
            x.to_owned()
        }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, before: ArrayView1<f32>) -> Array1<f32> { &grad_output * &before }
    }
}

mod two_backward_attributes {
    use super::*;
    pub struct Scores;
    #[custom_function]
    impl Scores {
        #[forward]
        fn forward(q: ArrayView1<f64>, k: ArrayView1<f64>) -> Array1<f64> { &q * &k }
        #[backward(q)]
        #[backward(k)]
        fn backward(grad_output: ArrayView1<f64>, q: ArrayView1<f64>, k: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) {
            (&grad_output * &k, &grad_output * &q)
        }
    }
}

mod empty_backward {
    use super::*;
    pub struct F;
    #[custom_function]
    impl F {
        #[forward]
        fn forward(x: ArrayView1<f64>, w: ArrayView1<f64>) -> Array1<f64> { &x * &w }
        #[backward()]
        fn grad_x(grad_output: ArrayView1<f64>, w: ArrayView1<f64>) -> Array1<f64> { &grad_output * &w }
        #[backward(w)]
        fn grad_w(grad_output: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> { &grad_output * &x }
    }
}

mod unmarked_backward {
    use super::*;
    pub struct F;
    #[custom_function]
    impl F {
        #[forward]
        fn forward(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { &grad_output * 2.0 }
    }
}

mod option_of_backward_alone {
    use super::*;
    pub struct F;
    #[custom_function]
    impl F {
        #[forward]
        fn forward(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
        #[once_differentiable]
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { &grad_output * 2.0 }
    }
}

mod documented_parameter {
    use super::*;
    pub struct F;
    #[custom_function]
    impl F {
        #[forward]
        fn forward(
            /// The input.
            x: ArrayView1<f64>,
        ) -> Array1<f64> { &x * 2.0 }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { &grad_output * 2.0 }
    }
}

mod parameter_of_some_configurations {
    use super::*;
    pub struct Add;
    #[custom_function]
    impl Add {
        #[forward]
        fn forward(x: ArrayView1<f64>, #[cfg(not(windows))] bias: ArrayView1<f64>) -> Array1<f64> { &x + &bias }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { grad_output.to_owned() }
    }
}

fn main() {}
