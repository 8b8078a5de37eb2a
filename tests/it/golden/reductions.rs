//! Reductions, norms, losses, and what looks up rows of a table.

use pullback::ndarray::{Axis, Ix1, Ix2};
use pullback::ops::Reduction;
use pullback::prelude::*;

use super::{Attributes, Function, ranked};

pub fn function<T: Element>(op: &str, attributes: &Attributes) -> Option<Function<T>> {
    along_an_axis(op, attributes)
        .or_else(|| loss(op, attributes))
        .or_else(|| layer(op, attributes))
}

fn along_an_axis<T: Element>(op: &str, attributes: &Attributes) -> Option<Function<T>> {
    let axis = Axis(attributes.get::<Option<usize>>("axis")?);
    Some(match op {
        "cumsum" => Box::new(move |x| x[0].cumsum(axis)),
        "log_softmax_axis" => Box::new(move |x| x[0].log_softmax(axis)),
        "logsumexp_axis" => Box::new(move |x| x[0].logsumexp_axis(axis)),
        "max_axis" => Box::new(move |x| x[0].max_axis(axis)),
        "mean_axis" => Box::new(move |x| x[0].mean_axis(axis)),
        "softmax_axis" => Box::new(move |x| x[0].softmax(axis)),
        "sum_axis" => Box::new(move |x| x[0].sum_axis(axis)),
        "var_axis" => {
            let ddof = attributes.get("ddof");
            Box::new(move |x| x[0].var_axis(axis, ddof))
        }
        _ => return None,
    })
}

fn loss<T: Element>(op: &str, attributes: &Attributes) -> Option<Function<T>> {
    let reduction = match attributes.get::<Option<String>>("reduction")?.as_str() {
        "mean" => Reduction::Mean,
        "sum" => Reduction::Sum,
        _ => return None,
    };
    Some(match op {
        "bce_with_logits" => Box::new(move |x| x[0].bce_with_logits(&x[1], reduction).into_dyn()),
        "cross_entropy" => {
            let labels: Vec<usize> = attributes.get("targets");
            Box::new(move |x| {
                let logits = ranked::<T, Ix2>(&x[0]);
                logits.cross_entropy(&labels, reduction).into_dyn()
            })
        }
        "mse_loss" => Box::new(move |x| x[0].mse_loss(&x[1], reduction).into_dyn()),
        _ => return None,
    })
}

fn layer<T: Element>(op: &str, attributes: &Attributes) -> Option<Function<T>> {
    let eps = || T::from_f64(attributes.get("eps"));
    Some(match op {
        "batch_norm_train" => {
            let eps = eps();
            Box::new(move |x| {
                let (weight, bias) = (ranked(&x[1]), ranked(&x[2]));
                x[0].batch_norm(Some(&weight), Some(&bias), eps).0
            })
        }
        "embedding" => {
            let indices: Vec<usize> = attributes.get("indices");
            Box::new(move |x| ranked::<T, Ix2>(&x[0]).embedding(&indices).into_dyn())
        }
        "layer_norm" => {
            let eps = eps();
            Box::new(move |x| {
                let (weight, bias) = (ranked::<T, Ix1>(&x[1]), ranked(&x[2]));
                x[0].layer_norm(weight.shape(), Some(&weight), Some(&bias), eps)
            })
        }
        _ => return None,
    })
}
