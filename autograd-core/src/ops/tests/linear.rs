//! Products and small systems of equations.

use std::panic::Location;

use ndarray::{Array1, Array2, Array4, Dimension, Ix0, Ix1, Ix2, Ix3, Ix4, IxDyn, array, s};

use super::{assert_close, numbers};
use crate::ops::einsum;
use crate::ops::{AttentionOptions, ConvOptions, OverPairs, Pairs, Triangle};
use crate::{ErrorKind, Grad, Tensor, Tensor0, Tensor2, TensorD, grad, jvp};

/// Returns a leaf of different numbers of either sign.
pub(super) fn leaf<D: Dimension>(shape: &[usize], seed: f64) -> Tensor<f64, D> {
    let mut position = seed;
    let numbers = numbers(shape).mapv(|x| {
        position += 1.0;
        x - 1.0 + 0.3 * (position * 0.381).sin()
    });
    let tensor = Tensor::from(numbers).into_dimensionality::<D>();
    tensor.expect("the rank asked for").set_requires_grad(true)
}

#[track_caller]
pub(super) fn close<D: Dimension>(x: &Tensor<f64, D>, y: &Tensor<f64, D>) {
    assert_close(&x.to_array(), &y.to_array());
}

#[track_caller]
fn products<D, E, F>(x: &[usize], y: &[usize], shape: &[usize])
where
    D: super::super::MatMulRank<E, Product = F> + 'static,
    E: Dimension + 'static,
    F: Dimension,
{
    let (a, b) = (leaf::<D>(x, 0.0), leaf::<E>(y, 5.0));
    assert_eq!(a.matmul(&b).shape(), shape);
    gradchecks!(|(a, b)| a.matmul(b), (&a, &b), "{x:?} and {y:?}");
}

#[test]
fn products_of_every_rank() {
    products::<Ix1, Ix1, Ix0>(&[3], &[3], &[]);
    products::<Ix1, Ix2, Ix1>(&[3], &[3, 2], &[2]);
    products::<Ix2, Ix1, Ix1>(&[2, 3], &[3], &[2]);
    products::<Ix2, Ix2, Ix2>(&[2, 3], &[3, 2], &[2, 2]);
    products::<Ix3, Ix2, Ix3>(&[2, 1, 3], &[3, 2], &[2, 1, 2]);
    products::<Ix2, Ix3, Ix3>(&[2, 3], &[2, 3, 1], &[2, 2, 1]);
    products::<Ix3, Ix3, Ix3>(&[2, 2, 1], &[1, 1, 2], &[2, 2, 2]);
    products::<Ix3, Ix1, Ix2>(&[2, 1, 3], &[3], &[2, 1]);
    products::<Ix1, Ix3, Ix2>(&[2], &[2, 2, 1], &[2, 1]);
    products::<Ix4, Ix3, Ix4>(&[2, 1, 1, 2], &[2, 2, 1], &[2, 2, 1, 1]);
    products::<IxDyn, Ix2, IxDyn>(&[2, 2], &[2, 1], &[2, 1]);
    products::<Ix3, IxDyn, IxDyn>(&[2, 1, 2], &[2, 2, 2, 1], &[2, 2, 1, 1]);
    // Without elements, and without anything to sum.
    products::<Ix3, Ix3, Ix3>(&[0, 2, 3], &[1, 3, 2], &[0, 2, 2]);
    products::<Ix2, Ix2, Ix2>(&[2, 0], &[0, 3], &[2, 3]);
    products::<Ix2, Ix1, Ix1>(&[2, 0], &[0], &[2]);
    products::<Ix3, Ix2, Ix3>(&[2, 1, 0], &[0, 2], &[2, 1, 2]);
}

#[test]
fn batches_are_products_one_by_one() {
    let (x, y) = (leaf::<Ix3>(&[3, 4, 5], 0.0), leaf::<Ix3>(&[3, 5, 2], 1.0));
    let product = x.matmul(&y).to_array();
    for batch in 0..3 {
        let one = |of: &crate::Tensor3<f64>| Tensor::from(of.view().slice(s![batch, .., ..]));
        let expected = one(&x).matmul(&one(&y)).to_array();
        let off = &product.slice(s![batch, .., ..]) - &expected;
        assert!(off.iter().all(|off| off.abs() < 1e-14));
    }
    // Transposed views.
    let turned = x.t();
    let in_full = Tensor::from(turned.view().as_standard_layout().into_owned());
    let y = leaf::<Ix2>(&[3, 2], 2.0);
    close(&turned.matmul(&y), &in_full.matmul(&y));
}

