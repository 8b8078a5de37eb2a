use pullback::ndarray::{Array1, Array2, ArrayView1, ArrayView2};
use pullback::prelude::*;

mod context_with_an_intermediate_as_tensor {
    use super::*;
    pub struct Scaled;
    #[custom_function]
    impl Scaled {
        #[forward(outputs(y), saves(factors))]
        pub fn forward(x: ArrayView1<f64>, w: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) {
            let factors = w.mapv(f64::exp);
            (&x * &factors, factors)
        }
        #[backward(x)]
        fn grad_x(grad_y: &Tensor1<f64>, context: &ScaledContext) -> Tensor1<f64> {
            grad_y * context.factors.as_ref().unwrap()
        }
        #[backward(w)]
        fn grad_w(grad_y: ArrayView1<f64>, x: ArrayView1<f64>, factors: ArrayView1<f64>) -> Array1<f64> {
            &grad_y * &x * &factors
        }
    }
}

mod context_with_nothing_in_it {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, context: &SquareContext) -> Array1<f32> {
            &grad_output * &context.x * 2.0
        }
    }
}

mod gradient_by_another_name {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward(outputs(y))]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> { &grad_output * &x * 2.0 }
    }
}

mod gradient_of_a_value_output {
    use super::*;
    pub struct Relu;
    #[custom_function]
    impl Relu {
        #[forward(outputs(y, index))]
        pub fn forward(x: ArrayView1<f64>) -> (Array1<f64>, usize) { (x.to_owned(), 0) }
        #[backward(x)]
        fn backward(grad_y: ArrayView1<f64>, grad_index: usize) -> Array1<f64> {
            let _ = grad_index;
            grad_y.to_owned()
        }
    }
}

mod ignores_and_asks {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x, ignores_grad)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> { &grad_output * &x * 2.0 }
    }
}

mod intermediate_that_is_not_saved {
    use super::*;
    pub struct StudentT;
    #[custom_function]
    impl StudentT {
        #[forward(saves(r))]
        pub fn forward(x: ArrayView1<f64>, nu: f64) -> (Array1<f64>, Array1<f64>) {
            let q = x.mapv(|x| 1.0 + x * x / nu);
            let r = q.mapv(f64::recip);
            (q.mapv(|q| -(nu + 1.0) / 2.0 * q.ln()), r)
        }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, q: ArrayView1<f64>, nu: f64) -> Array1<f64> {
            &grad_output / &q * -(nu + 1.0) / nu
        }
    }
}

mod intermediate_without_a_name {
    use super::*;
    pub struct StudentT;
    #[custom_function]
    impl StudentT {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, nu: f64) -> (Array1<f64>, Array1<f64>) {
            let q = x.mapv(|x| 1.0 + x * x / nu);
            (q.mapv(|q| -(nu + 1.0) / 2.0 * q.ln()), q)
        }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, q: ArrayView1<f64>, nu: f64) -> Array1<f64> {
            &grad_output / &q * -(nu + 1.0) / nu
        }
    }
}

mod needs_input_grad_by_index {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, needs_input_grad: [bool; 1]) -> Array1<f32> {
            &grad_output * f32::from(needs_input_grad[0])
        }
    }
}

mod no_gradient {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(x: ArrayView1<f32>) -> Array1<f32> { &x * 2.0 }
    }
}

mod one_of_two_gradients {
    use super::*;
    pub struct Relu;
    #[custom_function]
    impl Relu {
        #[forward(outputs(y, mask))]
        pub fn forward(x: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) { (x.to_owned(), x.to_owned()) }
        #[backward(x)]
        fn backward(grad_y: ArrayView1<f64>) -> Array1<f64> { grad_y.to_owned() }
    }
}

mod unknown_name {
    use super::*;
    pub struct Linear;
    #[custom_function]
    impl Linear {
        #[forward]
        pub fn forward(input: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> { input.dot(&weight.t()) }
        #[backward(input)]
        fn grad_input(grad_output: ArrayView2<f32>, wieght: ArrayView2<f32>) -> Array2<f32> { grad_output.dot(&wieght) }
        #[backward(weight)]
        fn grad_weight(grad_output: ArrayView2<f32>, input: ArrayView2<f32>) -> Array2<f32> {
            grad_output.t().dot(&input)
        }
    }
}

mod asked_for_twice {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, grad_output: ArrayView1<f32>) -> Array1<f32> { grad_output.to_owned() }
    }
}

