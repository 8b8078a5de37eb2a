//! Gradients of every layer, for inputs and parameters, in f64.

use pullback::ndarray::{Array, ArrayD, Dimension, IntoDimension, Ix1, Ix2, Ix3, Ix4};
use pullback::nn::{
    AvgPool2d, BatchNorm1d, BatchNorm2d, Conv1d, Conv2d, ConvTranspose2d, Dropout, Elu, Embedding,
    Flatten, Gelu, GeluTanh, GroupNorm, LayerNorm, LeakyRelu, Linear, MaxPool2d,
    MultiheadAttention, Relu, Sequential, Sigmoid, Silu, Softmax, Softplus, Tanh,
};
use pullback::prelude::*;

use super::{generator, gradcheck, panic_message, ranked, values};

fn input<S: IntoDimension>(shape: S) -> [ArrayD<f64>; 1] {
    [values(shape, 5).into_dyn()]
}

/// Checks a layer with one input.
#[track_caller]
fn check<D: Dimension + 'static, E: Dimension, M>(layer: M, shape: D)
where
    M: Module + for<'a> Forward<&'a Tensor<f64, D>, Output = Tensor<f64, E>>,
{
    gradcheck(layer, &[values(shape, 5).into_dyn()], |layer, inputs| {
        layer.forward(&ranked::<D>(&inputs[0])).into_dyn()
    });
}

/// The check of this file finds wrong gradients.
#[test]
fn what_is_wrong_is_found() {
    let forgets = |input: bool, weight: bool| {
        let linear = Linear::builder(3, 2).bias(false).build(&mut generator());
        panic_message(|| {
            gradcheck(linear, &[values((2, 3), 5).into_dyn()], |linear, inputs| {
                let x = ranked::<Ix2>(&inputs[0]);
                let x = if input { x.detach() } else { x };
                let known = linear.weight.detach();
                x.linear(if weight { &known } else { &linear.weight }, None)
                    .into_dyn()
            });
        })
    };
    assert!(forgets(true, false).contains("gradient"));
    assert!(forgets(false, true).contains("gradient"));
}

#[test]
fn of_linear_layers_of_every_rank() {
    let linear = || Linear::new(3, 2, &mut generator());
    check(linear(), Ix1(3));
    check(linear(), Ix2(2, 3));
    check(linear(), Ix3(2, 2, 3));
    check(linear(), Ix4(1, 2, 2, 3));
    check(
        Linear::builder(3, 2).bias(false).build(&mut generator()),
        Ix2(2, 3),
    );
}

#[test]
fn of_convolutions() {
    let conv = Conv1d::builder(2, 4, 2)
        .stride(2)
        .padding(1)
        .groups(2)
        .build(&mut generator());
    check(conv, Ix3(2, 2, 4));
    let conv = Conv2d::builder(2, 2, [2, 3])
        .dilation([2, 1])
        .bias(false)
        .build(&mut generator());
    check(conv, Ix4(1, 2, 4, 3));
    let builder = ConvTranspose2d::builder(2, 2, 2)
        .stride(2)
        .output_padding([1, 0])
        .groups(2);
    check(builder.build(&mut generator()), Ix4(1, 2, 2, 2));
}

#[test]
fn of_normalization() {
    check(BatchNorm1d::new(2), Ix2(3, 2));
    check(BatchNorm1d::new(2).affine(false), Ix3(2, 2, 2));
    check(BatchNorm2d::new(2), Ix4(2, 2, 1, 2));
    let mut evaluated = BatchNorm2d::new(2);
    evaluated.eval();
    check(evaluated, Ix4(1, 2, 1, 2));
    check(LayerNorm::new(3), Ix2(2, 3));
    check(LayerNorm::<f64, _>::new((2, 2)), Ix3(2, 2, 2));
    check(LayerNorm::new(3).elementwise_affine(false), Ix3(1, 2, 3));
    check(GroupNorm::new(2, 4), Ix3(1, 4, 2));
}

#[test]
fn of_functions_without_parameters() {
    let shape = Ix2(2, 3);
    check(Relu, shape);
    check(Gelu, shape);
    check(GeluTanh, shape);
    check(Silu, shape);
    check(Sigmoid, shape);
    check(Tanh, shape);
    check(LeakyRelu::new(0.3), shape);
    check(Elu::new(1.5), shape);
    check(Softplus::new(2.0), shape);
    check(Softmax::new(0), shape);
    check(Flatten, Ix3(2, 2, 2));
    check(MaxPool2d::new(2).stride(1), Ix4(1, 2, 3, 3));
    check(AvgPool2d::new([2, 3]).padding(1), Ix4(1, 1, 3, 3));
}

#[test]
fn of_dropout() {
    let dropout = Dropout::seeded(0.4, 9);
    gradcheck(dropout, &input((3, 4)), |dropout, inputs| {
        dropout.set_calls(0); // the same elements each time
        dropout.forward(&inputs[0])
    });
}

#[test]
fn of_embeddings() {
    let embedding = Embedding::new(4, 2, &mut generator());
    gradcheck(embedding, &[], |layer, _| {
        layer.forward(&[2, 0, 2][..]).into_dyn()
    });
    let mut padded = Embedding::<f64>::builder(3, 2)
        .padding_idx(1)
        .build(&mut generator());
    assert!(padded.weight.view().row(1).iter().all(|&x| x == 0.0));
    padded.weight.set(Array::ones((3, 2)).view());
    padded
        .forward(&[1, 2][..])
        .sum()
        .backward()
        .expect("a pass");
    let expected = Array::from_shape_fn((3, 2), |(row, _)| f64::from(u8::from(row == 2)));
    assert_eq!(padded.weight.grad(), Some(expected));
}

#[test]
fn of_attention() {
    let attention = MultiheadAttention::builder(4, 2)
        .causal(true)
        .build(&mut generator());
    check(attention, Ix3(1, 3, 4));
    let dropped = MultiheadAttention::builder(2, 1).dropout(0.4).causal(true);
    let input = [values((1, 3, 2), 5).into_dyn()];
    gradcheck(dropped.build(&mut generator()), &input, |layer, inputs| {
        let dropout = layer.dropout.as_ref().expect("a dropout");
        dropout.set_calls(0); // the same keys each time
        layer.forward(&ranked::<Ix3>(&inputs[0])).into_dyn()
    });
    let crossing = MultiheadAttention::builder(2, 1)
        .kdim(3)
        .vdim(1)
        .build(&mut generator());
    let shapes = [(1, 2, 2), (1, 3, 3), (1, 3, 1)];
    let inputs = shapes.map(|shape| values(shape, 5).into_dyn());
    gradcheck(crossing, &inputs, |layer, inputs| {
        let [query, key, value] = [0, 1, 2].map(|place: usize| ranked::<Ix3>(&inputs[place]));
        layer.forward((&query, &key, &value)).into_dyn()
    });
}

#[test]
fn of_layers_one_after_the_other() {
    let mut generator = generator();
    let layers = Sequential::new((
        Conv2d::new(1, 2, 2, &mut generator),
        Tanh,
        Flatten,
        Linear::new(8, 2, &mut generator),
    ));
    check(layers, Ix4(1, 1, 3, 3));
}
