//! The checks of every program.

use std::fmt;

use pullback::functional::Functional;
use pullback::ndarray::{ArrayD, Axis};
use pullback::prelude::*;
use pullback::{Error, ErrorKind};

use super::program::{Kind, Program, arbitrary};
use super::run::{Cuts, Dyn};

type Arrays = Vec<ArrayD<f64>>;

impl Program {
    /// The leaves, ready for a run that is recorded.
    pub fn leaves(&self) -> Vec<Dyn> {
        let leaves = self.leaves.iter().enumerate();
        leaves
            .map(|(place, leaf)| {
                Tensor::from(leaf.value(place)).set_requires_grad(leaf.requires_grad)
            })
            .collect()
    }

    fn any(&self, is: impl Fn(Kind) -> bool) -> bool {
        self.steps.iter().any(|step| is(step.kind))
    }

    /// The leaves moved along a direction; constants stay.
    fn moved(&self, direction: &Arrays, by: f64) -> Vec<Dyn> {
        let moved = self.leaves.iter().zip(direction).enumerate();
        moved
            .map(|(place, (leaf, direction))| {
                let value = leaf.lay_out(&(leaf.value(place) + direction * by));
                Tensor::from(value).set_requires_grad(leaf.requires_grad)
            })
            .collect()
    }

    /// A direction in the space of all leaves, with nothing for constants.
    pub fn direction(&self, number: f64) -> Arrays {
        let leaves = self.leaves.iter().enumerate();
        leaves
            .map(|(place, leaf)| {
                let whole = arbitrary(&leaf.shape, place as f64 * 3.7 + number * 11.3) * 2.0 - 1.0;
                leaf.lay_out(&(whole * f64::from(u8::from(leaf.requires_grad))))
            })
            .collect()
    }

    /// Every direction that is tried: two along all leaves, and a single entry of each leaf.
    fn directions(&self) -> Vec<Arrays> {
        let mut directions = vec![self.direction(0.0), self.direction(1.0)];
        for (place, leaf) in self.leaves.iter().enumerate() {
            let size: usize = leaf.shape.iter().product();
            if leaf.requires_grad && size > 0 {
                let mut single: Arrays = self
                    .leaves
                    .iter()
                    .map(|leaf| ArrayD::zeros(&leaf.shape[..]))
                    .collect();
                let entry = (self.steps.len() * 5 + place) % size;
                if let Some(element) = single[place].iter_mut().nth(entry) {
                    *element = 1.0;
                }
                directions.push(single);
            }
        }
        directions
    }
}

/// A derivative as central differences give it, and how far off that may be.
struct Numerical {
    value: f64,
    doubt: f64,
}

impl Numerical {
    /// Returns the derivative of `function` at 0, by two differences without the error of second order.
    fn of(function: impl Fn(f64) -> f64) -> Self {
        let difference = |step: f64| (function(step) - function(-step)) / (2.0 * step);
        let (wide, narrow) = (difference(2e-3), difference(1e-3));
        Self {
            value: (4.0 * narrow - wide) / 3.0,
            doubt: (narrow - wide).abs() * 0.1 + 1e-9 * (1.0 + narrow.abs()),
        }
    }

    fn agrees(&self, what: impl fmt::Display, analytical: f64) -> Result<(), String> {
        let Self { value, doubt } = self;
        // Differences that say nothing would let everything pass.
        if *doubt > 1e-3 * (1.0 + value.abs()) {
            return Err(format!(
                "{what}: central differences are of no use: {value} ± {doubt}"
            ));
        }
        if (value - analytical).abs() <= *doubt {
            return Ok(());
        }
        Err(format!(
            "{what}: the gradient says {analytical}, central differences {value} ± {doubt}"
        ))
    }
}

fn dot(gradients: &Arrays, direction: &Arrays) -> f64 {
    gradients
        .iter()
        .zip(direction)
        .map(|(gradient, direction)| (gradient * direction).sum())
        .sum()
}

/// The gradients of all leaves, zeros for constants and for those that are not used.
pub fn gradients(loss: &Tensor0<f64>, leaves: &[Dyn], retain_graph: bool) -> Result<Arrays, Error> {
    if !loss.requires_grad() {
        return Ok(leaves
            .iter()
            .map(|leaf| ArrayD::zeros(leaf.shape()))
            .collect());
    }
    let required: Vec<&Dyn> = leaves.iter().filter(|leaf| leaf.requires_grad()).collect();
    let mut found = Grad::of(loss)
        .retain_graph(retain_graph)
        .allow_unused(true)
        .run(&required[..])?
        .into_iter();
    let found = leaves.iter().map(|leaf| {
        let gradient = leaf.requires_grad().then(|| found.next()).flatten();
        gradient.map_or_else(
            || ArrayD::zeros(leaf.shape()),
            |gradient| gradient.to_array(),
        )
    });
    Ok(found.collect())
}

fn text(error: Error) -> String {
    error.to_string()
}

/// Checks the gradient along each direction against central differences.
pub fn first_order(program: &Program) -> Result<(), String> {
    let (leaves, mut cuts) = (program.leaves(), Cuts::default());
    let loss = program.loss(&leaves, &mut cuts);
    let found = gradients(&loss, &leaves, false).map_err(text)?;
    for (number, direction) in program.directions().iter().enumerate() {
        let numerical = Numerical::of(|step| {
            no_grad(|| program.loss(&program.moved(direction, step), &mut cuts.replay())).item()
        });
        numerical.agrees(format_args!("direction {number}"), dot(&found, direction))?;
    }
    Ok(())
}

