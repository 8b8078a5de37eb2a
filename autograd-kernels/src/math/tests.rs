//! Single precision against double, double against the standard library: the worst error in units in the last
//! place. A sample of all bit patterns, every one with the environment variable `PULLBACK_ALL_BITS`.

use super::near::{NEAR, double, single};
use super::*;

/// Returns the step between tested bit patterns of single precision.
fn step() -> usize {
    let all = std::env::var_os("PULLBACK_ALL_BITS").is_some();
    if all { 1 } else { 10_007 }
}

/// The distance in units in the last place of the single-precision number that is nearest to `expected`.
fn error(found: f32, expected: f64) -> f64 {
    let nearest = expected as f32;
    if nearest.is_nan() || nearest.is_infinite() {
        let same = found == nearest || found.is_nan() && nearest.is_nan();
        return if same { 0.0 } else { f64::INFINITY };
    }
    let exponent = (nearest.abs().to_bits() >> 23).max(1);
    let unit = f64::from(f32::from_bits(exponent << 23)) * f64::from(f32::EPSILON);
    (f64::from(found) - expected).abs() / unit
}

/// The worst error over all bit patterns, of numbers alone and in rows.
fn worst(name: &str, function: impl Fn(f32) -> f32 + Copy + Sync, exact: fn(f64) -> f64) -> f64 {
    let mut worst = (0.0, 0.0);
    let patterns: Vec<u32> = (0..=u32::MAX).step_by(step()).collect();
    for row in patterns.chunks(1 << 16) {
        let x: Vec<f32> = row.iter().map(|&bits| f32::from_bits(bits)).collect();
        let mut y = x.clone();
        crate::map_in_place(&mut y, function);
        for (&x, &y) in x.iter().zip(&y) {
            let alone = function(x);
            assert!(
                alone.to_bits() == y.to_bits() || y.is_nan(),
                "{name}({x:e})"
            );
            let error = error(y, exact(f64::from(x)));
            if error > worst.0 {
                worst = (error, x);
            }
        }
    }
    println!("{name}: {:.3} units at {:e}", worst.0, worst.1);
    worst.0
}

#[test]
fn single_precision_is_right_to_a_few_units() {
    let sigmoid_exact = |x: f64| {
        let e = (-x.abs()).exp();
        if x < 0.0 {
            e / (1.0 + e)
        } else {
            1.0 / (1.0 + e)
        }
    };
    assert!(worst("exp", exp, f64::exp) <= 1.0);
    assert!(worst("exp_m1", exp_m1, f64::exp_m1) <= 3.0);
    assert!(worst("ln", ln, f64::ln) <= 1.0);
    assert!(worst("ln_1p", ln_1p, f64::ln_1p) <= 2.0);
    assert!(worst("tanh", tanh, f64::tanh) <= 3.0);
    assert!(worst("sigmoid", sigmoid, sigmoid_exact) <= 3.0);
    let softplus_exact = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
    assert!(worst("softplus", softplus, softplus_exact) <= 3.0);
    // The standard library has no error function; that of double precision is compared with a table.
    assert!(worst("erf", erf, erf::<f64>) <= 2.0);
    // The tails are products of roundings.
    assert!(worst("gelu", gelu, gelu::<f64>) <= 11.0);
    assert!(worst("normal_cdf", normal_cdf, normal_cdf::<f64>) <= 11.0);
    assert!(worst("normal_pdf", normal_pdf, normal_pdf::<f64>) <= 3.0);
}

/// The distance of two numbers in representable ones.
fn apart(x: f64, y: f64) -> u64 {
    if x.is_nan() || y.is_nan() {
        return if x.is_nan() && y.is_nan() {
            0
        } else {
            u64::MAX
        };
    }
    let place = |x: f64| {
        let size = (x.abs().to_bits()).cast_signed();
        if x.is_sign_negative() { -size } else { size }
    };
    place(x).abs_diff(place(y))
}

