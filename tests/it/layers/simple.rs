//! Layers with simple formulas, against plain loops.

use pullback::ndarray::{Array1, Array2, Array3, Array4, array};
use pullback::nn::{
    AvgPool2d, Dropout, Elu, Embedding, Flatten, LeakyRelu, Linear, MaxPool2d, Parameter, Softmax,
    Softplus,
};
use pullback::prelude::*;

use super::{assert_close, generator, tensor};

#[test]
fn linear_layers_work_on_the_last_axis() {
    let linear = Linear::<f64>::new(3, 2, &mut generator());
    let (weight, bias) = (
        linear.weight.to_array(),
        linear.bias.as_ref().unwrap().to_array(),
    );
    let row = |x: &[f64], output: usize| {
        (0..3)
            .map(|input| x[input] * weight[[output, input]])
            .sum::<f64>()
            + bias[output]
    };
    let x = tensor((2, 4, 3), 1);
    let expected = Array3::from_shape_fn((2, 4, 2), |(i, j, output)| {
        row(&[0, 1, 2].map(|input| x.view()[[i, j, input]]), output)
    });
    assert_close(&linear.forward(&x).to_array(), &expected);
    let single = tensor(3, 2);
    let expected = Array1::from_shape_fn(2, |output| row(&single.to_array().to_vec(), output));
    assert_close(&linear.forward(&single).to_array(), &expected);
}

#[test]
fn embeddings_are_rows_in_the_shape_of_the_indices() {
    let weight = array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]];
    let embedding = Embedding {
        weight: Parameter::new(weight),
        padding_idx: None,
    };
    assert_eq!(
        embedding.forward(&[2, 0][..]).to_array(),
        array![[5.0, 6.0], [1.0, 2.0]]
    );
    let indices = array![[0, 1], [1, 2]];
    let expected = array![[[1.0, 2.0], [3.0, 4.0]], [[3.0, 4.0], [5.0, 6.0]]];
    assert_eq!(embedding.forward(&indices).to_array(), expected);
    let transposed = embedding.forward(&indices.reversed_axes()).to_array();
    assert_eq!(transposed[[0, 1, 0]], 3.0);
    assert_eq!(embedding.forward(&[][..]).shape(), [0, 2]);
    assert_eq!(
        embedding.forward(&array![[]] as &Array2<usize>).shape(),
        [1, 0, 2]
    );
}

#[test]
fn functions_with_options_use_them() {
    let x = Tensor::from(array![-2.0, 0.0, 3.0]);
    assert_eq!(
        LeakyRelu::new(0.1).forward(&x).to_array(),
        array![-0.2, 0.0, 3.0]
    );
    let elu = array![2.0 * ((-2.0_f64).exp() - 1.0), 0.0, 3.0];
    assert_close(&Elu::new(2.0).forward(&x).to_array(), &elu);
    let softplus = x.to_array().mapv(|x| (1.0 + (0.5 * x).exp()).ln() / 0.5);
    assert_close(&Softplus::new(0.5).forward(&x).to_array(), &softplus);
    let x = tensor((2, 3, 2), 1);
    for axis in 0..3 {
        let sums = Softmax::new(axis)
            .forward(&x)
            .sum_axis(pullback::ndarray::Axis(axis));
        assert!(sums.view().iter().all(|sum| (sum - 1.0).abs() < 1e-12));
    }
}

#[test]
fn examples_become_rows() {
    let x = tensor((2, 3, 1, 2), 1);
    let rows = Flatten.forward(&x).to_array();
    assert_eq!(rows, x.to_array().into_shape_with_order((2, 6)).unwrap());
    assert_eq!(Flatten.forward(&tensor(4, 1)).shape(), [4, 1]);
    assert_eq!(Flatten.forward(&tensor((0, 3, 2), 1)).shape(), [0, 6]);
}

#[test]
fn windows_lie_as_pytorchs() {
    let x = Tensor::from(Array4::from_shape_fn((1, 1, 4, 4), |(_, _, i, j)| {
        (4 * i + j) as f64
    }));
    let largest = MaxPool2d::new(2).forward(&x).to_array();
    assert_eq!(largest, array![[[[5.0, 7.0], [13.0, 15.0]]]]);
    let largest = MaxPool2d::new(3)
        .stride(2)
        .padding(1)
        .forward(&x)
        .to_array();
    assert_eq!(largest, array![[[[5.0, 7.0], [13.0, 15.0]]]]);
    // Zeros around the image count.
    let means = AvgPool2d::new(2).padding(1).forward(&x).to_array();
    let expected = array![[0.0, 0.75, 0.75], [3.0, 7.5, 4.5], [3.0, 6.75, 3.75]];
    assert_eq!(
        means
            .index_axis_move(pullback::ndarray::Axis(0), 0)
            .into_shape_with_order((3, 3))
            .unwrap(),
        expected
    );
    let rectangles = MaxPool2d::new([1, 4]).stride([2, 1]).forward(&x).to_array();
    assert_eq!(rectangles, array![[[[3.0], [11.0]]]]);
}

#[test]
fn dropout_leaves_out_in_training_only() {
    let mut dropout = Dropout::new(0.25, &mut generator());
    let x = Tensor::from(Array1::<f64>::ones(10_000));
    let y = dropout.forward(&x).to_array();
    let left_out = y.iter().filter(|&&y| y == 0.0).count();
    assert!((2300..2700).contains(&left_out), "{left_out}");
    assert!(y.iter().all(|&y| y == 0.0 || y == 1.0 / 0.75));
    assert_eq!(dropout.calls(), 1);
    dropout.eval();
    assert_eq!(dropout.forward(&x).to_array(), x.to_array());
    assert_eq!(dropout.calls(), 1);
    dropout.train();
    assert_ne!(dropout.forward(&x).to_array(), y);
    assert_eq!(Dropout::seeded(0.0, 1).forward(&x).to_array(), x.to_array());
    assert_eq!(Dropout::seeded(1.0, 1).forward(&x).sum().item(), 0.0);
}
