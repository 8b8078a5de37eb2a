//! Saving and loading of optimizers.

use pullback::ndarray::{Array1, Ix1, Ix2, arr0, array};
use pullback::nn::StateError;
use pullback::optim::{Adam, AdamW, Sgd};
use pullback::prelude::*;

use crate::state::bits;

type Model = Vec<(Parameter<f64, Ix2>, Parameter<f32, Ix1>)>;

fn model() -> Model {
    let layer = |value: f32| {
        let bias = Parameter::new(array![value, 1.0]);
        (
            Parameter::new(array![[f64::from(value), -1.0], [2.0, 0.5]]),
            bias,
        )
    };
    vec![layer(1.0), layer(-3.0)]
}

/// Trains with gradients that depend on the values and the step; the last parameter never has one.
fn train(model: &mut Model, optimizer: &mut dyn Optimizer, steps: std::ops::Range<u32>) {
    for step in steps {
        let shift = f64::from(step).cos();
        for (weight, bias) in &model[..] {
            weight.set_grad(weight.to_array().mapv(|w| w + shift));
            bias.set_grad(bias.to_array().mapv(|b| b * 0.5));
        }
        model[1].1.zero_grad();
        optimizer.step(model);
    }
}

fn values(model: &Model) -> Vec<f64> {
    let of_layer = |(weight, bias): &(Parameter<f64, Ix2>, Parameter<f32, Ix1>)| {
        let mut values: Vec<f64> = weight.view().iter().copied().collect();
        values.extend(bias.view().iter().map(|&b| f64::from(b)));
        values
    };
    model.iter().flat_map(of_layer).collect()
}

fn optimizers() -> Vec<Box<dyn Fn() -> Box<dyn Optimizer>>> {
    vec![
        Box::new(|| Box::new(Sgd::new(0.1))),
        Box::new(|| Box::new(Sgd::new(0.1).momentum(0.9).dampening(0.5))),
        Box::new(|| Box::new(Adam::new(0.1).amsgrad(true))),
        Box::new(|| {
            let plain = |group: AdamW| group.weight_decay(0.0).amsgrad(true);
            Box::new(AdamW::new(0.1).param_group(|path| path.ends_with(".1"), plain))
        }),
    ]
}

#[test]
fn what_was_saved_goes_on_as_if_it_had_never_stopped() {
    for make in optimizers() {
        let (mut whole, mut optimizer) = (model(), make());
        train(&mut whole, &mut *optimizer, 0..10);

        let (mut cut, mut optimizer) = (model(), make());
        train(&mut cut, &mut *optimizer, 0..4);
        optimizer.set_learning_rate(0.1);
        let state = optimizer.state_dict();

        // Loads into new optimizers and into optimizers of another model.
        for steps_before in [0, 3] {
            let mut resumed = make();
            train(&mut model(), &mut *resumed, 0..steps_before);
            resumed.set_learning_rate(7.0);
            let mut copy: Model = cut
                .iter()
                .map(|(w, b)| (Parameter::new(w.to_array()), Parameter::new(b.to_array())))
                .collect();
            resumed.load_state_dict(&copy, &state).unwrap();
            assert_eq!(resumed.learning_rate(), 0.1);
            train(&mut copy, &mut *resumed, 4..10);
            assert_eq!(values(&copy), values(&whole));
        }
    }
}

#[test]
fn states_are_named_by_path_and_kind() {
    let names = |optimizer: &dyn Optimizer| -> Vec<String> {
        let state = optimizer.state_dict();
        state.names().map(str::to_owned).collect()
    };
    let (mut model, mut optimizer) = (model(), Adam::new(0.1));
    assert_eq!(names(&optimizer), ["learning_rate"]);
    train(&mut model, &mut optimizer, 0..3);
    let wanted = ["0.0", "0.1", "1.0"]
        .map(|path| ["exp_avg", "exp_avg_sq", "step"].map(|kind| format!("{path}.{kind}")));
    let mut wanted = wanted.concat();
    wanted.push("learning_rate".to_owned());
    assert_eq!(names(&optimizer), wanted);

    let state = optimizer.state_dict();
    let step = state["0.0.step"].to_tensor::<f64>().unwrap();
    assert_eq!((step.shape(), step.item()), (&[][..], 3.0));
    assert_eq!(state["0.0.exp_avg"].shape(), [2, 2]);
    assert!(state["0.1.exp_avg"].to_tensor::<f32>().is_some());
    // The state is a copy, which later steps do not change.
    let before = state["0.0.exp_avg"].to_tensor::<f64>().unwrap().to_array();
    train(&mut model, &mut optimizer, 3..4);
    assert_eq!(
        state["0.0.exp_avg"].to_tensor::<f64>().unwrap().to_array(),
        before
    );

    // A single parameter has no path.
    let mut w = Parameter::new(array![1.0]);
    w.set_grad(array![1.0]);
    let mut optimizer = Sgd::new(0.1);
    optimizer.step(&mut w);
    assert_eq!(names(&optimizer), ["learning_rate", "step"]);
}

#[test]
fn all_that_does_not_fit_is_named_and_nothing_is_changed() {
    let (mut model, mut optimizer) = (model(), Adam::new(0.1));
    train(&mut model, &mut optimizer, 0..2);
    let good = optimizer.state_dict();
    let mut bad = good.clone();
    bad.insert("learning_rate", arr0(-1.0));
    bad.insert("0.0.step", arr0(1.5));
    bad.insert("0.0.exp_avg", Array1::<f64>::zeros(4));
    bad.remove("0.1.exp_avg_sq");
    bad.insert("0.1.exp_avg", Array1::<f64>::zeros(2));
    bad.insert("2.0.step", arr0(1.0));
    let error = optimizer.load_state_dict(&model, &bad).unwrap_err();
    let StateError::Keys { path, differences } = error else {
        panic!("{error}");
    };
    assert_eq!(path, None);
    let problems: Vec<String> = differences.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "`learning_rate` is -1, expected a finite number of at least 0",
            "`0.0.step` is 1.5, expected a whole number of at least 0",
            "`0.0.exp_avg` has shape [4], expected [2, 2]",
            "`0.1.exp_avg` has elements of f64, expected f32",
            "`0.1.exp_avg_sq` is missing, expected f32 of shape [2]",
            "`2.0.step` is unexpected, found f64 of shape []",
        ]
    );
    assert_eq!(bits(&optimizer.state_dict()), bits(&good));
    train(&mut model, &mut optimizer, 2..3);
}
