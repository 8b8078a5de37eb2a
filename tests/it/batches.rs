//! `apply_batch`, compared with `apply` on each example.

use std::marker::PhantomData;
use std::panic::Location;

use pullback::functional::{ExampleError, jvp, vmap};
use pullback::kernels::set_threads;
use pullback::ndarray::{
    Array, Array0, Array1, Array2, Array3, ArrayD, ArrayView, ArrayView1, ArrayView2, ArrayViewD,
    Axis, Dimension, arr0, array,
};
use pullback::prelude::*;
use pullback::{ErrorKind, Grad};

use crate::functions::{panic_of, panics_of};
use crate::vmap::{leaf, numbers};

/// softmax(q kᵀ · scale + mask) v, for a mask that may be missing.
pub struct Attention;

#[custom_function(
    batch(q, k, v),
    gradcheck(q = [3, 2], k = [4, 2], v = [4, 2], mask = [3, 4], scale = 0.7)
)]
impl Attention {
    #[forward(outputs(y, rows), saves(p))]
    pub fn forward(
        q: ArrayView2<f64>,
        k: ArrayView2<f64>,
        v: ArrayView2<f64>,
        mask: Option<ArrayView2<f64>>,
        scale: f64,
    ) -> (Array2<f64>, usize, Array2<f64>) {
        let mut p = q.dot(&k.t()) * scale;
        if let Some(mask) = mask {
            p += &mask;
        }
        p.mapv_inplace(f64::exp);
        p /= &p.sum_axis(Axis(1)).insert_axis(Axis(1));
        (p.dot(&v), q.nrows(), p)
    }

    #[backward]
    fn backward(
        grad_y: ArrayView2<f64>,
        q: ArrayView2<f64>,
        k: ArrayView2<f64>,
        v: ArrayView2<f64>,
        p: ArrayView2<f64>,
        scale: f64,
        needs_input_grad: AttentionNeedsInputGrad,
    ) -> AttentionGradients {
        let dp = grad_y.dot(&v.t());
        let along = (&dp * &p).sum_axis(Axis(1)).insert_axis(Axis(1));
        let ds = &p * &(dp - along);
        AttentionGradients {
            q: needs_input_grad.q.then(|| ds.dot(&k) * scale),
            k: needs_input_grad.k.then(|| ds.t().dot(&q) * scale),
            v: needs_input_grad.v.then(|| p.t().dot(&grad_y)),
            mask: Some(ds),
        }
    }
}

/// The inputs of a batch of `count` examples, as leaves.
fn inputs(count: usize) -> ([Tensor3<f64>; 3], Tensor2<f64>) {
    let rows = [3, 4, 4];
    let batched =
        std::array::from_fn(|input| leaf(numbers((count, rows[input], 2), 0.1 + input as f64)));
    (batched, leaf(numbers((3, 4), 0.7)))
}

/// The output, and the gradients of q, k, v and the mask.
type Results = (Array3<f64>, [Array3<f64>; 3], Array2<f64>);

/// A pass for each example, one after the other.
fn looped(count: usize, seeds: &Array3<f64>) -> Results {
    let (batched, mask) = inputs(count);
    let (mut outputs, mut gradients) = (Vec::new(), [const { Vec::new() }; 3]);
    for example in 0..count {
        let parts = batched.each_ref().map(|input| {
            let part = input.view().index_axis_move(Axis(0), example);
            leaf(part.to_owned())
        });
        let [q, k, v] = &parts;
        let (y, rows) = Attention::apply(q, k, v, Some(&mask), 0.7);
        assert_eq!(rows, 3);
        y.backward_with(seeds.index_axis(Axis(0), example).to_owned())
            .unwrap();
        outputs.push(y.to_array());
        for (gradients, part) in gradients.iter_mut().zip(&parts) {
            gradients.push(part.grad().unwrap());
        }
    }
    let stacked = |parts: &Vec<Array2<f64>>| {
        let views: Vec<_> = parts.iter().map(|part| part.view()).collect();
        pullback::ndarray::stack(Axis(0), &views).unwrap()
    };
    (
        stacked(&outputs),
        gradients.each_ref().map(stacked),
        mask.grad().unwrap(),
    )
}

