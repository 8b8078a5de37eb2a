use pullback::ndarray::{Array1, Array2, ArrayView1, ArrayView2};
use pullback::prelude::*;

mod array {
    use super::*;
    pub struct Linear;
    #[custom_function]
    impl Linear {
        #[forward]
        pub fn forward(input: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> { input.dot(&weight.t()) }
        #[backward]
        fn backward(grad_output: ArrayView2<f32>) -> [Array2<f32>; 2] { todo!("{grad_output}") }
    }
}

mod list {
    use super::*;
    pub struct Linear;
    #[custom_function]
    impl Linear {
        #[forward]
        pub fn forward(input: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> { input.dot(&weight.t()) }
        #[backward]
        fn backward(grad_output: ArrayView2<f32>) -> Vec<Array2<f32>> { todo!("{grad_output}") }
    }
}

mod list_of_one {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f64>) -> Array1<f64> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>, x: ArrayView1<f64>) -> Vec<Array1<f64>> {
            vec![&grad_output * &x * 2.0]
        }
    }
}

mod nothing_returned {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) { let _ = &grad_output * &x * 2.0; }
    }
}

mod number {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> f32 { (&grad_output * &x).sum() }
    }
}

mod one_in_a_tuple {
    use super::*;
    pub struct Square;
    #[custom_function]
    impl Square {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { &x * &x }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>, x: ArrayView1<f32>) -> (Array1<f32>,) { (&grad_output * &x * 2.0,) }
    }
}

