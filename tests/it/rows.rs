//! Elementwise functions of rows.

use pullback::functional::{Functional, vmap};
use pullback::kernels::set_threads;
use pullback::ndarray::{Array1, Array2, Array3, Axis, Ix1, Ix2, array, s};
use pullback::prelude::*;
use pullback::{ErrorKind, Function};

/// `p` turned by the axis-angle vector `w`.
#[custom_function(elementwise(order = 3), gradcheck(w = [4, 3], p = [4, 3]), gradcheck(w = [2, 1, 3], p = [1, 3, 3]))]
fn rotate<T: Real>(w: [T; 3], p: [T; 3]) -> [T; 3] {
    let angle2 = w.iter().map(|w| w.square()).sum::<T>() + 1e-12;
    let angle = angle2.sqrt();
    let (a, b) = (angle.sin() / angle, (1.0 - angle.cos()) / angle2);
    let (wp, wwp) = (cross(w, p), cross(w, cross(w, p)));
    std::array::from_fn(|k| p[k] + a * wp[k] + b * wwp[k])
}

/// A weighted sum of a row: numbers and rows together, a value, a label for each row, and two outputs.
#[custom_function(
    elementwise,
    outputs(sum, rest),
    gradcheck(p = [4, 3], scale = [4], sign = &[1.0, -1.0, 2.0, 0.5], shift = 0.5),
    gradcheck(p = [2, 1, 3], scale = [1, 2], sign = &[1.0, -1.0, 2.0, 0.5], shift = 0.5)
)]
fn weighed<T: Real>(p: [T; 3], scale: T, #[each] sign: &[f64], shift: f64) -> (T, [T; 2]) {
    let sum = scale * (p[0] + 2.0 * p[1] + 3.0 * p[2]) * sign;
    (sum, [p[0].exp() * scale, p[2] * p[1] + shift])
}

fn minus<T: Real, const N: usize>(a: [T; N], b: [T; N]) -> [T; N] {
    std::array::from_fn(|k| a[k] - b[k])
}