fn batched(count: usize, seeds: &Array3<f64>) -> Results {
    let ([q, k, v], mask) = inputs(count);
    let (y, rows) = Attention::apply_batch(&q, &k, &v, Some(&mask), 0.7);
    assert_eq!(rows, vec![3; count]);
    y.backward_with(seeds.clone()).unwrap();
    let gradients = [&q, &k, &v].map(|input| input.grad().unwrap());
    (y.to_array(), gradients, mask.grad().unwrap())
}

#[test]
fn a_batch_has_the_bits_of_a_loop_on_any_number_of_threads() {
    for count in [1, 2, 7, 33] {
        let seeds = numbers((count, 3, 2), 0.9);
        let expected = looped(count, &seeds);
        for threads in [1, 2, 3, 4] {
            set_threads(threads);
            assert_eq!(
                batched(count, &seeds),
                expected,
                "{count} examples on {threads} threads"
            );
        }
    }
    set_threads(2);
}

#[test]
fn gradients_are_right() {
    let ([q, k, v], mask) = inputs(2);
    let function =
        |(q, k, v, mask): (&Tensor3<f64>, &Tensor3<f64>, &Tensor3<f64>, &Tensor2<f64>)| {
            Attention::apply_batch(q, k, v, Some(mask), 0.7).0
        };
    Gradcheck::new()
        .thorough()
        .run(function, (&q, &k, &v, &mask))
        .unwrap();
    let without = |(q, k, v): (&Tensor3<f64>, &Tensor3<f64>, &Tensor3<f64>)| {
        Attention::apply_batch(q, k, v, None, 0.7).0
    };
    Gradcheck::new()
        .thorough()
        .run(without, (&q, &k, &v))
        .unwrap();
}

#[test]
fn what_needs_no_gradient_is_constant() {
    let ([q, k, v], mask) = inputs(3);
    let none = no_grad(|| Attention::apply_batch(&q, &k, &v, Some(&mask), 0.7).0);
    assert!(!none.requires_grad());
    let (y, _) = Attention::apply_batch(&q.detach(), &k.detach(), &v.detach(), None, 0.7);
    assert!(!y.requires_grad());
    let (y, _) = Attention::apply_batch(&q.detach(), &k, &v.detach(), None, 0.7);
    y.sum().backward().unwrap();
    assert!(k.grad().is_some() && q.grad().is_none() && mask.grad().is_none());
}

#[test]
fn the_node_has_the_names_of_the_function() {
    let ([q, k, v], mask) = inputs(3);
    let (y, _) = Attention::apply_batch(&q, &k, &v, Some(&mask), 0.7);
    assert_eq!(y.grad_fn().unwrap().name(), "Attention");
    let check = Gradcheck::new().thorough();
    let forgetful = |(q, mask): (&Tensor3<f64>, &Tensor2<f64>)| {
        Attention::apply_batch(q, &k.detach(), &v.detach(), Some(&mask.detach()), 0.7).0
    };
    let error = check.run(forgetful, (&q, &mask)).unwrap_err();
    assert_eq!(error.mismatch().unwrap().input, 1, "{error}");
    let halved = |(q, w): (&Tensor3<f64>, &Tensor1<f64>)| Halving::apply_batch(q, w);
    let error = check
        .run(halved, (&q, &leaf(array![1.0, 2.0])))
        .unwrap_err();
    let mismatch = error.mismatch().unwrap();
    assert_eq!(
        (mismatch.function, mismatch.input_name.as_deref()),
        (Some("Halving"), Some("w"))
    );
}

/// x·w, with half the gradient of w.
struct Halving;

#[custom_function(batch(x))]
impl Halving {
    #[forward]
    fn forward(x: ArrayView2<f64>, w: ArrayView1<f64>) -> Array2<f64> {
        &x * &w
    }

    #[backward]
    fn backward(
        grad_output: ArrayView2<f64>,
        x: ArrayView2<f64>,
        w: ArrayView1<f64>,
    ) -> HalvingGradients {
        HalvingGradients {
            w: (&grad_output * &x).sum_axis(Axis(0)) * 0.5,
            x: &grad_output * &w,
        }
    }
}

