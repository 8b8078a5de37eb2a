use pullback::ndarray::{Array1, ArrayView1, ArrayView2};
use pullback::prelude::*;

mod arguments {
    use super::*;
    pub struct Product;
    #[custom_function]
    impl Product {
        #[forward]
        pub fn forward(x: ArrayView1<f32>, weight: ArrayView1<f32>) -> Array1<f32> { &x * &weight }
        #[backward]
        fn backward(grad_output: ArrayView1<f32>) -> (Array1<f32>, Array1<f32>) { todo!("{grad_output}") }
        #[jvp(x, weight)]
        fn jvp(
            x: ArrayView1<f32>,
            weight: ArrayView1<f32>,
            tangent_x: ArrayView1<f32>,
            tangent_weight: ArrayView1<f32>,
        ) -> Array1<f32> {
            &tangent_x * &weight + &x * &tangent_weight
        }
    }
}

mod arrays_in_tensors_out {
    use super::*;
    pub struct Product;
    #[custom_function]
    impl Product {
        #[forward]
        pub fn forward(x: ArrayView1<f32>, weight: ArrayView1<f32>) -> Array1<f32> { &x * &weight }
        #[backward]
        fn backward(grad_output: ArrayView1<f32>) -> (Array1<f32>, Array1<f32>) { todo!("{grad_output}") }
        #[jvp]
        fn jvp(tangent_x: ArrayView1<f32>, tangent_weight: ArrayView1<f32>) -> Tensor1<f32> {
            Tensor::from(&tangent_x + &tangent_weight)
        }
    }
}

mod input_like_a_tangent {
    use super::*;
    pub struct Product;
    #[custom_function]
    impl Product {
        #[forward]
        pub fn forward(x: ArrayView1<f32>, tangent_x: f32) -> Array1<f32> { &x * tangent_x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, tangent_x: f32) -> Array1<f32> { &grad_output * tangent_x }
        #[jvp]
        fn jvp(x: ArrayView1<f32>, tangent_x: ArrayView1<f32>) -> Array1<f32> { &x * &tangent_x }
    }
}

mod intermediate {
    use super::*;
    pub struct Product;
    #[custom_function]
    impl Product {
        #[forward(outputs(y), saves(cosh))]
        pub fn forward(x: ArrayView1<f32>) -> (Array1<f32>, Array1<f32>) { (x.mapv(f32::tanh), x.mapv(f32::cosh)) }
        #[backward(x)]
        fn backward(grad_y: ArrayView1<f32>, cosh: ArrayView1<f32>) -> Array1<f32> { &grad_y / &cosh / &cosh }
        #[jvp]
        fn jvp(tangent_x: ArrayView1<f32>, cosh: ArrayView1<f32>) -> Array1<f32> { &tangent_x / &cosh / &cosh }
    }
}

mod misspelt_tangent {
    use super::*;
    pub struct Product;
    #[custom_function]
    impl Product {
        #[forward]
        pub fn forward(x: ArrayView1<f32>, weight: ArrayView1<f32>) -> Array1<f32> { &x * &weight }
        #[backward]
        fn backward(grad_output: ArrayView1<f32>) -> (Array1<f32>, Array1<f32>) { todo!("{grad_output}") }
        #[jvp]
        fn jvp(
            x: ArrayView1<f32>,
            weight: ArrayView1<f32>,
            tangent_x: ArrayView1<f32>,
            tangent_wieght: ArrayView1<f32>,
        ) -> Array1<f32> {
            &tangent_x * &weight + &x * &tangent_wieght
        }
    }
}

mod no_tangent {
    use super::*;
    pub struct Product;
    #[custom_function]
    impl Product {
        #[forward]
        pub fn forward(x: ArrayView1<f32>, weight: ArrayView1<f32>) -> Array1<f32> { &x * &weight }
        #[backward]
        fn backward(grad_output: ArrayView1<f32>) -> (Array1<f32>, Array1<f32>) { todo!("{grad_output}") }
        #[jvp]
        fn jvp(x: ArrayView1<f32>, weight: ArrayView1<f32>) -> Array1<f32> { &x * &weight }
    }
}

