//! Lists of tensors: `&[ArrayView…]`.

use std::cell::Cell;
use std::marker::PhantomData;

use pullback::ErrorKind;
use pullback::functional::Functional;
use pullback::ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, array, concatenate, stack};
use pullback::prelude::*;

use crate::functions::leaf;

/// One vector after the other.
struct Concat;

#[custom_function(name = "concat")]
impl Concat {
    #[forward]
    fn forward(parts: &[ArrayView1<f64>]) -> Array1<f64> {
        concatenate(Axis(0), parts).unwrap_or_else(|_| Array1::zeros(0))
    }

    #[backward(parts)]
    fn backward(grad_output: ArrayView1<f64>, parts: &[ArrayView1<f64>]) -> Vec<Array1<f64>> {
        let mut rest = grad_output;
        let mut gradients = Vec::new();
        for part in parts {
            let (gradient, after) = rest.split_at(Axis(0), part.len());
            gradients.push(gradient.to_owned());
            rest = after;
        }
        gradients
    }

    #[jvp]
    fn jvp(tangent_parts: &[ArrayView1<f64>]) -> Array1<f64> {
        Self::forward(tangent_parts)
    }
}

#[test]
fn the_tensors_of_a_list_have_gradients() {
    let (x, y, z) = (leaf([1.0, 2.0]), Tensor::from(array![3.0]), leaf([4.0]));
    let joined = Concat::apply(&[&x, &y, &z]);
    assert_eq!(joined.to_array(), array![1.0, 2.0, 3.0, 4.0]);
    // A tensor that needs no gradient has no edge.
    let edges = joined.grad_fn().unwrap().next_functions();
    let edges: Vec<bool> = edges.iter().map(Option::is_some).collect();
    assert_eq!(edges, [true, false, true]);
    joined
        .backward_with(array![1.0, 10.0, 100.0, 1000.0])
        .unwrap();
    assert_eq!(x.grad(), Some(array![1.0, 10.0]));
    assert_eq!((y.grad(), z.grad()), (None, Some(array![1000.0])));
    Gradcheck::new()
        .forward_mode()
        .run(|(x, y, z)| Concat::apply(&[x, y, z, x]), (&x, &y, &z))
        .unwrap();
    assert!(Concat::SIGNATURE.inputs[0].list);
}

#[test]
fn a_list_may_be_empty_or_need_nothing() {
    let none: [Tensor1<f64>; 0] = [];
    let none = Concat::apply(&none);
    assert!(none.is_empty() && !none.requires_grad());
    let x = leaf([1.0]);
    assert!(!no_grad(|| Concat::apply(&[&x, &x])).requires_grad());
    assert!(!Concat::apply(&[&x.detach()]).requires_grad());
    // The same tensor twice counts twice.
    Concat::apply(&[&x, &x]).sum().backward().unwrap();
    assert_eq!(x.grad(), Some(array![2.0]));
}

/// Several lists beside a single input and a value, on tensors: differentiable any number of times.
pub struct Mix<T>(PhantomData<T>);

#[custom_function]
impl<T: Element> Mix<T> {
    /// Σ factor · uᵢ · w + Σ vⱼ²
    #[forward]
    fn forward<'a>(
        us: &'a [ArrayView1<'a, T>],
        w: ArrayView1<T>,
        factor: T,
        vs: &[ArrayView1<T>],
        #[non_differentiable] offsets: &[ArrayView1<T>],
    ) -> Array1<T> {
        let mut sum = Array1::zeros(w.len());
        for u in us {
            sum = sum + u * &w * factor;
        }
        for v in vs.iter().chain(offsets).skip(vs.len()) {
            sum += v;
        }
        vs.iter().fold(sum, |sum, v| sum + v * v)
    }

    #[backward(us, w)]
    fn grad_us(
        grad_output: &Tensor1<T>,
        us: &[&Tensor1<T>],
        w: &Tensor1<T>,
        factor: T,
        needs_input_grad: MixNeedsInputGrad,
    ) -> (Vec<Tensor1<T>>, Option<Tensor1<T>>) {
        let each = grad_output * w * factor;
        let needs_w = needs_input_grad.w && !us.is_empty();
        let zero = grad_output * T::zero();
        let sum = us.iter().fold(zero, |sum, u| sum + *u);
        (
            vec![each; us.len()],
            needs_w.then(|| grad_output * sum * factor),
        )
    }

    #[backward(vs)]
    fn grad_vs(grad_output: &Tensor1<T>, vs: &[&Tensor1<T>]) -> Vec<Option<Tensor1<T>>> {
        let two = T::from_f64(2.0);
        vs.iter().map(|v| Some(grad_output * *v * two)).collect()
    }

    #[jvp]
    fn jvp(
        us: &[&Tensor1<T>],
        w: &Tensor1<T>,
        factor: T,
        vs: &[&Tensor1<T>],
        tangent_us: &[Option<&Tensor1<T>>],
        tangent_w: &Tensor1<T>,
        tangent_vs: &[&Tensor1<T>],
        output: &Tensor1<T>,
    ) -> Tensor1<T> {
        let mut sum = output * T::zero();
        for (u, tangent) in us.iter().zip(tangent_us) {
            sum = sum + *u * tangent_w * factor;
            if let Some(tangent) = tangent {
                sum = sum + *tangent * w * factor;
            }
        }
        let two = T::from_f64(2.0);
        let pairs = vs.iter().zip(tangent_vs);
        pairs.fold(sum, |sum, (v, tangent)| sum + *v * *tangent * two)
    }
}

