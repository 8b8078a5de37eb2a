//! Functions of one element or two.

use ndarray::{Array1, ArrayD, Axis, Ix1, arr0, array, s};

use super::{binary, numbers, unary};
use crate::functional::Functional;
use crate::kernels;
use crate::ops::{Add, Div, Maximum, Minimum, Mul, Sub};
use crate::{Element, Error, Grad, Tensor, Tensor1, TensorD, grad, jvp};

type Unary<T> = fn(&TensorD<T>) -> TensorD<T>;

/// All functions of one element, with the range of their argument.
fn functions<T: Element>() -> Vec<(&'static str, [f64; 2], Unary<T>)> {
    vec![
        ("abs", [-3.0, 3.0], |x| x.abs()),
        ("acos", [-0.9, 0.9], |x| x.acos()),
        ("acosh", [1.1, 3.0], |x| x.acosh()),
        ("asin", [-0.9, 0.9], |x| x.asin()),
        ("asinh", [-3.0, 3.0], |x| x.asinh()),
        ("atan", [-3.0, 3.0], |x| x.atan()),
        ("atanh", [-0.9, 0.9], |x| x.atanh()),
        ("cbrt", [0.3, 3.0], |x| x.cbrt()),
        ("clamp", [-3.0, 3.0], |x| {
            x.clamp(T::from_f64(-0.5), T::from_f64(0.7))
        }),
        ("cos", [-3.0, 3.0], |x| x.cos()),
        ("cosh", [-3.0, 3.0], |x| x.cosh()),
        ("elu", [-3.0, 3.0], |x| x.elu(T::from_f64(1.5))),
        ("erf", [-3.0, 3.0], |x| x.erf()),
        ("exp", [-3.0, 3.0], |x| x.exp()),
        ("exp_m1", [-3.0, 3.0], |x| x.exp_m1()),
        ("gelu", [-3.0, 3.0], |x| x.gelu()),
        ("gelu_tanh", [-3.0, 3.0], |x| x.gelu_tanh()),
        ("leaky_relu", [-3.0, 3.0], |x| {
            x.leaky_relu(T::from_f64(0.1))
        }),
        ("ln", [0.3, 3.0], |x| x.ln()),
        ("ln_1p", [-0.7, 3.0], |x| x.ln_1p()),
        ("neg", [-3.0, 3.0], |x| -x),
        ("normal_cdf", [-3.0, 3.0], |x| x.normal_cdf()),
        ("normal_pdf", [-3.0, 3.0], |x| x.normal_pdf()),
        ("powf", [0.3, 3.0], |x| x.powf(T::from_f64(2.5))),
        ("powi", [-3.0, 3.0], |x| x.powi(3)),
        ("recip", [0.3, 3.0], |x| x.recip()),
        ("relu", [-3.0, 3.0], |x| x.relu()),
        ("rsqrt", [0.3, 3.0], |x| x.rsqrt()),
        ("sigmoid", [-3.0, 3.0], |x| x.sigmoid()),
        ("silu", [-3.0, 3.0], |x| x.silu()),
        ("sin", [-3.0, 3.0], |x| x.sin()),
        ("sinh", [-3.0, 3.0], |x| x.sinh()),
        ("softplus", [-3.0, 3.0], |x| x.softplus()),
        ("sqrt", [0.3, 3.0], |x| x.sqrt()),
        ("square", [-3.0, 3.0], |x| x.square()),
        ("tan", [-1.2, 1.2], |x| x.tan()),
        ("tanh", [-3.0, 3.0], |x| x.tanh()),
    ]
}

/// Returns `count` numbers across a range, in no order.
fn across<T: Element>([low, high]: [f64; 2], count: usize) -> Array1<T> {
    Array1::from_shape_fn(count, |i| {
        let share = (i as f64 * 0.618_033_988_749_895).fract();
        T::from_f64(low + (high - low) * share)
    })
}

fn leaf(array: ArrayD<f64>) -> TensorD<f64> {
    Tensor::from(array).set_requires_grad(true)
}

#[test]
fn derivatives_of_functions_of_one_element() {
    for (_, [low, high], function) in functions::<f64>() {
        // The numbers of the leaves are between a half and three halves.
        unary(|x| function(&((x - 0.5) * (high - low) + low)));
    }
    for p in [-1.5, 0.0, 1.0, 2.0] {
        unary(|x| x.powf(p));
    }
}

