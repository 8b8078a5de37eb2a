use pullback::ndarray::{Ix1, Ix2};
use pullback::prelude::*;

mod argument_of_a_field_on_the_type {
    use super::*;
    #[derive(Module)]
    #[module(skip)]
    pub struct Dropout {
        #[module(skip)]
        pub rate: f64,
    }
}

mod argument_of_the_type_on_a_field {
    use super::*;
    #[derive(Module)]
    pub struct Dropout {
        #[module(skip, name = "p")]
        pub rate: f64,
    }
}

mod argument_twice {
    use super::*;
    #[derive(Module)]
    pub struct Dropout {
        #[module(skip)]
        #[module(skip, show)]
        pub rate: f64,
    }
}

mod attribute_with_a_value {
    use super::*;
    #[derive(Module)]
    pub struct Dropout {
        #[module = "skip"]
        pub rate: f64,
    }
}

mod bare_attribute {
    use super::*;
    #[derive(Module)]
    pub struct Dropout {
        #[module]
        pub rate: f64,
    }
}

mod extra_repr_in_quotes {
    use super::*;
    #[derive(Module)]
    #[module(extra_repr = "rate")]
    pub struct Dropout {
        #[module(skip)]
        pub rate: f64,
    }
}

mod lifetime {
    use super::*;
    #[derive(Module)]
    pub struct Tied<'a> {
        pub weight: &'a Parameter<f32, Ix2>,
    }
    pub fn print(tied: &Tied) -> String { format!("{tied} {}", tied.parameter_count()) }
}

mod misspelt_argument {
    use super::*;
    #[derive(Module)]
    pub struct Dropout {
        #[module(skp)]
        pub rate: f64,
    }
    pub fn print(dropout: &Dropout) -> String { format!("{dropout} {:?}", dropout.named_modules().len()) }
}

mod module_in_an_rc {
    use std::rc::Rc;
    use super::*;
    #[derive(Module)]
    pub struct Residual(pub Vec<Rc<dyn Module>>);
}

mod name_without_quotes {
    use super::*;
    #[derive(Module)]
    #[module(name = Relu)]
    pub struct Rectifier;
}

mod on_a_variant {
    use super::*;
    #[derive(Module)]
    pub enum Layer {
        #[module(skip)]
        Dropout(f64),
    }
}

mod parameter_in_a_ref_cell {
    use std::cell::RefCell;
    use super::*;
    #[derive(Module)]
    pub struct Linear {
        pub weight: RefCell<Parameter<f32, Ix2>>,
    }
    pub fn freeze(linear: &mut Linear) -> String {
        linear.requires_grad(false);
        format!("{linear} {}", linear.parameter_count())
    }
}

mod renamed_and_skipped {
    use super::*;
    #[derive(Module)]
    pub struct Dropout {
        #[module(skip, rename = "p")]
        pub rate: f64,
    }
}

mod renamed_in_a_transparent_variant {
    use super::*;
    #[derive(Module)]
    pub struct Relu;
    #[derive(Module)]
    pub enum Layer {
        Relu(#[module(rename = "relu")] Relu),
    }
}

mod renamed_to_a_name_that_is_taken {
    use super::*;
    #[derive(Module)]
    pub struct Scale {
        #[module(rename = "bias")]
        pub factor: Parameter<f32, Ix1>,
        pub bias: Parameter<f32, Ix1>,
    }
}

mod renamed_to_nothing {
    use super::*;
    #[derive(Module)]
    pub struct Scale {
        #[module(rename = "")]
        pub factor: Parameter<f32, Ix1>,
    }
}

mod renamed_with_a_dot {
    use super::*;
    #[derive(Module)]
    pub struct Scale {
        #[module(rename = "norm.weight")]
        pub factor: Parameter<f32, Ix1>,
    }
}

mod renamed_without_quotes {
    use super::*;
    #[derive(Module)]
    pub struct Scale {
        #[module(rename = weight)]
        pub factor: Parameter<f32, Ix1>,
    }
}

mod several_mistakes {
    use super::*;
    #[derive(Module)]
    #[module(nam = "Linear")]
    pub struct Affine {
        #[module(skip)]
        pub weight: Parameter<f32, Ix2>,
        #[module(show)]
        pub bias: Parameter<f32, Ix2>,
        #[module(skpi)]
        pub in_features: usize,
    }
    pub fn print(affine: &mut Affine) -> String {
        affine.eval();
        affine.to_string()
    }
}

mod shown_beside_extra_repr {
    use super::*;
    #[derive(Module)]
    #[module(extra_repr = rate)]
    pub struct Dropout {
        #[module(skip, show)]
        pub rate: f64,
    }
    fn rate(dropout: &Dropout) -> String { dropout.rate.to_string() }
}

mod shown_without_skip {
    use super::*;
    #[derive(Module)]
    pub struct Dropout {
        #[module(show)]
        pub rate: f64,
    }
}

mod skipped_buffer {
    use super::*;
    #[derive(Module)]
    pub struct Norm(#[module(skip)] pub Buffer<f32, Ix1>);
}

mod skipped_parameter {
    use super::*;
    #[derive(Module)]
    pub struct Linear {
        #[module(skip)]
        pub weight: Option<Parameter<f32, Ix2>>,
    }
}

mod skipped_ref_cell {
    use std::cell::RefCell;
    use super::*;
    #[derive(Module)]
    pub struct Cached {
        #[module(skip)]
        pub cache: RefCell<Vec<f32>>,
    }
}

mod transparent_variant_of_no_module {
    use super::*;
    #[derive(Module)]
    pub enum Layer {
        Linear(Parameter<f32, Ix2>),
        Dropout(f64),
        Relu,
    }
}

mod union {
    use super::*;
    #[derive(Module)]
    pub union Either {
        pub rate: f64,
        pub count: u64,
    }
}

mod optional_tensor_as_a_field {
    use super::*;
    #[derive(Module)]
    pub struct Scale {
        weight: Option<Tensor1<f64>>,
    }
}

mod tensor_as_a_field {
    use super::*;
    #[derive(Module)]
    pub struct Scale {
        weight: Tensor1<f64>,
    }
}

mod tensors_in_a_list {
    use super::*;
    #[derive(Module)]
    pub struct Cell {
        pub state: Option<Tensor<f32, Ix1>>,
    }
}

mod parameter_of_a_tensor {
    use super::*;
    #[derive(Module)]
    pub struct Net {
        pub weight: Parameter<Tensor<f32, Ix1>>,
    }
}

fn main() {}
