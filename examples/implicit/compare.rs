//! Compares the implicit gradient with that of the unrolled iteration.

use std::collections::HashMap;
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use plotters::style::{BLUE, RED};
use pullback::prelude::*;
use pullback::{AnyTensor, saved_tensors_hooks};

use crate::chart::{Curve, Panel};
use crate::fit::Problem;
use crate::functions::Heads;
use crate::network::Unbalanced;
use crate::norm::largest;

/// The number of timed runs of each way; the fastest counts.
const TIMES: usize = 5;

/// Computes the gradient of the loss at the start in both ways, prints the cost of each, and returns
/// the largest difference relative to the largest entry.
pub fn both_ways(problem: &Problem) -> Result<f64, Box<dyn Error>> {
    let network = &problem.network;
    let implicit = cost("implicit", problem, |log_roughness, demand| {
        Heads::apply(log_roughness, demand, network)
    })?;
    let unrolled = cost("unrolled", problem, |log_roughness, demand| {
        network.equilibrium(log_roughness, demand, |_, _| ())
    })?;
    Ok(difference(&implicit, &unrolled))
}

/// Prints time and memory of a gradient and returns it.
fn cost(
    name: &str,
    problem: &Problem,
    heads: impl Fn(&Tensor1<f64>, &Tensor1<f64>) -> Result<Tensor1<f64>, Unbalanced>,
) -> Result<Tensor1<f64>, Box<dyn Error>> {
    let at = Tensor::from(problem.start()).set_requires_grad(true);
    let loss = || problem.loss(&at, |demand| heads(&at, demand));
    let bytes = kept(|| loss().map(drop))?;
    let mut fastest = [f64::INFINITY; 2];
    let mut gradient = at.detach();
    for _ in 0..TIMES {
        let begin = Instant::now();
        let loss = loss()?;
        let recorded = begin.elapsed().as_secs_f64();
        (gradient,) = grad(&loss, (&at,))?;
        let returned = begin.elapsed().as_secs_f64() - recorded;
        fastest = [fastest[0].min(recorded), fastest[1].min(returned)];
    }
    let [forward, backward] = fastest.map(|seconds| 1e3 * seconds);
    let kept = bytes as f64 / 1e3;
    println!("{name}: forward {forward:.2} ms, backward {backward:.2} ms, {kept:.1} kB saved");
    Ok(gradient)
}

/// Returns the bytes of the tensors that functions save for backward while `body` runs. A tensor that
/// several functions save counts once.
fn kept<R, E>(body: impl FnOnce() -> Result<R, E>) -> Result<usize, E> {
    let sizes = Arc::new(Mutex::new(HashMap::new()));
    let seen = Arc::clone(&sizes);
    let pack = move |tensor: AnyTensor| {
        let elements = tensor.to_tensor::<f64>();
        if let Some(elements) = elements.filter(|elements| !elements.is_empty()) {
            let bytes = elements.len() * size_of::<f64>();
            let place = elements.view().as_ptr() as usize;
            seen.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(place, bytes);
        }
        tensor
    };
    saved_tensors_hooks(pack, AnyTensor::clone, body)?;
    let sizes = sizes.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(sizes.values().sum())
}

/// Returns a panel with the difference of the gradient from the implicit one if the iteration stops early,
/// for each step, at the first hour.
pub fn by_steps(problem: &Problem) -> Result<Panel, Box<dyn Error>> {
    let (demand, measured) = &problem.hours[0];
    let at = Tensor::from(problem.start()).set_requires_grad(true);
    let misfit = |heads: &Tensor1<f64>| (heads - measured).square().sum();
    let heads = Heads::apply(&at, demand, &problem.network)?;
    let (exact,) = grad(&misfit(&heads), (&at,))?;

    let mut steps = Vec::new();
    problem
        .network
        .equilibrium(&at, demand, |heads, imbalance| {
            steps.push((heads.clone(), imbalance));
        })?;
    let mut imbalances = Vec::new();
    let mut differences = Vec::new();
    for (number, (heads, imbalance)) in steps.iter().enumerate() {
        let number = (number + 1) as f64;
        let loss = misfit(heads);
        let (gradient,) = Grad::of(&loss).retain_graph(true).run((&at,))?;
        imbalances.push((number, *imbalance));
        differences.push((number, difference(&exact, &gradient)));
    }
    Ok(Panel {
        title: "Newton's method and its unrolled gradient".to_owned(),
        x: "steps",
        y: "",
        logarithmic: true,
        curves: vec![
            Curve::line("imbalance, l/s", BLUE, imbalances),
            Curve::line("gradient, relative error", RED, differences),
        ],
    })
}

/// Returns the largest difference from `exact`, relative to its largest entry.
fn difference(exact: &Tensor1<f64>, other: &Tensor1<f64>) -> f64 {
    largest((exact - other).view()) / largest(exact.view())
}
