//! Programs of a formula, for each course that lanes take through its branches.

use std::rc::Rc;

use super::known::program;
use super::program::{Course, Program};
use super::rows::{Row, WIDTH};
use super::trace::{self, Trace};
use crate::element::Element;

/// The most programs that are kept; a formula with many branches has one for each course.
const MOST: usize = 16;

/// The most courses in which the lanes of a row are replayed; where they take more, each lane is recorded for itself.
const MOST_COURSES: usize = 8;

/// A formula that is replayed.
pub(crate) trait Replayed<T> {
    /// Records the formula with the numbers of a lane.
    fn record(&self, inputs: &[T]) -> Trace<T>;
}

/// What is computed of a formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The first results.
    Values(usize),
    /// The gradients with respect to some inputs; and then some of the results themselves, if there are so many. The
    /// gradients of the results are further inputs.
    Gradients(Vec<bool>),
    /// The first results, and then what [`Wanted::GradientsOfKept`] of these inputs are computed from.
    Kept(usize, Vec<bool>),
    /// The gradients. The gradients of the results are further inputs, and then what is kept.
    GradientsOfKept(Vec<bool>),
}

/// The programs of a formula, and the rows of lanes that they compute.
#[doc(hidden)]
#[derive(Debug)]
pub struct Replay<T> {
    wanted: Wanted,
    programs: Vec<Rc<Program<T>>>,
    /// The program that has its constants in the rows; none if there are no programs.
    active: usize,
    rows: Vec<Row<T>>,
    inputs: usize,
    /// The results of lanes that are not replayed together.
    apart: Vec<Row<T>>,
    is_apart: bool,
}

/// The replays of a formula whose pass forward keeps what the pass backward would compute again, and room for that.
#[doc(hidden)]
#[derive(Debug)]
pub struct Kept<T> {
    /// The number of rows that are kept.
    pub(crate) count: usize,
    /// Its first results are followed by what is kept.
    pub(crate) forward: Replay<T>,
    /// The gradients of the results are followed by what is kept.
    pub(crate) backward: Replay<T>,
    /// As much as the caller makes.
    pub(crate) rows: Vec<Row<T>>,
}

impl<T: Element> Replay<T> {
    /// Returns a replay with so many inputs and results.
    pub(crate) fn new(wanted: Wanted, inputs: usize, results: usize) -> Self {
        let zeros = |count| vec![Row([T::zero(); WIDTH]); count];
        Self {
            wanted,
            programs: Vec::new(),
            active: 0,
            rows: zeros(inputs),
            inputs,
            apart: zeros(results),
            is_apart: false,
        }
    }

    /// Returns the replays of the first results and of gradients, with what a pass forward keeps for the pass backward.
    /// There are none of a formula with branches, whose courses may keep something else, nor where nothing is to be kept.
    pub(crate) fn of_kept(trace: &Trace<T>, count: usize, wanted: &[bool]) -> Option<Kept<T>> {
        if !trace.branches.is_empty() || !trace.is_of_all_lanes() {
            return None;
        }
        let of = |wanted, inputs, results| {
            let mut replay = Self::new(wanted, inputs, results);
            replay.activate(trace.clone());
            replay
        };
        let forward = of(Wanted::Kept(count, wanted.to_vec()), trace.inputs, count);
        let kept = forward.programs[0].results.len() - count;
        let inputs = trace.inputs + trace.results.len() + kept;
        (kept > 0).then(|| Kept {
            count: kept,
            rows: Vec::new(),
            forward,
            backward: of(
                Wanted::GradientsOfKept(wanted.to_vec()),
                inputs,
                trace.inputs,
            ),
        })
    }

    /// Returns an input, to write it.
    #[inline(always)]
    pub(crate) fn input(&mut self, index: usize) -> &mut [T; WIDTH] {
        &mut self.rows[index].0
    }

