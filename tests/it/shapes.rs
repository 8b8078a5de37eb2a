//! Declared shapes: axes by name, checked where a function is applied and where it returns.

use pullback::ndarray::{
    Array, Array1, Array2, ArrayD, ArrayView, ArrayView1, ArrayView2, ArrayViewD, ArrayViewMut1,
    Axis, Dimension, RemoveAxis, array, s,
};
use pullback::prelude::*;
use pullback::{ErrorKind, Function};

use crate::functions::panic_of;

/// y = x Wᵀ + b
#[derive(Debug)]
struct Linear;

#[custom_function(
    shapes(x = [n, i], weight = [o, i], bias = [o], output = [n, o]),
    gradcheck(n = 3, i = 4, o = 2)
)]
impl Linear {
    #[forward]
    fn forward(
        x: ArrayView2<f64>,
        weight: ArrayView2<f64>,
        bias: Option<ArrayView1<f64>>,
    ) -> Array2<f64> {
        let y = x.dot(&weight.t());
        match bias {
            Some(bias) => y + bias,
            None => y,
        }
    }
    #[backward(x)]
    fn grad_x(grad_output: ArrayView2<f64>, weight: ArrayView2<f64>) -> Array2<f64> {
        grad_output.dot(&weight)
    }
    #[backward(weight)]
    fn grad_weight(grad_output: ArrayView2<f64>, x: ArrayView2<f64>) -> Array2<f64> {
        grad_output.t().dot(&x)
    }
    #[backward(bias)]
    fn grad_bias(grad_output: ArrayView2<f64>) -> Array1<f64> {
        grad_output.sum_axis(Axis(0))
    }
}

struct Windows;

/// The sums of windows of `k` elements, every `stride`.
#[custom_function(
    shapes(x = [l], output = [(l - k) / stride + 1]),
    gradcheck(k = 3, stride = 2),
    gradcheck(l = 7, k = 2, stride = 1)
)]
impl Windows {
    #[forward]
    fn forward(x: ArrayView1<f64>, k: usize, stride: usize) -> Array1<f64> {
        let windows = x.windows(k).into_iter().step_by(stride);
        windows.map(|window| window.sum()).collect()
    }
    #[backward(x)]
    fn backward(grad_output: ArrayView1<f64>, l: usize, k: usize, stride: usize) -> Array1<f64> {
        let mut grad = Array1::zeros(l);
        for (place, grad_output) in grad_output.iter().enumerate() {
            let mut window = grad.slice_mut(s![place * stride..place * stride + k]);
            window += *grad_output;
        }
        grad
    }
    #[jvp]
    fn jvp(tangent_x: ArrayView1<f64>, k: usize, stride: usize, l: usize) -> Array1<f64> {
        assert_eq!(l, tangent_x.len());
        Self::forward(tangent_x, k, stride)
    }
}

struct Centered<T, D>(std::marker::PhantomData<(T, D)>);

/// The last axis without its mean, of any rank.
#[custom_function(
    shapes(x = [.., l], output = x, mean = [.., 1]),
    gradcheck(x = [2, 3, 4])
)]
impl<T: Element, D: RemoveAxis> Centered<T, D> {
    #[forward(outputs(output), saves(mean))]
    fn forward(x: ArrayView<T, D>) -> (Array<T, D>, Array<T, D>) {
        let last = Axis(x.ndim() - 1);
        let mut mean = x.to_owned();
        mean.slice_axis_inplace(last, (0..1).into());
        let sum = x.sum_axis(last).insert_axis(last);
        let sum = sum.into_dimensionality::<D>().expect("the rank of `x`");
        mean.assign(&(sum / T::from(x.len_of(last)).expect("a length")));
        (&x - &mean, mean)
    }
    #[backward(x)]
    fn backward(grad_output: ArrayView<T, D>, mean: ArrayView<T, D>, l: usize) -> Array<T, D> {
        let last = Axis(grad_output.ndim() - 1);
        assert_eq!(mean.len_of(last), 1);
        let sum = grad_output.sum_axis(last).insert_axis(last);
        let sum = sum.into_dimensionality::<D>().expect("the rank of `x`");
        &grad_output - &(sum / T::from(l).expect("a length"))
    }
}

