//! One element of each lane, and its reverse: each is the other's backward.

use std::marker::PhantomData;

use ndarray::{Array, ArrayD, ArrayView, Axis, Dimension};

use crate::kernels::Over;
use crate::{Element, Shape, Tensor, custom_function};

/// One element of each lane along one axis, by its place there; the lanes in row-major order.
#[derive(Debug)]
pub struct Pick<T, D, E>(PhantomData<(T, D, E)>);

#[custom_function(gradcheck(
    x = [3, 2], places = &[2, 0], over = Over::axis(Axis(0)), E = ndarray::Ix1
))]
impl<T: Element, D: Dimension, E: Dimension> Pick<T, D, E> {
    /// The elements of `x` at `places`.
    ///
    /// # Panics
    /// If `over` is not of one axis that there is, if there are not as many places as lanes, if a lane has no
    /// such place, or if the result has another rank than `E`.
    #[forward(outputs(output), saves(shape))]
    #[track_caller]
    pub fn forward(x: ArrayView<T, D>, places: &[usize], over: Over) -> (Array<T, E>, Shape) {
        let (axis, reduced) = check("pick", x.shape(), places, over);
        let lanes = x.lanes(axis).into_iter().zip(places);
        let picked = lanes.map(|(lane, &place)| lane[place]).collect();
        // INVARIANT: there is a place for each lane.
        let output = ArrayD::from_shape_vec(&reduced[..], picked).expect("one for each lane");
        (ranked("pick", output), Shape::from(x.shape()))
    }

    #[backward(x)]
    fn backward(
        grad_output: &Tensor<T, E>,
        places: &[usize],
        over: Over,
        shape: &Shape,
    ) -> Tensor<T, D> {
        Put::apply(grad_output, places, over, shape)
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, D>, places: &[usize], over: Over) -> Tensor<T, E> {
        Self::apply(tangent_x, places, over)
    }
}

/// One element in each lane along one axis, at its place there, among zeros.
#[derive(Debug)]
pub struct Put<T, E, D>(PhantomData<(T, E, D)>);

#[custom_function(gradcheck(
    x = [2], places = &[2, 0], over = Over::axis(Axis(0)), shape = &[3, 2], D = ndarray::Ix2
))]
impl<T: Element, E: Dimension, D: Dimension> Put<T, E, D> {
    /// Zeros of `shape`, with the elements of `x` at `places`.
    ///
    /// # Panics
    /// If `over` is not of one axis that there is, if `x` has not the shape of what a reduction of `shape`
    /// gives, if there are not as many places as lanes, if a lane has no such place, or if `shape` has another
    /// rank than `D`.
    #[forward]
    #[track_caller]
    pub fn forward(
        x: ArrayView<T, E>,
        places: &[usize],
        over: Over,
        shape: &[usize],
    ) -> Array<T, D> {
        let (axis, reduced) = check("put", shape, places, over);
        assert!(
            x.shape() == &reduced[..],
            "put of shape {:?} into shape {shape:?}: {reduced} is needed",
            x.shape()
        );
        let mut output: Array<T, D> = ranked("put", ArrayD::zeros(shape));
        let lanes = output.lanes_mut(axis).into_iter().zip(x).zip(places);
        for ((mut lane, &x), &place) in lanes {
            lane[place] = x;
        }
        output
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor<T, D>, places: &[usize], over: Over) -> Tensor<T, E> {
        Pick::apply(grad_output, places, over)
    }

    #[jvp]
    fn jvp(
        tangent_x: &Tensor<T, E>,
        places: &[usize],
        over: Over,
        shape: &[usize],
    ) -> Tensor<T, D> {
        Self::apply(tangent_x, places, over, shape)
    }
}

/// The axis, and the shape without it.
#[track_caller]
fn check(name: &str, shape: &[usize], places: &[usize], over: Over) -> (Axis, Shape) {
    let reduced = over.shape(name, shape);
    let Some(axis) = over.only() else {
        panic!("{name} over {over:?}: it is of one axis");
    };
    assert!(
        places.len() == reduced.size(),
        "{name} of shape {shape:?} along axis {}: {} lanes, and {} places",
        axis.index(),
        reduced.size(),
        places.len()
    );
    let length = shape[axis.index()];
    if let Some(place) = places.iter().find(|&&place| place >= length) {
        panic!(
            "{name} of shape {shape:?} along axis {}: there is no place {place}",
            axis.index()
        );
    }
    (axis, reduced)
}

#[track_caller]
fn ranked<T: Element, D: Dimension>(name: &str, array: ArrayD<T>) -> Array<T, D> {
    let rank = array.ndim();
    let Ok(array) = array.into_dimensionality() else {
        panic!("{name} with a result of rank {rank}: another is asked for");
    };
    array
}
