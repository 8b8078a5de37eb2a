//! L-BFGS.

use std::cell::Cell;

use pullback::ndarray::{Array1, Array2, Ix1, array, s};
use pullback::nn::{AnyParameter, Parameter};
use pullback::optim::Lbfgs;
use pullback::prelude::*;

type Vector = Parameter<f64, Ix1>;

fn rosenbrock(w: &Tensor1<f64>) -> Tensor0<f64> {
    let (left, right) = (w.slice(s![..-1]), w.slice(s![1..]));
    let valley = (&right - &left.square()).square() * 100.0;
    (valley + (&left - 1.0).square()).sum()
}

#[test]
fn rosenbrocks_valley_in_few_iterations() -> Result<(), pullback::Error> {
    for start in [array![-1.2, 1.0], array![-1.2, 1.0, -1.2, 1.0, -1.2, 1.0]] {
        let mut w = Parameter::new(start.clone());
        let count = Cell::new(0);
        let optimizer = Lbfgs::new(1.0).iterations(100).evaluations(1000);
        let mut optimizer = optimizer.tolerances(1e-12, 0.0);
        let first = optimizer.step(&mut w, |w| {
            count.set(count.get() + 1);
            Ok(rosenbrock(w))
        })?;
        assert!((first - rosenbrock(&Tensor::from(start)).item()).abs() < 1e-9);
        let off = (w.to_array() - 1.0).mapv(f64::abs).sum();
        assert!(off < 1e-10, "{off} away after {} evaluations", count.get());
        assert!(count.get() < 90, "{} evaluations", count.get());
    }
    Ok(())
}

/// Σ c (w − 1)² / 2 with couplings: no direction is an axis.
fn bowl(w: &Tensor1<f64>) -> Tensor0<f64> {
    let scale = Tensor::from(array![1.0, 3.0, 10.0, 30.0]);
    let off = w - 1.0;
    let pull = off.sum().square() * 0.25;
    ((&off * &off) * &scale).sum() * 0.5 + pull
}

/// The iterations, how often the loss was computed, and where that led, by a transliteration of PyTorch's
/// `lbfgs.py` into plain Python, with strong Wolfe line search.
type Figures<const N: usize> = [(u64, usize, [f64; N]); 3];

fn assert_figures<const N: usize>(
    start: [f64; N],
    figures: Figures<N>,
    loss: fn(&Tensor1<f64>) -> Tensor0<f64>,
) -> Result<(), pullback::Error> {
    for (iterations, evaluations, wanted) in figures {
        let mut w = Parameter::new(Array1::from(start.to_vec()));
        let mut count = 0;
        let mut optimizer = Lbfgs::new(1.0)
            .iterations(iterations)
            .evaluations(1000)
            .tolerances(1e-11, 0.0);
        optimizer.step(&mut w, |w| {
            count += 1;
            Ok(loss(w))
        })?;
        assert_eq!(count, evaluations);
        for (found, wanted) in w.view().iter().zip(wanted) {
            // The last digits are those of sums in another order.
            assert!(
                (found - wanted).abs() < 1e-9,
                "{found}, not {wanted}, after {iterations}"
            );
        }
    }
    Ok(())
}

#[test]
fn iterations_are_those_of_pytorch() -> Result<(), pullback::Error> {
    let valley = [
        (1, 3, [-1.024_531_930_346_032_5, 1.071_619_620_266_925_5]),
        (13, 17, [-0.256_089_576_896_642_7, 0.037_261_981_616_222_83]),
        (20, 26, [0.513_622_443_136_841, 0.255_815_281_031_851_97]),
    ];
    assert_figures([-1.2, 1.0], valley, rosenbrock)?;
    let bowls = [
        (
            2,
            3,
            [
                4.664_503_242_734_039,
                -2.103_281_289_797_211,
                1.313_566_148_548_290_8,
                1.159_174_749_275_354,
            ],
        ),
        (
            8,
            9,
            [
                0.992_805_596_665_879_8,
                1.004_186_004_133_034_4,
                1.006_243_879_610_742_7,
                0.993_827_464_396_177,
            ],
        ),
        (
            12,
            13,
            [
                1.000_001_717_673_717_3,
                0.999_998_862_388_884,
                0.999_999_723_303_262_8,
                1.000_000_139_426_793_7,
            ],
        ),
    ];
    assert_figures([5.0, -3.0, 2.0, 0.0], bowls, bowl)
}

