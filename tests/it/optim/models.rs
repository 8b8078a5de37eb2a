//! The parameters that a step updates, each with the settings of its group.

use pullback::ndarray::{Ix1, array};
use pullback::nn::{AnyParameter, Borrowed};
use pullback::optim::{Adam, Optimizer, Sgd};
use pullback::prelude::*;

type Vector = Parameter<f64, Ix1>;

fn vector(value: f64) -> Vector {
    Parameter::new(array![value])
}

#[test]
fn parameters_without_gradient_stay_with_what_is_saved_for_them() {
    let mut model = vec![vector(1.0), vector(1.0)];
    let mut optimizer = Sgd::new(1.0).momentum(0.5).weight_decay(0.1);
    for parameter in &model {
        parameter.set_grad(array![1.0]);
    }
    optimizer.step(&mut model);
    let after = model[1].item();
    model[1].zero_grad();
    optimizer.step(&mut model);
    optimizer.step(&mut model);
    assert_eq!(model[1].item(), after);
    // The momentum is that of the first step.
    model[1].set_grad(array![1.0]);
    optimizer.step(&mut model);
    let first = 1.0 + 0.1 * 1.0;
    assert_eq!(after, 1.0 - first);
    let second = 0.5 * first + 1.0 + 0.1 * after;
    assert!((model[1].item() - (after - second)).abs() < 1e-15);
}

#[test]
fn frozen_parameters_stay() {
    let mut model = vec![vector(1.0), vector(1.0)];
    let mut optimizer = Adam::new(0.1);
    for parameter in &model {
        parameter.set_grad(array![1.0]);
    }
    model[0].set_requires_grad(false);
    optimizer.step(&mut model);
    assert_eq!(model[0].item(), 1.0);
    assert!(model[1].item() < 1.0);
    // After thawing, it is updated like a new one.
    model[0].set_requires_grad(true);
    model[0].set_grad(array![-3.0]);
    optimizer.step(&mut model);
    assert!((model[0].item() - 1.1).abs() < 1e-9);
}

#[test]
fn tied_parameters_are_updated_once() {
    let first = vector(1.0);
    let mut model = vec![first.clone(), vector(5.0), first];
    let mut optimizer = Sgd::new(0.1).momentum(0.9);
    for _ in 0..3 {
        model[0].set_grad(array![1.0]);
        optimizer.step(&mut model);
        assert_eq!(model[0].item(), model[2].item());
    }
    assert!((model[0].item() - (1.0 - 0.1 * (1.0 + 1.9 + 2.71))).abs() < 1e-15);
    assert_eq!(model[1].item(), 5.0);
    let state = optimizer.state_dict();
    let names: Vec<&str> = state.names().collect();
    assert_eq!(names, ["0.momentum_buffer", "0.step", "learning_rate"]);
}

#[test]
fn a_graph_from_before_a_step_goes_on_with_its_values() -> Result<(), pullback::Error> {
    let mut w = vector(3.0);
    let y = w.square().sum();
    w.set_grad(array![1.0]);
    Sgd::new(1.0).step(&mut w);
    w.zero_grad();
    y.backward()?;
    assert_eq!((w.item(), w.grad()), (2.0, Some(array![6.0])));
    Ok(())
}

#[test]
fn groups_have_settings_of_their_own() {
    let mut model = vec![(vector(1.0), vector(1.0)), (vector(1.0), vector(1.0))];
    for (weight, bias) in &model {
        weight.set_grad(array![1.0]);
        bias.set_grad(array![1.0]);
    }
    let mut optimizer = Sgd::new(0.5)
        .weight_decay(1.0)
        .param_group(|path| path.ends_with(".1"), |group| group.weight_decay(0.0))
        // "1.1" belongs to the group above.
        .param_group(|path| path.starts_with("1."), |group| group.lr_scale(0.5));
    let after = |w: f64, rate: f64, decay: f64| w - rate * (1.0 + decay * w);
    optimizer.step(&mut model);
    assert_eq!(model[0].0.item(), after(1.0, 0.5, 1.0));
    assert_eq!(model[0].1.item(), after(1.0, 0.5, 0.0));
    assert_eq!(model[1].0.item(), after(1.0, 0.25, 1.0));
    assert_eq!(model[1].1.item(), after(1.0, 0.5, 0.0));
    // A schedule scales the rates of all groups.
    let before = model[1].0.item();
    optimizer.set_learning_rate(0.05);
    optimizer.step(&mut model);
    assert_eq!(model[1].0.item(), after(before, 0.025, 1.0));
}