mod too_few {
    use super::*;
    pub struct Linear;
    #[custom_function]
    impl Linear {
        #[forward]
        pub fn forward(input: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> { input.dot(&weight.t()) }
        #[backward]
        fn backward(grad_output: ArrayView2<f32>) -> Array2<f32> { todo!("{grad_output}") }
    }
}

mod too_many {
    use super::*;
    pub struct Linear;
    #[custom_function]
    impl Linear {
        #[forward]
        pub fn forward(input: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> { input.dot(&weight.t()) }
        #[backward]
        fn backward(grad_output: ArrayView2<f32>) -> (Array2<f32>, Array2<f32>, Array1<f32>) { todo!("{grad_output}") }
    }
}

mod too_many_with_none {
    use super::*;
    pub struct Scale;
    #[custom_function]
    impl Scale {
        #[forward]
        fn forward(x: ArrayView1<f64>, factor: f64) -> Array1<f64> { &x * factor }
        #[backward]
        fn backward(grad_output: ArrayView1<f64>, factor: f64) -> (Array1<f64>, Option<Array1<f64>>) {
            (&grad_output * factor, None)
        }
    }
}

mod view {
    use super::*;
    pub struct Id;
    #[custom_function]
    impl Id {
        #[forward]
        pub fn forward(x: ArrayView1<f32>) -> Array1<f32> { x.to_owned() }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f32>) -> ArrayView1<f32> { grad_output }
    }
}

mod whole_numbers {
    use super::*;
    pub struct Scale;
    #[custom_function]
    impl Scale {
        #[forward]
        fn forward(x: ArrayView1<f64>, factor: f64) -> Array1<f64> { &x * factor }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<i64> { grad_output.mapv(|grad| grad as i64) }
    }
}

mod other_order {
    use super::*;
    pub struct F;
    #[custom_function]
    impl F {
        #[forward]
        fn forward(x: ArrayView1<f64>, w: ArrayView2<f64>) -> Array1<f64> { w.dot(&x) }
        #[backward(x, w)]
        fn backward(grad_output: ArrayView1<f64>, x: ArrayView1<f64>, w: ArrayView2<f64>) -> (Array2<f64>, Array1<f64>) { todo!() }
    }
}

mod by_an_unknown_name {
    use super::*;
    pub struct Mul;
    #[custom_function]
    impl Mul {
        #[forward]
        pub fn forward(input: ArrayView1<f64>, weight: ArrayView1<f64>) -> Array1<f64> { &input * &weight }
        #[backward]
        fn backward(grad_output: ArrayView1<f64>, input: ArrayView1<f64>, weight: ArrayView1<f64>) -> MulGradients {
            MulGradients { input: &grad_output * &weight, wieght: &grad_output * &input }
        }
    }
}

mod by_name_one_missing {
    use super::*;
    pub struct Mul;
    #[custom_function]
    impl Mul {
        #[forward]
        pub fn forward(input: ArrayView1<f64>, weight: ArrayView1<f64>) -> Array1<f64> { &input * &weight }
        #[backward]
        fn backward(grad_output: ArrayView1<f64>, weight: ArrayView1<f64>) -> MulGradients {
            MulGradients { input: &grad_output * &weight }
        }
    }
}

mod by_name_twice {
    use super::*;
    pub struct Mul;
    #[custom_function]
    impl Mul {
        #[forward]
        pub fn forward(input: ArrayView1<f64>, weight: ArrayView1<f64>) -> Array1<f64> { &input * &weight }
        #[backward]
        fn backward(grad_output: ArrayView1<f64>, input: ArrayView1<f64>, weight: ArrayView1<f64>) -> MulGradients {
            let weight = &grad_output * &weight;
            MulGradients { input: weight.clone(), input: weight, weight: &grad_output * &input }
        }
    }
}

mod by_name_of_one {
    use super::*;
    pub struct Mul;
    #[custom_function]
    impl Mul {
        #[forward]
        pub fn forward(input: ArrayView1<f64>, weight: ArrayView1<f64>) -> Array1<f64> { &input * &weight }
        #[backward(input)]
        fn grad_input(grad_output: ArrayView1<f64>, weight: ArrayView1<f64>) -> MulGradients {
            MulGradients { input: &grad_output * &weight }
        }
        #[backward(weight)]
        fn grad_weight(grad_output: ArrayView1<f64>, input: ArrayView1<f64>) -> Array1<f64> { &grad_output * &input }
    }
}

mod by_name_in_two_functions {
    use super::*;
    pub struct Four;
    #[custom_function]
    impl Four {
        #[forward]
        pub fn forward(
            a: ArrayView1<f64>,
            b: ArrayView1<f64>,
            c: ArrayView1<f64>,
            d: ArrayView1<f64>,
        ) -> Array1<f64> {
            &a + &b + c + d
        }
        #[backward(a, b)]
        fn first(grad_output: ArrayView1<f64>) -> FourGradients {
            FourGradients { a: grad_output.to_owned(), b: grad_output.to_owned() }
        }
        #[backward(c, d)]
        fn second(grad_output: ArrayView1<f64>) -> FourGradients {
            FourGradients { c: grad_output.to_owned(), d: grad_output.to_owned() }
        }
    }
}

mod struct_misspelled {
    use super::*;
    pub struct Mul;
    #[custom_function]
    impl Mul {
        #[forward]
        pub fn forward(input: ArrayView1<f64>, weight: ArrayView1<f64>) -> Array1<f64> { &input * &weight }
        #[backward]
        fn backward(grad_output: ArrayView1<f64>, input: ArrayView1<f64>, weight: ArrayView1<f64>) -> MulGradient {
            MulGradient { input: &grad_output * &weight, weight: &grad_output * &input }
        }
    }
}

mod struct_of_a_wrong_backward {
    use super::*;
    pub struct Mul;
    #[custom_function]
    impl Mul {
        #[forward]
        pub fn forward(input: ArrayView1<f64>, weight: ArrayView1<f64>) -> Array1<f64> { &input * &weight }
        #[backward(input, wieght)]
        fn backward(grad_output: ArrayView1<f64>, input: ArrayView1<f64>, weight: ArrayView1<f64>) -> MulGradients {
            MulGradients { input: &grad_output * &weight, weight: &grad_output * &input }
        }
    }
}

fn main() {}

mod result_of_each {
    use super::*;
    pub struct Product;
    #[custom_function]
    impl Product {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, w: ArrayView1<f64>) -> Array1<f64> { &x * &w }
        #[backward]
        fn backward(grad_output: ArrayView1<f64>) -> (Result<Array1<f64>, String>, Result<Array1<f64>, String>) {
            (Ok(grad_output.to_owned()), Ok(grad_output.to_owned()))
        }
    }
}