/// The gradient of the gradient's part along a direction is what central differences of the gradient say,
/// or an error where a function on the way is differentiable once.
pub fn second_order(program: &Program) -> Result<(), String> {
    let (leaves, mut cuts) = (program.leaves(), Cuts::default());
    let loss = program.loss(&leaves, &mut cuts);
    if !loss.requires_grad() {
        return Ok(());
    }
    let along = program.direction(2.0);
    let required: Vec<&Dyn> = leaves.iter().filter(|leaf| leaf.requires_grad()).collect();
    let first = Grad::of(&loss)
        .create_graph(true)
        .allow_unused(true)
        .run(&required[..])
        .map_err(text)?;
    let directions = leaves
        .iter()
        .zip(&along)
        .filter(|(leaf, _)| leaf.requires_grad());
    let part = first.iter().zip(directions).fold(
        Tensor::from(pullback::ndarray::arr0(0.0)),
        |part, (gradient, (_, along))| part + (gradient * Tensor::from(along.clone())).sum(),
    );
    let second = match gradients(&part, &leaves, false) {
        Ok(second) => second,
        Err(error)
            if error.kind() == &ErrorKind::OnceDifferentiable
                && program.any(|kind| !kind.is_differentiable_again()) =>
        {
            return Ok(());
        }
        Err(error) => return Err(text(error)),
    };
    for number in [3.0, 4.0] {
        let direction = program.direction(number);
        let numerical = Numerical::of(|step| {
            let leaves = program.moved(&direction, step);
            let loss = program.loss(&leaves, &mut cuts.replay());
            gradients(&loss, &leaves, false).map_or(f64::NAN, |found| dot(&found, &along))
        });
        numerical.agrees(format_args!("direction {number}"), dot(&second, &direction))?;
    }
    Ok(())
}

/// `backward` gives what `grad` gives, to the last bit, on top of what was there; through a graph that
/// is kept as often as one likes, and only once through one that is not.
pub fn ways(program: &Program) -> Result<(), String> {
    let leaves = program.leaves();
    let loss = program.loss(&leaves, &mut Cuts::default());
    if !loss.requires_grad() {
        return match loss.backward() {
            Err(error) if error.kind() == &ErrorKind::NoGraph => Ok(()),
            other => Err(format!("a loss without a history: {other:?}")),
        };
    }
    let expected = gradients(&loss, &leaves, true).map_err(text)?;
    Backward::of(&loss).retain_graph(true).run().map_err(text)?;
    let same = |what: &str, factor: f64| {
        for (place, (leaf, expected)) in leaves.iter().zip(&expected).enumerate() {
            let found = leaf.grad().unwrap_or_else(|| ArrayD::zeros(leaf.shape()));
            if found != expected * factor {
                return Err(format!(
                    "{what}: `backward` gives v{place} {found}, `grad` {expected}, times {factor}"
                ));
            }
        }
        Ok(())
    };
    same("once", 1.0)?;
    Backward::of(&loss).retain_graph(true).run().map_err(text)?;
    same("twice", 2.0)?;
    for leaf in leaves.iter().filter(|leaf| leaf.requires_grad()) {
        leaf.set_grad(ArrayD::zeros(leaf.shape()));
    }
    // A graph of its own, started with a gradient in an unusual place.
    let again = program.loss(&leaves, &mut Cuts::default());
    let wide = again
        .clone()
        .into_dyn()
        .broadcast_to::<pullback::ndarray::IxDyn>(&[2, 1]);
    let mut seed = ArrayD::from_elem(vec![2, 1], 0.5);
    seed.invert_axis(Axis(0));
    wide.backward_with(seed).map_err(text)?;
    same("started with halves", 1.0)?;
    match again.backward() {
        Err(error) if error.kind() == &ErrorKind::Freed => {
            same("after a pass that is refused", 1.0)
        }
        other => Err(format!("a second pass through a freed graph: {other:?}")),
    }
}

/// Forward mode gives the same number as the gradient along the direction, and the same value, or an error
/// where a function on the way has no rule.
pub fn forward_mode(program: &Program) -> Result<(), String> {
    let (leaves, mut cuts) = (program.leaves(), Cuts::default());
    let loss = program.loss(&leaves, &mut cuts);
    let found = gradients(&loss, &leaves, false).map_err(text)?;
    let direction = program.direction(5.0);
    let none = Tensor::from(ArrayD::zeros(vec![]));
    let primal = |place: usize| {
        leaves
            .get(place)
            .map_or_else(|| none.clone(), Tensor::detach)
    };
    let tangent = |place: usize| {
        direction
            .get(place)
            .map_or_else(|| none.clone(), |direction| Tensor::from(direction.clone()))
    };
    let result = Functional::new().forward_mode(true).jvp(
        |(a, b, c, d)| {
            program.loss(
                &[a, b, c, d].map(Tensor::clone)[..leaves.len()],
                &mut cuts.replay(),
            )
        },
        (&primal(0), &primal(1), &primal(2), &primal(3)),
        (&tangent(0), &tangent(1), &tangent(2), &tangent(3)),
    );
    let (value, along) = match result {
        Ok((value, along)) => (value.item(), along.item()),
        Err(error)
            if error.kind() == &ErrorKind::NoForwardRule
                && program.any(|kind| !kind.has_rule()) =>
        {
            return Ok(());
        }
        Err(error) => return Err(text(error)),
    };
    if value.to_bits() != loss.item().to_bits() {
        return Err(format!(
            "the value is {value} in forward mode, {} else",
            loss.item()
        ));
    }
    let backward = dot(&found, &direction);
    if (backward - along).abs() > 1e-12 * (1.0 + along.abs()) {
        return Err(format!(
            "forward mode says {along}, the gradient {backward}"
        ));
    }
    Ok(())
}
