//! A line for each built-in function.

use pullback::kernels::memory;
use pullback::ndarray::{Array, Axis, Ix2, Ix3, s};
use pullback::ops::{Attention, AttentionOptions, ConvOptions, Reduction, einsum};
use pullback::prelude::*;

use super::{Sweep, numbers};

/// The number of elements of most inputs.
const MANY: usize = 1 << 20;

/// Returns f of each element, as a loop by hand computes it in memory that is reused.
fn mapped<T: Element>(x: &TensorD<T>, f: impl Fn(T) -> T) -> Vec<T> {
    let mut results = memory::take(MANY);
    let view = x.view();
    results.extend(view.as_slice().expect("row-major").iter().map(|&x| f(x)));
    results
}

/// Returns f of the elements of two inputs, as a loop by hand computes it in memory that is reused.
fn zipped<T: Element>(x: &TensorD<T>, y: &TensorD<T>, f: impl Fn(T, T) -> T) -> Vec<T> {
    let mut results = memory::take(MANY);
    let (x, y) = (x.view(), y.view());
    let (x, y) = (
        x.as_slice().expect("row-major"),
        y.as_slice().expect("row-major"),
    );
    results.extend(x.iter().zip(y).map(|(&x, &y)| f(x, y)));
    results
}

fn leaf<T: Element>(shape: &[usize], low: f64, high: f64) -> TensorD<T> {
    numbers(shape, low, high).set_requires_grad(true)
}

pub(crate) fn all<T: Element>(sweep: &Sweep) {
    of_one_number::<T>(sweep);
    of_two_numbers::<T>(sweep);
    reductions::<T>(sweep);
    movements::<T>(sweep);
    losses::<T>(sweep);
    products::<T>(sweep);
    images::<T>(sweep);
    matrices::<T>(sweep);
}

fn of_one_number<T: Element>(sweep: &Sweep) {
    let n = T::from_f64;
    let x = &leaf::<T>(&[MANY], -2.0, 2.0);
    let positive = &leaf::<T>(&[MANY], 0.1, 3.0);
    let inside = &leaf::<T>(&[MANY], -0.9, 0.9);
    let above = &leaf::<T>(&[MANY], 1.1, 3.0);
    macro_rules! lines {
        ($($x:ident $method:ident($($value:expr),*) $(, by hand $by_hand:expr)?;)+) => {$(
            #[allow(unused_mut, unused_assignments)]
            let mut by_hand: Option<&dyn Fn() -> Vec<T>> = None;
            $(let loop_by_hand = || mapped($x, $by_hand); by_hand = Some(&loop_by_hand);)?
            sweep.line(stringify!($method), &[$x], || $x.$method($($value),*), by_hand);
        )+};
    }
    lines! {
        x abs(), by hand T::abs;
        inside acos(), by hand T::acos;
        above acosh(), by hand T::acosh;
        inside asin(), by hand T::asin;
        x asinh(), by hand T::asinh;
        x atan(), by hand T::atan;
        inside atanh(), by hand T::atanh;
        positive cbrt(), by hand T::cbrt;
        x clamp(n(-1.0), n(1.0)), by hand |x| x.max(n(-1.0)).min(n(1.0));
        x cos(), by hand T::cos;
        x cosh(), by hand T::cosh;
        x dropout(0.3, 7);
        x elu(n(1.0)), by hand |x| if x > T::zero() { x } else { x.exp_m1() };
        x erf();
        x exp(), by hand T::exp;
        x exp_m1(), by hand T::exp_m1;
        x gelu();
        x gelu_tanh();
        x leaky_relu(n(0.01)), by hand |x| if x > T::zero() { x } else { x * n(0.01) };
        positive ln(), by hand T::ln;
        positive ln_1p(), by hand T::ln_1p;
        x normal_cdf();
        x normal_pdf(), by hand |x| (x * x * n(-0.5)).exp() * n(0.398_942_280_401_432_7);
        positive powf(n(1.7)), by hand |x| x.powf(n(1.7));
        x powi(3), by hand |x| x * x * x;
        positive recip(), by hand T::recip;
        x relu(), by hand |x| x.max(T::zero());
        positive rsqrt(), by hand |x| x.sqrt().recip();
        x sigmoid(), by hand |x| (T::one() + (-x).exp()).recip();
        x silu(), by hand |x| x / (T::one() + (-x).exp());
        x sin(), by hand T::sin;
        x sinh(), by hand T::sinh;
        x softplus(), by hand |x| x.max(T::zero()) + (-x.abs()).exp().ln_1p();
        positive sqrt(), by hand T::sqrt;
        x square(), by hand |x| x * x;
        inside tan(), by hand T::tan;
        x tanh(), by hand T::tanh;
    }
    sweep.line("neg", &[x], || -x, Some(&|| mapped(x, |x| -x)));
    sweep.line(
        "add_scalar",
        &[x],
        || x + n(1.5),
        Some(&|| mapped(x, |x| x + n(1.5))),
    );
    sweep.line(
        "mul_scalar",
        &[x],
        || x * n(1.5),
        Some(&|| mapped(x, |x| x * n(1.5))),
    );
    sweep.line(
        "div_scalar",
        &[x],
        || x / n(1.5),
        Some(&|| mapped(x, |x| x / n(1.5))),
    );
}

