//! Schedules against the recursions of PyTorch, and against figures derived by hand.

use std::f64::consts::PI;

use pullback::optim::schedule::{
    Cosine, CosineRestarts, Exponential, LinearWarmUp, MultiStep, OneCycle, Schedule, Step,
};

fn assert_rates(schedule: &impl Schedule, wanted: &[f64]) {
    for (step, wanted) in (0..).zip(wanted) {
        let found = schedule.rate(step);
        assert!(
            (found - wanted).abs() < 1e-12,
            "{found}, not {wanted}, at {step}"
        );
    }
}

/// Computes each rate from the previous one, like PyTorch's schedulers.
fn recursion(first: f64, count: usize, mut next: impl FnMut(f64, f64) -> f64) -> Vec<f64> {
    let steps = (1..count).map(|step| step as f64);
    let mut rates = vec![first];
    for step in steps {
        rates.push(next(rates[rates.len() - 1], step));
    }
    rates
}

#[test]
fn decay_by_a_factor() {
    let by_step = recursion(
        0.1,
        50,
        |rate, step| if step % 7.0 == 0.0 { rate * 0.3 } else { rate },
    );
    assert_rates(&Step::new(0.1, 7, 0.3), &by_step);
    assert_rates(
        &Exponential::new(0.1, 0.9),
        &recursion(0.1, 50, |rate, _| rate * 0.9),
    );
    let milestones = [9_u32, 2, 5, 5];
    let by_milestones = recursion(2.0, 12, |rate, step| {
        let here = milestones
            .iter()
            .filter(|&&at| f64::from(at) == step)
            .count();
        rate * 0.5_f64.powi(i32::try_from(here).unwrap())
    });
    assert_rates(
        &MultiStep::new(2.0, milestones.map(u64::from), 0.5),
        &by_milestones,
    );
}

#[test]
fn along_half_a_cosine() {
    let (min, steps) = (0.02, 40.0);
    let recursion = recursion(0.5, 41, |rate, step| {
        let at = |step: f64| 1.0 + (PI * step / steps).cos();
        min + (rate - min) * at(step) / at(step - 1.0)
    });
    let schedule = Cosine::new(0.5, 40).min(min);
    assert_rates(&schedule, &recursion);
    assert_eq!([40, 41, u64::MAX].map(|step| schedule.rate(step)), [min; 3]);
}

#[test]
fn along_half_a_cosine_again_and_again() {
    let wave = |part: f64| 0.1 + 0.9 * (1.0 + (PI * part).cos()) / 2.0;
    let round =
        |length: u32| (0..length).map(move |step| wave(f64::from(step) / f64::from(length)));
    let equal: Vec<f64> = (0..4).flat_map(|_| round(6)).collect();
    assert_rates(&CosineRestarts::new(1.0, 6).min(0.1), &equal);
    let longer: Vec<f64> = [2, 6, 18, 54].into_iter().flat_map(round).collect();
    assert_rates(&CosineRestarts::new(1.0, 2).lengthen(3).min(0.1), &longer);
    assert_eq!(CosineRestarts::new(1.0, 3).rate(u64::MAX / 3 * 3), 1.0);
    // Rounds that are longer than the number of steps.
    assert!(
        CosineRestarts::new(1.0, 10)
            .lengthen(1 << 40)
            .rate(u64::MAX)
            <= 1.0
    );
}

#[test]
fn up_in_a_straight_line() {
    // PyTorch's `LinearLR` multiplies the rate by a factor at each step.
    let (start, steps) = (0.25, 6.0);
    let recursion = recursion(0.3 * start, 12, |rate, step| {
        if step > steps {
            return rate;
        }
        rate * (1.0 + (1.0 - start) / (steps * start + (step - 1.0) * (1.0 - start)))
    });
    assert_rates(&LinearWarmUp::new(0.3, 6).start_factor(start), &recursion);
}

#[test]
fn one_cycle_of_lines() {
    // From 1 to 25 in the first 2 steps, and in 7 more to a half.
    let wanted = [1.0, 13.0, 25.0, 21.5, 18.0, 14.5, 11.0, 7.5, 4.0, 0.5, 0.5];
    assert_rates(
        &OneCycle::new(25.0, 10).divide_by(25.0, 2.0).linear(true),
        &wanted,
    );
    let wanted = [1.0, 9.0, 17.0, 25.0, 17.0, 9.0, 1.0, 0.75, 0.5, 0.25];
    let three = OneCycle::new(25.0, 10).share(0.4).divide_by(25.0, 4.0);
    assert_rates(&three.linear(true).three_phases(true), &wanted);
}

#[test]
fn one_cycle_of_half_cosines() {
    let wave = |from: f64, to: f64, part: f64| to + (from - to) / 2.0 * (1.0 + (PI * part).cos());
    let wanted: Vec<f64> = (0..3)
        .map(|step| wave(1.0, 25.0, f64::from(step) / 2.0))
        .chain((1..8).map(|step| wave(25.0, 0.5, f64::from(step) / 7.0)))
        .collect();
    assert_rates(&OneCycle::new(25.0, 10).divide_by(25.0, 2.0), &wanted);
    // All steps warm up, or all anneal: a phase of length 0 is not divided by.
    assert_rates(&OneCycle::new(1.0, 3).share(1.0), &[0.04, 0.52, 1.0]);
    let down = OneCycle::new(1.0, 3).share(0.0);
    assert!((0..9).all(|step| down.rate(step).is_finite()));
}

#[test]
fn one_after_the_other() {
    let schedule = LinearWarmUp::new(1.0, 2)
        .start_factor(0.5)
        .then(2, Cosine::new(1.0, 4))
        .then(6, |step: u64| 100.0 + step as f64);
    let wave = |step: f64| 0.5 + 0.5 * (PI * step / 4.0).cos();
    let wanted = [
        0.5,
        0.75,
        1.0,
        wave(1.0),
        wave(2.0),
        wave(3.0),
        100.0,
        101.0,
    ];
    assert_rates(&schedule, &wanted);
}
