//! Products, convolutions, pooling, attention, systems of equations.

mod naive;

use std::sync::Arc;

use pullback::ndarray::{Array1, Array2, ArrayD, Axis, Ix1, Ix2, Ix3, Ix4, arr1, arr2};
use pullback::ops::{AttentionOptions, ConvOptions, Pool2dOptions, Triangle};
use pullback::ops::{Gather2d, MaxUnpool2d, OverPairs, Pairs, einsum};
use pullback::prelude::*;

use super::rows::{Row, placed, ranked, row};

pub fn rows<T: Element>() -> Vec<Row<T>> {
    let groups = [
        products(),
        convolutions(),
        pooling(),
        attention(),
        systems(),
        decompositions(),
    ];
    groups.into_iter().flatten().collect()
}

fn products<T: Element>() -> Vec<Row<T>> {
    vec![
        row(
            "matmul",
            &[
                &[&[2, 3], &[3, 4]],
                &[&[0, 3], &[3, 4]],
                &[&[2, 0], &[0, 4]],
                &[&[1, 1], &[1, 0]],
            ],
            |x| {
                let (x, y) = (ranked::<T, Ix2>(&x[0]), ranked::<T, Ix2>(&x[1]));
                x.matmul(&y).into_dyn()
            },
            |x| naive::product(&x[0], &x[1]),
        ),
        row(
            "matmul of any ranks",
            &[
                &[&[2, 3], &[3]],
                &[&[3], &[3, 2]],
                &[&[3], &[3]],
                &[&[0], &[0]],
                &[&[2, 2, 3], &[3, 4]],
                &[&[2, 3], &[4, 3, 0]],
                &[&[2, 1, 2, 3], &[4, 3, 2]],
            ],
            |x| x[0].matmul(&x[1]),
            |x| naive::batched(&x[0], &x[1]),
        ),
        row(
            "linear",
            &[
                &[&[2, 3], &[4, 3], &[4]],
                &[&[0, 3], &[4, 3], &[4]],
                &[&[2, 0], &[4, 0], &[4]],
                &[&[2, 3, 2], &[1, 2], &[1]],
            ],
            |x| x[0].linear(&ranked(&x[1]), Some(&ranked(&x[2]))),
            |x| naive::batched(&x[0], &x[1].t().to_owned()) + &x[2],
        ),
        row(
            "einsum",
            &[&[&[2, 3], &[3, 2, 4]], &[&[2, 0], &[0, 2, 4]]],
            |x| einsum("ij,jik->ki", &[&x[0], &x[1]]),
            |x| {
                placed(&[4, 2], |place| {
                    let (k, i) = (place[0], place[1]);
                    (0..x[0].shape()[1])
                        .map(|j| x[0][[i, j]] * x[1][[j, i, k]])
                        .sum()
                })
            },
        ),
    ]
}

fn convolutions<T: Element>() -> Vec<Row<T>> {
    let signals = ConvOptions {
        stride: [2],
        padding: [1],
        ..ConvOptions::default()
    };
    let images = ConvOptions {
        stride: [2, 1],
        padding: [1, 2],
        dilation: [1, 2],
        groups: 2,
    };
    vec![
        row(
            "conv1d",
            &[
                &[&[2, 3, 5], &[2, 3, 3], &[2]],
                &[&[0, 3, 5], &[2, 3, 3], &[2]],
            ],
            move |x| {
                let (x, weight, bias) = (ranked::<T, Ix3>(&x[0]), ranked(&x[1]), ranked(&x[2]));
                x.conv1d(&weight, Some(&bias), signals).into_dyn()
            },
            move |x| {
                let image = |x: &ArrayD<f64>| x.clone().insert_axis(Axis(2));
                let options = ConvOptions {
                    stride: [1, 2],
                    padding: [0, 1],
                    ..ConvOptions::default()
                };
                let output = naive::conv2d(&image(&x[0]), &image(&x[1]), &x[2], options);
                output.index_axis_move(Axis(2), 0)
            },
        ),
        row(
            "conv2d",
            &[
                &[&[2, 4, 4, 3], &[2, 2, 3, 2], &[2]],
                &[&[0, 4, 4, 3], &[2, 2, 3, 2], &[2]],
            ],
            move |x| {
                let (x, weight, bias) = (ranked::<T, Ix4>(&x[0]), ranked(&x[1]), ranked(&x[2]));
                x.conv2d(&weight, Some(&bias), images).into_dyn()
            },
            move |x| naive::conv2d(&x[0], &x[1], &x[2], images),
        ),
        row(
            "conv_transpose2d",
            &[
                &[&[2, 4, 3, 3], &[4, 1, 3, 2], &[2]],
                &[&[0, 4, 3, 3], &[4, 1, 3, 2], &[2]],
            ],
            move |x| {
                let (x, weight, bias) = (ranked::<T, Ix4>(&x[0]), ranked(&x[1]), ranked(&x[2]));
                let output = x.conv_transpose2d(&weight, Some(&bias), images, [1, 0]);
                output.into_dyn()
            },
            move |x| naive::conv_transpose2d(&x[0], &x[1], &x[2], images, [1, 0]),
        ),
    ]
}