fn of_two_numbers<T: Element>(sweep: &Sweep) {
    let (x, y) = (
        &leaf::<T>(&[MANY], -2.0, 2.0),
        &leaf::<T>(&[MANY], 0.1, 3.0),
    );
    sweep.line(
        "add",
        &[x, y],
        || x + y,
        Some(&|| zipped(x, y, |x, y| x + y)),
    );
    sweep.line(
        "sub",
        &[x, y],
        || x - y,
        Some(&|| zipped(x, y, |x, y| x - y)),
    );
    sweep.line(
        "mul",
        &[x, y],
        || x * y,
        Some(&|| zipped(x, y, |x, y| x * y)),
    );
    sweep.line(
        "div",
        &[x, y],
        || x / y,
        Some(&|| zipped(x, y, |x, y| x / y)),
    );
    sweep.line(
        "maximum",
        &[x, y],
        || x.maximum(y),
        Some(&|| zipped(x, y, T::max)),
    );
    sweep.line(
        "minimum",
        &[x, y],
        || x.minimum(y),
        Some(&|| zipped(x, y, T::min)),
    );
    let mask = x.view().mapv(|x| x > T::zero());
    sweep.line("where", &[x, y], || x.where_(&mask, y), None);
    let matrix = &leaf::<T>(&[1024, 1024], -1.0, 1.0);
    let row = &leaf::<T>(&[1, 1024], -1.0, 1.0);
    let column = &leaf::<T>(&[1024, 1], -1.0, 1.0);
    let by_rows = |of_row: fn(&[T], &[T], &mut Vec<T>)| {
        let mut results = memory::take(MANY);
        let (matrix, row) = (matrix.view(), row.view());
        let row = row.as_slice().expect("row-major");
        for elements in matrix.as_slice().expect("row-major").chunks_exact(1024) {
            of_row(elements, row, &mut results);
        }
        results
    };
    let add_row = |x: &[T], row: &[T], results: &mut Vec<T>| {
        results.extend(x.iter().zip(row).map(|(&x, &y)| x + y));
    };
    sweep.line(
        "add_row",
        &[matrix, row],
        || matrix + row,
        Some(&|| by_rows(add_row)),
    );
    let mul_column = |x: &[T], row: &[T], results: &mut Vec<T>| {
        let number = row[0];
        results.extend(x.iter().map(|&x| x * number));
    };
    sweep.line(
        "mul_column",
        &[matrix, column],
        || matrix * column,
        Some(&|| by_rows(mul_column)),
    );
    let other = &leaf::<T>(&[1024, 1024], -1.0, 1.0);
    let matrix: &Tensor2<T> = &matrix.clone().into_dimensionality().expect("two axes");
    sweep.line(
        "transpose_mul",
        &[other],
        || &matrix.detach().t() * other,
        None,
    );
}

