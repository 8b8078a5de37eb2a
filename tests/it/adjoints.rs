//! Linear functions with an adjoint in place of backward functions.
#![allow(clippy::unnecessary_wraps)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use pullback::functional::{hessian, jacobian, vmap};
use pullback::ndarray::{
    Array, Array1, Array2, ArrayView, ArrayView1, ArrayView2, ArrayViewMut1, Axis, Dimension,
    array, s,
};
use pullback::prelude::*;

fn leaf<D: Dimension>(array: Array<f64, D>) -> Tensor<f64, D> {
    Tensor::from(array).set_requires_grad(true)
}

/// The sums of blocks of `factor` columns.
struct BlockSums;

#[custom_function(shapes(x = [n, l], output = [n, l / factor]), gradcheck(n = 2, l = 7, factor = 3))]
impl BlockSums {
    #[forward]
    fn forward(x: ArrayView2<f64>, factor: usize) -> Array2<f64> {
        Array2::from_shape_fn((x.nrows(), x.ncols() / factor), |(i, j)| {
            x.slice(s![i, j * factor..(j + 1) * factor]).sum()
        })
    }
    #[adjoint(x)]
    fn adjoint(grad_output: ArrayView2<f64>, factor: usize, l: usize) -> Array2<f64> {
        Array2::from_shape_fn((grad_output.nrows(), l), |(i, j)| {
            grad_output.get((i, j / factor)).copied().unwrap_or(0.0)
        })
    }
}

/// The differences of neighbors, in the short form.
#[custom_function(
    shapes(x = [n], output = [n - 1]),
    adjoint(x) = Array1::from_shape_fn(n, |i| {
        let here = |i: Option<usize>| i.and_then(|i| grad_output.get(i)).copied().unwrap_or(0.0);
        here(i.checked_sub(1)) - here(Some(i))
    }),
    gradcheck(n = 5),
)]
fn differences(x: ArrayView1<f64>) -> Array1<f64> {
    &x.slice(s![1..]) - &x.slice(s![..-1])
}

/// A weighted sum of several inputs, one by value, with a mask, a list of numbers, and what is not differentiable.
struct Mixed<T, D>(std::marker::PhantomData<(T, D)>);

#[custom_function(gradcheck(x = [2, 3], y = [2, 3], mask = [2, 3], weights = &[2.0, -1.0]))]
impl<T: Element, D: Dimension> Mixed<T, D> {
    #[forward(outputs(sum, first, count))]
    fn forward(
        x: ArrayView<T, D>,
        y: Array<T, D>,
        #[non_differentiable] mask: ArrayView<T, D>,
        weights: &[T],
    ) -> (Array<T, D>, Array<T, D>, usize) {
        let first = &x * &mask;
        (
            x.mapv(|x| x * weights[0]) + y.mapv(|y| y * weights[1]),
            first,
            x.len(),
        )
    }
    #[adjoint(y, x)]
    fn adjoint(
        grad_sum: ArrayView<T, D>,
        grad_first: Array<T, D>,
        weights: &[T],
        mask: ArrayView<T, D>,
    ) -> (Array<T, D>, Array<T, D>) {
        let of_y = grad_sum.mapv(|g| g * weights[1]);
        (of_y, grad_first * mask + grad_sum.mapv(|g| g * weights[0]))
    }
}

/// Writes to its input, and may fail.
struct Shift;

#[custom_function(shapes(x = [n]), gradcheck(n = 4, by = 1))]
impl Shift {
    #[forward]
    fn forward(mut x: ArrayViewMut1<f64>, by: usize) -> Result<(), String> {
        let n = x.len();
        if by > n {
            return Err(format!("cannot shift {n} numbers by {by}"));
        }
        for place in (by..n).rev() {
            x[place] = x[place - by];
        }
        x.slice_mut(s![..by]).fill(0.0);
        Ok(())
    }
    #[adjoint(x)]
    fn adjoint(mut grad_output: Array1<f64>, by: usize) -> Result<Array1<f64>, String> {
        let n = grad_output.len();
        for place in 0..n - by {
            grad_output[place] = grad_output[place + by];
        }
        grad_output.slice_mut(s![n - by..]).fill(0.0);
        Ok(grad_output)
    }
}

/// Lists in and out: each part times each weight.
struct Spread;

#[custom_function(gradcheck(parts = [[2], [3]], weights = vec![2.0, 3.0]))]
impl Spread {
    #[forward]
    fn forward(parts: &[ArrayView1<f64>], weights: Vec<f64>) -> Vec<Array1<f64>> {
        weights
            .iter()
            .flat_map(|weight| parts.iter().map(move |part| part * *weight))
            .collect()
    }
    #[adjoint(parts)]
    fn adjoint(grad_output: &[ArrayView1<f64>], weights: &[f64]) -> Vec<Array1<f64>> {
        let count = grad_output.len() / weights.len();
        let of = |part: usize| {
            let terms = weights.iter().enumerate();
            let mut terms =
                terms.map(|(place, weight)| &grad_output[place * count + part] * *weight);
            let first = terms.next().expect("a weight");
            terms.fold(first, |sum, term| sum + term)
        };
        (0..count).map(of).collect()
    }
}

