//! Attention in tiles: the matrix of scores is never in memory as a whole.
//!
//! Dao et al., 2022, arXiv 2205.14135. For each tile of keys, the largest score of a row and its sum of exponentials
//! are updated; backward recomputes each tile of P = e^(S − L) from the logarithms L of the sums, with ∂L/∂S = P ∘
//! (∂L/∂P − D), D the sums of y ∘ ∂L/∂y over a row.

use pullback::ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, Zip, s};
use pullback::prelude::*;

pub struct Attention;

#[custom_function(gradcheck(q = [3, 2], k = [5, 2], v = [5, 4], tile = 2))]
impl Attention {
    /// Computes softmax(q kᵀ / √d) v, for `tile` keys at a time.
    #[forward(outputs(y), saves(logs))]
    pub fn forward(
        q: ArrayView2<f64>,
        k: ArrayView2<f64>,
        v: ArrayView2<f64>,
        tile: usize,
    ) -> (Array2<f64>, Array1<f64>) {
        let mut y = Array2::<f64>::zeros((q.nrows(), v.ncols()));
        let mut largest = Array1::from_elem(q.nrows(), f64::NEG_INFINITY);
        let mut sums = Array1::<f64>::zeros(q.nrows());
        for (k, v) in tiles(k, tile).zip(tiles(v, tile)) {
            let mut scores = q.dot(&k.t()) * scale(q);
            let rows = scores.rows_mut().into_iter().zip(y.rows_mut());
            for ((mut scores, mut y), (largest, sum)) in rows.zip(largest.iter_mut().zip(&mut sums))
            {
                let next = scores.fold(*largest, |a, b| a.max(*b));
                let correction = (*largest - next).exp();
                scores.mapv_inplace(|score| (score - next).exp());
                *sum = *sum * correction + scores.sum();
                y *= correction;
                *largest = next;
            }
            y += &scores.dot(&v);
        }
        y /= &sums.view().insert_axis(Axis(1));
        (y, largest + sums.ln())
    }

    #[backward(q, k, v)]
    fn backward(
        grad_y: ArrayView2<f64>,
        q: ArrayView2<f64>,
        k: ArrayView2<f64>,
        v: ArrayView2<f64>,
        y: ArrayView2<f64>,
        logs: ArrayView1<f64>,
        tile: usize,
    ) -> (Array2<f64>, Array2<f64>, Array2<f64>) {
        let means = (&grad_y * &y).sum_axis(Axis(1));
        let mut grads = [q, k, v].map(|x| Array2::<f64>::zeros(x.dim()));
        for start in (0..k.nrows()).step_by(tile) {
            let of_tile = s![start..(start + tile).min(k.nrows()), ..];
            let (k, v) = (k.slice(of_tile), v.slice(of_tile));
            let mut p = q.dot(&k.t()) * scale(q) - logs.insert_axis(Axis(1));
            p.mapv_inplace(f64::exp);
            grads[2].slice_mut(of_tile).assign(&p.t().dot(&grad_y));
            let mut of_scores = grad_y.dot(&v.t()) - means.view().insert_axis(Axis(1));
            Zip::from(&mut of_scores)
                .and(&p)
                .for_each(|g, p| *g *= p * scale(q));
            grads[0] += &of_scores.dot(&k);
            grads[1].slice_mut(of_tile).assign(&of_scores.t().dot(&q));
        }
        let [of_q, of_k, of_v] = grads;
        (of_q, of_k, of_v)
    }
}

fn tiles(x: ArrayView2<'_, f64>, tile: usize) -> impl Iterator<Item = ArrayView2<'_, f64>> {
    let starts = (0..x.nrows()).step_by(tile);
    starts.map(move |start| x.slice_move(s![start..(start + tile).min(x.nrows()), ..]))
}

fn scale(q: ArrayView2<f64>) -> f64 {
    (q.ncols() as f64).sqrt().recip()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Case;

    #[test]
    fn as_in_pytorch() {
        Case::of("attention").check(|case| {
            let (q, k, v) = (case.leaf("q"), case.leaf("k"), case.leaf("v"));
            (
                Attention::apply(&q, &k, &v, 2).into_dyn(),
                vec![q.into_dyn(), k.into_dyn(), v.into_dyn()],
            )
        });
    }
}
