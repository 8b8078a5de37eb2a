//! `Gradcheck::thorough` finds what right derivatives do not show. Each function here passes the plain
//! check.

use std::sync::atomic::{AtomicU32, Ordering};

use pullback::__private::{Drawn, gradcheck, sample};
use pullback::ndarray::{
    Array0, Array1, Array2, ArrayView1, ArrayView2, Axis, Ix1, Ix2, arr0, array,
};
use pullback::prelude::*;
use pullback::{Check, Error, InputTensors, Mismatch, OutputTensors};

use crate::functions::{HalfTangent, Linear, Square, leaf, panic_of};

/// Returns the mismatch that a thorough check finds in a function that passes the plain one.
#[track_caller]
fn found<I, O, F>(function: F, inputs: I) -> Mismatch
where
    I: InputTensors + Copy,
    O: OutputTensors,
    F: for<'a> Fn(I::Refs<'a>) -> O + Copy,
{
    let error = error(function, inputs);
    error.mismatch().expect("a failed check").clone()
}

fn error<I, O, F>(function: F, inputs: I) -> Error
where
    I: InputTensors + Copy,
    O: OutputTensors,
    F: for<'a> Fn(I::Refs<'a>) -> O + Copy,
{
    Gradcheck::new().run(function, inputs).unwrap();
    let result = Gradcheck::new().thorough().run(function, inputs);
    result.expect_err("a mistake")
}

#[test]
fn right_functions_pass() {
    let check = Gradcheck::new().thorough();
    let x = Tensor::from(array![[0.1, -0.4], [0.7, 0.2]]).set_requires_grad(true);
    let w = Tensor::from(array![[0.3, 0.5], [0.1, 0.9]]).set_requires_grad(true);
    check
        .run(
            |(x, w, b)| Linear::apply(x, w, Some(b)),
            (&x, &w, &leaf([0.1, 0.2])),
        )
        .unwrap();
    check
        .second_order()
        .run(|(x,)| (Square::apply(x), x.sum()), (&x,))
        .unwrap();
    let empty = Tensor::from(Array2::<f64>::zeros((0, 3)));
    check.run(|(x,)| x.exp(), (&empty,)).unwrap();
    let single = Tensor::from(array![[0.5_f32, 1.5]]).set_requires_grad(true);
    check.run(|(x,)| x.matmul(&x.t()), (&single,)).unwrap();
}

/// Backward counts its calls and adds noise that grows with them.
#[custom_function(grad(x) = {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let calls = CALLS.fetch_add(1, Ordering::Relaxed);
    &grad_output * (1.0 + 1e-9 * f64::from(calls))
})]
fn noisy(x: ArrayView1<f64>) -> Array1<f64> {
    x.to_owned()
}

#[test]
fn a_backward_that_is_not_deterministic_is_found() {
    let error = error(|(x,)| noisy(x), (&leaf([1.0, 2.0]),));
    let mismatch = error.mismatch().expect("a failed check");
    assert_eq!(
        (
            mismatch.check,
            mismatch.function,
            mismatch.input_name.as_deref()
        ),
        (Check::Repetition, Some("noisy"), Some("x"))
    );
    let text = error.to_string();
    assert!(
        text.starts_with(
            "wrong gradient of `noisy` with respect to `x` (input 0): backward is not \
             deterministic: for entry [0] it computes "
        ),
        "{text}"
    );
}

/// The square of the incoming gradient is itself, if that is 0 or 1.
#[custom_function(grad(x) = &grad_output * &grad_output * *factor)]
fn squared(x: ArrayView1<f64>, factor: f64) -> Array1<f64> {
    &x * factor
}

#[test]
fn a_backward_that_is_not_linear_is_found() {
    let mismatch = found(|(x,)| squared(x, 3.0), (&leaf([1.0, 2.0]),));
    assert_eq!(mismatch.check, Check::Linearity);
    assert!((mismatch.analytical - mismatch.numerical).abs() > 0.1);
}

