use pullback::ndarray::{Array, Array1, Array2, ArrayView, ArrayView1, ArrayView2, Dimension};
use pullback::prelude::*;

mod empty_list {
    use super::*;
    #[custom_function(
        grad(parts) = parts.iter().map(|_| grad_output.to_owned()).collect(),
        gradcheck(parts = []),
    )]
    pub fn sum(parts: &[ArrayView1<f64>]) -> Array1<f64> { parts.iter().fold(Array1::zeros(3), |sum, part| sum + part) }
}

mod empty_range {
    use super::*;
    pub struct Linear;
    #[custom_function(gradcheck(input = [3, 4] in 1.0..-1.0, weight = [5, 4] in (0.5..0.5), scale = 2.0))]
    impl Linear {
        #[forward]
        pub fn forward(input: ArrayView2<f32>, weight: ArrayView2<f32>, scale: f32) -> Array2<f32> {
            input.dot(&weight.t()) * scale
        }
        #[backward]
        fn backward(grad_output: ArrayView2<f32>) -> (Array2<f32>, Array2<f32>) { todo!("{grad_output}") }
    }
}

mod given_twice {
    use super::*;
    pub struct Linear;
    #[custom_function(gradcheck(input = [3, 4], weight = [5, 4], scale = 2.0, weight = [5, 4]))]
    impl Linear {
        #[forward]
        pub fn forward(input: ArrayView2<f32>, weight: ArrayView2<f32>, scale: f32) -> Array2<f32> {
            input.dot(&weight.t()) * scale
        }
        #[backward]
        fn backward(grad_output: ArrayView2<f32>) -> (Array2<f32>, Array2<f32>) { todo!("{grad_output}") }
    }
}

mod length_is_no_number {
    use super::*;
    pub struct Linear;
    #[custom_function(gradcheck(input = [3, 2.5], weight = [5, -4], scale = 2.0))]
    impl Linear {
        #[forward]
        pub fn forward(input: ArrayView2<f32>, weight: ArrayView2<f32>, scale: f32) -> Array2<f32> {
            input.dot(&weight.t()) * scale
        }
        #[backward]
        fn backward(grad_output: ArrayView2<f32>) -> (Array2<f32>, Array2<f32>) { todo!("{grad_output}") }
    }
}

mod list_of_numbers {
    use super::*;
    #[custom_function(
        grad(parts) = parts.iter().map(|_| grad_output.to_owned()).collect(),
        gradcheck(parts = [3]),
    )]
    pub fn sum(parts: &[ArrayView1<f64>]) -> Array1<f64> { parts.iter().fold(Array1::zeros(3), |sum, part| sum + part) }
}

mod methods_of_gradcheck {
    use super::*;
    #[custom_function(
        grad(x) = &grad_output * 2.0,
        gradcheck(x = [3], second_order, thorough = true, forward_mode(), eps = 1e-6),
    )]
    pub fn double(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
}

mod no_list {
    use super::*;
    pub struct Linear;
    #[custom_function(gradcheck)]
    impl Linear {
        #[forward]
        pub fn forward(input: ArrayView2<f32>, weight: ArrayView2<f32>, scale: f32) -> Array2<f32> {
            input.dot(&weight.t()) * scale
        }
        #[backward]
        fn backward(grad_output: ArrayView2<f32>) -> (Array2<f32>, Array2<f32>) { todo!("{grad_output}") }
    }
}

mod no_range {
    use super::*;
    pub struct Linear;
    #[custom_function(gradcheck(input = [3, 4] in 2.0, weight = [5, 4] in .., scale = 2.0))]
    impl Linear {
        #[forward]
        pub fn forward(input: ArrayView2<f32>, weight: ArrayView2<f32>, scale: f32) -> Array2<f32> {
            input.dot(&weight.t()) * scale
        }
        #[backward]
        fn backward(grad_output: ArrayView2<f32>) -> (Array2<f32>, Array2<f32>) { todo!("{grad_output}") }
    }
}