#[test]
fn linear_layers_of_every_rank() {
    let weight = leaf::<Ix2>(&[2, 3], 1.0);
    let bias = leaf::<Ix1>(&[2], 2.0);
    for shape in [&[3][..], &[2, 3], &[2, 1, 3], &[0, 3]] {
        let x = leaf::<IxDyn>(shape, 0.0);
        gradchecks!(
            |(x, w, b)| x.linear(w, Some(b)),
            (&x, &weight, &bias),
            "{shape:?}"
        );
        let product = x.matmul(&weight.t()) + &bias;
        close(&x.linear(&weight, Some(&bias)), &product);
    }
    let turned = leaf::<Ix2>(&[3, 2], 0.0).t();
    close(&turned.linear(&weight, None), &turned.matmul(&weight.t()));
}

#[test]
fn einsum_is_what_it_says() {
    let x = leaf::<IxDyn>(&[2, 3], 0.0);
    let y = leaf::<IxDyn>(&[3, 2], 1.0);
    let square = leaf::<IxDyn>(&[3, 3], 2.0);
    let batch = leaf::<IxDyn>(&[2, 1, 3], 3.0);
    let (a, b) = (ranked::<Ix2>(&x), ranked::<Ix2>(&y));
    close(&einsum("ij,jk->ik", &[&x, &y]), &a.matmul(&b).into_dyn());
    close(&einsum(" ij , jk ", &[&x, &y]), &a.matmul(&b).into_dyn());
    close(&einsum("ba", &[&x]), &a.t().into_dyn());
    close(&einsum("ij->", &[&x]), &x.sum().into_dyn());
    close(&einsum("ij,ij->", &[&x, &x]), &(&x * &x).sum().into_dyn());
    close(&einsum("...ij,jk->...ik", &[&batch, &y]), &batch.matmul(&b));
    let three = a.matmul(&b).matmul(&a);
    close(&einsum("ij,jk,kl->il", &[&x, &y, &x]), &three.into_dyn());
    let diagonal = Tensor::from(ranked::<Ix2>(&square).view().diag().to_owned());
    close(&einsum("ii->i", &[&square]), &diagonal.into_dyn());
    let of_two = [
        "ij,jk->ik",
        "ij,jk->ki",
        "ij,ji->",
        "ij,jk->j",
        "ij,kl->ljik",
        "...j,j...->...",
    ];
    for equation in of_two {
        gradchecks!(|(x, y)| einsum(equation, &[x, y]), (&x, &y), "{equation}");
    }
    for equation in ["ii", "ii->i", "ij->ji", "i...->..."] {
        gradchecks!(|x| einsum(equation, &[x]), &square, "{equation}");
    }
    gradchecks!(|(x, y)| einsum("ij,jk,il->kl", &[x, y, x]), (&x, &y));
}

#[test]
fn einsum_takes_operands_of_any_ranks() {
    let (x, y) = (leaf::<Ix2>(&[2, 3], 0.0), leaf::<Ix1>(&[3], 1.0));
    close(&einsum("ij,j", (&x, &y)), &x.matmul(&y).into_dyn());
    let gram = x.matmul(&x.t()).into_dyn();
    let several = vec![&x, &x];
    close(&einsum("ij,kj->ik", &several), &gram);
    close(&einsum("ij,kj->ik", &several[..]), &gram);
}

fn ranked<D: Dimension>(x: &TensorD<f64>) -> Tensor<f64, D> {
    x.clone().into_dimensionality().expect("the rank")
}

