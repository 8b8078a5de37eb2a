//! Normalization: outputs against plain loops, running means, training and evaluation.

use pullback::ndarray::{Array1, Array2, ArrayView1, Axis, array};
use pullback::nn::{BatchNorm1d, BatchNorm2d, GroupNorm, LayerNorm, Parameter};
use pullback::prelude::*;

use super::{assert_close, tensor};

/// Returns mean and variance with the divisor n.
fn moments(x: ArrayView1<'_, f64>) -> (f64, f64) {
    let mean = x.mean().expect("elements");
    (
        mean,
        x.mapv(|x| (x - mean).powi(2)).mean().expect("elements"),
    )
}

fn normalized(x: ArrayView1<'_, f64>, eps: f64) -> Array1<f64> {
    let (mean, variance) = moments(x);
    x.mapv(|x| (x - mean) / (variance + eps).sqrt())
}

#[test]
fn a_batch_is_normalized_by_channel_and_tracked() {
    let mut norm = BatchNorm2d::<f64>::new(3).eps(0.1).momentum(0.3);
    norm.weight = Some(Parameter::new(array![1.0, 2.0, 3.0]));
    norm.bias = Some(Parameter::new(array![0.5, 0.0, -0.5]));
    let x = tensor((2, 3, 2, 2), 1);
    let y = norm.forward(&x).to_array();
    for channel in 0..3 {
        let of = |a: &pullback::ndarray::Array4<f64>| {
            a.index_axis(Axis(1), channel)
                .iter()
                .copied()
                .collect::<Array1<f64>>()
        };
        let (from, to) = (of(&x.to_array()), of(&y));
        let expected =
            normalized(from.view(), 0.1) * [1.0, 2.0, 3.0][channel] + [0.5, 0.0, -0.5][channel];
        assert_close(&to, &expected);
        let (mean, variance) = moments(from.view());
        let running = |buffer: &Option<Buffer<f64, _>>| -> f64 {
            buffer.as_ref().unwrap().get().view()[channel]
        };
        assert!((running(&norm.running_mean) - 0.3 * mean).abs() < 1e-12);
        // The variance of eight elements has the divisor seven.
        assert!((running(&norm.running_var) - (0.7 + 0.3 * variance * 8.0 / 7.0)).abs() < 1e-12);
    }
}

#[test]
fn evaluation_uses_the_running_figures_and_changes_nothing() {
    let mut norm = BatchNorm1d::<f64>::new(2).eps(0.0);
    let x = Tensor::from(array![[1.0, 10.0], [3.0, 30.0]]);
    let _ = norm.forward(&x);
    norm.eval();
    let (mean, variance) = ([0.2, 2.0], [0.9 + 0.1 * 2.0, 0.9 + 0.1 * 200.0]);
    let expected = Array2::from_shape_fn((2, 2), |(row, channel)| {
        (x.view()[[row, channel]] - mean[channel]) / f64::sqrt(variance[channel])
    });
    assert_close(&norm.forward(&x).to_array(), &expected);
    assert_close(&norm.forward(&x).to_array(), &expected);
    // In evaluation, one example is enough.
    let single = Tensor::from(array![[1.0, 10.0]]);
    assert_close(
        &norm.forward(&single).to_array(),
        &expected.slice_move(pullback::ndarray::s![..1, ..]),
    );
    assert_eq!(norm.forward(&tensor((0, 2), 1)).shape(), [0, 2]);
    norm.train();
    assert_close(
        &norm.forward(&x).to_array(),
        &array![[-1.0, -1.0], [1.0, 1.0]],
    );
}