#[test]
fn double_precision_is_right_to_a_few_units() {
    type Bounded = (&'static str, u64, fn(f64) -> f64, fn(f64) -> f64);
    let functions: [Bounded; 6] = [
        ("softplus", 2, softplus, |x| {
            x.max(0.0) + (-x.abs()).exp().ln_1p()
        }),
        ("exp", 2, exp, f64::exp),
        ("exp_m1", 2, exp_m1, f64::exp_m1),
        ("ln", 2, ln, f64::ln),
        ("ln_1p", 2, ln_1p, f64::ln_1p),
        ("tanh", 3, tanh, f64::tanh),
    ];
    let bits = (0..=u64::MAX).step_by((1 << 46) + 0x1234_5677);
    let numbers: Vec<f64> = bits
        .map(f64::from_bits)
        .chain((-200_000..200_000).map(|i| f64::from(i) * 1.000_123e-4))
        .collect();
    for (name, bound, function, expected) in functions {
        for &x in &numbers {
            let units = apart(function(x), expected(x));
            assert!(units <= bound, "{name}({x:e}) is {units} units off");
        }
    }
}

#[test]
fn zeros_keep_their_sign_and_limits_are_exact() {
    for function in [exp_m1::<f64>, ln_1p, tanh, erf] {
        for zero in [0.0, -0.0] {
            assert_eq!(function(zero).to_bits(), zero.to_bits());
        }
    }
    for function in [exp_m1::<f32>, ln_1p, tanh, erf] {
        for zero in [0.0, -0.0] {
            assert_eq!(function(zero).to_bits(), zero.to_bits());
        }
    }
    let infinity = f64::INFINITY;
    assert_eq!([exp(infinity), exp(-infinity)], [infinity, 0.0]);
    assert_eq!([ln(infinity), ln(0.0)], [infinity, -infinity]);
    assert_eq!([tanh(infinity), tanh(-infinity)], [1.0, -1.0]);
    assert_eq!([sigmoid(infinity), sigmoid(-infinity)], [1.0, 0.0]);
    assert_eq!([erf(infinity), erf(-infinity)], [1.0, -1.0]);
    assert_eq!([gelu(infinity), gelu(-f64::MAX)], [infinity, 0.0]);
    assert_eq!([gelu(f32::INFINITY), gelu(-f32::MAX)], [f32::INFINITY, 0.0]);
    assert!(gelu(-infinity).is_nan() && gelu(f32::NEG_INFINITY).is_nan());
    assert!(ln(-1.0_f64).is_nan() && ln_1p(-1.5_f64).is_nan());
}

#[test]
fn the_error_function_is_right_to_two_units() {
    // x, erf x, x Φ(x), −x Φ(−x), computed with forty digits.
    #[rustfmt::skip]
    let table = [
        (1.0e-300, 1.128_379_167_095_512_6e-300, 5.0e-301, -5.0e-301),
        (1.0e-9, 1.128_379_167_095_512_7e-9, 5.000_000_003_989_423e-10, -4.999_999_996_010_577e-10),
        (0.1, 0.112_462_916_018_284_9, 0.053_982_783_727_702_904, -0.046_017_216_272_297_1),
        (0.437_5, 0.463_898_135_749_933, 0.292_742_455_232_115_34, -0.144_757_544_767_884_66),
        (0.812_5, 0.749_464_025_586_362, 0.643_294_930_453_411_5, -0.169_205_069_546_588_54),
        (0.843_75, 0.767_225_661_232_341_6, 0.675_502_402_102_279_2, -0.168_247_597_897_720_79),
        (0.859_375, 0.775_763_474_378_185_8, 0.691_739_443_872_29, -0.167_635_556_127_709_94),
        (0.875, 0.784_075_061_059_859_7, 0.708_061_416_254_053_2, -0.166_938_583_745_946_8),
        (1.0, 0.842_700_792_949_714_9, 0.841_344_746_068_542_9, -0.158_655_253_931_457_05),
        (1.25, 0.922_900_128_256_458_3, 1.117_937_782_916_431, -0.132_062_217_083_569_08),
        (1.7, 0.983_790_458_590_774_5, 1.624_238_713_310_476_8, -0.075_761_286_689_523_17),
        (2.25, 0.998_537_283_413_318_8, 2.222_494_936_526_149_3, -0.027_505_063_473_850_584),
        (3.0, 0.999_977_909_503_001_4, 2.995_950_305_905_11, -0.004_049_694_094_890_283_5),
        (4.5, 0.999_999_999_803_383_9, 4.499_984_710_470_938_5, -1.528_952_906_128_527_2e-5),
        (5.75, 0.999_999_999_999_999_6, 5.749_999_974_342_509, -2.565_749_160_993_426_8e-8),
        (6.0, 1.0, 5.999_999_994_080_474, -5.919_525_870_226_188_5e-9),
        (10.0, 1.0, 10.0, -7.619_853_024_160_526e-23),
        (20.0, 1.0, 20.0, -5.507_248_237_212_468e-88),
        (30.0, 1.0, 30.0, -1.472_014_178_144_456e-196),
        (37.5, 1.0, 37.5, -1.727_007_378_593_233_2e-306),
    ];
    for (x, of_x, right, left) in table {
        assert!(apart(erf(x), of_x) <= 2, "erf({x:e}) is {:e}", erf(x));
        assert!(apart(erf(-x), -of_x) <= 2, "erf(-{x:e}) is {:e}", erf(-x));
        assert!(apart(gelu(x), right) <= 8, "gelu({x:e}) is {:e}", gelu(x));
        assert!(apart(gelu(-x), left) <= 8, "gelu(-{x:e}) is {:e}", gelu(-x));
    }
}

#[test]
fn the_derivative_of_gelu_is_that_of_a_product() {
    for step in -80_i16..=80 {
        let x = 0.5 * f64::from(step);
        assert_eq!(gelu_derivative(x), normal_cdf(x) + x * normal_pdf(x), "{x}");
        let x = 0.5 * f32::from(step);
        assert_eq!(gelu_derivative(x), normal_cdf(x) + x * normal_pdf(x), "{x}");
    }
}

#[test]
fn trigonometric_functions_of_single_precision_are_right_to_two_units() {
    assert!(worst("sin", sin, f64::sin) <= 2.0);
    assert!(worst("cos", cos, f64::cos) <= 2.0);
    assert!(worst("tan", tan, f64::tan) <= 2.0);
    assert!(worst("asin", asin, f64::asin) <= 2.0);
    assert!(worst("acos", acos, f64::acos) <= 2.0);
    assert!(worst("atan", atan, f64::atan) <= 2.0);
}

#[test]
fn hyperbolic_functions_and_roots_of_single_precision_are_right_to_a_few_units() {
    assert!(worst("sinh", sinh, f64::sinh) <= 2.0);
    assert!(worst("cosh", cosh, f64::cosh) <= 2.0);
    assert!(worst("asinh", asinh, f64::asinh) <= 4.0);
    assert!(worst("acosh", acosh, f64::acosh) <= 4.0);
    assert!(worst("atanh", atanh, f64::atanh) <= 4.0);
    assert!(worst("cbrt", cbrt, f64::cbrt) <= 1.0);
}

/// Worst over all bit patterns of x, beside a number y and the other way around.
macro_rules! worst_beside {
    ($name:literal, $ours:path, $exact:path, $($y:literal),*) => {{
        let mut all = 0.0_f64;
        $(
            all = all.max(worst($name, |x| $ours(x, $y), |x| $exact(x, f64::from($y as f32))));
            all = all.max(worst($name, |x| $ours($y, x), |x| $exact(f64::from($y as f32), x)));
        )*
        all
    }};
}

#[test]
fn functions_of_two_numbers_of_single_precision_are_right_to_two_units() {
    let powers = worst_beside!(
        "powf",
        powf,
        f64::powf,
        0.0,
        -0.0,
        0.5,
        -1.0,
        1.0,
        1.7,
        -2.0,
        3.0,
        -3e-41,
        1e30
    );
    assert!(powers <= 1.0);
    let angles = worst_beside!(
        "atan2",
        atan2,
        f64::atan2,
        0.0,
        -0.0,
        1.0,
        -1.0,
        3e-41,
        -2e38,
        0.3
    );
    assert!(angles <= 2.0);
    let distances = worst_beside!("hypot", hypot, f64::hypot, 0.0, 1.0, -2e38, 3e-41, 0.3);
    assert!(distances <= 2.0);
    let infinity = f32::INFINITY;
    for (p, expected) in [(infinity, 0.0), (-infinity, infinity)] {
        assert_eq!(powf(0.5, p), expected);
        assert_eq!(powf(2.0, -p), expected);
        assert_eq!([powf(-1.0, p), powf(1.0, p)], [1.0; 2]);
    }
    assert_eq!([powf(f32::NAN, 0.0), powf(1.0, f32::NAN)], [1.0; 2]);
    assert!(powf(-1.0, f32::NAN).is_nan() && powf(-8.0, 0.3_f32).is_nan());
    assert_eq!(hypot(f32::NAN, -infinity), infinity);
}

/// Returns the bound, in units, and the result of a function of double precision.
fn of_double(name: &str, x: f64, y: f64) -> (u64, f64) {
    match name {
        "sin" => (2, sin(x)),
        "cos" => (2, cos(x)),
        "tan" => (2, tan(x)),
        "asin" => (2, asin(x)),
        "acos" => (2, acos(x)),
        "atan" => (2, atan(x)),
        "sinh" => (2, sinh(x)),
        "cosh" => (2, cosh(x)),
        "asinh" => (4, asinh(x)),
        "acosh" => (4, acosh(x)),
        "atanh" => (4, atanh(x)),
        "cbrt" => (1, cbrt(x)),
        "powf" => (1, powf(x, y)),
        "atan2" => (2, atan2(x, y)),
        _ => (2, hypot(x, y)),
    }
}

/// The table has bit patterns: a name, one argument or two, and the nearest number to the result, computed with a
/// thousand binary digits. It has the ends of ranges, multiples of π/2 and large numbers.
#[test]
fn double_precision_is_that_of_a_table() {
    for line in include_str!("golden.txt").lines() {
        let mut words = line.split(' ');
        let name = words.next().unwrap();
        let numbers: Vec<f64> = words
            .map(|word| f64::from_bits(u64::from_str_radix(word, 16).unwrap()))
            .collect();
        let (x, y, expected) = (numbers[0], numbers[1], numbers[numbers.len() - 1]);
        let (bound, found) = of_double(name, x, y);
        assert!(
            apart(found, expected) <= bound,
            "{name}({x:e}) is {found:e}, not {expected:e}"
        );
    }
}

type OfOne = (&'static str, fn(f64) -> f64);
type OfTwo = (&'static str, fn(f64, f64) -> f64);

/// Compared with the standard library, which may itself be wrong by a unit.
#[test]
fn special_numbers_of_double_precision_are_right() {
    let functions: [OfOne; 12] = [
        ("sin", f64::sin),
        ("cos", f64::cos),
        ("tan", f64::tan),
        ("asin", f64::asin),
        ("acos", f64::acos),
        ("atan", f64::atan),
        ("sinh", f64::sinh),
        ("cosh", f64::cosh),
        ("asinh", f64::asinh),
        ("acosh", f64::acosh),
        ("atanh", f64::atanh),
        ("cbrt", f64::cbrt),
    ];
    let special = [0.0, 5e-324, 1e-310, 0.5, 1.0, 1.5, 1e300, f64::INFINITY];
    let special = special.into_iter().flat_map(|x| [x, -x]).chain([f64::NAN]);
    let special: Vec<f64> = special.collect();
    for &x in &special {
        for &(name, exact) in &functions {
            let (bound, found) = of_double(name, x, 0.0);
            let expected = exact(x);
            assert!(
                apart(found, expected) <= bound + 1,
                "{name}({x:e}) is {found:e}, not {expected:e}"
            );
            assert!(
                found.is_nan() || found.is_sign_negative() == expected.is_sign_negative(),
                "{name}({x:e})"
            );
        }
        for &y in special.iter().chain(&[3.0, -2.0, -7.0, 1e300]) {
            let two: [OfTwo; 3] = [
                ("powf", f64::powf),
                ("atan2", f64::atan2),
                ("hypot", f64::hypot),
            ];
            for (name, exact) in two {
                let (bound, found) = of_double(name, x, y);
                let expected = exact(x, y);
                assert!(
                    apart(found, expected) <= bound + 1,
                    "{name}({x:e}, {y:e}) is {found:e}, not {expected:e}"
                );
                assert!(
                    found.is_nan() || found.is_sign_negative() == expected.is_sign_negative(),
                    "{name}({x:e}, {y:e})"
                );
            }
        }
    }
}

#[test]
fn powers_of_special_numbers_are_those_of_the_standard_library() {
    let infinity = f64::INFINITY;
    let special = [
        0.0,
        0.5,
        1.0,
        1.5,
        2.0,
        3.0,
        1e19,
        1e300,
        9_007_199_254_740_991.0,
        infinity,
    ];
    let signed = special.iter().flat_map(|&x| [x, -x]).chain([f64::NAN]);
    let all: Vec<f64> = signed.collect();
    for &x in &all {
        for &p in &all {
            let (found, expected) = (powf(x, p), x.powf(p));
            let is_close = (found - expected).abs() <= 1e-15 * expected.abs();
            let is_same =
                found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
            assert!(
                is_close && found.is_sign_negative() == expected.is_sign_negative() || is_same,
                "{x}, {p}: {found}"
            );
            let (x, p) = (x as f32, p as f32);
            let (found, expected) = (powf(x, p), x.powf(p));
            let is_close = (found - expected).abs() <= 2e-7 * expected.abs();
            let is_same =
                found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
            assert!(
                is_close && found.is_sign_negative() == expected.is_sign_negative() || is_same,
                "{x}, {p}: {found}"
            );
        }
    }
}

/// Powers from 1e-300 to 1e300 of numbers next to 1, where a mistake in the last digits of the logarithm is largest.
#[test]
fn powers_with_large_exponents_are_right_to_a_unit() {
    for step in 0..4_000 {
        let x = 0.700_1 + 0.000_18 * f64::from(step);
        for share in [-0.97, -0.31, 0.43, 0.99] {
            let p = 690.0 * share / x.ln();
            let (bound, found) = of_double("powf", x, p);
            let expected = x.powf(p);
            assert!(
                apart(found, expected) <= bound + 1,
                "powf({x:e}, {p:e}) is {found:e}, not {expected:e}"
            );
        }
    }
}

/// Numbers up to 25,000 are reduced in another way than larger ones. The worst are next to multiples of π/2.
#[test]
fn angles_of_double_precision_are_right_on_both_sides_of_the_largest_near_one() {
    let quarter_turns = (0..20_000).flat_map(|n| {
        let x = f64::from(n) * std::f64::consts::FRAC_PI_2;
        [x.next_down(), x, x.next_up(), x + 0.37, -x - 0.78]
    });
    let functions: [OfOne; 3] = [("sin", f64::sin), ("cos", f64::cos), ("tan", f64::tan)];
    for x in quarter_turns {
        for (name, exact) in functions {
            let (bound, found) = of_double(name, x, 0.0);
            let expected = exact(x);
            assert!(
                apart(found, expected) <= bound,
                "{name}({x:e}) is {found:e}, not {expected:e}"
            );
        }
        if x.abs() <= NEAR {
            let found = [double::sin(x), double::cos(x), double::tan(x)].map(f64::to_bits);
            assert_eq!(found, [sin(x), cos(x), tan(x)].map(f64::to_bits), "{x:e}");
        }
    }
}

/// Of all numbers where all are tested.
#[test]
fn near_angles_of_single_precision_have_the_same_results_in_both_ways() {
    let largest = (NEAR as f32).to_bits();
    for bits in (0..=largest).step_by(step()) {
        for x in [f32::from_bits(bits), -f32::from_bits(bits)] {
            let found = [single::sin(x), single::cos(x), single::tan(x)].map(f32::to_bits);
            assert_eq!(found, [sin(x), cos(x), tan(x)].map(f32::to_bits), "{x:e}");
        }
    }
}
