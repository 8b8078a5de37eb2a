//! A combinatorial solver as a layer: the gradient of a smooth function between its values.
//!
//! Vlastelica et al., *Differentiation of Blackbox Combinatorial Solvers*, 2020. The solver returns the best choice
//! y(w) for the costs w. With w' = w + λ ∂L/∂y, the gradient is −(y(w) − y(w'))/λ. Any solver can be passed: it is a
//! value.

use pullback::ndarray::{Array2, ArrayView2};
use pullback::prelude::*;

#[custom_function(grad(costs) = (solver((&costs + &grad_output * *lambda).view()) - output) / *lambda)]
pub fn blackbox<S>(costs: ArrayView2<f64>, lambda: f64, solver: S) -> Array2<f64>
where
    S: Fn(ArrayView2<f64>) -> Array2<f64> + Clone + Send + Sync + 'static,
{
    solver(costs)
}

/// Returns the cheapest path from the first cell to the last, by steps to the right, down or both: 1 on the path, else
/// 0.
pub fn cheapest_path(costs: ArrayView2<f64>) -> Array2<f64> {
    let mut total = costs.to_owned();
    let before = |total: &Array2<f64>, i: usize, j: usize| {
        let steps = [(1, 1), (1, 0), (0, 1)];
        let cells = steps
            .iter()
            .filter_map(|(k, l)| Some((i.checked_sub(*k)?, j.checked_sub(*l)?)));
        cells.min_by(|a, b| total[*a].total_cmp(&total[*b]))
    };
    let (rows, columns) = costs.dim();
    for cell in 1..rows * columns {
        let (i, j) = (cell / columns, cell % columns);
        if let Some(best) = before(&total, i, j) {
            total[[i, j]] += total[best];
        }
    }
    let mut path = Array2::zeros((rows, columns));
    let mut at = Some((rows - 1, columns - 1));
    while let Some((i, j)) = at {
        path[[i, j]] = 1.0;
        at = before(&total, i, j);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Case;

    #[test]
    fn as_in_pytorch() {
        Case::of("blackbox").check(|case| {
            let costs = case.leaf("costs");
            (
                blackbox(&costs, 5.0, cheapest_path).into_dyn(),
                vec![costs.into_dyn()],
            )
        });
    }
}
