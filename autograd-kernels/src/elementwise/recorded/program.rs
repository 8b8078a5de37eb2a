//! The instructions of a replay, over rows of lanes.
//!
//! Each number has as many rows as the [depth](super::depth) says: here they count as one. Each operation has a row for its
//! result, which no other has: it is the number of instructions that takes the time, not that of rows. The rows of the
//! inputs are the first, those of constants follow, and then those of the instructions' results, in their order: an
//! instruction reads the rows before its own. What a pass forward has kept is an input too.

use std::ops::Range;
use std::rc::Rc;

use super::depth::{OfReplays, of_depth};
use super::functions::{Function, Operands};
use super::merge::Merge;
use super::rows::{Mask, Row, WIDTH, rows_of};
use super::schedule::Schedule;
use super::trace::{Branch, Kind, Node, Trace};
use crate::element::Element;

/// The operations that some results need, as instructions.
#[derive(Debug)]
pub(super) struct Program<T> {
    instructions: Vec<Instruction<T>>,
    /// The rows of the operands of all instructions.
    operands: Vec<u32>,
    inputs: usize,
    constants: Vec<T>,
    /// The number of rows.
    pub(super) rows: usize,
    /// The courses that it computes, each of all lanes.
    pub(super) courses: Vec<Course>,
    /// The operations that it was made of.
    nodes: Vec<Node<T>>,
}

/// A way through the branches of a formula.
#[derive(Debug)]
pub(super) struct Course {
    /// The row of each result that is there.
    pub(super) results: Vec<Option<usize>>,
    /// The rows that are compared in each branch.
    compared: Vec<[usize; 2]>,
    of: Recording,
}

/// The results and branches of a formula, as nodes.
#[derive(Clone, Debug)]
pub(super) struct Recording {
    /// Those that are there.
    pub(super) results: Vec<Option<usize>>,
    /// In the order in which the formula took them.
    pub(super) branches: Vec<Branch>,
}

/// An operation on some rows each, whose results follow each other.
#[derive(Debug)]
struct Instruction<T> {
    code: Code<T>,
    operands: Range<usize>,
    results: Range<usize>,
}

#[derive(Clone, Copy, Debug)]
enum Code<T> {
    Negative,
    Sum,
    Difference,
    Product,
    Pulled,
    PulledSum,
    /// A chain: the sum of all operands.
    SumOfAll,
    /// A chain: the first operand and the products of all pairs that follow.
    SumOfPulled,
    /// The sum of the products of all pairs of operands, and of the first if their number is odd.
    SumOfProducts,
    /// A function. The slopes along these variables, a bit for each, follow the values.
    Function(Function<T>, usize),
}

/// How lanes take the courses of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// All this one.
    One(usize),
    /// All in the same way, but another.
    Another,
    Divided,
}

impl<T: Element> Program<T> {
    /// Makes the program of some results, which are nodes of a trace.
    pub(super) fn of(trace: Trace<T>, results: Vec<Option<usize>>) -> Self {
        let recording = Recording {
            results,
            branches: trace.branches,
        };
        Self::of_nodes(trace.nodes, vec![recording])
    }

    /// Makes a program of the courses of some, each of which has one, that computes what they have in common once; none if
    /// that is more than two of them compute.
    pub(super) fn merged(programs: &[Rc<Self>]) -> Option<Self> {
        let mut merge = Merge::new();
        let of_each = |program: &Rc<Self>| {
            let places = merge.add(&program.nodes);
            let of = &program.courses[0].of;
            let result = |node: &Option<usize>| node.map(|node| places[node]);
            let branch = |branch: &Branch| Branch {
                nodes: branch.nodes.map(|node| places[node]),
                ..*branch
            };
            Recording {
                results: of.results.iter().map(result).collect(),
                branches: of.branches.iter().map(branch).collect(),
            }
        };
        let recordings = programs.iter().map(of_each).collect();
        let mut merged = Self::of_nodes(merge.nodes, recordings);
        for (course, program) in merged.courses.iter_mut().zip(programs) {
            // It is known by its own nodes.
            course.of = program.courses[0].of.clone();
        }
        let operations = |program: &Self| program.rows - program.inputs - program.constants.len();
        let largest = programs.iter().map(|program| operations(program)).max()?;
        (operations(&merged) <= 2 * largest).then_some(merged)
    }

