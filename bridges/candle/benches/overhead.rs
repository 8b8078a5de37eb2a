//! Measures the overhead of the bridge: squash with a limit of 1.5, forward and backward, as a `CustomOp1` written by
//! hand and through `pullback_candle::apply`.

use std::hint::black_box;
use std::time::Instant;

use candle_core::{CpuStorage, CustomOp1, Device, Error, Layout, Result, Shape, Tensor, Var};
use pullback::ndarray::{Array1, ArrayView1, Zip};
use pullback::prelude::*;

const LIMIT: f64 = 1.3;

/// The body of both versions.
fn squash(x: f64) -> f64 {
    let ratio = x / 1.5;
    x / (1.0 + ratio * ratio).sqrt()
}

fn slope(x: f64) -> f64 {
    let ratio = x / 1.5;
    let square = 1.0 + ratio * ratio;
    1.0 / (square * square.sqrt())
}

struct ByHand;

impl CustomOp1 for ByHand {
    fn name(&self) -> &'static str {
        "squash"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let x = contiguous(storage, layout)?;
        let y = x.iter().map(|&x| squash(x)).collect();
        Ok((CpuStorage::F64(y), layout.shape().clone()))
    }

    fn bwd(&self, x: &Tensor, _: &Tensor, grad_result: &Tensor) -> Result<Option<Tensor>> {
        let (storage, layout) = x.storage_and_layout();
        let (grad_storage, grad_layout) = grad_result.storage_and_layout();
        let x = contiguous(cpu(&storage)?, layout)?;
        let grad_result = contiguous(cpu(&grad_storage)?, grad_layout)?;
        let grads = x.iter().zip(grad_result);
        let grads: Vec<f64> = grads.map(|(&x, grad)| grad * slope(x)).collect();
        Tensor::from_vec(grads, layout.shape(), &Device::Cpu).map(Some)
    }
}

fn cpu(storage: &candle_core::Storage) -> Result<&CpuStorage> {
    match storage {
        candle_core::Storage::Cpu(storage) => Ok(storage),
        _ => Err(Error::msg("not on the CPU")),
    }
}

fn contiguous<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f64]> {
    let (start, end) = layout
        .contiguous_offsets()
        .ok_or_else(|| Error::msg("not contiguous"))?;
    Ok(&storage.as_slice()?[start..end])
}

#[custom_function(grad(x) = Zip::from(&grad_output).and(&x).map_collect(|grad, &x| grad * slope(x)))]
fn squashed(x: ArrayView1<f64>) -> Array1<f64> {
    x.mapv(squash)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() -> Result<()> {
    println!(
        "{:>9}  {:>12}  {:>12}  {:>5}",
        "elements", "by hand", "bridge", "ratio"
    );
    for length in [1_u32, 1_000, 1_000_000] {
        let x = (0..length).map(|i| (f64::from(i) * 0.37).sin() * 3.0);
        let x = Var::from_vec(x.collect(), length as usize, &Device::Cpu)?;
        let by_hand = || x.apply_op1(ByHand)?.backward();
        let bridge = || pullback_candle::apply(|x: &Tensor1<f64>| squashed(x), &x)?.backward();
        let runs = (2_000_000 / length).clamp(1, 20_000);
        let time = |run: &dyn Fn() -> Result<candle_core::backprop::GradStore>| -> Result<f64> {
            let start = Instant::now();
            for _ in 0..runs {
                black_box(run()?);
            }
            Ok(start.elapsed().as_secs_f64() / f64::from(runs))
        };
        let (mut of_hand, mut of_bridge, mut ratios) = (vec![], vec![], vec![]);
        for _ in 0..25 {
            // One after the other, so that what slows the machine slows both.
            let (hand, ours) = (time(&by_hand)?, time(&bridge)?);
            of_hand.push(hand);
            of_bridge.push(ours);
            ratios.push(ours / hand);
        }
        println!(
            "{length:>9}  {:>9.2} us  {:>9.2} us  {:>5.2}  (limit {LIMIT})",
            median(of_hand) * 1e6,
            median(of_bridge) * 1e6,
            median(ratios)
        );
    }
    Ok(())
}
