//! Elementwise functions with a value for each element, and with derivatives that are not differentiated.

use pullback::ErrorKind;
use pullback::functional::Functional;
use pullback::ndarray::{Array2, Array3, Axis, Dimension, arr0, array};
use pullback::prelude::*;

/// A loss whose slope depends on the label of the element.
#[custom_function(
    elementwise(order = 3),
    gradcheck(x = [3], y = [3], label = &[0, 1, 2], gamma = 1.5),
    gradcheck(x = [2, 2], y = [1, 2], label = &[0, 1, -2, 7], gamma = 2.0)
)]
fn focal<T: Real>(x: T, y: T, #[each] label: &[i64], gamma: f64) -> T {
    let p = match label {
        0 => (x * y).sigmoid(),
        1 => 1.0 - x.sigmoid() * y,
        other => x * y.sin() * other as f64,
    };
    p.square() * gamma + y * label as f64
}

/// Two lists of different types, two outputs, and a given derivative that uses an entry.
#[custom_function(
    elementwise,
    outputs(chosen, scaled),
    gradcheck(x = [4], is_kept = &[true, false, false, true], of = &[Kind::Sine, Kind::Square, Kind::Sine, Kind::Square]),
    grad(x) = {
        let slope = match of {
            Kind::Sine => x.cos(),
            Kind::Square => 2.0 * x,
        };
        grad_chosen * slope + if is_kept { grad_scaled * 3.0 } else { T::from(0.0) }
    },
)]
fn picked<T: Real>(x: T, #[each] is_kept: &[bool], #[each] of: &[Kind]) -> (T, T) {
    let chosen = match of {
        Kind::Sine => x.sin(),
        Kind::Square => x.square(),
    };
    (chosen, if is_kept { 3.0 * x } else { T::from(0.0) })
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Sine,
    Square,
}

/// The index of each element, as each loop gets it.
#[custom_function(elementwise)]
fn times_entry<T: Real>(x: T, y: T, #[each] r#in: &[usize]) -> T {
    x * y * r#in as f64
}

/// Calls the formula of another, with a number in place of the list.
#[custom_function(elementwise, gradcheck(x = [2], label = &[1, 2]))]
fn around<T: Real>(x: T, #[each] label: &[i64]) -> T {
    Focal::formula(x, x * 0.5, label - 1, 0.5)
}

/// A derivative by a function of plain numbers.
#[custom_function(
    elementwise,
    gradcheck(x = [3] in 0.5..2.0, k = [3], power = &[1, 2, 3]),
    grad(x, once) = grad_output * T::from(slope(x, power)) * k,
)]
fn once_only<T: Real>(x: T, k: T, #[each] power: &[i32]) -> T {
    x.powi(power) * k
}

fn slope(x: f64, power: i32) -> f64 {
    f64::from(power) * x.powi(power - 1)
}

/// Two gradients at once, with an option for both.
#[custom_function(
    elementwise(order = 2),
    outputs(radius),
    gradcheck(x = [3], y = [3]),
    grad(x, y, once) = (grad_radius * x / radius, grad_radius * y / radius),
)]
fn distance<T: Real>(x: T, y: T) -> T {
    (x * x + y * y).sqrt()
}

fn leaf<D: Dimension>(x: pullback::ndarray::Array<f64, D>) -> Tensor<f64, D> {
    Tensor::from(x).set_requires_grad(true)
}

