//! Initial values: their distributions, and the bits of a seed.

use pullback::ndarray::{Array, Array1, Array2, Array4, ArrayView2, Axis, Dimension};
use pullback::nn::Generator;
use pullback::nn::init::{self, Fan, Nonlinearity};

use crate::functions::panic_of;

fn generator() -> Generator {
    Generator::seed(7)
}

type Draw = fn(&mut Generator) -> Array2<f64>;

/// Returns mean and standard deviation.
fn moments<D: Dimension>(x: &Array<f64, D>) -> (f64, f64) {
    (x.mean().expect("elements"), x.std(0.0))
}

/// Returns Pearson's χ² for ten bins of equal probability: nine degrees of freedom, above 33.7 once in ten thousand
/// times.
fn chi_square(x: &Array1<f64>, share_below: impl Fn(f64) -> f64) -> f64 {
    let mut counts = [0.0; 10];
    for share in x.iter().map(|&x| share_below(x)) {
        let part = (1..10)
            .filter(|&part| share >= f64::from(part) / 10.0)
            .count();
        counts[part] += 1.0;
    }
    let expected = x.len() as f64 / 10.0;
    counts
        .iter()
        .map(|count| (count - expected).powi(2) / expected)
        .sum()
}

fn normal_share(x: f64) -> f64 {
    0.5 * (1.0 + pullback::kernels::erf(x / 2.0_f64.sqrt()))
}

#[test]
fn uniform_numbers_are_spread_evenly() {
    let x: Array1<f64> = init::uniform(100_000, -2.0, 3.0, &mut generator());
    let (mean, std) = moments(&x);
    assert!((mean - 0.5).abs() < 0.02 && (std - (25.0_f64 / 12.0).sqrt()).abs() < 0.01);
    assert!(x.iter().all(|x| (-2.0..3.0).contains(x)));
    assert!(chi_square(&x, |x| (x + 2.0) / 5.0) < 33.7);
    let huge: Array1<f64> = init::uniform(100, f64::MIN, f64::MAX, &mut generator());
    assert!(huge.iter().all(|x| x.is_finite()));
}

#[test]
fn normal_numbers_are_distributed_normally() {
    let x: Array1<f64> = init::normal(100_000, 1.0, 2.0, &mut generator());
    let (mean, std) = moments(&x);
    assert!(
        (mean - 1.0).abs() < 0.03 && (std - 2.0).abs() < 0.02,
        "{mean} {std}"
    );
    let standard = (&x - 1.0) / 2.0;
    assert!(chi_square(&standard, normal_share) < 33.7);
    let fourth = standard.mapv(|x| x.powi(4)).mean().expect("elements");
    assert!((fourth - 3.0).abs() < 0.1, "{fourth}");
    // Neighbors are independent.
    let products =
        &standard.slice(pullback::ndarray::s![1..]) * &standard.slice(pullback::ndarray::s![..-1]);
    assert!(products.mean().expect("elements").abs() < 0.015);
}

#[test]
fn truncated_numbers_are_those_of_the_normal_distribution_within_the_bounds() {
    let infinity = f64::INFINITY;
    for (low, high) in [
        (-1.0, 2.0),
        (-infinity, 0.5),
        (2.0, 3.0),
        (8.0, infinity),
        (-9.0, -8.5),
    ] {
        let x: Array1<f64> = init::truncated_normal(
            50_000,
            1.0,
            2.0,
            1.0 + 2.0 * low,
            1.0 + 2.0 * high,
            &mut generator(),
        );
        let standard = (&x - 1.0) / 2.0;
        let within = |x: &f64| (low - 1e-12..=high + 1e-12).contains(x);
        assert!(standard.iter().all(within), "{low} {high}");
        // Shares of a tail are computed from its own side, where they have digits.
        let share = |x: f64| {
            if low > 0.0 {
                tail(x)
            } else {
                normal_share_precise(x)
            }
        };
        let (first, last) = (share(low), share(high));
        let found = chi_square(&standard, |x| (share(x) - first) / (last - first));
        assert!(found < 33.7, "{low} {high}: {found}");
    }
}

