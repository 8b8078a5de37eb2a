//! Elementwise functions on tensors.

use pullback::ndarray::{Array1, Array2, ArrayD, IxDyn, arr0, array};
use pullback::prelude::*;
use pullback::{ErrorKind, Function, Order};

/// x³ sin y, to third order.
#[custom_function(elementwise(order = 3), gradcheck(x = [2, 3], y = [1, 3]))]
fn wave<T: Real>(x: T, y: T) -> T {
    x.powi(3) * y.sin()
}

/// Once alone.
#[custom_function(elementwise(order = 1), gradcheck(x = [3]))]
fn once<T: Real>(x: T) -> T {
    x * x
}

/// The formula of a table: values of any type.
#[custom_function(elementwise, name = "horner", gradcheck(x = [3], coefficients = &[1.0, -2.0, 0.5], shift = Some(&0.25), label = "c".to_owned()))]
fn polynomial<T: Real>(x: T, coefficients: &[f64], shift: Option<&f64>, label: String) -> T {
    let mut sum = T::from(0.0);
    for &coefficient in coefficients.iter().rev() {
        sum = sum * x + coefficient;
    }
    sum + *shift.unwrap_or(&0.0) * label.len() as f64
}

/// Calls another.
#[custom_function(elementwise, outputs(value, weight), gradcheck(x = [3]))]
fn both<T: Real>(x: T) -> (T, T) {
    let y = Wave::formula(x, x * 0.5);
    (y, Once::formula(y) - 1.0)
}

/// Its slope in x is infinite at 0.
#[custom_function(elementwise)]
fn scaled_root<T: Real>(x: T, k: T) -> T {
    x.sqrt() * k.square()
}

fn leaf<D: pullback::ndarray::Dimension>(x: pullback::ndarray::Array<f64, D>) -> Tensor<f64, D> {
    Tensor::from(x).set_requires_grad(true)
}

#[test]
fn signatures_say_what_they_are() {
    assert_eq!(
        Wave::<f64, pullback::ndarray::Ix1>::SIGNATURE.order,
        Order::Times(3)
    );
    assert_eq!(Polynomial::<f32, pullback::ndarray::Ix1>::NAME, "horner");
    let known = pullback::catalogue();
    let listed = known.iter().find(|one| one.name() == "wave");
    assert!(listed.unwrap().signature.forward_mode);
    assert_eq!(Wave::formula(2.0, 0.0), 0.0);
}

#[test]
fn beyond_its_order_is_an_error() {
    let x = leaf(array![0.5, 2.0]);
    let g = Grad::of(&once(&x).sum())
        .create_graph(true)
        .run(&x)
        .unwrap();
    let error = grad(&g.sum(), &x).unwrap_err();
    assert_eq!(
        (error.kind(), error.function()),
        (
            &ErrorKind::OrderExceeded {
                order: 1,
                form: Some("elementwise")
            },
            Some("once")
        )
    );
    let y = Tensor::from(array![1.0, 0.5]);
    let line = line!() + 1;
    let mut g = wave(&x, &y);
    for _ in 0..3 {
        g = Grad::of(&g.sum()).create_graph(true).run(&x).unwrap();
        let node = g.grad_fn().unwrap();
        assert_eq!((node.name(), node.applied_at().line()), ("Partials", line));
    }
    assert_eq!(g.to_array(), y.to_array().mapv(|y: f64| 6.0 * y.sin()));
    let error = grad(&g.sum(), &x).unwrap_err();
    assert_eq!(
        (error.kind(), error.function()),
        (
            &ErrorKind::OrderExceeded {
                order: 3,
                form: Some("elementwise")
            },
            Some("wave")
        )
    );
    let at = error.applied_at().unwrap();
    assert_eq!((at.file(), at.line()), (file!(), line));
}