/// The slice of an array, wrongly taken for zeros where there is none.
fn slice(view: ArrayView1<f64>) -> Array1<f64> {
    let slice = view.to_slice();
    slice.map_or_else(
        || Array1::zeros(view.len()),
        |slice| Array1::from(slice.to_vec()),
    )
}

#[custom_function(grad(x) = slice(grad_output))]
fn wants_one_piece(x: ArrayView1<f64>) -> Array1<f64> {
    x.to_owned()
}

#[test]
fn a_backward_that_assumes_contiguous_gradients_is_found() {
    let mismatch = found(|(x,)| wants_one_piece(x), (&leaf([1.0, 2.0]),));
    assert_eq!(mismatch.check, Check::ScatteredGradient);
}

#[custom_function(grad(x) = {
    // Kernels that walk along memory see each number once.
    let repeated = grad_output.strides()[0] == 0;
    if repeated { &grad_output / grad_output.len() as f64 } else { grad_output.to_owned() }
})]
fn counts_memory(x: ArrayView1<f64>) -> Array1<f64> {
    x.to_owned()
}

#[test]
fn a_backward_that_misreads_strides_of_zero_is_found() {
    let mismatch = found(|(x,)| counts_memory(x), (&leaf([1.0, 2.0]),));
    assert_eq!(mismatch.check, Check::BroadcastGradient);
}

#[custom_function(grad(x) = &grad_output * slice(x) * 2.0)]
fn wants_inputs_in_one_piece(x: ArrayView1<f64>) -> Array1<f64> {
    &x * &x
}

#[test]
fn a_backward_that_assumes_contiguous_inputs_is_found() {
    let mismatch = found(|(x,)| wants_inputs_in_one_piece(x), (&leaf([1.0, 2.0]),));
    assert_eq!(mismatch.check, Check::ScatteredInputs);
}

/// x and 2x; backward takes zeros that came in for the lack of a gradient, and that for something else.
struct Both;

#[custom_function]
impl Both {
    #[forward]
    fn forward(x: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) {
        (x.to_owned(), &x * 2.0)
    }

    #[backward(x)]
    fn backward(
        grad_output_0: ArrayView1<f64>,
        grad_output_1: Option<ArrayView1<f64>>,
    ) -> Array1<f64> {
        match grad_output_1 {
            None => grad_output_0.to_owned(),
            Some(second) if second.sum() == 0.0 => &grad_output_0 * 3.0,
            Some(second) => &grad_output_0 + &second * 2.0,
        }
    }
}

#[test]
fn a_backward_that_misreads_undefined_gradients_is_found() {
    let mismatch = found(|(x,)| Both::apply(x), (&leaf([1.0, 2.0]),));
    assert_eq!(
        (mismatch.check, mismatch.output),
        (Check::UndefinedGradients, 0)
    );
}

/// The gradient of a transposed product, transposed once too little, at square matrices.
#[custom_function(grad(x) = grad_output.dot(&weight.t()))]
fn transposed(x: ArrayView2<f64>, #[non_differentiable] weight: ArrayView2<f64>) -> Array2<f64> {
    x.dot(&weight.t())
}

#[test]
fn a_transposed_square_gradient_is_found() {
    let x = Tensor::from(array![[1.0, 2.0], [3.0, 4.0]]).set_requires_grad(true);
    let weight = Tensor::from(array![[0.5, 1.5], [-1.0, 2.0]]);
    let result = Gradcheck::new()
        .thorough()
        .run(|(x,)| transposed(x, &weight), (&x,));
    let error = result.unwrap_err();
    let mismatch = error.mismatch().expect("a failed check");
    assert_eq!(
        (mismatch.check, mismatch.function),
        (Check::Differences, Some("transposed"))
    );
}

/// Complex numbers as rows of two parts; backward multiplies by w where its conjugate is due.
#[custom_function(grad(z) = complex_product(grad_output, *w))]
fn times(z: ArrayView2<f64>, w: [f64; 2]) -> Array2<f64> {
    complex_product(z, w)
}

