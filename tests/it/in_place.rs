//! Forward writes to its inputs.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pullback::ErrorKind;
use pullback::functional::Functional;
use pullback::ndarray::{Array1, ArrayView1, ArrayViewMut, ArrayViewMut1, Dimension, array};
use pullback::prelude::*;

use crate::functions::leaf;

/// x ← x + y: saves nothing, for its gradients need nothing.
struct AddAssign;

#[custom_function(name = "add_assign")]
impl AddAssign {
    #[forward]
    fn forward(mut x: ArrayViewMut1<f64>, y: ArrayView1<f64>) {
        x += &y;
    }

    #[backward]
    fn backward(grad_output: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>) {
        (grad_output.to_owned(), grad_output.to_owned())
    }

    #[jvp]
    fn jvp(tangent_x: ArrayView1<f64>, tangent_y: ArrayView1<f64>) -> Array1<f64> {
        &tangent_x + &tangent_y
    }
}

/// x ← x³, of any rank, differentiable any number of times: asks for the value before and after.
pub struct Cube<D>(std::marker::PhantomData<D>);

#[custom_function]
impl<D: Dimension> Cube<D> {
    #[forward]
    fn forward(mut x: ArrayViewMut<f64, D>) {
        x.mapv_inplace(|x| x * x * x);
    }

    // 3x², which is 3 · output / x
    #[backward(x)]
    fn backward(
        grad_output: &Tensor<f64, D>,
        x: &Tensor<f64, D>,
        output: &Tensor<f64, D>,
    ) -> Tensor<f64, D> {
        grad_output * output / x * 3.0
    }

    #[jvp]
    fn jvp(
        tangent_x: &Tensor<f64, D>,
        x: &Tensor<f64, D>,
        output: &Tensor<f64, D>,
    ) -> Tensor<f64, D> {
        tangent_x * output / x * 3.0
    }
}

fn cubed(x: &Tensor1<f64>) -> Tensor1<f64> {
    let mut y = x * 1.0;
    Cube::apply(&mut y);
    y
}

#[test]
fn a_function_may_write_to_its_input() {
    let (x, y) = (leaf([1.0, 2.0]), leaf([10.0, 20.0]));
    let mut sum = &x * 1.0;
    AddAssign::apply(&mut sum, &y);
    assert_eq!(sum.to_array(), array![11.0, 22.0]);
    let node = sum.grad_fn().unwrap();
    assert_eq!(
        format!("{node:?} {:?}", node.next_functions()),
        "add_assign [Some(MulScalar), Some(AccumulateGrad)]"
    );
    sum.backward_with(array![1.0, 3.0]).unwrap();
    assert_eq!(
        (x.grad(), y.grad()),
        (Some(array![1.0, 3.0]), Some(array![1.0, 3.0]))
    );
    let check = Gradcheck::new().forward_mode();
    let add = |(x, y): (&Tensor1<f64>, &Tensor1<f64>)| {
        let mut sum = x * 1.0;
        AddAssign::apply(&mut sum, &(y * y));
        sum
    };
    check.run(add, (&x, &y)).unwrap();
    check.second_order().run(|(x,)| cubed(x), (&x,)).unwrap();
    check
        .second_order()
        .run(|(x,)| cubed(&cubed(x)), (&x,))
        .unwrap();
    let input = AddAssign::SIGNATURE.inputs[0];
    assert!(input.in_place && AddAssign::SIGNATURE.outputs[0].differentiable);
}

#[test]
fn a_constant_becomes_an_output_only_where_something_needs_a_gradient() {
    let mut sum = Tensor::from(array![0.0, 0.0]);
    AddAssign::apply(&mut sum, &Tensor::from(array![1.0, 2.0]));
    assert!(!sum.requires_grad());
    let address = sum.view().as_ptr();
    AddAssign::apply(&mut sum, &leaf([1.0, 2.0]));
    assert_eq!(
        sum.view().as_ptr(),
        address,
        "memory of its own is written to"
    );
    assert_eq!((sum.to_array(), sum.is_leaf()), (array![2.0, 4.0], false));
    let edges = sum.grad_fn().unwrap().next_functions();
    assert!(edges[0].is_none() && edges[1].is_some());
}

