//! Shapes and data movement.

use pullback::ndarray::{ArrayD, Axis, IxDyn, Slice, arr2, concatenate, s, stack};
use pullback::ops::{IndexAdd, ScatterAdd};
use pullback::prelude::*;

use super::rows::{Row, folds, lanes, placed, row, whole};

pub fn rows<T: Element>() -> Vec<Row<T>> {
    let groups = [views(), moves(), between(), indexed()];
    groups.into_iter().flatten().collect()
}

fn reshaped(x: &ArrayD<f64>, shape: &[usize]) -> ArrayD<f64> {
    x.to_shape(shape).expect("as many elements").into_owned()
}

fn views<T: Element>() -> Vec<Row<T>> {
    let reversed = |rank: usize| (0..rank).rev().collect::<Vec<_>>();
    let halves = s![.., 1, ..;-2];
    let mut rows = vec![
        whole(
            "broadcast_to",
            |x| x.broadcast_to(&[&[2], x.shape()].concat()),
            |x| {
                let shape = [&[2], x.shape()].concat();
                x.broadcast(&shape[..]).expect("fits").to_owned()
            },
        ),
        whole(
            "flip",
            move |x| x.flip(&reversed(x.ndim())),
            |x| {
                let mut flipped = x.clone();
                (0..x.ndim()).for_each(|axis| flipped.invert_axis(Axis(axis)));
                flipped
            },
        ),
        // There and back: exact for either type.
        whole("cast", |x| x.cast::<f64>().cast(), Clone::clone),
        whole(
            "permute",
            move |x| x.permute(&reversed(x.ndim())),
            |x| x.t().to_owned(),
        ),
        whole(
            "reshape",
            |x| x.reshape(vec![x.len(), 1]),
            |x| reshaped(x, &[x.len(), 1]),
        ),
        whole(
            "squeeze",
            |x| x.unsqueeze(Axis(0)).squeeze(Axis(0)),
            ArrayD::clone,
        ),
        whole("t", |x| x.t(), |x| x.t().to_owned()),
        whole(
            "unsqueeze",
            |x| x.unsqueeze(Axis(x.ndim())),
            |x| x.clone().insert_axis(Axis(x.ndim())),
        ),
        row(
            "flatten",
            &[&[&[2, 3, 2]], &[&[2, 0, 3]]],
            |x| x[0].flatten(1, 2),
            |x| reshaped(&x[0], &[2, x[0].len() / 2]),
        ),
        row(
            "slice",
            &[&[&[2, 2, 5]], &[&[0, 2, 5]], &[&[2, 3, 0]]],
            move |x| x[0].slice(halves.as_ref()),
            move |x| x[0].slice(halves).into_dyn().to_owned(),
        ),
    ];
    let half = |length: usize| length.div_ceil(2);
    rows.extend(lanes(
        "split",
        move |x, axis| {
            let length = x.shape()[axis.index()];
            x.split(axis, &[length / 2, half(length)])[1].clone()
        },
        move |lane| lane[lane.len() / 2..].to_vec(),
    ));
    rows.extend(lanes(
        "slice_axis",
        |x, axis| x.slice_axis(axis, Slice::new(0, None, -2)),
        |lane| lane.iter().rev().step_by(2).copied().collect(),
    ));
    rows.extend(lanes(
        "chunks",
        |x, axis| x.chunks(axis, 2)[0].clone(),
        move |lane| lane[..half(lane.len())].to_vec(),
    ));
    rows
}

fn moves<T: Element>() -> Vec<Row<T>> {
    let mut rows = vec![whole(
        "pad",
        |x| x.pad(&vec![(2, 1); x.ndim()], T::from_f64(0.5)),
        |x| {
            let shape: Vec<usize> = x.shape().iter().map(|length| length + 3).collect();
            placed(&shape, |index| {
                let inside: Option<Vec<usize>> = index.iter().map(|i| i.checked_sub(2)).collect();
                let element = inside.and_then(|inside| x.get(&inside[..]).copied());
                element.unwrap_or(0.5)
            })
        },
    )];
    rows.extend(lanes(
        "roll",
        |x, axis| x.roll(axis, -1),
        |lane| {
            let mut rolled = lane.to_vec();
            rolled.rotate_left(lane.len().min(1));
            rolled
        },
    ));
    rows.extend(folds(
        "sum_to",
        |x, axis| {
            let mut shape = x.shape().to_vec();
            shape[axis.index()] = 1;
            x.sum_to::<IxDyn>(&shape).squeeze(axis)
        },
        |lane| lane.iter().sum(),
    ));
    rows
}

fn between<T: Element>() -> Vec<Row<T>> {
    let along: &[&[&[usize]]] = &[
        &[&[2, 3], &[2, 1], &[2, 0]],
        &[&[0, 3], &[0, 1], &[0, 2]],
        &[&[2, 0], &[2, 0], &[2, 0]],
    ];
    let equal: &[&[&[usize]]] = &[
        &[&[], &[], &[]],
        &[&[5], &[5], &[5]],
        &[&[2, 0], &[2, 0], &[2, 0]],
        &[&[2, 3], &[2, 3], &[2, 3]],
    ];
    vec![
        row(
            "concat",
            along,
            |x| Tensor::concat(Axis(1), &[&x[0], &x[1], &x[2]]),
            |x| {
                let views = [x[0].view(), x[1].view(), x[2].view()];
                concatenate(Axis(1), &views).expect("shapes that fit")
            },
        ),
        row(
            "stack",
            equal,
            |x| Tensor::stack(Axis(x[0].ndim()), &[&x[0], &x[1], &x[2]]),
            |x| {
                let views = [x[0].view(), x[1].view(), x[2].view()];
                stack(Axis(x[0].ndim()), &views).expect("one shape")
            },
        ),
    ]
}

fn indexed<T: Element>() -> Vec<Row<T>> {
    let indices = [1, 0, 1];
    let table = || arr2(&[[1, 0, 1], [1, 1, 0]]).into_dyn();
    vec![
        row(
            "index_select",
            &[&[&[2]], &[&[2, 3]], &[&[2, 0]], &[&[3, 2, 2]]],
            move |x| x[0].index_select(Axis(0), &indices),
            move |x| x[0].select(Axis(0), &indices),
        ),
        row(
            "index_add",
            &[&[&[2], &[3]], &[&[2, 3], &[3, 3]], &[&[2, 0], &[3, 0]]],
            move |x| IndexAdd::apply(x[0].clone(), Axis(0), &indices, &x[1]),
            move |x| {
                let mut sum = x[0].clone();
                for (position, &index) in indices.iter().enumerate() {
                    let mut part = sum.index_axis_mut(Axis(0), index);
                    part += &x[1].index_axis(Axis(0), position);
                }
                sum
            },
        ),
        row(
            "gather",
            &[&[&[2, 3]], &[&[3, 4]]],
            move |x| x[0].gather(Axis(0), &table()),
            move |x| placed(&[2, 3], |place| x[0][[table()[place], place[1]]]),
        ),
        row(
            "scatter_add",
            &[&[&[2, 3], &[2, 3]], &[&[4, 3], &[2, 3]]],
            move |x| {
                let indices = table().into_shared();
                ScatterAdd::apply(x[0].clone(), Axis(1), indices, &x[1])
            },
            move |x| {
                let mut sum = x[0].clone();
                for (place, &index) in table().indexed_iter() {
                    sum[[place[0], index]] += x[1][&place];
                }
                sum
            },
        ),
    ]
}