#[test]
fn invalid_equations_are_refused() {
    let x = leaf::<IxDyn>(&[2, 3], 0.0);
    let wrong = [
        ("ij,jk->ik", "names the axes of 2 tensors, found 1"),
        ("ijk->i", "does not name the axes of shape [2, 3]"),
        ("i->i", "does not name the axes of shape [2, 3]"),
        ("ii->i", "axes `i` have lengths 2 and 3"),
        ("i1->i", "`1` cannot be the name of an axis"),
        ("ij->k", "no tensor has the output's `k`"),
        ("ij->ii", "the output has `i` twice"),
        ("ij->i->j", "cannot be the name of an axis"),
        ("i.j->i", "`.` cannot be the name of an axis"),
    ];
    for (equation, reason) in wrong {
        let call = std::panic::AssertUnwindSafe(|| einsum(equation, &[&x]));
        let result = std::panic::catch_unwind(call);
        let panic = *result.unwrap_err().downcast::<String>().unwrap();
        assert!(
            panic.contains(equation) && panic.contains(reason),
            "{panic}"
        );
    }
}

#[test]
fn systems_of_equations_to_second_order() {
    let shift = Tensor::from(Array2::<f64>::eye(3) * 2.0);
    let a = leaf::<Ix2>(&[3, 3], 0.0);
    let (vector, matrix) = (leaf::<Ix1>(&[3], 1.0), leaf::<Ix2>(&[3, 2], 2.0));
    let regular = |a: &Tensor2<f64>| a + &shift;
    gradchecks!(|(a, b)| regular(a).solve(b).unwrap(), (&a, &vector));
    gradchecks!(|(a, b)| regular(a).solve(b).unwrap(), (&a, &matrix));
    gradchecks!(|a| regular(a).inv().unwrap(), &a);
    gradchecks!(|a| regular(a).det().unwrap(), &a);
    gradchecks!(|a| regular(a).slogdet().unwrap().1, &a);
    for triangle in [Triangle::Lower, Triangle::Upper] {
        let solve = |a: &Tensor2<f64>| regular(a).solve_triangular(&vector, triangle);
        gradchecks!(solve, &a);
        gradchecks!(
            |(a, b)| regular(a).solve_triangular(b, triangle),
            (&a, &matrix)
        );
    }
    let definite = |a: &Tensor2<f64>| a.matmul(&a.t()) + &shift;
    gradchecks!(|a| definite(a).cholesky().unwrap(), &a);
    // Entry by entry: the matrix is made symmetric.
    let symmetric = Tensor::from(definite(&a).to_array()).set_requires_grad(true);
    gradchecks!(|a| a.cholesky().unwrap(), &symmetric);
    let empty = leaf::<Ix2>(&[0, 0], 0.0);
    gradchecks!(|a| a.inv().unwrap(), &empty);
    assert_eq!(empty.det().unwrap().item(), 1.0);
}

/// Returns a matrix whose singular values are not close to each other.
fn spread(shape: [usize; 2]) -> Tensor2<f64> {
    let mut matrix = leaf::<Ix2>(&shape, 4.0).to_array();
    for (i, x) in matrix.diag_mut().iter_mut().enumerate() {
        *x += 2.0 * (i + 1) as f64;
    }
    Tensor::from(matrix).set_requires_grad(true)
}

#[test]
fn qr_factors_to_second_order() {
    for shape in [
        [3, 3],
        [5, 3],
        [2, 4],
        [1, 1],
        [3, 1],
        [3, 0],
        [0, 2],
        [0, 0],
    ] {
        let a = spread(shape);
        let (q, r) = a.qr();
        let least = shape[0].min(shape[1]);
        assert_eq!(
            (q.shape(), r.shape()),
            (&[shape[0], least][..], &[least, shape[1]][..])
        );
        close(&q.matmul(&r), &a);
        gradchecks!(|a| a.qr(), &a, "{shape:?}");
        gradchecks!(|a| a.qr().0, &a, "{shape:?}");
        gradchecks!(|a| a.qr().1, &a, "{shape:?}");
    }
}

#[test]
fn eigenvalues_and_eigenvectors_to_second_order() {
    for size in [0, 1, 2, 4] {
        let a = spread([size, size]);
        let (values, vectors) = a.eigh().unwrap();
        close(
            &(&vectors * &values).matmul(&vectors.t()),
            &((&a + a.t()) / 2.0),
        );
        gradchecks!(|a| a.eigh().unwrap(), &a, "{size}");
        gradchecks!(|a| a.eigh().unwrap().0, &a, "{size}");
        gradchecks!(|a| a.eigh().unwrap().1, &a, "{size}");
    }
}

