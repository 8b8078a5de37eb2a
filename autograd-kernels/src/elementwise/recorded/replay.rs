//! Programs of a formula, for each course that lanes take through its branches.

use std::rc::Rc;

use super::depth::DEEPEST;
use super::known::program;
use super::program::{Program, Taken};
use super::rows::{Mask, Row, WIDTH, rows_of};
use super::trace::{self, Trace};
use crate::element::Element;

/// The most programs that are kept; a formula with many branches has one for each course.
const MOST: usize = 16;

/// The most courses in which the lanes of a row are replayed; where they take more, each lane is recorded for itself. Of
/// two rows, twice as many.
const MOST_COURSES: usize = 8;

/// The rows in several courses after which the courses are merged; and after twice as many, if there are more then.
const DIVIDED: usize = 8;

/// The rows in one course after which the program of that course alone takes less time than that of all.
const UNDIVIDED: usize = 4;

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
    /// One for each course.
    programs: Vec<Rc<Program<T>>>,
    /// The program of several courses, if rows of lanes take several.
    merged: Option<Rc<Program<T>>>,
    /// The program that has its constants in the rows.
    active: Option<Rc<Program<T>>>,
    /// Its course that all lanes took.
    course: usize,
    /// The number of rows in several courses.
    divided: usize,
    /// The number of such rows after which the courses are merged.
    merge_after: usize,
    /// The number of rows in one course since the last one in several.
    undivided: usize,
    /// The number of rows of each number.
    depth: usize,
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
    /// Whether it reads each input.
    pub(crate) reads: Vec<bool>,
    /// The gradients of the results are followed by what is kept.
    pub(crate) backward: Replay<T>,
    /// As much as the caller makes.
    pub(crate) rows: Vec<Row<T>>,
}

/// The results of a replay.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Results<'a, T> {
    rows: &'a [Row<T>],
    depth: usize,
    /// The row of each result that is wanted; if there are none, a result is the row of its number.
    places: Option<&'a [Option<usize>]>,
}

impl<'a, T> Results<'a, T> {
    /// Returns the rows of a result, which are so many.
    ///
    /// # Panics
    /// If it is not wanted, or was not computed.
    #[cfg_attr(optimized, inline(always))]
    pub(crate) fn rows<const DEPTH: usize>(self, index: usize) -> &'a [Row<T>; DEPTH] {
        let row = match self.places {
            // INVARIANT: the caller has run it, for this result.
            Some(places) => places[index].expect("it is wanted"),
            None => index,
        };
        debug_assert_eq!(self.depth, DEPTH, "the rows of a number");
        &self.rows.as_chunks().0[row]
    }
}

impl<T: Element> Replay<T> {
    /// Returns a replay with so many rows of each number, inputs and results.
    pub(crate) fn new(wanted: Wanted, depth: usize, inputs: usize, results: usize) -> Self {
        let zeros = |count| vec![Row([T::zero(); WIDTH]); depth * count];
        Self {
            wanted,
            programs: Vec::new(),
            merged: None,
            active: None,
            course: 0,
            divided: 0,
            merge_after: DIVIDED,
            undivided: 0,
            depth,
            rows: zeros(inputs),
            inputs,
            apart: zeros(results),
            is_apart: false,
        }
    }

    /// Returns the replays of the first results and of gradients, with what a pass forward keeps for the pass backward.
    /// There are none of a formula with branches, whose courses may keep something else, nor where nothing is to be kept.
    pub(crate) fn of_kept(
        trace: &Trace<T>,
        depth: usize,
        count: usize,
        wanted: &[bool],
    ) -> Option<Kept<T>> {
        if !trace.branches.is_empty() || !trace.is_of_all_lanes() {
            return None;
        }
        let of = |wanted, inputs, results| {
            let mut replay = Self::new(wanted, depth, inputs, results);
            replay.activate(trace.clone());
            replay
        };
        let forward = of(Wanted::Kept(count, wanted.to_vec()), trace.inputs, count);
        let kept = forward.places().len() - count;
        let inputs = trace.inputs + trace.results.len() + kept;
        let reads = forward.active.as_ref()?.reads();
        (kept > 0).then(|| Kept {
            count: kept,
            rows: Vec::new(),
            forward,
            reads,
            backward: of(
                Wanted::GradientsOfKept(wanted.to_vec()),
                inputs,
                trace.inputs,
            ),
        })
    }

    /// Returns how many rows each number has.
    #[cfg_attr(optimized, inline(always))]
    pub(crate) const fn depth(&self) -> usize {
        self.depth
    }

    /// Returns how many lanes are replayed together.
    #[cfg_attr(optimized, inline(always))]
    pub(crate) const fn lanes(&self) -> usize {
        self.depth * WIDTH
    }

    /// Returns the rows of all numbers, which are so many of each.
    #[cfg_attr(optimized, inline(always))]
    fn numbers<const DEPTH: usize>(&mut self) -> &mut [[Row<T>; DEPTH]] {
        debug_assert_eq!(self.depth, DEPTH, "the rows of a number");
        self.rows.as_chunks_mut().0
    }

