use pullback::ndarray::{Array1, ArrayView1, ArrayView2, ArrayViewMut1, array};
use pullback::prelude::*;

mod applied_to_an_immutable_tensor {
    use super::*;
    pub struct Double;
    #[custom_function]
    impl Double {
        #[forward]
        pub fn forward(mut x: ArrayViewMut1<f64>) { x *= 2.0; }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { &grad_output * 2.0 }
    }
    fn caller() {
        let x = Tensor::from(array![1.0]);
        Double::apply(&mut x);
    }
}

mod array_by_exclusive_reference {
    use super::*;
    pub struct Scale;
    #[custom_function]
    impl Scale {
        #[forward]
        pub fn forward(x: &mut Array1<f64>, factor: ArrayView1<f64>) -> Array1<f64> {
            *x *= &factor;
            x.clone()
        }
        #[backward(factor)]
        fn backward(grad_output: Array1<f64>) -> Array1<f64> { grad_output }
    }
}

mod everything_saved_but_one {
    use super::*;
    pub struct Double;
    #[custom_function]
    impl Double {
        #[forward(saves(a, b))]
        pub fn forward(mut x: ArrayViewMut1<f64>) -> Array1<f64> {
            x *= 2.0;
            x.to_owned()
        }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { &grad_output * 2.0 }
    }
}

mod exempt_as_an_output {
    use super::*;
    pub struct Double;
    #[custom_function]
    impl Double {
        #[forward(non_differentiable(x))]
        pub fn forward(mut x: ArrayViewMut1<f64>) { x *= 2.0; }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { &grad_output * 2.0 }
    }
}

mod gradient_by_another_name {
    use super::*;
    pub struct Double;
    #[custom_function]
    impl Double {
        #[forward]
        pub fn forward(mut x: ArrayViewMut1<f64>) { x *= 2.0; }
        #[backward(x)]
        fn backward(grad_x: ArrayView1<f64>) -> Array1<f64> { &grad_x * 2.0 }
    }
}

mod gradient_to_write_to {
    use super::*;
    pub struct Double;
    #[custom_function]
    impl Double {
        #[forward]
        pub fn forward(mut x: ArrayViewMut1<f64>) { x *= 2.0; }
        #[backward(x)]
        fn backward(mut grad_output: ArrayViewMut1<f64>) -> Array1<f64> {
            grad_output *= 2.0;
            grad_output.to_owned()
        }
    }
}

mod input_like_the_value_after {
    use super::*;
    pub struct Double;
    #[custom_function]
    impl Double {
        #[forward]
        pub fn forward(mut x: ArrayViewMut1<f64>, output: f64) { x *= output; }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { &grad_output * 2.0 }
    }
}

mod list {
    use super::*;
    pub struct Double;
    #[custom_function]
    impl Double {
        #[forward]
        pub fn forward(y: ArrayView1<f64>, xs: &mut [ArrayViewMut1<f64>]) -> Array1<f64> {
            for x in xs {
                *x *= 2.0;
            }
            y.to_owned()
        }
        #[backward(y)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { &grad_output * 2.0 }
    }
}

mod one_of_two_gradients {
    use super::*;
    pub struct Double;
    #[custom_function]
    impl Double {
        #[forward]
        pub fn forward(mut x: ArrayViewMut1<f64>) -> Array1<f64> {
            let before = x.to_owned();
            x *= 2.0;
            before
        }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { grad_output.to_owned() }
    }
}

mod optional {
    use super::*;
    pub struct Double;
    #[custom_function]
    impl Double {
        #[forward]
        pub fn forward(x: Option<ArrayViewMut1<f64>>, y: ArrayView1<f64>) -> Array1<f64> {
            if let Some(mut x) = x {
                x *= 2.0;
            }
            y.to_owned()
        }
        #[backward]
        fn backward(grad_output: ArrayView1<f64>) -> (Option<Array1<f64>>, Array1<f64>) {
            (None, grad_output.to_owned())
        }
    }
}

mod output_by_another_name {
    use super::*;
    pub struct Double;
    #[custom_function]
    impl Double {
        #[forward]
        pub fn forward(mut x: ArrayViewMut1<f64>) -> Array1<f64> {
            let before = x.to_owned();
            x *= 2.0;
            before
        }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, grad_x: ArrayView1<f64>, x_output: ArrayView1<f64>) -> Array1<f64> {
            let _ = x_output;
            &grad_output + &grad_x * 2.0
        }
    }
}

mod returned_too {
    use super::*;
    pub struct Double;
    #[custom_function]
    impl Double {
        #[forward]
        pub fn forward(mut x: ArrayViewMut1<f64>) -> ArrayViewMut1<f64> {
            x *= 2.0;
            x
        }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { &grad_output * 2.0 }
    }
}

mod tensor_by_exclusive_reference {
    use super::*;
    pub struct Double;
    #[custom_function]
    impl Double {
        #[forward]
        pub fn forward(y: ArrayView1<f64>, x: &mut Tensor1<f64>) -> Array1<f64> {
            *x = Tensor::from(y);
            y.to_owned()
        }
        #[backward(y)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { &grad_output * 2.0 }
    }
}

mod vec {
    use super::*;
    pub struct Double;
    #[custom_function]
    impl Double {
        #[forward]
        pub fn forward(y: ArrayView1<f64>, xs: Vec<ArrayViewMut1<f64>>) -> Array1<f64> {
            for mut x in xs {
                x *= 2.0;
            }
            y.to_owned()
        }
        #[backward(y)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { &grad_output * 2.0 }
    }
}

mod write_to_what_is_read {
    use super::*;
    pub struct Double;
    #[custom_function]
    impl Double {
        #[forward]
        pub fn forward(x: ArrayView1<f64>) -> Array1<f64> {
            x[0] = 2.0;
            x.to_owned()
        }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { &grad_output * 2.0 }
    }
}

mod wrong_rank_of_the_value_after {
    use super::*;
    pub struct Double;
    #[custom_function]
    impl Double {
        #[forward]
        pub fn forward(mut x: ArrayViewMut1<f64>) { x *= 2.0; }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, output: ArrayView2<f64>) -> Array1<f64> {
            let _ = output;
            &grad_output * 2.0
        }
    }
}

mod optional_beside_what_is_saved {
    use super::*;
    pub struct Double;
    #[custom_function]
    impl Double {
        #[forward(saves(before))]
        pub fn forward(x: Option<ArrayViewMut1<f64>>, y: ArrayView1<f64>) -> Array1<f64> {
            if let Some(mut x) = x {
                x *= 2.0;
            }
            y.to_owned()
        }
        #[backward]
        fn backward(grad_x: ArrayView1<f64>, before: ArrayView1<f64>) -> (Option<Array1<f64>>, Array1<f64>) {
            (None, &grad_x * &before)
        }
    }
}

fn main() {}