#[test]
fn an_entry_belongs_to_an_element_of_the_outputs_in_row_major_order() {
    // More than a block, with a rest, more than one thread gets; broadcast, transposed and constant inputs.
    for [rows, columns] in [[1, 1], [3, 5], [7, 41], [300, 333]] {
        let entries: Vec<usize> = (0..rows * columns).collect();
        let x = Array2::from_shape_fn((rows, 1), |(i, _)| i as f64 + 0.5);
        let turned = Array2::from_shape_fn((columns, rows), |(j, i)| 1.0 / (1 + i + j) as f64);
        let expected = Array2::from_shape_fn((rows, columns), |(i, j)| {
            x[[i, 0]] * turned[[j, i]] * (i * columns + j) as f64
        });
        let (x, y) = (leaf(x), Tensor::from(turned).t());
        let z = times_entry(&x, &y, &entries);
        assert_eq!(z.to_array(), expected);
        let of_x = grad(&z.sum(), &x).unwrap().to_array();
        let slopes = Array2::from_shape_fn((rows, columns), |(i, j)| {
            y.view()[[i, j]] * (i * columns + j) as f64
        });
        let slopes = slopes.sum_axis(Axis(1)).insert_axis(Axis(1));
        for (found, expected) in of_x.iter().zip(&slopes) {
            assert!(
                (found - expected).abs() <= 1e-9 * expected.abs(),
                "{found} {expected}"
            );
        }
        assert_eq!(TimesEntry::forward(x.view(), y.view(), &entries), expected);
    }
}

#[test]
fn all_modes_have_the_entries() {
    let (x, y) = (
        Tensor::from(array![[0.5, 2.0, -0.3], [1.5, -1.0, 0.8]]),
        Tensor::from(array![[1.0, 0.5, 0.25]]),
    );
    let labels = [0, 1, 2, 3, 1, 0];
    Gradcheck::new()
        .second_order()
        .forward_mode()
        .thorough()
        .run(|(x, y)| focal(x, y, &labels, 2.0), (&x, &y))
        .unwrap();
    // The third order, against differences of the second.
    let second = |x: &Tensor2<f64>| {
        let first = Grad::of(&focal(x, &y, &labels, 2.0).sum())
            .create_graph(true)
            .run(x)
            .unwrap();
        let second = Grad::of(&first.sum()).create_graph(true).run(x).unwrap();
        second.sum()
    };
    let x = x.set_requires_grad(true);
    let third = grad(&second(&x), &x).unwrap().to_array();
    for (at, found) in third.indexed_iter() {
        let moved = |step: f64| {
            let mut moved = x.to_array();
            moved[at] += step;
            second(&leaf(moved)).to_array().into_scalar()
        };
        let expected = (moved(1e-5) - moved(-1e-5)) / 2e-5;
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
    }
}

#[test]
fn single_precision_has_the_entries() {
    let numbers = [0.5, 2.0, -0.25, 1.5];
    let labels = [0, 1, 2, 3];
    let double = leaf(pullback::ndarray::Array1::from(numbers.to_vec()));
    let single = double.detach().cast::<f32>().set_requires_grad(true);
    let of_double = grad(&focal(&double, &double, &labels, 1.5).sum(), &double).unwrap();
    let of_single = grad(&focal(&single, &single, &labels, 1.5).sum(), &single).unwrap();
    for (x, y) in of_double.to_array().iter().zip(&of_single.to_array()) {
        assert!((x - f64::from(*y)).abs() < 1e-5, "{x} {y}");
    }
    let labels = [2, 0, 1, 3];
    let power = |x: &Tensor1<f32>| once_only(x, x, &labels.map(|one| one));
    let x = Tensor::from(array![0.5_f32, 1.5, 2.0, 1.0]);
    let (_, along) = jvp(|x: &Tensor1<f32>| power(x), &x, &x).unwrap();
    // x · d(x^(p + 1))/dx
    for ((x, p), found) in x.to_array().iter().zip(labels).zip(&along.to_array()) {
        let expected = (p + 1) as f32 * x.powi(p + 1);
        assert!((found - expected).abs() < 1e-5, "{found} {expected}");
    }
}

