//! The functions of `linear` as sums, element by element.

use pullback::ndarray::{ArrayD, Axis, IxDyn, Slice};
use pullback::ops::{ConvOptions, Pool2dOptions};

use crate::edges::rows::placed;

pub fn product(x: &ArrayD<f64>, y: &ArrayD<f64>) -> ArrayD<f64> {
    let inner = x.shape()[1];
    placed(&[x.shape()[0], y.shape()[1]], |at| {
        (0..inner).map(|k| x[[at[0], k]] * y[[k, at[1]]]).sum()
    })
}

/// Products of matrices, where a vector is a row on the left and a column on the right.
pub fn batched(x: &ArrayD<f64>, y: &ArrayD<f64>) -> ArrayD<f64> {
    let (row, column) = (x.ndim() == 1, y.ndim() == 1);
    let (mut x, mut y) = (x.clone(), y.clone());
    if row {
        x = x.insert_axis(Axis(0));
    }
    if column {
        y = y.insert_axis(Axis(1));
    }
    let (of_x, of_y) = (&x.shape()[..x.ndim() - 2], &y.shape()[..y.ndim() - 2]);
    // Addition broadcasts: this is for the shape.
    let leading = (ArrayD::<f64>::zeros(of_x) + ArrayD::<f64>::zeros(of_y))
        .shape()
        .to_vec();
    let (rows, inner) = (x.shape()[x.ndim() - 2], x.shape()[x.ndim() - 1]);
    let columns = y.shape()[y.ndim() - 1];
    let shape = |last: [usize; 2]| [&leading[..], &last].concat();
    let x = x.broadcast(shape([rows, inner])).expect("fits");
    let y = y.broadcast(shape([inner, columns])).expect("fits");
    let mut output = placed(&shape([rows, columns]), |at| {
        let (lead, last) = at.split_at(leading.len());
        let index = |last: [usize; 2]| [lead, &last].concat();
        let term = |k| x[&index([last[0], k])[..]] * y[&index([k, last[1]])[..]];
        (0..inner).map(term).sum()
    });
    if column {
        output = output.index_axis_move(Axis(leading.len() + 1), 0);
    }
    if row {
        output = output.index_axis_move(Axis(leading.len()), 0);
    }
    output
}

/// Returns the index in an image of an element of a window; `None` in the padding.
fn seen(
    [window, inside]: [usize; 2],
    [stride, padding, dilation]: [usize; 3],
    length: usize,
) -> Option<usize> {
    let index = (window * stride + inside * dilation).checked_sub(padding)?;
    (index < length).then_some(index)
}

/// Returns the stride, the padding and the dilation of an axis.
fn along(options: &ConvOptions<2>, axis: usize) -> [usize; 3] {
    [options.stride, options.padding, options.dilation].map(|lengths| lengths[axis])
}

pub fn conv2d(
    x: &ArrayD<f64>,
    weight: &ArrayD<f64>,
    bias: &ArrayD<f64>,
    options: ConvOptions<2>,
) -> ArrayD<f64> {
    let by = |axis| along(&options, axis);
    let length = |axis: usize| {
        let [stride, padding, dilation] = by(axis);
        let span = dilation * (weight.shape()[2 + axis] - 1) + 1;
        (x.shape()[2 + axis] + 2 * padding - span) / stride + 1
    };
    let outputs = weight.shape()[0];
    let channels = weight.shape()[1];
    placed(&[x.shape()[0], outputs, length(0), length(1)], |at| {
        let group = at[1] / (outputs / options.groups);
        let mut sum = bias[at[1]];
        for (place, &factor) in weight.index_axis(Axis(0), at[1]).indexed_iter() {
            let row = seen([at[2], place[1]], by(0), x.shape()[2]);
            let column = seen([at[3], place[2]], by(1), x.shape()[3]);
            let channel = group * channels + place[0];
            let pixel = row
                .zip(column)
                .map(|(row, column)| x[[at[0], channel, row, column]]);
            sum += pixel.unwrap_or(0.0) * factor;
        }
        sum
    })
}