/// w·x² of any type and rank, differentiable any number of times and in forward mode.
pub struct Square<T, D>(PhantomData<(T, D)>);

#[custom_function(batch(x), gradcheck(x = [2, 3], w = [2, 3], power = 2))]
impl<T: Element, D: Dimension> Square<T, D> {
    #[forward]
    pub fn forward(x: Array<T, D>, w: ArrayView<T, D>, power: usize) -> Array<T, D> {
        assert_eq!(power, 2);
        &x * &x * w
    }

    #[backward(x)]
    fn grad_x(grad_output: &Tensor<T, D>, x: &Tensor<T, D>, w: &Tensor<T, D>) -> Tensor<T, D> {
        grad_output * x * w * T::from_f64(2.0)
    }

    #[backward(w)]
    fn grad_w(grad_output: &Tensor<T, D>, x: &Tensor<T, D>) -> Tensor<T, D> {
        grad_output * x * x
    }

    #[jvp]
    fn jvp(
        x: &Tensor<T, D>,
        w: &Tensor<T, D>,
        tangent_x: &Tensor<T, D>,
        tangent_w: &Tensor<T, D>,
    ) -> Tensor<T, D> {
        x * tangent_x * w * T::from_f64(2.0) + x * x * tangent_w
    }
}

#[test]
fn higher_orders_and_forward_mode() {
    let (x, w) = (leaf(numbers((4, 2), 0.3)), leaf(numbers(2, 0.8)));
    // The ranks follow from the arguments.
    let check = Gradcheck::new().second_order().forward_mode().thorough();
    let square = |(x, w): (&Tensor2<f64>, &Tensor1<f64>)| Square::apply_batch(x.clone(), w, 2);
    check.run(square, (&x, &w)).unwrap();
    // Differences call it with constants.
    let third = |x: &Tensor2<f64>| {
        let x = if x.requires_grad() {
            x.clone()
        } else {
            leaf(x.to_array())
        };
        let record = |y: &Tensor0<f64>| Grad::of(y).create_graph(true).run(&x).unwrap();
        enable_grad(|| record(&record(&square((&x, &w)).sum()).powi(2).sum()))
    };
    Gradcheck::new().run(third, &x).unwrap();
    let dynamic = x.detach().into_dyn();
    let y: TensorD<f64> = Square::apply_batch(dynamic, &w.detach().into_dyn(), 2);
    assert_eq!(y.to_array(), square((&x, &w)).to_array().into_dyn());
    let single = Tensor::from(array![[1.0_f32], [3.0]]);
    let y = Square::apply_batch(single, &Tensor::from(array![0.5_f32]), 2);
    assert_eq!(y.to_array(), array![[0.5], [4.5]]);
}

#[test]
fn inside_of_other_modes() {
    let (x, w) = (leaf(numbers((3, 4, 2), 0.3)), leaf(numbers(2, 0.8)));
    let expected = &x * &x * &w;
    let shared = w.clone();
    let nested = move |x: &Tensor2<f64>| Square::apply_batch(x.clone(), &shared, 2);
    let mapped = vmap(&nested, Axis(0), &x).unwrap();
    assert_eq!(mapped.to_array(), expected.to_array());
    let recomputed = checkpoint(
        move |x: &Tensor3<f64>| vmap(&nested, Axis(0), x).unwrap(),
        &x,
    );
    let gradients = |y: &Tensor3<f64>| grad(&y.powi(2).sum(), (&x, &w)).unwrap();
    let all = [expected, mapped, recomputed].map(|y| {
        let (dx, dw) = gradients(&y);
        (dx.to_array(), dw.to_array())
    });
    for (dx, dw) in &all[1..] {
        assert!(
            (dx - &all[0].0)
                .iter()
                .chain((dw - &all[0].1).iter())
                .all(|off| off.abs() < 1e-12)
        );
    }
    let flat = x.detach().reshape((12, 2));
    let (_, along) = jvp(
        |x: &Tensor2<f64>| Square::apply_batch(x.clone(), &w, 2),
        &flat,
        &Tensor::from(Array2::ones((12, 2))),
    )
    .unwrap();
    assert_eq!(along.to_array(), (&flat * &w * 2.0).to_array());
}