fn reductions<T: Element>(sweep: &Sweep) {
    let x = &leaf::<T>(&[MANY], -2.0, 2.0);
    let folded = |f: fn(T, T) -> T, start: T| {
        let view = x.view();
        vec![view.iter().copied().fold(start, f)]
    };
    sweep.line(
        "sum",
        &[x],
        || x.sum(),
        Some(&|| folded(|x, y| x + y, T::zero())),
    );
    sweep.line("mean", &[x], || x.mean(), None);
    sweep.line("var", &[x], || x.var(1), None);
    sweep.line("std", &[x], || x.std(1), None);
    sweep.line("norm", &[x], || x.norm(), None);
    sweep.line(
        "max",
        &[x],
        || x.max(),
        Some(&|| folded(T::max, T::neg_infinity())),
    );
    sweep.line(
        "min",
        &[x],
        || x.min(),
        Some(&|| folded(T::min, T::infinity())),
    );
    sweep.line(
        "prod",
        &[x],
        || x.prod(),
        Some(&|| folded(|x, y| x * y, T::one())),
    );
    sweep.line("logsumexp", &[x], || x.logsumexp(), None);
    let x: &Tensor2<T> = &numbers::<T>(&[1024, 1024], -1.0, 1.0)
        .into_dimensionality()
        .map(|x: Tensor2<T>| x.set_requires_grad(true))
        .expect("two axes");
    for (number, axis) in [Axis(0), Axis(1)].into_iter().enumerate() {
        let name = |function: &str| format!("{function}_axis{number}");
        sweep.line(&name("sum"), &[x], || x.sum_axis(axis), None);
        sweep.line(&name("mean"), &[x], || x.mean_axis(axis), None);
        sweep.line(&name("var"), &[x], || x.var_axis(axis, 1), None);
        sweep.line(&name("std"), &[x], || x.std_axis(axis, 1), None);
        sweep.line(&name("norm"), &[x], || x.norm_axis(axis), None);
        sweep.line(&name("max"), &[x], || x.max_axis(axis), None);
        sweep.line(&name("min"), &[x], || x.min_axis(axis), None);
        sweep.line(&name("prod"), &[x], || x.prod_axis(axis), None);
        sweep.line(&name("logsumexp"), &[x], || x.logsumexp_axis(axis), None);
        sweep.line(&name("softmax"), &[x], || x.softmax(axis), None);
        sweep.line(&name("log_softmax"), &[x], || x.log_softmax(axis), None);
        sweep.line(&name("cumsum"), &[x], || x.cumsum(axis), None);
    }
}

fn movements<T: Element>(sweep: &Sweep) {
    let x: &Tensor2<T> = &numbers::<T>(&[1024, 1024], -1.0, 1.0)
        .into_dimensionality()
        .map(|x: Tensor2<T>| x.set_requires_grad(true))
        .expect("two axes");
    let zero = T::zero();
    sweep.line("cast", &[x], || x.cast::<f32>().cast::<f64>().cast(), None);
    sweep.line("flip", &[x], || x.flip(&[0]), None);
    sweep.line("roll", &[x], || x.roll(Axis(0), 7), None);
    sweep.line("pad", &[x], || x.pad(&[(1, 2), (3, 4)], zero), None);
    sweep.line("slice_exp", &[x], || x.slice(s![..;2, 1..]).exp(), None);
    sweep.line("transpose_exp", &[x], || x.t().exp(), None);
    sweep.line("permute_exp", &[x], || x.permute(&[1, 0]).exp(), None);
    sweep.line("concat", &[x], || Tensor::concat(Axis(0), &[x, x]), None);
    sweep.line("stack", &[x], || Tensor::stack(Axis(0), &[x, x]), None);
    sweep.line(
        "squeeze",
        &[x],
        || x.unsqueeze(Axis(0)).squeeze(Axis(0)).exp(),
        None,
    );
    let split = || {
        let parts = x.split(Axis(0), &[512, 512]);
        &parts[0] + &parts[1]
    };
    sweep.line("split", &[x], split, None);
    sweep.line("reshape", &[x], || x.reshape(MANY).exp(), None);
    let rows: Vec<usize> = (0..4096).map(|i| (i * 7919) % 1024).collect();
    sweep.line(
        "index_select",
        &[x],
        || x.index_select(Axis(0), &rows),
        None,
    );
    sweep.line("embedding", &[x], || x.embedding(&rows), None);
    let source = &x.detach();
    sweep.line(
        "index_add",
        &[x],
        || x.index_add(Axis(0), &rows[..1024], source),
        None,
    );
    let indices = Array::from_shape_fn((1024, 1024), |(i, j)| (i * 31 + j * 17) % 1024);
    sweep.line("gather", &[x], || x.gather(Axis(1), &indices), None);
    sweep.line(
        "scatter_add",
        &[x],
        || x.scatter_add(Axis(1), &indices, source),
        None,
    );
}

