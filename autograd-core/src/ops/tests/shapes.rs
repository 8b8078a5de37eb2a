//! Shapes and data movement.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ndarray::{Array1, Array2, Axis, Ix1, Ix2, IxDyn, NewAxis, Slice, arr2, array, s};

use super::{SHAPES, leaf, panic_line, unary};
use crate::foreign::panic_text;
use crate::ops::SplitAt;
use crate::{Tensor, Tensor1, Tensor2, TensorD};

/// Squared first, so that second derivatives are not all zero.
#[track_caller]
fn checked(shape: &[usize], function: impl Fn(&TensorD<f64>) -> TensorD<f64>) {
    gradchecks!(
        |(x,)| function(&(x * x)),
        (&leaf(shape),),
        "shape {shape:?}"
    );
}

#[test]
fn other_views_of_the_same_elements() {
    unary(|x| (x * x).reshape(vec![x.len()]));
    unary(|x| (x * x).t().reshape(vec![1, x.len(), 1]));
    unary(|x| (x * x).permute(&(0..x.ndim()).rev().collect::<Vec<_>>()));
    unary(|x| (x * x).unsqueeze(Axis(0)));
    unary(|x| (x * x).unsqueeze(Axis(x.ndim())).squeeze(Axis(x.ndim())));
    unary(|x| (x * x).flip(&(0..x.ndim()).collect::<Vec<_>>()));
    for shape in SHAPES.into_iter().filter(|shape| !shape.is_empty()) {
        checked(shape, |x| x.flatten(0, x.ndim() - 1));
        checked(shape, |x| x.swap_axes(0, x.ndim() - 1));
        checked(shape, |x| {
            x.slice_axis(Axis(0), Slice::from(..).step_by(-2))
        });
    }
    checked(&[2, 3, 4], |x| x.permute(&[1, 2, 0]));
    checked(&[2, 3, 4], |x| {
        x.slice(s![.., 1, NewAxis, ..;-2].as_ref()).into_dyn()
    });
    checked(&[2, 3, 4], |x| {
        x.slice(s![-1, 1.., ..0].as_ref()).into_dyn()
    });
}

#[test]
fn elements_moved_into_new_memory() {
    for shape in SHAPES.into_iter().filter(|shape| !shape.is_empty()) {
        let (last, length) = (shape.len() - 1, shape[0]);
        checked(shape, |x| Tensor::concat(Axis(0), &[x, &(x * x), x]));
        checked(shape, |x| Tensor::concat(Axis(last), &[x, &(x * x)]));
        checked(shape, |x| x.roll(Axis(0), 1) * x.roll(Axis(last), -3));
        let indices: Vec<usize> = (0..2 * length).map(|position| position / 2).collect();
        checked(shape, |x| x.index_select(Axis(0), &indices));
        checked(shape, |x| {
            let twice = Tensor::concat(Axis(0), &[x, &(x * x)]);
            x.index_add(Axis(0), &indices, &twice)
        });
    }
    unary(|x| (x * x).pad(&vec![(1, 2); x.ndim()], 0.5));
    unary(|x| Tensor::stack(Axis(0), &[x, &(x * x)]));
    unary(|x| Tensor::stack(Axis(x.ndim()), &[&(x * x), x, x]));
    checked(&[4, 5], |x| {
        let parts = x.split(Axis(1), &[1, 0, 4]);
        Tensor::concat(Axis(1), &[&parts[2], &(&parts[0] * 2.0), &parts[1]])
    });
    checked(&[5, 2], |x| {
        let parts = x.chunks(Axis(0), 3);
        Tensor::stack(Axis(1), &[&parts[1], &(&parts[0] * 2.0)])
    });
}

#[test]
fn elements_found_by_index_in_each_lane() {
    let indices = arr2(&[[2, 0, 2], [1, 1, 0]]).into_dyn();
    checked(&[3, 4], |x| x.gather(Axis(0), &indices));
    checked(&[2, 3], |x| x.gather(Axis(1), &indices));
    checked(&[3, 4], |x| {
        x.scatter_add(
            Axis(0),
            &indices,
            &x.slice_axis(Axis(0), Slice::from(1..))
                .slice_axis(Axis(1), Slice::from(1..)),
        )
    });
    checked(&[2, 3], |x| x.scatter_add(Axis(1), &indices, x));
    let none = ndarray::ArrayD::zeros(IxDyn(&[0, 3]));
    checked(&[3, 4], |x| x.gather(Axis(0), &none));
    checked(&[0, 4], |x| {
        x.scatter_add(Axis(1), &ndarray::ArrayD::zeros(IxDyn(&[0, 4])), x)
    });
}