/// The parts, each times `factor`, their sum, and what is no tensor.
#[custom_function(
    batch(parts, offsets),
    outputs(scaled, sum, names, total),
    non_differentiable(total),
    grad(parts) = grad_scaled.iter().map(|grad| grad * &factor + grad_sum).collect(),
    grad(offsets) = offsets.iter().map(|_| grad_sum.to_owned()).collect(),
    grad(factor) = {
        let products = grad_scaled.iter().zip(parts).map(|(grad, part)| grad * part);
        products.fold(Array1::zeros(factor.len()), |sum, product| sum + product)
    },
)]
#[allow(clippy::type_complexity, reason = "outputs of every form")]
fn scale_all(
    parts: &[ArrayView1<f64>],
    factor: ArrayView1<f64>,
    offsets: &[&Tensor1<f64>],
    name: &str,
    suffix: Option<&String>,
    numbers: Vec<usize>,
) -> (Vec<Array1<f64>>, Array1<f64>, String, Array0<f64>) {
    let scaled = parts.iter().map(|part| part * &factor).collect();
    let sum = parts
        .iter()
        .fold(Array1::zeros(factor.len()), |sum, part| sum + part);
    let sum = offsets.iter().fold(sum, |sum, offset| sum + offset.view());
    let name = format!(
        "{name}{}{}",
        suffix.map_or("", String::as_str),
        numbers.len()
    );
    let total = arr0(sum.sum());
    (scaled, sum, name, total)
}

#[test]
fn lists_and_values() {
    let parts = [leaf(numbers((3, 2), 0.1)), leaf(numbers((3, 2), 0.2))];
    let offset = leaf(numbers((3, 2), 0.3));
    let factor = leaf(array![2.0, 3.0]);
    let suffix = "s".to_owned();
    let (scaled, sum, names, total) = ScaleAll::apply_batch(
        &parts,
        &factor,
        &[&offset],
        "part",
        Some(&suffix),
        vec![1, 2],
    );
    assert_eq!(names, ["parts2", "parts2", "parts2"]);
    assert_eq!(scaled.len(), 2);
    assert_eq!(scaled[1].to_array(), (&parts[1] * &factor).to_array());
    assert_eq!(sum.to_array(), (&parts[0] + &parts[1] + &offset).to_array());
    assert_eq!((total.shape(), total.requires_grad()), (&[3][..], false));
    let function = |(parts, factor, offset): (&[Tensor2<f64>], &Tensor1<f64>, &Tensor2<f64>)| {
        let (scaled, sum, ..) =
            ScaleAll::apply_batch(parts, factor, &[offset], "", None, Vec::new());
        (scaled, sum)
    };
    Gradcheck::new()
        .thorough()
        .run(function, (&parts, &factor, &offset))
        .unwrap();
}

/// √x; negative numbers are an error, 7 panics, and the gradient of 4 has a wrong shape.
struct Root;

#[custom_function(batch(x))]
impl Root {
    #[forward]
    fn forward(x: ArrayView1<f64>, w: Option<ArrayView1<f64>>) -> Result<Array1<f64>, String> {
        assert!(x[0] != 7.0, "no root of 7");
        if x[0] < 0.0 {
            return Err(format!("the root of {}", x[0]));
        }
        let length = if x[0] == 100.0 { 1 } else { x.len() };
        let root = x.slice(pullback::ndarray::s![..length]).mapv(f64::sqrt);
        Ok(w.map_or_else(|| root.clone(), |w| &root * &w))
    }

    #[backward(x, w)]
    fn backward(
        grad_output: ArrayView1<f64>,
        x: ArrayView1<f64>,
        w: Option<ArrayView1<f64>>,
    ) -> Result<RootGradients, String> {
        assert!(x[0] != 9.0, "no gradient of 9");
        if x[0] == 16.0 {
            return Err("the gradient of 16".to_owned());
        }
        let length = if x[0] == 4.0 { 1 } else { x.len() };
        let of_x = &grad_output * &x.mapv(|x| 0.5 / x.sqrt());
        let of_x = w.map_or_else(|| of_x.clone(), |w| &of_x * &w);
        Ok(RootGradients {
            x: of_x.slice(pullback::ndarray::s![..length]).to_owned(),
            w: Some(&grad_output * &x.mapv(f64::sqrt)),
        })
    }
}