#[test]
fn derivatives_of_functions_of_two_elements() {
    binary(|x, y| x.maximum(y) * x);
    binary(|x, y| x.minimum(y) * y);
    binary(|x, y| x.where_(&arr0(true), y) * y);
    binary(|x, y| x.where_(&arr0(false), y) * x);
    let x = leaf(numbers(&[2, 3]));
    let y = leaf(numbers(&[3]) * 0.9);
    let mask = array![[true, false, true], [false, false, true]];
    gradchecks!(|(x, y)| x.where_(&mask, y).square(), (&x, &y));
}

#[test]
fn a_gradient_is_the_same_in_one_loop_and_recorded() -> Result<(), Error> {
    fn compare<T: Element>(tolerance: f64) -> Result<(), Error> {
        for (name, range, function) in functions::<T>() {
            let x = Tensor::from(across::<T>(range, 100).into_dyn()).set_requires_grad(true);
            let (at_once,) = grad(&function(&x).sum(), (&x,))?;
            let sum = function(&x).sum();
            let (recorded,) = Grad::of(&sum).create_graph(true).run((&x,))?;
            let weights = Tensor::from(Array1::<T>::ones(100).into_dyn());
            let (in_place,) = grad(&(function(&x) * weights).sum(), (&x,))?;
            let at_once = at_once.view();
            for other in [recorded.view(), in_place.view()] {
                for (x, y) in at_once.iter().zip(other) {
                    let (x, y) = (x.as_f64(), y.as_f64());
                    assert!(
                        (x - y).abs() <= tolerance * x.abs().max(1.0),
                        "{name}: {x} and {y}"
                    );
                }
            }
        }
        Ok(())
    }
    compare::<f64>(1e-14)?;
    compare::<f32>(1e-5)
}

#[test]
fn functions_of_views_are_those_of_arrays() {
    for (name, range, function) in functions::<f64>() {
        let base = across::<f64>(range, 70)
            .into_shape_with_order((7, 10))
            .unwrap();
        let mut flipped = base.clone();
        flipped.invert_axis(Axis(0));
        for layout in [
            base.clone().reversed_axes(),
            flipped,
            base.clone().slice_move(s![..;2, 1..]),
            base.clone().slice_move(s![3..3, ..]),
        ] {
            let tensor = leaf(layout.clone().into_dyn());
            let copied = layout.iter().copied().collect::<Vec<_>>();
            let copied = leaf(Array1::from_vec(copied).into_dyn());
            let (here, there) = (function(&tensor), function(&copied));
            assert!(here.view().iter().eq(there.view().iter()), "{name}");
            let (here,) = grad(&here.sum(), (&tensor,)).unwrap();
            let (there,) = grad(&there.sum(), (&copied,)).unwrap();
            assert!(here.view().iter().eq(there.view().iter()), "{name}");
        }
    }
}

/// Values and gradients, at `x`.
fn at<const N: usize>(
    x: [f64; N],
    function: impl Fn(&Tensor1<f64>) -> Tensor1<f64>,
) -> ([f64; N], [f64; N]) {
    let x = Tensor::from(Array1::from(x.to_vec())).set_requires_grad(true);
    let y = function(&x);
    let (gradient,) = grad(&y.sum(), (&x,)).unwrap();
    let list = |x: &Tensor1<f64>| std::array::from_fn(|i| x.view()[i]);
    (list(&y), list(&gradient))
}

#[test]
fn kinks_have_the_derivatives_that_pytorch_gives_them() {
    let zeros = [0.0, -0.0];
    assert_eq!(at(zeros, Tensor::relu), (zeros, [0.0; 2]));
    assert_eq!(at(zeros, Tensor::abs), ([0.0; 2], [0.0; 2]));
    assert_eq!(at(zeros, |x| x.leaky_relu(0.25)).1, [0.25; 2]);
    assert_eq!(at(zeros, |x| x.elu(1.5)).1, [1.5; 2]);
    assert_eq!(at(zeros, |x| x.powf(0.0)).1, [0.0; 2]);
    let bounds = [-1.0, 1.0, -1.5, 1.5];
    let expected = ([-1.0, 1.0, -1.0, 1.0], [1.0, 1.0, 0.0, 0.0]);
    assert_eq!(at(bounds, |x| x.clamp(-1.0, 1.0)), expected);
    assert_eq!(at(bounds, |x| x.clamp(1.0, -1.0)), ([-1.0; 4], [0.0; 4]));
    assert_eq!(at([0.0], Tensor::sqrt).1, [f64::INFINITY]);
    assert_eq!(at([0.0], Tensor::ln).1, [f64::INFINITY]);
}