mod nothing_returned {
    use super::*;
    pub struct Product;
    #[custom_function]
    impl Product {
        #[forward]
        pub fn forward(x: ArrayView1<f32>, weight: ArrayView1<f32>) -> Array1<f32> { &x * &weight }
        #[backward]
        fn backward(grad_output: ArrayView1<f32>) -> (Array1<f32>, Array1<f32>) { todo!("{grad_output}") }
        #[jvp]
        fn jvp(tangent_x: ArrayView1<f32>, tangent_weight: ArrayView1<f32>) { let _ = (tangent_x, tangent_weight); }
    }
}

mod number_returned {
    use super::*;
    pub struct Product;
    #[custom_function]
    impl Product {
        #[forward]
        pub fn forward(x: ArrayView1<f32>, weight: ArrayView1<f32>) -> Array1<f32> { &x * &weight }
        #[backward]
        fn backward(grad_output: ArrayView1<f32>) -> (Array1<f32>, Array1<f32>) { todo!("{grad_output}") }
        #[jvp]
        fn jvp(tangent_x: ArrayView1<f32>, tangent_weight: ArrayView1<f32>) -> f32 {
            tangent_x.sum() + tangent_weight.sum()
        }
    }
}

mod one_of_two_tangents {
    use super::*;
    pub struct Product;
    #[custom_function]
    impl Product {
        #[forward]
        pub fn forward(x: ArrayView1<f32>, weight: ArrayView1<f32>) -> Array1<f32> { &x * &weight }
        #[backward]
        fn backward(grad_output: ArrayView1<f32>) -> (Array1<f32>, Array1<f32>) { todo!("{grad_output}") }
        #[jvp]
        fn jvp(tangent_x: ArrayView1<f32>, weight: ArrayView1<f32>) -> Array1<f32> { &tangent_x * &weight }
    }
}

mod optional_taken_plain {
    use super::*;
    pub struct Product;
    #[custom_function]
    impl Product {
        #[forward]
        pub fn forward(x: ArrayView1<f32>, bias: Option<ArrayView1<f32>>) -> Array1<f32> {
            bias.map_or_else(|| x.to_owned(), |bias| &x + &bias)
        }
        #[backward]
        fn backward(grad_output: ArrayView1<f32>) -> (Array1<f32>, Array1<f32>) {
            (grad_output.to_owned(), grad_output.to_owned())
        }
        #[jvp]
        fn jvp(
            bias: ArrayView1<f32>,
            tangent_x: ArrayView1<f32>,
            tangent_bias: Option<ArrayView1<f32>>,
        ) -> Array1<f32> {
            tangent_bias.map_or_else(|| &tangent_x + &bias, |tangent| &tangent_x + &tangent)
        }
    }
}

mod tangent_of_a_borrowed_array {
    use super::*;
    pub struct Scale;
    #[custom_function]
    impl Scale {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, weight: Option<&Array1<f64>>) -> Array1<f64> {
            weight.map_or_else(|| x.to_owned(), |weight| &x * weight)
        }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, weight: Option<&Array1<f64>>) -> Array1<f64> {
            weight.map_or_else(|| grad_output.to_owned(), |weight| &grad_output * weight)
        }
        #[jvp]
        fn jvp(tangent_x: ArrayView1<f64>, tangent_weight: Option<ArrayView1<f64>>) -> Array1<f64> {
            let _ = tangent_weight;
            tangent_x.to_owned()
        }
    }
}

mod tangent_of_a_value {
    use super::*;
    pub struct Product;
    #[custom_function]
    impl Product {
        #[forward]
        pub fn forward(x: ArrayView1<f32>, factor: f32) -> Array1<f32> { &x * factor }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, factor: f32) -> Array1<f32> { &grad_output * factor }
        #[jvp]
        fn jvp(x: ArrayView1<f32>, tangent_x: ArrayView1<f32>, tangent_factor: f32) -> Array1<f32> {
            &tangent_x + &x * tangent_factor
        }
    }
}