#[test]
fn singular_values_and_vectors_to_second_order() {
    for shape in [
        [3, 3],
        [4, 2],
        [2, 4],
        [1, 1],
        [1, 3],
        [3, 1],
        [3, 0],
        [0, 2],
    ] {
        let a = spread(shape);
        let (u, values, vt) = a.svd().unwrap();
        close(&(&u * &values).matmul(&vt), &a);
        gradchecks!(|a| a.svd().unwrap(), &a, "{shape:?}");
        gradchecks!(|a| a.svd().unwrap().0, &a, "{shape:?}");
        gradchecks!(|a| a.svd().unwrap().1, &a, "{shape:?}");
        gradchecks!(|a| a.svd().unwrap().2, &a, "{shape:?}");
    }
    // 0 is a singular value.
    let singular = Tensor::from(array![[2.0, 0.0], [1.0, 0.0]]).set_requires_grad(true);
    gradchecks!(|a| a.svd().unwrap().0, &singular);
    // The signs of the rows of Vᵀ are not continuous there: they are those of U.
    let squares = |a: &Tensor2<f64>| {
        let (.., vt) = a.svd().unwrap();
        &vt * &vt
    };
    gradchecks!(squares, &singular);
}

#[test]
fn quotients_by_pairs_to_second_order() {
    let (square, tall, x) = (
        leaf::<Ix2>(&[3, 3], 0.0),
        leaf::<Ix2>(&[4, 3], 1.0),
        leaf::<Ix1>(&[3], 2.0),
    );
    for pairs in [Pairs::Differences, Pairs::Sums] {
        gradchecks!(
            |(w, x)| OverPairs::apply(w, x, pairs),
            (&square, &x),
            "{pairs:?}"
        );
    }
    gradchecks!(|(w, x)| OverPairs::apply(w, x, Pairs::Second), (&tall, &x));
}

#[track_caller]
fn has_no_derivative(loss: &Tensor0<f64>, function: &str, reason: &str) {
    let error = loss.backward().unwrap_err();
    assert_eq!(error.function(), Some(function));
    assert!(error.to_string().contains(reason), "{error}");
}

