//! Functions of pullback in burn's graph, beside burn's own operations.

mod functions;
mod graphs;
mod inputs;
mod mistakes;
mod training;

use burn::tensor::{DType, Device, Tensor, TensorData};

/// Autodiff without and with gradient checkpointing.
fn devices() -> [Device; 2] {
    [
        Device::flex().autodiff(),
        Device::flex().autodiff().gradient_checkpointing(),
    ]
}

/// A generator with the same numbers in each run.
struct Random(u64);

impl Random {
    /// A number between -1 and 1.
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        f64::from((self.0 >> 32) as u32) / f64::from(u32::MAX) * 2.0 - 1.0
    }

    fn length(&mut self) -> usize {
        self.next();
        1 + usize::try_from(self.0 >> 32).expect("32 bits") % 6
    }

    fn tensor<const D: usize>(
        &mut self,
        shape: [usize; D],
        dtype: DType,
        device: &Device,
    ) -> Tensor<D> {
        let elements: Vec<f64> = (0..shape.iter().product()).map(|_| self.next()).collect();
        Tensor::from_data(TensorData::new(elements, shape), (device, dtype))
    }

    fn leaf<const D: usize>(
        &mut self,
        shape: [usize; D],
        dtype: DType,
        device: &Device,
    ) -> Tensor<D> {
        self.tensor(shape, dtype, device).require_grad()
    }
}

/// Returns another leaf with the same value.
fn twin<const D: usize>(tensor: &Tensor<D>) -> Tensor<D> {
    tensor.clone().detach().require_grad()
}

fn numbers<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor
        .into_data()
        .convert::<f64>()
        .try_to_vec()
        .expect("numbers")
}

/// Asserts equality to a few units in the last place.
#[track_caller]
fn assert_close<const D: usize>(found: Tensor<D>, expected: Tensor<D>) {
    assert_eq!(
        (found.shape(), found.dtype()),
        (expected.shape(), expected.dtype())
    );
    let tolerance = if found.dtype() == DType::F64 {
        1e-13
    } else {
        1e-5
    };
    for (found, expected) in numbers(found).into_iter().zip(numbers(expected)) {
        let error = (found - expected).abs();
        assert!(
            error <= tolerance * expected.abs().max(1.0),
            "{found}, where burn has {expected}"
        );
    }
}
