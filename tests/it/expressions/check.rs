//! Results of the loops for an expression, and the two checks of them.

use pullback::kernels::{Blocks, Evaluation, evaluate};
use pullback::ndarray::{Array1, ArrayView1, ArrayViewD};
use pullback::{Grad, Tensor, Tensor1};

use super::tensors::on_tensors;
use super::tree::{INPUTS, Operation, Tree};

/// Beyond it, derivatives are too large to be compared with differences.
pub(super) const LARGEST: f64 = 1e3;

/// A point with a direction in it, the gradient of the result and a direction of that, and the same once more.
#[derive(Debug)]
pub(super) struct Points(pub(super) [f64; 10]);

const POINTS: usize = 2;

impl Points {
    /// Returns the points, and the directions.
    fn split(&self) -> [[[f64; INPUTS]; POINTS]; 2] {
        let n = &self.0;
        let points = [[n[0], n[1], n[2]], [n[3], n[4], n[5]]];
        let directions = [[n[6], n[7], n[8]], [n[9], n[6] + n[0], n[7] - n[8]]];
        [points, directions]
    }
}

/// The numbers of results that were compared and skipped.
#[derive(Default)]
pub(super) struct Verdict {
    pub(super) compared: usize,
    pub(super) skipped: usize,
}

/// The results of the loops for an expression at some points.
pub(super) struct Found<'a> {
    tree: &'a Tree,
    points: [[f64; INPUTS]; POINTS],
    directions: [[f64; INPUTS]; POINTS],
    /// The gradients of the results, and their derivatives along the direction.
    gradients: [[f64; POINTS]; 2],
    values: Vec<f64>,
    /// The largest absolute value of an operation, at each point.
    sizes: [f64; POINTS],
    /// The derivatives with respect to each input.
    firsts: [Vec<f64>; INPUTS],
    /// The derivatives of those along the direction.
    seconds: [Vec<f64>; INPUTS],
}

/// Evaluates a tree on rows of numbers.
fn evaluated(
    tree: &Tree,
    evaluation: Evaluation,
    inputs: &[Vec<f64>],
    wanted: &[bool],
) -> Vec<Option<Vec<f64>>> {
    let length = inputs[0].len();
    let views: Vec<Option<ArrayViewD<'_, f64>>> = inputs
        .iter()
        .map(|input| Some(ArrayView1::from(&input[..]).into_dyn()))
        .collect();
    evaluate(
        &Blocks::<_, INPUTS, 1, 2>(tree.clone()),
        evaluation,
        &views,
        &[length],
        wanted,
    )
}

/// Returns a row of numbers for each input.
fn rows(points: &[[f64; INPUTS]]) -> Vec<Vec<f64>> {
    let row = |input| points.iter().map(|point| point[input]).collect();
    (0..INPUTS).map(row).collect()
}

fn all<const N: usize>(results: Vec<Option<Vec<f64>>>) -> [Vec<f64>; N] {
    let mut results = results.into_iter().flatten();
    std::array::from_fn(|_| results.next().unwrap())
}

fn values(tree: &Tree, points: &[[f64; INPUTS]]) -> Vec<f64> {
    let [values] = all(evaluated(tree, Evaluation::Values, &rows(points), &[true]));
    values
}

fn firsts(tree: &Tree, points: &[[f64; INPUTS]], gradients: &[f64]) -> [Vec<f64>; INPUTS] {
    let mut inputs = rows(points);
    inputs.push(gradients.to_vec());
    let wanted = [true, true, true, false];
    all(evaluated(
        tree,
        Evaluation::Partials { order: 1 },
        &inputs,
        &wanted,
    ))
}

impl<'a> Found<'a> {
    pub(super) fn new(tree: &'a Tree, points: &Points) -> Self {
        let gradients = [[1.0, -0.75], [0.5, 2.0]];
        let [points, directions] = points.split();
        let mut inputs = rows(&points);
        inputs.push(gradients[0].to_vec());
        inputs.extend(rows(&directions));
        inputs.push(gradients[1].to_vec());
        let wanted = [true, true, true, false, false, false, false, false];
        let seconds = all(evaluated(
            tree,
            Evaluation::Partials { order: 2 },
            &inputs,
            &wanted,
        ));
        Self {
            tree,
            points,
            directions,
            gradients,
            values: values(tree, &points),
            sizes: points.map(|point| tree.plain(point).1),
            firsts: firsts(tree, &points, &gradients[0]),
            seconds,
        }
    }

    /// Returns whether all that was found at a point is of moderate size.
    fn is_moderate(&self, at: usize) -> bool {
        let derivatives = self.firsts.iter().chain(&self.seconds);
        self.sizes[at] < LARGEST
            && derivatives
                .map(|of| of[at])
                .all(|derivative| derivative.abs() < LARGEST)
    }