mod tangent_of_an_exempt_input {
    use super::*;
    pub struct Product;
    #[custom_function]
    impl Product {
        #[forward]
        pub fn forward(x: ArrayView1<f32>, #[non_differentiable] mask: ArrayView1<f32>) -> Array1<f32> { &x * &mask }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, mask: ArrayView1<f32>) -> Array1<f32> { &grad_output * &mask }
        #[jvp]
        fn jvp(tangent_x: ArrayView1<f32>, tangent_mask: ArrayView1<f32>) -> Array1<f32> { &tangent_x * &tangent_mask }
    }
}

mod tangent_of_an_exempt_output {
    use super::*;
    pub struct Product;
    #[custom_function]
    impl Product {
        #[forward(outputs(y, place))]
        pub fn forward(x: ArrayView1<f32>) -> (Array1<f32>, usize) { (x.to_owned(), x.len()) }
        #[backward(x)]
        fn backward(grad_y: ArrayView1<f32>) -> Array1<f32> { grad_y.to_owned() }
        #[jvp]
        fn jvp(tangent_x: ArrayView1<f32>, place: usize) -> (Array1<f32>, usize) { (tangent_x.to_owned(), place) }
    }
}

mod tangent_of_an_optional_input {
    use super::*;
    pub struct Product;
    #[custom_function]
    impl Product {
        #[forward]
        pub fn forward(x: ArrayView1<f32>, bias: Option<ArrayView1<f32>>) -> Array1<f32> {
            bias.map_or_else(|| x.to_owned(), |bias| &x + &bias)
        }
        #[backward]
        fn backward(grad_output: ArrayView1<f32>) -> (Array1<f32>, Array1<f32>) {
            (grad_output.to_owned(), grad_output.to_owned())
        }
        #[jvp]
        fn jvp(tangent_x: ArrayView1<f32>, tangent_bias: ArrayView1<f32>) -> Array1<f32> { &tangent_x + &tangent_bias }
    }
}

mod tensors_and_arrays {
    use super::*;
    pub struct Product;
    #[custom_function]
    impl Product {
        #[forward]
        pub fn forward(x: ArrayView1<f32>, weight: ArrayView1<f32>) -> Array1<f32> { &x * &weight }
        #[backward]
        fn backward(grad_output: ArrayView1<f32>) -> (Array1<f32>, Array1<f32>) { todo!("{grad_output}") }
        #[jvp]
        fn jvp(
            x: ArrayView1<f32>,
            weight: &Tensor1<f32>,
            tangent_x: &Tensor1<f32>,
            tangent_weight: ArrayView1<f32>,
        ) -> Tensor1<f32> {
            tangent_x * weight + Tensor::from(&x * &tangent_weight)
        }
    }
}

mod too_few_tangents {
    use super::*;
    pub struct Product;
    #[custom_function]
    impl Product {
        #[forward(outputs(sin, cos))]
        pub fn forward(x: ArrayView1<f32>) -> (Array1<f32>, Array1<f32>) { (x.mapv(f32::sin), x.mapv(f32::cos)) }
        #[backward(x)]
        fn backward(
            grad_sin: ArrayView1<f32>,
            grad_cos: ArrayView1<f32>,
            sin: ArrayView1<f32>,
            cos: ArrayView1<f32>,
        ) -> Array1<f32> {
            &grad_sin * &cos - &grad_cos * &sin
        }
        #[jvp]
        fn jvp(tangent_x: ArrayView1<f32>, cos: ArrayView1<f32>) -> Array1<f32> { &tangent_x * &cos }
    }
}

mod two_rules {
    use super::*;
    pub struct Product;
    #[custom_function]
    impl Product {
        #[forward]
        pub fn forward(x: ArrayView1<f32>, weight: ArrayView1<f32>) -> Array1<f32> { &x * &weight }
        #[backward]
        fn backward(grad_output: ArrayView1<f32>) -> (Array1<f32>, Array1<f32>) { todo!("{grad_output}") }
        #[jvp]
        fn jvp(
            x: ArrayView1<f32>,
            weight: ArrayView1<f32>,
            tangent_x: ArrayView1<f32>,
            tangent_weight: ArrayView1<f32>,
        ) -> Array1<f32> {
            &tangent_x * &weight + &x * &tangent_weight
        }
        #[jvp]
        fn forward_mode(
            x: ArrayView1<f32>,
            weight: ArrayView1<f32>,
            tangent_x: ArrayView1<f32>,
            tangent_weight: ArrayView1<f32>,
        ) -> Array1<f32> {
            &tangent_x * &weight + &x * &tangent_weight
        }
    }
}

mod unknown_name {
    use super::*;
    pub struct Product;
    #[custom_function]
    impl Product {
        #[forward]
        pub fn forward(x: ArrayView1<f32>, weight: ArrayView1<f32>) -> Array1<f32> { &x * &weight }
        #[backward]
        fn backward(grad_output: ArrayView1<f32>) -> (Array1<f32>, Array1<f32>) { todo!("{grad_output}") }
        #[jvp]
        fn jvp(
            x: ArrayView1<f32>,
            wieght: ArrayView1<f32>,
            tangent_x: ArrayView1<f32>,
            tangent_weight: ArrayView1<f32>,
        ) -> Array1<f32> {
            &tangent_x * &wieght + &x * &tangent_weight
        }
    }
}

mod view_returned {
    use super::*;
    pub struct Product;
    #[custom_function]
    impl Product {
        #[forward]
        pub fn forward(x: ArrayView1<f32>, weight: ArrayView1<f32>) -> Array1<f32> { &x * &weight }
        #[backward]
        fn backward(grad_output: ArrayView1<f32>) -> (Array1<f32>, Array1<f32>) { todo!("{grad_output}") }
        #[jvp]
        fn jvp<'a>(tangent_x: ArrayView1<'a, f32>, tangent_weight: ArrayView1<f32>) -> ArrayView1<'a, f32> {
            let _ = tangent_weight;
            tangent_x
        }
    }
}

