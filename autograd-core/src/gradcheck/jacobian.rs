//! The Jacobian, by backward passes, by forward mode and by central differences.

use super::{Tolerances, directions};
use crate::engine::gradients;
use crate::erased::AnyTensor;
use crate::error::{Check, Derivative, Error, Mismatch};
use crate::forward_mode::along;
use crate::grad_mode::{enable_grad, no_grad};
use crate::tape::{AnyGradient, Edge};

/// A function of tensors whose types are forgotten.
pub(super) type Erased<'a> = dyn Fn(&[AnyTensor]) -> Result<Vec<AnyTensor>, Error> + 'a;

/// One run of the function with leaves for the inputs that are checked.
pub(super) struct Recorded {
    pub(super) inputs: Vec<AnyTensor>,
    pub(super) outputs: Vec<AnyTensor>,
}

/// Compares every derivative of every output of `function` at `inputs` with respect to those that are
/// `checked`.
pub(super) fn check(
    function: &Erased<'_>,
    inputs: &[AnyTensor],
    checked: &[bool],
    tolerances: Tolerances,
    derivative: Derivative,
) -> Result<(), Error> {
    if tolerances.fast && directions::agree(function, inputs, checked, tolerances)? {
        return Ok(());
    }
    let recorded = Recorded::run(function, inputs, checked)?;
    let analytical = recorded.analytical()?;
    let mut moved: Vec<AnyTensor> = inputs.iter().map(AnyTensor::copy).collect();
    for input in (0..inputs.len()).filter(|&input| checked[input]) {
        let columns: Vec<_> = analytical
            .iter()
            .map(|rows| Columns::new(rows, input, inputs[input].len()))
            .collect();
        for entry in 0..inputs[input].len() {
            let numerical = central_difference(function, &mut moved, input, entry, tolerances.eps)?;
            let analytical = |output: usize, row: usize| columns[output].column(entry)[row];
            recorded.compare(
                [input, entry],
                analytical,
                &numerical,
                tolerances,
                derivative,
            )?;
        }
    }
    Ok(())
}

/// The derivatives of all entries of an output by each entry of an input, one entry after the other.
struct Columns {
    rows: usize,
    elements: Vec<f64>,
}

impl Columns {
    fn new(rows: &[Vec<Vec<f64>>], input: usize, entries: usize) -> Self {
        /// As many entries of a row as are read at once, while they are in cache.
        const BLOCK: usize = 16;
        let length = rows.len().max(1);
        let mut elements = vec![0.0; length * entries];
        for (block, columns) in elements.chunks_mut(length * BLOCK).enumerate() {
            for (place, row) in rows.iter().enumerate() {
                let entries = &row[input][block * BLOCK..];
                for (column, &entry) in columns.chunks_exact_mut(length).zip(entries) {
                    column[place] = entry;
                }
            }
        }
        let rows = rows.len();
        Self { rows, elements }
    }

    fn column(&self, entry: usize) -> &[f64] {
        &self.elements[entry * self.rows..][..self.rows]
    }
}

/// Compares every derivative of every output of `function` along every entry of the inputs that are
/// `checked`, as forward mode computes it.
pub(super) fn check_forward(
    function: &Erased<'_>,
    inputs: &[AnyTensor],
    checked: &[bool],
    tolerances: Tolerances,
    derivative: Derivative,
) -> Result<(), Error> {
    if tolerances.fast && directions::agree_forward(function, inputs, checked, tolerances)? {
        return Ok(());
    }
    let recorded = Recorded::run(function, inputs, checked)?;
    let mut moved: Vec<AnyTensor> = inputs.iter().map(AnyTensor::copy).collect();
    for input in (0..inputs.len()).filter(|&input| checked[input]) {
        for entry in 0..inputs[input].len() {
            let numerical = central_difference(function, &mut moved, input, entry, tolerances.eps)?;
            let mut directions: Vec<AnyTensor> = inputs.iter().map(AnyTensor::zeros).collect();
            directions[input].set(entry, 1.0);
            let (_, tangents) = along(function, recorded.inputs.clone(), directions)?;
            let tangent = |output: usize, entry: usize| tangents[output].value(entry);
            recorded.compare([input, entry], tangent, &numerical, tolerances, derivative)?;
        }
    }
    Ok(())
}

