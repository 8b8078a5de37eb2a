//! Residuals that are wrong when they run.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pullback::__private::{Drawn, gradcheck, sample};
use pullback::ndarray::{Array1, ArrayView1, Ix1, array, s};
use pullback::prelude::*;
use pullback::{Error, ErrorKind};

/// A function with the residual of `kind`.
struct Wrong;

#[custom_function(name = "wrong")]
impl Wrong {
    #[forward(outputs(x))]
    fn forward(a: ArrayView1<f64>, kind: &str) -> Array1<f64> {
        _ = kind;
        a.to_owned()
    }

    #[residual(dense = 3)]
    fn residual(x: &Tensor1<f64>, a: &Tensor1<f64>, kind: &str) -> Result<Tensor1<f64>, String> {
        match kind {
            "singular" => Ok(x * 0.0 + x.sum() - a.sum()),
            "infinite" => Ok((x - a).powf(0.5)),
            "constant" => Ok(no_grad(|| x - a) + a * 0.0),
            "in part" => {
                Ok((x - a) * Tensor::from(array![0.0, 1.0])
                    + x.sum() * Tensor::from(array![0.0, 1.0]))
            }
            "squared" => Ok((x - a).square()),
            "short" => Ok((x - a).slice(s![1..])),
            "failing" => Err("no equations today".to_owned()),
            _ => Ok(x - a),
        }
    }
}

/// Returns an error of each kind that a pass may have.
pub(crate) fn errors() -> Vec<Error> {
    let small = ["failing", "short", "singular", "infinite"];
    let small = small.map(|kind| gradient(array![1.0, 2.0], kind).unwrap_err());
    let large = gradient(Array1::linspace(0.0, 1.0, 5000), "singular").unwrap_err();
    small.into_iter().chain([large]).collect()
}

fn gradient(values: Array1<f64>, kind: &str) -> Result<Tensor1<f64>, Error> {
    let a = Tensor::from(values).set_requires_grad(true);
    grad(&Wrong::apply(&a, kind).square().sum(), &a)
}

#[test]
fn singular_equations_are_an_error_with_their_condition() {
    let error = gradient(array![1.0, 2.0], "singular").unwrap_err();
    assert_eq!(error.function(), Some("wrong"));
    let ErrorKind::SingularResidual {
        unknowns,
        condition,
        ..
    } = *error.kind()
    else {
        panic!("{error}");
    };
    assert!(unknowns == 2 && condition > 1e14, "{condition}");
    assert!(
        error.to_string().contains("2 equations are singular"),
        "{error}"
    );
    let error = gradient(array![1.0, 2.0, 3.0, 4.0], "singular").unwrap_err();
    assert!(
        matches!(
            error.kind(),
            ErrorKind::SingularResidual { unknowns: 4, .. }
        ),
        "{error}"
    );
    let error = gradient(Array1::linspace(0.0, 1.0, 5000), "singular").unwrap_err();
    let ErrorKind::ResidualNotSolved {
        unknowns: 5000,
        remains,
        ..
    } = *error.kind()
    else {
        panic!("{error}");
    };
    assert!(remains > 0.1, "{error}");
    let remedy = "`#[residual(dense = 5000)]`";
    assert!(error.to_string().contains(remedy), "{error}");
    let error = gradient(array![1.0, 2.0], "infinite").unwrap_err();
    assert!(error.to_string().contains("is not finite"), "{error}");
}

#[test]
fn the_unknown_of_singular_equations_has_a_name() {
    let cut = "is it computed inside `no_grad`, or by `grad` without `create_graph`?";
    let square = "is 0, as that of a square is where it has its minimum";
    for (kind, text) in [
        (
            "constant",
            format!("the residual does not depend on `x`: {cut}"),
        ),
        (
            "squared",
            format!("the derivative of the residual by `x` at entry [0] {square}"),
        ),
        (
            "singular",
            "they do not determine `x` at entry [1]".to_owned(),
        ),
    ] {
        let error = gradient(array![1.0, 2.0], kind).unwrap_err();
        assert!(error.message().ends_with(&text), "{error}");
    }
    let error = gradient(array![1.0, 2.0], "in part").unwrap_err();
    let text = "the derivative of the residual of `x` at entry [0] is 0";
    assert!(error.message().contains(text), "{error}");
}