struct Mixed;

/// Lists, groups, a tensor that is written to, and several outputs.
#[custom_function(
    shapes(x = [g], parts = [[2 * g, 3]], scale = [2 * g], norm = [], stacked = [[2 * g, 3]]),
    gradcheck(g = 2)
)]
impl Mixed {
    #[forward(outputs(norm, stacked))]
    fn forward(
        mut x: ArrayViewMut1<f64>,
        parts: &[ArrayView2<f64>],
        scale: Array1<f64>,
    ) -> (pullback::ndarray::Array0<f64>, Vec<Array2<f64>>) {
        x *= 2.0;
        let norm = pullback::ndarray::arr0(scale.dot(&scale));
        let scale = scale.insert_axis(Axis(1));
        (norm, parts.iter().map(|part| part * &scale).collect())
    }
    #[backward]
    fn backward(
        grad_x: ArrayView1<f64>,
        grad_norm: pullback::ndarray::ArrayView0<f64>,
        grad_stacked: &[ArrayView2<f64>],
        parts: &[ArrayView2<f64>],
        scale: ArrayView1<f64>,
        g: usize,
    ) -> (Array1<f64>, Vec<Array2<f64>>, Array1<f64>) {
        assert_eq!(2 * g, scale.len());
        let column = scale.insert_axis(Axis(1));
        let of_parts = grad_stacked.iter().map(|grad| grad * &column).collect();
        let mut of_scale = &scale * (2.0 * grad_norm[()]);
        for (grad, part) in grad_stacked.iter().zip(parts) {
            of_scale += &(grad * part).sum_axis(Axis(1));
        }
        (&grad_x * 2.0, of_parts, of_scale)
    }
}

/// Returns the message of a panic, which is at the line of the call.
fn refusal(call: impl FnOnce()) -> String {
    let (message, file, _) = panic_of(call);
    assert_eq!(file, file!());
    message
}

fn ones<D: Dimension>(shape: impl pullback::ndarray::ShapeBuilder<Dim = D>) -> Tensor<f64, D> {
    Tensor::from(Array::ones(shape)).set_requires_grad(true)
}

#[test]
fn axes_are_one_length_in_all_tensors() {
    let (x, weight) = (ones((3, 4)), ones((2, 4)));
    assert_eq!(Linear::apply(&x, &weight, Some(&ones(2))).shape(), [3, 2]);
    assert_eq!(
        refusal(|| drop(Linear::apply(&x, &ones((2, 5)), None))),
        "`Linear` of `x` of shape [3, 4] and `weight` of shape [2, 5]: axis `i` is 4 in `x` and 5 in `weight`"
    );
    let error = Linear::output_shape([3, 4], [2, 4], Some([3])).unwrap_err();
    assert!(
        matches!(
            error.kind(),
            ErrorKind::AxisLength {
                axis: "o",
                lengths: [2, 3],
                ..
            }
        ),
        "{error}"
    );
    assert!(
        error
            .applied_at()
            .expect("a line")
            .file()
            .ends_with("shapes.rs")
    );
    assert_eq!(Linear::output_shape([3, 4], [2, 4], None).unwrap(), [3, 2]);
}

#[test]
fn lengths_of_outputs_are_computed_and_nothing_overflows() {
    assert_eq!(Windows::output_shape([7], 3, 2).unwrap(), [3]);
    assert_eq!(Windows::output_shape([2], 3, 2).unwrap(), [0]);
    let refused = |l, k, stride| Windows::output_shape([l], k, stride).unwrap_err().message();
    assert_eq!(
        refused(1, 4, 2),
        "`Windows`: axis 0 of `output` is `(l - k) / stride + 1` = -1, with `l` = 1, `k` = 4, `stride` = 2"
    );
    assert_eq!(
        refused(7, 3, 0),
        "`Windows`: axis 0 of `output` is `(l - k) / stride + 1`, which is not a number, with `l` = 7, `k` = 3, \
         `stride` = 0"
    );
    assert!(refused(7, usize::MAX, 1).contains("= -"));
    let x = ones(1);
    assert!(
        refusal(|| drop(Windows::apply(&x, 4, 2))).starts_with("`Windows`: axis 0 of `output`")
    );
}

