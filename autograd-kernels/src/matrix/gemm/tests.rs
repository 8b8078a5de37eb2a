//! Every way to a product against sums that are written down.

use ndarray::{Array2, ArrayView2, Axis, ShapeBuilder, s};

use super::*;
use crate::testing::numbers;

fn by_definition(a: &ArrayView2<f64>, b: &ArrayView2<f64>) -> Array2<f64> {
    Array2::from_shape_fn((a.nrows(), b.ncols()), |(i, j)| {
        (0..a.ncols()).map(|p| a[[i, p]] * b[[p, j]]).sum()
    })
}

/// A matrix in every layout: row-major, column-major, reversed, with gaps, one number repeated.
fn layouts(rows: usize, columns: usize, seed: f64) -> Vec<Array2<f64>> {
    let plain = numbers((rows, columns), seed);
    let mut column_major = Array2::zeros((rows, columns).f());
    column_major.assign(&plain);
    let mut reversed = plain.clone();
    reversed.invert_axis(Axis(0));
    reversed.invert_axis(Axis(1));
    let gaps = numbers((2 * rows, 3 * columns), seed).slice_move(s![..;2, ..;3]);
    vec![plain, column_major, reversed, gaps]
}

#[test]
fn every_layout_and_size_gives_the_sums_of_products() {
    let sizes = [
        (1, 1, 1),
        (1, 5, 1),
        (5, 1, 7),
        (3, 4, 2),
        (8, 8, 8),
        (9, 17, 33),
        (1, 70, 19),
        (19, 70, 1),
        (67, 40, 1),
        (1, 40, 67),
        (16, 65, 16),
        (40, 40, 40),
        (70, 3, 70),
    ];
    for (m, k, n) in sizes {
        for a in layouts(m, k, 0.0) {
            for b in layouts(k, n, 1.5) {
                let (a, b) = (a.view(), b.view());
                let expected = by_definition(&a, &b);
                let off = (matmul(&a, &b) - &expected).mapv(f64::abs);
                assert!(off.iter().all(|&off| off < 1e-13), "{m} {k} {n}");
                let single = (a.mapv(f32::from_f64), b.mapv(f32::from_f64));
                let off = matmul(&single.0.view(), &single.1.view()).mapv(f64::from) - &expected;
                assert!(off.iter().all(|off| off.abs() < 1e-4), "{m} {k} {n}");
            }
        }
    }
}

/// The products are computed on several threads, where there are several.
#[test]
fn large_products_are_those_of_their_rows() {
    for (m, k, n) in [(700, 200, 150), (150, 200, 700)] {
        let (a, b) = (numbers((m, k), 0.0), numbers((k, n), 0.3));
        let whole = matmul(&a.view(), &b.view());
        for first in (0..m).step_by(20) {
            let rows = s![first..m.min(first + 20), ..];
            let off = matmul(&a.slice(rows), &b.view()) - whole.slice(rows);
            assert!(off.iter().all(|off| off.abs() < 1e-12));
        }
    }
}

#[test]
fn what_was_there_is_scaled_and_added_to() {
    for (m, k, n) in [(4, 3, 5), (1, 20, 6), (6, 20, 1), (50, 20, 60), (3, 0, 2)] {
        let (a, b) = (numbers((m, k), 0.0), numbers((k, n), 0.3));
        for mut c in layouts(m, n, 7.0) {
            let expected = by_definition(&a.view(), &b.view()) * 2.0 + &c * 0.5;
            gemm(2.0, &a.view(), &b.view(), 0.5, &mut c.view_mut());
            assert!((c - expected).iter().all(|off| off.abs() < 1e-13));
        }
    }
}

#[test]
fn with_beta_zero_nothing_is_read() {
    for (m, k, n) in [(4, 3, 5), (1, 20, 6), (6, 20, 1), (50, 20, 60), (3, 0, 2)] {
        let (a, b) = (numbers((m, k), 0.0), numbers((k, n), 0.3));
        let mut c = Array2::from_elem((m, n), f64::NAN);
        gemm(1.0, &a.view(), &b.view(), 0.0, &mut c.view_mut());
        assert_eq!(c, matmul(&a.view(), &b.view()));
        assert!(c.iter().all(|c| !c.is_nan()));
    }
}

#[test]
fn nothing_that_is_not_a_number_is_lost() {
    for size in [1, 2, 8, 20, 40] {
        let mut a = numbers((size, size), 0.0);
        a[[size - 1, 0]] = f64::NAN;
        let zeros = Array2::<f64>::zeros((size, size));
        let product = matmul(&a.view(), &zeros.view());
        assert!(product.row(size - 1).iter().all(|x| x.is_nan()), "{size}");
        let others = product.slice(s![..size - 1, ..]);
        assert!(others.iter().all(|&x| x == 0.0), "{size}");
    }
}

#[test]
#[should_panic(expected = "a product of shapes [2, 3] and [4, 5]")]
fn matrices_that_do_not_fit_are_refused() {
    matmul(&numbers((2, 3), 0.0).view(), &numbers((4, 5), 0.0).view());
}

#[test]
#[should_panic(expected = "there is no memory for it")]
fn a_product_that_cannot_be_counted_is_refused() {
    let a = Array2::<f64>::zeros((usize::MAX >> 1, 0));
    matmul(&a.view(), &a.t());
}