#[test]
fn the_derivative_of_the_adjoint_is_forward() {
    let x = leaf(array![[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]]);
    let y = BlockSums::apply(&x, 3);
    assert_eq!(y.to_array(), array![[6.0, 15.0]]);
    let loss = (&y * &y).sum();
    let g = Grad::of(&loss).create_graph(true).run(&x).unwrap();
    assert_eq!(
        g.to_array(),
        array![[12.0, 12.0, 12.0, 30.0, 30.0, 30.0, 0.0]]
    );
    let g = (&g * &g).sum(); // 4 xᵀAᵀA AᵀA x
    let again = Grad::of(&g).create_graph(true).run(&x).unwrap();
    assert_eq!(again.to_array()[[0, 0]], 8.0 * 3.0 * 6.0);
    let third = grad(&(&again * &again).sum(), &x).unwrap();
    assert_eq!(
        third.to_array()[[0, 0]],
        2.0 * (8.0_f64 * 3.0).powi(2) * 3.0 * 6.0
    );
    assert_eq!(y.grad_fn().expect("a node").name(), "BlockSums");
    assert_eq!(
        again.grad_fn().expect("a node").name(),
        "BlockSums::adjoint"
    );
}

#[test]
fn forward_mode_is_forward() {
    let (x, v) = (
        Tensor::from(Array2::ones((1, 7))),
        Tensor::from(Array2::ones((1, 7))),
    );
    let (_, along) = jvp(|x| BlockSums::apply(x, 3), &x, &v).unwrap();
    assert_eq!(along.to_array(), array![[3.0, 3.0]]);
    let square = |x: &Tensor2<f64>| {
        let y = BlockSums::apply(x, 3);
        (&y * &y).sum()
    };
    let second = hessian(square, &x).unwrap();
    assert_eq!(second.shape(), [1, 7, 1, 7]);
    assert_eq!(
        (second.view()[[0, 0, 0, 2]], second.view()[[0, 0, 0, 3]]),
        (2.0, 0.0)
    );
    let mapped = vmap(
        |x| differences(x),
        Axis(0),
        &Tensor::from(array![[1.0, 4.0], [2.0, 8.0]]),
    )
    .unwrap();
    assert_eq!(mapped.to_array(), array![[3.0], [6.0]]);
    assert_eq!(
        jacobian(|x| differences(x), &Tensor::from(array![1.0, 4.0]))
            .unwrap()
            .to_array(),
        array![[-1.0, 1.0]]
    );
}

#[test]
fn tensors_that_forward_writes_to_have_adjoints_and_it_may_fail() {
    let x = leaf(array![1.0, 2.0, 3.0]);
    let mut y = &x * 1.0;
    Shift::apply(&mut y, 1).unwrap();
    assert_eq!(y.to_array(), array![0.0, 1.0, 2.0]);
    let loss = (&y * &y).sum();
    let g = Grad::of(&loss).create_graph(true).run(&x).unwrap();
    assert_eq!(g.to_array(), array![2.0, 4.0, 0.0]);
    assert_eq!(
        grad(&(&g * &g).sum(), &x).unwrap().to_array(),
        array![8.0, 16.0, 0.0]
    );
    let mut y = &x * 1.0;
    assert_eq!(
        Shift::apply(&mut y, 7).unwrap_err(),
        "cannot shift 3 numbers by 7"
    );
}

#[test]
fn second_derivatives_agree_with_differences() {
    let leaves = || (leaf(array![1.0, -2.0]), leaf(array![0.5, 3.0]));
    let mask = Tensor::from(array![1.0, 0.0]);
    let (x, y) = leaves();
    let weighted = |(x, y): (&Tensor1<f64>, &Tensor1<f64>)| {
        let (sum, first, _) = Mixed::apply(x, y.clone(), &mask, &[2.0, -1.0]);
        (sum.powi(3) + first * x).sum()
    };
    Gradcheck::new()
        .second_order()
        .forward_mode()
        .run(weighted, (&x, &y))
        .unwrap();
    let parts = [leaf(array![1.0, 2.0]), leaf(array![3.0, 4.0, 5.0])];
    let spread = |parts: (&Tensor1<f64>, &Tensor1<f64>)| {
        let all = Spread::apply(&[parts.0, parts.1], vec![2.0, 3.0]);
        all.iter()
            .map(|one| one.powi(3).sum())
            .sum::<Tensor0<f64>>()
    };
    Gradcheck::new()
        .second_order()
        .run(spread, (&parts[0], &parts[1]))
        .unwrap();
}

