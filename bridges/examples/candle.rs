//! `squash` in candle's graph: a loss, and its gradients by two variables.

use candle_core::{Device, Error, Result, Tensor, Var};
use pullback::Tensor1;
use pullback_fixtures::squash;

fn main() -> Result<()> {
    let numbers = (0..100).map(|i| (f64::from(i) - 50.0) / 10.0);
    let x = Var::from_vec(numbers.collect(), 100, &Device::Cpu)?;
    let limit = Var::new(&[1.5], &Device::Cpu)?;

    let function = |(x, limit): (&Tensor1<f64>, &Tensor1<f64>)| squash(x, limit);
    let y = pullback_candle::apply(function, (&x, &limit))?;
    let loss = y.sqr()?.sum_all()?;
    let grads = loss.backward()?;

    let size = |variable: &Tensor| {
        let grad = grads.get(variable).ok_or(Error::UnwrapNone)?;
        grad.abs()?.sum_all()?.to_scalar::<f64>()
    };
    println!("loss {:.16e}", loss.to_scalar::<f64>()?);
    println!("grad x: {:.16e}", size(&x)?);
    let grad_limit = grads.get(&limit).ok_or(Error::UnwrapNone)?;
    println!(
        "grad limit: {:.16e}",
        grad_limit.sum_all()?.to_scalar::<f64>()?
    );
    Ok(())
}