fn matrix() -> Tensor2<f64> {
    Tensor::from(super::matrix(4, 6))
}

#[test]
fn views_are_of_the_same_memory() {
    let x = matrix();
    let value = x.view();
    let memory = value.as_slice().unwrap().as_ptr_range();
    for view in [
        x.reshape((3, 8)),
        x.permute(&[1, 0]),
        x.slice(s![1..3, ..;-2]),
        x.flip(&[0]),
        x.unsqueeze(Axis(1)).squeeze(Axis(1)),
        x.unsqueeze(Axis(0)).flatten(1, 2),
        x.split(Axis(1), &[2, 4])[1].clone(),
        x.chunks(Axis(0), 3)[1].clone(),
    ] {
        assert!(memory.contains(&view.view().as_ptr()));
    }
    let transposed = x.t().reshape((3, 8));
    assert!(!memory.contains(&transposed.view().as_ptr()));
    assert_eq!(
        transposed.to_array(),
        x.view().t().as_standard_layout().to_shape((3, 8)).unwrap()
    );
}

#[test]
fn views_do_not_change_with_the_tensor() {
    let x = matrix();
    let before = x.to_array();
    let (flat, reversed) = (x.reshape(24), x.flip(&[1]));
    let doubled = x * 2.0;
    assert_eq!(doubled.to_array(), &before * 2.0);
    assert_eq!(reversed.to_array(), before.slice(s![.., ..;-1]));
    assert_eq!(
        (flat + 1.0).to_array(),
        Array1::from_iter(before.iter().map(|x| x + 1.0))
    );
}

