//! How far to go along a direction.

use autograd_core::Error;

/// A point along the direction: how far it is, and the loss there.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub(super) length: f64,
    pub(super) loss: f64,
    pub(super) gradient: Vec<f64>,
    /// The gradient along the direction.
    pub(super) slope: f64,
}

/// The loss must fall by this part of what the slope at the start predicts.
const SUFFICIENT: f64 = 1e-4;
/// The slope must flatten to this part of the one at the start.
const FLAT: f64 = 0.9;
const MAX_TRIALS: u64 = 25;

/// A line search from a point.
pub(super) struct Search<'a> {
    pub(super) start: &'a Point,
    /// The largest entry of the direction.
    pub(super) largest: f64,
    /// A bracket in which no entry changes by more is not searched.
    pub(super) tolerance: f64,
}

enum Bracket {
    Found(Point),
    Between([Point; 2]),
}

impl Search<'_> {
    /// A place that satisfies the strong Wolfe conditions, or else the lowest that was tried, and the number of
    /// trials: PyTorch's search, after Schmidt's minFunc; Algorithms 3.5 and 3.6 in Nocedal and Wright,
    /// *Numerical Optimization* (2006). A loss that is not finite is too far.
    pub(super) fn run(
        &self,
        first: f64,
        evaluate: &mut dyn FnMut(f64) -> Result<Point, Error>,
    ) -> Result<(Point, u64), Error> {
        let mut trials = 0;
        match self.bracket(first, &mut trials, evaluate)? {
            Bracket::Found(point) => Ok((point, trials + 1)),
            Bracket::Between(ends) => {
                let point = self.zoom(ends, &mut trials, evaluate)?;
                Ok((point, trials + 1))
            }
        }
    }

    /// Whether the loss has not fallen enough, or is not finite.
    fn is_too_high(&self, point: &Point) -> bool {
        let start = self.start;
        !point.loss.is_finite()
            || !point.slope.is_finite()
            || point.loss > start.loss + SUFFICIENT * point.length * start.slope
    }

    fn is_flat(&self, point: &Point) -> bool {
        point.slope.abs() <= -FLAT * self.start.slope
    }

    /// Searches until there is a suitable place, or two with one between them.
    fn bracket(
        &self,
        first: f64,
        trials: &mut u64,
        evaluate: &mut dyn FnMut(f64) -> Result<Point, Error>,
    ) -> Result<Bracket, Error> {
        let mut before = self.start.clone();
        let mut point = evaluate(first)?;
        while *trials < MAX_TRIALS {
            let rises = *trials > 1 && point.loss >= before.loss;
            if self.is_too_high(&point) || rises {
                return Ok(Bracket::Between([before, point]));
            }
            if self.is_flat(&point) {
                return Ok(Bracket::Found(point));
            }
            if point.slope >= 0.0 {
                return Ok(Bracket::Between([before, point]));
            }
            let least = point.length + 0.01 * (point.length - before.length);
            let length = cubic(&before, &point, [least, 10.0 * point.length]);
            before = std::mem::replace(&mut point, evaluate(length)?);
            *trials += 1;
        }
        Ok(Bracket::Between([self.start.clone(), point]))
    }

    /// Makes the bracket smaller.
    fn zoom(
        &self,
        mut ends: [Point; 2],
        trials: &mut u64,
        evaluate: &mut dyn FnMut(f64) -> Result<Point, Error>,
    ) -> Result<Point, Error> {
        let lower = |[a, b]: &[Point; 2]| usize::from(!is_at_most(a, b));
        let mut low = lower(&ends);
        let mut was_close = false;
        while *trials < MAX_TRIALS {
            if (ends[1].length - ends[0].length).abs() * self.largest < self.tolerance {
                break;
            }
            let length = next_length(&ends, &mut was_close);
            let point = evaluate(length)?;
            *trials += 1;
            let high = 1 - low;
            if self.is_too_high(&point) || point.loss >= ends[low].loss {
                ends[high] = point;
                low = lower(&ends);
                continue;
            }
            let found = self.is_flat(&point);
            if !found && point.slope * (ends[high].length - ends[low].length) >= 0.0 {
                // The old low end becomes the high one.
                ends.swap(0, 1);
            }
            ends[low] = point;
            if found {
                break;
            }
        }
        let [first, second] = ends;
        Ok(if low == 0 { first } else { second })
    }
}

/// Whether the first is the lower, or as low; NaN is highest.
fn is_at_most(a: &Point, b: &Point) -> bool {
    a.loss <= b.loss || b.loss.is_nan()
}

/// Returns where to look next in the bracket: not twice in a row near one of its ends.
fn next_length(ends: &[Point; 2], was_close: &mut bool) -> f64 {
    let [a, b] = [ends[0].length, ends[1].length];
    let (least, most) = (a.min(b), a.max(b));
    let length = cubic(&ends[0], &ends[1], [least, most]);
    let margin = 0.1 * (most - least);
    let is_close = (most - length).min(length - least) < margin;
    if is_close && (*was_close || length >= most || length <= least) {
        *was_close = false;
        return if (length - most).abs() < (length - least).abs() {
            most - margin
        } else {
            least + margin
        };
    }
    *was_close = is_close;
    length
}

/// Where the cubic through both points, with their slopes, is lowest, within bounds; their middle if there is
/// no such place.
fn cubic(a: &Point, b: &Point, [least, most]: [f64; 2]) -> f64 {
    let d = a.slope + b.slope - 3.0 * (a.loss - b.loss) / (a.length - b.length);
    let square = d * d - a.slope * b.slope;
    let (near, far) = if a.length <= b.length { (a, b) } else { (b, a) };
    let root = square.sqrt();
    let part = (far.slope + root - d) / (far.slope - near.slope + 2.0 * root);
    let length = far.length - (far.length - near.length) * part;
    if length.is_nan() {
        // No root, or a loss that is NaN.
        return f64::midpoint(least, most);
    }
    length.max(least).min(most)
}