fn dot<T: Real>(a: [T; 3], b: [T; 3]) -> T {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross<T: Real>(a: [T; 3], b: [T; 3]) -> [T; 3] {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

/// The torsion of four points, which has no derivative where they are on a line.
#[custom_function(elementwise, gradcheck(a = [2, 3], b = [2, 3], c = [2, 3], d = [2, 3]))]
fn torsion<T: Real>(a: [T; 3], b: [T; 3], c: [T; 3], d: [T; 3]) -> T {
    let (u, v, w) = (minus(b, a), minus(c, b), minus(d, c));
    let normal = cross(v, w);
    (dot(v, v).sqrt() * dot(u, normal)).atan2(dot(cross(u, v), normal))
}

/// The volume of a tetrahedron, which has a kink where the corners are in a plane.
#[custom_function(elementwise, gradcheck(a = [2, 3], b = [2, 3], c = [2, 3], d = [2, 3]))]
fn tetrahedron<T: Real>(a: [T; 3], b: [T; 3], c: [T; 3], d: [T; 3]) -> T {
    let (u, v, w) = (minus(b, a), minus(c, a), minus(d, a));
    dot(u, cross(v, w)).abs() / 6.0
}

/// The volume that three edges span.
#[custom_function(elementwise, gradcheck(u = [2, 3], v = [2, 3], w = [2, 3]))]
fn spanned<T: Real>(u: [T; 3], v: [T; 3], w: [T; 3]) -> T {
    dot(u, cross(v, w)).abs() / 6.0
}

/// The radius of the circle through three points, infinite where they are on a line.
#[custom_function(elementwise, gradcheck(a = [5, 2], b = [5, 2], c = [5, 2]))]
fn circumradius<T: Real>(a: [T; 2], b: [T; 2], c: [T; 2]) -> T {
    let length = |side: [T; 2]| side[0].hypot(side[1]);
    let (u, v) = (minus(b, a), minus(c, a));
    let area = (u[0] * v[1] - u[1] * v[0]).abs();
    length(u) * length(v) * length(minus(c, b)) / (2.0 * area)
}

const SIDE: usize = 3;

/// The product of matrices, with lengths that are constants.
#[custom_function(elementwise, gradcheck(a = [2, 9], b = [1, 9]))]
fn product<T: Real>(a: [T; SIDE * SIDE], b: [T; 9]) -> [T; SIDE * SIDE] {
    let mut c = [T::from(0.0); 9];
    for i in 0..SIDE {
        for j in 0..SIDE {
            for k in 0..SIDE {
                c[SIDE * i + j] += a[SIDE * i + k] * b[SIDE * k + j];
            }
        }
    }
    c
}

/// More numbers than one loop has as variables.
#[custom_function(elementwise(order = 3), gradcheck(x = [3, 17], y = [3, 6], z = [3]))]
fn long<T: Real>(x: [T; 17], y: [T; 6], z: T) -> [T; 6] {
    let mut sums = y;
    for (k, x) in x.into_iter().enumerate() {
        sums[k % 6] += x * x * z + y[(k + 1) % 6] * x;
    }
    sums
}

/// The inverse of a matrix that is turned if its first number is negative: two courses.
#[custom_function(elementwise, gradcheck(m = [3, 9]))]
fn inverse<T: Real>(m: [T; 9]) -> [T; 9] {
    let m = if m[0] < 0.0 { m.map(|x| -x) } else { m };
    let [a, b, c, d, e, f, g, h, i] = m;
    let (x, y, z) = (e * i - f * h, f * g - d * i, d * h - e * g);
    let scale = (a * x + b * y + c * z).recip();
    [
        x,
        c * h - b * i,
        b * f - c * e,
        y,
        a * i - c * g,
        c * d - a * f,
        z,
        b * g - a * h,
        a * e - b * d,
    ]
    .map(|x| x * scale)
}

/// As many courses as there are orders of the numbers.
#[custom_function(elementwise, gradcheck(x = [5, 8], base = 1.5))]
fn ranked<T: Real>(x: [T; 8], base: f64) -> T {
    let mut sum = T::from(0.0);
    for k in 0..8 {
        let above = (0..8).map(|other| i32::from(x[other] > x[k])).sum();
        sum += x[k] * x[k] * base.powi(above);
    }
    sum
}

/// Sums over rows, by loops and iterators whose rounds are known.
#[custom_function(elementwise, outputs(similar, unit), gradcheck(x = [4, 3], y = [4, 3], weights = [0.5, 1.0, 2.0]))]
fn similarity<T: Real>(x: [T; 3], y: [T; 3], weights: [f64; 3]) -> (T, [T; 3]) {
    let product = x.iter().zip(&y).map(|(x, y)| *x * *y).sum::<T>();
    let norm = y.iter().fold(T::from(1.0), |sum, y| sum + y.square());
    let mut weighed = T::from(0.0);
    for (k, weight) in weights.into_iter().enumerate() {
        weighed += x[k].square() * weight;
        if k > 0 {
            weighed += x[k - 1] * y[k];
        }
    }
    for x in x {
        weighed += x * x;
    }
    let length = (norm * weighed.square().max(0.1)).sqrt();
    (product / length, x.map(|x| x / length))
}

/// How many numbers a row has.
const LENGTH: usize = 3;

/// The powers of a polynomial: its coefficients and the exponent of all.
const COEFFICIENTS: [f64; 2 * LENGTH - 1] = [0.5, -0.25, 0.125, 1.5, -0.75];
const POWER: i32 = 2;

/// Loops to constants.
#[custom_function(elementwise, outputs(value, scaled), gradcheck(x = [4, 3]))]
fn polynomial<T: Real>(x: [T; LENGTH]) -> (T, [T; LENGTH]) {
    let mut value = T::from(0.0);
    for coefficient in COEFFICIENTS {
        value = value * x[LENGTH - 1] + coefficient;
    }
    for k in 0..LENGTH - 1 {
        value += (x[k] * COEFFICIENTS[k]).powi(POWER);
    }
    for coefficient in &COEFFICIENTS {
        value += x[0] * (coefficient * 0.5);
    }
    (value, std::array::from_fn(|k| x[k] * value))
}

/// The same, written out.
#[custom_function(elementwise, outputs(similar, unit), gradcheck(x = [4, 3], y = [4, 3], weights = [0.5, 1.0, 2.0]))]
fn similarity_by_hand<T: Real>(x: [T; 3], y: [T; 3], weights: [f64; 3]) -> (T, [T; 3]) {
    let product = x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
    let norm = T::from(1.0) + y[0].square() + y[1].square() + y[2].square();
    let mut weighed = T::from(0.0) + x[0].square() * weights[0];
    weighed = weighed + x[1].square() * weights[1] + x[0] * y[1];
    weighed = weighed + x[2].square() * weights[2] + x[1] * y[2];
    weighed = weighed + x[0] * x[0] + x[1] * x[1] + x[2] * x[2];
    let length = (norm * weighed.square().max(0.1)).sqrt();
    let [a, b, c] = x;
    (product / length, [a / length, b / length, c / length])
}

#[test]
fn loops_are_as_if_written_out() {
    let leaf = |shift: f64| {
        let numbers =
            Array2::from_shape_fn((300, 3), |(i, k)| (i as f64 * 0.7 + k as f64 + shift).sin());
        Tensor::from(numbers).set_requires_grad(true)
    };
    let (x, y, weights) = (leaf(0.0), leaf(1.0), [0.5, 1.0, 2.0]);
    let loops: (Tensor1<f64>, Tensor2<f64>) = similarity(&x, &y, weights);
    let by_hand: (Tensor1<f64>, Tensor2<f64>) = similarity_by_hand(&x, &y, weights);
    assert_eq!(loops.0.to_array(), by_hand.0.to_array());
    assert_eq!(loops.1.to_array(), by_hand.1.to_array());
    let of = |(similar, unit): (Tensor1<f64>, Tensor2<f64>)| {
        grad(&(similar.square().sum() + unit.exp().sum()), (&x, &y)).unwrap()
    };
    let ([of_x, of_y], [x_by_hand, y_by_hand]) =
        (<[_; 2]>::from(of(loops)), <[_; 2]>::from(of(by_hand)));
    assert_eq!(of_x.to_array(), x_by_hand.to_array());
    assert_eq!(of_y.to_array(), y_by_hand.to_array());
}

/// Many numbers, and a label for each row.
#[custom_function(elementwise, gradcheck(x = [3, 9], label = &[0, 4, 8]))]
fn chosen<T: Real>(x: [T; 9], #[each] label: &[usize]) -> T {
    let sum: T = x.iter().map(|x| x.exp()).sum();
    x[label] * x[label] - sum.ln()
}

/// The most numbers.
#[custom_function(elementwise(order = 1), gradcheck(x = [2, 64]))]
fn doubled<T: Real>(x: [T; 64]) -> [T; 64] {
    x.map(|x| 2.0 * x * x)
}

/// A row of one number, and a row from a number.
#[custom_function(elementwise, gradcheck(x = [3, 1]))]
fn one<T: Real>(x: [T; 1]) -> T {
    x[0].exp()
}

#[custom_function(elementwise, gradcheck(x = [3]), gradcheck(x = [2, 2]))]
fn angle<T: Real>(x: T) -> [T; 2] {
    [x.cos(), x.sin()]
}

/// Derivatives that are given, of rows and a number, one of which asks for nothing but the gradient.
#[custom_function(
    elementwise,
    outputs(scaled, norm2),
    gradcheck(x = [4, 2], factor = [4], shift = [4, 2]),
    grad(x) = {
        let g = grad_scaled;
        [g[0] * factor + 2.0 * x[0] * grad_norm2, g[1] * factor + 2.0 * x[1] * grad_norm2]
    },
    grad(factor) = grad_scaled[0] * x[0] + grad_scaled[1] * x[1] + 0.0 * norm2,
    grad(shift) = grad_scaled,
)]
fn given<T: Real>(x: [T; 2], factor: T, shift: [T; 2]) -> ([T; 2], T) {
    let scaled = [x[0] * factor + shift[0], x[1] * factor + shift[1]];
    (scaled, x[0] * x[0] + x[1] * x[1])
}