fn pooling<T: Element>() -> Vec<Row<T>> {
    let windows = Pool2dOptions {
        kernel: [3, 2],
        stride: [2, 1],
        padding: [1, 1],
    };
    let images: &[&[&[usize]]] = &[&[&[2, 2, 4, 3]], &[&[0, 2, 4, 3]]];
    let indices = |batch: usize| {
        let indices = arr2(&[[5, 0, 5], [1, 2, 3]]);
        let indices = indices.to_shape((1, 2, 1, 3)).expect("as many");
        indices
            .broadcast((batch, 2, 1, 3))
            .expect("fits")
            .to_owned()
    };
    vec![
        row(
            "max_pool2d",
            images,
            |x| {
                let x = ranked::<T, Ix4>(&x[0]);
                x.max_pool2d([3, 2], [2, 1], [1, 1]).into_dyn()
            },
            move |x| naive::pooled(&x[0], windows, naive::largest),
        ),
        row(
            "avg_pool2d",
            images,
            |x| {
                let x = ranked::<T, Ix4>(&x[0]);
                x.avg_pool2d([3, 2], [2, 1], [1, 1]).into_dyn()
            },
            move |x| naive::pooled(&x[0], windows, |window| window.iter().sum::<f64>() / 6.0),
        ),
        row(
            "gather2d",
            &[&[&[2, 2, 2, 3]], &[&[0, 2, 2, 3]]],
            move |x| Gather2d::apply(&ranked(&x[0]), &indices(x[0].shape()[0])).into_dyn(),
            move |x| {
                placed(&[x[0].shape()[0], 2, 1, 3], |at| {
                    let index = indices(1)[[0, at[1], 0, at[3]]];
                    x[0][[at[0], at[1], index / 3, index % 3]]
                })
            },
        ),
        row(
            "max_unpool2d",
            &[&[&[2, 2, 1, 3]], &[&[0, 2, 1, 3]]],
            move |x| {
                MaxUnpool2d::apply(&ranked(&x[0]), &indices(x[0].shape()[0]), [2, 3]).into_dyn()
            },
            move |x| {
                placed(&[x[0].shape()[0], 2, 2, 3], |at| {
                    let here = |k: &usize| indices(1)[[0, at[1], 0, *k]] == 3 * at[2] + at[3];
                    (0..3)
                        .filter(here)
                        .map(|k| x[0][[at[0], at[1], 0, k]])
                        .sum()
                })
            },
        ),
    ]
}

fn attention<T: Element>() -> Vec<Row<T>> {
    let shapes: &[&[&[usize]]] = &[
        &[&[3, 2], &[3, 2], &[3, 1]],
        &[&[2, 3, 2], &[2, 3, 2], &[2, 3, 2]],
        &[&[0, 3, 2], &[0, 3, 2], &[0, 3, 2]],
        &[&[0, 2], &[3, 2], &[3, 2]],
    ];
    let mask = || arr1(&[true, false, true]).into_dyn();
    let masked = move || AttentionOptions {
        mask: Some(Arc::new(mask())),
        ..AttentionOptions::default()
    };
    vec![
        row(
            "scaled_dot_product_attention",
            shapes,
            |x| x[0].scaled_dot_product_attention(&x[1], &x[2], &AttentionOptions::default()),
            |x| naive::attention(&x[0], &x[1], &x[2], |_| true),
        )
        .of_finite(),
        row(
            "scaled_dot_product_attention with a mask",
            shapes,
            move |x| x[0].scaled_dot_product_attention(&x[1], &x[2], &masked()),
            move |x| naive::attention(&x[0], &x[1], &x[2], |key| mask()[key]),
        )
        .of_finite(),
    ]
}

