//! A layer of burn that uses a function of pullback, trained by burn's optimizers beside burn's own layer.

use burn::module::{Module, Param};
use burn::nn::{Linear, LinearConfig};
use burn::optim::momentum::MomentumConfig;
use burn::optim::{AdamConfig, GradientsParams, ModuleOptimizer, SgdConfig};
use burn::tensor::{DType, Device, Tensor, activation};
use pullback::{Tensor1, Tensor2};
use pullback_burn::apply;
use pullback_fixtures::linear;

use super::{Random, assert_close, devices};

/// Two layers; burn's weights have a row for each input.
#[derive(Module, Debug)]
struct Perceptron {
    first: Layer,
    second: Layer,
}

#[derive(Module, Debug)]
struct Layer {
    weight: Param<Tensor<2>>,
    bias: Param<Tensor<1>>,
}

impl Layer {
    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        apply(
            |(x, w, b): (&Tensor2<f32>, &Tensor2<f32>, &Tensor1<f32>)| linear(x, w, Some(b)),
            (x, self.weight.val(), self.bias.val()),
        )
    }
}

impl Perceptron {
    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        self.second.forward(activation::tanh(self.first.forward(x)))
    }
}

#[derive(Module, Debug)]
struct OfBurn {
    first: Linear,
    second: Linear,
}

impl OfBurn {
    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        self.second.forward(activation::tanh(self.first.forward(x)))
    }
}

/// Returns both models with equal weights.
fn models(device: &Device) -> (Perceptron, OfBurn) {
    let mut random = Random(10);
    let mut layer = |inputs: usize, outputs: usize| {
        let weight = random.tensor([outputs, inputs], DType::F32, device);
        let bias = random.tensor([outputs], DType::F32, device);
        let mut of_burn = LinearConfig::new(inputs, outputs).init(device);
        of_burn.weight = Param::from_tensor(weight.clone().transpose());
        of_burn.bias = Some(Param::from_tensor(bias.clone()));
        let layer = Layer {
            weight: Param::from_tensor(weight),
            bias: Param::from_tensor(bias),
        };
        (layer, of_burn)
    };
    let (first, second) = (layer(3, 8), layer(8, 2));
    let ours = Perceptron {
        first: first.0,
        second: second.0,
    };
    let burns = OfBurn {
        first: first.1,
        second: second.1,
    };
    (ours, burns)
}

/// The losses of 40 steps, and the model.
fn train<M: Module>(
    mut model: M,
    forward: impl Fn(&M, Tensor<2>) -> Tensor<2>,
    mut optimizer: ModuleOptimizer,
    device: &Device,
) -> (Vec<f32>, M) {
    let mut random = Random(11);
    let x = random.tensor([16, 3], DType::F32, device);
    let target = random.tensor([16, 2], DType::F32, device);
    let losses = (0..40).map(|_| {
        let loss = (forward(&model, x.clone()) - target.clone())
            .powi_scalar(2)
            .mean();
        let grads = GradientsParams::from_grads(loss.backward(), &model);
        model = optimizer.step(0.02, model.clone(), grads);
        loss.into_scalar::<f32>()
    });
    (losses.collect(), model)
}

fn same_losses(optimizer: impl Fn() -> ModuleOptimizer) {
    for device in devices() {
        let (ours, burns) = models(&device);
        let (found, trained) = train(ours, Perceptron::forward, optimizer(), &device);
        let (expected, of_burn) = train(burns, OfBurn::forward, optimizer(), &device);
        assert!(found[39] < found[0] * 0.8, "{found:?}");
        for (found, expected) in found.iter().zip(&expected) {
            assert!(
                (found - expected).abs() < 1e-5 * expected,
                "{found}, where burn has {expected}"
            );
        }

        // Without autodiff, on the same numbers.
        let x = Random(12).tensor([5, 3], DType::F32, &device);
        let valid = trained.valid();
        let y = valid.forward(x.clone().inner());
        assert!(!y.is_autodiff());
        assert_close(y.clone(), trained.forward(x.clone()).inner());
        assert_close(y, of_burn.valid().forward(x.inner()));
        // And back.
        assert!(valid.train().first.weight.val().is_require_grad());
    }
}

#[test]
fn sgd_has_the_losses_of_burns_layer() {
    let momentum = MomentumConfig::new().with_momentum(0.9);
    same_losses(|| {
        SgdConfig::new()
            .with_momentum(Some(momentum.clone()))
            .init()
    });
}

#[test]
fn adam_has_the_losses_of_burns_layer() {
    same_losses(|| AdamConfig::new().init());
}

#[test]
fn a_frozen_parameter_stays() {
    for device in devices() {
        let (mut model, _) = models(&device);
        model.first = model.first.no_grad();
        let before = model.clone();
        let (_, after) = train(model, Perceptron::forward, SgdConfig::new().init(), &device);
        assert_close(
            after.first.weight.val().inner(),
            before.first.weight.val().inner(),
        );
        let change = after.second.weight.val().inner() - before.second.weight.val().inner();
        assert!(change.abs().sum().into_scalar::<f32>() > 0.01);
    }
}