pub fn conv_transpose2d(
    x: &ArrayD<f64>,
    weight: &ArrayD<f64>,
    bias: &ArrayD<f64>,
    options: ConvOptions<2>,
    output_padding: [usize; 2],
) -> ArrayD<f64> {
    let by = |axis| along(&options, axis);
    let length = |axis: usize| {
        let [stride, padding, dilation] = by(axis);
        let span = dilation * (weight.shape()[2 + axis] - 1) + 1;
        (x.shape()[2 + axis] - 1) * stride + span + output_padding[axis] - 2 * padding
    };
    let each = weight.shape()[1];
    let shape = [x.shape()[0], each * options.groups, length(0), length(1)];
    let mut output = placed(&shape, |at| bias[at[1]]);
    for (at, &pixel) in x.indexed_iter() {
        let group = at[1] / (x.shape()[1] / options.groups);
        for (place, &factor) in weight.index_axis(Axis(0), at[1]).indexed_iter() {
            let row = seen([at[2], place[1]], by(0), shape[2]);
            let column = seen([at[3], place[2]], by(1), shape[3]);
            if let Some((row, column)) = row.zip(column) {
                output[[at[0], group * each + place[0], row, column]] += pixel * factor;
            }
        }
    }
    output
}

/// Calls `f` with the elements of each window.
pub fn pooled(x: &ArrayD<f64>, windows: Pool2dOptions, f: impl Fn(&[f64]) -> f64) -> ArrayD<f64> {
    let length = |axis: usize| {
        let padded = x.shape()[2 + axis] + 2 * windows.padding[axis];
        (padded - windows.kernel[axis]) / windows.stride[axis] + 1
    };
    let by = |axis: usize| [windows.stride[axis], windows.padding[axis], 1];
    placed(&[x.shape()[0], x.shape()[1], length(0), length(1)], |at| {
        let rows = (0..windows.kernel[0]).filter_map(|k| seen([at[2], k], by(0), x.shape()[2]));
        let columns = (0..windows.kernel[1]).filter_map(|k| seen([at[3], k], by(1), x.shape()[3]));
        let columns: Vec<usize> = columns.collect();
        let window: Vec<f64> = rows
            .flat_map(|row| {
                columns
                    .iter()
                    .map(move |&column| x[[at[0], at[1], row, column]])
            })
            .collect();
        f(&window)
    })
}

/// Returns the maximum; NaN is larger than all numbers.
pub fn largest(elements: &[f64]) -> f64 {
    let larger = |largest: f64, &x: &f64| {
        if x.is_nan() || x > largest {
            x
        } else {
            largest
        }
    };
    elements.iter().fold(f64::NEG_INFINITY, larger)
}

/// The values, weighed by the softmax of the scores of the keys that `is_seen`.
pub fn attention(
    q: &ArrayD<f64>,
    k: &ArrayD<f64>,
    v: &ArrayD<f64>,
    is_seen: impl Fn(usize) -> bool,
) -> ArrayD<f64> {
    let last = q.ndim() - 1;
    let scale = 1.0 / (q.shape()[last] as f64).sqrt();
    let mut weights = batched(q, &swapped(k)) * scale;
    for mut row in weights.lanes_mut(Axis(last)) {
        let seen = |key: usize, score: f64| if is_seen(key) { score.exp() } else { 0.0 };
        row.indexed_iter_mut()
            .for_each(|(key, score)| *score = seen(key, *score));
        let sum = row.sum();
        row /= sum;
    }
    batched(&weights, v)
}

/// With the last two axes exchanged.
fn swapped(x: &ArrayD<f64>) -> ArrayD<f64> {
    let mut swapped = x.clone();
    swapped.swap_axes(x.ndim() - 2, x.ndim() - 1);
    swapped
}

/// The upper triangle that elimination leaves of a matrix with further columns.
fn eliminated(a: &ArrayD<f64>, b: &ArrayD<f64>) -> ArrayD<f64> {
    let mut both = pullback::ndarray::concatenate![Axis(1), a.view(), b.view()];
    for pivot in 0..a.shape()[0] {
        let row = both.index_axis(Axis(0), pivot).to_owned();
        for mut below in both.axis_iter_mut(Axis(0)).skip(pivot + 1) {
            let factor = below[pivot] / row[pivot];
            below.scaled_add(-factor, &row);
        }
    }
    both
}

pub fn solved(a: &ArrayD<f64>, b: &ArrayD<f64>) -> ArrayD<f64> {
    let rows = a.shape()[0];
    let mut both = eliminated(a, b);
    for pivot in (0..rows).rev() {
        let mut row = both.index_axis(Axis(0), pivot).to_owned();
        row /= row[pivot];
        both.index_axis_mut(Axis(0), pivot).assign(&row);
        for mut above in both.axis_iter_mut(Axis(0)).take(pivot) {
            let factor = above[pivot];
            above.scaled_add(-factor, &row);
        }
    }
    both.slice_axis(Axis(1), Slice::from(rows..)).to_owned()
}

pub fn determinant(a: &ArrayD<f64>) -> ArrayD<f64> {
    let upper = eliminated(a, &ArrayD::zeros(IxDyn(&[a.shape()[0], 0])));
    placed(&[], |_| (0..a.shape()[0]).map(|i| upper[[i, i]]).product())
}