fn complex_product(z: ArrayView2<f64>, [re, im]: [f64; 2]) -> Array2<f64> {
    let (x, y) = (z.index_axis(Axis(1), 0), z.index_axis(Axis(1), 1));
    let parts = [&x * re - &y * im, &x * im + &y * re];
    pullback::ndarray::stack(Axis(1), &[parts[0].view(), parts[1].view()]).unwrap()
}

#[test]
fn a_gradient_without_the_conjugate_is_found() {
    let z = Tensor::from(array![[1.0, 2.0], [-0.5, 0.3]]).set_requires_grad(true);
    let check = Gradcheck::new().thorough();
    // A real factor is its own conjugate: nothing is wrong there.
    check.run(|(z,)| times(z, [2.0, 0.0]), (&z,)).unwrap();
    let result = check.run(|(z,)| times(z, [2.0, 0.5]), (&z,));
    assert!(result.unwrap_err().mismatch().is_some());
}

/// y = x / w; backward looks at the flag of the other input.
struct Quotient;

#[custom_function]
impl Quotient {
    #[forward]
    fn forward(x: ArrayView1<f64>, w: ArrayView1<f64>) -> Array1<f64> {
        &x / &w
    }

    #[backward(x, w)]
    fn backward(
        grad_output: ArrayView1<f64>,
        w: ArrayView1<f64>,
        output: ArrayView1<f64>,
        needs_input_grad: QuotientNeedsInputGrad,
    ) -> (Array1<f64>, Option<Array1<f64>>) {
        let grad_x = &grad_output / &w;
        // What the rules of the macro do not see.
        let is_needed = needs_input_grad.x;
        let grad_w = is_needed.then(|| -(&grad_x * &output));
        (grad_x, grad_w)
    }
}

#[test]
fn a_flag_that_is_that_of_another_input_is_found() {
    let inputs = (&leaf([1.0, 2.0]), &leaf([0.5, 3.0]));
    let error = error(|(x, w)| Quotient::apply(x, w), inputs);
    let mismatch = error.mismatch().expect("a failed check");
    assert_eq!(
        (mismatch.check, mismatch.input_name.as_deref()),
        (Check::SingleInput, Some("w"))
    );
    let text = error.to_string();
    for part in [
        "backward computes 0 if no other input requires grad, and -",
        " if all do; look at what it does with `needs_input_grad`",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

/// Each tensor of a list is scaled by its place; the last is forgotten unless another requires grad.
#[custom_function(
    saves(all),
    grad(parts) = {
        let mut gradients = vec![Array1::zeros(2); parts.len()];
        if *all {
            gradients.fill(grad_output.to_owned());
        }
        gradients
    },
)]
fn sum_of_list(
    parts: &[&Tensor1<f64>],
    needs_input_grad: SumOfListNeedsInputGrad,
) -> (Array1<f64>, bool) {
    let all = needs_input_grad.parts && parts.iter().all(|part| part.requires_grad());
    let sum = parts
        .iter()
        .fold(Array1::zeros(2), |sum, part| sum + part.view());
    (sum, all)
}

#[test]
fn each_tensor_of_a_list_requires_grad_alone() {
    let list = [leaf([1.0, 2.0]), leaf([0.5, 3.0])];
    let mismatch = found(|parts: &[Tensor1<f64>]| sum_of_list(parts), &list);
    assert_eq!((mismatch.check, mismatch.input), (Check::SingleInput, 0));
}

/// Rounds `scale` x and adds w²; the gradient of x is an estimate, and so is its derivative by x, through the output.
#[custom_function(
    higher_order,
    grad(x) = grad_output * *scale * output,
    grad(w) = grad_output * w * *factor,
)]
fn rounded(x: ArrayView1<f64>, w: ArrayView1<f64>, scale: f64, factor: f64) -> Array1<f64> {
    x.mapv(|x| (x * scale).round()) + &w * &w
}