#[test]
fn a_quadratic_in_few_iterations() -> Result<(), pullback::Error> {
    let mut w = Parameter::new(array![5.0, -3.0, 2.0, 0.0]);
    let mut optimizer = Lbfgs::new(1.0).tolerances(1e-11, 0.0);
    optimizer.step(&mut w, |w| Ok(bowl(w)))?;
    assert!(
        (w.to_array() - 1.0).iter().all(|off| off.abs() < 1e-10),
        "{w:?}"
    );
    // One dimension: the second iteration knows the curvature exactly.
    let mut w = Parameter::new(array![5.0]);
    let mut optimizer = Lbfgs::new(1.0)
        .iterations(2)
        .evaluations(9)
        .line_search(false);
    optimizer.step(&mut w, |w| Ok((&**w - 3.0).square().sum() * 2.0))?;
    assert!((w.item() - 3.0_f64).abs() < 1e-14);
    Ok(())
}

/// The gradient of [`bowl`].
fn bowl_gradient(w: &Array1<f64>) -> Array1<f64> {
    let off = w - 1.0;
    &off * &array![1.0, 3.0, 10.0, 30.0] + 0.5 * off.sum()
}

fn outer(a: &Array1<f64>, b: &Array1<f64>) -> Array2<f64> {
    Array2::from_shape_fn((a.len(), b.len()), |(i, j)| a[i] * b[j])
}

/// The inverse of the curvature as a matrix: the BFGS update for each pair, from a multiple of the identity.
fn inverse_curvature(pairs: &[(Array1<f64>, Array1<f64>)]) -> Array2<f64> {
    let Some((s, y)) = pairs.last() else {
        return Array2::eye(4);
    };
    let start = Array2::eye(4) * (s.dot(y) / y.dot(y));
    pairs.iter().fold(start, |h, (s, y)| {
        let rho = 1.0 / s.dot(y);
        let left = Array2::eye(4) - rho * outer(s, y);
        left.dot(&h).dot(&left.t()) + rho * outer(s, s)
    })
}

#[test]
fn directions_are_those_of_the_whole_matrix() -> Result<(), pullback::Error> {
    const RATE: f64 = 0.8;
    for (history, steps) in [(100, vec![6]), (2, vec![6]), (3, vec![1, 2, 3])] {
        let start = array![5.0, -3.0, 2.0, 0.0];
        let mut w = Parameter::new(start.clone());
        let mut optimizer = Lbfgs::new(RATE)
            .evaluations(1000)
            .history(history)
            .line_search(false);
        let count = Cell::new(0);
        for &iterations in &steps {
            optimizer = optimizer.iterations(iterations);
            optimizer.step(&mut w, |w| {
                count.set(count.get() + 1);
                Ok(bowl(w))
            })?;
        }
        // One evaluation before each iteration.
        assert_eq!(count.get(), 6);

        let mut x = start;
        let mut pairs: Vec<(Array1<f64>, Array1<f64>)> = vec![];
        for iteration in 0..6 {
            let g = bowl_gradient(&x);
            let used = &pairs[pairs.len().saturating_sub(history)..];
            let direction = -inverse_curvature(used).dot(&g);
            let length = if iteration == 0 {
                RATE * (1.0 / g.mapv(f64::abs).sum()).min(1.0)
            } else {
                RATE
            };
            let step = direction * length;
            let next = &x + &step;
            pairs.push((step, bowl_gradient(&next) - g));
            x = next;
        }
        for (found, wanted) in w.view().iter().zip(&x) {
            assert!(
                (found - wanted).abs() < 1e-9,
                "{found}, not {wanted}, with {history}"
            );
        }
    }
    Ok(())
}

#[test]
fn losses_that_are_no_number_are_too_far() -> Result<(), pullback::Error> {
    // w − ln w, from where the first trial is below 0.
    let mut w = Parameter::new(array![3.0]);
    let mut optimizer = Lbfgs::new(10.0).tolerances(1e-9, 0.0);
    let mut seen: Vec<f64> = vec![];
    for _ in 0..5 {
        optimizer.step(&mut w, |w| {
            let loss = (&**w - &w.ln()).sum();
            seen.push(loss.item());
            Ok(loss)
        })?;
    }
    assert!(seen.iter().any(|loss| loss.is_nan()));
    assert!((w.item() - 1.0_f64).abs() < 1e-6);
    // Where it begins with none, nothing is done.
    let mut w = Parameter::new(array![-1.0]);
    let first = optimizer_of(&mut w, |w| (&**w - &w.ln()).sum())?;
    assert!(first.is_nan() && w.item() == -1.0);
    Ok(())
}

