use pullback::ndarray::{Array, ArrayView};
use pullback::prelude::*;

#[custom_function(grad(x) = todo!("{:p}", &grad_output))]
pub fn same<T, D>(x: ArrayView<T, D>) -> Array<T, D> {
    todo!("{:p}", &x)
}

fn main() {}
