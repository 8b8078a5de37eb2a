//! Resident memory, in a process of its own.
#![cfg(target_os = "linux")]

use pullback::Tensor1;
use pullback_fixtures::squash;
use pullback_tch::apply;
use tch::{Kind, Tensor};

/// Returns the resident memory of this process in MiB.
fn resident() -> f64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: f64 = pages.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096.0 / f64::from(1 << 20)
}

/// A loop of 10,000 rounds may keep 0.8 MiB, which are 84 bytes of each; no tensor is as small.
#[test]
fn loops_keep_nothing() {
    let numbers = [1.0, -2.0, 3.0, 4.0];
    let x = Tensor::from_slice(&numbers).set_requires_grad(true);
    let limit = Tensor::from_slice(&[1.5]).set_requires_grad(true);
    let squashed = || {
        let squash = |(x, limit): (&Tensor1<f64>, &Tensor1<f64>)| squash(x, limit);
        apply(squash, (&x, &limit)).unwrap()
    };
    let zero = || {
        x.shallow_clone().zero_grad();
        limit.shallow_clone().zero_grad();
    };
    let bounded = |name: &str, rounds: usize, round: &dyn Fn()| {
        (0..1_000).for_each(|_| round());
        let before = resident();
        (0..rounds).for_each(|_| round());
        let growth = resident() - before;
        println!("{name}: {growth:.1} MiB");
        assert!(growth < 8e-5 * rounds as f64, "{name}: {growth} MiB");
    };
    bounded("forward and backward", 20_000, &|| {
        squashed().sum(Kind::Double).backward();
        zero();
    });
    bounded("forward alone", 20_000, &|| drop(squashed()));
    bounded("a gradient of a gradient", 10_000, &|| {
        let sum = squashed().sum(Kind::Double);
        let grads = Tensor::run_backward(&[sum], &[&x], true, true);
        grads[0].sum(Kind::Double).backward();
        zero();
    });
    bounded("an error in backward", 10_000, &|| {
        let constant = Tensor::from_slice(&numbers);
        let y = apply(
            |(x, y): (&Tensor1<f64>, &Tensor1<f64>)| x * y,
            (&x, &constant),
        )
        .unwrap();
        let _ = tch::no_grad(|| constant.shallow_clone().g_add_scalar_(1.0));
        y.sum(Kind::Double).f_backward().unwrap_err();
    });
    bounded("an input that depends on the output later", 10_000, &|| {
        let mut z = &x * 2.0;
        let y = apply(|z: &Tensor1<f64>| z * 2.0, &z).unwrap();
        let _ = z.g_mul_(&y.detach());
        let _ = z.g_add_(&y);
    });
}