mod gradient_in_another_form {
    use super::*;
    pub struct Twice;
    // The gradient of `z` is asked for, if not as it can be.
    #[custom_function]
    impl Twice {
        #[forward(outputs(y, z))]
        pub fn forward(x: ArrayView1<f32>) -> (Array1<f32>, Array1<f32>) { (x.to_owned(), x.to_owned()) }
        #[backward(x)]
        fn backward(grad_y: ArrayView1<f32>, grad_z: &mut Array1<f32>) -> Array1<f32> { &grad_y + &*grad_z }
    }
}

mod no_gradient_of_some {
    use super::*;
    pub struct Both;
    // `grad_w` would ask for that of `z`.
    #[custom_function]
    impl Both {
        #[forward(outputs(y, z))]
        pub fn forward(x: ArrayView1<f32>, w: ArrayView1<f32>) -> (Array1<f32>, Array1<f32>) {
            (x.to_owned(), w.to_owned())
        }
        #[backward(x)]
        fn grad_x(grad_y: ArrayView1<f32>) -> Array1<f32> { grad_y.to_owned() }
        #[backward(w)]
        fn grad_w(x: ArrayView1<f32>) -> Array1<f32> { x.to_owned() }
    }
}

mod context_beside_another_mistake {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: f32, context: &SquareContext) -> Array1<f32> {
            assert!(context.x.is_some());
            &grad_output * x
        }
    }
}

mod unused_parameter_with_an_underscore {
    use super::*;
    pub struct Twice;
    #[custom_function]
    impl Twice {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * 2.0 }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, _x: ArrayView1<f32>) -> Array1<f32> { &grad_output * 2.0 }
    }
}

mod gradient_under_another_name {
    use super::*;
    pub struct Exp;
    #[custom_function]
    impl Exp {
        #[forward]
        pub fn forward(x: ArrayView1<f64>) -> Array1<f64> { x.mapv(f64::exp) }
        #[backward(x)]
        fn backward(g: ArrayView1<f64>, output: ArrayView1<f64>) -> Array1<f64> { &g * &output }
    }
}

mod intermediate_that_nothing_uses {
    use super::*;
    pub struct Normalized;
    #[custom_function]
    impl Normalized {
        #[forward(outputs(y), saves(mean, scale))]
        pub fn forward(x: ArrayView1<f64>) -> (Array1<f64>, f64, f64) { (&x * 2.0 - 1.0, 0.5, 2.0) }
        #[backward(x)]
        fn backward(grad_y: ArrayView1<f64>, scale: f64) -> Array1<f64> { &grad_y * scale }
    }
    #[custom_function(outputs(y), saves(square), grad(x) = &grad_y * 2.0)]
    pub fn double(x: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) { (&x * 2.0, &x * &x) }
}

fn main() {}

mod context_of_pytorch {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f64>) -> Array1<f64> { &x * &x }
        #[backward(x)]
        fn backward(ctx: &SquareContext, grad_output: ArrayView1<f64>) -> Array1<f64> { &grad_output * ctx.x }
    }
}

mod flags_that_are_exchanged {
    use super::*;
    pub struct Product;
    #[custom_function]
    impl Product {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, w: ArrayView1<f64>) -> Array1<f64> { &x * &w }
        #[backward]
        fn backward(
            grad_output: ArrayView1<f64>,
            x: ArrayView1<f64>,
            w: ArrayView1<f64>,
            needs_input_grad: ProductNeedsInputGrad,
        ) -> (Option<Array1<f64>>, Option<Array1<f64>>) {
            (needs_input_grad.w.then(|| &grad_output * &w), needs_input_grad.x.then(|| &grad_output * &x))
        }
    }
}

mod flag_of_another_input_by_name {
    use super::*;
    pub struct Product;
    #[custom_function]
    impl Product {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, w: ArrayView1<f64>) -> Array1<f64> { &x * &w }
        #[backward]
        fn backward(
            grad_output: ArrayView1<f64>,
            x: ArrayView1<f64>,
            w: ArrayView1<f64>,
            needs_input_grad: ProductNeedsInputGrad,
        ) -> Result<ProductGradients, String> {
            let of_x = if needs_input_grad.x { Some(&grad_output * &w) } else { None };
            let of_w = if needs_input_grad.x { Some(&grad_output * &x) } else { None };
            Ok(ProductGradients { x: of_x, w: of_w })
        }
    }
}