#[test]
fn without_a_momentum_running_figures_are_plain_means() {
    let norm = BatchNorm1d::<f64>::new(1).momentum(None);
    for (first, second) in [(1.0, 3.0), (5.0, 9.0), (0.0, 0.0)] {
        let _ = norm.forward(&Tensor::from(array![[first], [second]]));
    }
    let (mean, variance) = (
        norm.running_mean.as_ref().unwrap().get(),
        norm.running_var.as_ref().unwrap().get(),
    );
    assert_close(&mean.to_array(), &array![(2.0 + 7.0) / 3.0]);
    assert_close(&variance.to_array(), &array![(2.0 + 8.0) / 3.0]);
    let names: Vec<String> = norm
        .named_buffers()
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(
        names,
        ["running_mean", "running_var", "num_batches_tracked"]
    );
    assert_eq!(norm.num_batches_tracked.as_ref().unwrap().get().item(), 3.0);
}

#[test]
fn without_running_figures_a_batch_is_its_own() {
    let mut norm = BatchNorm1d::<f64>::new(1)
        .eps(0.0)
        .track_running_stats(false);
    norm.eval();
    let y = norm.forward(&Tensor::from(array![[1.0], [3.0]]));
    assert_close(&y.to_array(), &array![[-1.0], [1.0]]);
    assert!(norm.named_buffers().is_empty());
    assert!(
        BatchNorm1d::<f64>::new(1)
            .affine(false)
            .parameters()
            .is_empty()
    );
    let again = norm
        .track_running_stats(true)
        .momentum(None)
        .momentum(0.5)
        .affine(false)
        .affine(true);
    assert_eq!(
        (again.named_buffers().len(), again.parameters().len()),
        (2, 2)
    );
}

#[test]
fn running_figures_have_no_history_and_no_gradient() {
    let norm = BatchNorm1d::<f64>::new(2);
    norm.forward(&tensor((4, 2), 1).set_requires_grad(true))
        .square()
        .sum()
        .backward()
        .expect("a pass");
    let mean = norm.running_mean.as_ref().unwrap().get();
    assert!(!mean.requires_grad() && mean.grad_fn().is_none());
    assert!(norm.weight.as_ref().unwrap().grad().is_some());
}

#[test]
fn layers_are_normalized_row_by_row() {
    let mut norm = LayerNorm::<f64, _>::new((3, 2)).eps(0.01);
    norm.weight = Some(Parameter::new(super::values((3, 2), 2)));
    norm.bias = Some(Parameter::new(super::values((3, 2), 3)));
    let x = tensor((4, 3, 2), 1);
    let y = norm.forward(&x).to_array();
    for (from, to) in x.view().outer_iter().zip(y.outer_iter()) {
        let flat: Array1<f64> = from.iter().copied().collect();
        let rows = normalized(flat.view(), 0.01)
            .into_shape_with_order((3, 2))
            .expect("six");
        let expected =
            rows * norm.weight.as_ref().unwrap().view() + norm.bias.as_ref().unwrap().view();
        assert_close(&to.to_owned(), &expected);
    }
    let plain = LayerNorm::<f64>::new(2).elementwise_affine(false);
    assert!(plain.parameters().is_empty());
    assert_eq!(LayerNorm::<f64>::new(2).bias(false).parameters().len(), 1);
}

#[test]
fn groups_of_channels_are_normalized_together() {
    let mut norm = GroupNorm::<f64>::new(2, 4).eps(0.01);
    norm.weight = Some(Parameter::new(array![1.0, 2.0, 3.0, 4.0]));
    let x = tensor((2, 4, 3), 1);
    let y = norm.forward(&x).to_array();
    for example in 0..2 {
        for (group, first) in [0.0, 2.0].into_iter().enumerate() {
            let part = pullback::ndarray::s![example, 2 * group..2 * group + 2, ..];
            let from: Array1<f64> = x.view().slice_move(part).iter().copied().collect();
            let rows = normalized(from.view(), 0.01)
                .into_shape_with_order((2, 3))
                .expect("six");
            let factors = array![[1.0], [2.0]] + first;
            assert_close(&y.slice(part).to_owned(), &(rows * factors));
        }
    }
    assert!(
        GroupNorm::<f64>::new(2, 4)
            .affine(false)
            .parameters()
            .is_empty()
    );
}