    /// Writes the inputs from `first` on.
    #[inline(always)]
    pub(crate) fn write(&mut self, first: usize, rows: &[Row<T>]) {
        self.rows[first..][..rows.len()].copy_from_slice(rows);
    }

    /// Returns a result.
    ///
    /// # Panics
    /// If it is not wanted, or was not computed.
    #[inline(always)]
    pub(crate) fn result(&self, index: usize) -> &[T; WIDTH] {
        if self.is_apart {
            return &self.apart[index].0;
        }
        // INVARIANT: the caller has run it, for this result.
        let row = self.programs[self.active].results[index].expect("it is wanted");
        &self.rows[row].0
    }

    /// Makes the first results the inputs from `to` on.
    #[inline(always)]
    pub(crate) fn carry(&mut self, count: usize, to: usize) {
        if !self.is_apart {
            let results = &self.programs[self.active].results[..count];
            // INVARIANT: the caller has run it, for these results.
            let results = results.iter().map(|row| row.expect("it is wanted"));
            let is_overwritten = |(index, row)| (to..to + index).contains(&row);
            if !results.clone().enumerate().any(is_overwritten) {
                for (index, row) in results.enumerate() {
                    self.rows[to + index] = self.rows[row];
                }
                return;
            }
            // A result is one of the inputs that would be overwritten before it is copied.
            for (apart, row) in self.apart.iter_mut().zip(results) {
                *apart = self.rows[row];
            }
        }
        self.rows[to..to + count].copy_from_slice(&self.apart[..count]);
    }

    /// Returns whether the formula was replayed at all: not if each lane is recorded by itself.
    pub(crate) fn has_programs(&self) -> bool {
        !self.programs.is_empty()
    }

    /// Computes the results.
    #[inline(always)]
    pub(crate) fn run(&mut self, formula: &dyn Replayed<T>) {
        self.is_apart = !self.is_replayed(formula);
        if self.is_apart && !self.is_replayed_in_courses(formula) {
            self.run_apart(formula);
        }
    }

    /// Computes each lane from its own recording.
    #[cold]
    fn run_apart(&mut self, formula: &dyn Replayed<T>) {
        let bits = |inputs: &[T]| -> Vec<u64> { inputs.iter().copied().map(trace::bits).collect() };
        let mut before: Option<(Vec<u64>, Vec<T>)> = None;
        for lane in 0..WIDTH {
            let inputs = self.inputs_of(lane);
            let results = match before.take() {
                // Lanes after the last one are the same.
                Some((known, results)) if known == bits(&inputs) => results,
                _ => self.results_of(&formula.record(&inputs), &inputs),
            };
            for (apart, result) in self.apart.iter_mut().zip(&results) {
                apart.0[lane] = *result;
            }
            before = Some((bits(&inputs), results));
        }
    }

    /// Returns the results of a lane; zeros for those that are not wanted.
    fn results_of(&self, trace: &Trace<T>, inputs: &[T]) -> Vec<T> {
        match &self.wanted {
            Wanted::Values(count) | Wanted::Kept(count, _) => {
                trace.results().take(*count).collect()
            }
            Wanted::Gradients(wanted) | Wanted::GradientsOfKept(wanted) => {
                let of_inputs = &wanted[..trace.inputs];
                let mut gradients = trace.gradients(&inputs[trace.inputs..], of_inputs);
                gradients.extend(trace.results());
                gradients
            }
        }
    }

    #[inline(always)]
    fn is_replayed(&mut self, formula: &dyn Replayed<T>) -> bool {
        match self.course() {
            Some(Course::AsRecorded) => return true,
            Some(Course::Divided) => return false,
            Some(Course::Another) | None => {}
        }
        self.is_replayed_anew(formula)
    }

    /// Replays another course than that of the lanes before.
    #[cold]
    fn is_replayed_anew(&mut self, formula: &dyn Replayed<T>) -> bool {
        let Some(trace) = self.recorded(formula, 0) else {
            return false;
        };
        self.activate(trace);
        self.course() == Some(Course::AsRecorded)
    }

