//! Residuals that are wrong when they run.

use pullback::ndarray::{Array1, ArrayView1, array, s};
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
            "short" => Ok((x - a).slice(s![1..])),
            "failing" => Err("no equations today".to_owned()),
            _ => Ok(x - a),
        }
    }
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
    let ErrorKind::ResidualNotSolved {
        unknowns: 4,
        remains,
        ..
    } = *error.kind()
    else {
        panic!("{error}");
    };
    assert!(remains > 0.1, "{error}");
    let error = gradient(array![1.0, 2.0], "infinite").unwrap_err();
    assert!(error.to_string().contains("is not finite"), "{error}");
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
