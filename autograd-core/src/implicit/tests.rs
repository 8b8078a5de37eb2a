//! Solutions of linearized equations, against differences.

use ndarray::{Array1, array};

use super::solve::ImplicitSolve;
use super::*;
use crate::engine::Grad;
use crate::gradcheck::{GENERATED, Gradcheck};
use crate::tensor::{Tensor, Tensor1};
use crate::thread::Scoped;

/// Three equations for a vector of two numbers and a number, with a vector of two parameters.
fn equations(unknowns: &[AnyTensor], inputs: &[Vec<AnyTensor>]) -> Vec<AnyTensor> {
    let [y, z] = [0, 1].map(|unknown| single_of(&unknowns[unknown..]));
    let a: Tensor1<f64> = single_of(&inputs[0]);
    let (y, z): (Tensor1<f64>, Tensor1<f64>) = (y, z);
    let first = y.powi(3) * 0.3 + &y * &a + z.sum() * y.sum() - a.square();
    let second = z.exp() * a.sum() + (y.square() * &a).sum() + &z * 3.0;
    vec![first.into(), second.into()]
}

/// Equations that contain a derivative.
fn of_energy(unknowns: &[AnyTensor], inputs: &[Vec<AnyTensor>]) -> Result<AnyTensor, Error> {
    let (y, a): (Tensor1<f64>, Tensor1<f64>) = (single_of(unknowns), single_of(&inputs[0]));
    let energy = (y.powi(4) * 0.25 + &y * &a + y.square() * y.sum()).sum();
    let slope = Grad::of(&energy).create_graph(true).run(&y)?;
    Ok(slope.into())
}

fn system(dense: usize) -> System {
    let call = ("Example", Location::caller());
    System::new(
        call,
        &["y", "z"],
        &[1],
        dense,
        (),
        |(), unknowns, inputs| Ok(equations(unknowns, inputs)),
    )
}

fn system_of_energy(dense: usize) -> System {
    let call = ("Energy", Location::caller());
    System::new(call, &["y"], &[1], dense, (), |(), unknowns, inputs| {
        Ok(vec![of_energy(unknowns, inputs)?])
    })
}

fn leaf(values: Array1<f64>) -> Tensor1<f64> {
    Tensor::from(values).set_requires_grad(true)
}

/// Checks solutions with a system, and with its transpose.
fn check(system: fn(usize) -> System, unknowns: &[Tensor1<f64>], nested: bool) {
    let b: Vec<_> = unknowns
        .iter()
        .map(|y| leaf(y.to_array().mapv(|y| 0.5 - y * y)))
        .collect();
    let inputs = [leaf(array![1.3, 0.7])];
    for (dense, transposed) in [(0, false), (0, true), (3, false), (3, true)] {
        let solve = |b: &[Tensor1<f64>], y: &[Tensor1<f64>], a: &[Tensor1<f64>]| {
            let [b, y, a] = [b, y, a].map(|list| -> Vec<TensorD<f64>> {
                list.iter().cloned().map(Tensor::into_dyn).collect()
            });
            ImplicitSolve::apply(&b, &y, &a, transposed, &system(dense)).unwrap()
        };
        let (second, forward) = (
            Gradcheck::new().second_order(),
            Gradcheck::new().forward_mode(),
        );
        // Nodes save no tangents, so there is no forward mode over the passes that some products are.
        let nested = (nested && !transposed).then(|| forward.second_order());
        for check in [second, forward].into_iter().chain(nested) {
            let checked = check.run(|(b, y, a)| solve(b, y, a), (&b, unknowns, &inputs));
            checked.unwrap_or_else(|error| panic!("{dense} {transposed}: {error}"));
        }
    }
}

#[test]
fn solutions_have_all_derivatives() {
    check(system, &[leaf(array![0.4, 0.9]), leaf(array![0.2])], true);
}

#[test]
fn equations_may_run_backward_passes() {
    check(system_of_energy, &[leaf(array![0.4, 0.9])], false);
}

#[test]
fn one_factorization_serves_all() {
    let system = system(3);
    let unknowns = [array![0.4, 0.9], array![0.2]].map(AnyTensor::from);
    let inputs = [AnyTensor::from(leaf(array![1.3, 0.7]))];
    let first: *const Linear = system.linear(&unknowns, &inputs).unwrap();
    let again: *const Linear = system.clone().linear(&unknowns, &inputs).unwrap();
    assert_eq!(first, again);
}

#[test]
fn generated_tests_find_outputs_that_are_no_solutions() {
    let unknowns = [array![0.4, 0.9], array![0.2]].map(AnyTensor::from);
    let inputs = [AnyTensor::from(array![1.3, 0.7])];
    assert!(system(3).linear(&unknowns, &inputs).is_ok());
    let _checking = Scoped::set(&GENERATED, true);
    for dense in [0, 3] {
        let error = system(dense).linear(&unknowns, &inputs).err().unwrap();
        let text = "the outputs of `Example` do not solve the equations of its residual: the residual of `z` is 3.8e0 at \
                    entry [0]";
        assert_eq!(error.message(), text);
    }
}
