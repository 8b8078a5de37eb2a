//! The collectives, as differentiable functions.
//!
//! The loss of a program of several processes is the sum of the losses of all of them. So the gradient of an input of
//! one process is a sum over the outputs of all processes that depend on it, and is itself a collective.

use pullback::ndarray::{Array, ArrayView, Axis, Dimension};
use pullback::prelude::*;

use crate::communicator::Communicator;
use crate::worker::Kind;

/// Returns the sum of `x` over all processes, on each of them. The gradient is the sum of the gradients.
///
/// # Panics
/// If processes disagree on shape or element type, or call different collectives.
///
/// ```
/// use pullback::Tensor;
/// use pullback::ndarray::array;
/// use pullback_mpi::all_reduce_sum;
///
/// pullback_mpi::run(|comm| {
///     let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
///     let y = all_reduce_sum(&x, comm);
///     let processes = comm.size() as f64;
///     assert_eq!(y.to_array(), array![1.0, 2.0] * processes);
///     y.sum().backward()?; // on all processes: each output depends on every input
///     assert_eq!(x.grad(), Some(array![1.0, 1.0] * processes));
///     Ok::<(), pullback::Error>(())
/// });
/// ```
#[custom_function(higher_order, grad(x) = all_reduce_sum(grad_output, comm))]
#[track_caller]
pub fn all_reduce_sum<T: Element, D: Dimension>(
    x: ArrayView<T, D>,
    comm: &Communicator,
) -> Array<T, D> {
    same_shape("all_reduce_sum", String::new(), &x, Kind::Sum, comm)
}

/// Returns the mean of `x` over all processes, on each of them. The gradient is the mean of the gradients.
///
/// # Panics
/// If processes disagree, as in [`all_reduce_sum`].
///
/// ```
/// use pullback::Tensor;
/// use pullback::ndarray::array;
/// use pullback_mpi::all_reduce_mean;
///
/// pullback_mpi::run(|comm| {
///     let rank = Tensor::from(comm.rank() as f64);
///     assert_eq!(all_reduce_mean(&rank, comm).item(), (comm.size() - 1) as f64 / 2.0);
///     Ok::<(), pullback::Error>(())
/// });
/// ```
#[custom_function(higher_order, grad(x) = all_reduce_mean(grad_output, comm))]
#[track_caller]
pub fn all_reduce_mean<T: Element, D: Dimension>(
    x: ArrayView<T, D>,
    comm: &Communicator,
) -> Array<T, D> {
    let sum = same_shape("all_reduce_mean", String::new(), &x, Kind::Sum, comm);
    sum / T::from_f64(comm.size() as f64)
}

/// Returns the elementwise maximum of `x` over all processes, on each of them; NaN if any is NaN. The gradient of the
/// process with the maximum is the sum of the gradients; processes with equal maxima share it evenly, as in
/// [`maximum`](pullback::Tensor::maximum).
///
/// # Panics
/// If processes disagree, as in [`all_reduce_sum`].
///
/// ```
/// use pullback::Tensor;
/// use pullback::ndarray::array;
/// use pullback_mpi::all_reduce_max;
///
/// pullback_mpi::run(|comm| {
///     let x = Tensor::from(array![comm.rank() as f64, 5.0]).set_requires_grad(true);
///     let y = all_reduce_max(&x, comm);
///     assert_eq!(y.to_array(), array![(comm.size() - 1) as f64, 5.0]);
///     y.sum().backward()?;
///     assert_eq!(x.grad().unwrap()[1], 1.0); // all have the 5, and `size` outputs depend on it
///     Ok::<(), pullback::Error>(())
/// });
/// ```
#[custom_function(higher_order, grad(x) = all_reduce_sum(grad_output, comm) * share(x, output, comm))]
#[track_caller]
pub fn all_reduce_max<T: Element, D: Dimension>(
    x: ArrayView<T, D>,
    comm: &Communicator,
) -> Array<T, D> {
    let keys = x.iter().map(|x| key(x.as_f64())).collect();
    let keys = comm.exchange_keys::<T>("all_reduce_max", x.shape(), keys);
    let largest = keys
        .into_iter()
        .map(|key| T::from_f64(value(key)))
        .collect();
    shaped(x.raw_dim(), largest)
}

/// Returns `x` of the process `root` on each process; the other processes pass an `x` of the same shape. The gradient
/// of the root is the sum of the gradients; that of the others is zero.
///
/// # Panics
/// If processes disagree, also on the root, or `root` is not a rank.
///
/// ```
/// use pullback::Tensor;
/// use pullback::ndarray::array;
/// use pullback_mpi::broadcast;
///
/// pullback_mpi::run(|comm| {
///     let x = Tensor::from(array![comm.rank() as f64]);
///     assert_eq!(broadcast(&x, 0, comm).item(), 0.0);
///     Ok::<(), pullback::Error>(())
/// });
/// ```
#[custom_function(higher_order, grad(x) = reduce_sum(grad_output, *root, comm))]
#[track_caller]
pub fn broadcast<T: Element, D: Dimension>(
    x: ArrayView<T, D>,
    root: usize,
    comm: &Communicator,
) -> Array<T, D> {
    let detail = rooted(root, comm);
    same_shape("broadcast", detail, &x, Kind::Broadcast(root), comm)
}