#[custom_function(elementwise, gradcheck(x = [5, 2]), grad(x, once) = [grad_output[1] * output[1], grad_output[0] * output[0]])]
fn swapped<T: Real>(x: [T; 2]) -> [T; 2] {
    [x[1].exp(), x[0].exp()]
}

/// Slices of a helper, and a formula that is called.
#[custom_function(elementwise, gradcheck(p = [3, 3]))]
fn twice<T: Real>(p: [T; 3]) -> T {
    fn sum<T: Real>(row: &[T]) -> T {
        row.iter().copied().sum()
    }
    sum(&Rotate::formula([p[2], p[0], p[1]], p)[1..])
}

fn numbers(shape: [usize; 2], scale: f64) -> Array2<f64> {
    Array2::from_shape_fn(shape, |(i, k)| {
        ((i * 7 + k * 3) as f64 * 0.37).sin() * scale
    })
}

fn leaf(values: Array2<f64>) -> Tensor2<f64> {
    Tensor::from(values).set_requires_grad(true)
}

#[test]
fn signatures_have_the_lengths_of_rows() {
    let signature = Weighed::<f64, Ix1>::SIGNATURE;
    assert_eq!(
        signature
            .inputs
            .iter()
            .map(|input| input.row)
            .collect::<Vec<_>>(),
        [Some(3), None, None, None]
    );
    assert_eq!(
        signature
            .outputs
            .iter()
            .map(|output| output.row)
            .collect::<Vec<_>>(),
        [None, Some(2)]
    );
    assert_eq!(signature.inputs[0].ty, "ArrayView<'_, T, D::Larger>");
    assert_eq!(Product::<f64, Ix2>::SIGNATURE.inputs[0].row, Some(9));
    assert!(signature.elementwise && signature.forward_mode);
    assert_eq!(Angle::formula(0.0), [1.0, 0.0]);
    assert_eq!(
        Angle::<f64, Ix1>::forward(array![0.0].view()),
        array![[1.0, 0.0]]
    );
}

