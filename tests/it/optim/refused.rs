//! Errors of steps: another model, settings that make no sense, groups without parameters.

use pullback::ndarray::{Ix1, array};
use pullback::nn::AnyParameter;
use pullback::optim::{Adam, AdamW, Optimizer, Sgd};
use pullback::prelude::*;

use crate::functions::panic_of;

type Vector = Parameter<f64, Ix1>;

fn vector(value: f64) -> Vector {
    Parameter::new(array![value])
}

/// Returns the message of a panic, which must name a line of this file.
fn refused(body: impl FnOnce()) -> String {
    let (message, file, _) = panic_of(body);
    assert_eq!(file, file!());
    message
}

#[test]
fn another_model_is_refused_at_the_callers_line() {
    let step = |mut optimizer: Sgd, first: &mut Vec<Vector>, second: &mut Vec<Vector>| {
        optimizer.step(first);
        refused(move || optimizer.step(second))
    };
    let model = || vec![vector(1.0), vector(2.0)];
    let sgd = || Sgd::new(0.1);

    let mut first = model();
    let mut more = first.clone();
    more.push(vector(3.0));
    assert_eq!(
        step(sgd(), &mut first, &mut more),
        "step of another model: `2` of shape [1] was not in the previous step, which had 2 parameters"
    );
    let mut fewer = first[..1].to_vec();
    assert_eq!(
        step(sgd(), &mut first, &mut fewer),
        "step of another model: `1` of shape [1] is missing"
    );
    assert_eq!(
        step(sgd(), &mut first, &mut model()),
        "step of another model: `0` is not the parameter of the previous step"
    );
    let mut longer = vec![first[0].clone(), Parameter::new(array![1.0, 2.0])];
    assert_eq!(
        step(sgd(), &mut first, &mut longer),
        "step of another model: found `1` of shape [2] in place of `1` of shape [1]"
    );
}

#[test]
fn a_refused_step_changes_nothing() {
    let mut model = vec![vector(1.0), vector(2.0)];
    let mut optimizer = Sgd::new(0.1);
    optimizer.step(&mut model);
    model[0].set_grad(array![1.0]);
    let mut other = vec![model[0].clone(), vector(2.0)];
    refused(|| optimizer.step(&mut other));
    assert_eq!(other[0].item(), 1.0);
}

#[test]
fn settings_that_make_no_sense_are_refused_by_name() {
    let finite = |name: &str, value: &str| {
        format!("the {name} is {value}: a finite number of at least 0 is needed")
    };
    let share = |name: &str, value: &str| {
        format!("the {name} is {value}: a number of at least 0 and below 1 is needed")
    };
    assert_eq!(
        refused(|| drop(Sgd::new(-0.1))),
        finite("learning rate", "-0.1")
    );
    assert_eq!(
        refused(|| drop(Adam::new(f64::NAN))),
        finite("learning rate", "NaN")
    );
    assert_eq!(
        refused(|| Adam::new(0.1).set_learning_rate(f64::INFINITY)),
        finite("learning rate", "inf")
    );
    assert_eq!(
        refused(|| drop(Sgd::new(0.1).momentum(-1.0))),
        finite("momentum", "-1")
    );
    assert_eq!(
        refused(|| drop(AdamW::new(0.1).eps(-1.0))),
        finite("eps", "-1")
    );
    assert_eq!(
        refused(|| drop(AdamW::new(0.1).weight_decay(-2.0))),
        finite("weight decay", "-2")
    );
    assert_eq!(
        refused(|| drop(Adam::new(0.1).betas(1.0, 0.9))),
        share("first beta", "1")
    );
    assert_eq!(
        refused(|| drop(Adam::new(0.1).betas(0.9, -0.1))),
        share("second beta", "-0.1")
    );
    assert_eq!(
        refused(|| drop(Adam::new(0.1).betas(f64::NAN, 0.9))),
        share("first beta", "NaN")
    );
    assert_eq!(
        refused(|| drop(Sgd::new(0.1).param_group(|_| true, |group| group.dampening(-1.0)))),
        finite("dampening", "-1")
    );
    assert_eq!(
        refused(|| drop(Sgd::new(0.0).param_group(|_| true, |_| Sgd::new(1.0)))),
        "a group has the learning rate 1, but the optimizer's is 0: their ratio is undefined"
    );
    let nested = |group: Sgd| group.param_group(|_| true, |group| group);
    assert_eq!(
        refused(|| drop(Sgd::new(0.1).param_group(|_| true, nested))),
        "a group cannot have groups"
    );
}

#[test]
fn nesterov_without_momentum_is_refused_by_the_first_step() {
    let mut model = vec![vector(1.0)];
    let wanted =
        "nesterov needs momentum and no dampening, found a momentum of 0 and a dampening of 0";
    assert_eq!(
        refused(|| Sgd::new(0.1).nesterov(true).step(&mut model)),
        wanted
    );
    let in_group = Sgd::new(0.1).param_group(|_| true, |group| group.nesterov(true));
    assert_eq!(
        refused(|| {
            let mut optimizer = in_group;
            optimizer.step(&mut model);
        }),
        wanted
    );
}

#[test]
fn a_group_without_parameters_is_refused_by_the_first_step() {
    let model = || vec![vector(1.0), vector(2.0)];
    let refused_of = |mut optimizer: Sgd, model: &mut Vec<Vector>| {
        let text = refused(move || optimizer.step(model));
        let (before, after) = text.split_once(".rs:").expect("the group's line");
        let after = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':');
        format!("{before}.rs{after}")
    };
    let sgd = || Sgd::new(0.1);
    let slow = |group: Sgd| group.lr_scale(0.1);
    let start = "no parameter belongs to the group of tests/it/optim/refused.rs";
    assert_eq!(
        refused_of(sgd().param_group(|path| path == "2", slow), &mut model()),
        format!("{start} it matches none of the paths `0`, `1`")
    );
    assert_eq!(
        refused_of(sgd().param_group(|path| path == "2", slow), &mut vec![]),
        format!("{start} the model has no parameters")
    );
    let mut many: Vec<Vector> = (0..14).map(|_| vector(0.0)).collect();
    let text = refused_of(sgd().param_group(str::is_empty, slow), &mut many);
    assert!(text.ends_with("`10`, `11` and 2 more"), "{text}");
    let covered = sgd()
        .param_group(|_| true, slow)
        .param_group(|path| path == "1", slow);
    assert_eq!(
        refused_of(covered, &mut model()),
        format!("{start} `1` belongs to an earlier group")
    );
    let first = vector(1.0);
    let mut tied = vec![first.clone(), first];
    assert_eq!(
        refused_of(sgd().param_group(|path| path == "1", slow), &mut tied),
        format!("{start} `1` is tied to `0`, which decides the group")
    );
    // A state that is loaded is checked before anything is changed, too.
    assert_eq!(tied[0].item(), 1.0);
    let mut optimizer = sgd().param_group(|path| path == "2", slow);
    let state = optimizer.state_dict();
    refused(|| drop(optimizer.load_state_dict(&model(), &state)));
    // A frozen parameter counts, as it may be trained later.
    let mut frozen = model();
    frozen[1].set_requires_grad(false);
    sgd()
        .param_group(|path| path == "1", slow)
        .step(&mut frozen);
}