#[track_caller]
fn check_estimate(estimated: bool, factor: f64) {
    let drawn = [estimated, false].map(|estimated| Drawn {
        either_sign: true,
        within: None,
        estimated,
    });
    gradcheck(
        "`rounded`",
        [2, 0],
        Gradcheck::new(),
        &drawn,
        |(x, w): (&Tensor1<f64>, &Tensor1<f64>)| rounded(x, w, 2.0, factor),
        (
            &sample::<f64, Ix1>(&[3], 0, None),
            &sample::<f64, Ix1>(&[3], 1, None),
        ),
    );
}

#[test]
fn an_estimated_gradient_is_not_compared_with_differences() {
    check_estimate(true, 2.0);
    let (estimate, ..) = panic_of(|| check_estimate(false, 2.0));
    assert!(estimate.contains("with respect to `x`"), "{estimate}");
    let (other, ..) = panic_of(|| check_estimate(true, 3.0));
    assert!(other.contains("with respect to `w`"), "{other}");
}

#[custom_function(grad(x) = &grad_output * &grad_output)]
fn squared_gradient(x: ArrayView1<f64>) -> Array1<f64> {
    x.mapv(f64::round)
}

#[test]
fn an_estimated_gradient_is_checked_but_for_differences() {
    let drawn = Drawn {
        either_sign: true,
        within: None,
        estimated: true,
    };
    let (panic, ..) = panic_of(|| {
        gradcheck(
            "`squared_gradient`",
            [1, 0],
            Gradcheck::new(),
            &[drawn],
            |x| squared_gradient(x),
            &sample::<f64, Ix1>(&[3], 0, None),
        );
    });
    assert!(panic.contains("not linear"), "{panic}");
}

/// Returns the properties of an input whose gradient is a derivative.
fn drawn(either_sign: bool) -> Drawn {
    Drawn {
        either_sign,
        within: None,
        estimated: false,
    }
}

/// Checks a function of one input as generated tests do, of shape `[3]` or `[3, 3]`.
#[track_caller]
fn generated<D: pullback::ndarray::Dimension + 'static>(
    shape: &[usize],
    function: impl for<'a> Fn(&'a Tensor<f64, D>) -> Tensor<f64, D>,
) {
    gradcheck(
        "`wrong` without `bias`",
        [1, 0],
        Gradcheck::new(),
        &[drawn(true)],
        |(x,)| function(x),
        (&sample(shape, 0, None),),
    );
}

#[test]
#[should_panic(expected = "gradcheck of `wrong` without `bias`: wrong gradient of `transposed`")]
fn a_generated_check_finds_a_transposed_gradient() {
    let weight = sample::<f64, Ix2>(&[3, 3], 1, None).detach();
    generated::<Ix2>(&[3, 3], move |x| transposed(x, &weight));
}

#[test]
#[should_panic(expected = "wrong gradient of `times` with respect to `z`")]
fn a_generated_check_finds_a_missing_conjugate() {
    generated::<Ix2>(&[3, 2], |z| times(z, [2.0, 0.5]));
}

#[test]
#[should_panic(expected = "backward is not deterministic")]
fn a_generated_check_finds_what_is_not_deterministic() {
    generated::<Ix1>(&[3], |x| noisy(x));
}

#[test]
#[should_panic(expected = "gradcheck of `half`: wrong tangent of `HalfTangent`")]
fn a_generated_check_finds_a_wrong_tangent() {
    gradcheck(
        "`half`",
        [1, 1],
        Gradcheck::new(),
        &[drawn(true)],
        |(x,)| HalfTangent::apply(x),
        (&sample::<_, Ix1>(&[2], 0, None),),
    );
}

/// |x|, with the gradient of x.
#[custom_function(grad(x) = grad_output.to_owned())]
fn magnitude(x: ArrayView1<f64>) -> Array1<f64> {
    x.mapv(f64::abs)
}

#[test]
#[should_panic(
    expected = "gradcheck of `wrong` without `bias`, for inputs of both signs: wrong gradient"
)]
fn a_generated_check_finds_what_is_right_for_positive_numbers_alone() {
    generated::<Ix1>(&[3], |x| magnitude(x));
}

