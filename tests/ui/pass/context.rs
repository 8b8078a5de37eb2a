//! `context` in backward functions: of blocks with parameters, of the short form, public and private.

use pullback::prelude::*;

pub mod functions {
    use std::marker::PhantomData;

    use pullback::ndarray::{Array, Array1, ArrayView, ArrayView1, Dimension};
    use pullback::prelude::*;

    pub struct Power<T, D, F: ?Sized, const N: usize>(PhantomData<(T, D)>, PhantomData<F>);

    #[custom_function]
    impl<T, D, F, const N: usize> Power<T, D, F, N>
    where
        T: Element,
        D: Dimension,
        F: Fn(T) -> T + Clone + Send + Sync + 'static,
        Self: Sized,
    {
        #[forward]
        pub fn forward(x: ArrayView<T, D>, w: ArrayView<T, D>, f: F) -> Array<T, D> {
            &x.mapv(f) * &w
        }

        #[backward(x)]
        pub(crate) fn grad_x(
            grad_output: ArrayView<T, D>,
            context: &PowerContext<T, D, F, N>,
        ) -> Array<T, D> {
            let (w, f) = (context.w.as_ref().unwrap(), context.f.as_deref().unwrap());
            assert!(context.x.is_some() && N == 1);
            &grad_output.mapv(f) * &w.view()
        }

        #[backward(w)]
        pub fn grad_w(
            grad_output: ArrayView<T, D>,
            x: ArrayView<T, D>,
            w: ArrayView<T, D>,
            f: F,
            context: &PowerContext<T, D, F, N>,
        ) -> Array<T, D> {
            assert_eq!(Some(w.shape()), context.w.as_ref().map(Tensor::shape));
            &grad_output * &x.mapv(f)
        }
    }

    #[custom_function(
        grad(x) = &grad_output * &both(context).1,
        grad(w) = (&x, &w, &grad_output * &both(context).0).2,
    )]
    pub fn product(x: ArrayView1<f64>, w: ArrayView1<f64>) -> Array1<f64> {
        &x * &w
    }

    fn both(context: &ProductContext) -> (Array1<f64>, Array1<f64>) {
        let of = |tensor: &Option<Tensor1<f64>>| tensor.as_ref().unwrap().to_array();
        (of(&context.x), of(&context.w))
    }
}

pub fn show<T: Element, D: pullback::ndarray::Dimension, F>(
    context: &functions::PowerContext<T, D, F, 1>,
) -> String
where
    T: std::fmt::Debug,
    D: std::fmt::Debug,
    F: Fn(T) -> T + Clone + Send + Sync + std::fmt::Debug + 'static,
{
    format!("{:?} {context:?}", context.x)
}

fn main() -> Result<(), pullback::Error> {
    let x = Tensor::from(pullback::ndarray::array![2.0]).set_requires_grad(true);
    let y = functions::Power::<_, _, _, 1>::apply(&x, &x, |x: f64| x * 3.0);
    y.sum().backward()?;
    assert_eq!(x.grad(), Some(pullback::ndarray::array![12.0]));
    Ok(())
}