#[test]
fn lists_stand_beside_other_inputs_and_are_differentiable_again() {
    let (a, b, c) = (leaf([0.5, -1.0]), leaf([2.0, 0.1]), leaf([1.5, 1.0]));
    let check = Gradcheck::new().second_order().forward_mode();
    for used in 0..4 {
        let mix = |us: &[&Tensor1<f64>], w: &Tensor1<f64>, vs: &[&Tensor1<f64>]| {
            let (us, vs) = (&us[..used.min(us.len())], &vs[used.min(1)..]);
            Mix::apply(us, w, 3.0, vs, &[&Tensor::from(array![1.0, 1.0])])
        };
        check
            .run(|(a, b, c)| mix(&[a, b], c, &[b, a]), (&a, &b, &c))
            .unwrap();
    }
    let y = Mix::apply(&[&a], &b, 1.0, &[&c], &[&c, &c]);
    assert_eq!(y.grad_fn().unwrap().next_functions().len(), 3);
    let (dc,) = grad(&y.sum(), (&c,)).unwrap();
    assert_eq!(dc.to_array(), array![3.0, 2.0]);
}

/// Stacks rows; its backward returns `count` gradients of length `length`.
struct Stack;

thread_local! {
    static NEEDS: Cell<Option<StackNeedsInputGrad>> = const { Cell::new(None) };
}

#[custom_function]
impl Stack {
    #[forward]
    fn forward(
        rows: &[ArrayView1<f64>],
        shift: ArrayView1<f64>,
        count: usize,
        length: usize,
    ) -> Array2<f64> {
        let _ = (count, length);
        stack(Axis(0), rows).expect("rows of one length") + shift
    }

    #[backward]
    fn backward(
        grad_output: ArrayView2<f64>,
        count: usize,
        length: usize,
        needs_input_grad: &StackNeedsInputGrad,
    ) -> (Vec<Array1<f64>>, Array1<f64>) {
        NEEDS.set(Some(*needs_input_grad));
        (
            vec![Array1::ones(length); count],
            grad_output.sum_axis(Axis(0)),
        )
    }
}

#[test]
fn a_list_of_another_length_is_an_error() {
    let (x, y, shift) = (leaf([1.0, 2.0]), leaf([3.0, 4.0]), leaf([0.0, 0.0]));
    let stack = |count, length| Stack::apply(&[&x, &y], &shift, count, length).sum();
    let line = line!() - 1;
    let apply = |count, length| stack(count, length).backward();
    for (count, told) in [(0, "0 gradients"), (1, "1 gradient"), (3, "3 gradients")] {
        let error = apply(count, 2).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::ListLength { expected: 2, found, .. } if *found == count)
        );
        let expected = format!(
            "backward of `Stack` gave {told} for the 2 tensors of `rows` (applied at \
             tests/it/lists.rs:{line}:"
        );
        assert!(error.to_string().starts_with(&expected), "{error}");
    }
    let error = apply(2, 3).unwrap_err().to_string();
    let expected = "backward of `Stack` gave a gradient of shape [3] for `rows[0]` of shape [2]";
    assert!(error.starts_with(expected), "{error}");
    assert_eq!((x.grad(), shift.grad()), (None, None));
    apply(2, 2).unwrap();
    assert_eq!(
        (x.grad(), shift.grad()),
        (Some(array![1.0, 1.0]), Some(array![2.0, 2.0]))
    );
}

#[test]
fn needs_input_grad_of_a_list_is_that_of_any_of_its_tensors() {
    let (x, y, shift) = (leaf([1.0]), leaf([2.0]), leaf([3.0]));
    let constant = Tensor::from(array![0.0]);
    let needed = |output: Tensor2<f64>, input: &Tensor1<f64>| {
        grad(&output.sum(), (input,)).unwrap();
        let needs = NEEDS.take().unwrap();
        (needs.rows, needs.shift)
    };
    let apply = || Stack::apply(&[&x, &constant, &y], &shift, 3, 1);
    assert_eq!(needed(apply(), &y), (true, false));
    assert_eq!(needed(apply(), &shift), (false, true));
    let frozen = Stack::apply(&[&constant, &constant], &shift, 2, 1);
    assert_eq!(needed(frozen, &shift), (false, true));
}

#[test]
fn a_list_without_a_rule_has_no_forward_mode() {
    let x = Tensor::from(array![1.0]);
    let error = Functional::new()
        .forward_mode(true)
        .jvp(|(x,)| Stack::apply(&[x, x], x, 2, 1), (&x,), (&x,))
        .unwrap_err();
    assert!((error.kind(), error.function()) == (&ErrorKind::NoForwardRule, Some("Stack")));
}