#[test]
fn a_generated_check_panics_at_the_callers_line() {
    let (_, file, line) = panic_of(|| generated::<Ix1>(&[3], |x| magnitude(x)));
    assert_eq!((&*file, line), (file!(), line!() - 1));
}

#[test]
#[should_panic(expected = "of both signs: wrong gradient")]
fn an_input_changes_its_sign_alone_where_another_must_not() {
    gradcheck(
        "`product`",
        [1, 0],
        Gradcheck::new(),
        &[drawn(true), drawn(true)],
        // The logarithm is defined for positive numbers alone.
        |(x, w): (&Tensor1<f64>, &Tensor1<f64>)| magnitude(x) * w.ln(),
        (
            &sample::<f64, Ix1>(&[3], 0, None),
            &sample::<f64, Ix1>(&[3], 1, None),
        ),
    );
}

/// A function whose range excludes negative numbers.
fn positive(x: &Tensor1<f64>) -> Tensor1<f64> {
    assert!(x.to_array().iter().all(|x| *x > 0.0), "a negative number");
    magnitude(x)
}

#[test]
fn a_function_is_not_checked_where_it_is_not_defined() {
    generated::<Ix1>(&[3], |x| magnitude(x).sqrt() * x.ln());
    generated::<Ix1>(&[3], positive);
}

/// Of negative numbers the output is beyond 10⁶, where the rounding of differences is larger than what they may be wrong.
#[test]
fn a_function_is_not_checked_where_its_outputs_are_huge() {
    generated::<Ix1>(&[3], |x| magnitude(x) + (x * -30.0).exp());
}

#[test]
fn an_input_with_a_range_keeps_to_it() {
    let x = sample::<f64, Ix1>(&[1000], 3, Some([2.0, 3.0]));
    let (low, high) = x
        .to_array()
        .iter()
        .fold((3.0_f64, 2.0_f64), |(low, high), x| {
            (low.min(*x), high.max(*x))
        });
    assert!(
        (2.001..2.1).contains(&low) && (2.9..2.999).contains(&high),
        "{low} {high}"
    );
    let check = |either_sign| {
        gradcheck(
            "`ranged`",
            [1, 0],
            Gradcheck::new(),
            &[drawn(either_sign)],
            |(x,)| magnitude(x),
            (&x,),
        );
    };
    check(false);
    let whole = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(true)));
    whole.expect_err("it would be wrong elsewhere");
}

/// |x|, right for positive numbers, is checked at negative ones of a range that has some, and at no others.
#[test]
fn a_number_in_a_range_changes_its_sign_within_the_range() {
    let check = |range| {
        let drawn = Drawn {
            either_sign: true,
            within: Some(range),
            estimated: false,
        };
        let x = sample::<f64, Ix1>(&[1], 0, Some(range));
        let first = x.to_array()[0];
        assert!(first > 0.0, "{first}");
        let options = Gradcheck::new();
        gradcheck(
            "`ranged`",
            [1, 0],
            options,
            &[drawn],
            |(x,)| magnitude(x),
            (&x,),
        );
    };
    check([0.5, 1.5]);
    check([-0.1, 1.5]);
    let (message, ..) = panic_of(|| check([-1.0, 1.0]));
    let expected = "gradcheck of `ranged`, for inputs of both signs: wrong gradient of `magnitude`";
    assert!(message.starts_with(expected), "{message}");
}

/// Returns the volume of the parallelepiped with these corners.
fn volume(corners: [&ArrayView1<f64>; 4]) -> f64 {
    let [u, v, w] = [1, 2, 3].map(|corner| corners[corner] - corners[0]);
    u[0] * (v[1] * w[2] - v[2] * w[1])
        + u[1] * (v[2] * w[0] - v[0] * w[2])
        + u[2] * (v[0] * w[1] - v[1] * w[0])
}