/// Returns the sum of `x` over all processes on the process `root`, and zeros on the others. The gradient of every
/// process is that of the root.
///
/// # Panics
/// If processes disagree, also on the root, or `root` is not a rank.
///
/// ```
/// use pullback::Tensor;
/// use pullback::ndarray::array;
/// use pullback_mpi::reduce_sum;
///
/// pullback_mpi::run(|comm| {
///     let sum = reduce_sum(&Tensor::from(array![1.0]), 0, comm);
///     assert_eq!(sum.item(), if comm.rank() == 0 { comm.size() as f64 } else { 0.0 });
///     Ok::<(), pullback::Error>(())
/// });
/// ```
#[custom_function(higher_order, grad(x) = broadcast(grad_output, *root, comm))]
#[track_caller]
pub fn reduce_sum<T: Element, D: Dimension>(
    x: ArrayView<T, D>,
    root: usize,
    comm: &Communicator,
) -> Array<T, D> {
    let detail = rooted(root, comm);
    same_shape("reduce_sum", detail, &x, Kind::SumTo(root), comm)
}

/// Returns the concatenation of `x` of all processes along `axis`, in the order of the ranks, on each of them. The
/// gradient is [`reduce_scatter`] of the gradients.
///
/// # Panics
/// If processes disagree, also on the axis, or `x` does not have `axis`.
///
/// ```
/// use pullback::Tensor;
/// use pullback::ndarray::{Axis, array};
/// use pullback_mpi::all_gather;
///
/// pullback_mpi::run(|comm| {
///     let column = Tensor::from(array![[1.0], [2.0]]);
///     assert_eq!(all_gather(&column, Axis(1), comm).shape(), [2, comm.size()]);
///     Ok::<(), pullback::Error>(())
/// });
/// ```
#[custom_function(higher_order, grad(x) = reduce_scatter(grad_output, *axis, comm))]
#[track_caller]
pub fn all_gather<T: Element, D: Dimension>(
    x: ArrayView<T, D>,
    axis: Axis,
    comm: &Communicator,
) -> Array<T, D> {
    let detail = along("all_gather", &x, axis);
    let own = elements(&x);
    let all = comm.exchange("all_gather", detail, x.shape(), (Kind::AllGather, own));
    let mut shape = x.raw_dim();
    shape[axis.index()] *= comm.size();
    let mut output = Array::zeros(shape);
    if !x.is_empty() {
        let parts = output.axis_chunks_iter_mut(axis, x.len_of(axis));
        for (mut part, elements) in parts.zip(all.chunks(x.len())) {
            part.iter_mut()
                .zip(elements)
                .for_each(|(to, from)| *to = *from);
        }
    }
    output
}

/// Sums `x` over all processes, splits the sum along `axis` into equal parts, and returns on each process the part of
/// its rank. The gradient is [`all_gather`] of the gradients.
///
/// # Panics
/// If processes disagree, also on the axis, or the length of `axis` is not divisible by the number of processes.
///
/// ```
/// use pullback::Tensor;
/// use pullback::ndarray::{Array1, Axis, array};
/// use pullback_mpi::reduce_scatter;
///
/// pullback_mpi::run(|comm| {
///     let x = Tensor::from(Array1::<f64>::ones(3 * comm.size()));
///     let part = reduce_scatter(&x, Axis(0), comm);
///     assert_eq!(part.to_array(), array![1.0, 1.0, 1.0] * comm.size() as f64);
///     Ok::<(), pullback::Error>(())
/// });
/// ```
#[custom_function(higher_order, grad(x) = all_gather(grad_output, *axis, comm))]
#[track_caller]
pub fn reduce_scatter<T: Element, D: Dimension>(
    x: ArrayView<T, D>,
    axis: Axis,
    comm: &Communicator,
) -> Array<T, D> {
    let detail = along("reduce_scatter", &x, axis);
    let length = part_length(&x, axis, comm);
    let mut shape = x.raw_dim();
    shape[axis.index()] = length;
    let mut own = Vec::with_capacity(x.len());
    if !x.is_empty() {
        let parts = x.axis_chunks_iter(axis, length);
        parts.for_each(|part| own.extend(part.iter().copied()));
    }
    let part = comm.exchange(
        "reduce_scatter",
        detail,
        x.shape(),
        (Kind::ReduceScatter, own),
    );
    shaped(shape, part)
}