/// Returns the share above, by Laplace's continued fraction, for numbers well above 0.
fn tail(x: f64) -> f64 {
    if x.is_infinite() {
        return 0.0;
    }
    let fraction = (1..200).rev().fold(x, |below, k| x + f64::from(k) / below);
    (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt() / fraction
}

fn normal_share_precise(x: f64) -> f64 {
    if x < -2.0 { tail(-x) } else { normal_share(x) }
}

#[test]
fn bounds_of_the_scaled_ones_are_pytorchs() {
    let shape = (8, 4, 3, 3);
    assert_eq!(init::fans(&[8, 4, 3, 3]), (36, 72));
    let largest = |x: Array4<f64>| x.fold(0.0_f64, |largest, x| largest.max(x.abs()));
    let close = |found: f64, bound: f64| found <= bound && found > 0.95 * bound;
    let xavier = init::xavier_uniform(shape, 2.0, &mut generator());
    assert!(close(largest(xavier), 2.0 * (6.0_f64 / 108.0).sqrt()));
    for (fan, count) in [(Fan::In, 36.0), (Fan::Out, 72.0)] {
        let kaiming = init::kaiming_uniform(shape, fan, Nonlinearity::Relu, &mut generator());
        assert!(close(largest(kaiming), (6.0_f64 / count).sqrt()));
    }
    // The initial values of PyTorch's layers have the bound 1 / √inputs.
    let slope = Nonlinearity::LeakyRelu(5.0_f64.sqrt());
    let layer = init::kaiming_uniform(shape, Fan::In, slope, &mut generator());
    assert!(close(largest(layer), 1.0 / 6.0));
}

#[test]
fn deviations_of_the_scaled_ones_are_pytorchs() {
    let shape = (200, 300);
    let (_, xavier) = moments(&init::xavier_normal::<f64, _>(shape, 3.0, &mut generator()));
    assert!((xavier / (3.0 * (2.0_f64 / 500.0).sqrt()) - 1.0).abs() < 0.01);
    for (fan, count) in [(Fan::In, 300.0), (Fan::Out, 200.0)] {
        let values =
            init::kaiming_normal::<f64, _>(shape, fan, Nonlinearity::Tanh, &mut generator());
        let (mean, std) = moments(&values);
        assert!((std / (5.0 / 3.0 / f64::sqrt(count)) - 1.0).abs() < 0.01);
        assert!(mean.abs() < 0.01);
    }
}

#[test]
fn gains_are_pytorchs() {
    let gains = [
        (Nonlinearity::Linear, 1.0),
        (Nonlinearity::Sigmoid, 1.0),
        (Nonlinearity::Tanh, 5.0 / 3.0),
        (Nonlinearity::Relu, 2.0_f64.sqrt()),
        (Nonlinearity::LeakyRelu(0.2), (2.0_f64 / 1.04).sqrt()),
        (Nonlinearity::Selu, 0.75),
    ];
    for (nonlinearity, gain) in gains {
        assert!(
            (nonlinearity.gain() - gain).abs() < 1e-15,
            "{nonlinearity:?}"
        );
    }
}

/// Returns the largest difference between the products of vectors and those of orthogonal vectors of length `gain`.
fn off_right_angles(vectors: ArrayView2<'_, f64>, gain: f64) -> f64 {
    let off = vectors.dot(&vectors.t()) - Array2::<f64>::eye(vectors.nrows()) * (gain * gain);
    off.fold(0.0, |largest: f64, x| largest.max(x.abs()))
}

#[test]
fn orthogonal_rows_or_columns_are() {
    for (rows, columns) in [(20, 50), (50, 20), (33, 33), (1, 4), (4, 1), (0, 3), (3, 0)] {
        let q: Array2<f64> = init::orthogonal((rows, columns), 2.0, &mut generator());
        let vectors = if rows <= columns { q.view() } else { q.t() };
        assert!(off_right_angles(vectors, 2.0) < 1e-14, "{rows} {columns}");
        let single: Array2<f32> = init::orthogonal((rows, columns), 1.0, &mut generator());
        let single = single.mapv(f64::from);
        let vectors = if rows <= columns {
            single.view()
        } else {
            single.t()
        };
        assert!(off_right_angles(vectors, 1.0) < 1e-6, "{rows} {columns}");
    }
    let kernels: Array4<f64> = init::orthogonal((6, 3, 2, 2), 1.0, &mut generator());
    let rows = kernels.to_shape((6, 12)).expect("as many elements");
    assert!(off_right_angles(rows.view(), 1.0) < 1e-14);
}

#[test]
fn orthogonal_matrices_are_as_likely_as_their_rotations() {
    // Each element of a row of length 1 has the mean 0 and the mean square 1 / columns.
    let mut generator = generator();
    let mut sums = Array2::<f64>::zeros((3, 3));
    let mut squares = sums.clone();
    for _ in 0..4000 {
        let q: Array2<f64> = init::orthogonal((3, 3), 1.0, &mut generator);
        sums += &q;
        squares += &(&q * &q);
    }
    assert!((sums / 4000.0).iter().all(|mean| mean.abs() < 0.05));
    assert!(
        (squares / 4000.0)
            .iter()
            .all(|mean| (mean - 1.0 / 3.0).abs() < 0.03)
    );
}

#[test]
fn f32_is_f64_rounded() {
    let double: Array2<f64> = init::normal((4, 5), 0.0, 1.0, &mut generator());
    let single: Array2<f32> = init::normal((4, 5), 0.0, 1.0, &mut generator());
    assert_eq!(single, double.mapv(<f32 as pullback::Element>::from_f64));
    assert!(
        double
            .axis_iter(Axis(0))
            .all(|row| row.iter().any(|x| *x != 0.0))
    );
}

/// The bits of the first numbers of a seed, on every machine.
#[test]
fn a_seed_gives_the_same_bits_for_ever() {
    fn bits<D: Dimension>(x: &Array<f64, D>) -> Vec<u64> {
        x.iter().take(3).map(|x| x.to_bits()).collect()
    }
    let of = |draw: Draw| bits(&draw(&mut generator()));
    let found = [
        of(|g| init::uniform((2, 3), -1.0, 1.0, g)),
        of(|g| init::normal((2, 3), 0.0, 1.0, g)),
        of(|g| init::truncated_normal((2, 3), 0.0, 1.0, -2.0, 2.0, g)),
        of(|g| init::xavier_uniform((2, 3), 1.0, g)),
        of(|g| init::xavier_normal((2, 3), 1.0, g)),
        of(|g| init::kaiming_uniform((2, 3), Fan::In, Nonlinearity::Relu, g)),
        of(|g| init::kaiming_normal((2, 3), Fan::Out, Nonlinearity::Tanh, g)),
        of(|g| init::orthogonal((2, 3), 1.0, g)),
    ];
    let expected: [[u64; 3]; 8] = [
        [
            0xbfec_74f9_7ff5_545c,
            0xbfe4_fc0d_c881_6c5a,
            0x3fdb_d988_d9d8_6a2c,
        ],
        [
            0xbff9_84f6_3888_dca3,
            0xbfee_444c_0b95_6f6f,
            0x3fe2_6bc6_1054_300b,
        ],
        [
            0xbff6_f740_93b0_c019,
            0xbfec_71ad_9641_d67a,
            0x3fe1_7dd2_7586_b10c,
        ],
        [
            0xbfef_2c4a_337c_792f,
            0xbfe6_fcca_4671_afa0,
            0x3fde_8203_89cd_6911,
        ],
        [
            0xbff0_23ce_ce04_57d6,
            0xbfe3_2474_0db6_290b,
            0x3fd7_4d08_c8aa_06a5,
        ],
        [
            0xbff4_1f41_442e_5d25,
            0xbfed_ad3b_3cfc_d62f,
            0x3fe3_b157_9d4d_d646,
        ],
        [
            0xbffe_132b_5859_9ae9,
            0xbff1_d5ba_52a0_7929,
            0x3fe5_b597_b3cd_0ec9,
        ],
        [
            0xbfea_4964_4e1f_3be7,
            0xbfdf_2d44_ea0c_6d41,
            0x3fd2_f990_ba9f_f163,
        ],
    ];
    assert_eq!(found, expected.map(Vec::from));
}

#[test]
fn bad_settings_are_refused_by_name() {
    let cases: [(Draw, &str); 6] = [
        (
            |g| init::uniform((1, 1), 1.0, 0.0, g),
            "uniform from 1 to 0",
        ),
        (
            |g| init::normal((1, 1), 0.0, -1.0, g),
            "the standard deviation -1",
        ),
        (
            |g| init::truncated_normal((1, 1), 0.0, 1.0, 2.0, 2.0, g),
            "truncated_normal between 2 and 2",
        ),
        (
            |g| init::xavier_normal((1, 1), f64::NAN, g),
            "a gain of NaN",
        ),
        (
            |g| init::kaiming_normal((1, 1), Fan::In, Nonlinearity::LeakyRelu(f64::NAN), g),
            "LeakyRelu(NaN)",
        ),
        (
            |g| init::orthogonal((1, 1), f64::INFINITY, g),
            "the gain inf",
        ),
    ];
    for (draw, message) in cases {
        let found = panic_of(|| draw(&mut generator())).0;
        assert!(found.contains(message), "{found}");
    }
}

#[test]
#[should_panic(expected = "fans of weights of shape [3]")]
fn fans_need_two_axes() {
    let _: Array1<f64> = init::xavier_normal(3, 1.0, &mut generator());
}