/// A matrix made of the input, far from singular.
fn regular<T: Element>(x: &TensorD<T>) -> Tensor2<T> {
    let eye = Array2::eye(x.shape()[0]) * T::from_f64(6.0);
    ranked::<T, Ix2>(x) + Tensor::from(eye)
}

fn plain_regular(x: &ArrayD<f64>) -> ArrayD<f64> {
    x + &(Array2::<f64>::eye(x.shape()[0]) * 6.0)
}

/// Returns the elements that `is_in` keeps, and zeros elsewhere.
fn triangle(a: &ArrayD<f64>, is_in: fn(usize, usize) -> bool) -> ArrayD<f64> {
    ArrayD::from_shape_fn(
        a.raw_dim(),
        |at| {
            if is_in(at[0], at[1]) { a[&at] } else { 0.0 }
        },
    )
}

fn systems<T: Element>() -> Vec<Row<T>> {
    let squares: &[&[&[usize]]] = &[&[&[3, 3]], &[&[1, 1]], &[&[0, 0]]];
    let rows = vec![
        row(
            "solve",
            &[
                &[&[3, 3], &[3, 2]],
                &[&[2, 2], &[2, 0]],
                &[&[0, 0], &[0, 2]],
            ],
            |x| {
                let solved = regular(&x[0]).solve(&ranked::<T, Ix2>(&x[1]));
                solved.expect("a regular matrix").into_dyn()
            },
            |x| naive::solved(&plain_regular(&x[0]), &x[1]),
        ),
        row(
            "solve for a vector",
            &[&[&[3, 3], &[3]]],
            |x| {
                let solved = regular(&x[0]).solve(&ranked::<T, Ix1>(&x[1]));
                solved.expect("a regular matrix").into_dyn()
            },
            |x| {
                let column = x[1].clone().insert_axis(Axis(1));
                naive::solved(&plain_regular(&x[0]), &column).index_axis_move(Axis(1), 0)
            },
        ),
        row(
            "inv",
            squares,
            |x| regular(&x[0]).inv().expect("a regular matrix").into_dyn(),
            |x| {
                let eye = Array2::eye(x[0].shape()[0]).into_dyn();
                naive::solved(&plain_regular(&x[0]), &eye)
            },
        ),
        row(
            "det",
            squares,
            |x| regular(&x[0]).det().expect("a regular matrix").into_dyn(),
            |x| naive::determinant(&plain_regular(&x[0])),
        ),
        row(
            "slogdet",
            squares,
            |x| {
                let (_, logarithm) = regular(&x[0]).slogdet().expect("a regular matrix");
                logarithm.into_dyn()
            },
            |x| naive::determinant(&plain_regular(&x[0])).mapv(|det| det.abs().ln()),
        ),
        row(
            "solve_triangular",
            &[&[&[3, 3], &[3, 2]], &[&[0, 0], &[0, 2]]],
            |x| {
                let b = ranked::<T, Ix2>(&x[1]);
                regular(&x[0])
                    .solve_triangular(&b, Triangle::Lower)
                    .into_dyn()
            },
            |x| naive::solved(&triangle(&plain_regular(&x[0]), |i, j| i >= j), &x[1]),
        ),
        row(
            "solve_triangular of the upper triangle, for a vector",
            &[&[&[3, 3], &[3]]],
            |x| {
                let b = ranked::<T, Ix1>(&x[1]);
                regular(&x[0])
                    .solve_triangular(&b, Triangle::Upper)
                    .into_dyn()
            },
            |x| {
                let column = x[1].clone().insert_axis(Axis(1));
                let upper = triangle(&plain_regular(&x[0]), |i, j| i <= j);
                naive::solved(&upper, &column).index_axis_move(Axis(1), 0)
            },
        ),
        row(
            "cholesky",
            squares,
            |x| {
                let factor = (regular(&x[0]) + regular(&x[0]).t()).cholesky();
                factor.expect("a positive definite matrix").into_dyn()
            },
            |x| {
                let regular = plain_regular(&x[0]);
                naive::cholesky(&(&regular + &regular.t()))
            },
        ),
    ];
    rows.into_iter().map(Row::of_finite).collect()
}