    /// Compares with differences, and the passes with each other.
    pub(super) fn agrees_with_differences(&self) -> Result<Verdict, String> {
        let mut verdict = Verdict::default();
        self.evaluations_agree()?;
        if self.tree.operations().any(|of| of == Operation::Detach) {
            // The derivative is no difference by intention, so the passes have each other alone.
            verdict.compared += 1;
            return Ok(verdict);
        }
        let stencils = self.stencils();
        for at in 0..POINTS {
            if !self.is_moderate(at) {
                verdict.skipped += 2 * INPUTS;
                continue;
            }
            let [gradient, moved] = self.gradients.map(|of| of[at]);
            let noise = 1.0 + self.sizes[at];
            for (input, stencil) in stencils.iter().enumerate() {
                let axis: [f64; INPUTS] = std::array::from_fn(|i| f64::from(i == input));
                let value = |point: [f64; INPUTS]| self.tree.plain(point).0;
                let found = self.firsts[input][at];
                if !(self.is_steady(at, axis) && self.is_steady(at, self.directions[at])) {
                    verdict.skipped += 2;
                    continue;
                }
                let first = difference(|h| gradient * value(moved_by(self.points[at], axis, h)));
                verdict.compare("derivative", input, found, first, (1e-6, 1e-9 * noise))?;
                let of_step = |step: usize| stencil[at * STEPS.len() + step];
                let second = richardson(std::array::from_fn(of_step));
                let along = self.seconds[input][at] - moved / gradient * found;
                verdict.compare("second derivative", input, along, second, (1e-4, 1e-7))?;
            }
        }
        Ok(verdict)
    }

    /// Returns whether nothing jumps near a point: what is rounded, of large numbers, may seem to have a slope.
    fn is_steady(&self, at: usize, direction: [f64; INPUTS]) -> bool {
        let rounded = |step| {
            let point = moved_by(self.points[at], direction, step);
            self.tree.plain(point).2
        };
        STEPS.iter().all(|&step| rounded(step) == rounded(0.0))
    }

    /// Returns the derivatives at all steps along the directions of the points.
    fn stencils(&self) -> [Vec<f64>; INPUTS] {
        let at_steps = |at| {
            let (point, direction) = (self.points[at], self.directions[at]);
            STEPS.map(|step| moved_by(point, direction, step))
        };
        let points: Vec<_> = (0..POINTS).flat_map(at_steps).collect();
        let gradients: Vec<f64> = self.gradients[0]
            .iter()
            .flat_map(|&gradient| [gradient; STEPS.len()])
            .collect();
        firsts(self.tree, &points, &gradients)
    }

    /// Checks what does not need a judge: the same numbers by different loops.
    fn evaluations_agree(&self) -> Result<(), String> {
        let mut inputs = rows(&self.points);
        inputs.extend(rows(&self.directions));
        let [tangents]: [Vec<f64>; 1] =
            all(evaluated(self.tree, Evaluation::Tangents, &inputs, &[true]));
        inputs.truncate(INPUTS);
        inputs.push(self.gradients[0].to_vec());
        let alone: [Vec<f64>; INPUTS] = std::array::from_fn(|input| {
            let wanted: [bool; INPUTS + 1] = std::array::from_fn(|index| index == input);
            let [alone] = all(evaluated(
                self.tree,
                Evaluation::Partials { order: 1 },
                &inputs,
                &wanted,
            ));
            alone
        });
        for at in 0..POINTS {
            let (value, plain) = (self.values[at], self.tree.plain(self.points[at]).0);
            same("value", value, plain)?;
            if !self.is_moderate(at) {
                continue;
            }
            for (alone, together) in alone.iter().zip(&self.firsts) {
                close("derivative alone", alone[at], together[at], 1e-12)?;
            }
            let products =
                (0..INPUTS).map(|input| self.directions[at][input] * self.firsts[input][at]);
            let (sum, size) = products.fold((0.0, 1.0), |(sum, size), product| {
                (sum + product, size + product.abs())
            });
            let sum = sum / self.gradients[0][at];
            if (tangents[at] - sum).abs() > 1e-11 * size {
                return Err(format!("tangent {}, by derivatives {sum}", tangents[at]));
            }
        }
        Ok(())
    }

    /// Compares with the expression on tensors.
    pub(super) fn agrees_with_tensors(&self) -> Result<Verdict, String> {
        let mut verdict = Verdict::default();
        let [values, firsts, seconds] = self.by_tensors();
        for at in 0..POINTS {
            let mut by_tensors = [&values, &firsts, &seconds].into_iter().flatten();
            if !self.is_moderate(at) || !by_tensors.all(|of| of[at].is_finite()) {
                verdict.skipped += 2 * INPUTS;
                continue;
            }
            close("value", self.values[at], values[0][at], 1e-11)?;
            for input in 0..INPUTS {
                let (found, expected) = (self.firsts[input][at], firsts[input][at]);
                close("derivative", found, expected, 1e-10)?;
                let (found, expected) = (self.seconds[input][at], seconds[input][at]);
                close("second derivative", found, expected, 1e-10)?;
                verdict.compared += 2;
            }
        }
        Ok(verdict)
    }

