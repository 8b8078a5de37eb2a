//! A network of `tch::nn` with functions of pullback in it.

use pullback::{Tensor1, Tensor2};
use pullback_fixtures::{linear, squash};
use pullback_tch::apply;
use tch::nn::{self, OptimizerConfig};
use tch::{Device, Kind, Tensor};

use crate::random;

/// The losses of 30 steps of Adam.
fn train(layer: impl Fn(&Tensor, &Tensor, &Tensor, &Tensor) -> Tensor) -> Vec<f64> {
    let store = nn::VarStore::new(Device::Cpu);
    let variable = |name: &str, seed, shape: &[i64]| {
        let mut variable = store.root().zeros(name, shape);
        tch::no_grad(|| variable.copy_(&random(seed, shape, Kind::Float)));
        variable
    };
    let weight = variable("weight", 1, &[8, 3]);
    let bias = variable("bias", 2, &[8]);
    let limit = variable("limit", 3, &[1, 8]);
    tch::no_grad(|| limit.shallow_clone().copy_(&(limit.abs() + 0.5)));
    let head = variable("head", 4, &[1, 8]);
    let mut optimizer = nn::Adam::default().build(&store, 0.02).unwrap();
    let (x, target) = (
        random(5, &[32, 3], Kind::Float),
        random(6, &[32, 1], Kind::Float),
    );
    (0..30)
        .map(|_| {
            let hidden = layer(&x, &weight, &bias, &limit);
            let loss = hidden
                .linear(&head, None::<&Tensor>)
                .mse_loss(&target, tch::Reduction::Mean);
            optimizer.backward_step(&loss);
            loss.double_value(&[])
        })
        .collect()
}

#[test]
fn losses_are_those_of_libtorch() {
    let expected = train(|x, weight, bias, limit| {
        let x = x.linear(weight, Some(bias));
        crate::squash_of_libtorch(&x, limit)
    });
    let found = train(|x, weight, bias, limit| {
        let layer = |(x, weight, bias): (&Tensor2<f32>, &Tensor2<f32>, &Tensor1<f32>)| {
            linear(x, weight, Some(bias))
        };
        let x = apply(layer, (x, weight, bias)).unwrap();
        let squash = |(x, limit): (&Tensor2<f32>, &Tensor2<f32>)| squash(x, limit);
        apply(squash, (&x, limit)).unwrap()
    });
    assert!(expected[29] < 0.5 * expected[0], "{expected:?}");
    for (found, expected) in found.iter().zip(&expected) {
        assert!((found - expected).abs() < 1e-4, "{found} and {expected}");
    }
}
