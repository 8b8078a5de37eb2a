//! Functions of every form that have a residual.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pullback::functional::{jacobian, vmap};
use pullback::kernels::Lu;
use pullback::ndarray::{
    Array, Array0, Array1, Array2, ArrayView0, ArrayView1, ArrayView2, Axis, Dimension, array,
};
use pullback::prelude::*;
use pullback::{checkpoint, kernels};

/// The optimum of ½ xᵀQx + cᵀx where Ax = b, with Q + Qᵀ in place of Q; its multipliers are unknowns beside it.
pub(super) struct Quadratic;

#[custom_function(
    shapes(q = [n, n], c = [n], a = [m, n], b = [m], x = [n], multipliers = [m]),
    gradcheck(q = positive(), c = [3], a = [2, 3], b = [2]),
)]
impl Quadratic {
    #[forward(outputs(x), saves(multipliers))]
    pub(super) fn forward(
        q: ArrayView2<f64>,
        c: ArrayView1<f64>,
        a: ArrayView2<f64>,
        b: ArrayView1<f64>,
    ) -> Result<(Array1<f64>, Array1<f64>), kernels::FactorError> {
        let (n, m) = (c.len(), b.len());
        let matrix = Array2::from_shape_fn((n + m, n + m), |(i, j)| match (i < n, j < n) {
            (true, true) => 0.5 * (q[[i, j]] + q[[j, i]]),
            (true, false) => a[[j - n, i]],
            (false, true) => a[[i - n, j]],
            (false, false) => 0.0,
        });
        let right = Array1::from_shape_fn(n + m, |i| if i < n { -c[i] } else { b[i - n] });
        let mut x = Lu::new(&matrix.view())?.solve(&right.view()).to_vec();
        let multipliers = x.split_off(n);
        Ok((x.into(), multipliers.into()))
    }

    #[residual]
    fn residual(
        x: &Tensor1<f64>,
        multipliers: &Tensor1<f64>,
        q: &Tensor2<f64>,
        c: &Tensor1<f64>,
        a: &Tensor2<f64>,
        b: &Tensor1<f64>,
    ) -> (Tensor1<f64>, Tensor1<f64>) {
        let slope = (q.matmul(x) + q.t().matmul(x)) * 0.5 + c + a.t().matmul(multipliers);
        (slope, a.matmul(x) - b)
    }
}

fn positive() -> Array2<f64> {
    array![[2.0, 0.3, -0.4], [0.1, 1.7, 0.2], [0.5, -0.3, 2.3]]
}

#[test]
fn multipliers_are_unknowns() {
    let leaf = |x: Array1<f64>| Tensor::from(x).set_requires_grad(true);
    let (c, b) = (leaf(array![0.4, -1.0, 0.7]), leaf(array![0.9, -0.2]));
    let q = Tensor::from(positive()).set_requires_grad(true);
    let a = Tensor::from(array![[1.0, 0.5, -0.3], [0.2, -1.1, 0.8]]).set_requires_grad(true);
    let solve = |(q, c, a, b): (&Tensor2<f64>, &Tensor1<f64>, &Tensor2<f64>, &Tensor1<f64>)| {
        Quadratic::apply(q, c, a, b).unwrap()
    };
    let check = Gradcheck::new().second_order().forward_mode();
    check.run(solve, (&q, &c, &a, &b)).unwrap();
    // Nothing is computed for an input that needs no gradient.
    let x = solve((&q.detach(), &c, &a.detach(), &b.detach()));
    assert_eq!(x.grad_fn().unwrap().next_functions().len(), 4);
    let saved = Quadratic::SIGNATURE.saved.iter().map(|saved| saved.name);
    assert!(saved.eq(["q", "c", "a", "b", "x", "multipliers", "residual"]));
}

/// The error of an iteration.
#[derive(Debug)]
struct Diverged;

impl fmt::Display for Diverged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the iteration diverged")
    }
}

impl std::error::Error for Diverged {}

/// Two outputs of different ranks, of any element type, with a list, an optional input and values.
struct Pair<T>(std::marker::PhantomData<T>);

