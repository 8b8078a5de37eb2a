//! `squash` in burn's graph: a loss, and its gradients by two tensors.

use burn::tensor::{DType, Device, Tensor, TensorData};
use pullback::Tensor1;
use pullback_burn::apply;
use pullback_fixtures::squash;

fn main() {
    let device = Device::flex().autodiff();
    let leaf = |elements: Vec<f64>| {
        let data = TensorData::new(elements.clone(), [elements.len()]);
        Tensor::<1>::from_data(data, (&device, DType::F64)).require_grad()
    };
    let x = leaf((0..100).map(|i| (f64::from(i) - 50.0) / 10.0).collect());
    let limit = leaf(vec![1.5]);

    let y = apply(
        |(x, limit): (&Tensor1<f64>, &Tensor1<f64>)| squash(x, limit),
        (x.clone(), limit.clone()),
    );
    let loss = (y.clone() * y).sum();
    let grads = loss.backward();
    let size = |leaf: &Tensor<1>| leaf.grad(&grads).unwrap().abs().sum().into_scalar::<f64>();
    println!("loss {:.16e}", loss.into_scalar::<f64>());
    println!("grad x: {:.16e}", size(&x));
    println!("grad limit: {:.16e}", size(&limit));
}
