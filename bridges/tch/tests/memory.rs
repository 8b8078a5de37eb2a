//! Resident memory, in a process of its own.
#![cfg(target_os = "linux")]

use pullback::Tensor1;
use pullback_kernels::squash;
use pullback_tch::apply;
use tch::{Kind, Tensor};

/// Of this process, in MiB.
fn resident() -> f64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: f64 = pages.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096.0 / f64::from(1 << 20)
}

/// Every loop may keep 8 MiB; one that leaked a tensor of 100 numbers in each round would keep 80.
#[test]
fn loops_of_100_000_rounds_keep_nothing() {
    let numbers: Vec<f64> = (0..100).map(f64::from).collect();
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
    let bounded = |name: &str, round: &dyn Fn()| {
        (0..1_000).for_each(|_| round());
        let before = resident();
        (0..100_000).for_each(|_| round());
        let growth = resident() - before;
        println!("{name}: {growth:.1} MiB");
        assert!(growth < 8.0, "{name}: {growth} MiB");
    };
    bounded("forward and backward", &|| {
        squashed().sum(Kind::Double).backward();
        zero();
    });
    bounded("forward alone", &|| drop(squashed()));
    bounded("a gradient of a gradient", &|| {
        let sum = squashed().sum(Kind::Double);
        let grads = Tensor::run_backward(&[sum], &[&x], true, true);
        grads[0].sum(Kind::Double).backward();
        zero();
    });
    bounded("an error in backward", &|| {
        let constant = Tensor::from_slice(&numbers);
        let y = apply(
            |(x, y): (&Tensor1<f64>, &Tensor1<f64>)| x * y,
            (&x, &constant),
        )
        .unwrap();
        let _ = tch::no_grad(|| constant.shallow_clone().g_add_scalar_(1.0));
        y.sum(Kind::Double).f_backward().unwrap_err();
    });
    bounded("an input that comes to depend on the output", &|| {
        let mut z = &x * 2.0;
        let y = apply(|z: &Tensor1<f64>| z * 2.0, &z).unwrap();
        let _ = z.g_mul_(&y.detach());
        let _ = z.g_add_(&y);
    });
}
