//! Puts the inputs of a scan into the order that the runtime has: states, steps, and what is the same in each step.

use crate::lists::Lists as _;
use crate::model::{Elementwise, ScanRole as Role};

/// Sorts the inputs.
pub(crate) fn sorted(mut elementwise: Elementwise) -> Elementwise {
    let Some(scan) = &mut elementwise.scan else {
        return elementwise;
    };
    let mut order: Vec<usize> = (0..elementwise.inputs.len()).listed();
    order.sort_by_key(|&input| match scan.roles[input] {
        Role::State => 0,
        Role::Step => 1,
        Role::Shared => 2,
    });
    scan.roles = by(&scan.roles, &order);
    elementwise.inputs = by(&elementwise.inputs, &order);
    elementwise.rows = by(&elementwise.rows, &order);
    elementwise.differentiable = by(&elementwise.differentiable, &order);
    elementwise
}

fn by<X: Clone>(list: &[X], order: &[usize]) -> Vec<X> {
    order.iter().map(|&place| list[place].clone()).listed()
}