mod wrong_element_type_of_the_result {
    use super::*;
    pub struct Product;
    #[custom_function]
    impl Product {
        #[forward]
        pub fn forward(x: ArrayView1<f32>, weight: ArrayView1<f32>) -> Array1<f32> { &x * &weight }
        #[backward]
        fn backward(grad_output: ArrayView1<f32>) -> (Array1<f32>, Array1<f32>) { todo!("{grad_output}") }
        #[jvp]
        fn jvp(tangent_x: ArrayView1<f32>, tangent_weight: ArrayView1<f32>) -> Array1<f64> {
            (&tangent_x + &tangent_weight).mapv(f64::from)
        }
    }
}

mod wrong_rank_of_a_tangent {
    use super::*;
    pub struct Product;
    #[custom_function]
    impl Product {
        #[forward]
        pub fn forward(x: ArrayView1<f32>, weight: ArrayView1<f32>) -> Array1<f32> { &x * &weight }
        #[backward]
        fn backward(grad_output: ArrayView1<f32>) -> (Array1<f32>, Array1<f32>) { todo!("{grad_output}") }
        #[jvp]
        fn jvp(
            x: ArrayView1<f32>,
            weight: ArrayView1<f32>,
            tangent_x: ArrayView1<f32>,
            tangent_weight: ArrayView2<f32>,
        ) -> Array1<f32> {
            &tangent_x * &weight + &x * &tangent_weight.row(0)
        }
    }
}

mod a_tangent_too_many {
    use super::*;
    pub struct Double;
    #[custom_function]
    impl Double {
        #[forward]
        pub fn forward(x: ArrayView1<f64>) -> Array1<f64> { &x * 2.0 }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { &grad_output * 2.0 }
        #[jvp]
        fn jvp(tangent_x: ArrayView1<f64>, output: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) {
            (output.to_owned(), &tangent_x * 2.0)
        }
    }
}

mod one_of_two_tangents_on_tensors {
    use super::*;
    pub struct Product;
    #[custom_function]
    impl Product {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, w: ArrayView1<f64>) -> Array1<f64> { &x * &w }
        #[backward]
        fn backward(grad_output: ArrayView1<f64>, x: ArrayView1<f64>, w: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) {
            (&grad_output * &w, &grad_output * &x)
        }
        #[jvp]
        fn jvp(tangent_x: &Tensor1<f64>, w: &Tensor1<f64>) -> Tensor1<f64> { tangent_x * w }
    }
}

fn main() {}

mod tangent_under_the_name_of_a_gradient {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f64>) -> Array1<f64> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> { &grad_output * &x * 2.0 }
        #[jvp]
        fn jvp(grad_x: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> { &grad_x * &x * 2.0 }
    }
}

mod tangent_as_a_differential {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f64>) -> Array1<f64> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> { &grad_output * &x * 2.0 }
        #[jvp]
        fn jvp(dx: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> { &dx * &x * 2.0 }
    }
}