/// Two outputs of two inputs, with the mistake of its kind in forward or in the adjoint.
struct Crossed;

#[custom_function]
impl Crossed {
    #[forward(outputs(sum, scaled))]
    fn forward(x: ArrayView1<f64>, y: ArrayView1<f64>, kind: &str) -> (Array1<f64>, Array1<f64>) {
        let scaled = match kind {
            "infinite" => &x * f64::INFINITY,
            "square" => &x * &x,
            _ => &x * 3.0,
        };
        (&x + &y, scaled)
    }
    #[adjoint(x, y)]
    fn adjoint(
        grad_sum: ArrayView1<f64>,
        grad_scaled: ArrayView1<f64>,
        kind: &str,
    ) -> (Array1<f64>, Array1<f64>) {
        assert!(kind != "panic", "no adjoint today");
        let factor = if kind == "adjoint" { -3.0 } else { 3.0 };
        (&grad_sum + &grad_scaled * factor, grad_sum.to_owned())
    }
}

fn message_of(kind: &'static str) -> String {
    let (x, y) = (leaf(array![1.0, 2.0]), leaf(array![3.0, 4.0]));
    let check = || {
        let map = |(x, y): (&Tensor1<f64>, &Tensor1<f64>)| Crossed::apply(x, y, kind);
        pullback::__private::adjoint("`Crossed`", Gradcheck::new(), map, (&x, &y));
    };
    let panic = catch_unwind(AssertUnwindSafe(check)).unwrap_err();
    *panic.downcast::<String>().unwrap()
}

#[test]
fn the_test_of_an_adjoint_names_the_input_and_output_that_fail() {
    let message = message_of("adjoint");
    let text = "gradcheck of `Crossed`: the adjoint is not that of forward for `x` and `scaled`: ";
    assert!(message.starts_with(text), "{message}");
    let message = message_of("square");
    let text =
        "gradcheck of `Crossed`: forward is not linear: entry [0] of `scaled` of 2 x - 3 x' is ";
    assert!(message.starts_with(text), "{message}");
    let message = message_of("infinite");
    let text = "gradcheck of `Crossed`: forward of finite numbers is not finite: entry [0] of `scaled` is ";
    assert!(message.starts_with(text), "{message}");
}

#[test]
fn a_panic_of_an_adjoint_is_at_the_line_of_its_test() {
    static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let former = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let is_of_test = panic.to_string().contains("no adjoint today");
        if let (true, Some(at), Ok(mut lines)) = (is_of_test, panic.location(), LINES.lock()) {
            lines.push(at.file().to_owned());
        }
        former(panic);
    }));
    let message = message_of("panic");
    let lines = LINES.lock().unwrap().clone();
    assert!(message.contains("no adjoint today"), "{message}");
    assert!(
        lines.len() > 1 && lines.iter().all(|file| file == file!()),
        "{lines:?}"
    );
}

#[test]
fn a_check_of_nothing_says_so() {
    let x = leaf(Array1::zeros(0));
    let map = |x: &Tensor1<f64>| x * 2.0;
    let check = || pullback::__private::adjoint("`Double`", Gradcheck::new(), map, &x);
    let panic = catch_unwind(AssertUnwindSafe(check)).unwrap_err();
    let message = panic.downcast::<String>().unwrap();
    let text = "gradcheck of `Double`: its inputs have no elements, so nothing is checked";
    assert!(message.starts_with(text), "{message}");
}

/// A linear function of a vector that is made of built-in ones, with its adjoint by hand.
#[derive(Clone, Copy, Debug)]
enum Step {
    Scale(f64),
    Roll(isize),
    Flip,
    Sums,
    Pad(usize, usize),
    Drop(usize),
    /// The elements at these places, of a vector of this length.
    Pick([usize; 3]),
    /// A matrix with entries from a pattern, with this number of rows.
    Product(usize),
}

impl Step {
    fn forward(self, x: &Tensor1<f64>) -> Tensor1<f64> {
        match self {
            Self::Scale(by) => x * by,
            Self::Roll(by) => x.roll(Axis(0), by),
            Self::Flip => x.flip(&[0]),
            Self::Sums => x.cumsum(Axis(0)),
            Self::Pad(before, after) => x.pad(&[(before, after)], 0.0),
            Self::Drop(count) => x.slice(s![count..]),
            Self::Pick(places) => x.index_select(Axis(0), &places.map(|place| place % x.len())),
            Self::Product(rows) => matrix(rows, x.len()).matmul(x),
        }
    }