/// Blocks, lanes, rests and threads: each row is computed as it is alone.
#[test]
fn rows_are_independent_of_each_other() {
    for threads in [1, 2] {
        set_threads(threads);
        for count in [0, 1, 15, 16, 17, 255, 256, 257, 600, 70_000] {
            let (w, p) = (
                leaf(numbers([count, 3], 2.0)),
                leaf(numbers([count, 3], 1.5)),
            );
            let turned = rotate(&w, &p);
            let weights = Tensor::from(numbers([count, 3], -0.7));
            let first = Grad::of(&(&turned * &weights).sum())
                .create_graph(true)
                .run((&w, &p))
                .unwrap();
            let second =
                grad(&(first.0.square().sum() + first.1.square().sum()), (&w, &p)).unwrap();
            for row in [0, 14, 15, 16, 254, 255, 256, 599, 69_999]
                .into_iter()
                .filter(|row| *row < count)
            {
                let of = |tensor: &Tensor2<f64>| tensor.view().slice(s![row..=row, ..]).to_owned();
                let (w, p) = (leaf(of(&w)), leaf(of(&p)));
                let alone = rotate(&w, &p);
                assert_eq!(of(&turned), alone.to_array());
                let weights = Tensor::from(of(&weights));
                let of_alone = Grad::of(&(&alone * &weights).sum())
                    .create_graph(true)
                    .run((&w, &p))
                    .unwrap();
                assert_eq!(
                    (of(&first.0), of(&first.1)),
                    (of_alone.0.to_array(), of_alone.1.to_array())
                );
                let of_alone = grad(
                    &(of_alone.0.square().sum() + of_alone.1.square().sum()),
                    (&w, &p),
                )
                .unwrap();
                assert_eq!(
                    (of(&second.0), of(&second.1)),
                    (of_alone.0.to_array(), of_alone.1.to_array())
                );
            }
        }
    }
    set_threads(1);
}

