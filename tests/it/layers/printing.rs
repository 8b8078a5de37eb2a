//! Printed layers have PyTorch's options.

use pullback::nn::{
    AvgPool2d, BatchNorm1d, BatchNorm2d, Conv1d, Conv2d, ConvTranspose2d, Dropout, Elu, Embedding,
    Flatten, Gelu, GroupNorm, LayerNorm, LeakyRelu, Linear, MaxPool2d, MultiheadAttention, Relu,
    Sequential, Softmax, Softplus,
};
use pullback::prelude::*;

use super::generator;

#[track_caller]
fn shows(module: &dyn Module, expected: &str) {
    assert_eq!(module.extra_repr(), expected, "{}", module.name());
}

#[test]
fn options_of_linear_layers_and_convolutions_are_pytorchs() {
    let g = &mut generator();
    shows(
        &Linear::<f32>::new(3, 2, g),
        "in_features=3, out_features=2, bias=True",
    );
    shows(
        &Conv1d::<f32>::new(4, 2, 3, g),
        "4, 2, kernel_size=(3,), stride=(1,)",
    );
    let conv = Conv2d::<f32>::builder(4, 2, [3, 5])
        .stride(2)
        .padding([1, 0])
        .dilation(2);
    let expected = "4, 2, kernel_size=(3, 5), stride=(2, 2), padding=(1, 0), dilation=(2, 2), \
                    groups=2, bias=False";
    shows(&conv.groups(2).bias(false).build(g), expected);
    let conv = ConvTranspose2d::<f32>::builder(4, 2, 3)
        .stride(2)
        .output_padding(1)
        .groups(2);
    let expected = "4, 2, kernel_size=(3, 3), stride=(2, 2), output_padding=(1, 1), groups=2";
    shows(&conv.build(g), expected);
    let table = Embedding::<f32>::builder(10, 3).padding_idx(0).build(g);
    shows(&table, "10, 3, padding_idx=0");
}

#[test]
fn options_of_normalization_are_pytorchs() {
    let norm = BatchNorm1d::<f32>::new(4).momentum(None);
    let expected = "4, eps=1e-5, momentum=None, affine=True, track_running_stats=True";
    shows(&norm, expected);
    let norm = BatchNorm2d::<f32>::new(4)
        .eps(0.001)
        .affine(false)
        .track_running_stats(false);
    let expected = "4, eps=0.001, momentum=0.1, affine=False, track_running_stats=False";
    shows(&norm, expected);
    let norm = LayerNorm::<f32, _>::new((4, 2));
    shows(&norm, "(4, 2), eps=1e-5, elementwise_affine=True");
    shows(&GroupNorm::<f32>::new(2, 4), "2, 4, eps=1e-5, affine=True");
    shows(&Dropout::seeded(0.5, 0), "p=0.5");
}

#[test]
fn options_of_networks_are_pytorchs() {
    let g = &mut generator();
    shows(
        &MultiheadAttention::<f32>::new(8, 2, g),
        "embed_dim=8, num_heads=2",
    );
    let crossing = MultiheadAttention::<f32>::builder(8, 2)
        .kdim(4)
        .causal(true)
        .build(g);
    shows(&crossing, "embed_dim=8, num_heads=2, kdim=4, causal=True");
}

#[test]
fn options_of_functions_are_pytorchs() {
    shows(&Relu, "");
    shows(&Gelu, "");
    shows(&Flatten, "");
    shows(&LeakyRelu::default(), "negative_slope=0.01");
    shows(&Elu::new(0.5), "alpha=0.5");
    shows(&Softplus::new(0.5), "beta=0.5");
    shows(&Softmax::new(1), "dim=1");
    let pool = MaxPool2d::new(2);
    shows(&pool, "kernel_size=(2, 2), stride=(2, 2), padding=(0, 0)");
    let pool = AvgPool2d::new(3).stride(1).padding(1);
    shows(&pool, "kernel_size=(3, 3), stride=(1, 1), padding=(1, 1)");
}

#[test]
fn a_model_is_a_tree() {
    let g = &mut generator();
    let model = Sequential::new((
        Conv2d::<f32>::new(1, 4, 3, g),
        Relu,
        Sequential::new((Flatten, Linear::<f32>::new(16, 10, g))),
        MultiheadAttention::<f32>::builder(4, 2)
            .bias(false)
            .build(g),
    ));
    let expected = "\
Sequential(
  (0): Conv2d(1, 4, kernel_size=(3, 3), stride=(1, 1), weight: [4, 1, 3, 3], bias: [4]) # 40 parameters
  (1): Relu()
  (2): Sequential(
    (0): Flatten()
    (1): Linear(in_features=16, out_features=10, bias=True, weight: [10, 16], bias: [10]) # 170 parameters
  ) # 170 parameters
  (3): MultiheadAttention(
    embed_dim=4, num_heads=2, in_proj_weight: [12, 4], q_proj_weight: None, k_proj_weight: None, v_proj_weight: None, in_proj_bias: None, dropout: None
    (out_proj): Linear(in_features=4, out_features=4, bias=False, weight: [4, 4], bias: None) # 16 parameters
  ) # 64 parameters
) # 274 parameters";
    assert_eq!(model.to_string(), expected);
}
