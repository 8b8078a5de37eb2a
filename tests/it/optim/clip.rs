//! Clipping of gradients.

use pullback::ndarray::{Array2, ShapeBuilder, array, s};
use pullback::nn::Parameter;
use pullback::optim::{
    Norm, clip_grad_norm, clip_grad_norm_of, clip_grad_value, grad_norm, try_clip_grad_norm,
};

#[test]
fn the_norm_is_that_of_all_gradients_together() {
    let model = vec![
        Parameter::new(array![0.0, 0.0]),
        Parameter::new(array![0.0, 0.0]),
        Parameter::new(array![0.0, 0.0]),
    ];
    assert_eq!(grad_norm(&model, Norm::Euclidean), 0.0);
    model[0].set_grad(array![1.0, -2.0]);
    model[2].set_grad(array![4.0, 10.0]);
    assert_eq!(clip_grad_norm(&model, 5.5), 11.0);
    let factor = 5.5 / (11.0 + 1e-6);
    assert_eq!(model[0].grad(), Some(array![1.0 * factor, -2.0 * factor]));
    assert_eq!(model[1].grad(), None);
    assert_eq!(model[2].grad(), Some(array![4.0 * factor, 10.0 * factor]));
    assert!(grad_norm(&model, Norm::Euclidean) < 5.5);
    assert_eq!(
        clip_grad_norm_of(&model, 1.0, Norm::Infinity),
        10.0 * factor
    );
    assert!((grad_norm(&model, Norm::Infinity) - 1.0).abs() < 1e-6);
}

#[test]
fn gradients_within_the_bound_stay() {
    let w = Parameter::new(array![0.0, 0.0]);
    w.set_grad(array![3.0, 4.0]);
    assert_eq!(clip_grad_norm(&w, 5.1), 5.0);
    assert_eq!(w.grad(), Some(array![3.0, 4.0]));
}

#[test]
fn tied_parameters_count_once_and_are_scaled_once() {
    let w = Parameter::new(array![0.0, 0.0_f64]);
    let model = (w.clone(), w);
    model.0.set_grad(array![3.0, 4.0]);
    assert_eq!(clip_grad_norm(&model, 2.5), 5.0);
    assert!((model.1.grad().unwrap()[0] - 1.5).abs() < 1e-6);
}

#[test]
fn norms_that_are_not_finite_leave_gradients_alone() {
    for (bad, norm_is) in [
        (f32::NAN, f64::is_nan as fn(f64) -> bool),
        (f32::NEG_INFINITY, f64::is_infinite),
    ] {
        for kind in [Norm::Euclidean, Norm::Infinity] {
            let model = (
                Parameter::new(array![0.0_f32, 0.0]),
                Parameter::new(array![0.0]),
            );
            model.0.set_grad(array![bad, 30.0]);
            model.1.set_grad(array![40.0]);
            assert!(
                norm_is(clip_grad_norm_of(&model, 1.0, kind)),
                "{bad}, {kind:?}"
            );
            let error = try_clip_grad_norm(&model, 1.0, kind).unwrap_err();
            assert!(norm_is(error.norm));
            assert_eq!(
                (model.0.grad().unwrap()[1], model.1.grad()),
                (30.0, Some(array![40.0]))
            );
            // Clipping by value treats each element by itself.
            clip_grad_value(&model, 2.0);
            let first = model.0.grad().unwrap();
            assert!(first[0].is_nan() || first[0] == -2.0);
            assert_eq!((first[1], model.1.grad()), (2.0, Some(array![2.0])));
        }
    }
}

#[test]
fn gradients_of_every_layout_are_clipped() -> Result<(), pullback::Error> {
    let numbers = |(i, j): (usize, usize)| (i as f64 - 20.0) * 0.5 + j as f64;
    let wide = Array2::from_shape_fn((60, 50), numbers);
    let plain = Parameter::new(Array2::zeros((30, 25)));
    plain.set_grad(wide.slice(s![..;2, ..;2]).to_owned());
    let columns = Parameter::new(Array2::zeros((30, 25)));
    let mut grad = Array2::zeros((30, 25).f());
    grad.assign(&wide.slice(s![..;2, ..;2]));
    columns.set_grad(grad);
    let norm = grad_norm(&plain, Norm::Euclidean);
    assert!((grad_norm(&columns, Norm::Euclidean) / norm - 1.0).abs() < 1e-14);
    for model in [&plain, &columns] {
        clip_grad_norm(model, norm / 2.0);
        clip_grad_value(model, 3.0);
    }
    let close = plain.grad().unwrap() - columns.grad().unwrap();
    assert!(close.iter().all(|off| off.abs() < 1e-14));
    let largest = |w: &Parameter<f64, _>| grad_norm(w, Norm::Infinity);
    assert_eq!((largest(&plain), largest(&columns)), (3.0, 3.0));

    // A broadcast gradient, as `sum` returns it.
    let ones = Parameter::new(Array2::<f32>::zeros((30, 30)));
    ones.sum().backward()?;
    assert!((clip_grad_norm(&ones, 15.0) - 30.0).abs() < 1e-6);
    assert!((grad_norm(&ones, Norm::Euclidean) - 15.0).abs() < 1e-5);
    Ok(())
}

#[test]
fn gradients_too_large_for_their_squares_are_clipped() {
    let w = Parameter::new(array![0.0, 0.0]);
    w.set_grad(array![3e200, 4e200]);
    assert!((clip_grad_norm(&w, 1.0) / 5e200 - 1.0).abs() < 1e-15);
    assert!((grad_norm(&w, Norm::Euclidean) - 1.0).abs() < 1e-15);
}

#[test]
#[should_panic(expected = "the largest norm is -1: a finite number above 0 is needed")]
fn a_bound_is_above_0() {
    clip_grad_norm(&Parameter::new(array![0.0]), -1.0);
}