#[test]
fn axes_are_there_in_both_modes() {
    let x = Tensor::from(Array1::linspace(0.0, 1.0, 7));
    let (_, along) = jvp(|x| Windows::apply(x, 3, 2), &x, &ones(7).detach()).unwrap();
    assert_eq!(along.to_array(), array![3.0, 3.0, 3.0]);
}

#[test]
fn leading_axes_are_of_any_number() {
    let x = ones((2, 3, 4));
    assert_eq!(Centered::apply(&x).shape(), [2, 3, 4]);
    assert_eq!(
        Centered::<f64, pullback::ndarray::Ix3>::output_shape(&[2, 3, 4]).unwrap(),
        [2, 3, 4]
    );
    let scalar = ones(()).into_dyn();
    assert_eq!(
        refusal(|| drop(Centered::apply(&scalar))),
        "`Centered` of `x` of shape [], which is not of the declared form `[.., l]`"
    );
}

#[test]
fn lists_and_written_tensors_have_axes_too() {
    let (mut x, parts, scale) = (ones(2) * 1.0, [ones((4, 3)), ones((4, 3))], ones(4));
    let (norm, stacked) = Mixed::apply(&mut x, &parts, scale.clone());
    assert_eq!((norm.shape(), stacked[1].shape()), (&[][..], &[4, 3][..]));
    let shapes = Mixed::output_shape([2], &[[4, 3], [4, 3]], [4]);
    assert!(shapes.is_ok());
    assert_eq!(
        Mixed::output_shape([2], &[[4, 3], [5, 3]], [4])
            .unwrap_err()
            .message(),
        "`Mixed` of `parts[1]` of shape [5, 3]: the length declared as `2 * g` is 4 here"
    );
}

/// A forward that is wrong.
struct Wrong;

#[custom_function(shapes(x = [n], output = [n - 1]))]
impl Wrong {
    #[forward]
    fn forward(x: ArrayView1<f64>) -> Array1<f64> {
        x.to_owned()
    }
    #[backward(x)]
    fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> {
        grad_output.to_owned()
    }
}

#[test]
fn what_forward_returns_is_checked() {
    assert_eq!(
        refusal(|| drop(Wrong::apply(&ones(3)))),
        "forward of `Wrong` returned `output` of shape [3], but its declared shape, `[n - 1]`, is [2] here"
    );
}

#[custom_function(
    shapes(x = [n, n], output = [n]),
    grad(x) = {
        let mut grad = Array2::zeros((n, n));
        grad.diag_mut().assign(&grad_output);
        grad
    },
    batch(x),
    gradcheck(n = 3)
)]
fn diagonal(x: ArrayView2<f64>) -> Array1<f64> {
    x.diag().to_owned()
}

#[test]
fn the_short_form_has_axes_in_its_expressions() {
    assert_eq!(Diagonal::output_shape([3, 3]).unwrap(), [3]);
    assert_eq!(
        refusal(|| drop(diagonal(&ones((3, 4))))),
        "`diagonal` of `x` of shape [3, 4]: axis `n` is 3 and 4"
    );
    assert_eq!(Diagonal::apply_batch(&ones((5, 3, 3))).shape(), [5, 3]);
    assert!(
        refusal(|| drop(Diagonal::apply_batch(&ones((5, 3, 4))))).contains("axis `n` is 3 and 4")
    );
}

/// Of any rank at run time.
struct Flat;

