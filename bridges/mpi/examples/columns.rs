//! A perceptron whose layers are split over processes: each has some columns of the first weight and the corresponding
//! rows of the second.
//!
//! ```sh
//! cargo build --release --example columns
//! mpirun -n 4 target/release/examples/columns
//! ```
//!
//! The loss is not a sum of losses of the processes here: all of them compute the same loss. Two functions account for
//! that. `copied` is the identity on a tensor that all processes have; its gradient is the sum over the processes.
//! `joined` is the sum over the processes; as all compute the same loss of the result, its gradient is that of each
//! process.

use pullback::ndarray::{Array2, ArrayView2, Axis, Slice};
use pullback::nn::{Generator, init};
use pullback::prelude::*;
use pullback_mpi::{Communicator, all_reduce_sum};

const INPUTS: usize = 8;
const HIDDEN: usize = 32;
const OUTPUTS: usize = 4;

/// y = x on every process. The gradient is the sum over all processes.
#[custom_function(higher_order, grad(x) = joined(grad_output, comm))]
fn copied(x: ArrayView2<f64>, comm: &Communicator) -> Array2<f64> {
    let _ = comm;
    x.to_owned()
}

/// Returns the sum over all processes. All of them then compute the same, so each has the gradient.
#[custom_function(higher_order, grad(x) = copied(grad_output, comm))]
fn joined(x: ArrayView2<f64>, comm: &Communicator) -> Array2<f64> {
    all_reduce_sum(&Tensor::from(x), comm).to_array()
}

fn main() {
    pullback_mpi::run(|comm| {
        let difference = train(comm, 20)?;
        if comm.rank() == 0 {
            println!(
                "{} processes, {} columns each: at most {difference:.1e} from the whole layers",
                comm.size(),
                HIDDEN / comm.size()
            );
        }
        assert!(difference < 1e-12, "the split layers differ");
        Ok::<(), pullback::Error>(())
    });
}

/// Trains split and whole layers side by side. Returns the largest difference of losses, weights, and gradients of the
/// input.
pub(crate) fn train(comm: &Communicator, steps: usize) -> Result<f64, pullback::Error> {
    assert!(
        HIDDEN.is_multiple_of(comm.size()),
        "{HIDDEN} columns for {}",
        comm.size()
    );
    let mut random = Generator::seed(5);
    let mut uniform =
        |rows, columns| -> Array2<f64> { init::uniform((rows, columns), -0.5, 0.5, &mut random) };
    let (x, target) = (uniform(16, INPUTS), uniform(16, OUTPUTS));
    let (first, second) = (uniform(INPUTS, HIDDEN), uniform(HIDDEN, OUTPUTS));
    let columns = HIDDEN / comm.size();
    let own = Slice::from(comm.rank() * columns..(comm.rank() + 1) * columns);
    let (x, whole_x) = (leaf(x.view()), leaf(x.view()));
    let target = Tensor::from(target);
    let mut split = [
        leaf(first.slice_axis(Axis(1), own)),
        leaf(second.slice_axis(Axis(0), own)),
    ];
    let mut whole = [leaf(first.view()), leaf(second.view())];
    let mut largest: f64 = 0.0;
    for _ in 0..steps {
        let hidden = copied(&x, comm).matmul(&split[0]).tanh();
        let error = joined(&hidden.matmul(&split[1]), comm) - &target;
        let loss = (&error * &error).mean();
        loss.backward()?;
        let hidden = whole_x.matmul(&whole[0]).tanh();
        let error = hidden.matmul(&whole[1]) - &target;
        let whole_loss = (&error * &error).mean();
        whole_loss.backward()?;
        largest = largest.max((loss.item() - whole_loss.item()).abs());
        [&mut split, &mut whole]
            .into_iter()
            .flatten()
            .for_each(descend);
    }
    let (first, second) = (whole[0].to_array(), whole[1].to_array());
    let gradient = |x: &Tensor2<f64>| x.grad().expect("a gradient for each step");
    largest = largest
        .max(distance(
            &split[0].to_array(),
            &first.slice_axis(Axis(1), own),
        ))
        .max(distance(
            &split[1].to_array(),
            &second.slice_axis(Axis(0), own),
        ))
        .max(distance(&gradient(&x), &gradient(&whole_x).view()));
    Ok(pullback_mpi::all_reduce_max(&Tensor::from(largest), comm).item())
}

fn leaf(value: ArrayView2<f64>) -> Tensor2<f64> {
    Tensor::from(value).set_requires_grad(true)
}

fn descend(weight: &mut Tensor2<f64>) {
    weight.update_by_grad(|mut weight, grad| weight.scaled_add(-0.1, &grad));
    weight.zero_grad();
}

fn distance(own: &Array2<f64>, expected: &ArrayView2<f64>) -> f64 {
    let differences = (own - expected).mapv(f64::abs);
    differences.iter().copied().fold(0.0, f64::max)
}