/// Vectors of values that are equal: any rotation of them is as right.
#[test]
fn vectors_without_a_derivative_are_errors_and_values_are_right() {
    // The eigenvalues 1, 3 and 3, up to rounding.
    let (basis, _) = leaf::<Ix2>(&[3, 3], 0.0).detach().qr();
    let twice = (&basis * Tensor::from(array![1.0, 3.0, 3.0])).matmul(&basis.t());
    let twice = Tensor::from(twice.to_array()).set_requires_grad(true);
    let (values, vectors) = twice.eigh().unwrap();
    let weight = leaf::<Ix1>(&[3], 0.0).detach();
    let reason = "values 1 and 2 are equal to rounding, so their vectors have no derivative";
    has_no_derivative(&(&vectors * &weight).sum(), "Eigh", reason);
    // A function of the matrix, which has a derivative, but not this one.
    let whole = (&vectors * values.exp()).matmul(&vectors.t());
    has_no_derivative(&whole.sum(), "Eigh", reason);
    // The vector of 1, and the values, have one.
    let (values, vectors) = twice.eigh().unwrap();
    let loss = (vectors.slice(s![.., 0]) * &weight).sum() + values.square().sum();
    loss.backward().unwrap();
    let gradient = twice.grad().unwrap();
    let moved = |by: f64| {
        let mut moved = twice.to_array();
        moved[[0, 1]] += by;
        let (values, vectors) = Tensor::from(moved).eigh().unwrap();
        ((vectors.slice(s![.., 0]) * &weight).sum() + values.square().sum()).item()
    };
    let slope = (moved(1e-6) - moved(-1e-6)) / 2e-6;
    assert!(
        (slope - gradient[[0, 1]]).abs() < 1e-8,
        "{slope} {gradient}"
    );
    // The second derivative of the values is one of the vectors.
    let (values, _) = twice.eigh().unwrap();
    let loss = (values * &weight).sum();
    let gradient: Tensor2<f64> = Grad::of(&loss).create_graph(true).run(&twice).unwrap();
    has_no_derivative(&(gradient * &basis).sum(), "Eigh", reason);

    let (u, values, vt) = twice.svd().unwrap();
    let reason = "values 0 and 1 are equal to rounding, so their vectors have no derivative";
    for vectors in [&u, &vt] {
        has_no_derivative(&(vectors * vectors * &basis).sum(), "Svd", reason);
    }
    twice.zero_grad();
    values.sum().backward().unwrap();
    // A positive definite matrix: the sum is its trace.
    let off = twice.grad().unwrap() - Array2::<f64>::eye(3);
    assert!(off.iter().all(|off| off.abs() < 1e-14), "{off}");

    // The singular value 0 of a tall matrix: its left vector is any one that is orthogonal to the columns.
    let tall = Tensor::from(array![[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]).set_requires_grad(true);
    let (u, ..) = tall.svd().unwrap();
    let reason = "value 1 is 0 to rounding, so its vectors have no derivative";
    has_no_derivative(&u.sum(), "Svd", reason);
    u.slice(s![.., 0]).sum().backward().unwrap();
}

#[test]
fn linearly_dependent_columns_are_errors_of_backward() {
    let mut columns = leaf::<Ix2>(&[4, 3], 0.0).to_array();
    let sum = &columns.column(0) + &columns.column(1);
    columns.column_mut(2).assign(&sum);
    let a = Tensor::from(columns).set_requires_grad(true);
    let (q, r) = a.qr();
    close(&q.matmul(&r), &a);
    let reason = "column 2 is a combination of the columns before it, so Q has no derivative";
    has_no_derivative(&q.sum(), "Qr", reason);
    has_no_derivative(&r.sum(), "Qr", reason);
    // Columns of any size.
    let tiny = Tensor::from(array![[1.0, 3.0], [2.0, 4e-200]]).set_requires_grad(true);
    (&tiny * Tensor::from(array![1.0, 1e-200]))
        .qr()
        .1
        .sum()
        .backward()
        .unwrap();
    assert!(tiny.grad().unwrap().iter().all(|x: &f64| x.is_finite()));
}

/// Forward mode cannot fail: what has no tangent is NaN.
#[test]
fn tangents_of_vectors_without_a_derivative_are_nan() {
    let eye = Tensor::from(Array2::<f64>::eye(3));
    let tangent = leaf::<Ix2>(&[3, 3], 0.0).detach();
    let (_, (values, vectors)) = jvp(|a| a.eigh().unwrap(), &eye, &tangent).unwrap();
    assert!(values.view().iter().all(|x| x.is_finite()));
    assert!(vectors.view().iter().all(|x| x.is_nan()));
    let (_, (u, values, vt)) = jvp(|a| a.svd().unwrap(), &eye, &tangent).unwrap();
    assert!(values.view().iter().all(|x| x.is_finite()));
    assert!(u.view().iter().chain(&vt.view()).all(|x| x.is_nan()));
}

#[test]
fn matrices_that_are_not_finite_are_errors() {
    for x in [f64::NAN, f64::INFINITY] {
        let a = Tensor::from(array![[1.0, x], [x, 2.0]]);
        for error in [a.eigh().unwrap_err(), a.svd().unwrap_err()] {
            assert!(
                matches!(error.kind(), ErrorKind::NotConverged { .. }),
                "{error}"
            );
        }
        assert!(a.qr().0.view().iter().any(|x| x.is_nan()));
    }
}

/// Hilbert's matrix: the condition of 8 rows is 1.5e10.
#[test]
fn factors_of_an_ill_conditioned_matrix_multiply_to_it() {
    let a = Tensor::from(Array2::from_shape_fn((8, 8), |(i, j)| {
        1.0 / (i + j + 1) as f64
    }));
    let (q, r) = a.qr();
    close(&q.matmul(&r), &a);
    let (values, vectors) = a.eigh().unwrap();
    close(&(&vectors * &values).matmul(&vectors.t()), &a);
    let (u, singular, vt) = a.svd().unwrap();
    close(&(&u * &singular).matmul(&vt), &a);
    close(&singular, &values.flip(&[0]));
    let condition = singular.view()[0] / singular.view()[7];
    assert!(
        (condition / 1.525_757_557e10 - 1.0).abs() < 1e-4,
        "{condition}"
    );
}

/// Larger than the tiles and the blocks of the kernels.
#[test]
fn gradients_of_a_large_cholesky_factor_are_those_that_are_recorded() -> Result<(), crate::Error> {
    let b = leaf::<Ix2>(&[70, 70], 0.0);
    let a = Tensor::from((b.matmul(&b.t()) + Tensor::from(Array2::eye(70))).to_array());
    let a = a.set_requires_grad(true);
    let weight = leaf::<Ix2>(&[70, 70], 3.0).detach();
    let loss = (a.cholesky()? * weight).sum();
    let gradient: Tensor2<f64> = Grad::of(&loss).create_graph(true).run(&a)?;
    let fused = grad(&loss, &a)?;
    let largest = fused
        .view()
        .fold(0.0_f64, |largest, x| largest.max(x.abs()));
    let off = &gradient.to_array() - &fused.view();
    assert!(off.iter().all(|off| off.abs() < 1e-10 * largest), "{off}");
    assert_eq!(fused.view(), fused.view().t());
    Ok(())
}

#[test]
fn a_sign_and_a_logarithm_replace_a_determinant_that_overflows() {
    let a = Tensor::from(Array2::<f64>::eye(400) * -1e200).set_requires_grad(true);
    assert!(a.det().unwrap().item().is_infinite());
    let (sign, logarithm) = a.slogdet().unwrap();
    assert_eq!(sign, 1.0);
    assert!((logarithm.item() - 400.0 * 1e200_f64.ln()).abs() < 1e-8);
    logarithm.backward().unwrap();
    let gradient = a.grad().unwrap();
    assert_eq!((gradient[[0, 0]], gradient[[0, 1]]), (-1e-200, 0.0));
    let (sign, _) = Tensor::from(array![[0.0, 1.0], [1.0, 0.0]])
        .slogdet()
        .unwrap();
    assert_eq!(sign, -1.0);
}

#[test]
fn singular_matrices_are_errors() {
    let singular = Tensor::from(array![[1.0, 2.0], [2.0, 4.0]]).set_requires_grad(true);
    let line = line!() + 1;
    let error = singular.inv().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Singular { pivot: 1, .. }));
    let place = (error.function(), error.applied_at().map(Location::line));
    assert_eq!(place, (Some("inv"), Some(line)));
    assert!(
        error
            .to_string()
            .starts_with("`inv` of a singular matrix of shape [2, 2]")
    );
    assert!(matches!(
        singular.det().unwrap_err().kind(),
        ErrorKind::Singular { .. }
    ));
    assert!(matches!(
        singular.slogdet().unwrap_err().kind(),
        ErrorKind::Singular { .. }
    ));
    let b = Tensor::from(array![1.0, 2.0]);
    assert!(matches!(
        singular.solve(&b).unwrap_err().kind(),
        ErrorKind::Singular { .. }
    ));
    let error = singular.cholesky().unwrap_err();
    assert!(
        matches!(
            error.kind(),
            ErrorKind::NotPositiveDefinite { pivot: 1, .. }
        ),
        "{error}"
    );
}