#[test]
fn examples_of_a_map_share_the_entries() {
    let x = leaf(Array3::from_shape_fn((4, 2, 3), |(e, i, j)| {
        0.3 * e as f64 - 0.2 * i as f64 + 0.5 * j as f64
    }));
    let y = Tensor::from(array![[1.0, 0.5, 0.25]]);
    let labels = [0, 1, 2, 3, 1, 0];
    let mapped =
        pullback::functional::vmap(|x: &Tensor2<f64>| focal(x, &y, &labels, 2.0), Axis(0), &x)
            .unwrap();
    let slopes = grad(&mapped.sum(), &x).unwrap().to_array();
    for (example, slopes) in slopes.outer_iter().enumerate() {
        let x = leaf(x.view().index_axis(Axis(0), example).to_owned());
        let alone = focal(&x, &y, &labels, 2.0);
        assert_eq!(mapped.view().index_axis(Axis(0), example), alone.view());
        assert_eq!(slopes, grad(&alone.sum(), &x).unwrap().view());
    }
}

#[test]
fn a_number_and_an_empty_array_have_entries() {
    let x = leaf(arr0(0.5));
    assert_eq!(times_entry(&x, &x, &[3]).to_array(), arr0(0.75));
    let none = leaf(Array2::<f64>::zeros((0, 4)));
    assert_eq!(times_entry(&none, &none, &[]).shape(), [0, 4]);
}

#[test]
#[should_panic(
    expected = "`focal` of `x` of shape [2, 3] and `y` of shape [2, 3]: `label` must have 6 entries, one for each element, found 3"
)]
fn entries_are_not_broadcast() {
    let x = Tensor::from(Array2::<f64>::ones((2, 3)));
    let _ = focal(&x, &x, &[0, 1, 2], 1.0);
}

#[test]
#[should_panic(
    expected = "`times_entry` of `x` of shape [2] and `y` of shape [2]: `in` must have 2 entries, one for each element, found 0"
)]
fn forward_counts_entries_too() {
    let x = array![1.0, 2.0];
    let _ = TimesEntry::forward(x.view(), x.view(), &[]);
}

#[test]
fn a_panic_at_a_label_is_that_of_its_element() {
    #[custom_function(elementwise)]
    fn refused<T: Real>(x: T, #[each] label: &[u8]) -> T {
        assert!(label < 9, "the label {label}");
        x
    }
    let panic = std::panic::catch_unwind(|| refused(&Tensor::from(array![1.0, 2.0]), &[3, 9]));
    let text = panic.unwrap_err();
    let text = text.downcast_ref::<String>().unwrap();
    assert!(
        text.contains("the label 9") && text.contains("refused"),
        "{text}"
    );
}

#[test]
fn a_derivative_of_plain_numbers_is_not_differentiated() {
    let check = |y: Tensor1<f64>, x: &Tensor1<f64>, name: &str| {
        let g = Grad::of(&y.sum()).create_graph(true).run(x).unwrap();
        let error = grad(&g.sum(), x).unwrap_err();
        assert_eq!(
            (error.kind(), error.function()),
            (
                &ErrorKind::OrderExceeded {
                    order: 1,
                    form: Some("elementwise")
                },
                Some(name)
            )
        );
        assert!(error.to_string().contains("`once`"), "{error}");
    };
    let (x, k) = (leaf(array![0.5, 2.0]), Tensor::from(array![1.5, -1.0]));
    check(once_only(&x, &k, &[3, 2]), &x, "once_only");
    check(distance(&x, &k), &x, "distance");
    // Forward mode over itself, and a backward pass over it.
    let along =
        |x: &Tensor1<f64>| jvp(|x: &Tensor1<f64>| distance(x, &k), x, &k).map(|both| both.1);
    assert_eq!(
        along(&x).unwrap().to_array(),
        array![0.75 / 2.5_f64.sqrt(), -2.0 / 5.0_f64.sqrt()]
    );
    let options = Functional::new().forward_mode(true).create_graph(true);
    let run = options.jvp(|k: &Tensor1<f64>| distance(&x, k), &k, &k);
    let mixed = run.unwrap().1;
    let errors = [
        jvp(|x: &Tensor1<f64>| along(x).unwrap(), &x, &k).unwrap_err(),
        grad(&mixed.sum(), &x).unwrap_err(),
    ];
    for error in errors {
        assert_eq!(
            error.kind(),
            &ErrorKind::OrderExceeded {
                order: 1,
                form: Some("elementwise")
            }
        );
    }
}
