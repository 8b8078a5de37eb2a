//! Normalization, dropout and embeddings.

use ndarray::{Array1, ArrayD, Axis, Ix1, IxDyn, array};

use super::{assert_close, leaf, matrix, numbers};
use crate::ops::Statistics;
use crate::{Element, Gradcheck, Tensor, Tensor1, Tensor2, TensorD, checkpoint, grad};

/// Returns a weight or a bias: different numbers, and different ones for each `shift`.
fn vector(length: usize, shift: f64) -> Tensor1<f64> {
    let numbers = Array1::from_shape_fn(length, |i| shift + 0.3 * (i as f64).sin());
    Tensor::from(numbers).set_requires_grad(true)
}

/// Returns numbers whose neighbors differ, as in real data.
fn data(shape: &[usize]) -> TensorD<f64> {
    let mut numbers = numbers(shape);
    for (i, x) in numbers.iter_mut().enumerate() {
        *x += (i as f64 * 1.7).sin();
    }
    Tensor::from(numbers).set_requires_grad(true)
}

#[test]
fn layers() {
    let (weight, bias) = (vector(4, 1.0), vector(4, -0.5));
    for shape in [&[4][..], &[3, 4], &[2, 1, 4]] {
        let norm = |(x, weight, bias): (&TensorD<f64>, &Tensor1<f64>, &Tensor1<f64>)| {
            x.layer_norm(&[4], Some(weight), Some(bias), 0.1)
        };
        gradchecks!(norm, (&data(shape), &weight, &bias), "shape {shape:?}");
    }
    let x = data(&[3, 2, 2]);
    let weight = data(&[2, 2]);
    gradchecks!(
        |(x, w)| x.layer_norm(&[2, 2], Some(w), None, 0.1),
        (&x, &weight)
    );
    gradchecks!(
        |(x, b)| x.layer_norm(&[2, 2], None, Some(b), 0.1),
        (&x, &weight)
    );
    gradchecks!(|(x,)| x.layer_norm::<Ix1>(&[2], None, None, 0.1), (&x,));
    let single = data(&[2, 3]).to_array().mapv(<f32 as Element>::from_f64);
    let single = Tensor::from(single).set_requires_grad(true);
    Gradcheck::new()
        .run(
            |(x,)| x.layer_norm::<Ix1>(&[3], None, None, 0.1),
            (&single,),
        )
        .unwrap();
}

#[test]
fn batches() {
    let (weight, bias) = (vector(3, 1.0), vector(3, -0.5));
    for shape in [&[4, 3][..], &[2, 3, 2], &[2, 3, 1, 2]] {
        let norm = |(x, weight, bias): (&TensorD<f64>, &Tensor1<f64>, &Tensor1<f64>)| {
            x.batch_norm(Some(weight), Some(bias), 0.1).0
        };
        gradchecks!(norm, (&data(shape), &weight, &bias), "shape {shape:?}");
    }
    let (mean, variance) = (vector(3, 0.5), vector(3, 2.0));
    let x = data(&[2, 3, 2]);
    let given = |x: &TensorD<f64>, mean: &Tensor1<f64>, variance: &Tensor1<f64>| {
        x.batch_norm_with(mean, variance, Some(&weight), Some(&bias), 0.1)
    };
    let inputs = (&x, &mean, &variance);
    gradchecks!(|(x, m, v)| given(x, m, v), inputs);
    let scaled = |weight: &Tensor1<f64>, bias: &Tensor1<f64>| {
        x.batch_norm_with(&mean, &variance, Some(weight), Some(bias), 0.1)
    };
    gradchecks!(|(w, b)| scaled(w, b), (&weight, &bias));
}

#[test]
fn statistics_of_a_batch_lead_to_the_same_result() {
    let x = data(&[5, 3, 2]);
    let (y, Statistics { mean, variance }) = x.batch_norm(None, None, 1e-5);
    assert_eq!(mean.clone().into_dyn(), x.mean_axes(&[0, 2]).to_array());
    let expected = x.var_axes(&[0, 2], 1).to_array();
    assert_close(&variance.clone().into_dyn(), &expected);
    let biased = Tensor::from(variance * 0.9);
    let again = x.batch_norm_with(&Tensor::from(mean), &biased, None, None, 1e-5);
    assert_close(&y.to_array(), &again.to_array());
}

#[test]
fn groups() {
    let (weight, bias) = (vector(4, 1.0), vector(4, -0.5));
    let x = data(&[2, 4, 3]);
    for groups in [1, 2, 4] {
        let norm = |(x, weight, bias): (&TensorD<f64>, &Tensor1<f64>, &Tensor1<f64>)| {
            x.group_norm(groups, Some(weight), Some(bias), 0.1)
        };
        gradchecks!(norm, (&x, &weight, &bias));
    }
    // One group is a layer.
    let layer = x.layer_norm::<Ix1>(&[4, 3], None, None, 0.1).to_array();
    assert_eq!(x.group_norm(1, None, None, 0.1).to_array(), layer);
}