fn roots(numbers: &[f64]) -> Result<Tensor2<f64>, ExampleError<String>> {
    let numbers = Array2::from_shape_fn((numbers.len(), 2), |(row, _)| numbers[row]);
    Root::apply_batch(&leaf(numbers), None)
}

#[test]
fn the_first_error_has_its_example() {
    for threads in [1, 2, 4] {
        set_threads(threads);
        let error = roots(&[1.0, 4.0, -1.0, 9.0, -2.0]).unwrap_err();
        assert_eq!(
            error,
            ExampleError {
                example: 2,
                error: "the root of -1".to_owned()
            }
        );
        assert_eq!(error.to_string(), "example 2: the root of -1");
    }
    set_threads(2);
}

#[test]
fn a_panic_has_its_example_and_the_line_of_the_batch() {
    let line = line!() + 1;
    let (message, file, found) = panic_of(|| Root::apply_batch(&leaf(array![[1.0], [7.0]]), None));
    let start = format!(
        "example 1 of `Root`: forward of `Root`, applied at {}:{line}:",
        file!()
    );
    let end = " to `x` of shape [1], panicked: no root of 7";
    assert!(
        message.starts_with(&start) && message.ends_with(end),
        "{message}"
    );
    assert_eq!((&file[..], found), (file!(), line));
    // The author's line, and that of the call.
    let line = line!() + 1;
    let (_, places) = panics_of(|| Root::apply_batch(&leaf(array![[7.0]]), None));
    assert_eq!((places.len(), places[1].1), (2, line));
    let (_, places) = panics_of(|| Root::apply(&leaf(array![7.0]), None));
    assert_eq!((places.len(), places[1].1), (2, line + 2));
}

#[test]
fn a_pass_through_an_example_that_fails_has_its_number() {
    let run = |x: f64| {
        let x = leaf(array![[1.0, 1.0], [x, 1.0]]);
        let w = leaf(array![1.0, 1.0]);
        let (y, line) = (Root::apply_batch(&x, Some(&w)), line!());
        let result = y.unwrap().sum().backward();
        assert_eq!((x.grad(), w.grad()), (None, None));
        (result.unwrap_err(), line)
    };
    let (error, line) = run(4.0);
    let place = error.applied_at().map(Location::line);
    assert_eq!((error.function(), place), (Some("Root"), Some(line)));
    let text = error.to_string();
    let expected = "example 1 of `Root`: backward of `Root` gave a gradient of shape [1] for `x` of shape [2] (applied at ";
    assert!(
        text.starts_with(expected) && text.matches("applied at").count() == 1,
        "{text}"
    );
    assert!(matches!(
        error.kind(),
        ErrorKind::Example { example: 1, .. }
    ));
    let (error, _) = run(16.0);
    let source = std::error::Error::source(&error).expect("the error of backward");
    assert_eq!(source.to_string(), "the gradient of 16");
    assert!(
        error.to_string().starts_with("example 1 of `Root`: "),
        "{error}"
    );

    let y = roots(&[1.0, 9.0]).unwrap();
    let (message, file, _) = panic_of(|| y.sum().backward());
    let expected = "example 1 of `Root`: backward of `Root`, applied at ";
    assert!(
        message.starts_with(expected) && message.ends_with("panicked: no gradient of 9"),
        "{message}"
    );
    assert_eq!(file, file!());
}