#[test]
fn modes_mix() {
    let (x, y) = (
        Tensor::from(array![[0.5, 2.0], [1.5, -1.0]]),
        Tensor::from(array![[1.0, 0.5]]),
    );
    Gradcheck::new()
        .second_order()
        .thorough()
        .run(|(x, y)| wave(x, y), (&x, &y))
        .unwrap();
    Gradcheck::new()
        .second_order()
        .thorough()
        .run(|x| both(x), &x)
        .unwrap();
    let (v, w) = (
        Tensor::from(array![[1.0, 0.25], [-0.5, 2.0]]),
        Tensor::from(array![[-1.0, 2.0]]),
    );
    // Forward over forward.
    let along = |(x, y): (&Tensor2<f64>, &Tensor2<f64>)| {
        jvp(|(x, y)| wave(x, y), (x, y), (&v, &w)).unwrap().1
    };
    let (_, second) = jvp(along, (&x, &y), (&v, &w)).unwrap();
    let by_hand = |x: f64, y: f64, v: f64, w: f64| {
        6.0 * x * y.sin() * v * v + 6.0 * x * x * y.cos() * v * w - x.powi(3) * y.sin() * w * w
    };
    for ((i, j), &found) in second.to_array().indexed_iter() {
        let expected = by_hand(
            x.view()[[i, j]],
            y.view()[[0, j]],
            v.view()[[i, j]],
            w.view()[[0, j]],
        );
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    }
}

#[test]
#[should_panic(
    expected = "`wave` of `x` of shape [2, 3] and `y` of shape [2, 2]: they do not broadcast"
)]
fn lengths_must_fit() {
    let _ = wave(
        &Tensor::from(Array2::<f64>::ones((2, 3))),
        &Tensor::from(Array2::ones((2, 2))),
    );
}

type OfTwo = fn((&TensorD<f64>, &TensorD<f64>)) -> TensorD<f64>;

#[test]
fn ranks_that_are_known_when_it_runs_broadcast() {
    let [x, row, number] = [
        array![[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]].into_dyn(),
        array![0.3, -0.6, 1.2].into_dyn(),
        arr0(0.7).into_dyn(),
    ]
    .map(leaf);
    for (x, y) in [(&x, &row), (&row, &x), (&x, &number), (&number, &row)] {
        let shape = (x * y).shape().to_vec();
        let found = wave(x, y);
        let whole = |of: &TensorD<f64>| of.broadcast_to::<IxDyn>(&shape);
        assert_eq!(found.to_array(), wave(&whole(x), &whole(y)).to_array());
        let check = |of: OfTwo| {
            Gradcheck::new()
                .second_order()
                .forward_mode()
                .run(of, (x, y))
                .unwrap();
        };
        check(|(x, y)| wave(x, y));
        check(|(x, y)| given(x, y, 1.5).0);
    }
}

#[test]
#[should_panic(
    expected = "`wave` of `x` of shape [2, 3] and `y` of shape [2]: they do not broadcast"
)]
fn axes_are_aligned_at_the_last() {
    let [x, y] = [IxDyn(&[2, 3]), IxDyn(&[2])].map(|shape| leaf(ArrayD::<f64>::ones(shape)));
    let _ = wave(&x, &y);
}

#[test]
fn values_of_any_type() {
    let x = leaf(array![2.0, -1.0]);
    let y = polynomial(&x, &[1.0, -2.0, 0.5], None, String::new());
    assert_eq!(y.to_array(), array![-1.0, 3.5]);
    let g: Array1<f64> = grad(&y.sum(), &x).unwrap().to_array();
    assert_eq!(g, array![0.0, -3.0]);
}

#[test]
fn a_node_lists_what_it_keeps() {
    let x = leaf(array![2.0, -1.0]);
    let listed = |y: Tensor1<f64>| {
        let saved = y.grad_fn().unwrap().saved().unwrap();
        let each = saved
            .into_iter()
            .map(|one| (one.name, one.ty, one.shape.is_some()));
        each.collect::<Vec<_>>()
    };
    let y = polynomial(&x, &[1.0], None, String::new());
    let list = std::any::type_name::<Vec<f64>>();
    let label = std::any::type_name::<String>();
    assert_eq!(
        listed(y),
        [
            ("x".to_owned(), "f64", true),
            ("coefficients".to_owned(), list, false),
            (
                "shift".to_owned(),
                std::any::type_name::<Option<f64>>(),
                false
            ),
            ("label".to_owned(), label, false),
        ]
    );
    let (y, _) = given(&x, &x, 1.5);
    let names: Vec<_> = listed(y).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, ["x", "y", "k"]);
    let y = no_grad(|| wave(&x, &x));
    assert!(y.grad_fn().is_none());
}

/// The macro refuses a type that it sees to hold tensors.
mod held {
    use pullback::prelude::*;

    /// A value that holds the tensors of the function before.
    #[derive(Clone)]
    pub struct Before(pub Vec<Tensor1<f64>>);
}