#[test]
fn a_group_may_be_another_optimizer_of_the_kind() {
    let mut model = vec![vector(0.0), vector(0.0)];
    let mut optimizer =
        Sgd::new(0.5).param_group(|path| path == "1", |_| Sgd::new(0.25).momentum(0.9));
    for _ in 0..2 {
        for parameter in &model {
            parameter.set_grad(array![1.0]);
        }
        optimizer.step(&mut model);
        optimizer.set_learning_rate(1.0);
    }
    assert_eq!(model[0].item(), -0.5 - 1.0);
    assert_eq!(model[1].item(), -0.25 - 0.5 * 1.9);
}

#[test]
fn optimizers_without_their_type_step_what_has_none_either() {
    let (mut a, mut b) = (vector(1.0), vec![vector(1.0)]);
    a.set_grad(array![1.0]);
    b[0].set_grad(array![1.0]);
    let mut optimizers: Vec<Box<dyn Optimizer>> =
        vec![Box::new(Sgd::new(0.5)), Box::new(Adam::new(0.5).eps(0.0))];
    for optimizer in &mut optimizers {
        optimizer.step(&mut (Borrowed(&mut a), Borrowed(&mut b[..])));
    }
    assert_eq!((a.item(), b[0].item()), (0.0, 0.0));
}

#[derive(Module)]
struct Layer {
    weight: Vector,
    bias: Option<Vector>,
}

#[derive(Module)]
struct Net {
    layers: Vec<Layer>,
    head: Layer,
}

#[test]
fn modules_are_known_by_the_names_of_their_fields() -> Result<(), pullback::Error> {
    let layer = || Layer {
        weight: vector(1.0),
        bias: Some(vector(1.0)),
    };
    let mut net = Net {
        layers: vec![layer(), layer()],
        head: Layer {
            bias: None,
            ..layer()
        },
    };
    net.layers[1].requires_grad(false);
    let mut optimizer = Sgd::new(0.5)
        .momentum(0.9)
        .param_group(|path| path.ends_with("bias"), |group| group.momentum(0.0))
        .param_group(
            |path| path.starts_with("head."),
            |group| group.lr_scale(0.5),
        );
    let parameters = net.parameters().into_iter();
    assert_eq!(parameters.map(AnyParameter::len).sum::<usize>(), 5);
    for _ in 0..2 {
        net.zero_grad();
        let [first, second] = &net.layers[..] else {
            unreachable!("two layers")
        };
        let biases = [first, second].map(|layer| layer.bias.as_deref().unwrap().sum());
        let [a, b] = biases;
        let loss = first.weight.sum() + second.weight.sum() + net.head.weight.sum() + a + b;
        loss.backward()?;
        optimizer.step(&mut net);
    }
    let values = |layer: &Layer| {
        (
            layer.weight.item(),
            layer.bias.as_ref().map(|bias| bias.item()),
        )
    };
    assert_eq!(values(&net.layers[0]), (1.0 - 0.5 - 0.5 * 1.9, Some(0.0)));
    assert_eq!(values(&net.layers[1]), (1.0, Some(1.0)));
    assert_eq!(values(&net.head), (1.0 - 0.25 - 0.25 * 1.9, None));
    let state = optimizer.state_dict();
    let names: Vec<&str> = state.names().collect();
    assert_eq!(
        names,
        [
            "head.weight.momentum_buffer",
            "head.weight.step",
            "layers.0.bias.step",
            "layers.0.weight.momentum_buffer",
            "layers.0.weight.step",
            "learning_rate",
        ]
    );
    // A `dyn Module` is updated too.
    let mut boxed: Box<dyn Module> = Box::new(net);
    optimizer.step(&mut boxed);
    Ok(())
}

#[test]
fn an_optimizer_shows_its_settings() {
    let optimizer = Adam::new(0.5).param_group(|_| true, |group| group.weight_decay(0.25));
    let shown = format!("{optimizer:?}");
    assert!(
        shown.contains("rate: 0.5") && shown.contains("weight_decay: 0.25"),
        "{shown}"
    );
}
