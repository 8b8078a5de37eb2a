//! Inputs: tensors in any order of memory, constants, and tensors without autodiff.

use burn::backend::Flex;
use burn::tensor::{DType, Device, Tensor, s};
use pullback::ndarray::{Array2, ArrayView2};
use pullback::prelude::*;
use pullback_burn::apply;
use pullback_fixtures::{linear, polar};

use super::{Random, assert_close, devices, numbers, twin};

#[test]
fn tensors_in_any_order_of_memory() {
    let mut random = Random(5);
    for device in devices() {
        let x = random.leaf([4, 6], DType::F32, &device);
        let w = random.leaf([3, 4], DType::F32, &device);
        let views: [fn(Tensor<2>) -> Tensor<2>; 6] = [
            |x| x.transpose(),
            |x| x.slice(s![0..4, 1..5]),
            |x| x.slice(s![1..2, 2..6]),
            |x| x.slice(s![2..3, ..]).slice(s![.., 0..4]).expand([5, 4]),
            |x| x.flip([0]).slice(s![.., 0..4]),
            |x| x.slice(s![0..4;2, 0..4]),
        ];
        for view in views {
            let burns = twin(&x);
            let y = apply(
                |(x, w): (&Tensor2<f32>, &Tensor2<f32>)| linear(x, w, None),
                (view(x.clone()), w.clone()),
            );
            let expected = view(burns.clone()).matmul(w.clone().transpose());
            assert_close(y.clone(), expected.clone());
            // A gradient that is not in row-major order either.
            let grads = y.transpose().powi_scalar(2).sum().backward();
            let expected = expected.transpose().powi_scalar(2).sum().backward();
            assert_close(x.grad(&grads).unwrap(), burns.grad(&expected).unwrap());
            assert_close(w.grad(&grads).unwrap(), w.grad(&expected).unwrap());
        }
    }
}

/// In column-major order.
#[custom_function(grad(x) = grad_output.t().to_owned())]
fn turned(x: ArrayView2<f64>) -> Array2<f64> {
    x.t().to_owned()
}

/// The end of a longer memory.
#[custom_function(grad(x) = {
    let mut grad = Array2::zeros(x.raw_dim());
    grad.slice_mut(pullback::ndarray::s![-1.., ..]).assign(&grad_output);
    grad
})]
fn last_row(x: ArrayView2<f64>) -> Array2<f64> {
    x.to_owned().slice_move(pullback::ndarray::s![-1.., ..])
}

#[test]
fn outputs_in_any_order_of_memory() {
    for device in devices() {
        let x = Tensor::<2>::from_data([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], (&device, DType::F64))
            .require_grad();
        let parts = |x: &Tensor2<f64>| (turned(x), last_row(x), x.clone());
        let (turned, last, same) = apply(parts, x.clone());
        assert_eq!(numbers(turned.clone()), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        assert_eq!(numbers(last.clone()), [4.0, 5.0, 6.0]);
        assert_eq!(numbers(same.clone()), numbers(x.clone()));
        let grads = (turned.sum() + last.sum() + same.sum()).backward();
        assert_eq!(
            numbers(x.grad(&grads).unwrap()),
            [2.0, 2.0, 2.0, 3.0, 3.0, 3.0]
        );
    }
}

#[test]
fn constants_have_no_gradient() {
    let mut random = Random(6);
    for device in devices() {
        let x = random.leaf([3], DType::F64, &device);
        let constant = random.tensor([3], DType::F64, &device);
        let plain = constant.clone().inner();
        for y in [constant.clone(), plain] {
            let (radius, _) = apply(
                |(x, y): (&Tensor1<f64>, &Tensor1<f64>)| polar(x, y),
                (x.clone(), y.clone()),
            );
            assert!(radius.is_tracked() && radius.device() == device);
            let grads = radius.sum().backward();
            assert!(x.grad(&grads).is_some() && y.grad(&grads).is_none());
        }
        let (radius, angle) = apply(
            |(x, y): (&Tensor1<f64>, &Tensor1<f64>)| polar(x, y),
            (constant.clone(), constant),
        );
        assert!(!radius.is_tracked() && radius.is_autodiff() && !angle.is_tracked());
        // It is a constant for burn's operations too, also where burn computes values again.
        let grads = (radius.exp() * x.clone().exp()).sum().backward();
        assert!(x.grad(&grads).is_some());
    }
}

#[test]
fn without_autodiff_it_is_computed() {
    let device = Device::flex();
    let x = Tensor::<1>::from_data([3.0, 0.0], (&device, DType::F64));
    let y = Tensor::<1>::from_data([4.0, 2.0], (&device, DType::F64));
    let (radius, _) = apply(|(x, y): (&Tensor1<f64>, &Tensor1<f64>)| polar(x, y), (x, y));
    assert_eq!(numbers(radius.clone()), [5.0, 2.0]);
    assert!(!radius.is_autodiff());
}

#[test]
fn any_rank_and_no_elements() {
    for device in devices() {
        let x = Tensor::<5>::ones([2, 1, 2, 1, 2], (&device, DType::F32)).require_grad();
        let y: Tensor<5> = apply(|x: &TensorD<f32>| x * 3.0, x.clone());
        assert_eq!(numbers(x.grad(&y.sum().backward()).unwrap()), [3.0; 8]);

        let empty = Tensor::<3>::zeros([2, 0, 3], (&device, DType::F32)).require_grad();
        let y = apply(|x: &Tensor3<f32>| x * 3.0, empty.clone());
        assert_eq!(y.dims(), [2, 0, 3]);
        assert_eq!(empty.grad(&y.sum().backward()).unwrap().dims(), [2, 0, 3]);
    }
}

/// The address of a tensor's elements.
fn place(x: &Tensor<1>) -> *const f32 {
    let x = x.clone().try_into_primitive::<Flex>().unwrap();
    x.as_slice::<f32>().unwrap().as_ptr()
}

#[test]
fn inputs_are_read_where_they_are() {
    let x = Tensor::<1>::from_floats([1.0, 2.0, 3.0, 4.0], &Device::flex());
    let seen = std::sync::Mutex::new(Vec::new());
    let look = |x: &Tensor1<f32>| {
        seen.lock().unwrap().push(x.view().as_ptr().addr());
        x * 2.0
    };
    let y = apply(look, x.clone());
    let _ = apply(look, x.clone().slice(s![1..3]));
    let _ = apply(look, y.clone());
    assert_eq!(
        *seen.lock().unwrap(),
        [place(&x).addr(), place(&x).addr() + 4, place(&y).addr()]
    );
}

#[test]
fn burn_does_not_write_to_what_is_saved() {
    for device in devices() {
        let x = Tensor::<1>::from_data([1.0, 2.0], (&device, DType::F64)).require_grad();
        let inner = x.clone() * 1.0;
        let y = apply(|x: &Tensor1<f64>| x * x, inner.clone());
        // Operations that burn does in place, if nothing else has the memory.
        let changed = inner.inner() * 10.0 + 1.0;
        let also = y.clone().inner() * 10.0 + 1.0;
        assert_eq!(
            (numbers(changed), numbers(also)),
            (vec![11.0, 21.0], vec![11.0, 41.0])
        );
        assert_eq!(numbers(x.grad(&y.sum().backward()).unwrap()), [2.0, 4.0]);
    }
}