mod no_shape {
    use super::*;
    pub struct Linear;
    #[custom_function(gradcheck(input = 3, weight = [5, 4], scale = 2.0))]
    impl Linear {
        #[forward]
        pub fn forward(input: ArrayView2<f32>, weight: ArrayView2<f32>, scale: f32) -> Array2<f32> {
            input.dot(&weight.t()) * scale
        }
        #[backward]
        fn backward(grad_output: ArrayView2<f32>) -> (Array2<f32>, Array2<f32>) { todo!("{grad_output}") }
    }
}

mod nothing_for_some {
    use super::*;
    pub struct Linear;
    #[custom_function(gradcheck(input = [3, 4]))]
    impl Linear {
        #[forward]
        pub fn forward(input: ArrayView2<f32>, weight: ArrayView2<f32>, scale: f32) -> Array2<f32> {
            input.dot(&weight.t()) * scale
        }
        #[backward]
        fn backward(grad_output: ArrayView2<f32>) -> (Array2<f32>, Array2<f32>) { todo!("{grad_output}") }
    }
}

mod only_a_name {
    use super::*;
    pub struct Linear;
    #[custom_function(gradcheck(input, weight = [5, 4], scale = 2.0))]
    impl Linear {
        #[forward]
        pub fn forward(input: ArrayView2<f32>, weight: ArrayView2<f32>, scale: f32) -> Array2<f32> {
            input.dot(&weight.t()) * scale
        }
        #[backward]
        fn backward(grad_output: ArrayView2<f32>) -> (Array2<f32>, Array2<f32>) { todo!("{grad_output}") }
    }
}

mod range_for_a_value {
    use super::*;
    pub struct Linear;
    #[custom_function(gradcheck(input = [3, 4] in -1.0..1.0, weight = [5, 4], scale = 2.0 in 1.0..2.0))]
    impl Linear {
        #[forward]
        pub fn forward(input: ArrayView2<f32>, weight: ArrayView2<f32>, scale: f32) -> Array2<f32> {
            input.dot(&weight.t()) * scale
        }
        #[backward]
        fn backward(grad_output: ArrayView2<f32>) -> (Array2<f32>, Array2<f32>) { todo!("{grad_output}") }
    }
}

mod rank_of_the_output {
    use super::*;
    #[custom_function(grad(x) = x.to_owned() * grad_output.sum(), gradcheck(x = [3], shape = &[1, 3]))]
    pub fn reshape<D: Dimension, E: Dimension>(x: ArrayView<f64, D>, shape: &[usize]) -> Array<f64, E> {
        todo!("{x} {shape:?}")
    }
}

mod ranks_differ {
    use super::*;
    #[custom_function(
        higher_order,
        grad(x) = grad_output.clone(),
        grad(y) = grad_output.clone(),
        gradcheck(x = [3], y = [1, 3]),
    )]
    pub fn add<D: Dimension>(x: ArrayView<f64, D>, y: ArrayView<f64, D>) -> Array<f64, D> { &x + &y }
}

mod shape_for_a_value {
    use super::*;
    pub struct Linear;
    #[custom_function(gradcheck(input = [3, 4], weight = [5, 4], scale = [2]))]
    impl Linear {
        #[forward]
        pub fn forward(input: ArrayView2<f32>, weight: ArrayView2<f32>, scale: f32) -> Array2<f32> {
            input.dot(&weight.t()) * scale
        }
        #[backward]
        fn backward(grad_output: ArrayView2<f32>) -> (Array2<f32>, Array2<f32>) { todo!("{grad_output}") }
    }
}

mod type_in_braces {
    use std::marker::PhantomData;
    use super::*;
    pub struct Scale<D>(PhantomData<D>);
    #[custom_function(gradcheck(x = [3], rank = PhantomData, D = { pullback::ndarray::Ix1 }))]
    impl<D: Dimension + Send + Sync + 'static> Scale<D> {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, rank: PhantomData<D>) -> Array1<f64> {
            let _ = rank;
            x.to_owned()
        }
        #[backward(x)]
        fn backward(grad_output: Array1<f64>) -> Array1<f64> { grad_output }
    }
}

