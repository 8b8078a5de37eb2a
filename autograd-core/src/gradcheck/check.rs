//! [`Check`] compares the derivatives of a function at one point, by backward passes and by forward mode, with central
//! differences, entry by entry. The derivative of a function is a function that has a `Check` of its own.

use std::panic::Location;

use ndarray::Array2;

use super::samples::arbitrary_gradients;
use super::tolerances::Tolerances;
use crate::erased::{AnyTensor, ErasedFn};
use crate::error::{self, Derivative, Error, ErrorKind, Mismatch};
use crate::forward_mode::{known, outputs_along};
use crate::recording::{Recording, or_zeros};
use crate::thread::no_grad;

/// The mode by which a derivative is computed.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Mode {
    Backward,
    Forward,
}

pub(super) struct Check<'a> {
    pub(super) function: Box<ErasedFn<'a>>,
    /// The inputs that are checked: differences move them.
    pub(super) inputs: Vec<AnyTensor>,
    /// The index of each checked input among all inputs of the user's function.
    pub(super) positions: Vec<usize>,
    /// For each checked input, whether the gradient is an estimate: differences are not compared. The inputs that a
    /// derivative has beside them are left out.
    pub(super) estimated: Vec<bool>,
    /// The number of all inputs of the user's function.
    pub(super) count: usize,
    pub(super) recorded: Recording,
    pub(super) tolerances: Tolerances,
    /// Whether directions are compared first, and entries only where directions differ.
    pub(super) fast: bool,
    /// The mode by which the function was derived from the user's function; `None` for that function itself.
    pub(super) derived: Option<Mode>,
}

