use pullback::ndarray::Ix2;
use pullback::prelude::*;

mod extra_repr_of_another_type {
    use super::*;
    #[derive(Module)]
    #[module(extra_repr = rate)]
    pub struct Dropout {
        #[module(skip)]
        pub rate: f64,
    }
    fn rate(dropout: &Dropout) -> f64 { dropout.rate }
}

mod generic_in_a_container_that_is_no_field {
    use std::sync::Arc;
    use super::*;
    #[derive(Module)]
    pub struct Residual<L> {
        pub inner: Arc<L>,
    }
}

mod parameter_in_a_container_that_is_no_field {
    use std::sync::Mutex;
    use super::*;
    #[derive(Module)]
    pub struct Linear {
        pub weight: Mutex<Parameter<f32, Ix2>>,
    }
}

mod plain_data_without_skip {
    use super::*;
    #[derive(Module)]
    pub struct Linear {
        pub weight: Parameter<f32, Ix2>,
        pub in_features: usize,
    }
}

mod shown_without_display {
    use super::*;
    pub struct Padding(pub usize);
    #[derive(Module)]
    pub struct Conv {
        #[module(skip, show)]
        pub padding: Padding,
    }
}

fn main() {}
