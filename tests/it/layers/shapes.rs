//! Inputs that do not fit are refused at the line of the caller, with the layer and the shapes. Edge cases of inputs.

use pullback::ndarray::Array2;
use pullback::nn::{
    AvgPool2d, BatchNorm1d, BatchNorm2d, Conv1d, Conv2d, ConvTranspose2d, Dropout, Embedding,
    GroupNorm, LayerNorm, Linear, MaxPool2d, MultiheadAttention, Relu, Sequential, Softmax,
    Softplus,
};
use pullback::prelude::*;

use super::{generator, panic_message, tensor};
use crate::functions::panic_of;

/// Asserts that the panic of a call contains `expected`.
#[track_caller]
fn says<R>(call: impl FnOnce() -> R, expected: &str) {
    let found = panic_message(call);
    assert!(
        found.contains(expected),
        "{found}\ndoes not say: {expected}"
    );
}

#[test]
fn layers_of_rows_name_themselves_and_the_shape() {
    let g = &mut generator();
    let layer = Linear::<f64>::new(3, 2, g);
    let expected = "Linear(in_features=3, out_features=2, bias=True) of a tensor of shape [4, 5]: \
                    its last length is not `in_features`";
    says(|| layer.forward(&tensor((4, 5), 1)), expected);
    let layer = Embedding::<f64>::new(3, 6, g);
    says(
        || layer.forward(&[0, 3][..]),
        "Embedding(3, 6): the index 3 is out of range for 3 rows",
    );
    let layer = Softmax::new(2);
    says(
        || layer.forward(&tensor((4, 3), 1)),
        "Softmax(dim=2) of a tensor of shape [4, 3]: the axis is out of range",
    );
}

#[test]
fn layers_of_images_name_themselves_and_the_shape() {
    let g = &mut generator();
    let layer = Conv1d::<f64>::new(3, 2, 1, g);
    let expected = "Conv1d(3, 2, kernel_size=(1,), stride=(1,)) of a tensor of shape [4, 5, 6]: \
                    its second length is not `in_channels`";
    says(|| layer.forward(&tensor((4, 5, 6), 1)), expected);
    let layer = Conv2d::<f64>::new(1, 2, 5, g);
    let expected = "conv2d of a tensor of shape [1, 1, 4, 4] with weights of shape [2, 1, 5, 5]";
    says(|| layer.forward(&tensor((1, 1, 4, 4), 1)), expected);
    let layer = ConvTranspose2d::<f64>::new(3, 2, 1, g);
    says(
        || layer.forward(&tensor((4, 5, 6, 6), 1)),
        "its second length is not `in_channels`",
    );
    let x = tensor((1, 1, 2, 2), 1);
    says(
        || MaxPool2d::new(3).forward(&x),
        "max_pool2d of a tensor of shape [1, 1, 2, 2]",
    );
    says(
        || AvgPool2d::new(0).forward(&x),
        "avg_pool2d of a tensor of shape [1, 1, 2, 2]",
    );
}

#[test]
fn normalization_names_itself_and_the_shape() {
    let layer = BatchNorm1d::<f64>::new(3);
    let expected = "of a tensor of shape [4, 2]: its second length is not `num_features`";
    says(|| layer.forward(&tensor((4, 2), 1)), expected);
    says(
        || layer.forward(&tensor((4, 3, 2, 2), 1)),
        "it has neither two axes nor three",
    );
    let layer = BatchNorm2d::<f64>::new(3);
    let expected = "of a tensor of shape [1, 3, 1, 1]: \
                    a channel of fewer than two elements has no variance to train with";
    says(|| layer.forward(&tensor((1, 3, 1, 1), 1)), expected);
    let layer = LayerNorm::<f64, _>::new((3, 2));
    let expected = "LayerNorm((3, 2), eps=1e-5, elementwise_affine=True) of a tensor of shape [3, 3]: \
                    its shape does not end with `normalized_shape`";
    says(|| layer.forward(&tensor((3, 3), 1)), expected);
    let layer = GroupNorm::<f64>::new(3, 6);
    says(
        || layer.forward(&tensor((3, 3), 1)),
        "its second length is not `num_channels`",
    );
}