    fn of_nodes(nodes: Vec<Node<T>>, recordings: Vec<Recording>) -> Self {
        let needed = recordings.iter().flat_map(|of| {
            let compared = of.branches.iter().flat_map(|branch| branch.nodes);
            of.results.iter().copied().flatten().chain(compared)
        });
        let schedule = Schedule::of(&nodes, needed);
        let mut layout = Layout::of(&nodes, &schedule);
        let mut program = Self {
            instructions: Vec::new(),
            operands: Vec::new(),
            inputs: layout.inputs,
            constants: std::mem::take(&mut layout.constants),
            rows: 0,
            courses: Vec::new(),
            nodes: Vec::new(),
        };
        for group in &schedule.groups {
            let start = program.operands.len();
            for &node in group {
                let operands = schedule.operands(&nodes, node);
                // INVARIANT: a trace has less than 2³² nodes.
                let row = |operand| u32::try_from(layout.row(operand)).expect("few rows");
                program.operands.extend(operands.into_iter().map(row));
            }
            program.instructions.push(Instruction {
                code: Code::of(&nodes, &schedule, group[0]),
                operands: start..program.operands.len(),
                results: layout.add(group),
            });
        }
        program.rows = layout.used;
        let course = |of: Recording| Course {
            results: of
                .results
                .iter()
                .map(|node| node.map(|node| layout.row(node)))
                .collect(),
            compared: of
                .branches
                .iter()
                .map(|branch| branch.nodes.map(|node| layout.row(node)))
                .collect(),
            of,
        };
        program.courses = recordings.into_iter().map(course).collect();
        program.nodes = nodes;
        program
    }

    /// Writes the rows of constants.
    pub(super) fn fill(&self, rows: &mut [Row<T>], depth: usize) {
        for (number, &constant) in self.constants.iter().enumerate() {
            let first = (self.inputs + number) * depth;
            rows[first..][..depth].fill(Row([constant; WIDTH]));
        }
    }

    /// Computes all rows from those of the inputs and constants.
    pub(super) fn run(&self, rows: &mut [Row<T>], depth: usize) {
        let program = self;
        of_depth(depth, Run { program, rows });
    }

    /// Returns whether each input is read: by an instruction, or as a result or what a branch compares.
    pub(super) fn reads(&self) -> Vec<bool> {
        let of_instructions = self.operands.iter().map(|row| *row as usize);
        let of_courses = self.courses.iter().flat_map(|course| {
            let compared = course.compared.iter().flatten();
            course.results.iter().flatten().chain(compared).copied()
        });
        let mut reads = vec![false; self.inputs];
        for row in of_instructions.chain(of_courses) {
            if let Some(input) = reads.get_mut(row) {
                *input = true;
            }
        }
        reads
    }

    /// Returns whether it computes the course with these branches.
    pub(super) fn has(&self, branches: &[Branch]) -> bool {
        self.courses
            .iter()
            .any(|course| course.branches() == branches)
    }

    /// Returns how the lanes, which were computed, take the courses.
    pub(super) fn taken(&self, rows: &[Row<T>], depth: usize) -> Taken {
        let mut taken = Taken::Another;
        for (index, course) in self.courses.iter().enumerate() {
            match course.taken(rows, depth) {
                Taken::One(_) => return Taken::One(index),
                Taken::Another => {}
                Taken::Divided => taken = Taken::Divided,
            }
        }
        taken
    }
}

impl Course {
    pub(super) fn branches(&self) -> &[Branch] {
        &self.of.branches
    }

    /// Removes the lanes that take another course from some lanes, which were computed.
    pub(super) fn keep_own<T: Element>(&self, rows: &[Row<T>], depth: usize, lanes: &mut Mask) {
        for (branch, compared) in self.of.branches.iter().zip(&self.compared) {
            let compared = compared.map(|number| rows_of(rows, number, depth));
            for (row, lanes) in lanes[..depth].iter_mut().enumerate() {
                let as_recorded = as_recorded(*branch, compared.map(|rows| &rows[row]));
                for (is_own, as_recorded) in lanes.iter_mut().zip(as_recorded) {
                    *is_own &= as_recorded;
                }
            }
        }
    }

    fn taken<T: Element>(&self, rows: &[Row<T>], depth: usize) -> Taken {
        for (branch, compared) in self.of.branches.iter().zip(&self.compared) {
            let compared = compared.map(|number| rows_of(rows, number, depth));
            let count = |row: usize| {
                let as_recorded = as_recorded(*branch, compared.map(|rows| &rows[row]));
                as_recorded.filter(|as_recorded| *as_recorded).count()
            };
            match (0..depth).map(count).sum::<usize>() {
                0 => return Taken::Another,
                lanes if lanes == depth * WIDTH => {}
                _ => return Taken::Divided,
            }
        }
        Taken::One(0)
    }
}

