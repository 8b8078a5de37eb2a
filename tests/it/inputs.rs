//! Inputs of every kind in one function.

use std::marker::PhantomData;

use pullback::ndarray::{
    Array, Array0, Array1, Array2, ArrayD, ArrayView, ArrayView2, ArrayViewD, Ix2, array,
};
use pullback::prelude::*;

use crate::functions::leaf;

/// Views, owned arrays, tensors, and values of many kinds.
pub struct Kinds<T>(PhantomData<T>);

#[derive(Clone, Copy)]
pub enum Mode {
    Twice,
    Once,
}

#[custom_function]
impl<T: Element> Kinds<T> {
    const BASE: f64 = 1.0;

    #[forward]
    fn forward(
        dynamic: ArrayViewD<T>,
        owned: Array1<T>,
        tensor: &Tensor<T, Ix2>,
        indices: &Array1<usize>,
        labels: &[usize],
        name: &str,
        mode: Mode,
        scale: Option<&T>,
        list: Vec<T>,
    ) -> Array0<T> {
        assert_eq!((name, labels.len(), indices.len()), ("kinds", 2, 1));
        let picked = owned[indices[0]] * list[0];
        let sum = dynamic.sum() + picked + tensor.view()[[0, labels[1]]];
        Array0::from_elem(
            (),
            sum * Self::factor(mode) * scale.copied().unwrap_or(T::one()),
        )
    }

    fn factor(mode: Mode) -> T {
        T::from_f64(match mode {
            Mode::Twice => 2.0 * Self::BASE,
            Mode::Once => Self::BASE,
        })
    }

    #[backward(dynamic)]
    fn grad_dynamic(
        grad_output: Array0<T>,
        dynamic: ArrayViewD<T>,
        mode: &Mode,
        scale: Option<&T>,
    ) -> ArrayD<T> {
        let factor = Self::factor(*mode) * scale.copied().unwrap_or(T::one());
        Array::from_elem(dynamic.raw_dim(), grad_output.into_scalar() * factor)
    }

    #[backward(owned, tensor)]
    fn grad_others(
        grad_output: ArrayView<T, pullback::ndarray::Ix0>,
        owned: Array1<T>,
        tensor: ArrayView2<T>,
        indices: &Array1<usize>,
        labels: &[usize],
        name: &str,
        mode: Mode,
        scale: Option<&T>,
        list: &[T],
    ) -> (Array1<T>, Array2<T>) {
        assert_eq!(name, "kinds");
        let factor = Self::factor(mode) * scale.copied().unwrap_or(T::one());
        let mut grad_owned = owned * T::zero();
        grad_owned[indices[0]] = grad_output[()] * factor * list[0];
        let mut grad_tensor = Array2::zeros(tensor.raw_dim());
        grad_tensor[[0, labels[1]]] = grad_output[()] * factor;
        (grad_owned, grad_tensor)
    }
}

#[test]
fn inputs_of_every_kind() {
    let dynamic = leaf([1.0, 2.0]).into_dyn();
    let owned = leaf([3.0, 4.0]);
    let tensor = Tensor::from(array![[5.0, 6.0, 7.0]]).set_requires_grad(true);
    let indices = array![1];
    let apply = |dynamic: &TensorD<f64>, owned: &Tensor1<f64>, tensor: &Tensor2<f64>| {
        let (owned, list) = (owned.clone(), vec![10.0, 0.0]);
        let scale = Some(&0.5);
        Kinds::apply(
            dynamic,
            owned,
            tensor,
            &indices,
            &[0, 2],
            "kinds",
            Mode::Twice,
            scale,
            list,
        )
    };
    assert_eq!(
        apply(&dynamic, &owned, &tensor).item(),
        1.0 + 2.0 + 40.0 + 7.0
    );
    let check = Gradcheck::new();
    check
        .run(|(d, o, t)| apply(d, o, t), (&dynamic, &owned, &tensor))
        .unwrap();
    let once = Kinds::apply(
        &dynamic,
        owned.clone(),
        &tensor,
        &indices,
        &[0, 1],
        "kinds",
        Mode::Once,
        None,
        vec![1.0],
    );
    assert_eq!(once.item(), 1.0 + 2.0 + 4.0 + 6.0);
    assert_eq!(owned.to_array(), array![3.0, 4.0]);
}
