//! Values of the collectives, and their gradients to second order against differences across processes.

use std::time::{Duration, Instant};

use pullback::ndarray::{Array, Array2, ArrayD, Axis, Dimension, IxDyn, array};
use pullback::prelude::*;
use pullback_mpi::{
    Communicator, all_gather, all_reduce_max, all_reduce_mean, all_reduce_sum, broadcast,
    reduce_scatter, reduce_sum, shift,
};

use crate::launch::on;

/// Numbers without simple relations between them, different on each process.
fn numbers<D: Dimension>(shape: D, comm: &Communicator, salt: f64) -> Array<f64, D> {
    let mut place = comm.rank() as f64 * 17.0 + salt;
    Array::from_shape_simple_fn(shape, || {
        place += 1.0;
        (place * 12.9898).sin() * 0.8
    })
}

/// The sum over all processes of Σ weights · y.
fn loss(y: &TensorD<f64>, comm: &Communicator) -> f64 {
    let weights = numbers(y.view().raw_dim(), comm, 0.3);
    let own = Tensor::from((&y.view() * &weights).sum());
    no_grad(|| all_reduce_sum(&own, comm)).item()
}

/// Compares the gradient of `f` with differences: each process moves each of its elements in turn, while the others
/// compute with theirs. Returns the largest difference on any process.
fn error_of(
    f: impl Fn(&TensorD<f64>) -> TensorD<f64>,
    x: &ArrayD<f64>,
    comm: &Communicator,
) -> f64 {
    const STEP: f64 = 1e-6;
    let leaf = Tensor::from(x.clone()).set_requires_grad(true);
    let y = f(&leaf);
    let weights = numbers(y.view().raw_dim(), comm, 0.3);
    let gradient: TensorD<f64> = Grad::of(&y).seed(weights).run(&leaf).unwrap();
    let gradient: Vec<f64> = gradient.view().iter().copied().collect();
    let mut largest: f64 = 0.0;
    for rank in 0..comm.size() {
        for (place, gradient) in gradient.iter().enumerate() {
            let moved = |by: f64| {
                let mut x = x.clone();
                if comm.rank() == rank {
                    x.as_slice_mut().unwrap()[place] += by;
                }
                // Leaves that require grad: `f` may differentiate inside.
                loss(&f(&Tensor::from(x).set_requires_grad(true)), comm)
            };
            let numeric = (moved(STEP) - moved(-STEP)) / (2.0 * STEP);
            if comm.rank() == rank {
                largest = largest.max((numeric - gradient).abs());
            }
        }
    }
    all_reduce_max(&Tensor::from(largest), comm).item()
}

/// Checks `f` to second order.
#[track_caller]
fn check(
    name: &str,
    f: impl Fn(&TensorD<f64>) -> TensorD<f64>,
    shape: &[usize],
    comm: &Communicator,
) {
    let x = numbers(IxDyn(shape), comm, 0.0);
    let first = error_of(&f, &x, comm);
    assert!(
        first < 1e-7,
        "{name} of shape {shape:?}: a gradient differs by {first:e}"
    );
    // The gradient is not linear in x only if the function is not: its square.
    let gradient = |x: &TensorD<f64>| {
        let y = f(x);
        let y = &y * &y;
        let weights = numbers(y.view().raw_dim(), comm, 0.7);
        let grad = Grad::of(&y).seed(weights).create_graph(true);
        grad.run(x).unwrap()
    };
    let second = error_of(gradient, &x, comm);
    assert!(
        second < 1e-6,
        "{name} of shape {shape:?}: a second derivative differs by {second:e}"
    );
}

#[test]
fn gradients_to_second_order() {
    on(&[1, 2, 3], |comm| {
        let size = comm.size();
        for shape in [&[][..], &[3], &[2, 3], &[2, 1, 2]] {
            check("all_reduce_sum", |x| all_reduce_sum(x, comm), shape, comm);
            check("all_reduce_mean", |x| all_reduce_mean(x, comm), shape, comm);
            check("all_reduce_max", |x| all_reduce_max(x, comm), shape, comm);
            check("shift", |x| shift(x, 1, comm), shape, comm);
            check("shift back", |x| shift(x, -2, comm), shape, comm);
            for root in [0, size - 1] {
                check("broadcast", |x| broadcast(x, root, comm), shape, comm);
                check("reduce_sum", |x| reduce_sum(x, root, comm), shape, comm);
            }
        }
        for axis in 0..2 {
            let axis = Axis(axis);
            check("all_gather", |x| all_gather(x, axis, comm), &[2, 3], comm);
            let mut shape = [2, 3];
            shape[axis.index()] *= size;
            check(
                "reduce_scatter",
                |x| reduce_scatter(x, axis, comm),
                &shape,
                comm,
            );
        }
    });
}