#[test]
fn a_leaf_that_requires_grad_is_refused_before_anything_is_written() {
    let mut x = leaf([1.0, 2.0]);
    let refused = catch_unwind(AssertUnwindSafe(|| {
        AddAssign::apply(&mut x, &leaf([1.0, 1.0]));
    }));
    let message = *refused.unwrap_err().downcast::<String>().unwrap();
    assert!(
        message.starts_with("`add_assign` writes to `x`, a leaf that requires grad"),
        "{message}"
    );
    assert_eq!(x.to_array(), array![1.0, 2.0]);
    // An optimizer's update: the leaf stays the leaf that it is.
    let y = &x * 3.0;
    no_grad(|| AddAssign::apply(&mut x, &leaf([1.0, 1.0])));
    assert!(x.is_leaf() && x.requires_grad());
    assert_eq!(x.to_array(), array![2.0, 3.0]);
    y.sum().backward().unwrap();
    assert_eq!(x.grad(), Some(array![3.0, 3.0]));
    // A result keeps its history too.
    let mut z = &x * 2.0;
    no_grad(|| AddAssign::apply(&mut z, &leaf([1.0, 1.0])));
    assert_eq!(z.grad_fn().unwrap().name(), "MulScalar");
}

#[test]
fn what_a_node_has_saved_is_never_overwritten() {
    let (x, y, one) = (
        leaf([2.0, 3.0]),
        leaf([5.0, 7.0]),
        Tensor::from(array![1.0, 1.0]),
    );
    // The product saves its factors, of which one is written to afterwards.
    let mut z = &x * 1.0;
    let w = &z * &y;
    AddAssign::apply(&mut z, &one);
    (&w + &z).sum().backward().unwrap();
    assert_eq!(x.grad(), Some(array![6.0, 8.0]));
    assert_eq!(y.grad(), Some(array![2.0, 3.0]), "the factor as it was");
    // Detached memory is shared, and copied on write.
    x.zero_grad();
    let square = &x * &x;
    let mut detached = x.detach();
    AddAssign::apply(&mut detached, &one);
    square.sum().backward().unwrap();
    assert_eq!(
        (x.to_array(), x.grad()),
        (array![2.0, 3.0], Some(array![4.0, 6.0]))
    );
    // What is not saved is not copied.
    let mut z = &x + &y;
    let address = z.view().as_ptr();
    AddAssign::apply(&mut z, &one);
    assert_eq!(z.view().as_ptr(), address);
    // A saved output, written to by its own node's successor.
    x.zero_grad();
    let mut e = x.exp();
    AddAssign::apply(&mut e, &one);
    e.sum().backward().unwrap();
    assert_eq!(x.grad(), Some(array![2.0_f64.exp(), 3.0_f64.exp()]));
}

#[test]
fn views_and_copies_do_not_see_the_write() {
    let x = Tensor::from(array![[1.0, 2.0], [3.0, 4.0]]).set_requires_grad(true);
    let base = &x * 1.0;
    let (mut view, copy) = (base.t(), base.clone());
    Cube::apply(&mut view);
    assert_eq!(view.to_array(), array![[1.0, 27.0], [8.0, 64.0]]);
    assert_eq!(
        (base.to_array(), copy.to_array()),
        (x.to_array(), x.to_array())
    );
    (view.sum() + base.sum()).backward().unwrap();
    assert_eq!(x.grad(), Some(array![[4.0, 13.0], [28.0, 49.0]]));
    // A base that is written to does not change its view.
    let (mut base, row) = (&x * 1.0, Tensor::from(array![1.0, 1.0]));
    let transposed = base.t();
    Cube::apply(&mut base);
    assert_eq!(transposed.to_array(), x.to_array().reversed_axes());
    // An input repeated without a copy.
    let mut repeated: Tensor2<f64> = row.broadcast_to(&[3, 2]);
    Cube::apply(&mut repeated);
    assert_eq!(row.to_array(), array![1.0, 1.0]);
}