fn losses<T: Element>(sweep: &Sweep) {
    let (mean, one) = (Reduction::Mean, T::one());
    let x = &leaf::<T>(&[MANY], -2.0, 2.0);
    let target = &numbers::<T>(&[MANY], 0.1, 0.9);
    sweep.line("mse_loss", &[x], || x.mse_loss(target, mean), None);
    sweep.line("l1_loss", &[x], || x.l1_loss(target, mean), None);
    sweep.line("huber_loss", &[x], || x.huber_loss(target, one, mean), None);
    sweep.line(
        "bce_with_logits",
        &[x],
        || x.bce_with_logits(target, mean),
        None,
    );
    sweep.line("kl_div", &[x], || x.kl_div(target, mean), None);
    let logits: &Tensor2<T> = &numbers::<T>(&[1024, 1024], -1.0, 1.0)
        .into_dimensionality()
        .map(|x: Tensor2<T>| x.set_requires_grad(true))
        .expect("two axes");
    let labels: Vec<usize> = (0..1024).map(|i| (i * 31) % 1024).collect();
    sweep.line(
        "cross_entropy",
        &[logits],
        || logits.cross_entropy(&labels, mean),
        None,
    );
    sweep.line(
        "nll_loss",
        &[logits],
        || logits.nll_loss_unreduced(&labels, None),
        None,
    );
}

fn products<T: Element>(sweep: &Sweep) {
    let matrix = |rows: usize, columns: usize| -> Tensor2<T> {
        let numbers = numbers::<T>(&[rows, columns], -1.0, 1.0).into_dimensionality();
        numbers.expect("two axes").set_requires_grad(true)
    };
    let (a, b) = (&matrix(512, 512), &matrix(512, 512));
    sweep.line("matmul_512", &[a, b], || a.matmul(b), None);
    sweep.line("einsum_512", &[a, b], || einsum("ik,kj->ij", (a, b)), None);
    let (x, weight) = (&matrix(256, 1024), &matrix(512, 1024));
    let bias: Tensor1<T> = numbers::<T>(&[512], -1.0, 1.0)
        .into_dimensionality()
        .expect("one axis");
    sweep.line(
        "linear",
        &[x, weight],
        || x.linear(weight, Some(&bias)),
        None,
    );
    let (q, k) = (
        &leaf::<T>(&[64, 128, 64], -1.0, 1.0),
        &leaf::<T>(&[64, 64, 128], -1.0, 1.0),
    );
    let q: &Tensor<T, Ix3> = &q.clone().into_dimensionality().expect("three axes");
    let k: &Tensor<T, Ix3> = &k.clone().into_dimensionality().expect("three axes");
    sweep.line("bmm", &[q, k], || q.matmul(k), None);
    let heads = || {
        leaf::<T>(&[2, 4, 128, 64], -1.0, 1.0)
            .into_dimensionality()
            .expect("four axes")
    };
    let (q, k, v): (Tensor4<T>, Tensor4<T>, Tensor4<T>) = (heads(), heads(), heads());
    let attention = || Attention::apply(&q, &k, &v, &AttentionOptions::default());
    sweep.line("attention", &[&q, &k, &v], attention, None);
}