#[test]
fn no_channels_are_any_number_of_groups() {
    for groups in [1, 7, usize::MAX] {
        let nothing = leaf(&[2, 0, 3]);
        let y = nothing.group_norm(groups, None, None, 0.1);
        assert_eq!(y.shape(), [2, 0, 3]);
        y.sum().backward().unwrap();
        assert_eq!(nothing.grad().unwrap().shape(), [2, 0, 3]);
    }
}

#[test]
fn normalization_of_every_layout_and_of_nothing() {
    let x = data(&[3, 4]).to_array();
    let norm = |x| {
        Tensor::from(x)
            .layer_norm::<Ix1>(&[4], None, None, 1e-5)
            .to_array()
    };
    let rows = norm(x.clone());
    let mut reversed = x.clone();
    reversed.invert_axis(Axis(0));
    let mut back = norm(reversed);
    back.invert_axis(Axis(0));
    assert_eq!(back, rows);
    let (columns, _) = Tensor::from(x.reversed_axes()).batch_norm(None, None, 1e-5);
    assert_close(&columns.to_array().reversed_axes(), &rows);
    for shape in [[0, 4], [4, 0]] {
        let nothing = leaf(&shape);
        let (last, second) = (shape[1], Some(vector(shape[1], 1.0)));
        let y = nothing.layer_norm(&[last], second.as_ref(), None, 1e-5);
        assert_eq!(y.shape(), shape);
        y.sum().backward().unwrap();
        assert_eq!(nothing.grad().unwrap().shape(), shape);
        assert_eq!(second.unwrap().grad().unwrap(), Array1::<f64>::zeros(last));
    }
    let equal = Tensor::from(array![[2.0, 2.0]]).set_requires_grad(true);
    let y = equal.layer_norm::<Ix1>(&[2], None, None, 1e-5);
    assert_eq!(y.to_array(), array![[0.0, 0.0]]);
}

#[test]
fn a_large_mean_is_subtracted_first() {
    let x = Tensor::from(array![[1e6_f32, 1e6 + 1.0, 1e6 + 2.0]]);
    let y = x.layer_norm::<Ix1>(&[3], None, None, 0.0).to_array();
    assert!((y[[0, 2]] - 1.5_f32.sqrt()).abs() < 1e-5);
}

#[test]
fn dropout_is_linear_and_the_same_each_time() {
    for p in [0.0, 0.4, 1.0] {
        gradchecks!(|(x,)| x.dropout(p, 3), (&leaf(&[3, 4]),));
    }
    let x = leaf(&[4, 5]);
    let y = x.dropout(0.5, 11);
    let zeros = y.to_array().mapv(|y| y == 0.0);
    assert!(zeros.iter().any(|&zero| zero) && !zeros.iter().all(|&zero| zero));
    assert_eq!(x.dropout(1.0, 11).to_array(), ArrayD::zeros(IxDyn(&[4, 5])));
}

#[test]
fn dropout_in_a_checkpoint_chooses_the_same_elements() {
    let x = leaf(&[4, 5]);
    let function = |x: &TensorD<f64>| (x.dropout(0.5, 11) * x).exp().dropout(0.2, 12);
    let (direct,) = grad(&function(&x).sum(), (&x,)).unwrap();
    let (again,) = grad(&checkpoint(function, &x).sum(), (&x,)).unwrap();
    assert_eq!(again.to_array(), direct.to_array());
}

fn weight() -> Tensor2<f64> {
    Tensor::from(matrix(4, 3)).set_requires_grad(true)
}

#[test]
fn rows_of_an_embedding_add_up() {
    for indices in [&[][..], &[1], &[3, 1, 3, 0, 3]] {
        gradchecks!(|(w,)| w.embedding(indices), (&weight(),));
    }
    let weight = weight();
    let rows = weight.embedding_padded(&[2, 0, 2, 1], 2);
    assert_eq!(rows.view().row(0), weight.view().row(2));
    rows.sum().backward().unwrap();
    let columns = weight.grad().unwrap().column(0).to_vec();
    assert_eq!(columns, [1.0, 1.0, 0.0, 0.0]);
}

#[test]
fn mistakes_are_reported_at_the_callers_line() {
    let (x, three) = (leaf(&[2, 4]), vector(3, 1.0));
    let line_of = leaf(&[1, 4]);
    panics_here!(x.layer_norm::<Ix1>(&[3], None, None, 0.1));
    panics_here!(x.layer_norm::<Ix1>(&[], None, None, 0.1));
    panics_here!(x.layer_norm(&[4], Some(&three), None, 0.1));
    panics_here!(x.batch_norm(None, Some(&three), 0.1));
    panics_here!(line_of.batch_norm(None, None, 0.1));
    panics_here!(x.group_norm(3, None, None, 0.1));
    panics_here!(x.group_norm(0, None, None, 0.1));
    panics_here!(x.dropout(f64::NAN, 1));
    panics_here!(weight().embedding(&[4]));
    panics_here!(three.batch_norm(None, None, 0.1));
}
