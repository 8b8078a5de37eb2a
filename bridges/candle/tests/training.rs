//! A network of candle's that trains through the bridge as it does with candle's own operations.

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::{AdamW, Optimizer, ParamsAdamW, SGD, VarBuilder, VarMap};
use pullback::prelude::*;
use pullback_fixtures::linear;

type Layer = fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor>;

fn through_the_bridge(x: &Tensor, weight: &Tensor, bias: &Tensor) -> Result<Tensor> {
    let function = |(x, w, b): (&Tensor2<f32>, &Tensor2<f32>, &Tensor1<f32>)| linear(x, w, Some(b));
    pullback_candle::apply(function, (x, weight, bias))
}

fn of_candle(x: &Tensor, weight: &Tensor, bias: &Tensor) -> Result<Tensor> {
    x.matmul(&weight.t()?)?.broadcast_add(bias)
}

fn losses<O: Optimizer>(
    layer: Layer,
    steps: usize,
    optimizer: impl FnOnce(&VarMap) -> Result<O>,
) -> Result<Vec<f32>> {
    let device = Device::Cpu;
    let mut variables = VarMap::new();
    let builder = VarBuilder::from_varmap(&variables, DType::F32, &device);
    let names = [
        ("w1", vec![8, 2]),
        ("b1", vec![8]),
        ("w2", vec![1, 8]),
        ("b2", vec![1]),
    ];
    let mut parameters = Vec::new();
    for (name, shape) in names {
        parameters.push(builder.get(shape.clone(), name)?);
        // Equal first values for both.
        let count: usize = shape.iter().product();
        let start: Vec<f32> = (0..count)
            .map(|i| ((i * 7 + 3) as f32).sin() * 0.5)
            .collect();
        variables.set_one(name, Tensor::from_vec(start, shape, &device)?)?;
    }
    let points = (0..32).flat_map(|i| [(i as f32 * 0.7).sin(), (i as f32 * 1.3).cos()]);
    let x = Tensor::from_vec(points.collect::<Vec<f32>>(), (32, 2), &device)?;
    let target = (x.narrow(1, 0, 1)?.tanh()? - x.narrow(1, 1, 1)?)?;
    let mut optimizer = optimizer(&variables)?;
    let mut losses = Vec::new();
    for _ in 0..steps {
        let hidden = layer(&x, &parameters[0], &parameters[1])?.tanh()?;
        let y = layer(&hidden, &parameters[2], &parameters[3])?;
        let loss = candle_nn::loss::mse(&y, &target)?;
        optimizer.backward_step(&loss)?;
        losses.push(loss.to_scalar()?);
    }
    Ok(losses)
}

#[track_caller]
fn assert_same_and_falling(ours: &[f32], theirs: &[f32]) {
    for (ours, theirs) in ours.iter().zip(theirs) {
        assert!(
            (ours - theirs).abs() < 1e-4 * (1.0 + theirs),
            "{ours} instead of {theirs}"
        );
    }
    assert!(ours[ours.len() - 1] < 0.1 * ours[0], "{ours:?}");
}

#[test]
fn sgd_on_a_var_map() -> Result<()> {
    let run = |layer| losses(layer, 200, |variables| SGD::new(variables.all_vars(), 0.1));
    assert_same_and_falling(&run(through_the_bridge)?, &run(of_candle)?);
    Ok(())
}

#[test]
fn adamw_on_a_var_map() -> Result<()> {
    let parameters = || ParamsAdamW {
        lr: 0.02,
        ..ParamsAdamW::default()
    };
    let run = |layer| {
        losses(layer, 100, |variables| {
            AdamW::new(variables.all_vars(), parameters())
        })
    };
    assert_same_and_falling(&run(through_the_bridge)?, &run(of_candle)?);
    Ok(())
}