/// Returns for each lane of the rows that a branch compares whether it takes it as recorded.
fn as_recorded<T: Element>(branch: Branch, [x, y]: [&Row<T>; 2]) -> impl Iterator<Item = bool> {
    let lanes = x.0.iter().zip(&y.0);
    lanes.map(move |(x, y)| branch.comparison.holds(*x, *y) == branch.holds)
}

/// The rows of nodes.
struct Layout<'a, T> {
    nodes: &'a [Node<T>],
    schedule: &'a Schedule,
    inputs: usize,
    constants: Vec<T>,
    /// The row of the value of each node that has one.
    values: Vec<usize>,
    /// The number of operations of its group.
    counts: Vec<usize>,
    used: usize,
}

impl<'a, T: Element> Layout<'a, T> {
    fn of(nodes: &'a [Node<T>], schedule: &'a Schedule) -> Self {
        let mut layout = Self {
            nodes,
            schedule,
            inputs: 0,
            constants: Vec::new(),
            values: vec![0; nodes.len()],
            counts: vec![0; nodes.len()],
            used: 0,
        };
        for kind in [Kind::Input, Kind::Kept] {
            for (index, node) in nodes.iter().enumerate() {
                if node.kind == kind {
                    layout.values[index] = layout.used;
                    layout.used += 1;
                }
            }
        }
        layout.inputs = layout.used;
        for (index, node) in nodes.iter().enumerate() {
            if let Kind::Constant(value) = node.kind
                && schedule.is_used[index]
            {
                layout.values[index] = layout.used;
                layout.constants.push(value);
                layout.used += 1;
            }
        }
        layout
    }

    /// Adds rows for the results of a group.
    fn add(&mut self, group: &[usize]) -> Range<usize> {
        let first = self.used;
        for (place, &node) in group.iter().enumerate() {
            self.values[node] = first + place;
            self.counts[node] = group.len();
        }
        let slopes = self.schedule.variables[group[0]].count_ones() as usize;
        self.used += group.len() * (1 + slopes);
        first..self.used
    }

    fn row(&self, node: usize) -> usize {
        let Kind::Slope(variable) = self.nodes[node].kind else {
            return self.values[node];
        };
        let function = self.nodes[node].operands[0];
        let before = self.schedule.variables[function] & ((1 << variable) - 1);
        let slopes = before.count_ones() as usize;
        self.values[function] + self.counts[function] * (1 + slopes)
    }
}

impl<T: Element> Code<T> {
    /// Returns the code of an operation.
    fn of(nodes: &[Node<T>], schedule: &Schedule, node: usize) -> Self {
        let is_chain = schedule.is_chain(nodes, node);
        match nodes[node].kind {
            Kind::Negative => Self::Negative,
            Kind::Sum if schedule.has_factors(nodes, node) => Self::SumOfProducts,
            Kind::Sum if is_chain => Self::SumOfAll,
            Kind::Sum => Self::Sum,
            Kind::Difference => Self::Difference,
            Kind::Product => Self::Product,
            Kind::Pulled => Self::Pulled,
            Kind::PulledSum if is_chain => Self::SumOfPulled,
            Kind::PulledSum => Self::PulledSum,
            Kind::OfOne(function) | Kind::OfTwo(function) => {
                Self::Function(function, schedule.variables[node])
            }
            Kind::Input | Kind::Kept | Kind::Constant(_) | Kind::Slope(_) => {
                unreachable!("operations alone are in groups")
            }
        }
    }
}

/// The loop over all instructions.
struct Run<'a, T> {
    program: &'a Program<T>,
    rows: &'a mut [Row<T>],
}

