//! The collectives, as differentiable functions.
//!
//! The loss of a program of several processes is the sum of the losses of all of them. So the gradient that a process
//! gets for its input is what its input contributes to the outputs of all processes, and travels back the way that the
//! values came.

use pullback::ndarray::{Array, ArrayView, Axis, Dimension};
use pullback::prelude::*;

use crate::Communicator;
use crate::worker::Kind;

/// Returns the sum of `x` over all processes, on each of them. The gradient is the sum of the gradients.
///
/// # Panics
/// If processes disagree on shape or element type, or call something else.
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
///     y.sum().backward()?; // on all processes: each output has every input in it
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
/// As [`all_reduce_sum`].
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

/// Returns the maximum of `x` over all processes, element by element, on each of them; NaN if any is NaN. The sum of the
/// gradients goes to the process that has the maximum; several that have it share it evenly, as in
/// [`maximum`](pullback::Tensor::maximum).
///
/// # Panics
/// As [`all_reduce_sum`].
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

/// Returns `x` of the process `root`, on each of them; what the others pass gives only the shape. The sum of the gradients
/// goes to the root, and the others' are zero.
///
/// # Panics
/// As [`all_reduce_sum`], if processes disagree on the root, or there is no such rank.
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

/// Returns the sum of `x` over all processes on the process `root`, and zeros on the others. The gradient of the root is
/// that of all.
///
/// # Panics
/// As [`broadcast`].
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
/// As [`all_reduce_sum`], if processes disagree on the axis, or `x` does not have it.
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

/// Sums `x` over all processes, cuts the sum along `axis` into as many parts of one length as there are processes, and
/// returns to each the part of its rank. The gradient is [`all_gather`] of the gradients.
///
/// # Panics
/// As [`all_gather`], and if the length of the axis is not divisible by the number of processes.
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

/// Sends `x` to the process `by` ranks further, and returns what the process as many ranks before has sent; ranks go around
/// a ring. The gradient travels back: it is the shift by −`by`.
///
/// # Panics
/// As [`all_reduce_sum`], and if processes disagree on `by`.
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

/// Runs a collective whose result has the shape of what goes in.
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

/// The elements in row-major order.
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

/// The length along `axis` of the part that each process gets.
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

/// The part of a maximum's gradient that each element of this process gets: 1 if it alone has the maximum, ½ if another
/// process has it too, 0 if it does not have it.
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

/// Whole numbers in the order of the numbers, with NaN above all: MPI's maximum of floats is not one of NaNs.
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

/// The number of a [`key`].
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