#[test]
fn shapes_that_do_not_fit_are_reported_at_the_callers_line() {
    let vector = Tensor::from(Array1::<f64>::ones(3));
    let matrix = Tensor::from(Array2::<f64>::ones((2, 4)));
    let image = Tensor::from(Array4::<f64>::ones((1, 2, 3, 3)));
    let other = Tensor::from(Array4::<f64>::ones((2, 3, 2, 2)));
    let plain = ConvOptions::default();
    let attention = AttentionOptions::default();
    let (x, y, w) = (&vector.clone().into_dyn(), &matrix, &image);
    let number = &vector.sum().into_dyn();
    let (k, s, p) = ([2, 2], [0, 1], [0, 0]);
    let square = Tensor::from(Array2::<f64>::eye(4));
    panics_here!(vector.matmul(y));
    panics_here!(y.matmul(y));
    panics_here!(number.matmul(y));
    panics_here!(vector.linear(y, None));
    panics_here!(einsum("ij->ik", &[x]));
    panics_here!(w.conv2d(&other, None, plain));
    panics_here!(w.conv_transpose2d(w, None, plain, [0, 0]));
    panics_here!(w.max_pool2d(k, s, p));
    panics_here!(w.avg_pool2d(k, k, k));
    panics_here!(y.scaled_dot_product_attention(y, &y.t(), &attention));
    panics_here!(y.solve(&vector));
    panics_here!(square.solve(&vector));
    panics_here!(square.solve_triangular(&vector, Triangle::Lower));
    panics_here!(y.slogdet());
    panics_here!(y.eigh());
}