/// Rows that are broadcast, transposed or one for all have the results of their copies.
#[test]
fn layouts_make_no_difference() {
    let (w, p) = (numbers([40, 3], 1.0), numbers([40, 3], 2.0));
    let whole = rotate(&Tensor::from(w.clone()), &Tensor::from(p.clone())).to_array();
    let columns = Tensor::from(p.t().as_standard_layout().to_owned()).t();
    assert!(!columns.view().is_standard_layout());
    assert_eq!(rotate(&Tensor::from(w.clone()), &columns).to_array(), whole);

    let row = w.slice(s![3..4, ..]).to_owned();
    let repeated = row.broadcast((40, 3)).unwrap().to_owned();
    let by_copies = rotate(&Tensor::from(repeated), &Tensor::from(p.clone())).to_array();
    let one = leaf(row);
    assert_eq!(rotate(&one, &Tensor::from(p.clone())).to_array(), by_copies);
    let turned = rotate(&one, &Tensor::from(p));
    assert_eq!(grad(&turned.sum(), &one).unwrap().shape(), [1, 3]);

    // Both are broadcast, along different axes.
    let a = Tensor::from(Array3::from_shape_fn((5, 1, 3), |(i, _, k)| {
        (i + 2 * k) as f64 * 0.3
    }))
    .set_requires_grad(true);
    let b = Tensor::from(Array3::from_shape_fn((1, 60, 3), |(_, j, k)| {
        (j * k) as f64 * 0.01 - 0.5
    }))
    .set_requires_grad(true);
    let turned = rotate(&a, &b);
    assert_eq!(turned.shape(), [5, 60, 3]);
    let (of_a, of_b) = grad(&turned.square().sum(), (&a, &b)).unwrap();
    assert_eq!(
        (of_a.shape(), of_b.shape()),
        (&[5, 1, 3][..], &[1, 60, 3][..])
    );
    let alone = rotate(&a.slice(s![4..5, 0, ..]), &b.slice(s![0, 59..60, ..]));
    assert_eq!(
        turned.slice(s![4, 59, ..]).to_array(),
        alone.slice(s![0, ..]).to_array()
    );
    // A rotation changes no length.
    assert!(of_a.to_array().iter().all(|slope| slope.abs() < 1e-9));

    let dynamic = rotate(&a.into_dyn(), &b.into_dyn());
    assert_eq!(dynamic.to_array(), turned.to_array().into_dyn());
}

/// What a pass does not need is not computed: the number that has no derivative there would make it NaN.
#[custom_function(elementwise)]
fn rooted<T: Real>(x: [T; 8], y: [T; 3]) -> T {
    x[7].sqrt() * y[0].square() + y[1] + y[2]
}

#[test]
fn a_pass_computes_what_it_needs() {
    let x = leaf(Array2::zeros((2, 8)));
    let y = leaf(numbers([2, 3], 1.0));
    let sum = rooted(&x, &y).sum();
    let of_y: Tensor2<f64> = Grad::of(&sum).retain_graph(true).run(&y).unwrap();
    assert_eq!(of_y.to_array(), array![[0.0, 1.0, 1.0], [0.0, 1.0, 1.0]]);
    let of_x: Tensor2<f64> = grad(&sum, &x).unwrap();
    let of_x = of_x.to_array();
    assert_eq!(of_x.slice(s![.., ..7]), Array2::<f64>::zeros((2, 7)));
    assert!(of_x[[1, 7]].is_infinite());
}

#[test]
fn single_precision_is_close() {
    let (w, p) = (numbers([33, 3], 1.0), numbers([33, 3], 2.0));
    let (of_w, of_p) = {
        let (w, p) = (leaf(w.clone()), leaf(p.clone()));
        grad(&rotate(&w, &p).square().sum(), (&w, &p)).unwrap()
    };
    let single = |x: &Array2<f64>| Tensor::from(x.mapv(f32::from_f64)).set_requires_grad(true);
    let (w, p) = (single(&w), single(&p));
    let (single_w, single_p) = grad(&rotate(&w, &p).square().sum(), (&w, &p)).unwrap();
    for (a, b) in [(of_w, single_w), (of_p, single_p)] {
        let error = (&a.to_array() - &b.to_array().mapv(f64::from)).mapv(f64::abs);
        assert!(error.iter().all(|error| *error < 2e-5), "{error:?}");
    }
}

