//! Residuals against JAX's `custom_root`: solutions, gradients and second derivatives of `tests/golden/custom_root.json`.

use pullback::ndarray::ArrayD;
use pullback::prelude::*;
use serde_json::Value;

use super::cases::Quadratic;
use super::known::{Equilibrium, Kepler, SteadyState, Sylvester};
use crate::golden::{agree, field, ranked};

fn solution(name: &str, x: &[TensorD<f64>]) -> TensorD<f64> {
    match name {
        "kepler" => Kepler::apply(&ranked(&x[0]), &ranked(&x[1])).into_dyn(),
        "sylvester" => Sylvester::apply(&ranked(&x[0]), &ranked(&x[1]), &ranked(&x[2])).into_dyn(),
        "steady_state" => {
            let state = SteadyState::apply(&ranked(&x[0]), &ranked(&x[1]), 0.4);
            state.expect("a state").into_dyn()
        }
        "equilibrium" => Equilibrium::apply(&ranked(&x[0]), &ranked(&x[1])).into_dyn(),
        "quadratic" => {
            let inputs = (
                &ranked(&x[0]),
                &ranked(&x[1]),
                &ranked(&x[2]),
                &ranked(&x[3]),
            );
            let (q, c, a, b) = inputs;
            Quadratic::apply(q, c, a, b).expect("an optimum").into_dyn()
        }
        _ => panic!("no function for {name}"),
    }
}

fn check(case: &Value, name: &str) -> Result<(), String> {
    let inputs: Vec<ArrayD<f64>> = field(case, "inputs");
    let leaf = |input: &ArrayD<f64>| Tensor::from(input.clone()).set_requires_grad(true);
    let inputs: Vec<TensorD<f64>> = inputs.iter().map(leaf).collect();
    let output = solution(name, &inputs);
    agree(
        "the output",
        &output.to_array(),
        &field(case, "output"),
        1e-13,
    )?;
    let upstream: ArrayD<f64> = field(case, "upstream");
    let weighted = (output * Tensor::from(upstream)).sum();
    let leaves: Vec<&TensorD<f64>> = inputs.iter().collect();
    let first = Grad::of(&weighted).create_graph(true).run(&leaves[..]);
    let first = first.map_err(|error| error.to_string())?;
    let halves = first.iter().map(|gradient| gradient.square().sum() * 0.5);
    let again = halves.reduce(|sum, half| sum + half).expect("an input");
    let second = grad(&again, &leaves[..]).map_err(|error| error.to_string())?;
    for (found, key) in [(first, "grads"), (second, "second")] {
        let expected = case[key].as_array().expect("a list").iter();
        for (place, (found, expected)) in found.iter().zip(expected).enumerate() {
            let expected = serde_json::json!({ "it": expected });
            let what = format!("entry {place} of `{key}`");
            agree(&what, &found.to_array(), &field(&expected, "it"), 1e-11)?;
        }
    }
    Ok(())
}

#[test]
fn derivatives_are_those_of_jax() {
    let file = include_str!("../../golden/custom_root.json");
    let file: Value = serde_json::from_str(file).expect("JSON");
    let cases = file.as_array().expect("a list");
    assert_eq!(cases.len(), 5);
    for case in cases {
        let name = case["name"].as_str().expect("a name");
        check(case, name).unwrap_or_else(|reason| panic!("{name}: {reason}"));
    }
}