#[test]
fn mistakes_in_shapes_are_panics_at_the_line_of_the_batch() {
    let ([q, k, _], _) = inputs(3);
    let ([_, _, v], mask) = inputs(2);
    let line = line!() + 1;
    let (message, file, found) = panic_of(|| Attention::apply_batch(&q, &k, &v, Some(&mask), 0.7));
    assert_eq!(
        message,
        "`apply_batch` of `Attention`: `v` of shape [2, 4, 2] has 2 examples, and `q` of shape [3, 3, 2] has 3"
    );
    assert_eq!((&file[..], found), (file!(), line));
    let message = panic_of(|| roots(&[1.0, 100.0])).0;
    assert_eq!(
        message,
        "`apply_batch` of `Root`: example 1 has `output` of shape [1], others of shape [2]"
    );
    let scalar = Tensor::from(ArrayD::<f64>::zeros(Vec::new()));
    let message = panic_of(|| Doubled::apply_batch(Some(&scalar))).0;
    let expected =
        "`apply_batch` of `doubled`: `x` has the shape [], without an axis for the examples";
    assert_eq!(message, expected);
    let message = panic_of(|| Doubled::apply_batch(None)).0;
    let expected = "`apply_batch` of `doubled`: no input that has examples is given";
    assert_eq!(message, expected);
}

#[custom_function(batch(x), grad(x) = &grad_output * 2.0)]
fn doubled(x: Option<ArrayViewD<f64>>) -> ArrayD<f64> {
    x.map_or_else(|| ArrayD::zeros(vec![1]), |x| &x * 2.0)
}

#[test]
fn optional_inputs_have_examples() {
    let x = leaf(array![[1.0, 2.0], [3.0, 4.0]]).into_dyn();
    let y = Doubled::apply_batch(Some(&x));
    assert_eq!(y.to_array(), array![[2.0, 4.0], [6.0, 8.0]].into_dyn());
}

#[test]
fn an_empty_batch_has_gradients_of_zeros() {
    let ([q, k, v], mask) = inputs(0);
    let (y, rows) = Attention::apply_batch(&q, &k, &v, Some(&mask), 0.7);
    assert_eq!((y.shape(), rows.len()), (&[0, 3, 2][..], 0));
    y.sum().backward().unwrap();
    assert_eq!(q.grad(), Some(Array3::zeros((0, 3, 2))));
    assert_eq!(mask.grad(), Some(Array2::zeros((3, 4))));
    assert_eq!(y.grad_fn().unwrap().name(), "Attention");

    let (x, w) = (leaf(Array2::zeros((0, 2))), leaf(array![1.0, 2.0]));
    let y = Square::apply_batch(x.clone(), &w, 2);
    let first = Grad::of(&y.sum()).create_graph(true).run((&x, &w)).unwrap();
    let second = grad(&(first.0.sum() + first.1.powi(2).sum()), (&x, &w)).unwrap();
    assert_eq!(second.1.to_array(), array![0.0, 0.0]);
    assert_eq!(second.0.shape(), [0, 2]);
    let constant = no_grad(|| Square::apply_batch(x.clone(), &w, 2));
    assert!(!constant.requires_grad());
    assert_eq!(roots(&[]).unwrap().shape(), [0, 2]);
}

/// 1/x, which zeros are not allowed for.
#[custom_function(batch(x), grad(x) = -&grad_output * output * output)]
fn reciprocal(x: ArrayView1<f64>) -> Result<Array1<f64>, String> {
    if x.iter().any(|x| *x == 0.0) {
        return Err("a zero".to_owned());
    }
    Ok(x.mapv(f64::recip))
}

#[test]
fn an_empty_batch_needs_a_function_of_zeros() {
    let empty = Tensor::from(Array2::<f64>::zeros((0, 2)));
    let message = panic_of(|| Reciprocal::apply_batch(&empty)).0;
    let expected = "an example of zeros, which shows the shapes of the outputs of `reciprocal` for a batch without \
                    examples: forward returned an error";
    assert_eq!(message, expected);
}

#[test]
fn what_is_once_differentiable_is_so_in_a_batch() {
    let ([q, k, v], mask) = inputs(2);
    let (y, _) = Attention::apply_batch(&q, &k, &v, Some(&mask), 0.7);
    let first = Grad::of(&y.sum()).create_graph(true).run(&q).unwrap();
    let error = grad(&first.powi(2).sum(), &q).unwrap_err();
    assert!(error.to_string().contains("`Attention`"), "{error}");
    let ErrorKind::Example { error, .. } = error.kind() else {
        panic!("{error}");
    };
    assert_eq!(error.kind(), &ErrorKind::OnceDifferentiable);
}