    /// Returns the rows of an input, which are so many, to write them.
    #[cfg_attr(optimized, inline(always))]
    pub(crate) fn input<const DEPTH: usize>(&mut self, index: usize) -> &mut [Row<T>; DEPTH] {
        &mut self.numbers()[index]
    }

    /// Returns the rows of the first inputs.
    #[cfg_attr(optimized, inline(always))]
    pub(crate) fn inputs<const DEPTH: usize>(&mut self, count: usize) -> &[[Row<T>; DEPTH]] {
        &self.numbers()[..count]
    }

    /// Writes the rows of the inputs from `first` on.
    #[cfg_attr(optimized, inline(always))]
    pub(crate) fn write<const DEPTH: usize>(&mut self, first: usize, rows: &[[Row<T>; DEPTH]]) {
        self.numbers()[first..][..rows.len()].copy_from_slice(rows);
    }

    /// Returns the results that were computed.
    #[cfg_attr(optimized, inline(always))]
    pub(crate) fn results(&self) -> Results<'_, T> {
        if self.is_apart {
            Results {
                rows: &self.apart,
                depth: self.depth,
                places: None,
            }
        } else {
            Results {
                rows: &self.rows,
                depth: self.depth,
                places: Some(self.places()),
            }
        }
    }

    /// Returns the rows of the results of the course that all lanes took; none of what was not run.
    #[cfg_attr(optimized, inline(always))]
    fn places(&self) -> &[Option<usize>] {
        match &self.active {
            Some(program) => &program.courses[self.course].results,
            None => &[],
        }
    }

    /// Makes the first results the inputs from `to` on.
    #[cfg_attr(optimized, inline(always))]
    pub(crate) fn carry<const DEPTH: usize>(&mut self, count: usize, to: usize) {
        debug_assert_eq!(self.depth, DEPTH, "the rows of a number");
        let (rows, _) = self.rows.as_chunks_mut::<DEPTH>();
        let (apart, _) = self.apart.as_chunks_mut();
        if !self.is_apart {
            let Some(program) = &self.active else {
                return;
            };
            let results = &program.courses[self.course].results[..count];
            // INVARIANT: the caller has run it, for these results.
            let results = results.iter().map(|row| row.expect("it is wanted"));
            let is_overwritten = |(index, row)| (to..to + index).contains(&row);
            if !results.clone().enumerate().any(is_overwritten) {
                for (index, row) in results.enumerate() {
                    rows[to + index] = rows[row];
                }
                return;
            }
            // A result is one of the inputs that would be overwritten before it is copied.
            for (apart, row) in apart.iter_mut().zip(results) {
                *apart = rows[row];
            }
        }
        rows[to..to + count].copy_from_slice(&apart[..count]);
    }

    /// Returns whether the formula was replayed at all: not if each lane is recorded by itself.
    pub(crate) fn has_programs(&self) -> bool {
        !self.programs.is_empty()
    }

    /// Computes the results.
    #[cfg_attr(optimized, inline(always))]
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
        for lane in 0..self.lanes() {
            let inputs = self.inputs_of(lane);
            let results = match before.take() {
                // Lanes after the last one are the same.
                Some((known, results)) if known == bits(&inputs) => results,
                _ => self.results_of(&formula.record(&inputs), &inputs),
            };
            let (row, place) = (lane / WIDTH, lane % WIDTH);
            for (apart, result) in self.apart.chunks_exact_mut(self.depth).zip(&results) {
                apart[row].0[place] = *result;
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

    #[cfg_attr(optimized, inline(always))]
    fn is_replayed(&mut self, formula: &dyn Replayed<T>) -> bool {
        match self.taken() {
            Some(Taken::One(course)) => {
                self.course = course;
                self.undivided += 1;
                true
            }
            Some(Taken::Divided) => false,
            Some(Taken::Another) | None => self.is_replayed_anew(formula),
        }
    }

    /// Replays another course than that of the lanes before.
    #[cold]
    fn is_replayed_anew(&mut self, formula: &dyn Replayed<T>) -> bool {
        let Some(trace) = self.recorded(formula, 0) else {
            return false;
        };
        self.activate(trace);
        self.course = 0;
        matches!(self.taken(), Some(Taken::One(_)))
    }

    /// Replays each course that lanes take, all lanes in each, and chooses the results; unless there are too many courses.
    /// That depends on the numbers alone: courses that are not known are recorded, however many programs there are.
    #[cold]
    fn is_replayed_in_courses(&mut self, formula: &dyn Replayed<T>) -> bool {
        let Some(first) = self.active.clone() else {
            return false;
        };
        self.undivided = 0;
        let most = MOST_COURSES * self.depth;
        let mut rest = [[true; WIDTH]; DEEPEST];
        rest[self.depth..].fill([false; WIDTH]);
        // It was run.
        let mut courses = self.choose(&mut rest);
        for index in 0..self.programs.len() {
            if rest.as_flattened().contains(&true) && courses <= most {
                let program = self.programs[index].clone();
                if !first.has(program.courses[0].branches()) {
                    self.switch(program);
                    courses += self.run_and_choose(&mut rest);
                }
            }
        }
        let mut traces: Vec<Trace<T>> = Vec::new();
        for lane in (0..self.lanes()).filter(|lane| rest.as_flattened()[*lane]) {
            if courses + traces.len() > most {
                return false;
            }
            let Some(trace) = self.recorded(formula, lane) else {
                return false;
            };
            if traces.iter().all(|known| known.branches != trace.branches) {
                traces.push(trace);
            }
        }
        if courses + traces.len() > most {
            return false;
        }
        for trace in traces {
            self.activate(trace);
            self.run_and_choose(&mut rest);
        }
        self.merge();
        true
    }

    /// Makes the program of all courses the active one, once rows of several courses are no exception.
    fn merge(&mut self) {
        self.divided += 1;
        if self.divided == self.merge_after {
            self.merge_after *= 2;
            let courses = self
                .merged
                .as_ref()
                .map_or(1, |merged| merged.courses.len());
            if courses < self.programs.len() {
                self.merged = Program::merged(&self.programs).map(Rc::new);
            }
        }
        if let Some(merged) = self.merged.clone() {
            self.switch(merged);
        }
    }

    fn run_and_choose(&mut self, rest: &mut Mask) -> usize {
        if let Some(program) = &self.active {
            program.run(&mut self.rows, self.depth);
        }
        self.choose(rest)
    }

    /// Copies the results of the lanes that take a course of the active program, and takes them from the rest. Returns how
    /// many courses there are of which it has lanes.
    fn choose(&mut self, rest: &mut Mask) -> usize {
        let depth = self.depth;
        let mut count = 0;
        // The rows of the results that all lanes have, as far as they were copied.
        let mut copied: &[Option<usize>] = &[];
        for course in self.active.iter().flat_map(|program| &program.courses) {
            let mut own = *rest;
            course.keep_own(&self.rows, depth, &mut own);
            if !own.as_flattened().contains(&true) {
                continue;
            }
            count += 1;
            let is_first = !rest[..depth].as_flattened().contains(&false);
            let apart = self.apart.chunks_exact_mut(depth);
            for (index, (apart, &row)) in apart.zip(&course.results).enumerate() {
                let Some(row) = row else {
                    continue;
                };
                let results = rows_of(&self.rows, row, depth);
                if is_first {
                    // The lanes of other courses are written later.
                    apart.copy_from_slice(results);
                } else if copied.get(index) != Some(&Some(row)) {
                    for ((apart, result), own) in apart.iter_mut().zip(results).zip(&own) {
                        for lane in 0..WIDTH {
                            // Read in any case, so that it is vector code.
                            let result = result.0[lane];
                            apart.0[lane] = if own[lane] { result } else { apart.0[lane] };
                        }
                    }
                }
            }
            if is_first {
                copied = &course.results;
            }
            let own = own.as_flattened();
            for (is_left, is_own) in rest.as_flattened_mut().iter_mut().zip(own) {
                *is_left &= !is_own;
            }
        }
        count
    }

    /// Records the formula with the numbers of a lane, if that stands for others.
    fn recorded(&self, formula: &dyn Replayed<T>, lane: usize) -> Option<Trace<T>> {
        let trace = formula.record(&self.inputs_of(lane));
        trace.is_of_all_lanes().then_some(trace)
    }

    fn inputs_of(&self, lane: usize) -> Vec<T> {
        let inputs = self.rows[..self.inputs * self.depth].chunks_exact(self.depth);
        let (row, place) = (lane / WIDTH, lane % WIDTH);
        inputs.map(|rows| rows[row].0[place]).collect()
    }

    /// Replays the program that is active, if there is one.
    #[cfg_attr(optimized, inline(always))]
    fn taken(&mut self) -> Option<Taken> {
        if self.undivided == UNDIVIDED {
            self.leave_merged();
        }
        let program = self.active.as_ref()?;
        program.run(&mut self.rows, self.depth);
        Some(program.taken(&self.rows, self.depth))
    }

    /// Makes the program of the course that lanes take the active one.
    #[cold]
    fn leave_merged(&mut self) {
        let of_course = self.programs.get(self.course).cloned();
        if let (Some(active), Some(program)) = (&self.active, of_course)
            && active.courses.len() > 1
        {
            self.switch(program);
            self.course = 0;
        }
    }

    /// Makes the program of a trace the active one.
    fn activate(&mut self, trace: Trace<T>) {
        let known = self
            .programs
            .iter()
            .find(|program| program.has(&trace.branches));
        let program = known.cloned().unwrap_or_else(|| {
            if self.programs.len() == MOST {
                self.programs.clear();
                self.merged = None;
            }
            self.programs.push(program(trace, &self.wanted));
            self.programs[self.programs.len() - 1].clone()
        });
        self.switch(program);
    }

    /// Makes a program the active one.
    fn switch(&mut self, program: Rc<Program<T>>) {
        let rows = program.rows * self.depth;
        self.rows.resize(rows, Row([T::zero(); WIDTH]));
        program.fill(&mut self.rows, self.depth);
        self.active = Some(program);
    }
}