/// Backward over backward over backward, forward over forward, and both, against each other.
#[test]
fn modes_agree() {
    let x = leaf(numbers([2, 17], 0.5));
    let (y, z) = (
        Tensor::from(numbers([2, 6], 0.8)),
        Tensor::from(array![0.7, -0.4]),
    );
    let direction = Tensor::from(numbers([2, 17], 1.0));
    let energy = |x: &Tensor2<f64>| long(x, &y, &z).powi(3).sum();
    let mut along = energy(&x);
    let mut by_passes = Vec::new();
    for _ in 0..3 {
        let g: Tensor2<f64> = Grad::of(&along).create_graph(true).run(&x).unwrap();
        along = (&g * &direction).sum();
        by_passes.push(along.item());
    }
    let first = |x: &Tensor2<f64>| jvp(|(x,)| energy(x), (x,), (&direction,)).unwrap().1;
    let second = |x: &Tensor2<f64>| jvp(|(x,)| first(x), (x,), (&direction,)).unwrap().1;
    let third = |x: &Tensor2<f64>| {
        Functional::new()
            .jvp(|(x,)| second(x), (x,), (&direction,))
            .unwrap()
            .1
    };
    let x = x.detach();
    let by_tangents = [first(&x).item(), second(&x).item(), third(&x).item()];
    for (pass, tangent) in by_passes.iter().zip(by_tangents) {
        assert!(
            (pass - tangent).abs() < 1e-9 * pass.abs(),
            "{by_passes:?}, {by_tangents:?}"
        );
    }
}

#[test]
fn vmap_takes_each_example() {
    let (w, p) = (numbers([5, 3], 1.0), Tensor::from(numbers([4, 3], 2.0)));
    let w = Tensor::from(w);
    let each = vmap(
        |w: &Tensor1<f64>| rotate(&w.reshape((1, 3)), &p),
        Axis(0),
        &w,
    )
    .unwrap();
    assert_eq!(each.shape(), [5, 4, 3]);
    let third = rotate(&w.slice(s![3..4, ..]), &p);
    assert_eq!(each.slice(s![3, .., ..]).to_array(), third.to_array());
}

#[test]
fn a_derivative_that_is_given_once_is_not_differentiated() {
    let x = leaf(numbers([3, 2], 1.0));
    let g = Grad::of(&swapped(&x).sum())
        .create_graph(true)
        .run(&x)
        .unwrap();
    assert_eq!(g.to_array(), x.to_array().mapv(Real::exp));
    let error = grad(&g.sum(), &x).unwrap_err();
    assert_eq!(
        error.kind(),
        &ErrorKind::OrderExceeded {
            order: 1,
            form: Some("elementwise")
        }
    );
}

#[test]
#[should_panic(
    expected = "`rotate` of `w` of shape [4, 3] and `p` of shape [4, 2]: `p` has rows of length 3, but its last axis has length 2"
)]
fn rows_have_their_length() {
    let _ = rotate(&leaf(numbers([4, 3], 1.0)), &leaf(numbers([4, 2], 1.0)));
}

#[test]
#[should_panic(expected = "`one` of `x` of shape []: `x` has rows of length 1, but it has no axis")]
fn rows_have_an_axis() {
    let _ = one(&Tensor::from(1.0).into_dyn());
}

#[test]
#[should_panic(
    expected = "`rotate` of `w` of shape [4, 3] and `p` of shape [2, 3]: they do not broadcast along the axes before rows"
)]
fn rows_are_as_many() {
    let _ = rotate(&leaf(numbers([4, 3], 1.0)), &leaf(numbers([2, 3], 1.0)));
}

#[test]
#[should_panic(
    expected = "`weighed` of `p` of shape [4, 3] and `scale` of shape [4]: `sign` must have 4 entries, one for each \
                element, found 12"
)]
fn lists_have_an_entry_for_each_row() {
    let scale = Tensor::from(Array1::ones(4));
    let _ = weighed(&leaf(numbers([4, 3], 1.0)), &scale, &[1.0; 12], 0.0);
}

fn matrices(count: usize, shift: f64) -> Array2<f64> {
    Array2::from_shape_fn((count, 9), |(row, k)| {
        let diagonal = if k % 4 == 0 { 3.0 } else { 0.0 };
        diagonal + ((7 * row + 5 * k) as f64 * 0.37 + shift).sin()
    })
}

/// The gradients of Σ w · A B, which are w Bᵀ and Aᵀ w, one row after the other.
fn gradients_of_product(
    weights: &Array2<f64>,
    a: &Array2<f64>,
    b: &Array2<f64>,
) -> [Array2<f64>; 2] {
    let matrix = |rows: &Array2<f64>, row: usize| {
        let row = rows.row(if rows.nrows() == 1 { 0 } else { row });
        row.to_shape((3, 3)).expect("nine numbers").to_owned()
    };
    let of = |product: &dyn Fn([Array2<f64>; 3]) -> Array2<f64>| {
        let rows = (0..weights.nrows())
            .flat_map(|row| product([weights, a, b].map(|rows| matrix(rows, row))).into_iter());
        Array2::from_shape_vec(weights.raw_dim(), rows.collect()).expect("as many numbers")
    };
    [
        of(&|[w, _, b]| w.dot(&b.t())),
        of(&|[w, a, _]| a.t().dot(&w)),
    ]
}

