//! Reductions, norms, losses, and what looks up rows of a table.

use pullback::ndarray::{ArrayD, arr0};
use pullback::prelude::*;

use super::rows::{Row, whole};

pub fn rows<T: Element>() -> Vec<Row<T>> {
    vec![
        whole(
            "mean",
            |x| x.mean().into_dyn(),
            |x| number(x.sum() / x.len() as f64),
        ),
        whole("sum", |x| x.sum().into_dyn(), |x| number(x.sum())),
    ]
}

fn number(x: f64) -> ArrayD<f64> {
    arr0(x).into_dyn()
}