/// Checks the function that maps the inputs of `function` and a direction for each to the tangents of
/// its outputs, by backward passes and by forward mode.
pub(super) fn check_tangents(
    function: &Erased<'_>,
    inputs: &[AnyTensor],
    checked: &[bool],
    tolerances: Tolerances,
) -> Result<(), Error> {
    let tangents_of = |tensors: &[AnyTensor]| {
        let (primals, directions) = tensors.split_at(inputs.len());
        let (_, tangents) = along(function, primals.to_vec(), directions.to_vec())?;
        Ok(tangents)
    };
    let all: Vec<AnyTensor> = inputs
        .iter()
        .cloned()
        .chain(inputs.iter().map(AnyTensor::arbitrary))
        .collect();
    let all_checked = checked.repeat(2);
    let derivative = Derivative::SecondTangent;
    check(&tangents_of, &all, &all_checked, tolerances, derivative)?;
    check_forward(&tangents_of, &all, &all_checked, tolerances, derivative)
}

/// Checks the function that maps the inputs of `function` and the gradients of its outputs to the
/// gradients of its inputs.
pub(super) fn check_gradients(
    function: &Erased<'_>,
    inputs: &[AnyTensor],
    checked: &[bool],
    tolerances: Tolerances,
) -> Result<(), Error> {
    let outputs = Recorded::run(function, inputs, checked)?.outputs;
    let differentiable: Vec<bool> = outputs
        .iter()
        .map(|output| output.edge().is_some())
        .collect();
    let seeds = outputs
        .iter()
        .zip(&differentiable)
        .filter(|(_, differentiable)| **differentiable);
    let seeds: Vec<_> = seeds.map(|(output, _)| output.arbitrary()).collect();

    let gradients_of = |tensors: &[AnyTensor]| {
        let (inputs, seeds) = tensors.split_at(inputs.len());
        enable_grad(|| weighted_gradients(function, inputs, checked, seeds))
    };
    let all_checked: Vec<bool> = checked
        .iter()
        .copied()
        .chain(seeds.iter().map(|_| true))
        .collect();
    let all: Vec<AnyTensor> = inputs.iter().cloned().chain(seeds).collect();
    check(
        &gradients_of,
        &all,
        &all_checked,
        tolerances,
        Derivative::Second,
    )
}

/// The gradients of `function` at `inputs`, with `seeds` coming in for its differentiable outputs.
fn weighted_gradients(
    function: &Erased<'_>,
    inputs: &[AnyTensor],
    checked: &[bool],
    seeds: &[AnyTensor],
) -> Result<Vec<AnyTensor>, Error> {
    let inputs: Vec<AnyTensor> = inputs
        .iter()
        .zip(checked)
        .map(|(input, &checked)| match input.edge() {
            None if checked => input.leaf(),
            _ => input.clone(),
        })
        .collect();
    let outputs = function(&inputs)?;
    let roots = outputs.iter().filter_map(AnyTensor::edge).zip(seeds);
    let roots = roots
        .map(|(edge, seed)| (edge, seed.clone().into_grad()))
        .collect();
    let targets: Vec<_> = inputs.iter().filter_map(AnyTensor::edge).collect();
    let found = gradients(roots, &targets, true)?;
    let attached = inputs.iter().filter(|input| input.edge().is_some());
    Ok(attached
        .zip(found)
        .map(|(input, grad)| grad.map_or_else(|| input.zeros(), AnyTensor::from_grad))
        .collect())
}

/// The derivative of every output by one entry of one input.
fn central_difference(
    function: &Erased<'_>,
    inputs: &mut [AnyTensor],
    input: usize,
    entry: usize,
    eps: f64,
) -> Result<Vec<Vec<f64>>, Error> {
    let centre = inputs[input].value(entry);
    let mut at = |value: f64| {
        inputs[input].set(entry, value);
        let outputs = no_grad(|| function(inputs))?;
        // What was moved is what `f32` made of it.
        let moved = inputs[input].value(entry);
        Ok::<_, Error>((
            moved,
            outputs.iter().map(AnyTensor::values).collect::<Vec<_>>(),
        ))
    };
    let (high, mut above) = at(centre + eps)?;
    let (low, below) = at(centre - eps)?;
    inputs[input].set(entry, centre);
    let step = high - low;
    for (above, below) in above.iter_mut().zip(&below) {
        assert_eq!(
            above.len(),
            below.len(),
            "a checked function changed its output's shape"
        );
        for (above, below) in above.iter_mut().zip(below) {
            *above = (*above - below) / step;
        }
    }
    Ok(above)
}