    /// The adjoint, for an input of this length.
    fn adjoint(self, y: &Tensor1<f64>, length: usize) -> Tensor1<f64> {
        match self {
            Self::Scale(by) => y * by,
            Self::Roll(by) => y.roll(Axis(0), -by),
            Self::Flip => y.flip(&[0]),
            Self::Sums => y.flip(&[0]).cumsum(Axis(0)).flip(&[0]),
            Self::Pad(before, _) => y.slice(s![before..before + length]),
            Self::Drop(count) => y.pad(&[(count, 0)], 0.0),
            Self::Pick(places) => {
                let mut sum = Array1::zeros(length);
                for (place, value) in places.iter().zip(y.view()) {
                    sum[place % length] += value;
                }
                Tensor::from(sum)
            }
            Self::Product(rows) => matrix(rows, length).t().matmul(y),
        }
    }

    /// The same with a mistake.
    fn damaged(self) -> Self {
        match self {
            Self::Scale(by) => Self::Scale(by * (1.0 + 1e-8)),
            Self::Roll(by) => Self::Roll(by + 1),
            Self::Flip => Self::Roll(0),
            Self::Sums => Self::Scale(1.0),
            Self::Pad(before, after) => Self::Pad(after, before),
            Self::Drop(_) => self,
            Self::Pick([a, b, c]) => Self::Pick([a + 1, b, c]),
            Self::Product(rows) => Self::Product(rows),
        }
    }
}

fn matrix(rows: usize, columns: usize) -> Tensor2<f64> {
    let entry = |(i, j): (usize, usize)| ((i * columns + j) as f64 * 0.7548).fract() - 0.5;
    Tensor::from(Array2::from_shape_fn((rows, columns), entry))
}

struct Composed;

#[custom_function]
impl Composed {
    #[forward]
    #[allow(unused_variables)]
    fn forward(x: &Tensor1<f64>, steps: &[Step], adjoints: &[Step], length: usize) -> Tensor1<f64> {
        steps.iter().fold(x.clone(), |x, step| step.forward(&x))
    }
    #[adjoint(x)]
    fn adjoint(
        grad_output: ArrayView1<f64>,
        steps: &[Step],
        adjoints: &[Step],
        length: usize,
    ) -> Array1<f64> {
        let mut lengths = vec![length];
        for step in steps {
            let zeros = Tensor::from(Array1::zeros(lengths[lengths.len() - 1]));
            lengths.push(step.forward(&zeros).len());
        }
        let steps = adjoints.iter().zip(&lengths).rev();
        let y = Tensor::from(grad_output.to_owned());
        steps
            .fold(y, |y, (step, length)| step.adjoint(&y, *length))
            .into_array()
    }
}

mod random {
    use proptest::prelude::*;

    use super::*;

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0.5..2.0_f64).prop_map(Step::Scale),
            (-3..4_isize).prop_map(Step::Roll),
            Just(Step::Flip),
            Just(Step::Sums),
            (0..3_usize, 0..3_usize).prop_map(|(before, after)| Step::Pad(before, after)),
            Just(Step::Drop(1)),
            [0..9_usize, 0..9, 0..9].prop_map(Step::Pick),
            (3..6_usize).prop_map(Step::Product),
        ]
    }

    /// Some steps, of which none is left without elements: the shortest results have three, and at most two are dropped.
    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let is_drop = |step: &&Step| matches!(step, Step::Drop(_));
        let keeps_some = move |steps: &Vec<Step>| steps.iter().filter(is_drop).count() < 3;
        prop::collection::vec(step(), 1..6).prop_filter("elements are left", keeps_some)
    }

    fn is_accepted(steps: &[Step], adjoints: &[Step], length: usize) -> bool {
        let x = leaf(Array1::ones(length));
        let map = |x: &Tensor1<f64>| Composed::apply(x, steps, adjoints, length);
        let check = || pullback::__private::adjoint("`Composed`", Gradcheck::new(), map, &x);
        catch_unwind(AssertUnwindSafe(check)).is_ok()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn right_adjoints_are_accepted_and_damaged_ones_refused(
            steps in steps(),
            length in 6..9_usize,
            which in any::<prop::sample::Index>(),
        ) {
            prop_assert!(is_accepted(&steps, &steps, length), "{:?}", steps);
            let mut adjoints = steps.clone();
            let which = which.index(steps.len());
            adjoints[which] = steps[which].damaged();
            let y = Composed::forward(&Tensor::from(Array1::zeros(length)), &steps, &steps, length);
            let is_same = (0..y.len()).all(|place| {
                let mut unit = Array1::zeros(y.len());
                unit[place] = 1.0;
                let [right, damaged] = [&steps, &adjoints]
                    .map(|adjoints| Composed::adjoint(unit.view(), &steps, adjoints, length));
                right.iter().zip(&damaged).all(|(a, b)| (a - b).abs() <= 1e-11 * a.abs())
            });
            prop_assert_eq!(is_accepted(&steps, &adjoints, length), is_same, "{:?} as {:?}", steps, adjoints);
        }
    }
}