#[custom_function(shapes(x = [.., n], output = [.., 2 * n]), gradcheck(x = [2, 3]))]
impl Flat {
    #[forward]
    fn forward(x: ArrayViewD<f64>) -> ArrayD<f64> {
        pullback::ndarray::concatenate![Axis(x.ndim() - 1), x, x]
    }
    #[backward(x)]
    fn backward(grad_output: ArrayViewD<f64>, n: usize) -> ArrayD<f64> {
        let last = Axis(grad_output.ndim() - 1);
        let (first, second) = grad_output.split_at(last, n);
        &first + &second
    }
}

#[test]
fn shapes_are_in_the_signature() {
    let [x, weight, bias] = Linear::SIGNATURE.inputs else {
        panic!("three inputs");
    };
    assert_eq!(
        [
            x.shape,
            weight.shape,
            bias.shape,
            Linear::SIGNATURE.outputs[0].shape
        ],
        ["[n, i]", "[o, i]", "[o]", "[n, o]"].map(Some)
    );
    assert_eq!(
        Windows::SIGNATURE.outputs[0].shape,
        Some("[(l - k) / stride + 1]")
    );
    assert_eq!(Flat::output_shape(&[2, 3]).unwrap(), [2, 6]);
    assert_eq!(Flat::apply(&ones((2, 3)).into_dyn()).shape(), [2, 6]);
}

/// Tables of random shapes, held against lengths that fit and lengths that do not.
mod random {
    use proptest::prelude::*;
    use pullback::__private::{Dims, InputShapes, ShapeTable};
    use pullback::ErrorKind;

    const NAMES: [&str; 4] = ["n", "m", "k", "l"];
    const INPUTS: [&str; 4] = ["a", "b", "c", "d"];

    /// A declared input: whether it has leading axes, its lengths (an axis, a number or any), and its number of tensors.
    type Declared = (bool, Vec<Declaration>, usize);

    #[derive(Clone, Debug)]
    enum Declaration {
        Axis(usize),
        Number(usize),
        Any,
    }

    fn declaration() -> impl Strategy<Value = Declaration> {
        prop_oneof![
            4 => (0..NAMES.len()).prop_map(Declaration::Axis),
            1 => (1..5_usize).prop_map(Declaration::Number),
            1 => Just(Declaration::Any),
        ]
    }

    fn inputs() -> impl Strategy<Value = Vec<Declared>> {
        let input = (
            any::<bool>(),
            prop::collection::vec(declaration(), 0..4),
            0..3_usize,
        );
        prop::collection::vec(input, 1..=INPUTS.len())
    }

    fn table(inputs: &[Declared]) -> ShapeTable {
        let mut text = format!("f\n{}\n\n", NAMES.join(" "));
        let mut codes = Vec::new();
        for ((leading, lengths, _), input) in inputs.iter().zip(INPUTS) {
            text.extend([input, " […]\n"]);
            let lengths = lengths.iter().map(|length| match length {
                Declaration::Axis(axis) => *axis,
                Declaration::Number(number) => 128 + number,
                Declaration::Any => 255,
            });
            let byte = |code: usize| u8::try_from(code).unwrap();
            codes.extend([u8::from(*leading), byte(lengths.len())]);
            codes.extend(lengths.map(byte));
        }
        ShapeTable {
            text: (text + "output [n, m, k, l]").leak(),
            inputs: codes.leak(),
            outputs: &[0, 4, 0, 1, 2, 3],
            numbers: &[0, 1, 2, 3, 4],
        }
    }

    /// Returns the shapes of all tensors, with these lengths of axes and leading axes.
    fn shapes(inputs: &[Declared], axes: [usize; 4], leading: &[usize]) -> Vec<Vec<Vec<usize>>> {
        let of = |(has_leading, lengths, count): &Declared| {
            let mut shape = if *has_leading {
                leading.to_vec()
            } else {
                Vec::new()
            };
            shape.extend(
                lengths
                    .iter()
                    .enumerate()
                    .map(|(place, length)| match length {
                        Declaration::Axis(axis) => axes[*axis],
                        Declaration::Number(number) => *number,
                        Declaration::Any => 7 + place,
                    }),
            );
            vec![shape; *count]
        };
        inputs.iter().map(of).collect()
    }

