//! Minimisation of smooth functions of many numbers: L-BFGS (Nocedal, 1980; Liu and Nocedal, 1989).

use std::collections::VecDeque;

use pullback::ndarray::{Array1, ArrayView1};

/// Pairs of a step and the gradient's change that describe the curvature.
const MEMORY: usize = 12;
/// The share of the decrease that the slope promises with which a step is content (Armijo, 1966).
const ENOUGH: f64 = 1e-4;
/// The share of the slope that may be left after a step (Wolfe, 1969).
const FLATTER: f64 = 0.9;
const MOST_TRIALS: usize = 40;

/// Where a search ended.
pub struct Minimum {
    pub at: Array1<f64>,
    /// The value at the start and after each step.
    pub values: Vec<f64>,
    /// Whether the gradient fell below what was asked for.
    pub converged: bool,
}

/// A point with the function's value and gradient there.
struct Point {
    at: Array1<f64>,
    value: f64,
    gradient: Array1<f64>,
}

/// Goes downhill until the gradient's norm is below `tolerance` times that at the start, or for `steps`
/// steps. `function` gives its value and its gradient.
pub fn minimise<E>(
    start: Array1<f64>,
    steps: usize,
    tolerance: f64,
    mut function: impl FnMut(ArrayView1<f64>) -> Result<(f64, Array1<f64>), E>,
) -> Result<Minimum, E> {
    let mut evaluate = |at: Array1<f64>| {
        let (value, gradient) = function(at.view())?;
        Ok(Point {
            at,
            value,
            gradient,
        })
    };
    let mut point = evaluate(start)?;
    let enough = tolerance * norm(&point.gradient);
    let mut values = vec![point.value];
    let mut memory = VecDeque::with_capacity(MEMORY);
    for _ in 0..steps {
        if norm(&point.gradient) <= enough {
            break;
        }
        let direction = -newton(&memory, &point.gradient);
        let Some(next) = search(&point, &direction, memory.is_empty(), &mut evaluate)? else {
            break;
        };
        let pair = (&next.at - &point.at, &next.gradient - &point.gradient);
        if memory.len() == MEMORY {
            memory.pop_front();
        }
        memory.push_back(pair);
        point = next;
        values.push(point.value);
    }
    let converged = norm(&point.gradient) <= enough;
    Ok(Minimum {
        at: point.at,
        values,
        converged,
    })
}

/// The inverse of the approximate Hessian times the gradient, by the two loops.
fn newton(memory: &VecDeque<(Array1<f64>, Array1<f64>)>, gradient: &Array1<f64>) -> Array1<f64> {
    let mut direction = gradient.clone();
    let mut shares = Vec::with_capacity(memory.len());
    for (step, change) in memory.iter().rev() {
        let share = step.dot(&direction) / step.dot(change);
        direction.scaled_add(-share, change);
        shares.push(share);
    }
    if let Some((step, change)) = memory.back() {
        direction *= step.dot(change) / change.dot(change);
    }
    for ((step, change), share) in memory.iter().zip(shares.into_iter().rev()) {
        let own = change.dot(&direction) / step.dot(change);
        direction.scaled_add(share - own, step);
    }
    direction
}

/// A step along `direction` that lowers the value and flattens the slope, by doubling and halving
/// (Lewis and Overton, 2013). Where it flattens the slope, the pair that it leaves has positive curvature.
/// None where rounding hides any decrease.
fn search<E>(
    from: &Point,
    direction: &Array1<f64>,
    first: bool,
    evaluate: &mut impl FnMut(Array1<f64>) -> Result<Point, E>,
) -> Result<Option<Point>, E> {
    let slope = from.gradient.dot(direction);
    let (mut low, mut high) = (0.0, f64::INFINITY);
    let mut length = if first {
        1.0 / norm(direction).max(1.0)
    } else {
        1.0
    };
    for _ in 0..MOST_TRIALS {
        let next = evaluate(&from.at + &(direction * length))?;
        // What is no number is no decrease.
        let decreases = next.value <= from.value + ENOUGH * length * slope;
        if !decreases {
            high = length;
        } else if next.gradient.dot(direction) < FLATTER * slope {
            low = length;
        } else {
            return Ok(Some(next));
        }
        length = if high.is_finite() {
            0.5 * (low + high)
        } else {
            2.0 * low
        };
    }
    Ok(None)
}

fn norm(x: &Array1<f64>) -> f64 {
    x.dot(x).sqrt()
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use pullback::ndarray::array;

    use super::*;

    #[test]
    fn the_valley_of_rosenbrock_is_walked_to_its_end() {
        let rosenbrock = |x: ArrayView1<f64>| {
            let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
            let gradient = array![-2.0 * a - 400.0 * b * x[0], 200.0 * b];
            Ok::<_, Infallible>((a * a + 100.0 * b * b, gradient))
        };
        let Ok(minimum) = minimise(array![-1.2, 1.0], 100, 1e-10, rosenbrock);
        assert!(minimum.converged, "{:?}", minimum.values);
        assert!(
            (minimum.at - array![1.0, 1.0])
                .iter()
                .all(|error| error.abs() < 1e-8)
        );
        assert!(minimum.values.windows(2).all(|pair| pair[1] <= pair[0]));
    }

    #[test]
    fn a_function_that_fails_ends_the_search() {
        let outcome = minimise(array![1.0], 10, 1e-9, |x| {
            if x[0] < 1.0 {
                Err("broken")
            } else {
                Ok((x[0], array![1.0]))
            }
        });
        assert_eq!(outcome.err(), Some("broken"));
    }
}