impl Check<'_> {
    /// Returns the check of the function that maps inputs, and gradients of the outputs, to gradients of the inputs.
    #[inline]
    pub(super) fn of_gradients(&self) -> Result<Check<'_>, Error> {
        let recorded = &self.recorded;
        let seeds = arbitrary_gradients(&recorded.outputs, self.count);
        let seeds: Vec<AnyTensor> = seeds.into_iter().flatten().collect();
        let positions = self.count..self.count + seeds.len();
        let function = gradients(&*self.function, self.inputs.len(), recorded.called_at);
        self.of_derivative(Mode::Backward, function, seeds, positions)
    }

    /// Returns the check of the function that maps the inputs, and a direction for each, to tangents of the outputs.
    #[inline]
    pub(super) fn of_tangents(&self) -> Result<Check<'_>, Error> {
        let positions = self.positions.iter().map(|position| self.count + position);
        let directions = self.inputs.iter().zip(positions.clone());
        let directions = directions
            .map(|(input, position)| input.arbitrary(position))
            .collect();
        let function = |tensors: &[AnyTensor]| {
            let (primals, directions) = tensors.split_at(self.inputs.len());
            tangents(&*self.function, primals, directions.to_vec())
        };
        self.of_derivative(Mode::Forward, function, directions, positions)
    }

    fn of_derivative<'c>(
        &'c self,
        mode: Mode,
        function: impl Fn(&[AnyTensor]) -> Result<Vec<AnyTensor>, Error> + 'c,
        vectors: Vec<AnyTensor>,
        positions: impl Iterator<Item = usize>,
    ) -> Result<Check<'c>, Error> {
        let added = match mode {
            Mode::Backward => vectors.len(),
            Mode::Forward => self.count,
        };
        let inputs: Vec<AnyTensor> = self.inputs.iter().cloned().chain(vectors).collect();
        Ok(Check {
            recorded: Recording::of(&function, &inputs, false, self.recorded.called_at)?,
            function: Box::new(function),
            count: self.count + added,
            positions: self.positions.iter().copied().chain(positions).collect(),
            estimated: self.estimated.clone(),
            inputs,
            tolerances: self.tolerances,
            fast: self.fast,
            derived: self.derived.or(Some(mode)),
        })
    }

    /// Compares the derivative of each entry of the outputs by each entry of the inputs.
    #[inline]
    pub(super) fn compare(&self, mode: Mode) -> Result<(), Error> {
        if self.fast && self.agrees(mode)? {
            return Ok(());
        }
        let columns = match mode {
            Mode::Backward => self.columns()?,
            Mode::Forward => Vec::new(),
        };
        let mut moved: Vec<AnyTensor> = self.inputs.iter().map(AnyTensor::copy).collect();
        let is_estimated = |input: &usize| self.estimated.get(*input) == Some(&true);
        let compared = (0..moved.len()).filter(|input| !is_estimated(input));
        for input in compared {
            for entry in 0..moved[input].len() {
                let [below, above] = self.differences(&mut moved, input, entry)?;
                let numerical = central(&below, &above);
                let place = [input, entry];
                match mode {
                    Mode::Backward => {
                        let column = columns[input].row(entry);
                        let column = column.iter().copied();
                        self.compare_column(mode, place, column, &numerical, [&below, &above])?;
                    }
                    Mode::Forward => {
                        let tangents = self.tangents(input, self.inputs[input].one_hot(entry))?;
                        let column = tangents.iter().flat_map(AnyTensor::values);
                        self.compare_column(mode, place, column, &numerical, [&below, &above])?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns, for each input, a row for each of its entries: the derivatives of all entries of the outputs, by a
    /// backward pass for each entry of the outputs.
    #[inline]
    pub(super) fn columns(&self) -> Result<Vec<Array2<f64>>, Error> {
        /// The number of passes whose results are written together: single numbers would each miss the cache.
        const PASSES: usize = 16;
        let outputs = self.recorded.outputs.iter();
        let passes: Vec<(&AnyTensor, usize)> = outputs
            .flat_map(|output| (0..output.len()).map(move |entry| (output, entry)))
            .collect();
        let inputs = self.inputs.iter();
        let mut columns: Vec<Array2<f64>> = inputs
            .map(|input| Array2::zeros((input.len(), passes.len())))
            .collect();
        for (block, passes) in passes.chunks(PASSES).enumerate() {
            let found = passes
                .iter()
                .map(|&(output, entry)| self.recorded.row(output, entry, false));
            let found = found.collect::<Result<Vec<_>, _>>()?;
            for (input, columns) in columns.iter_mut().enumerate() {
                let values = |(pass, row): (usize, &Vec<Option<AnyTensor>>)| {
                    Some((block * PASSES + pass, row[input].as_ref()?.values()))
                };
                let rows: Vec<_> = found.iter().enumerate().filter_map(values).collect();
                for (entry, mut column) in columns.outer_iter_mut().enumerate() {
                    for (pass, row) in &rows {
                        column[*pass] = row[entry];
                    }
                }
            }
        }
        Ok(columns)
    }

    /// Returns the derivatives of the outputs in this direction of one input, by forward mode.
    #[inline]
    pub(super) fn tangents(
        &self,
        input: usize,
        direction: AnyTensor,
    ) -> Result<Vec<AnyTensor>, Error> {
        let inputs = &self.recorded.inputs;
        let mut directions: Vec<AnyTensor> = inputs.iter().map(AnyTensor::zeros).collect();
        directions[input] = direction;
        tangents(&*self.function, inputs, directions)
    }

    /// Returns the outputs with an entry of an input moved down and up by a step, and the steps. The inputs are in
    /// `moved`.
    #[inline]
    fn differences(
        &self,
        moved: &mut [AnyTensor],
        input: usize,
        entry: usize,
    ) -> Result<[Beside; 2], Error> {
        let center = moved[input].value(entry);
        let mut at = |value: f64| {
            moved[input].set(entry, value);
            let outputs = no_grad(|| (self.function)(moved))?;
            let outputs: Vec<Vec<f64>> = outputs.iter().map(AnyTensor::values).collect();
            Ok::<_, Error>(Beside {
                // What was moved is what `f32` made of it.
                step: moved[input].value(entry) - center,
                outputs: outputs.concat(),
            })
        };
        let above = at(center + self.tolerances.eps)?;
        let below = at(center - self.tolerances.eps)?;
        moved[input].set(entry, center);
        assert_eq!(above.outputs.len(), below.outputs.len(), "{CHANGED}");
        Ok([below, above])
    }

    /// Returns the one-sided differences of an entry of the outputs, if they are so far apart that the derivative may
    /// not exist.
    #[inline]
    fn sides(&self, [below, above]: [&Beside; 2], row: usize) -> Option<[f64; 2]> {
        let outputs = self.recorded.outputs.iter().flat_map(AnyTensor::values);
        let center = outputs.into_iter().nth(row)?;
        let slope = |beside: &Beside| (beside.outputs[row] - center) / beside.step;
        let sides = [slope(below), slope(above)];
        let apart = (sides[0] - sides[1]).abs();
        let largest = sides[0].abs().max(sides[1].abs());
        // A smooth function's are apart by the step times its second derivative.
        if apart <= 10.0 * self.tolerances.of(largest) || apart <= 0.01 * largest {
            return None;
        }
        // An entry that has changed since, as with a backward function that has state, has no sides.
        let again = no_grad(|| (self.function)(&self.inputs)).ok()?;
        let mut again = again.iter().flat_map(AnyTensor::values);
        (again.nth(row) == Some(center)).then_some(sides)
    }

    /// Returns the value of an output, and what its rounding alone changes in a difference, if that is more than the
    /// tolerance.
    #[inline]
    fn coarse(
        &self,
        output: usize,
        value: f64,
        [below, above]: [&Beside; 2],
        numerical: f64,
    ) -> Option<[f64; 2]> {
        let epsilon = match self.recorded.outputs[output] {
            AnyTensor::F32(_) => f64::from(f32::EPSILON),
            AnyTensor::F64(_) => f64::EPSILON,
        };
        let rounding = epsilon * value.abs() / (above.step - below.step);
        (rounding > self.tolerances.of(numerical)).then_some([value, rounding])
    }

    /// Compares the derivatives of the outputs by one entry of one input.
    fn compare_column(
        &self,
        mode: Mode,
        [input, entry]: [usize; 2],
        analytical: impl Iterator<Item = f64>,
        numerical: &[f64],
        beside: [&Beside; 2],
    ) -> Result<(), Error> {
        let derivative = self.derivative(mode);
        for (row, (analytical, &numerical)) in analytical.zip(numerical).enumerate() {
            if self.tolerances.exceeded(analytical, numerical) {
                let sides = self.sides(beside, row);
                let [output, entry_of] = self.place(row);
                let output_value = beside[1].outputs[row];
                return Err(Error::new(ErrorKind::Gradcheck(Mismatch {
                    output_entry: indices(entry_of, self.recorded.outputs[output].shape()),
                    sides,
                    coarse: self.coarse(output, output_value, beside, numerical),
                    ..self.mismatch(derivative, [input, entry, output], [analytical, numerical])
                })));
            }
        }
        Ok(())
    }

    /// Returns the output that contains an entry of all outputs, and the index of the entry in that output.
    #[inline]
    fn place(&self, mut entry: usize) -> [usize; 2] {
        let mut output = 0;
        while entry >= self.recorded.outputs[output].len() {
            entry -= self.recorded.outputs[output].len();
            output += 1;
        }
        [output, entry]
    }

    /// Returns the mismatch of an entry of an input and an output.
    #[inline]
    pub(super) fn mismatch(
        &self,
        derivative: Derivative,
        [input, entry, output]: [usize; 3],
        [analytical, numerical]: [f64; 2],
    ) -> Mismatch {
        Mismatch {
            function: None,
            check: error::Check::Differences,
            derivative,
            input: self.positions[input],
            input_name: None,
            input_entry: indices(entry, self.inputs[input].shape()),
            input_value: self.inputs[input].value(entry),
            output: match self.derived {
                Some(Mode::Backward) => self.positions[output],
                _ => output,
            },
            output_entry: Vec::new(),
            analytical,
            numerical,
            sides: None,
            coarse: None,
            unsolved: None,
            tolerance: self.tolerances.of(numerical),
        }
    }

    #[inline]
    fn derivative(&self, mode: Mode) -> Derivative {
        match (self.derived, mode) {
            (None, Mode::Backward) => Derivative::First,
            (None, Mode::Forward) => Derivative::Tangent,
            (Some(Mode::Backward), _) => Derivative::Second,
            (Some(Mode::Forward), _) => Derivative::SecondTangent,
        }
    }
}

/// The outputs at a small distance from the point of the check.
struct Beside {
    step: f64,
    /// All entries of all outputs.
    outputs: Vec<f64>,
}

/// Returns the central differences of all entries of the outputs.
#[inline]
fn central(below: &Beside, above: &Beside) -> Vec<f64> {
    let outputs = above.outputs.iter().zip(&below.outputs);
    outputs
        .map(|(high, low)| (high - low) / (above.step - below.step))
        .collect()
}

/// Returns the tangents of the outputs, by forward mode.
#[inline]
fn tangents(
    function: &ErasedFn<'_>,
    primals: &[AnyTensor],
    directions: Vec<AnyTensor>,
) -> Result<Vec<AnyTensor>, Error> {
    let directions = directions.into_iter().map(Some);
    let along = outputs_along(function, primals.to_vec(), directions.collect())?;
    along.into_iter().map(|along| Ok(known(along)?.1)).collect()
}

/// The message for a function whose outputs have different shapes at different points.
pub(super) const CHANGED: &str = "a checked function changed its output's shape";

/// Returns the function that maps the first `count` inputs of `function`, and gradients of its outputs, to gradients of
/// these inputs.
#[inline]
pub(super) fn gradients(
    function: &ErasedFn<'_>,
    count: usize,
    called_at: &'static Location<'static>,
) -> impl Fn(&[AnyTensor]) -> Result<Vec<AnyTensor>, Error> {
    move |tensors| {
        let (inputs, seeds) = tensors.split_at(count);
        let recorded = Recording::of(function, inputs, true, called_at)?;
        let mut seeds = seeds.iter().cloned();
        let outputs = recorded.outputs.iter();
        let seeds = outputs.map(|output| output.edge().and_then(|_| seeds.next()));
        Ok(or_zeros(recorded.vjp(seeds.collect(), true)?, inputs))
    }
}

/// Returns the index along each axis of the `entry`th element in row-major order.
#[inline]
pub(super) fn indices(mut entry: usize, shape: &[usize]) -> Vec<usize> {
    let mut indices = vec![0; shape.len()];
    for (index, &length) in indices.iter_mut().zip(shape).rev() {
        *index = entry % length;
        entry /= length;
    }
    indices
}