#[test]
fn gradients_of_many_numbers_are_those_of_matrices_on_any_number_of_threads() {
    for count in [1, 2, 31, 32, 33, 256, 257, 5_000] {
        let (a, b, weights) = (matrices(count, 0.0), matrices(1, 0.5), matrices(count, 1.0));
        let [of_a, of_b] = gradients_of_product(&weights, &a, &b);
        let of_b = of_b.sum_axis(Axis(0)).insert_axis(Axis(0));
        let mut known = None;
        for threads in [1, 2] {
            set_threads(threads);
            let a = Tensor::from(a.clone()).set_requires_grad(true);
            let b = Tensor::from(b.clone()).set_requires_grad(true);
            let y = (&product(&a, &b) * &Tensor::from(weights.clone())).sum();
            y.backward().unwrap();
            let found = [a.grad().unwrap(), b.grad().unwrap()];
            for (found, expected) in found.iter().zip([&of_a, &of_b]) {
                let largest = (found - expected)
                    .mapv(f64::abs)
                    .fold(0.0, |m: f64, x| m.max(*x));
                assert!(largest < 1e-10, "{count} rows: {largest}");
            }
            let bits = found.map(|of| of.mapv(f64::to_bits));
            assert_eq!(
                *known.get_or_insert_with(|| bits.clone()),
                bits,
                "{count} rows"
            );
        }
    }
    set_threads(2);
}

#[test]
fn rows_in_many_courses_have_the_gradients_that_each_has_alone() {
    let numbers = Array2::from_shape_fn((200, 8), |(row, k)| {
        ((17 * row + 29 * k) as f64 * 0.61).sin() + 2.0
    });
    let gradient = |x: Array2<f64>| {
        let x = Tensor::from(x).set_requires_grad(true);
        ranked(&x, 1.25).sum().backward().unwrap();
        x.grad().unwrap()
    };
    let together = gradient(numbers.clone());
    for (row, x) in numbers.outer_iter().enumerate() {
        let alone = gradient(x.to_owned().insert_axis(Axis(0)));
        assert_eq!(together.row(row), alone.row(0), "row {row}");
        for k in 0..8 {
            let above = x.iter().map(|other| i32::from(*other > x[k])).sum();
            let expected = 2.0 * x[k] * 1.25_f64.powi(above);
            assert!((alone[[0, k]] - expected).abs() < 1e-12, "row {row}");
        }
    }
}

/// In `f32`, replays have one row of 32 elements or two, and the last one may not be whole.
#[test]
fn elements_in_rows_of_lanes_are_those_of_one_by_one() {
    let corners = [1, 2, 3, 4].map(|seed| {
        Array2::from_shape_fn((300, 3), |(i, j)| {
            f32::from_f64(((i * 7 + j * 3 + (i + 1) * seed) as f64 * 0.37).sin())
        })
    });
    let derivatives = |elements: std::ops::Range<usize>| {
        let part = |x: &Array2<f32>| Tensor::from(x.slice(s![elements.clone(), ..]).to_owned());
        let [a, b, c, d] = corners.each_ref().map(|x| part(x).set_requires_grad(true));
        let angles = torsion(&a, &b, &c, &d);
        let (of_a, of_b, of_c, of_d) = grad(&angles.sum(), (&a, &b, &c, &d)).unwrap();
        let gradients = [of_a, of_b, of_c, of_d].map(|gradient| gradient.to_array());
        (angles.to_array(), gradients)
    };
    for count in [31, 33, 64, 70, 96, 129, 300] {
        let (angles, gradients) = derivatives(0..count);
        for element in [0, 30, count / 2, count - 2, count - 1] {
            let (angle, alone) = derivatives(element..element + 1);
            assert_eq!(angle[0], angles[element], "{count}: {element}");
            for (alone, gradient) in alone.iter().zip(&gradients) {
                assert_eq!(alone.row(0), gradient.row(element), "{count}: {element}");
            }
        }
    }
}
