//! Properties of backward functions beyond right numbers: the numbers are the same when they are computed again, and
//! whatever the layout of inputs and gradients in memory.
//!
//! The reference is one pass, with a gradient of numbers without a pattern for each output. Each check changes one
//! thing of that pass and compares.

use ndarray::Array1;

use super::check::Check;
use super::names::Doing;
use super::samples::arbitrary_gradients;
use super::tolerances::Tolerances;
use crate::erased::AnyTensor;
use crate::error::{self, Derivative, Error, ErrorKind, Mismatch};
use crate::recording::{Recording, or_zeros};

/// The gradient of each input, entry by entry, in row-major order.
type Gradients = Vec<Vec<f64>>;

/// A gradient for each output that has one.
type Seeds = Vec<Option<AnyTensor>>;

struct Thorough<'a> {
    check: &'a Check<'a>,
    seeds: Seeds,
    reference: Gradients,
}

/// Checks all properties of the backward functions but their derivatives.
#[inline]
pub(super) fn check(check: &Check<'_>) -> Result<(), Error> {
    let seeds = arbitrary_gradients(&check.recorded.outputs, check.count);
    let this = Thorough {
        reference: pass(&check.recorded, &seeds)?,
        check,
        seeds,
    };
    let doing = |what| Doing(check, what);
    {
        let _doing = doing("running backward a second time");
        this.repetition()?;
    }
    this.linearity()?;
    {
        let _doing = doing("handing in gradients that are not contiguous in memory");
        this.layouts_of_gradients()?;
    }
    {
        let _doing = doing("leaving out the gradients of some outputs");
        this.undefined_gradients()?;
    }
    {
        let _doing = doing("letting one input alone require grad");
        this.single_inputs()?;
    }
    let _doing = doing("handing in inputs that are not contiguous in memory");
    let scattered: Vec<AnyTensor> = check.inputs.iter().map(AnyTensor::scattered).collect();
    let found = pass(&this.record(&scattered)?, &this.seeds)?;
    this.compare(error::Check::ScatteredInputs, &found, &this.reference)
}