    /// Replays each course that lanes take, all lanes in each, and chooses the results; unless there are too many courses.
    /// That depends on the numbers alone: courses that are not known are recorded, however many programs there are.
    #[cold]
    fn is_replayed_in_courses(&mut self, formula: &dyn Replayed<T>) -> bool {
        if self.programs.is_empty() {
            return false;
        }
        let (first, mut rest, mut courses) = (self.active, [true; WIDTH], 0);
        // The active one was run.
        courses += usize::from(self.choose(&mut rest));
        for index in (0..self.programs.len()).filter(|index| *index != first) {
            if rest.contains(&true) && courses <= MOST_COURSES {
                self.switch(index);
                courses += usize::from(self.run_and_choose(&mut rest));
            }
        }
        let mut traces: Vec<Trace<T>> = Vec::new();
        for lane in (0..WIDTH).filter(|lane| rest[*lane]) {
            if courses + traces.len() > MOST_COURSES {
                return false;
            }
            let Some(trace) = self.recorded(formula, lane) else {
                return false;
            };
            if traces.iter().all(|known| known.branches != trace.branches) {
                traces.push(trace);
            }
        }
        if courses + traces.len() > MOST_COURSES {
            return false;
        }
        for trace in traces {
            self.activate(trace);
            self.run_and_choose(&mut rest);
        }
        true
    }

    fn run_and_choose(&mut self, rest: &mut [bool; WIDTH]) -> bool {
        self.programs[self.active].run(&mut self.rows);
        self.choose(rest)
    }

    /// Copies the results of the lanes that take the course of the active program, and takes them from the rest. Returns
    /// whether there are any.
    fn choose(&mut self, rest: &mut [bool; WIDTH]) -> bool {
        let program = &self.programs[self.active];
        let mut own = *rest;
        program.keep_own(&self.rows, &mut own);
        if !own.contains(&true) {
            return false;
        }
        for (apart, row) in self.apart.iter_mut().zip(&program.results) {
            let Some(row) = row else {
                continue;
            };
            let row = &self.rows[*row];
            for lane in 0..WIDTH {
                // Read in any case, so that it is vector code.
                let result = row.0[lane];
                apart.0[lane] = if own[lane] { result } else { apart.0[lane] };
            }
        }
        for (is_left, is_own) in rest.iter_mut().zip(own) {
            *is_left &= !is_own;
        }
        true
    }

    /// Records the formula with the numbers of a lane, if that stands for others.
    fn recorded(&self, formula: &dyn Replayed<T>, lane: usize) -> Option<Trace<T>> {
        let trace = formula.record(&self.inputs_of(lane));
        trace.is_of_all_lanes().then_some(trace)
    }

    fn inputs_of(&self, lane: usize) -> Vec<T> {
        let inputs = self.rows[..self.inputs].iter();
        inputs.map(|row| row.0[lane]).collect()
    }

    /// Replays the program that is active, if there is one.
    #[inline(always)]
    fn course(&mut self) -> Option<Course> {
        let program = self.programs.get(self.active)?;
        program.run(&mut self.rows);
        Some(program.course(&self.rows))
    }

    /// Makes the program of a trace the active one.
    fn activate(&mut self, trace: Trace<T>) {
        let has_branches = |program: &Rc<Program<T>>| program.branches == trace.branches;
        let known = self.programs.iter().position(has_branches);
        let index = known.unwrap_or_else(|| {
            if self.programs.len() == MOST {
                self.programs.clear();
            }
            self.programs.push(program(trace, &self.wanted));
            self.programs.len() - 1
        });
        self.switch(index);
    }

    /// Makes a program the active one.
    fn switch(&mut self, index: usize) {
        self.active = index;
        let program = &self.programs[index];
        self.rows.resize(program.rows, Row([T::zero(); WIDTH]));
        program.fill(&mut self.rows);
    }
}