#[test]
fn ties_share_the_gradient() {
    for function in [Tensor::maximum::<Ix1>, Tensor::minimum::<Ix1>] {
        let x = Tensor::from(array![1.0, 2.0, 3.0]).set_requires_grad(true);
        let y = Tensor::from(array![3.0, 2.0, 1.0]).set_requires_grad(true);
        let (of_x, of_y) = grad(&function(&x, &y).sum(), (&x, &y)).unwrap();
        assert_eq!(of_x.view()[1], 0.5);
        assert_eq!(&of_x.to_array() + &of_y.to_array(), array![1.0, 1.0, 1.0]);
        let itself = function(&x, &x);
        let (gradient,) = grad(&itself.sum(), (&x,)).unwrap();
        assert_eq!(gradient.to_array(), array![1.0, 1.0, 1.0]);
    }
}

#[test]
fn nan_stays_nan() {
    for (name, _, function) in functions::<f64>() {
        // In a row of its own, and in one that is long enough for vector code.
        for count in [1, 100] {
            let x = Tensor::from(ArrayD::from_elem(vec![count], f64::NAN));
            let y = function(&x);
            assert!(y.view().iter().all(|y| y.is_nan()), "{name} of {count}");
        }
    }
    let (x, nan) = (Tensor::from(array![1.0]), Tensor::from(array![f64::NAN]));
    for (x, y) in [(&x, &nan), (&nan, &x)] {
        assert!(x.maximum(y).view()[0].is_nan());
        assert!(x.minimum(y).view()[0].is_nan());
    }
    assert_eq!(at([f64::NAN], |x| x.clamp(-1.0, 1.0)).1, [0.0]);
    assert_eq!(at([f64::NAN], Tensor::relu).1, [1.0]);
}

#[test]
fn infinities_have_their_limits() {
    let both = [f64::INFINITY, f64::NEG_INFINITY];
    let infinite = [f64::INFINITY, 0.0];
    assert_eq!(at(both, Tensor::exp), (infinite, infinite));
    assert_eq!(at(both, Tensor::tanh), ([1.0, -1.0], [0.0; 2]));
    assert_eq!(at(both, Tensor::sigmoid), ([1.0, 0.0], [0.0; 2]));
    assert_eq!(at(both, Tensor::erf), ([1.0, -1.0], [0.0; 2]));
    assert_eq!(at(both, Tensor::softplus), (infinite, [1.0, 0.0]));
    let elu = at(both, |x| x.elu(2.0));
    assert_eq!(elu, ([f64::INFINITY, -2.0], [1.0, 0.0]));
    assert_eq!(at(both, |x| x.clamp(-1.0, 2.0)), ([2.0, -1.0], [0.0; 2]));
}

#[test]
fn elements_that_are_not_chosen_have_no_gradient() {
    let x = Tensor::from(array![0.0, 4.0]).set_requires_grad(true);
    let (mask, one) = (array![false, true], Tensor::from(array![1.0]));
    let chosen = x.sqrt().where_(&mask, &(&one * 7.0));
    assert_eq!(chosen.to_array(), array![7.0, 2.0]);
    // Zero times the infinite slope of the root at 0 is not a number: the function before this one has to mask.
    let masked = x.where_(&mask, &one).sqrt();
    let (gradient,) = grad(&masked.sum(), (&x,)).unwrap();
    assert_eq!(gradient.to_array(), array![0.0, 0.25]);
    let infinite = Tensor::from(array![f64::INFINITY, 1.0]);
    let (gradient,) = grad(&(x.maximum(&one) * infinite).sum(), (&x,)).unwrap();
    assert_eq!(gradient.to_array(), array![0.0, 1.0]);
}

#[test]
fn large_tensors_are_computed_in_parts() {
    let x = across::<f32>([-3.0, 3.0], 300_001);
    let y = Tensor::from(x.clone()).set_requires_grad(true);
    let (gradient,) = grad(&y.gelu().sum(), (&y,)).unwrap();
    let expected = x.mapv(kernels::gelu_derivative);
    assert_eq!(gradient.to_array(), expected);
    assert_eq!(y.gelu().to_array(), x.mapv(kernels::gelu));
    assert_eq!((&y * &y).to_array(), &x * &x);
}