impl Thorough<'_> {
    #[inline]
    fn record(&self, inputs: &[AnyTensor]) -> Result<Recording, Error> {
        let called_at = self.check.recorded.called_at;
        Recording::of(&*self.check.function, inputs, false, called_at)
    }

    /// Checks that a second pass, and a second graph, have the same bits.
    #[inline]
    fn repetition(&self) -> Result<(), Error> {
        let exactly = Tolerances {
            atol: 0.0,
            rtol: 0.0,
            ..self.check.tolerances
        };
        for recorded in [&self.check.recorded, &self.record(&self.check.inputs)?] {
            let found = pass(recorded, &self.seeds)?;
            let differing = differing(&found, &self.reference, exactly);
            self.report(error::Check::Repetition, 0, differing)?;
        }
        Ok(())
    }

    #[inline]
    fn linearity(&self) -> Result<(), Error> {
        let outputs = self.check.recorded.outputs.iter().zip(&self.seeds);
        let seed: Array1<f64> = outputs
            .flat_map(|(output, seed)| seed.clone().unwrap_or_else(|| output.zeros()).values())
            .collect();
        let columns = self.check.columns()?;
        let sum: Gradients = columns.iter().map(|of| of.dot(&seed).to_vec()).collect();
        self.compare(error::Check::Linearity, &self.reference, &sum)
    }

    #[inline]
    fn layouts_of_gradients(&self) -> Result<(), Error> {
        let recorded = &self.check.recorded;
        let laid_out = |seeds: &Seeds, how: fn(&AnyTensor) -> AnyTensor| -> Seeds {
            seeds.iter().map(|seed| seed.as_ref().map(how)).collect()
        };
        let found = pass(recorded, &laid_out(&self.seeds, AnyTensor::scattered))?;
        self.compare(error::Check::ScatteredGradient, &found, &self.reference)?;
        let broadcast = seeds(self.check, |output| output.broadcast(0.75));
        let found = pass(recorded, &broadcast)?;
        let expected = pass(recorded, &laid_out(&broadcast, AnyTensor::copy))?;
        self.compare(error::Check::BroadcastGradient, &found, &expected)
    }

    #[inline]
    fn undefined_gradients(&self) -> Result<(), Error> {
        if self.seeds.iter().flatten().count() < 2 {
            return Ok(());
        }
        let zeros = seeds(self.check, AnyTensor::zeros);
        for output in (0..self.seeds.len()).filter(|&output| self.seeds[output].is_some()) {
            let mut alone = vec![None; self.seeds.len()];
            let mut with_zeros = zeros.clone();
            alone[output].clone_from(&self.seeds[output]);
            with_zeros[output].clone_from(&self.seeds[output]);
            let found = pass(&self.check.recorded, &alone)?;
            let expected = pass(&self.check.recorded, &with_zeros)?;
            let differing = differing(&found, &expected, self.check.tolerances);
            self.report(error::Check::UndefinedGradients, output, differing)?;
        }
        Ok(())
    }

    /// Checks that each input has the same gradient where the others are constants: flags of the needed gradients may be
    /// mistaken for each other.
    #[inline]
    fn single_inputs(&self) -> Result<(), Error> {
        let inputs = &self.check.inputs;
        for input in (0..inputs.len()).filter(|_| inputs.len() > 1) {
            let alone = |tensors: &[AnyTensor]| {
                let others = inputs.iter().cloned().map(AnyTensor::into_constant);
                let mut all: Vec<AnyTensor> = others.collect();
                all[input].clone_from(&tensors[0]);
                (self.check.function)(&all)
            };
            let called_at = self.check.recorded.called_at;
            let recorded = Recording::of(alone, &inputs[input..=input], false, called_at)?;
            let mut found = self.reference.clone();
            found[input] = pass(&recorded, &self.seeds)?.swap_remove(0);
            self.compare(error::Check::SingleInput, &found, &self.reference)?;
        }
        Ok(())
    }

    #[inline]
    fn compare(
        &self,
        check: error::Check,
        found: &Gradients,
        expected: &Gradients,
    ) -> Result<(), Error> {
        let differing = differing(found, expected, self.check.tolerances);
        self.report(check, 0, differing)
    }

    #[inline]
    fn report(
        &self,
        check: error::Check,
        output: usize,
        differing: Option<Differing>,
    ) -> Result<(), Error> {
        let Some(([input, entry], values, tolerance)) = differing else {
            return Ok(());
        };
        Err(Error::new(ErrorKind::Gradcheck(Mismatch {
            check,
            tolerance,
            ..self
                .check
                .mismatch(Derivative::First, [input, entry, output], values)
        })))
    }
}

fn seeds(check: &Check<'_>, seed: impl Fn(&AnyTensor) -> AnyTensor) -> Seeds {
    let outputs = check.recorded.outputs.iter();
    outputs
        .map(|output| output.edge().map(|_| seed(output)))
        .collect()
}

/// Returns the gradients of the inputs when those of the outputs are `seeds`.
#[inline]
fn pass(recorded: &Recording, seeds: &Seeds) -> Result<Gradients, Error> {
    let found = recorded.vjp(seeds.clone(), false)?;
    let found = or_zeros(found, &recorded.inputs);
    Ok(found.iter().map(AnyTensor::values).collect())
}

/// The index of an input and of its entry, the number found and the number expected, and the tolerance.
type Differing = ([usize; 2], [f64; 2], f64);

/// Returns the first entry that differs by more than the tolerance.
#[inline]
fn differing(found: &Gradients, expected: &Gradients, tolerances: Tolerances) -> Option<Differing> {
    let inputs = found.iter().zip(expected).enumerate();
    inputs
        .flat_map(|(input, (found, expected))| {
            let entries = found.iter().zip(expected).enumerate();
            entries.map(move |(entry, (&found, &expected))| ([input, entry], [found, expected]))
        })
        .find(|&(_, [found, expected])| {
            // What is not a number is the same again if it is so to the last bit.
            let is_same = found.to_bits() == expected.to_bits();
            !is_same && tolerances.exceeded(found, expected)
        })
        .map(|(place, values)| (place, values, tolerances.of(values[1])))
}