/// A matrix made of the input, whose eigenvalues and singular values are far from each other.
fn spread<T: Element>(x: &TensorD<T>) -> Tensor2<T> {
    let plain = plain_spread(&ArrayD::zeros(x.shape()));
    ranked::<T, Ix2>(x) + ranked::<T, Ix2>(&Tensor::from(plain.mapv(T::from_f64)))
}

fn plain_spread(x: &ArrayD<f64>) -> ArrayD<f64> {
    let mut spread = x.clone();
    for i in 0..x.shape()[0].min(x.shape()[1]) {
        spread[[i, i]] += 5.0 * (i + 1) as f64;
    }
    spread
}

/// The results of a decomposition, one after the other in one vector.
fn joined<T: Element>(parts: &[&TensorD<T>]) -> TensorD<T> {
    let flat: Vec<Tensor1<T>> = parts
        .iter()
        .map(|part| part.reshape(part.view().len()))
        .collect();
    let flat: Vec<&Tensor1<T>> = flat.iter().collect();
    Tensor::concat(Axis(0), &flat).into_dyn()
}

fn plain_joined(parts: &[&ArrayD<f64>]) -> ArrayD<f64> {
    let elements = parts.iter().flat_map(|part| part.iter().copied());
    elements.collect::<Array1<f64>>().into_dyn()
}

fn decompositions<T: Element>() -> Vec<Row<T>> {
    let rows = vec![
        row(
            "qr",
            &[&[&[3, 3]], &[&[4, 2]], &[&[2, 3]], &[&[2, 0]], &[&[0, 2]]],
            |x| {
                let (q, r) = spread(&x[0]).qr();
                joined(&[&q.into_dyn(), &r.into_dyn()])
            },
            |x| {
                let (q, r) = naive::qr(&plain_spread(&x[0]));
                plain_joined(&[&q, &r])
            },
        ),
        row(
            "eigh",
            &[&[&[3, 3]], &[&[1, 1]], &[&[0, 0]]],
            |x| {
                let (values, vectors) = spread(&x[0]).eigh().expect("finite numbers");
                joined(&[&values.into_dyn(), &vectors.into_dyn()])
            },
            |x| {
                let a = plain_spread(&x[0]);
                let (values, vectors) = naive::eigh(&((&a + &a.t()) / 2.0));
                plain_joined(&[&values, &vectors])
            },
        ),
        row(
            "svd",
            &[&[&[3, 3]], &[&[4, 2]], &[&[2, 3]], &[&[2, 0]], &[&[0, 2]]],
            |x| {
                let (u, values, vt) = spread(&x[0]).svd().expect("finite numbers");
                joined(&[&u.into_dyn(), &values.into_dyn(), &vt.into_dyn()])
            },
            |x| {
                let (u, values, vt) = naive::svd(&plain_spread(&x[0]));
                plain_joined(&[&u, &values, &vt])
            },
        ),
        row(
            "over_pairs",
            &[&[&[3, 3], &[3]], &[&[0, 0], &[0]]],
            |x| {
                let steps = Tensor::from(Array1::from_shape_fn(x[1].shape()[0], |i| {
                    T::from_f64(5.0 * i as f64)
                }));
                let values = ranked::<T, Ix1>(&x[1]) + steps;
                OverPairs::apply(&ranked(&x[0]), &values, Pairs::Differences).into_dyn()
            },
            |x| {
                placed(x[0].shape(), |at| {
                    let value = |i: usize| x[1][[i]] + 5.0 * i as f64;
                    if at[0] == at[1] {
                        return 0.0;
                    }
                    x[0][[at[0], at[1]]] / (value(at[1]) - value(at[0]))
                })
            },
        ),
    ];
    rows.into_iter().map(Row::of_finite).collect()
}
