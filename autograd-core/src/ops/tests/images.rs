//! Convolutions and pooling.

use ndarray::{Array4, Ix1, Ix3, Ix4, array};

use super::linear::leaf;
use super::numbers;
use crate::ops::Conv;
use crate::ops::ConvOptions;
use crate::{Tensor, Tensor1, Tensor4, TensorD, grad};

fn options<const N: usize>(
    [stride, padding, dilation]: [[usize; N]; 3],
    groups: usize,
) -> ConvOptions<N> {
    ConvOptions {
        stride,
        padding,
        dilation,
        groups,
    }
}

#[test]
fn convolutions_to_second_order() {
    let x = leaf::<Ix3>(&[2, 2, 5], 0.0);
    let (weight, bias) = (leaf::<Ix3>(&[2, 1, 2], 1.0), leaf::<Ix1>(&[2], 2.0));
    let inputs = (&x, &weight, &bias);
    let signals = options([[2], [1], [2]], 2);
    gradchecks!(|(x, w, b)| x.conv1d(w, Some(b), signals), inputs);

    let x = leaf::<Ix4>(&[1, 2, 3, 4], 0.0);
    let (weight, bias) = (leaf::<Ix4>(&[3, 2, 2, 2], 1.0), leaf::<Ix1>(&[3], 2.0));
    let inputs = (&x, &weight, &bias);
    let images = options([[1, 2], [1, 0], [1, 1]], 1);
    gradchecks!(|(x, w, b)| x.conv2d(w, Some(b), images), inputs);
    // Kernels of one pixel, for which there are no columns.
    let one = leaf::<Ix4>(&[2, 2, 1, 1], 1.0);
    let plain = ConvOptions::default();
    gradchecks!(|(x, w)| x.conv2d(w, None, plain), (&x, &one));
    gradchecks!(
        |(x, w)| x.t().conv2d(w, None, plain),
        (&leaf::<Ix4>(&[1, 3, 2, 2], 0.5), &one)
    );

    let x = leaf::<Ix4>(&[1, 2, 2, 2], 0.0);
    let (weight, bias) = (leaf::<Ix4>(&[2, 2, 2, 3], 1.0), leaf::<Ix1>(&[4], 2.0));
    let options = options([[2, 2], [0, 1], [2, 1]], 2);
    let inputs = (&x, &weight, &bias);
    let transposed = |x: &Tensor4<f64>, w: &Tensor4<f64>, b: &Tensor1<f64>| {
        x.conv_transpose2d(w, Some(b), options, [1, 0])
    };
    gradchecks!(|(x, w, b)| transposed(x, w, b), inputs);
}

#[test]
fn a_transposed_convolution_undoes_the_shape_of_one() {
    let options = options([[3, 2], [1, 2], [1, 2]], 1);
    for added in [[0, 0], [1, 1], [2, 0]] {
        let x = leaf::<Ix4>(&[1, 2, 3, 4], 0.0);
        let weight = leaf::<Ix4>(&[2, 3, 3, 3], 1.0);
        let larger = x.conv_transpose2d(&weight, None, options, added);
        assert_eq!(larger.conv2d(&weight, None, options).shape(), x.shape());
        let smallest = x.conv_transpose2d(&weight, None, options, [0, 0]);
        assert_eq!(larger.shape()[2] - smallest.shape()[2], added[0]);
        assert_eq!(larger.shape()[3] - smallest.shape()[3], added[1]);
    }
}

#[test]
fn pooling_to_second_order() {
    let x = leaf::<Ix4>(&[2, 1, 4, 5], 0.0);
    for (kernel, stride, padding) in [
        ([2, 2], [2, 2], [0, 0]),
        ([3, 2], [1, 2], [1, 1]),
        ([1, 5], [3, 1], [0, 2]),
    ] {
        gradchecks!(|x| x.max_pool2d(kernel, stride, padding), &x);
        gradchecks!(|x| x.avg_pool2d(kernel, stride, padding), &x);
    }
    gradchecks!(|x| x.t().max_pool2d([1, 2], [1, 1], [0, 1]), &x);
}

#[test]
fn of_equal_elements_the_first_gets_the_gradient_and_nan_is_largest() {
    let x = Tensor::from(array![[[[2.0, 2.0], [1.0, 2.0]]]]).set_requires_grad(true);
    let (gradient,) = grad(&x.max_pool2d([2, 2], [1, 1], [0, 0]).sum(), (&x,)).unwrap();
    assert_eq!(gradient.to_array(), array![[[[1.0, 0.0], [0.0, 0.0]]]]);
    let x = Tensor::from(array![[[[2.0, f64::NAN, 3.0, f64::NAN]]]]);
    let largest = x.max_pool2d([1, 4], [1, 1], [0, 0]);
    assert!(largest.view()[[0, 0, 0, 0]].is_nan());
    let x = Tensor::from(Array4::from_elem((1, 1, 2, 2), f64::NEG_INFINITY));
    let largest = x.max_pool2d([2, 2], [1, 1], [1, 1]);
    assert!(largest.view().iter().all(|&x| x == f64::NEG_INFINITY));
}

/// Tensors of three axes with a dynamic rank.
#[test]
fn convolutions_of_signals_whose_rank_is_known_at_run_time() {
    let tensor = |shape: &[usize]| -> TensorD<f64> { Tensor::from(numbers(shape)) };
    let (x, weight) = (tensor(&[1, 2, 5]), tensor(&[3, 2, 2]));
    let options = ConvOptions::default();
    let y = Conv::apply(&x, &weight, None, options);
    assert_eq!(y.shape(), [1, 3, 4]);
    let convolved = |(x, w): (&TensorD<f64>, &TensorD<f64>)| Conv::apply(x, w, None, options);
    gradchecks!(convolved, (&x, &weight));
}

#[test]
#[should_panic(
    expected = "of tensors of shapes [] and [1, 1, 1]: both must have 3 axes, or both 4"
)]
fn a_tensor_of_another_rank_is_not_convolved() {
    let (x, weight) = (
        Tensor::from(numbers(&[])),
        Tensor::from(numbers(&[1, 1, 1])),
    );
    let _ = Conv::apply(&x, &weight, None, ConvOptions::default());
}