    /// Returns values, derivatives and second derivatives by backward passes.
    fn by_tensors(&self) -> [Vec<Array1<f64>>; 3] {
        let constants = |rows: Vec<Vec<f64>>| -> [Tensor1<f64>; INPUTS] {
            let mut rows = rows.into_iter().map(|row| Tensor::from(Array1::from(row)));
            std::array::from_fn(|_| rows.next().unwrap())
        };
        let leaves = constants(rows(&self.points)).map(|leaf| leaf.set_requires_grad(true));
        let [x, y, z] = &leaves;
        let directions = constants(rows(&self.directions));
        let [gradient, moved] = self
            .gradients
            .map(|of| Tensor::from(Array1::from(of.to_vec())));
        // An expression may use no input, and a derivative neither.
        let unused = || (x + y + z).sum() * 0.0;
        let values = on_tensors(self.tree, &leaves);
        let firsts = |gradient: &Tensor1<f64>| {
            let loss = (&values * gradient).sum() + unused();
            let (x, y, z) = Grad::of(&loss).create_graph(true).run((x, y, z)).unwrap();
            [x, y, z]
        };
        let (along, weighted) = (firsts(&gradient), firsts(&moved));
        let mut sum = unused();
        for (of, direction) in along.iter().zip(&directions) {
            sum = sum + (of * direction).sum();
        }
        let (x, y, z) = Grad::of(&sum).run((x, y, z)).unwrap();
        let parts = [x, y, z].into_iter().zip(&weighted);
        let seconds = parts.map(|(second, first)| second.to_array() + first.view());
        let seconds = seconds.collect();
        [
            vec![values.to_array()],
            along.iter().map(Tensor::to_array).collect(),
            seconds,
        ]
    }
}

impl Verdict {
    /// Compares with a difference, unless that cannot be trusted. A tolerance is relative and absolute.
    fn compare(
        &mut self,
        what: &str,
        input: usize,
        found: f64,
        [expected, coarse]: [f64; 2],
        (relative, absolute): (f64, f64),
    ) -> Result<(), String> {
        let tolerance = relative * expected.abs() + absolute;
        let error = (expected - coarse).abs();
        if error.is_nan() || error > 0.5 * tolerance {
            self.skipped += 1;
            return Ok(());
        }
        self.compared += 1;
        if (found - expected).abs() <= tolerance {
            return Ok(());
        }
        Err(format!(
            "{what} {input} is {found}, by differences {expected}"
        ))
    }
}

fn moved_by(point: [f64; INPUTS], direction: [f64; INPUTS], step: f64) -> [f64; INPUTS] {
    std::array::from_fn(|input| point[input] + direction[input] * step)
}

/// The longest step of differences.
const STEP: f64 = 4e-4;

const STEPS: [f64; 6] = [
    -STEP,
    STEP,
    -STEP / 2.0,
    STEP / 2.0,
    -STEP / 4.0,
    STEP / 4.0,
];

/// Returns the derivative of a function of one number at 0, as [`richardson`] does.
fn difference(f: impl Fn(f64) -> f64) -> [f64; 2] {
    richardson(STEPS.map(f))
}

/// Returns a derivative of fourth order, of values at [`STEPS`], and another by longer steps: where both agree there is
/// no kink between them.
fn richardson(values: [f64; 6]) -> [f64; 2] {
    let central = |place: usize| {
        (values[2 * place + 1] - values[2 * place]) / (STEPS[2 * place + 1] - STEPS[2 * place])
    };
    let extrapolated = |long: usize| (4.0 * central(long + 1) - central(long)) / 3.0;
    [extrapolated(1), extrapolated(0)]
}

fn same(what: &str, found: f64, expected: f64) -> Result<(), String> {
    if found == expected || found.is_nan() && expected.is_nan() {
        return Ok(());
    }
    Err(format!("{what} {found}, not {expected}"))
}

/// Compares values and tangents, derivatives, second derivatives and tangents of tangents, where all are moderate.
pub(super) fn all_agree(
    found: &[Vec<f64>; 4],
    expected: &[Vec<f64>; 4],
    tolerance: f64,
) -> Result<Verdict, String> {
    let mut verdict = Verdict::default();
    let is_moderate = |number: &f64| number.abs() < LARGEST;
    if !expected.iter().flatten().all(is_moderate) {
        verdict.skipped += 1;
        return Ok(verdict);
    }
    let names = [
        "value or tangent",
        "derivative",
        "second derivative",
        "tangent of a tangent",
    ];
    for ((name, found), expected) in names.iter().zip(found).zip(expected) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            close(name, *found, *expected, tolerance)?;
        }
    }
    verdict.compared += 1;
    Ok(verdict)
}

pub(super) fn close(what: &str, found: f64, expected: f64, tolerance: f64) -> Result<(), String> {
    if (found - expected).abs() <= tolerance * (1.0 + expected.abs()) {
        return Ok(());
    }
    Err(format!("{what} {found}, not {expected}"))
}