/// The squared volume, which is flat where the corners are in a plane: the gradients are wrong, but 0 there.
#[custom_function(
    grad(a) = Array1::from_elem(3, 7.0 * volume([&a, &b, &c, &d]) * grad_output[()]),
    grad(b) = Array1::from_elem(3, 7.0 * volume([&a, &b, &c, &d]) * grad_output[()]),
    grad(c) = Array1::from_elem(3, 7.0 * volume([&a, &b, &c, &d]) * grad_output[()]),
    grad(d) = Array1::from_elem(3, 7.0 * volume([&a, &b, &c, &d]) * grad_output[()]),
)]
fn planarity(
    a: ArrayView1<f64>,
    b: ArrayView1<f64>,
    c: ArrayView1<f64>,
    d: ArrayView1<f64>,
) -> Array0<f64> {
    arr0(volume([&a, &b, &c, &d]).powi(2))
}

#[test]
#[should_panic(expected = "gradcheck of `planarity`: wrong gradient of `planarity`")]
fn four_points_are_not_in_a_plane() {
    let range = Some([0.5, 1.5]);
    let [a, b, c, d] = [0, 1, 2, 3].map(|seed| sample::<f64, Ix1>(&[3], seed, range));
    gradcheck(
        "`planarity`",
        [1, 0],
        Gradcheck::new(),
        &[drawn(false); 4],
        |(a, b, c, d)| planarity(a, b, c, d),
        (&a, &b, &c, &d),
    );
}

/// The correlation of `x` and `y` with weights, and its gradients by `x`, `w` and `y`.
fn weighted_correlation([x, w, y]: [&ArrayView1<f64>; 3]) -> (f64, [Array1<f64>; 3]) {
    let centered = |x: &ArrayView1<f64>| x - x.dot(w) / w.sum();
    let (x, y) = (centered(x), centered(y));
    let product = |x: &Array1<f64>, y: &Array1<f64>| (x * y).dot(w);
    let (of_x, of_y) = (product(&x, &x), product(&y, &y));
    let scale = (of_x * of_y).sqrt();
    let r = product(&x, &y) / scale;
    let by_x = w * (&y / scale - &x * (r / of_x));
    let by_y = w * (&x / scale - &y * (r / of_y));
    let by_w = &x * &y / scale - (&x * &x / of_x + &y * &y / of_y) * (r / 2.0);
    (r, [by_x, by_w, by_y])
}

/// The gradients are `factor` times the right ones.
#[custom_function(
    grad(x) = &weighted_correlation([&x, &w, &y]).1[0] * (factor * grad_output[()]),
    grad(w) = &weighted_correlation([&x, &w, &y]).1[1] * (factor * grad_output[()]),
    grad(y) = &weighted_correlation([&x, &w, &y]).1[2] * (factor * grad_output[()]),
)]
fn correlation(
    x: ArrayView1<f64>,
    w: ArrayView1<f64>,
    y: ArrayView1<f64>,
    factor: f64,
) -> Array0<f64> {
    let _ = factor;
    arr0(weighted_correlation([&x, &w, &y]).0)
}

#[test]
fn inputs_are_not_correlated() {
    for length in 3..9 {
        let range = Some([0.5, 1.5]);
        let [x, w, y] = [0, 1, 2].map(|seed| sample::<f64, Ix1>(&[length], seed, range));
        let check = |factor| {
            gradcheck(
                "`correlation`",
                [1, 0],
                Gradcheck::new(),
                &[drawn(false); 3],
                |(x, w, y)| correlation(x, w, y, factor),
                (&x, &w, &y),
            );
        };
        check(1.0);
        let (message, ..) = panic_of(|| check(3.0));
        let expected = "gradcheck of `correlation`: wrong gradient of `correlation`";
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
#[should_panic(
    expected = "for inputs between 0.5 and 1.5 an output is not finite; say where the function is defined, as in `gradcheck(x = [3] in -1.0..1.0)`"
)]
fn a_generated_check_says_that_it_looks_where_the_function_is_not_defined() {
    generated::<Ix1>(&[3], |x| x.acos());
}

#[test]
#[should_panic(expected = "gradcheck of an input in 1..1, which has no numbers")]
fn a_range_without_a_number_is_refused() {
    let _ = sample::<f64, Ix1>(&[3], 0, Some([1.0, 1.0]));
}
