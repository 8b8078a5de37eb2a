use pullback::ndarray::{Array1, Array2, ArrayView1};
use pullback::prelude::*;

mod arrays_in_tensors_out {
    use super::*;
    pub struct Join;
    #[custom_function]
    impl Join {
        #[forward]
        pub fn forward(parts: &[ArrayView1<f64>]) -> Array1<f64> {
            parts.iter().fold(Array1::zeros(1), |sum, part| sum + part)
        }
        #[backward(parts)]
        fn backward(grad_output: ArrayView1<f64>, parts: &[ArrayView1<f64>]) -> Vec<Tensor1<f64>> {
            vec![Tensor::from(grad_output); parts.len()]
        }
    }
}

mod gradient_of_a_list_is_one_array {
    use super::*;
    pub struct Join;
    #[custom_function]
    impl Join {
        #[forward]
        pub fn forward(parts: &[ArrayView1<f64>]) -> Array1<f64> {
            parts.iter().fold(Array1::zeros(1), |sum, part| sum + part)
        }
        #[backward(parts)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { grad_output.to_owned() }
    }
}

mod gradients_of_a_list_in_a_tuple {
    use super::*;
    pub struct Join;
    #[custom_function]
    impl Join {
        #[forward]
        pub fn forward(parts: &[ArrayView1<f64>]) -> Array1<f64> {
            parts.iter().fold(Array1::zeros(1), |sum, part| sum + part)
        }
        #[backward(parts)]
        fn backward(grad_output: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) {
            (grad_output.to_owned(), grad_output.to_owned())
        }
    }
}

mod list_asked_for_as_a_vec {
    use super::*;
    pub struct Join;
    #[custom_function]
    impl Join {
        #[forward]
        pub fn forward(parts: &[ArrayView1<f64>]) -> Array1<f64> {
            parts.iter().fold(Array1::zeros(1), |sum, part| sum + part)
        }
        #[backward(parts)]
        fn backward(grad_output: ArrayView1<f64>, parts: Vec<Array1<f64>>) -> Vec<Array1<f64>> {
            parts.iter().map(|part| part + &grad_output).collect()
        }
    }
}

mod list_asked_for_as_one {
    use super::*;
    pub struct Join;
    #[custom_function]
    impl Join {
        #[forward]
        pub fn forward(parts: &[ArrayView1<f64>]) -> Array1<f64> {
            parts.iter().fold(Array1::zeros(1), |sum, part| sum + part)
        }
        #[backward(parts)]
        fn backward(grad_output: ArrayView1<f64>, parts: ArrayView1<f64>) -> Vec<Array1<f64>> {
            vec![&grad_output + &parts]
        }
    }
}

mod list_for_a_single_input {
    use super::*;
    pub struct Join;
    #[custom_function]
    impl Join {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, y: ArrayView1<f64>) -> Array1<f64> { &x + &y }
        #[backward]
        fn backward(grad_output: ArrayView1<f64>) -> Vec<Array1<f64>> {
            vec![grad_output.to_owned(), grad_output.to_owned()]
        }
    }
}

mod optional_list {
    use super::*;
    pub struct Join;
    #[custom_function]
    impl Join {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, parts: Option<&[ArrayView1<f64>]>) -> Array1<f64> {
            let _ = parts;
            x.to_owned()
        }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { grad_output.to_owned() }
    }
}

mod optional_tensors {
    use super::*;
    pub struct Join;
    #[custom_function]
    impl Join {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, parts: &[Option<ArrayView1<f64>>]) -> Array1<f64> {
            let _ = parts;
            x.to_owned()
        }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { grad_output.to_owned() }
    }
}

mod tangents_of_a_list {
    use super::*;
    pub struct Join;
    #[custom_function]
    impl Join {
        #[forward]
        pub fn forward(parts: &[ArrayView1<f64>]) -> Array1<f64> {
            parts.iter().fold(Array1::zeros(1), |sum, part| sum + part)
        }
        #[backward(parts)]
        fn backward(grad_output: ArrayView1<f64>, parts: &[ArrayView1<f64>]) -> Vec<Array1<f64>> {
            vec![grad_output.to_owned(); parts.len()]
        }
        #[jvp]
        fn jvp(parts: &[ArrayView1<f64>]) -> Array1<f64> { Array1::zeros(parts.len()) }
    }
}

mod tensors_by_value {
    use super::*;
    pub struct Join;
    #[custom_function]
    impl Join {
        #[forward]
        pub fn forward(parts: &[ArrayView1<f64>]) -> Array1<f64> {
            parts.iter().fold(Array1::zeros(1), |sum, part| sum + part)
        }
        #[backward(parts)]
        fn backward(grad_output: ArrayView1<f64>, parts: &[Tensor1<f64>]) -> Vec<Array1<f64>> {
            vec![grad_output.to_owned(); parts.len()]
        }
    }
}

mod tensors_and_arrays {
    use super::*;
    pub struct Join;
    #[custom_function]
    impl Join {
        #[forward]
        pub fn forward(parts: &[&Tensor1<f64>]) -> Array1<f64> {
            parts.iter().fold(Array1::zeros(1), |sum, part| sum + part.view())
        }
        #[backward(parts)]
        fn backward(grad_output: ArrayView1<f64>, parts: &[&Tensor1<f64>]) -> Vec<Tensor1<f64>> {
            vec![Tensor::from(grad_output); parts.len()]
        }
    }
}

mod tangents_of_a_list_in_one_array {
    use super::*;
    pub struct Halves;
    #[custom_function]
    impl Halves {
        #[forward]
        pub fn forward(x: ArrayView1<f64>) -> Vec<Array1<f64>> { vec![&x * 0.5, &x * 0.5] }
        #[backward(x)]
        fn backward(grad_output: &[ArrayView1<f64>]) -> Array1<f64> { &grad_output[0] * 0.5 + &grad_output[1] * 0.5 }
        #[jvp]
        fn jvp(tangent_x: ArrayView1<f64>) -> Array1<f64> { &tangent_x * 0.5 }
    }
}

mod vec_of_tensors {
    use super::*;
    pub struct Add;
    #[custom_function]
    impl Add {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, others: Vec<Tensor1<f64>>) -> Array1<f64> {
            others
                .iter()
                .fold(x.to_owned(), |sum, other| sum + other.view())
        }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { grad_output.to_owned() }
    }
}

mod vec_of_views {
    use super::*;
    pub struct Join;
    #[custom_function]
    impl Join {
        #[forward]
        pub fn forward(x: ArrayView1<f64>, parts: Vec<ArrayView1<f64>>) -> Array1<f64> {
            let _ = parts;
            x.to_owned()
        }
        #[backward(x)]
        fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> { grad_output.to_owned() }
    }
}

mod wrong_rank_of_the_gradients {
    use super::*;
    pub struct Join;
    #[custom_function]
    impl Join {
        #[forward]
        pub fn forward(parts: &[ArrayView1<f64>]) -> Array1<f64> {
            parts.iter().fold(Array1::zeros(1), |sum, part| sum + part)
        }
        #[backward(parts)]
        fn backward(grad_output: ArrayView1<f64>) -> Vec<Array2<f64>> { todo!("{grad_output}") }
    }
}

fn main() {}