mod unknown_input {
    use super::*;
    pub struct Linear;
    #[custom_function(gradcheck(input = [3, 4], wieght = [5, 4], scale = 2.0))]
    impl Linear {
        #[forward]
        pub fn forward(input: ArrayView2<f32>, weight: ArrayView2<f32>, scale: f32) -> Array2<f32> {
            input.dot(&weight.t()) * scale
        }
        #[backward]
        fn backward(grad_output: ArrayView2<f32>) -> (Array2<f32>, Array2<f32>) { todo!("{grad_output}") }
    }
}

mod wrong_rank {
    use super::*;
    pub struct Linear;
    #[custom_function(gradcheck(input = [3], weight = [5, 4], scale = 2.0))]
    impl Linear {
        #[forward]
        pub fn forward(input: ArrayView2<f32>, weight: ArrayView2<f32>, scale: f32) -> Array2<f32> {
            input.dot(&weight.t()) * scale
        }
        #[backward]
        fn backward(grad_output: ArrayView2<f32>) -> (Array2<f32>, Array2<f32>) { todo!("{grad_output}") }
    }
}

mod range_of_what_is_made {
    use super::*;
    #[custom_function(grad(x) = &grad_output * 2.0, gradcheck(x = Array1::ones(3) in -1.0..1.0, eps = 1e-5, eps = 1e-6))]
    fn f(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
}

mod colon {
    use super::*;
    #[custom_function(grad(x) = &grad_output * 2.0, gradcheck(x: [3]))]
    fn f(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
}

mod nothing_for_the_rank {
    use super::*;
    // The shape of `x` would give the rank.
    #[custom_function(grad(x) = grad_output.to_owned() * *factor, gradcheck(factor = 2.0))]
    pub fn scale<D: Dimension>(x: ArrayView<f64, D>, factor: f64) -> Array<f64, D> { &x * factor }
}

mod too_many_inputs {
    use super::*;
    #[custom_function(
        grad(parts) = parts.iter().map(|_| grad_output.to_owned()).collect(),
        gradcheck(parts = [[3], [3], [3], [3], [3], [3], [3], [3], [3], [3], [3], [3], [3]]),
    )]
    pub fn sum(parts: &[ArrayView1<f64>]) -> Array1<f64> { parts.iter().fold(Array1::zeros(3), |sum, part| sum + part) }
}

mod each_without_a_list {
    use super::*;
    #[derive(Clone, Copy)]
    pub enum Norm { Sum, Mean }
    #[custom_function(grad(x) = scaled(grad_output, *norm), gradcheck(x = [3], norm = each Norm::Sum))]
    pub fn total(x: ArrayView1<f64>, norm: Norm) -> Array1<f64> { scaled(x, norm) }
    fn scaled(x: ArrayView1<f64>, norm: Norm) -> Array1<f64> {
        match norm {
            Norm::Sum => x.to_owned(),
            Norm::Mean => &x / x.len() as f64,
        }
    }
}

mod each_of_a_tensor {
    use super::*;
    #[custom_function(grad(x) = &grad_output * *factor, gradcheck(x = each [[3], [4]], factor = each [1.0, 2.0]))]
    pub fn scale(x: ArrayView1<f64>, factor: f64) -> Array1<f64> { &x * factor }
}

mod each_of_nothing {
    use super::*;
    #[custom_function(grad(x) = &grad_output * *factor, gradcheck(x = [3], factor = each [], eps = each [1e-6]))]
    pub fn scale(x: ArrayView1<f64>, factor: f64) -> Array1<f64> { &x * factor }
}

mod estimated_unknown {
    use super::*;
    #[custom_function(grad(input) = &grad_output * *scale, gradcheck(input = [3], scale = 2.0, estimated(inptu)))]
    pub fn rounded(input: ArrayView1<f64>, scale: f64) -> Array1<f64> { input.mapv(|x| (x * scale).round()) }
}

mod estimated_has_no_gradient {
    use super::*;
    #[custom_function(
        grad(x) = &grad_output * *scale,
        gradcheck(x = [3], step = [3], scale = 2.0, estimated(x, scale, step)),
    )]
    pub fn rounded(x: ArrayView1<f64>, #[non_differentiable] step: ArrayView1<f64>, scale: f64) -> Array1<f64> {
        (&x * scale / step).mapv(f64::round)
    }
}

