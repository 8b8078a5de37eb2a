//! Attention against softmax and products written down as a whole.

use std::sync::Arc;

use ndarray::{Array2, Axis, Ix2, Ix3, array, s};

use super::linear::{close, leaf};
use crate::ops::AttentionOptions;
use crate::{Grad, Tensor, Tensor0, Tensor2, grad};

fn masked<const K: usize>(mask: &[[bool; K]]) -> AttentionOptions {
    AttentionOptions {
        mask: Some(Arc::new(ndarray::arr2(mask).into_dyn())),
        ..AttentionOptions::default()
    }
}

#[test]
fn attention_to_second_order() {
    let q = leaf::<Ix3>(&[2, 2, 2], 0.0);
    let (k, v) = (leaf::<Ix3>(&[2, 3, 2], 1.0), leaf::<Ix3>(&[2, 3, 1], 2.0));
    let all = [
        AttentionOptions::default(),
        AttentionOptions {
            causal: true,
            scale: Some(2.0),
            ..AttentionOptions::default()
        },
        masked(&[[true, false, true], [true, true, false]]),
    ];
    for options in &all {
        let attended = |(q, k, v): (&crate::Tensor3<f64>, &_, &_)| {
            q.scaled_dot_product_attention(k, v, options)
        };
        gradchecks!(|(q, k, v)| attended((q, k, v)), (&q, &k, &v));
    }
}

/// Many queries, so that there are several blocks; the expected weights are one matrix.
#[test]
fn attention_is_softmax_of_products() {
    let (q, k) = (leaf::<Ix2>(&[150, 4], 0.0), leaf::<Ix2>(&[130, 4], 1.0));
    let v = leaf::<Ix2>(&[130, 3], 2.0);
    for causal in [false, true] {
        let options = AttentionOptions {
            causal,
            ..AttentionOptions::default()
        };
        let found = q.scaled_dot_product_attention(&k, &v, &options);
        let mut weights = (q.matmul(&k.t()) / 2.0).exp().to_array();
        if causal {
            for ((query, key), weight) in weights.indexed_iter_mut() {
                *weight *= if key > query { 0.0 } else { 1.0 };
            }
        }
        let sums = weights.sum_axis(Axis(1)).insert_axis(Axis(1));
        let expected = Tensor::from(weights / sums).matmul(&v);
        close(&found, &expected);
    }
}

#[test]
fn queries_that_attend_to_nothing_give_zeros() {
    let q = leaf::<Ix2>(&[2, 2], 0.0);
    let (k, v) = (leaf::<Ix2>(&[3, 2], 1.0), leaf::<Ix2>(&[3, 2], 2.0));
    let options = masked(&[[false, false, false], [true, false, true]]);
    let y = q.scaled_dot_product_attention(&k, &v, &options);
    assert_eq!(y.view().row(0), array![0.0, 0.0]);
    gradchecks!(
        |(q, k, v)| q.scaled_dot_product_attention(k, v, &options),
        (&q, &k, &v)
    );
    // No keys at all, and queries and keys without a length: all values weigh the same.
    let none = leaf::<Ix2>(&[0, 2], 0.0);
    let y = q.scaled_dot_product_attention(&none, &none, &AttentionOptions::default());
    assert_eq!(y.to_array(), Array2::<f64>::zeros((2, 2)));
    let (q, k) = (leaf::<Ix2>(&[2, 0], 0.0), leaf::<Ix2>(&[4, 0], 0.0));
    let v = leaf::<Ix2>(&[4, 1], 0.0);
    let options = AttentionOptions {
        scale: Some(1.0),
        ..AttentionOptions::default()
    };
    let y = q.scaled_dot_product_attention(&k, &v, &options);
    assert!((y.sum().item() - 2.0 * v.mean().item()).abs() < 1e-14);
    let (of_v,) = grad(&y.sum(), (&v,)).unwrap();
    assert_eq!(of_v.to_array(), Array2::from_elem((4, 1), 0.5));
}

/// Products with a masked key may be out of range, also in forward mode and for gradients of gradients.
#[test]
fn products_that_are_masked_may_overflow() {
    let (q, v) = (leaf::<Ix2>(&[2, 2], 0.0), leaf::<Ix2>(&[3, 1], 2.0));
    let q = (q * 10.0).detach();
    let mut keys = leaf::<Ix2>(&[3, 2], 1.0).to_array();
    keys.row_mut(2).fill(1e308);
    let (k, few) = (
        Tensor::from(keys.clone()),
        Tensor::from(keys.slice_move(s![..2, ..])),
    );
    let options = masked(&[[true, true, false]]);
    let few_values = v.slice(s![..2, ..]);
    let masked = |q: &_| attended(q, &k, &v, &options);
    let alone = |q: &_| attended(q, &few, &few_values, &AttentionOptions::default());
    // So short that its own products stay in range.
    let direction = &q * 0.01;
    let along = |function: &dyn Fn(&Tensor2<f64>) -> Tensor0<f64>| {
        crate::jvp(function, &q, &direction).unwrap().1
    };
    close(&along(&masked), &along(&alone));
    let second = |function: &dyn Fn(&Tensor2<f64>) -> Tensor0<f64>| {
        let q = q.clone().set_requires_grad(true);
        let y = function(&q);
        let (first,) = Grad::of(&y).create_graph(true).run((&q,)).unwrap();
        grad(&(first * &direction).sum(), (&q,)).unwrap().0
    };
    close(&second(&masked), &second(&alone));
}

fn attended(
    q: &Tensor2<f64>,
    k: &Tensor2<f64>,
    v: &Tensor2<f64>,
    options: &AttentionOptions,
) -> Tensor0<f64> {
    q.scaled_dot_product_attention(k, v, options).square().sum()
}