#[custom_function(elementwise)]
fn after<T: Real>(x: T, before: &held::Before) -> T {
    x + before.0.len() as f64
}

#[test]
fn values_that_hold_what_was_before_are_dropped_without_recursion() {
    let chain = || {
        let x = leaf(array![1.0]);
        let mut y = x.clone();
        for _ in 0..100_000 {
            y = after(&x, &held::Before(vec![y]));
        }
        assert_eq!(y.to_array(), array![2.0]);
    };
    let thread = std::thread::Builder::new()
        .stack_size(512 << 10)
        .spawn(chain);
    thread.unwrap().join().unwrap();
}

/// Three of three, to third order, beside a gradient that is given: many loops of large numbers.
#[custom_function(elementwise(order = 3), grad(x) = grad_output_0 * y * z + grad_output_1 + grad_output_2 * x.exp())]
fn large<T: Real>(x: T, y: T, z: T) -> (T, T, T) {
    (x * y * z, x + y, x.exp() + z)
}

#[test]
fn a_small_stack_is_enough() {
    let check = || {
        let numbers = |first| Tensor::from(array![first, 0.3, -0.7]);
        let (x, y, z) = (numbers(0.2), numbers(0.5), numbers(0.9));
        let large = |(x, y, z): (&_, &_, &_)| large(x, y, z);
        let check = Gradcheck::new().second_order();
        check.run(large, (&x, &y, &z)).unwrap();
    };
    let thread = std::thread::Builder::new().stack_size(512 << 10);
    thread.spawn(check).unwrap().join().unwrap();
}

/// A number with a raw name.
#[custom_function(elementwise, gradcheck(r#in = [2]))]
fn raw_square<T: Real>(r#in: T) -> T {
    r#in * r#in
}

#[test]
fn a_number_may_have_a_raw_name() {
    let x = Tensor::from(array![3.0]);
    let (_, along) = jvp(|x: &Tensor1<f64>| raw_square(x), &x, &x).unwrap();
    assert_eq!(along.to_array(), array![18.0]);
}

/// The nearest whole number, with the gradient of the identity.
#[custom_function(elementwise, grad(x) = grad_output)]
fn round_through<T: Real>(x: T) -> T {
    x.round()
}

/// PACT: x limited to 0 and α; the gradient of α is 1 where x is above.
#[custom_function(
    elementwise,
    grad(x) = if x > 0.0 && x < alpha { grad_output } else { T::from(0.0) },
    grad(alpha) = if x >= alpha { grad_output } else { T::from(0.0) },
)]
fn pact<T: Real>(x: T, alpha: T, bits: u32) -> T {
    let steps = f64::from(2_u32.pow(bits) - 1);
    (Real::clamp(x, 0.0, alpha) * steps / alpha).round() * alpha / steps
}

/// A gradient that is clipped, and one that is generated beside it.
#[custom_function(elementwise, grad(x) = (grad_output * y).clamp(-1.0, 1.0))]
fn clipped<T: Real>(x: T, y: T) -> T {
    x * y
}

/// A function with a right derivative that differs from the generated one: cos² instead of 1 − sin².
#[custom_function(
    elementwise(order = 3),
    outputs(sine, product),
    gradcheck(x = [3], y = [3], k = 1.5),
    grad(x) = grad_sine * x.cos() + grad_product * k * y,
)]
fn given<T: Real>(x: T, y: T, k: f64) -> (T, T) {
    (x.sin(), k * x * y)
}

#[test]
fn a_gradient_that_is_given_replaces_the_derivative() {
    let x = leaf(array![0.4, 1.6, -2.2]);
    let y = round_through(&x);
    assert_eq!(y.to_array(), array![0.0, 2.0, -2.0]);
    assert_eq!(RoundThrough::formula(1.6), 2.0);
    let g = Grad::of(&(&y * &y).sum())
        .create_graph(true)
        .run(&x)
        .unwrap();
    assert_eq!(g.to_array(), array![0.0, 4.0, -4.0]);
    // The derivative of 2 round(x), as it is given.
    assert_eq!(
        grad(&g.sum(), &x).unwrap().to_array(),
        array![2.0, 2.0, 2.0]
    );
    let (_, along) = jvp(
        |x: &Tensor1<f64>| round_through(x),
        &x,
        &array![1.0, 2.0, 3.0].into(),
    )
    .unwrap();
    assert_eq!(along.to_array(), array![1.0, 2.0, 3.0]);

    let (x, alpha) = (leaf(array![-1.0, 0.3, 0.7, 2.0]), leaf(array![1.0]));
    let y = pact(&x, &alpha, 1);
    assert_eq!(y.to_array(), array![0.0, 0.0, 1.0, 1.0]);
    let (of_x, of_alpha) = grad(&y.sum(), (&x, &alpha)).unwrap();
    assert_eq!(of_x.to_array(), array![0.0, 1.0, 1.0, 0.0]);
    assert_eq!(of_alpha.to_array(), array![1.0]);

    let (x, y) = (leaf(array![2.0, 2.0]), leaf(array![3.0, 0.5]));
    let (of_x, of_y) = grad(&clipped(&x, &y).sum(), (&x, &y)).unwrap();
    assert_eq!(
        (of_x.to_array(), of_y.to_array()),
        (array![1.0, 0.5], array![2.0, 2.0])
    );
}

