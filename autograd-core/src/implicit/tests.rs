//! Solutions of linearized equations, against differences.

use ndarray::{Array1, array};

use super::*;
use crate::gradcheck::Gradcheck;
use crate::tensor::Tensor1;

/// Three equations for a vector of two numbers and a number, with a vector of two parameters.
fn equations(unknowns: &[TensorD<f64>], inputs: &[TensorD<f64>]) -> Vec<TensorD<f64>> {
    let (y, z, a) = (
        typed1(&unknowns[0]),
        typed1(&unknowns[1]),
        typed1(&inputs[0]),
    );
    let first = y.powi(3) * 0.3 + &y * &a + z.sum() * y.sum() - a.square();
    let second = z.exp() * a.sum() + (y.square() * &a).sum() + &z * 3.0;
    vec![first.into_dyn(), second.into_dyn()]
}

fn typed1(tensor: &TensorD<f64>) -> Tensor1<f64> {
    typed(tensor)
}

fn system(dense: usize) -> System<f64> {
    let at = Location::caller();
    System::new(
        ("Example", at),
        &["y", "z"],
        dense,
        (),
        |(), unknowns, inputs| Ok(equations(unknowns, inputs)),
    )
}

fn leaf(values: Array1<f64>) -> Tensor1<f64> {
    Tensor::from(values).set_requires_grad(true)
}

#[test]
fn solutions_have_all_derivatives() {
    let b = [leaf(array![0.3, -0.8]), leaf(array![1.1])];
    let unknowns = [leaf(array![0.4, 0.9]), leaf(array![0.2])];
    let inputs = [leaf(array![1.3, 0.7])];
    let all = Gradcheck::new().second_order().forward_mode();
    for dense in [0, 3] {
        for transposed in [false, true] {
            let solve = |b: &[Tensor1<f64>], y: &[Tensor1<f64>], a: &[Tensor1<f64>]| {
                let erased = |list: &[Tensor1<f64>]| -> Vec<TensorD<f64>> {
                    list.iter().cloned().map(Tensor::into_dyn).collect()
                };
                let solved = ImplicitSolve::apply(
                    &erased(b),
                    &erased(y),
                    &erased(a),
                    transposed,
                    &system(dense),
                );
                solved.unwrap()
            };
            let checks = if transposed {
                // Nodes save no tangents, so there is no forward mode over the pass that a product with the transpose
                // is.
                vec![
                    Gradcheck::new().second_order(),
                    Gradcheck::new().forward_mode(),
                ]
            } else {
                vec![all]
            };
            for check in checks {
                check
                    .run(|(b, y, a)| solve(b, y, a), (&b, &unknowns, &inputs))
                    .unwrap_or_else(|error| panic!("{dense} {transposed}: {error}"));
            }
        }
    }
}

/// Equations whose own derivative is part of them.
fn of_energy(
    unknowns: &[TensorD<f64>],
    inputs: &[TensorD<f64>],
) -> Result<Vec<TensorD<f64>>, Error> {
    let (y, a) = (typed1(&unknowns[0]), typed1(&inputs[0]));
    let energy = (y.powi(4) * 0.25 + &y * &a + y.square() * y.sum()).sum();
    let slope = crate::Grad::of(&energy).create_graph(true).run(&y)?;
    Ok(vec![slope.into_dyn()])
}

#[test]
fn equations_may_run_backward_passes() {
    let (b, y, a) = (
        leaf(array![0.3, -0.8]),
        leaf(array![0.4, 0.9]),
        leaf(array![1.3, 0.7]),
    );
    for dense in [0, 2] {
        for transposed in [false, true] {
            let solve = |(b, y, a): (&Tensor1<f64>, &Tensor1<f64>, &Tensor1<f64>)| {
                let system: System<f64> = System::new(
                    ("Energy", Location::caller()),
                    &["y"],
                    dense,
                    (),
                    |(), unknowns, inputs| Ok(of_energy(unknowns, inputs)?),
                );
                let erased = [b, y, a].map(|tensor| [tensor.clone().into_dyn()]);
                let [b, y, a] = &erased;
                ImplicitSolve::apply(b, y, a, transposed, &system).unwrap()
            };
            Gradcheck::new()
                .second_order()
                .run(solve, (&b, &y, &a))
                .unwrap();
            Gradcheck::new()
                .forward_mode()
                .run(solve, (&b, &y, &a))
                .unwrap();
        }
    }
}

#[test]
fn one_factorization_serves_all() {
    let system = system(3);
    let (y, a) = (
        [
            Tensor::from(array![0.4, 0.9]).into_dyn(),
            Tensor::from(array![0.2]).into_dyn(),
        ],
        [leaf(array![1.3, 0.7]).into_dyn()],
    );
    let (unknowns, inputs) = (any(&y), any(&a));
    let first: *const Linear = system.linear(&unknowns, &inputs).unwrap();
    let again: *const Linear = system.clone().linear(&unknowns, &inputs).unwrap();
    assert_eq!(first, again);
}