#[test]
#[should_panic(expected = "maximum of shapes [2] and [3]: they do not broadcast")]
fn shapes_of_maximum_are_named() {
    let _ = Tensor::from(array![1.0, 2.0]).maximum(&Tensor::from(array![1.0, 2.0, 3.0]));
}

#[test]
#[should_panic(expected = "where_ of tensors of shape [2] and a mask of shape [3]")]
fn masks_that_do_not_broadcast_are_named() {
    let x = Tensor::from(array![1.0, 2.0]);
    let _ = x.where_(&array![true, true, false], &x);
}

#[test]
#[should_panic(expected = "clamp between 0 and NaN: a bound is NaN")]
fn bounds_that_are_not_numbers_are_named() {
    let _ = Tensor::from(array![1.0]).clamp(0.0, f64::NAN);
}

#[test]
fn the_derivative_of_a_constant_power_is_0_for_infinite_gradients_too() {
    for power in [|x: &Tensor1<f64>| x.powi(0), |x: &Tensor1<f64>| x.powf(0.0)] {
        let x = Tensor::from(array![0.0, 2.0]).set_requires_grad(true);
        let y = power(&x);
        let pass = Grad::of(&y).seed(array![f64::INFINITY, 1.0]);
        let (gradient,) = pass.run((&x,)).unwrap();
        assert_eq!(gradient.to_array(), array![0.0, 0.0]);
    }
}

#[test]
fn the_smallest_power_has_a_derivative() {
    let x = Tensor::from(array![-1.0]).set_requires_grad(true);
    for (n, sign) in [(i32::MIN, -1.0), (i32::MIN + 1, 1.0)] {
        let (gradient,) = grad(&x.powi(n).sum(), (&x,)).unwrap();
        assert_eq!(gradient.to_array(), array![f64::from(n) * sign]);
    }
}

/// Powers of x overflow long before the function is anything but x or 0.
#[test]
fn the_slope_of_gelu_tanh_far_out_is_0_or_1() {
    let x = Tensor::from(array![1e14_f32, 1e20, f32::INFINITY, -1e14, -1e20]);
    let x = x.set_requires_grad(true);
    for create_graph in [false, true] {
        let y = x.gelu_tanh().sum();
        let (gradient,) = Grad::of(&y).create_graph(create_graph).run((&x,)).unwrap();
        assert_eq!(gradient.to_array(), array![1.0, 1.0, 1.0, 0.0, 0.0]);
    }
}

#[test]
fn recorded_slopes_of_asin_and_acos_are_exact_near_1() {
    let number = 0.9997_f32;
    let exact = 1.0 / (1.0 - f64::from(number).powi(2)).sqrt();
    let x = Tensor::from(array![number]).set_requires_grad(true);
    for (y, sign) in [(x.asin(), 1.0), (x.acos(), -1.0)] {
        let sum = y.sum();
        let pass = Grad::of(&sum).create_graph(true);
        let (gradient,) = pass.run((&x,)).unwrap();
        let found = f64::from(gradient.to_array()[0]);
        assert!((found / (sign * exact) - 1.0).abs() < 1e-6, "{found}");
    }
}

#[test]
fn arrays_of_other_shapes_are_reported_where_they_were_applied() {
    let (x, y) = (Tensor::from(array![1.0]), Tensor::from(array![1.0, 2.0]));
    panics_here!(Add::apply(&x, &y));
    panics_here!(Sub::apply(&x, &y));
    panics_here!(Mul::apply(&x, &y));
    panics_here!(Div::apply(&x, &y));
    panics_here!(Maximum::apply(&x, &y));
    panics_here!(Minimum::apply(&x, &y));
}

#[test]
fn infinite_tangents_vanish_where_gradients_do() {
    let (x, along) = (
        Tensor::from(array![-1.0, 1.0]),
        Tensor::from(array![f64::INFINITY, 2.0]),
    );
    let functions = [
        |x: &Tensor1<f64>| x.relu(),
        |x: &Tensor1<f64>| x.clamp(-0.5, 1.5),
    ];
    for function in functions {
        let (_, found) = jvp(function, &x, &along).unwrap();
        assert_eq!(found.to_array(), array![0.0, 2.0]);
    }
    let (_, found) = jvp(|x| x.tanh(), &x, &along).unwrap();
    assert_eq!(found.to_array()[0], f64::INFINITY);
}

