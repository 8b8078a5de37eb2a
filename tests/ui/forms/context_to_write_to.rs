use std::marker::PhantomData;

use pullback::ndarray::{Array, ArrayView, Dimension};
use pullback::prelude::*;

pub struct Exp<T, D>(PhantomData<(T, D)>);

#[custom_function]
impl<T: Element, D: Dimension> Exp<T, D> {
    #[forward]
    pub fn forward(x: ArrayView<T, D>) -> Array<T, D> {
        x.mapv(T::exp)
    }

    #[backward(x)]
    fn grad_x(
        grad_output: ArrayView<T, D>,
        output: ArrayView<T, D>,
        context: &mut ExpContext<T, D>,
    ) -> Array<T, D> {
        context.output.take();
        &grad_output * &output
    }
}

fn main() {}
