//! What a backward function owes its callers beyond the right numbers: the same numbers again, and the
//! same whatever the layout in memory and however the gradients come in.
//!
//! One pass, with a gradient of numbers in no pattern for each output, is the reference; each check
//! changes one thing about it and compares.

use super::Tolerances;
use super::jacobian::{Erased, Recorded, indices};
use crate::erased::AnyTensor;
use crate::error::{Check, Derivative, Error, Mismatch};

/// What arrives at each input, entry by entry, in row-major order.
type Gradients = Vec<Vec<f64>>;

struct Thorough<'a> {
    recorded: Recorded,
    checked: &'a [bool],
    tolerances: Tolerances<'a>,
}

/// Holds the backward functions of `function` at `inputs` against everything but its derivative.
pub(super) fn check(
    function: &Erased<'_>,
    inputs: &[AnyTensor],
    checked: &[bool],
    tolerances: Tolerances,
) -> Result<(), Error> {
    let this = Thorough {
        recorded: Recorded::run(function, inputs, checked)?,
        checked,
        tolerances,
    };
    let seeds = this.seeds(AnyTensor::arbitrary);
    let reference = pass(&this.recorded, &seeds)?;
    this.repetition(function, inputs, &seeds, &reference)?;
    this.linearity(&seeds, &reference)?;
    this.layouts_of_gradients(&seeds, &reference)?;
    this.undefined_gradients(&seeds)?;
    let scattered: Vec<AnyTensor> = inputs.iter().map(AnyTensor::scattered).collect();
    let scattered = Recorded::run(function, &scattered, checked)?;
    let found = pass(&scattered, &seeds)?;
    this.compare(Check::ScatteredInputs, &found, &reference, tolerances)
}

impl Thorough<'_> {
    /// The same graph once more, and the same function once more, to the last bit.
    fn repetition(
        &self,
        function: &Erased<'_>,
        inputs: &[AnyTensor],
        seeds: &[Option<AnyTensor>],
        reference: &Gradients,
    ) -> Result<(), Error> {
        let exactly = Tolerances {
            atol: 0.0,
            rtol: 0.0,
            ..self.tolerances
        };
        let again = Recorded::run(function, inputs, self.checked)?;
        for recorded in [&self.recorded, &again] {
            let found = pass(recorded, seeds)?;
            self.compare(Check::Repetition, &found, reference, exactly)?;
        }
        Ok(())
    }

    fn linearity(&self, seeds: &[Option<AnyTensor>], reference: &Gradients) -> Result<(), Error> {
        let inputs = &self.recorded.inputs;
        let mut sum: Gradients = inputs.iter().map(|input| vec![0.0; input.len()]).collect();
        let rows = self.recorded.analytical()?;
        for (seed, rows) in seeds.iter().zip(rows) {
            let Some(seed) = seed else { continue };
            for (factor, row) in seed.values().into_iter().zip(rows) {
                for (sum, entry) in sum.iter_mut().flatten().zip(row.into_iter().flatten()) {
                    *sum += factor * entry;
                }
            }
        }
        self.compare(Check::Linearity, reference, &sum, self.tolerances)
    }

    fn layouts_of_gradients(
        &self,
        seeds: &[Option<AnyTensor>],
        reference: &Gradients,
    ) -> Result<(), Error> {
        let scattered: Vec<Option<AnyTensor>> = seeds
            .iter()
            .map(|seed| seed.as_ref().map(AnyTensor::scattered))
            .collect();
        let found = pass(&self.recorded, &scattered)?;
        self.compare(Check::ScatteredGradient, &found, reference, self.tolerances)?;
        let broadcast = self.seeds(|output| output.broadcast(0.75));
        let in_full: Vec<Option<AnyTensor>> = broadcast
            .iter()
            .map(|seed| seed.as_ref().map(AnyTensor::copy))
            .collect();
        let found = pass(&self.recorded, &broadcast)?;
        let expected = pass(&self.recorded, &in_full)?;
        self.compare(Check::BroadcastGradient, &found, &expected, self.tolerances)
    }

    fn undefined_gradients(&self, seeds: &[Option<AnyTensor>]) -> Result<(), Error> {
        if seeds.iter().flatten().count() < 2 {
            return Ok(());
        }
        for output in (0..seeds.len()).filter(|&output| seeds[output].is_some()) {
            let others = |one: Option<AnyTensor>, of: usize| one.filter(|_| of == output);
            let alone: Vec<_> = seeds
                .iter()
                .cloned()
                .zip(0..)
                .map(|(seed, of)| others(seed, of))
                .collect();
            let with_zeros: Vec<_> = self
                .seeds(AnyTensor::zeros)
                .into_iter()
                .zip(&alone)
                .map(|(zeros, seed)| seed.clone().or(zeros))
                .collect();
            let found = pass(&self.recorded, &alone)?;
            let expected = pass(&self.recorded, &with_zeros)?;
            let differing = differing(&found, &expected, self.tolerances);
            self.report(Check::UndefinedGradients, output, differing)?;
        }
        Ok(())
    }

    /// A gradient for each output that has one.
    fn seeds(&self, seed: impl Fn(&AnyTensor) -> AnyTensor) -> Vec<Option<AnyTensor>> {
        let outputs = self.recorded.outputs.iter();
        outputs
            .map(|output| output.edge().map(|_| seed(output)))
            .collect()
    }

    fn compare(
        &self,
        check: Check,
        found: &Gradients,
        expected: &Gradients,
        tolerances: Tolerances,
    ) -> Result<(), Error> {
        self.report(check, 0, differing(found, expected, tolerances))
    }

    fn report(
        &self,
        check: Check,
        output: usize,
        differing: Option<(usize, usize, [f64; 3])>,
    ) -> Result<(), Error> {
        let Some((input, entry, [analytical, numerical, tolerance])) = differing else {
            return Ok(());
        };
        Err(Error::Gradcheck(Box::new(Mismatch {
            function: None,
            check,
            derivative: Derivative::First,
            input,
            input_name: None,
            input_entry: indices(entry, self.recorded.inputs[input].shape()),
            input_value: self.recorded.inputs[input].value(entry),
            output,
            output_entry: Vec::new(),
            analytical,
            numerical,
            tolerance,
        })))
    }
}

/// What arrives when each output starts with its seed.
fn pass(recorded: &Recorded, seeds: &[Option<AnyTensor>]) -> Result<Gradients, Error> {
    let edges = recorded.outputs.iter().map(AnyTensor::edge);
    let roots = edges
        .zip(seeds)
        .filter_map(|(edge, seed)| Some((edge?, seed.clone()?.into_grad())));
    recorded.gradients(roots.collect())
}

/// The first place where the two differ: input, entry, both values and what was allowed.
fn differing(
    found: &Gradients,
    expected: &Gradients,
    tolerances: Tolerances,
) -> Option<(usize, usize, [f64; 3])> {
    let inputs = found.iter().zip(expected).enumerate();
    inputs
        .flat_map(|(input, (found, expected))| {
            let entries = found.iter().zip(expected).enumerate();
            entries.map(move |(entry, (&found, &expected))| (input, entry, found, expected))
        })
        .find(|&(_, _, found, expected)| {
            // What is not a number is the same again if it is so to the last bit.
            let is_same = found.to_bits() == expected.to_bits();
            !is_same && tolerances.exceeded(found, expected)
        })
        .map(|(input, entry, found, expected)| {
            (input, entry, [found, expected, tolerances.of(expected)])
        })
}