/// Sends `x` to rank + `by` and receives from rank − `by`, modulo the number of processes. The gradient is the shift by
/// −`by`.
///
/// # Panics
/// If processes disagree, also on `by`.
///
/// ```
/// use pullback::Tensor;
/// use pullback::ndarray::array;
/// use pullback_mpi::shift;
///
/// pullback_mpi::run(|comm| {
///     let rank = Tensor::from(comm.rank() as f64);
///     let before = (comm.rank() + comm.size() - 1) % comm.size();
///     assert_eq!(shift(&rank, 1, comm).item(), before as f64);
///     Ok::<(), pullback::Error>(())
/// });
/// ```
#[custom_function(higher_order, grad(x) = shift(grad_output, -*by, comm))]
#[track_caller]
pub fn shift<T: Element, D: Dimension>(
    x: ArrayView<T, D>,
    by: isize,
    comm: &Communicator,
) -> Array<T, D> {
    same_shape("shift", format!("by {by}"), &x, Kind::Shift(by), comm)
}

/// Runs a collective whose result has the shape of `x`.
#[track_caller]
fn same_shape<T: Element, D: Dimension>(
    operation: &'static str,
    detail: String,
    x: &ArrayView<T, D>,
    kind: Kind,
    comm: &Communicator,
) -> Array<T, D> {
    let result = comm.exchange(operation, detail, x.shape(), (kind, elements(x)));
    shaped(x.raw_dim(), result)
}

/// Returns the elements in row-major order.
fn elements<T: Element, D: Dimension>(x: &ArrayView<T, D>) -> Vec<T> {
    match x.as_slice() {
        Some(elements) => elements.to_vec(),
        None => x.iter().copied().collect(),
    }
}

fn shaped<T: Element, D: Dimension>(shape: D, elements: Vec<T>) -> Array<T, D> {
    // INVARIANT: every collective returns as many elements as its shape says.
    Array::from_shape_vec(shape, elements).expect("an element for each place")
}

#[track_caller]
fn rooted(root: usize, comm: &Communicator) -> String {
    assert!(
        root < comm.size(),
        "root {root} of {} processes",
        comm.size()
    );
    format!("root {root}")
}

#[track_caller]
fn along<T, D: Dimension>(operation: &str, x: &ArrayView<T, D>, axis: Axis) -> String {
    assert!(
        axis.index() < x.ndim(),
        "{operation} of shape {:?} along axis {}, which it does not have",
        x.shape(),
        axis.index()
    );
    format!("along axis {}", axis.index())
}

/// Returns the length along `axis` of the part of each process.
#[track_caller]
fn part_length<T, D: Dimension>(x: &ArrayView<T, D>, axis: Axis, comm: &Communicator) -> usize {
    let (length, size) = (x.len_of(axis), comm.size());
    assert!(
        length.is_multiple_of(size),
        "reduce_scatter of shape {:?} along axis {}: {length} is not divisible by the {size} processes",
        x.shape(),
        axis.index()
    );
    length / size
}

/// Returns for each element its share of the maximum's gradient: 1 if only this process has the maximum, ½ if another
/// process has it too, 0 if this process does not have it.
fn share<T: Element, D: Dimension>(
    x: &Tensor<T, D>,
    output: &Tensor<T, D>,
    comm: &Communicator,
) -> Tensor<T, D> {
    let holds = |x: T, largest: T| x == largest || x.is_nan() && largest.is_nan();
    let mut holds: Array<T, D> = pullback::kernels::zip(&x.view(), &output.view(), |x, largest| {
        if holds(x, largest) {
            T::one()
        } else {
            T::zero()
        }
    });
    let holders = same_shape(
        "all_reduce_max",
        "holders".to_owned(),
        &holds.view(),
        Kind::Sum,
        comm,
    );
    holds.zip_mut_with(&holders, |holds, &holders| *holds /= holders);
    holds.into()
}

/// Returns an integer such that keys are in the order of the numbers, NaN last: MPI defines no maximum with NaN.
fn key(x: f64) -> u64 {
    if x.is_nan() {
        return u64::MAX;
    }
    let bits = x.to_bits();
    if bits >> 63 == 1 {
        !bits
    } else {
        bits | 1 << 63
    }
}

/// Returns the number that has this [`key`].
fn value(key: u64) -> f64 {
    if key == u64::MAX {
        return f64::NAN;
    }
    f64::from_bits(if key >> 63 == 1 {
        key & !(1 << 63)
    } else {
        !key
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_the_order_of_numbers() {
        let numbers = [
            f64::NEG_INFINITY,
            -2.5,
            -1e-300,
            0.0,
            1e-300,
            3.0,
            f64::INFINITY,
        ];
        assert!(numbers.is_sorted() && numbers.map(key).is_sorted());
        assert_eq!(numbers.map(key).map(value), numbers);
        assert!(key(f64::NAN) > key(f64::INFINITY) && value(key(f64::NAN)).is_nan());
    }
}