/// Returns its input as it is, which shares the memory.
struct Same;

#[custom_function]
impl Same {
    #[forward]
    fn forward(x: &Tensor1<f64>) -> (Tensor1<f64>, Tensor1<f64>) {
        (x.clone(), x.clone())
    }

    #[backward(x)]
    fn backward(grad_output_0: Array1<f64>, grad_output_1: Array1<f64>) -> Array1<f64> {
        grad_output_0 + grad_output_1 * 10.0
    }
}

#[test]
fn an_output_that_shares_memory_can_be_written_to() {
    let x = leaf([2.0, 3.0]);
    let (mut y, z) = Same::apply(&x);
    Cube::apply(&mut y);
    assert_eq!(
        (x.to_array(), z.to_array()),
        (array![2.0, 3.0], array![2.0, 3.0])
    );
    (y.sum() + z.sum()).backward().unwrap();
    assert_eq!(x.grad(), Some(array![12.0 + 10.0, 27.0 + 10.0]));
}

/// x ← 2x, and the squares of x as it was; the names of a mutated input beside an output.
struct Doubled;

#[custom_function]
impl Doubled {
    #[forward(saves(length))]
    fn forward(
        mut x: ArrayViewMut1<f64>,
        #[non_differentiable] mut calls: ArrayViewMut1<f64>,
    ) -> (Array1<f64>, usize) {
        let squares = x.mapv(|x| x * x);
        x *= 2.0;
        calls += 1.0;
        (squares, x.len())
    }

    #[backward(x)]
    fn backward(
        grad_output: Option<ArrayView1<f64>>,
        grad_x: ArrayView1<f64>,
        x: ArrayView1<f64>,
        output_x: ArrayView1<f64>,
        output_calls: ArrayView1<f64>,
        length: usize,
    ) -> Array1<f64> {
        assert_eq!(
            (output_x.to_owned(), length),
            (&x * 2.0, output_calls.len() + 1)
        );
        grad_output.map_or_else(|| &grad_x * 2.0, |grad| &grad_x * 2.0 + &grad * &x * 2.0)
    }

    #[jvp]
    fn jvp(
        tangent_x: ArrayView1<f64>,
        x: ArrayView1<f64>,
        output_x: ArrayView1<f64>,
    ) -> (Array1<f64>, Array1<f64>) {
        (&tangent_x * &output_x, &tangent_x * 2.0 + &x * 0.0)
    }
}

#[test]
fn a_mutated_input_beside_other_outputs() {
    let x = leaf([1.0, 2.0]);
    let mut calls = Tensor::from(array![0.0]);
    let mut y = &x * 1.0;
    let squares = Doubled::apply(&mut y, &mut calls);
    assert_eq!(
        (y.to_array(), squares.to_array()),
        (array![2.0, 4.0], array![1.0, 4.0])
    );
    assert_eq!(
        (calls.to_array(), calls.requires_grad()),
        (array![1.0], false)
    );
    (squares.sum() * 10.0 + y.sum()).backward().unwrap();
    assert_eq!(x.grad(), Some(array![22.0, 42.0]));
    let both = |(x,): (&Tensor1<f64>,)| {
        let mut y = x * 1.0;
        let squares = Doubled::apply(&mut y, &mut Tensor::from(array![0.0]));
        (squares, y)
    };
    Gradcheck::new().forward_mode().run(both, (&x,)).unwrap();
    // A view of something, with two outputs.
    let x = Tensor::from(array![[1.0, 2.0]]).set_requires_grad(true);
    let mut row: Tensor1<f64> = x.sum_to(&[2]);
    let squares = Doubled::apply(&mut row, &mut calls);
    (squares.sum() + row.sum()).backward().unwrap();
    assert_eq!(x.grad(), Some(array![[4.0, 6.0]]));
}