#[test]
fn a_gradient_that_is_given_is_differentiated_to_the_order() {
    let (x, y) = (
        Tensor::from(array![[0.5, 2.0], [1.5, -1.0]]),
        Tensor::from(array![[1.0, 0.5]]),
    );
    let check = || Gradcheck::new().second_order().thorough();
    check().run(|(x, y)| given(x, y, 1.5), (&x, &y)).unwrap();
    let x = leaf(array![0.5]);
    let mut g = given(&x, &x.detach(), 1.5).0;
    for _ in 0..3 {
        g = Grad::of(&g.sum()).create_graph(true).run(&x).unwrap();
    }
    assert!((g.view()[0] + 0.5_f64.cos()).abs() < 1e-15);
    let error = grad(&g.sum(), &x).unwrap_err();
    assert_eq!(
        (error.kind(), error.function()),
        (
            &ErrorKind::OrderExceeded {
                order: 3,
                form: Some("elementwise")
            },
            Some("given")
        )
    );
}

/// Data may be 0 where the slope is infinite, along which nothing is asked for.
#[test]
fn a_direction_that_is_missing_makes_no_nan() {
    let x = Tensor::from(array![0.0, 4.0]);
    let (k, direction) = (leaf(array![3.0, 3.0]), Tensor::from(array![1.0, 1.0]));
    let g = Grad::of(&scaled_root(&x, &k).sum())
        .create_graph(true)
        .run(&k)
        .unwrap();
    assert_eq!(g.to_array(), array![0.0, 12.0]);
    let second = Grad::of(&g.sum()).run(&k).unwrap();
    assert_eq!(second.to_array(), array![0.0, 4.0]);
    let (_, along) = jvp(|k| scaled_root(&x, k), &k.detach(), &direction).unwrap();
    assert_eq!(along.to_array(), array![0.0, 12.0]);
}

/// The square of an error; of the target, nothing is wanted.
#[custom_function(elementwise, gradcheck(x = [3], target = [3]))]
fn squared_error<T: Real>(x: T, #[non_differentiable] target: T) -> T {
    (x - target).square()
}

#[test]
fn a_number_may_be_exempt() {
    let (x, target) = (leaf(array![1.0, 2.0]), leaf(array![0.0, 5.0]));
    let g = grad(&squared_error(&x, &target).sum(), &x).unwrap();
    assert_eq!(g.to_array(), array![2.0, -6.0]);
    assert!(grad(&squared_error(&x, &target).sum(), &target).is_err());
    let ones = Tensor::from(array![1.0, 1.0]);
    let (_, along) = jvp(|x| squared_error(x, &target), &x, &ones).unwrap();
    assert_eq!(along.to_array(), array![2.0, -6.0]);
    let (_, along) = jvp(|target| squared_error(&x, target), &target, &ones).unwrap();
    assert_eq!(along.to_array(), array![0.0, 0.0]);
}

/// A definition that a macro of the user's writes: nothing that is generated is unused there.
macro_rules! multiple {
    ($name:ident, $factor:expr) => {
        #[custom_function(elementwise, gradcheck(x = [2]))]
        fn $name<T: Real>(x: T) -> T {
            $factor * x
        }
    };
}

multiple!(thrice, 3.0);

#[test]
fn a_macro_may_write_a_function() {
    let x = leaf(array![1.0, -2.0]);
    let y = thrice(&x);
    assert_eq!(y.to_array(), array![3.0, -6.0]);
    assert_eq!(grad(&y.sum(), &x).unwrap().to_array(), array![3.0, 3.0]);
}