/// `all_reduce_sum` with a gradient of this process alone.
#[custom_function(higher_order, grad(x) = grad_output.clone())]
fn without_others(x: pullback::ndarray::ArrayViewD<f64>, comm: &Communicator) -> ArrayD<f64> {
    let sum = no_grad(|| all_reduce_sum(&Tensor::from(x.to_owned()), comm));
    sum.to_array()
}

#[test]
fn the_check_finds_a_gradient_of_one_process_alone() {
    on(&[2], |comm| {
        let x = numbers(IxDyn(&[3]), comm, 0.0);
        let error = error_of(|x| without_others(x, comm), &x, comm);
        assert!(
            error > 0.1,
            "the gradient of the other process is missing, by {error}"
        );
    });
}

#[test]
fn values() {
    on(&[3], |comm| {
        let rank = comm.rank() as f32;
        let x = Tensor::from(array![[rank, 1.0], [2.0, -rank]]);
        let sum = array![[3.0, 3.0], [6.0, -3.0]];
        assert_eq!(all_reduce_sum(&x, comm).to_array(), sum);
        assert_eq!(all_reduce_mean(&x, comm).to_array(), &sum / 3.0);
        assert_eq!(
            all_reduce_max(&x, comm).to_array(),
            array![[2.0, 1.0], [2.0, 0.0]]
        );
        assert_eq!(
            broadcast(&x, 1, comm).to_array(),
            array![[1.0, 1.0], [2.0, -1.0]]
        );
        let zeros = Array2::<f32>::zeros((2, 2));
        let at_root = if comm.rank() == 2 { &sum } else { &zeros };
        assert_eq!(reduce_sum(&x, 2, comm).to_array(), at_root);
        let from = (comm.rank() + 1) % 3;
        assert_eq!(shift(&x, 2, comm).to_array()[[0, 0]], from as f32);
        let gathered = all_gather(&x, Axis(1), comm);
        assert_eq!(
            gathered.to_array(),
            array![
                [0.0, 1.0, 1.0, 1.0, 2.0, 1.0],
                [2.0, 0.0, 2.0, -1.0, 2.0, -2.0]
            ]
        );
        // All processes have the same, so each gets three times its part.
        let own = reduce_scatter(&gathered, Axis(1), comm);
        assert_eq!(own.to_array(), x.to_array() * 3.0);
        // A view that is not in row-major order, and one without elements.
        assert_eq!(all_reduce_sum(&x.t(), comm).to_array(), sum.t());
        let empty = Tensor::from(Array2::<f32>::zeros((0, 3)));
        assert_eq!(all_reduce_sum(&empty, comm).shape(), [0, 3]);
        assert_eq!(all_gather(&empty, Axis(0), comm).shape(), [0, 3]);
        assert_eq!(reduce_scatter(&empty, Axis(1), comm).shape(), [0, 1]);
    });
}

#[test]
fn a_maximum_is_shared_by_those_that_have_it_and_nan_is_one() {
    on(&[3], |comm| {
        let rank = comm.rank();
        // The second is with ranks 1 and 2, the third is NaN on rank 1.
        let third = if rank == 1 { f64::NAN } else { 9.0 };
        let x = array![-(rank as f64), if rank == 0 { 0.0 } else { 4.0 }, third];
        let x = Tensor::from(x).set_requires_grad(true);
        let y = all_reduce_max(&x, comm);
        assert_eq!(y.to_array().as_slice().unwrap()[..2], [0.0, 4.0]);
        assert!(y.to_array()[2].is_nan());
        y.sum().backward().unwrap();
        let expected = [[3.0, 0.0, 0.0], [0.0, 1.5, 3.0], [0.0, 1.5, 0.0]][rank];
        assert_eq!(x.grad().unwrap().to_vec(), expected);
    });
}

#[test]
fn delays_do_not_change_sums() {
    on(&[2, 3], |comm| {
        let (latency, bandwidth) = (Duration::from_millis(3), 1e6);
        let slow = comm.with_delay(latency, bandwidth);
        let x = Tensor::from(numbers(IxDyn(&[1000]), comm, 0.0));
        let begun = Instant::now();
        let sum = all_reduce_sum(&x, &slow);
        // 8,000 bytes at one byte in each microsecond.
        assert!(begun.elapsed() >= latency + Duration::from_millis(8));
        assert_eq!(sum.to_array(), all_reduce_sum(&x, comm).to_array());
    });
}