#[test]
fn errors_of_forward_mode_are_the_same() {
    let (a, v) = (
        Tensor::from(array![1.0, 2.0]),
        Tensor::from(array![1.0, 0.0]),
    );
    for kind in ["singular", "short", "failing"] {
        let error = jvp(|a| Wrong::apply(a, kind), &a, &v).unwrap_err();
        assert_eq!(
            error.kind(),
            gradient(a.to_array(), kind).unwrap_err().kind()
        );
    }
    let (_, along) = jvp(|a| Wrong::apply(a, "right"), &a, &v).unwrap();
    assert_eq!(along.to_array(), v.to_array());
}

#[test]
fn a_residual_of_another_shape_is_an_error() {
    let error = gradient(array![1.0, 2.0, 3.0], "short").unwrap_err();
    let text = "the residual of `wrong` has the shape [2] for `x` of shape [3]";
    assert_eq!(error.message(), text);
    assert_eq!(error.applied_at().unwrap().file(), file!());
}

#[test]
fn a_residual_may_fail() {
    let error = gradient(array![1.0], "failing").unwrap_err();
    assert_eq!(
        error.message(),
        "the residual of `wrong` failed: no equations today"
    );
    assert!(std::error::Error::source(&error).is_some());
}

/// A square root that stops too early.
struct Early;

#[custom_function]
impl Early {
    #[forward(outputs(root))]
    fn forward(a: ArrayView1<f64>) -> Array1<f64> {
        a.mapv(|a| (0..2).fold(a, |x, _| x - (x * x - a) / (2.0 * x)))
    }

    #[residual]
    fn residual(root: &Tensor1<f64>, a: &Tensor1<f64>) -> Tensor1<f64> {
        root.square() - a
    }
}

/// Returns the message of a generated test of outputs that are no solutions.
pub(crate) fn message_of_test() -> String {
    let check = || {
        let input = Drawn {
            either_sign: false,
            within: None,
            estimated: false,
        };
        let a = sample::<f64, Ix1>(&[3], 0, Some([2.0, 3.0]));
        gradcheck(
            "`Early`",
            [1, 0],
            Gradcheck::new(),
            &[input],
            |a| Early::apply(a),
            &a,
        );
    };
    let panic = catch_unwind(check).unwrap_err();
    *panic.downcast::<String>().unwrap()
}

#[test]
fn the_generated_test_finds_outputs_that_are_no_solutions() {
    let message = message_of_test();
    let text = "gradcheck of `Early`: the outputs of `Early` do not solve the equations of its residual: the residual of \
                `root` is ";
    assert!(message.starts_with(text), "{message}");
    // Other checks take the outputs as they are.
    let a = Tensor::from(array![2.0]).set_requires_grad(true);
    assert!(grad(&Early::apply(&a).sum(), &a).is_ok());
}

#[test]
fn a_check_by_differences_mentions_outputs_that_are_no_solutions() {
    let a = Tensor::from(array![2.0, 3.0]);
    let error = Gradcheck::new().run(Early::apply, &a).unwrap_err();
    let mismatch = error.mismatch().unwrap();
    let unsolved = mismatch.unsolved.unwrap();
    assert_eq!((unsolved.function, unsolved.output), ("Early", "root"));
    assert!(unsolved.residual > 1e-3);
    let text = "The residual of `root` in `Early` is ";
    assert!(error.to_string().contains(text), "{error}");
    // What is wrong elsewhere is not blamed on it.
    let other = |a: &Tensor1<f64>| a * 2.0 + a.detach();
    let error = Gradcheck::new().run(other, &a).unwrap_err();
    assert_eq!(error.mismatch().unwrap().unsolved, None);
}

/// The second equation has a derivative of the size of rounding: the difference is detached.
struct Rounded;