fn images<T: Element>(sweep: &Sweep) {
    let image: &Tensor4<T> = &leaf::<T>(&[8, 32, 64, 64], -1.0, 1.0)
        .into_dimensionality()
        .expect("four axes");
    for (size, padding) in [(1, 0), (3, 1), (5, 2)] {
        let weight: Tensor4<T> = leaf::<T>(&[32, 32, size, size], -1.0, 1.0)
            .into_dimensionality()
            .expect("four axes");
        for stride in [1, 2] {
            let options = ConvOptions {
                padding: [padding; 2],
                stride: [stride; 2],
                ..Default::default()
            };
            let name = format!("conv2d_{size}x{size}_stride{stride}");
            sweep.line(
                &name,
                &[image, &weight],
                || image.conv2d(&weight, None, options),
                None,
            );
        }
    }
    let weight: Tensor4<T> = leaf::<T>(&[32, 16, 3, 3], -1.0, 1.0)
        .into_dimensionality()
        .expect("four axes");
    let transposed = || image.conv_transpose2d(&weight, None, ConvOptions::default(), [0, 0]);
    sweep.line("conv_transpose2d", &[image, &weight], transposed, None);
    let eps = T::from_f64(1e-5);
    let norms = [64, 64];
    let layer = || image.layer_norm::<Ix2>(&norms, None, None, eps);
    sweep.line("layer_norm", &[image], layer, None);
    sweep.line(
        "batch_norm",
        &[image],
        || image.batch_norm(None, None, eps).0,
        None,
    );
    sweep.line(
        "group_norm",
        &[image],
        || image.group_norm(8, None, None, eps),
        None,
    );
    sweep.line(
        "max_pool2d",
        &[image],
        || image.max_pool2d([2, 2], [2, 2], [0, 0]),
        None,
    );
    sweep.line(
        "avg_pool2d",
        &[image],
        || image.avg_pool2d([3, 3], [2, 2], [1, 1]),
        None,
    );
}

fn matrices<T: Element>(sweep: &Sweep) {
    let number = |(i, j): (usize, usize)| {
        let off = ((i * 31 + j * 17 + (i * j) % 7) % 13) as f64 / 13.0;
        T::from_f64(if i == j { 300.0 } else { off })
    };
    for size in [16, 256] {
        let a = &Tensor::from(Array::from_shape_fn((size, size), number)).set_requires_grad(true);
        let b = &a.detach();
        let symmetric = &(&a.detach() + &a.detach().t()).set_requires_grad(true);
        let name = |function: &str| format!("{function}_{size}");
        let regular = "a regular matrix";
        sweep.line(&name("inv"), &[a], || a.inv().expect(regular), None);
        sweep.line(&name("solve"), &[a], || a.solve(b).expect(regular), None);
        sweep.line(&name("det"), &[a], || a.det().expect(regular), None);
        sweep.line(
            &name("cholesky"),
            &[symmetric],
            || symmetric.cholesky().expect(regular),
            None,
        );
        let spread: &Tensor2<T> = &leaf::<T>(&[size, size], -1.0, 1.0)
            .into_dimensionality()
            .expect("two axes");
        let qr = || {
            let (q, r) = spread.qr();
            q + r
        };
        sweep.line(&name("qr"), &[spread], qr, None);
        let eigh = || {
            let (values, vectors) = spread.eigh().expect(regular);
            vectors + values
        };
        sweep.line(&name("eigh"), &[spread], eigh, None);
        let svd = || {
            let (u, values, vt) = spread.svd().expect(regular);
            u + vt + values
        };
        sweep.line(&name("svd"), &[spread], svd, None);
    }
}
