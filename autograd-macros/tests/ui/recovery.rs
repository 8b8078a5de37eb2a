use pullback::ndarray::{Array1, Array2, ArrayView1, ArrayView2};
use pullback::prelude::*;

mod callers_are_not_disturbed {
    use super::*;
    pub struct Linear;
    #[custom_function]
    impl Linear {
        #[forward]
        pub fn forward(input: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> { input.dot(&weight.t()) }
        #[backward(input)]
        fn grad_input(grad_output: ArrayView2<f32>, needs_input_grad: LinearNeedsInputGrad) -> Array2<f32> {
            assert!(needs_input_grad.input);
            grad_output.to_owned()
        }
    }
    fn caller() {
        // Neither the generated function nor what hangs on it is reported a second time.
        let x = Tensor::from(Array2::<f32>::ones((1, 2)));
        let y: Tensor2<f32> = Linear::apply(&x, &x);
        y.sum().backward().unwrap();
        println!("{} {:?}", Linear::NAME, Linear::SIGNATURE);
    }
}

mod context {
    use super::*;
    pub struct Scaled;
    // One mistake, which leaves open what is saved: the fields of the context are not reported too.
    #[custom_function]
    impl Scaled {
        #[forward(outputs(y), saves(factors))]
        pub fn forward(x: ArrayView1<f64>, w: Option<ArrayView1<f64>>, rate: f64) -> (Array1<f64>, Array1<f64>) {
            let factors = w.map_or_else(|| Array1::ones(x.len()), |w| w.mapv(f64::exp));
            (&x * &factors * rate, factors)
        }
        #[backward(x)]
        fn grad_x(grad_y: ArrayView1<f64>, context: &ScaledContext) -> Array1<f64> { &grad_y * &factors(context) }
        #[backward(w)]
        fn grad_w(
            grad_y: ArrayView1<f64>,
            w: ArrayView1<f64>,
            x: ArrayView1<f64>,
            factors: ArrayView2<f64>,
            rate: f64,
        ) -> Array1<f64> {
            &grad_y * &x * &w * &factors.diag() * rate
        }
    }
    fn factors(context: &ScaledContext) -> Array1<f64> {
        assert!(context.x.is_some() && context.w.is_some());
        context.factors.as_ref().unwrap().to_array() * *context.rate.as_deref().unwrap()
    }
}

mod several_mistakes {
    use super::*;
    pub struct Linear;
    #[custom_function]
    impl Linear {
        #[forward]
        pub fn forward(
            input: ArrayView2<f32>,
            weight: ArrayView2<f32>,
            bias: Option<ArrayView1<f32>>,
            scale: f32,
        ) -> Array2<f32> {
            let output = input.dot(&weight.t()) * scale;
            match bias {
                Some(bias) => output + bias,
                None => output,
            }
        }
        #[backward(input)]
        fn grad_input(grad_output: ArrayView2<f32>, wieght: ArrayView2<f32>) -> Array2<f32> { grad_output.dot(&wieght) }
        #[backward(weight)]
        fn grad_weight(grad_output: ArrayView2<f32>, input: ArrayView1<f32>) -> Array1<f32> {
            grad_output.t().dot(&input)
        }
        #[backward(scale)]
        fn grad_scale(grad_output: ArrayView2<f32>) -> f32 { grad_output.sum() }
    }
}

mod unreadable_forward {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward((x, y): (f32, f32)) -> Array1<f32> { Array1::from(vec![x, y]) }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> Array1<f32> { &grad_output * &x * 2.0 }
    }
}

fn main() {}