    /// The shapes of the tensors of each input.
    struct Found<'a>(&'a [Vec<Vec<usize>>]);

    impl InputShapes for Found<'_> {
        fn push_dims<'a>(&'a self, dims: &mut Vec<Dims<'a>>) {
            dims.extend(self.0.iter().map(|tensors| match tensors.as_slice() {
                [] => Dims::Missing,
                [shape] => Dims::One(shape),
                several => Dims::List(several.iter().map(Vec::as_slice).collect()),
            }));
        }
    }

    fn read(
        inputs: &[Declared],
        shapes: &[Vec<Vec<usize>>],
    ) -> Result<[usize; 4], pullback::Error> {
        table(inputs).output_axes(Found(shapes), &[0])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn right_shapes_are_accepted_and_wrong_ones_refused_by_name(
            inputs in inputs(),
            axes in [1..5_usize, 1..5, 1..5, 1..5],
            leading in prop::collection::vec(1..4_usize, 0..3),
            wrong in any::<prop::sample::Index>(),
            by in 1..4_usize,
        ) {
            let right = shapes(&inputs, axes, &leading);
            let found = read(&inputs, &right).expect("shapes that fit");
            for (axis, &length) in found.iter().enumerate() {
                let is_there = inputs.iter().any(|(_, lengths, count)| {
                    *count > 0 && lengths.iter().any(|one| matches!(one, Declaration::Axis(of) if *of == axis))
                });
                prop_assert_eq!(length, if is_there { axes[axis] } else { usize::MAX });
            }
            // Another length at one place that is declared.
            let places: Vec<(usize, usize, usize)> = inputs
                .iter()
                .enumerate()
                .flat_map(|(input, (_, lengths, count))| {
                    (0..*count).flat_map(move |tensor| {
                        (0..lengths.len()).map(move |place| (input, tensor, place))
                    })
                })
                .collect();
            if places.is_empty() {
                return Ok(());
            }
            let (input, tensor, place) = *wrong.get(&places);
            let mut changed = right.clone();
            let shape = &mut changed[input][tensor];
            let at = shape.len() - inputs[input].1.len() + place;
            shape[at] += by;
            let refused = read(&inputs, &changed);
            match &inputs[input].1[place] {
                Declaration::Any => prop_assert!(refused.is_ok()),
                Declaration::Number(_) => {
                    let error = refused.expect_err("another number");
                    let is_named = matches!(error.kind(), ErrorKind::DeclaredShape { input: name, .. }
                        if name.starts_with(INPUTS[input]));
                    prop_assert!(is_named, "{}", error);
                }
                Declaration::Axis(axis) => {
                    let uses = inputs.iter().flat_map(|(_, lengths, count)| {
                        lengths.iter().filter(|one| matches!(one, Declaration::Axis(of) if of == axis)).map(|_| *count)
                    });
                    if uses.sum::<usize>() < 2 {
                        // Its only place: the axis has another length then.
                        prop_assert_eq!(refused.expect("a length of its own")[*axis], axes[*axis] + by);
                    } else {
                        let error = refused.expect_err("two lengths of one axis");
                        let is_named = matches!(error.kind(), ErrorKind::AxisLength { axis: name, lengths, .. }
                            if *name == NAMES[*axis] && lengths[0].abs_diff(lengths[1]) == by);
                        prop_assert!(is_named, "{}", error);
                    }
                }
            }
        }
    }
}

/// `output_shape` is what forward returns, for random lengths and values.
#[test]
fn computed_shapes_are_those_that_forward_returns() {
    for l in 0..9_usize {
        for k in 1..5_usize {
            for stride in 1..4_usize {
                let computed = Windows::output_shape([l], k, stride);
                if k <= l {
                    let x = Tensor::from(Array1::<f64>::ones(l));
                    assert_eq!(computed.unwrap(), Windows::apply(&x, k, stride).shape());
                }
            }
        }
    }
}