pub fn cholesky(a: &ArrayD<f64>) -> ArrayD<f64> {
    let mut factor = ArrayD::<f64>::zeros(a.raw_dim());
    for i in 0..a.shape()[0] {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|k| factor[[i, k]] * factor[[j, k]]).sum();
            let rest = a[[i, j]] - sum;
            factor[[i, j]] = if i == j {
                rest.sqrt()
            } else {
                rest / factor[[j, j]]
            };
        }
    }
    factor
}

/// The process of Gram and Schmidt, twice, on as many columns as there are rows.
pub fn qr(a: &ArrayD<f64>) -> (ArrayD<f64>, ArrayD<f64>) {
    let least = a.shape()[0].min(a.shape()[1]);
    let mut q = a.slice_axis(Axis(1), Slice::from(..least)).to_owned();
    for column in 0..least {
        for _ in 0..2 {
            for before in 0..column {
                let other = q.index_axis(Axis(1), before).to_owned();
                let mut own = q.index_axis_mut(Axis(1), column);
                let along = (&own * &other).sum();
                own.scaled_add(-along, &other);
            }
        }
        let mut own = q.index_axis_mut(Axis(1), column);
        let length = own.mapv(|x| x * x).sum().sqrt();
        own /= length;
    }
    let mut r = product(&q.t().to_owned(), a);
    for (at, x) in r.indexed_iter_mut() {
        *x = if at[0] > at[1] { 0.0 } else { *x };
    }
    (q, r)
}

/// Jacobi's rotations: each makes two elements of a symmetric matrix 0.
pub fn eigh(a: &ArrayD<f64>) -> (ArrayD<f64>, ArrayD<f64>) {
    let size = a.shape()[0];
    let mut a = a.clone();
    let mut vectors = placed(&[size, size], |at| f64::from(u8::from(at[0] == at[1])));
    for _ in 0..20 {
        for (i, j) in (0..size).flat_map(|j| (0..j).map(move |i| (i, j))) {
            let angle = 0.5 * (2.0 * a[[i, j]]).atan2(a[[j, j]] - a[[i, i]]);
            let mut rotation = placed(&[size, size], |at| f64::from(u8::from(at[0] == at[1])));
            (rotation[[i, i]], rotation[[j, j]]) = (angle.cos(), angle.cos());
            (rotation[[i, j]], rotation[[j, i]]) = (angle.sin(), -angle.sin());
            a = product(&product(&rotation.t().to_owned(), &a), &rotation);
            vectors = product(&vectors, &rotation);
        }
    }
    let mut order: Vec<usize> = (0..size).collect();
    order.sort_by(|&i, &j| a[[i, i]].total_cmp(&a[[j, j]]));
    let sorted = placed(&[size, size], |at| vectors[[at[0], order[at[1]]]]);
    (
        placed(&[size], |at| a[[order[at[0]], order[at[0]]]]),
        signed(sorted),
    )
}

/// Makes the first element of each column that is almost the largest positive.
fn signed(mut vectors: ArrayD<f64>) -> ArrayD<f64> {
    for mut column in vectors.axis_iter_mut(Axis(1)) {
        let largest = column.fold(0.0_f64, |largest, x| largest.max(x.abs()));
        let first = column.iter().find(|x| x.abs() >= 0.99 * largest);
        if *first.expect("an element") < 0.0 {
            column *= -1.0;
        }
    }
    vectors
}

/// By the eigenvectors of `AᵀA`, or of `AAᵀ` if that is smaller.
pub fn svd(a: &ArrayD<f64>) -> (ArrayD<f64>, ArrayD<f64>, ArrayD<f64>) {
    if a.shape()[0] < a.shape()[1] {
        let (squares, u) = eigh(&product(a, &swapped(a)));
        let (values, u) = (reversed(squares.mapv(f64::sqrt), 0), reversed(u, 1));
        let vt = product(&swapped(&u), a) / values.clone().insert_axis(Axis(1));
        return (u, values, vt);
    }
    let (squares, v) = eigh(&product(&swapped(a), a));
    let (values, v) = (reversed(squares.mapv(f64::sqrt), 0), reversed(v, 1));
    let plain = product(a, &v) / &values;
    let u = signed(plain.clone());
    let signs = (&u * &plain).sum_axis(Axis(0)).insert_axis(Axis(1));
    let signs = signs.mapv(f64::signum);
    (u, values, swapped(&v) * signs)
}

fn reversed(mut x: ArrayD<f64>, axis: usize) -> ArrayD<f64> {
    x.invert_axis(Axis(axis));
    x
}