#[test]
fn second_derivatives_of_arcs_are_exact_near_0() {
    for x in [1e-3_f32, 1e-6, 1e-8] {
        for (f, sign) in [
            (Tensor1::<f32>::asin as fn(&_) -> _, 1.0),
            (Tensor1::acos, -1.0),
        ] {
            let point = Tensor::from(array![x]).set_requires_grad(true);
            let (first,) = Grad::of(&f(&point).sum())
                .create_graph(true)
                .run((&point,))
                .unwrap();
            let (second,) = grad(&first.sum(), (&point,)).unwrap();
            // x / (1 − x²)^1.5
            assert!(
                (sign * second.to_array()[0] / x - 1.0).abs() < 1e-5,
                "at {x}"
            );
        }
    }
}

#[test]
fn the_second_derivative_of_acosh_has_its_limits() {
    let limits = [(1.0, f64::NEG_INFINITY), (1e200, 0.0), (f64::INFINITY, 0.0)];
    for (x, limit) in limits {
        let point = Tensor::from(array![x]).set_requires_grad(true);
        let (first,) = Grad::of(&point.acosh().sum())
            .create_graph(true)
            .run((&point,))
            .unwrap();
        assert!(!first.to_array()[0].is_nan(), "at {x}");
        let (second,) = grad(&first.sum(), (&point,)).unwrap();
        assert_eq!(second.to_array(), array![limit], "at {x}");
    }
}

/// Their slopes are of x², which is infinite far out, and so is its derivative.
#[test]
fn second_derivatives_are_0_where_the_square_is_out_of_range() -> Result<(), Error> {
    type Function = fn(&Tensor1<f32>) -> Tensor1<f32>;
    let functions: [Function; 3] = [Tensor::asinh, Tensor::atan, Tensor::erf];
    let (x, v) = (
        Tensor::from(array![1e20_f32, 1e38, -3e38]),
        Tensor::from(array![1.0_f32, 30.0, 2.0]),
    );
    for function in functions {
        for by_forward_mode in [false, true] {
            let options = Functional::new().forward_mode(by_forward_mode);
            let (_, product) = options.hvp(|x: &Tensor1<f32>| function(x).sum(), &x, &v)?;
            assert_eq!(product.to_array(), array![0.0_f32, 0.0, 0.0]);
        }
    }
    Ok(())
}

#[test]
fn the_gradient_of_a_cast_has_the_type_of_its_input() -> Result<(), Error> {
    let x = Tensor::from(array![0.5_f32, -2.0]).set_requires_grad(true);
    let y = x.cast::<f64>();
    let cubes = (&y * &y * &y).sum();
    let first = Grad::of(&cubes).create_graph(true).run(&x)?;
    assert_eq!(first.to_array(), array![0.75_f32, 12.0]);
    let second = grad(&first.sum(), &x)?;
    assert_eq!(second.to_array(), array![3.0_f32, -12.0]);

    let direction = Tensor::from(array![2.0_f32, 3.0]);
    let (value, tangent) = jvp(|x: &Tensor1<f32>| x.cast::<f64>(), &x, &direction)?;
    assert_eq!(value.to_array(), array![0.5, -2.0]);
    assert_eq!(tangent.to_array(), array![2.0, 3.0]);
    Ok(())
}

#[test]
fn a_cast_rounds_to_the_nearest_and_keeps_what_is_no_number() {
    let x = Tensor::from(array![0.1, 1e300, f64::NEG_INFINITY, 1e-60, f64::NAN, -0.0]);
    let bits = |x: Tensor1<f32>| x.to_array().mapv(f32::to_bits);
    let expected = array![
        0.1_f32,
        f32::INFINITY,
        f32::NEG_INFINITY,
        0.0,
        f32::NAN,
        -0.0
    ];
    assert_eq!(bits(x.cast()), expected.mapv(f32::to_bits));
    // Of no other type, nothing is copied.
    assert_eq!(x.cast::<f64>().view().as_ptr(), x.view().as_ptr());
    let every_second = x.slice(s![..;2]).cast::<f32>();
    assert_eq!(bits(every_second), bits(x.cast().slice(s![..;2])));
}
