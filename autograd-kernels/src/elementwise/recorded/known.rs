//! The programs that a thread has made: small calls of a formula, one after the other, would take most of their time to make
//! the same one.
//!
//! A formula is recorded in each call all the same. Its program is found by what was recorded, so that nothing is assumed of
//! formulas: their constants may be values of the call, or what a program changes meanwhile.

use std::cell::RefCell;
use std::rc::Rc;
use std::thread::LocalKey;

use super::program::Program;
use super::replay::Wanted;
use super::trace::{Kind, Node, Trace};
use crate::element::{Element, Family, of_type};

/// The most programs of a thread.
const MOST: usize = 16;

/// The most operations of a recording whose program is kept: those of all are below some megabytes.
const MOST_NODES: usize = 1024;

/// A program, and what it was made of.
struct Known<T> {
    nodes: Vec<Node<T>>,
    results: Vec<usize>,
    wanted: Wanted,
    program: Rc<Program<T>>,
}

impl<T: Element> Known<T> {
    fn is_of(&self, trace: &Trace<T>, wanted: &Wanted) -> bool {
        self.nodes == trace.nodes
            && self.results == trace.results
            && self.program.courses[0].branches() == trace.branches
            && self.wanted == *wanted
    }
}

/// Returns the program of what is wanted of a recording.
pub(super) fn program<T: Element>(trace: Trace<T>, wanted: &Wanted) -> Rc<Program<T>> {
    if trace.nodes.len() > MOST_NODES {
        return Rc::new(made(trace, wanted));
    }
    known().with_borrow_mut(|all: &mut Vec<Known<T>>| {
        if let Some(place) = all.iter().position(|known| known.is_of(&trace, wanted)) {
            // The last one used is the first, and the next to be dropped the last.
            all[..=place].rotate_right(1);
            return all[0].program.clone();
        }
        let (nodes, results) = (trace.nodes.clone(), trace.results.clone());
        let program = Rc::new(made(trace, wanted));
        all.truncate(MOST - 1);
        all.insert(
            0,
            Known {
                nodes,
                results,
                wanted: wanted.clone(),
                program: program.clone(),
            },
        );
        program
    })
}

fn made<T: Element>(mut trace: Trace<T>, wanted: &Wanted) -> Program<T> {
    let results = match wanted {
        Wanted::Values(count) => {
            let results = trace.results[..*count].iter();
            results.map(|result| Some(*result)).collect()
        }
        Wanted::Kept(count, of_inputs) => {
            let gradients = trace.reverse(of_inputs);
            let results = trace.results[..*count].iter().copied();
            results.chain(trace.kept(&gradients)).map(Some).collect()
        }
        Wanted::GradientsOfKept(of_inputs) => {
            let gradients = trace.reverse(of_inputs);
            for node in trace.kept(&gradients) {
                trace.nodes[node].kind = Kind::Kept;
            }
            gradients
        }
        Wanted::Gradients(wanted) => {
            let (of_inputs, results) = wanted.split_at(trace.inputs);
            let results = results.iter().zip(&trace.results);
            let results = results.map(|(is_wanted, node)| is_wanted.then_some(*node));
            let results: Vec<_> = results.collect();
            let mut gradients = trace.reverse(of_inputs);
            gradients.extend(results);
            gradients
        }
    };
    Program::of(trace, results)
}

thread_local! {
    static SINGLE: RefCell<Vec<Known<f32>>> = const { RefCell::new(Vec::new()) };
    static DOUBLE: RefCell<Vec<Known<f64>>> = const { RefCell::new(Vec::new()) };
}

/// The programs of both element types.
struct Programs;

impl Family for Programs {
    type Of<T: Element> = &'static LocalKey<RefCell<Vec<Known<T>>>>;
}

fn known<T: Element>() -> &'static LocalKey<RefCell<Vec<Known<T>>>> {
    of_type::<T, Programs>(&SINGLE, &DOUBLE)
}