#[test]
fn what_has_no_gradient_must_not_need_one() {
    let mut y = leaf([1.0]) * 1.0;
    let mut calls = leaf([0.0]) * 1.0;
    let refused = catch_unwind(AssertUnwindSafe(|| Doubled::apply(&mut y, &mut calls)));
    let message = *refused.unwrap_err().downcast::<String>().unwrap();
    assert!(
        message.starts_with("`Doubled` writes to `calls` without a gradient"),
        "{message}"
    );
    assert_eq!((y.to_array(), calls.to_array()), (array![1.0], array![0.0]));
}

/// x ← √x, if there is a root; panics at 4.
struct Root;

#[custom_function]
impl Root {
    #[forward]
    fn forward(mut x: ArrayViewMut1<f64>) -> Result<(), f64> {
        for x in &mut x {
            assert!(*x != 4.0, "four");
            *x = if *x < 0.0 { return Err(*x) } else { x.sqrt() };
        }
        Ok(())
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f64>, output: ArrayView1<f64>) -> Array1<f64> {
        &grad_output / &output / 2.0
    }
}

#[test]
fn a_forward_that_fails_leaves_the_tensor_as_it_was() {
    let mut x = Tensor::from(array![9.0, -1.0]);
    assert_eq!(Root::apply(&mut x), Err(-1.0));
    assert_eq!(x.to_array(), array![9.0, -1.0]);
    let mut x = Tensor::from(array![9.0, 4.0]);
    assert!(catch_unwind(AssertUnwindSafe(|| Root::apply(&mut x))).is_err());
    assert_eq!(x.to_array(), array![9.0, 4.0]);
    let root = |(x,): (&Tensor1<f64>,)| {
        let mut y = x * 1.0;
        Root::apply(&mut y).unwrap();
        y
    };
    Gradcheck::new().run(root, (&leaf([9.0, 2.0]),)).unwrap();
    let failed = |(x,): (&Tensor1<f64>,)| {
        let mut y = -x;
        assert_eq!(Root::apply(&mut y), Err(-9.0));
        y
    };
    let x = Tensor::from(array![9.0]);
    assert_eq!(
        jvp(failed, (&x,), (&x,)).unwrap().1.to_array(),
        array![-9.0]
    );
    let forward = Functional::new().forward_mode(true);
    let error = forward.jvp(root, (&x,), (&x,)).unwrap_err();
    assert!((error.kind(), error.function()) == (&ErrorKind::NoForwardRule, Some("Root")));
}

struct HalfWritten;

#[custom_function]
impl HalfWritten {
    #[forward]
    fn forward(mut x: ArrayViewMut1<f64>) {
        x[0] = 77.0;
        assert!(x[1] > 6.0, "half written");
    }

    #[backward(x)]
    fn backward(grad_output: ArrayView1<f64>) -> Array1<f64> {
        &grad_output * 0.0
    }
}

#[test]
fn a_tensor_that_is_half_written_has_no_numbers() {
    let x = leaf([1.0, 2.0]);
    let mut own = &x * 3.0;
    assert!(catch_unwind(AssertUnwindSafe(|| HalfWritten::apply(&mut own))).is_err());
    assert!(own.view().iter().all(|x| x.is_nan()));
    (&own * &own).sum().backward().unwrap();
    assert!(x.grad().unwrap().iter().all(|x| x.is_nan()));
    // Memory that is held elsewhere is copied, and the copy is dropped.
    let mut shared = &x * 3.0;
    let other = shared.clone();
    assert!(catch_unwind(AssertUnwindSafe(|| HalfWritten::apply(&mut shared))).is_err());
    assert_eq!(
        (shared.to_array(), other.to_array()),
        (array![3.0, 6.0], array![3.0, 6.0])
    );
}