#[custom_function(gradcheck(parts = [[3], [3]], shift = [], scale = [3] in 0.3..0.8, power = 3, names = &["a", "b"]))]
impl<T: Element> Pair<T> {
    #[forward(outputs(y, z, steps))]
    fn forward(
        parts: &[ArrayView1<T>],
        shift: Option<ArrayView0<T>>,
        #[non_differentiable] scale: ArrayView1<T>,
        power: i32,
        names: &[&'static str],
    ) -> Result<(Array1<T>, Array0<T>, usize), Diverged> {
        assert_eq!(parts.len(), names.len());
        let sum = parts
            .iter()
            .fold(Array1::zeros(scale.len()), |sum, part| sum + part);
        let shift = shift.map_or(T::zero(), |shift| shift[()]);
        let (mut y, mut z): (Array1<T>, T) = (sum.clone(), T::zero());
        for step in 0..500 {
            let former = (y.clone(), z);
            z = (y.sum() * T::from_f64(0.2) + shift) / T::from_f64(2.0);
            let other = z * T::from_f64(0.1);
            y = Array1::from_shape_fn(scale.len(), |i| {
                sum[i] * scale[i] - y[i].powi(power) * T::from_f64(0.05) + other
            });
            let moved = (&y - &former.0).mapv(T::abs).sum() + (z - former.1).abs();
            if moved <= T::epsilon() * T::from_f64(8.0) {
                return Ok((y, Array0::from_elem((), z), step));
            }
        }
        Err(Diverged)
    }

    #[residual]
    fn residual(
        y: &Tensor1<T>,
        z: &Tensor0<T>,
        parts: &[&Tensor1<T>],
        shift: Option<&Tensor0<T>>,
        scale: &Tensor1<T>,
        power: i32,
        names: &[&'static str],
    ) -> (Tensor1<T>, Tensor0<T>) {
        assert_eq!(parts.len(), names.len());
        let number = T::from_f64;
        let sum: Tensor1<T> = parts.iter().copied().cloned().sum();
        let first = y + y.powi(power) * number(0.05) - sum * scale - z * number(0.1);
        let second = z * number(2.0) - y.sum() * number(0.2);
        (
            first,
            match shift {
                Some(shift) => second - shift,
                None => second,
            },
        )
    }
}

#[test]
fn outputs_are_solved_for_together() {
    let leaf = |x: Array1<f64>| Tensor::from(x).set_requires_grad(true);
    let parts = [leaf(array![0.4, -0.3, 0.5]), leaf(array![0.3, 0.9, 0.1])];
    let shift = Tensor::from(Array0::from_elem((), 0.3)).set_requires_grad(true);
    let scale = Tensor::from(array![1.0, 0.7, -0.5]);
    let check = Gradcheck::new().second_order().forward_mode();
    check
        .run(
            |(parts, shift)| {
                let found = Pair::apply(parts, Some(shift), &scale, 3, &["a", "b"]).unwrap();
                (found.0, found.1)
            },
            (&parts, &shift),
        )
        .unwrap();
    let alone = |parts: &[Tensor1<f64>]| Pair::apply(parts, None, &scale, 3, &["a", "b"]).unwrap();
    check.run(|parts| alone(parts).1, &parts).unwrap();
    assert!(Pair::apply(&parts[..1], None, &(&scale * 1e9), 3, &["a"]).is_err());
}

#[test]
fn single_precision_is_enough_for_gradients() {
    let (part, scale) = (array![0.4, -0.3, 0.5], array![1.0, 0.7, -0.5]);
    let single = Tensor::from(array![0.4_f32, -0.3, 0.5]).set_requires_grad(true);
    let double = Tensor::from(part).set_requires_grad(true);
    let scales = (
        Tensor::from(array![1.0_f32, 0.7, -0.5]),
        Tensor::from(scale),
    );
    let (y, z, _) = Pair::apply(&[&single], None, &scales.0, 2, &["a"]).unwrap();
    let (y2, z2, _) = Pair::apply(&[&double], None, &scales.1, 2, &["a"]).unwrap();
    let found = grad(&(y.square().sum() + z), &single).unwrap();
    let expected = grad(&(y2.square().sum() + z2), &double).unwrap();
    let error = &found.to_array().mapv(f64::from) - &expected.to_array();
    assert!(error.mapv(f64::abs).sum() < 1e-5, "{error}");
}

/// The minimum of an energy: the equation is its derivative.
struct Minimum;

#[custom_function(gradcheck(a = [2] in 0.5..2.0))]
impl Minimum {
    #[forward]
    fn forward(a: ArrayView1<f64>) -> Array1<f64> {
        let mut x = Array1::zeros(a.len());
        for _ in 0..200 {
            let (sum, slope) = (x.sum(), |x: f64| 4.0 * x.powi(3) + 2.0 * x);
            let gradient: Array1<f64> = x.mapv(slope) + sum - a;
            x = x - gradient * 0.1;
        }
        x
    }

    #[residual]
    fn residual(output: &Tensor1<f64>, a: &Tensor1<f64>) -> Result<Tensor1<f64>, pullback::Error> {
        let x = output.clone();
        let energy = (x.powi(4) + x.square()).sum() + x.sum().square() * 0.5 - (&x * a).sum();
        Grad::of(&energy).create_graph(true).run(output)
    }
}

#[test]
fn a_minimum_is_differentiated_through_its_energy() {
    let a = Tensor::from(array![0.7, 1.2, -0.4]).set_requires_grad(true);
    Gradcheck::new()
        .second_order()
        .run(|a| Minimum::apply(a), &a)
        .unwrap();
    Gradcheck::new()
        .forward_mode()
        .run(|a| Minimum::apply(a), &a)
        .unwrap();
}

/// The square root of each element, of any rank: a = y².
struct Sqrt<T, D>(std::marker::PhantomData<(T, D)>);

#[custom_function(gradcheck(a = [2, 3] in 0.5..2.0, count = None), batch(a))]
impl<T: Element, D: Dimension> Sqrt<T, D> {
    #[forward]
    fn forward(a: Array<T, D>, count: Option<&Arc<AtomicUsize>>) -> Array<T, D> {
        _ = count;
        a.mapv_into(T::sqrt)
    }

    #[residual(dense = 4)]
    fn residual(
        output: &Tensor<T, D>,
        a: &Tensor<T, D>,
        count: Option<&Arc<AtomicUsize>>,
    ) -> Tensor<T, D> {
        if let Some(count) = count {
            count.fetch_add(1, Ordering::Relaxed);
        }
        output * output - a
    }
}

#[test]
fn the_equations_are_linearized_once() {
    let count = Arc::new(AtomicUsize::new(0));
    let calls = || count.swap(0, Ordering::Relaxed);
    let a = Tensor::from(array![1.0, 4.0, 9.0]).set_requires_grad(true);
    let y = Sqrt::apply(a.clone(), Some(&count));
    assert_eq!(calls(), 0);
    for seed in [array![1.0, 0.0, 0.0], array![0.0, 1.0, 1.0]] {
        let seed = Tensor::from(seed);
        Grad::of(&y).seed(&seed).retain_graph(true).run(&a).unwrap();
    }
    assert_eq!(calls(), 1);
    let found = jacobian(|a| Sqrt::apply(a.clone(), Some(&count)), &a.detach()).unwrap();
    assert_eq!(found.view().diag(), array![0.5, 0.25, 1.0 / 6.0]);
    assert_eq!(calls(), 1);
    // Without a gradient, the equations are not even made.
    let weak = Arc::downgrade(&count);
    let plain = Sqrt::apply(a.detach(), Some(&count));
    assert_eq!((plain.requires_grad(), weak.strong_count()), (false, 2));
    drop(y);
    assert_eq!(weak.strong_count(), 1);
}

#[test]
fn forward_mode_and_passes_share_the_linearization() {
    let count = Arc::new(AtomicUsize::new(0));
    let a = Tensor::from(array![1.0, 4.0]).set_requires_grad(true);
    let v = Tensor::from(array![1.0, 1.0]);
    let sum = |a: &Tensor1<f64>| Sqrt::apply(a.clone(), Some(&count)).sum();
    let options = pullback::functional::Functional::new().forward_mode(true);
    let (_, product) = options.hvp(sum, &a, &v).unwrap();
    assert_eq!(product.to_array(), array![-0.25, -0.25 / 8.0]);
    // Once in forward mode for the change of the inputs, once to linearize, and for the gradients of both.
    let calls = count.load(Ordering::Relaxed);
    assert!(calls <= 5, "{calls}");
}

#[test]
fn batches_have_equations_of_their_own() {
    let a = Tensor::from(array![[1.0, 4.0], [9.0, 16.0], [25.0, 36.0]]).set_requires_grad(true);
    let near = |found: &Tensor2<f64>, expected: &dyn Fn(f64) -> f64| {
        let error = &found.view() - &a.view().mapv(expected);
        assert!(error.mapv(f64::abs).sum() < 1e-14, "{error}");
    };
    let slope = |a: f64| 0.5 / a.sqrt();
    let y = Sqrt::apply_batch(a.clone(), None);
    let found = Grad::of(&y.sum()).create_graph(true).run(&a).unwrap();
    near(&found, &slope);
    near(&grad(&found.sum(), &a).unwrap(), &|a| -0.25 / a.powf(1.5));
    let each = |a: &Tensor1<f64>| Sqrt::apply(a.clone(), None);
    let mapped = vmap(each, Axis(0), &a).unwrap();
    near(&grad(&mapped.sum(), &a).unwrap(), &slope);
    let within = checkpoint(|a| Sqrt::apply(a.clone(), None), &a);
    near(&grad(&within.sum(), &a).unwrap(), &slope);
}

/// The sums of neighbors are given: the first is 0, and a length is asked for by its axis.
struct Neighbors;

#[custom_function(shapes(sums = [n], output = [n + 1]), gradcheck(n = 3))]
impl Neighbors {
    #[forward]
    fn forward(sums: ArrayView1<f64>) -> Array1<f64> {
        let mut found = vec![0.0];
        for sum in sums {
            found.push(sum - found[found.len() - 1]);
        }
        found.into()
    }

    #[residual]
    fn residual(output: &Tensor1<f64>, sums: &Tensor1<f64>, n: usize) -> Tensor1<f64> {
        let pairs = Array2::from_shape_fn((n + 1, n + 1), |(i, j)| {
            f64::from(u8::from(i == j || i == j + 1))
        });
        let moved = Array2::from_shape_fn((n + 1, n), |(i, j)| f64::from(u8::from(i == j + 1)));
        Tensor::from(pairs).matmul(output) - Tensor::from(moved).matmul(sums)
    }
}

#[test]
fn large_systems_are_solved_by_products() {
    // A nonlinear Poisson equation, −u'' + u³ = a, on more points than are factored, or are kept between restarts.
    let a = Array1::from_shape_fn(130, |i| (i as f64 * 0.1).sin() + 1.0);
    let a = Tensor::from(a).set_requires_grad(true);
    let u = Poisson::apply(&a);
    let found = Grad::of(&u.square().sum())
        .create_graph(true)
        .run(&a)
        .unwrap();
    let second = grad(&found.square().sum(), &a).unwrap();
    let u = Factored::apply(&a);
    let expected = Grad::of(&u.square().sum())
        .create_graph(true)
        .run(&a)
        .unwrap();
    let expected_second = grad(&expected.square().sum(), &a).unwrap();
    for (found, expected) in [(&found, &expected), (&second, &expected_second)] {
        let largest =
            |x: &Tensor1<f64>| x.view().iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        let error = largest(&(found - expected)) / largest(expected);
        assert!(error < 1e-10, "{error}");
    }
}

/// Returns the matrix of −u'', with u = 0 beyond both ends.
fn second_differences(n: usize) -> Array2<f64> {
    Array2::from_shape_fn((n, n), |(i, j)| match i.abs_diff(j) {
        0 => 20.0,
        1 => -10.0,
        _ => 0.0,
    })
}

fn poisson(a: ArrayView1<f64>) -> Array1<f64> {
    let matrix = second_differences(a.len());
    let mut u = Array1::zeros(a.len());
    for _ in 0..12 {
        let residual = matrix.dot(&u) + u.mapv(|u: f64| u.powi(3)) - a;
        let slope = &matrix + Array2::from_diag(&u.mapv(|u| 3.0 * u * u));
        u = u - Lu::new(&slope.view()).unwrap().solve(&residual.view());
    }
    u
}

macro_rules! poisson {
    ($Name:ident, $($dense:tt)*) => {
        struct $Name;

        #[custom_function]
        impl $Name {
            #[forward]
            fn forward(a: ArrayView1<f64>) -> Array1<f64> {
                poisson(a)
            }

            #[residual $($dense)*]
            fn residual(output: &Tensor1<f64>, a: &Tensor1<f64>) -> Tensor1<f64> {
                let matrix = Tensor::from(second_differences(output.len()));
                matrix.matmul(output) + output.powi(3) - a
            }
        }
    };
}

poisson!(Poisson, (dense = 100));
poisson!(Factored,);