#[test]
fn networks_name_themselves_and_the_shapes() {
    let g = &mut generator();
    let layer = MultiheadAttention::<f64>::new(4, 2, g);
    let expected = "of a tensor of shape [1, 2, 3]: its last length is not `embed_dim`, 4";
    says(|| layer.forward(&tensor((1, 2, 3), 1)), expected);
    let (x, y) = (tensor((1, 2, 4), 1), tensor((2, 2, 4), 1));
    says(
        || layer.forward((&x, &y, &y)),
        "keys have shape [2, 2, 4] and values [2, 2, 4]",
    );
}

#[test]
fn options_that_do_not_fit_are_refused_by_name() {
    let g = &mut generator();
    let conv = Conv2d::<f64>::builder(3, 4, 1).groups(2);
    says(|| conv.build(g), "Conv2d of 3 channels to 4 in 2 groups");
    let expected = "MultiheadAttention of length 4 with 3 heads";
    says(|| MultiheadAttention::<f64>::new(4, 3, g), expected);
    let table = Embedding::<f64>::builder(3, 1).padding_idx(3);
    says(
        || table.build(g),
        "Embedding of 3 rows: the padding index 3",
    );
    says(
        || GroupNorm::<f64>::new(0, 4),
        "GroupNorm of 4 channels in 0 groups",
    );
    says(
        || Dropout::seeded(1.5, 0),
        "Dropout with the probability 1.5",
    );
    says(
        || BatchNorm1d::<f64>::new(1).momentum(2.0),
        "BatchNorm1d with the momentum 2:",
    );
    says(
        || LayerNorm::<f64>::new(1).eps(f64::NAN),
        "LayerNorm with the eps NaN",
    );
    says(|| LayerNorm::<f64, _>::new(()), "LayerNorm over no axes");
    says(|| Softplus::new(0.0), "Softplus with the beta 0");
}

/// Returns the line of this file at which `run` panics.
fn line_of_panic<R>(run: impl FnOnce() -> R) -> u32 {
    let (_, file, line) = panic_of(run);
    assert_eq!(file, file!());
    line
}

#[test]
fn the_place_is_the_callers() {
    let x = tensor((4, 5), 1);
    let linear = Linear::<f64>::new(3, 2, &mut generator());
    assert_eq!(line_of_panic(|| linear.forward(&x)), line!());
    let sequence = Sequential::new((Relu, linear));
    assert_eq!(line_of_panic(|| sequence.forward(&x)), line!());
    let (pool, x) = (MaxPool2d::new(3), tensor((1, 1, 2, 2), 1));
    assert_eq!(line_of_panic(|| pool.forward(&x)), line!());
}

#[test]
fn a_node_knows_the_line_of_the_layers_call() {
    let linear = Linear::<f64>::new(3, 2, &mut generator());
    let y = linear.forward(&tensor((1, 3), 1));
    let line = line!() - 1;
    let node = format!("{:?}", y.grad_fn().expect("a node").applied_at());
    assert!(
        node.contains("shapes.rs") && node.contains(&line.to_string()),
        "{node}"
    );
}

#[test]
fn one_example_and_none_are_batches() {
    let g = &mut generator();
    let linear = Linear::<f64>::new(3, 2, g);
    let conv = Conv2d::<f64>::new(1, 2, 2, g);
    for batch in [0, 1] {
        let x = tensor((batch, 3), 1).set_requires_grad(true);
        let y = linear.forward(&x);
        assert_eq!(y.shape(), [batch, 2]);
        y.sum().backward().expect("a pass");
        assert_eq!(x.grad().expect("a gradient").shape(), [batch, 3]);
        assert_eq!(
            conv.forward(&tensor((batch, 1, 3, 3), 1)).shape(),
            [batch, 2, 2, 2]
        );
        assert_eq!(LayerNorm::<f64>::new(3).forward(&x).shape(), [batch, 3]);
        assert_eq!(GroupNorm::<f64>::new(1, 3).forward(&x).shape(), [batch, 3]);
    }
    assert!(
        linear
            .weight
            .grad()
            .is_some_and(|grad| grad.shape() == [2, 3])
    );
    assert_eq!(
        Linear::<f64>::new(0, 2, g)
            .forward(&tensor((4, 0), 1))
            .shape(),
        [4, 2]
    );
    let none: Array2<f64> = Linear::<f64>::new(3, 0, g)
        .forward(&tensor((4, 3), 1))
        .to_array();
    assert_eq!(none.shape(), [4, 0]);
}