impl Recorded {
    pub(super) fn run(
        function: &Erased<'_>,
        inputs: &[AnyTensor],
        checked: &[bool],
    ) -> Result<Self, Error> {
        let inputs: Vec<AnyTensor> = inputs
            .iter()
            .zip(checked)
            .map(|(input, &checked)| if checked { input.leaf() } else { input.clone() })
            .collect();
        let outputs = enable_grad(|| function(&inputs))?;
        Ok(Self { inputs, outputs })
    }

    /// For each output, entry of it and input: the gradient. Zeros where there is none.
    pub(super) fn analytical(&self) -> Result<Vec<Vec<Vec<Vec<f64>>>>, Error> {
        self.outputs
            .iter()
            .map(|output| {
                (0..output.len())
                    .map(|entry| self.row(output, entry))
                    .collect()
            })
            .collect()
    }

    fn row(&self, output: &AnyTensor, entry: usize) -> Result<Vec<Vec<f64>>, Error> {
        let root = output
            .edge()
            .map(|edge| (edge, output.one_hot(entry).into_grad()));
        self.gradients(root.into_iter().collect())
    }

    /// What arrives at each input, entry by entry in row-major order, when each root starts with its
    /// gradient. Zeros where nothing does.
    pub(super) fn gradients(
        &self,
        roots: Vec<(&Edge, AnyGradient)>,
    ) -> Result<Vec<Vec<f64>>, Error> {
        let targets: Vec<_> = self.inputs.iter().filter_map(AnyTensor::edge).collect();
        let mut found = gradients(roots, &targets, false)?.into_iter();
        let arrived = self.inputs.iter().map(|input| {
            let grad = input.edge().and_then(|_| found.next().flatten());
            grad.map_or_else(
                || vec![0.0; input.len()],
                |grad| AnyTensor::from_grad(grad).values(),
            )
        });
        Ok(arrived.collect())
    }

    /// Compares the derivatives of all outputs by one entry of one input.
    fn compare(
        &self,
        [input, entry]: [usize; 2],
        analytical: impl Fn(usize, usize) -> f64,
        numerical: &[Vec<f64>],
        tolerances: Tolerances,
        derivative: Derivative,
    ) -> Result<(), Error> {
        for (output, numerical) in numerical.iter().enumerate() {
            for (output_entry, &numerical) in numerical.iter().enumerate() {
                let analytical = analytical(output, output_entry);
                if tolerances.exceeded(analytical, numerical) {
                    let place = [input, entry, output, output_entry];
                    let values = (analytical, numerical, tolerances.of(numerical));
                    return Err(self.mismatch(place, values, derivative));
                }
                tolerances.largest.note(derivative, analytical - numerical);
            }
        }
        Ok(())
    }

    fn mismatch(
        &self,
        [input, entry, output, output_entry]: [usize; 4],
        (analytical, numerical, tolerance): (f64, f64, f64),
        derivative: Derivative,
    ) -> Error {
        Error::Gradcheck(Box::new(Mismatch {
            function: None,
            check: Check::Differences,
            derivative,
            input,
            input_name: None,
            input_entry: indices(entry, self.inputs[input].shape()),
            input_value: self.inputs[input].value(entry),
            output,
            output_entry: indices(output_entry, self.outputs[output].shape()),
            analytical,
            numerical,
            tolerance,
        }))
    }
}

/// The index along each axis of the `entry`th element in row-major order.
pub(super) fn indices(mut entry: usize, shape: &[usize]) -> Vec<usize> {
    let mut indices = vec![0; shape.len()];
    for (index, &length) in indices.iter_mut().zip(shape).rev() {
        *index = entry % length;
        entry /= length;
    }
    indices
}