#[custom_function]
impl Rounded {
    #[forward]
    fn forward(a: ArrayView1<f64>) -> Array1<f64> {
        array![a[0], a[1].next_up()]
    }

    #[residual]
    fn residual(output: &Tensor1<f64>, a: &Tensor1<f64>) -> Tensor1<f64> {
        let difference = output - a;
        let cut = difference.detach() * output;
        difference * Tensor::from(array![1.0, 0.0]) + cut * Tensor::from(array![0.0, 1.0])
    }
}

#[test]
fn a_residual_of_rounding_is_not_taken_for_an_output_that_is_no_solution() {
    let check = || {
        let input = Drawn {
            either_sign: false,
            within: None,
            estimated: false,
        };
        let a = sample::<f64, Ix1>(&[2], 0, None);
        let map = |a: &Tensor1<f64>| Rounded::apply(a);
        gradcheck("`Rounded`", [1, 0], Gradcheck::new(), &[input], map, &a);
    };
    let panic = catch_unwind(check).unwrap_err();
    let message = *panic.downcast::<String>().unwrap();
    assert!(
        message.contains("its 2 equations are singular"),
        "{message}"
    );
    let text = "the residual is rounding, ";
    assert!(
        message.contains(text) && message.contains("moves `output` at entry [1] by"),
        "{message}"
    );
}

#[custom_function(grad(x) = &grad_output * &x * 2.0)]
fn square(x: ArrayView1<f64>) -> Array1<f64> {
    &x * &x
}

/// A residual with a function that can be differentiated once.
struct OfOnce;

#[custom_function]
impl OfOnce {
    #[forward]
    fn forward(a: ArrayView1<f64>) -> Array1<f64> {
        a.mapv(f64::sqrt)
    }

    #[residual]
    fn residual(output: &Tensor1<f64>, a: &Tensor1<f64>) -> Tensor1<f64> {
        square(output) - a
    }
}

#[test]
fn a_function_that_is_once_differentiable_is_enough_for_gradients() {
    let a = Tensor::from(array![2.0, 3.0]);
    Gradcheck::new().run(OfOnce::apply, &a).unwrap();
    let check = || {
        let input = Drawn {
            either_sign: false,
            within: None,
            estimated: false,
        };
        let (options, map) = (Gradcheck::new(), |a: &Tensor1<f64>| OfOnce::apply(a));
        gradcheck("`OfOnce`", [2, 0], options, &[input], map, &a);
    };
    let panic = catch_unwind(AssertUnwindSafe(check)).unwrap_err();
    let message = *panic.downcast::<String>().unwrap();
    let text = "this test differentiates twice: in place of `gradcheck(…)`, check the first order";
    assert!(
        message.contains("of `square` cannot be differentiated again"),
        "{message}"
    );
    assert!(message.contains(text), "{message}");
}

/// A function whose rule for forward mode fails.
struct Stubborn;

#[custom_function]
impl Stubborn {
    #[forward]
    fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        x.to_owned()
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor1<f64>) -> Tensor1<f64> {
        grad_output.clone()
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor1<f64>) -> Result<Tensor1<f64>, String> {
        match tangent_x.sum().item() {
            0.0 => Err("no direction".to_owned()),
            _ => Ok(tangent_x.clone()),
        }
    }
}

/// Returns the error of a rule for forward mode that fails.
pub(crate) fn error_of_rule() -> Error {
    let (x, v) = (Tensor::from(array![1.0]), Tensor::from(array![0.0]));
    jvp(|x| Stubborn::apply(x), &x, &v).unwrap_err()
}

#[test]
fn a_rule_for_forward_mode_may_fail() {
    let error = error_of_rule();
    assert_eq!(
        error.message(),
        "the `#[jvp]` rule of `Stubborn` failed: no direction"
    );
    assert_eq!(
        std::error::Error::source(&error).unwrap().to_string(),
        "no direction"
    );
    let x = Tensor::from(array![1.0]);
    let (_, along) = jvp(|x| Stubborn::apply(x), &x, &x).unwrap();
    assert_eq!(along.to_array(), array![1.0]);
}