#[test]
fn systems_are_solved_for_transposed_right_hand_sides() {
    let a = Tensor::from(array![[2.0, 0.0], [1.0, 4.0]]);
    let b = Tensor::from(array![[2.0, 9.0], [4.0, 18.0], [6.0, 27.0]]);
    let x = a.solve(&b.t()).unwrap();
    assert_eq!(x.to_array(), array![[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]);
}

#[test]
fn parts_are_those_of_ndarray() {
    let x = matrix();
    let array = x.to_array();
    let part = x.slice(s![1..;2, -3..]).to_array();
    assert_eq!(part, array.slice(s![1..;2, -3..]));
    assert_eq!(x.slice(s![.., 2]).to_array(), array.column(2));
    assert_eq!(x.slice(s![-1, -1]).item(), array[[3, 5]]);
    assert_eq!(x.slice(s![3..3, ..]).shape(), [0, 6]);
    let lengths = |count| -> Vec<usize> {
        let chunks = x.chunks(Axis(1), count);
        chunks.iter().map(|chunk| chunk.shape()[1]).collect()
    };
    assert_eq!(
        (lengths(1), lengths(3), lengths(4)),
        (vec![6], vec![2; 3], vec![2; 3])
    );
    assert_eq!(lengths(100), [1; 6]);
    assert_eq!(x.slice(s![.., ..0]).chunks(Axis(1), 3).len(), 3);
}

#[test]
fn gradients_of_many_parts_are_concatenated() {
    let x = leaf(&[7]);
    let weigh = |x: &TensorD<f64>| {
        let parts = x.split(Axis(0), &[1, 0, 3, 1, 2]);
        let each = parts.iter().zip(1_u8..);
        let weighed: Vec<_> = each.map(|(part, n)| part * f64::from(n)).collect();
        Tensor::concat(Axis(0), &weighed.iter().collect::<Vec<_>>()).sum()
    };
    let weighed = weigh(&x);
    let mut nodes: Vec<_> = weighed.grad_fn().into_iter().collect();
    let mut names = Vec::new();
    while let Some(node) = nodes.pop() {
        names.push(node.name().to_owned());
        nodes.extend(node.next_functions().into_iter().flatten());
    }
    assert!(names.iter().any(|name| name == "SplitAt"), "{names:?}");
    assert!(!names.iter().any(|name| name == "Slice"), "{names:?}");
    let (gradient,) = crate::grad(&weighed, (&x,)).unwrap();
    let expected = array![1.0, 3.0, 3.0, 3.0, 4.0, 5.0, 5.0];
    assert_eq!(gradient.to_array(), expected.into_dyn());
    gradchecks!(|(x,)| weigh(&(x * x)), (&x,));
}

#[test]
#[should_panic(expected = "split of a tensor of shape [3] at 4 along axis 0: it is shorter")]
fn a_split_after_the_end_is_refused() {
    let _ = SplitAt::apply(&Tensor::from(array![1.0, 2.0, 3.0]), Axis(0), 4);
}

#[test]
fn rolling_by_any_number_of_positions() {
    let x = Tensor::from(array![1.0, 2.0, 3.0]).set_requires_grad(true);
    for shift in [0, 3, -3, isize::MAX / 3 * 3, isize::MIN / 3 * 3] {
        assert_eq!(x.roll(Axis(0), shift).to_array(), x.to_array());
    }
    for shift in [-2, 1, 4, isize::MIN, isize::MAX] {
        let rolled = x.roll(Axis(0), shift);
        rolled.backward_with(rolled.to_array()).unwrap();
        assert_eq!(x.grad(), Some(x.to_array()), "{shift}");
        x.zero_grad();
    }
    let empty = Tensor::from(Array2::<f64>::zeros((0, 2))).set_requires_grad(true);
    empty.roll(Axis(0), 5).sum().backward().unwrap();
    assert_eq!(empty.grad(), Some(Array2::zeros((0, 2))));
}

/// Checks the message of a panic, and that its line is after `before`. Returns the line.
fn reported(before: u32, mistake: impl Fn(), expected: &str) -> u32 {
    let (file, line) = panic_line(Box::new(&mistake));
    assert!(
        file == file!() && line > before,
        "{expected}: {file}:{line}"
    );
    let payload = catch_unwind(AssertUnwindSafe(mistake)).expect_err("a panic");
    assert_eq!(panic_text(&*payload), expected);
    line
}

/// A mistake in each line.
macro_rules! panics {
    ($($mistake:expr => $expected:expr;)*) => {
        let line = line!();
        $(let line = reported(line, || drop($mistake), $expected);)*
        assert!(line < line!() + 60);
    };
}

#[test]
fn mistakes_in_shapes_and_axes_are_reported_at_the_callers_line() {
    let x = Tensor::from(Array2::<f64>::zeros((2, 3)));
    let row: Tensor1<f64> = Tensor::from(Array1::zeros(3));
    panics! {
        x.reshape(5) => "reshape of a tensor of shape [2, 3] to [5]: the numbers of elements differ";
        x.reshape((usize::MAX, 6)) => "reshape of a tensor of shape [2, 3] to [18446744073709551615, 6]: the numbers of elements differ";
        x.flatten::<IxDyn>(1, 2) => "flatten of a tensor of shape [2, 3]: there is no axis 2";
        x.flatten::<IxDyn>(1, 0) => "flatten of a tensor of shape [2, 3]: the axis 1 comes after 0";
        x.flatten::<Ix2>(0, 1) => "flatten of a tensor of shape [2, 3]: the result has rank 1, which is not that of its type";
        x.permute(&[0]) => "permute of a tensor of shape [2, 3] to the axes [0]: each must be named";
        x.permute(&[1, 1]) => "permute of a tensor of shape [2, 3]: the axis 1 is named twice in [1, 1]";
        x.swap_axes(0, 2) => "swap_axes of a tensor of shape [2, 3]: there is no axis 2";
        x.squeeze(Axis(1)) => "squeeze of a tensor of shape [2, 3]: the length of axis 1 is not 1";
        x.sum().squeeze(Axis(0)) => "squeeze of a tensor of shape []: there is no axis 0";
        x.unsqueeze(Axis(3)) => "unsqueeze of a tensor of shape [2, 3]: there cannot be an axis 3";
        x.flip(&[2]) => "flip of a tensor of shape [2, 3]: there is no axis 2";
        x.slice(s![.., 1..4]) => "slice of a tensor of shape [2, 3]: `1..4` is not within the axis 1";
        x.slice(s![-3.., ..]) => "slice of a tensor of shape [2, 3]: `-3..` is not within the axis 0";
        x.slice(s![2, ..]) => "slice of a tensor of shape [2, 3]: `2` is not within the axis 0";
        x.clone().into_dyn().slice(s![.., .., ..].as_ref()) => "slice of a tensor of shape [2, 3]: there are entries for 3 axes";
        x.slice_axis(Axis(1), Slice::from(1..4)) => "slice_axis of a tensor of shape [2, 3]: `1..4` is not within the axis 1";
        x.slice_axis(Axis(2), Slice::from(..)) => "slice_axis of a tensor of shape [2, 3]: there is no axis 2";
        x.split(Axis(1), &[1, 1]) => "split of a tensor of shape [2, 3] along axis 1 into [1, 1]: their sum is 2";
        x.chunks(Axis(1), 0) => "chunks of a tensor of shape [2, 3] into 0 parts: at least one is needed";
        x.roll(Axis(2), 1) => "roll of a tensor of shape [2, 3]: there is no axis 2";
        x.pad(&[(1, 1)], 0.0) => "pad of a tensor of shape [2, 3] by [(1, 1)]: each axis needs two widths";
        x.pad(&[(usize::MAX, 1), (0, 0)], 0.0) => "an array of shape [18446744073709551615, 3] is larger than any memory";
        row.roll(Axis(1), 1) => "roll of a tensor of shape [3]: there is no axis 1";
        row.broadcast_to::<Ix1>(&[2, 3]) => "broadcast_to of a tensor of shape [3]: the result has rank 2, which is not that of its type";
        x.sum_to::<Ix2>(&[3]) => "sum_to of a tensor of shape [2, 3]: the result has rank 1, which is not that of its type";
    }
}

#[test]
fn mistakes_between_tensors_and_indices_are_reported_at_the_callers_line() {
    let x = Tensor::from(Array2::<f64>::zeros((2, 3)));
    let y = x.reshape((3, 2));
    let indices = arr2(&[[0, 1, 2]]);
    panics! {
        Tensor2::<f64>::concat(Axis(0), &[] as &[&Tensor2<f64>]) => "concat of no tensors: at least one is needed";
        Tensor::concat(Axis(2), &[&x]) => "concat of a tensor of shape [2, 3]: there is no axis 2";
        Tensor::concat(Axis(0), &[&x, &y]) => "concat along axis 0 of tensors of shapes [2, 3] and [3, 2]: the other axes differ";
        Tensor2::<f64>::stack(Axis(0), &[] as &[&Tensor2<f64>]) => "stack of no tensors: at least one is needed";
        Tensor::stack(Axis(3), &[&x]) => "stack of tensors of shape [2, 3]: there cannot be an axis 3";
        Tensor::stack(Axis(0), &[&x, &y]) => "stack of tensors of shapes [2, 3] and [3, 2]: they differ";
        x.index_select(Axis(1), &[0, 3]) => "index_select along axis 1 of length 3: the index 3 is out of range";
        x.index_select(Axis(2), &[]) => "index_select of a tensor of shape [2, 3]: there is no axis 2";
        x.index_add(Axis(0), &[2], &x) => "index_add along axis 0 of length 2: the index 2 is out of range";
        x.index_add(Axis(0), &[1], &x) => "index_add of a tensor of shape [2, 3]: the parts at the indices have shape [1, 3], and the source [2, 3]";
        x.gather(Axis(0), &indices) => "gather along axis 0 of length 2: the index 2 is out of range";
        y.gather(Axis(0), &indices) => "gather along axis 0 of a tensor of shape [3, 2] with indices of shape [1, 3]: they have lanes that the tensor does not have";
        x.scatter_add(Axis(1), &indices, &x) => "scatter_add of a tensor of shape [2, 3] with indices of shape [1, 3]";
        x.scatter_add(Axis(0), &indices, &x) => "scatter_add along axis 0 of length 2: the index 2 is out of range";
    }
    let dynamic = x.into_dyn();
    let lane = ndarray::arr1(&[0]).into_dyn();
    panics! {
        dynamic.gather(Axis(0), &lane) => "gather along axis 0 of a tensor of shape [2, 3] with indices of shape [1]: they have lanes that the tensor does not have";
    }
}
