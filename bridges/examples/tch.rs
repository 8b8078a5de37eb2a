//! `squash` in libtorch's graph: a loss, and its gradients by two tensors.

use pullback::Tensor1;
use pullback_fixtures::squash;
use tch::{Kind, TchError, Tensor};

fn main() -> Result<(), TchError> {
    let numbers: Vec<f64> = (0..100).map(|i| (f64::from(i) - 50.0) / 10.0).collect();
    let x = Tensor::from_slice(&numbers).set_requires_grad(true);
    let limit = Tensor::from_slice(&[1.5]).set_requires_grad(true);

    let y = pullback_tch::apply(
        |(x, limit): (&Tensor1<f64>, &Tensor1<f64>)| squash(x, limit),
        (&x, &limit),
    )?;
    let loss = y.square().sum(Kind::Double);
    loss.f_backward()?;

    let sum_of_abs = |grad: Tensor| grad.abs().sum(Kind::Double).double_value(&[]);
    println!("loss {:.16e}", loss.double_value(&[]));
    println!("grad x: {:.16e}", sum_of_abs(x.grad()));
    println!("grad limit: {:.16e}", sum_of_abs(limit.grad()));
    Ok(())
}