mod estimated_twice {
    use super::*;
    #[custom_function(grad(x) = grad_output.to_owned(), gradcheck(x = [3], estimated(x, x), estimated(x)))]
    pub fn rounded(x: ArrayView1<f64>) -> Array1<f64> { x.mapv(f64::round) }
}

mod estimated_without_a_list {
    use super::*;
    #[custom_function(grad(x) = grad_output.to_owned(), gradcheck(x = [3], estimated = x))]
    pub fn rounded(x: ArrayView1<f64>) -> Array1<f64> { x.mapv(f64::round) }
}

mod together_not_optional {
    use super::*;
    #[custom_function(
        grad(x) = grad_output.to_owned(),
        grad(gain) = grad_output.to_owned(),
        grad(shift) = grad_output.to_owned(),
        gradcheck(x = [3], gain = [3], shift = [3], rate = Some(1.0), together(x, gain, rate)),
    )]
    pub fn affine(
        x: ArrayView1<f64>,
        gain: Option<ArrayView1<f64>>,
        shift: Option<ArrayView1<f64>>,
        rate: Option<f64>,
    ) -> Array1<f64> {
        todo!("{x} {gain:?} {shift:?} {rate:?}")
    }
}

mod together_alone {
    use super::*;
    #[custom_function(
        grad(x) = grad_output.to_owned(),
        grad(gain) = grad_output.to_owned(),
        gradcheck(x = [3], gain = [3], together(gain)),
    )]
    pub fn affine(x: ArrayView1<f64>, gain: Option<ArrayView1<f64>>) -> Array1<f64> { todo!("{x} {gain:?}") }
}

mod together_with_two {
    use super::*;
    #[custom_function(
        grad(a) = grad_output.to_owned(),
        grad(b) = grad_output.to_owned(),
        grad(c) = grad_output.to_owned(),
        gradcheck(a = [3], b = [3], c = [3], together(a, b), together(b, c)),
    )]
    pub fn sum(
        a: Option<ArrayView1<f64>>,
        b: Option<ArrayView1<f64>>,
        c: Option<ArrayView1<f64>>,
    ) -> Array1<f64> {
        todo!("{a:?} {b:?} {c:?}")
    }
}

mod constant_without_a_value {
    use super::*;
    #[custom_function(grad(x) = &grad_output * N as f64, gradcheck(x = [3]))]
    pub fn scaled<const N: usize>(x: ArrayView1<f64>) -> Array1<f64> { &x * N as f64 }
}

mod constant_of_a_value {
    use super::*;
    #[custom_function(grad(x) = &grad_output * factors[0], gradcheck(x = [3], factors = [2.0, 3.0]))]
    pub fn scaled<const N: usize>(x: ArrayView1<f64>, factors: [f64; N]) -> Array1<f64> { &x * factors[0] }
}

mod axis_in_a_range {
    use super::*;
    #[custom_function(
        grad(x) = &grad_output * 2.0,
        shapes(x = [n], output = x),
        gradcheck(n = 3, x = [3] in 0.0..n as f64),
    )]
    pub fn doubled(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
}

mod nothing_for_some_of_one_rank {
    use super::*;
    #[custom_function(elementwise, gradcheck(x = [4]))]
    pub fn f<T: Real>(x: T, y: T, k: f64) -> T { x * y * k }
    #[custom_function(scan, gradcheck(v = [4]))]
    pub fn g<T: Real>(#[state] v: T, #[step] x: T, #[step] w: [T; 3]) -> T { v + x * w[0] }
}

mod nothing_for_some_rows {
    use super::*;
    #[custom_function(elementwise, gradcheck(x = [4, 3]))]
    pub fn f<T: Real>(x: [T; 3], y: [T; 2], z: T) -> T { x[0] * y[0] + x[1] * y[1] + x[2] * z }
    #[custom_function(scan, gradcheck(x = [5, 4, 3]))]
    pub fn g<T: Real>(#[state] v: T, #[step] x: [T; 3], #[step] w: [T; 3]) -> T { v + x[0] * w[0] }
    #[custom_function(scan, gradcheck(v = [4, 3]))]
    pub fn h<T: Real>(#[state] v: [T; 3], #[step] w: T) -> [T; 3] { [v[0] * w, v[1], v[2]] }
}

fn main() {}