impl<T: Element> OfReplays for Run<'_, T> {
    type Element = T;

    #[cfg_attr(optimized, inline(always))]
    fn run<const DEPTH: usize>(self) {
        let (all, _) = self.rows.as_chunks_mut::<DEPTH>();
        for instruction in &self.program.instructions {
            let (rows, results) = all.split_at_mut(instruction.results.start);
            let results = &mut results[..instruction.results.len()];
            let operands = &self.program.operands[instruction.operands.clone()];
            match instruction.code {
                Code::Negative => {
                    for (x, result) in operands.iter().zip(results) {
                        let x = &rows[*x as usize];
                        each([x, x], result, |x, _| -x);
                    }
                }
                Code::Sum => of_two(rows, operands, results, |x, y| x + y),
                Code::Difference => of_two(rows, operands, results, |x, y| x - y),
                Code::Product => of_two(rows, operands, results, |x, y| x * y),
                Code::Pulled => of_two(rows, operands, results, pulled),
                Code::PulledSum => {
                    let (operands, _) = operands.as_chunks();
                    for (&[sum, gradient, slope], result) in operands.iter().zip(results) {
                        sum_of_pulled(rows, sum, &[[gradient, slope]], result);
                    }
                }
                Code::SumOfAll => sum_of_all(rows, operands, &mut results[0]),
                Code::SumOfPulled => {
                    let (terms, _) = operands[1..].as_chunks();
                    sum_of_pulled(rows, operands[0], terms, &mut results[0]);
                }
                Code::SumOfProducts => {
                    let count = operands.len() / results.len();
                    for (operands, result) in operands.chunks_exact(count).zip(results) {
                        sum_of_products(rows, operands, result);
                    }
                }
                Code::Function(function, variables) => function.run(variables)(Operands {
                    rows: rows.as_flattened(),
                    depth: DEPTH,
                    places: operands,
                    results: results.as_flattened_mut(),
                    parameter: function.parameter,
                }),
            }
        }
    }
}

#[cfg_attr(optimized, inline(always))]
fn each<T: Element, const DEPTH: usize>(
    [x, y]: [&[Row<T>; DEPTH]; 2],
    result: &mut [Row<T>; DEPTH],
    f: impl Fn(T, T) -> T,
) {
    for row in 0..DEPTH {
        for lane in 0..WIDTH {
            result[row].0[lane] = f(x[row].0[lane], y[row].0[lane]);
        }
    }
}

#[cfg_attr(optimized, inline(always))]
fn of_two<T: Element, const DEPTH: usize>(
    rows: &[[Row<T>; DEPTH]],
    operands: &[u32],
    results: &mut [[Row<T>; DEPTH]],
    f: impl Fn(T, T) -> T + Copy,
) {
    let (operands, _) = operands.as_chunks();
    for ([x, y], result) in operands.iter().zip(results) {
        each([&rows[*x as usize], &rows[*y as usize]], result, f);
    }
}

#[cfg_attr(optimized, inline(always))]
pub(super) fn pulled<T: Element>(gradient: T, slope: T) -> T {
    let product = gradient * slope;
    if gradient == T::zero() {
        T::zero()
    } else {
        product
    }
}

#[cfg_attr(optimized, inline(always))]
fn sum_of_pulled<T: Element, const DEPTH: usize>(
    rows: &[[Row<T>; DEPTH]],
    first: u32,
    terms: &[[u32; 2]],
    sum: &mut [Row<T>; DEPTH],
) {
    let mut sums = rows[first as usize];
    for [gradient, slope] in terms {
        let (gradient, slope) = (&rows[*gradient as usize], &rows[*slope as usize]);
        for row in 0..DEPTH {
            for lane in 0..WIDTH {
                sums[row].0[lane] += pulled(gradient[row].0[lane], slope[row].0[lane]);
            }
        }
    }
    *sum = sums;
}

#[cfg_attr(optimized, inline(always))]
fn sum_of_all<T: Element, const DEPTH: usize>(
    rows: &[[Row<T>; DEPTH]],
    operands: &[u32],
    sum: &mut [Row<T>; DEPTH],
) {
    let [first, terms @ ..] = operands else {
        return;
    };
    let mut sums = rows[*first as usize];
    for term in terms {
        let term = &rows[*term as usize];
        for row in 0..DEPTH {
            for lane in 0..WIDTH {
                sums[row].0[lane] += term[row].0[lane];
            }
        }
    }
    *sum = sums;
}

#[cfg_attr(optimized, inline(always))]
fn sum_of_products<T: Element, const DEPTH: usize>(
    rows: &[[Row<T>; DEPTH]],
    operands: &[u32],
    sum: &mut [Row<T>; DEPTH],
) {
    let of = |operand: u32| &rows[operand as usize];
    let (mut sums, terms) = match operands {
        [first, terms @ ..] if operands.len() % 2 == 1 => (*of(*first), terms),
        [x, y, terms @ ..] => {
            let (mut sums, y) = (*of(*x), of(*y));
            for row in 0..DEPTH {
                for lane in 0..WIDTH {
                    sums[row].0[lane] *= y[row].0[lane];
                }
            }
            (sums, terms)
        }
        _ => return,
    };
    let (terms, _) = terms.as_chunks();
    for &[x, y] in terms {
        let (x, y) = (of(x), of(y));
        for row in 0..DEPTH {
            for lane in 0..WIDTH {
                sums[row].0[lane] += x[row].0[lane] * y[row].0[lane];
            }
        }
    }
    *sum = sums;
}