fn optimizer_of(
    w: &mut Vector,
    loss: impl Fn(&Vector) -> Tensor0<f64>,
) -> Result<f64, pullback::Error> {
    Lbfgs::new(1.0).step(w, |w| Ok(loss(w)))
}

#[test]
fn a_loss_that_fails_leaves_the_parameters_of_before_the_iteration() -> Result<(), pullback::Error>
{
    let start = array![5.0, -3.0, 2.0, 0.0];
    let no_graph = Tensor::from(array![0.0]).sum().backward().unwrap_err();
    for fails_at in 1..12 {
        let mut w = Parameter::new(start.clone());
        let mut optimizer = Lbfgs::new(1.0);
        let mut calls = 0;
        let mut best = vec![];
        let result = optimizer.step(&mut w, |w| {
            calls += 1;
            if calls == fails_at {
                return Err(no_graph.clone());
            }
            best.push(bowl(w).item());
            Ok(bowl(w))
        });
        assert_eq!(result.unwrap_err().kind(), &pullback::ErrorKind::NoGraph);
        let here = bowl(&Tensor::from(w.to_array())).item();
        // A place that an iteration ended at, or the start.
        let was_there = best.iter().any(|loss| (loss - here).abs() < 1e-12);
        assert!(
            was_there || fails_at == 1 && w.to_array() == start,
            "{here} of {best:?}"
        );
        // And it goes on.
        optimizer.step(&mut w, |w| Ok(bowl(w)))?;
        optimizer.step(&mut w, |w| Ok(bowl(w)))?;
        assert!(bowl(&w).item() < 1e-8);
    }
    Ok(())
}

#[test]
fn parameters_of_every_kind_are_one_vector() -> Result<(), pullback::Error> {
    let tied = Parameter::new(array![3.0]);
    let mut model = (
        tied.clone(),
        Parameter::new(array![[0.0_f32, 2.0], [1.0, -1.0]]),
        tied,
        Parameter::new(array![7.0]),
        Parameter::new(array![4.0]),
    );
    model.3.set_requires_grad(false);
    let mut optimizer = Lbfgs::new(1.0);
    for _ in 0..3 {
        optimizer.step(&mut model, |model| {
            let pulls = (&*model.0 - 1.0).square() + (&*model.2 - 2.0).square() + (&*model.3 * 0.0);
            let loss = pulls.sum();
            // Another element type joins by its own pass; the last parameter has no gradient.
            (&*model.1 - 0.5).square().sum().backward()?;
            Ok(loss)
        })?;
    }
    assert!((model.0.item() - 1.5_f64).abs() < 1e-6);
    assert_eq!(model.0.item(), model.2.item());
    assert!(model.1.view().iter().all(|w| (w - 0.5).abs() < 1e-3));
    assert_eq!((model.3.item(), model.4.item()), (7.0, 4.0));
    // Thawed: what was learned was of other parameters.
    model.3.set_requires_grad(true);
    optimizer.step(&mut model, |model| Ok((&*model.3 - 1.0).square().sum()))?;
    assert!((model.3.item() - 1.0_f64).abs() < 1e-6);
    Ok(())
}

#[test]
fn gradients_are_recorded_even_inside_no_grad() -> Result<(), pullback::Error> {
    let mut w = Parameter::new(array![4.0]);
    no_grad(|| Lbfgs::new(1.0).step(&mut w, |w| Ok((&**w - 1.0).square().sum())))?;
    assert!((w.item() - 1.0_f64).abs() < 1e-6);
    Ok(())
}

#[test]
#[should_panic(
    expected = "step of another model: found 2 parameters, which are not the 1 of before"
)]
fn another_model_is_refused() {
    let (mut one, mut two) = (vec![Parameter::new(array![1.0])], vec![]);
    two.extend([one[0].clone(), one[0].clone()]);
    let mut optimizer = Lbfgs::new(1.0);
    let loss = |model: &Vec<Vector>| Ok(model[0].square().sum());
    optimizer.step(&mut one, loss).unwrap();
    optimizer.step(&mut two, loss).unwrap();
}
