//! Calls for each example of the operands and results, on several threads.

use std::mem::take;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pullback::kernels::split;

use super::abi::{Operand, Target};

/// Computes results from operands.
pub(super) type Body<'b> =
    dyn Fn(&[Operand<'_>], &mut [Target<'_>]) -> Result<(), String> + Sync + 'b;

/// The fewest elements of the examples of a thread.
const ELEMENTS: usize = 256;

/// Calls `body` for each example. `batches` has the operands with an axis of examples, the innermost one first.
pub(super) fn each_example(
    batches: &[Vec<bool>],
    operands: &[Operand<'_>],
    mut results: Vec<Target<'_>>,
    body: &Body<'_>,
) -> Result<(), String> {
    let Some((marks, inner)) = batches.split_last() else {
        return body(operands, &mut results);
    };
    let mut marked = operands.iter().zip(marks).filter(|(_, mark)| **mark);
    let Some((operand, _)) = marked.next() else {
        return Err("a program of examples without one".to_owned());
    };
    let (count, elements) = (operand.examples(), operand.len());
    let at_least = 1 + ELEMENTS * count / elements.max(1);
    let mut examples: Vec<Vec<_>> = (0..count)
        .map(|_| Vec::with_capacity(results.len()))
        .collect();
    for result in results {
        for (example, result) in examples.iter_mut().zip(result.examples()) {
            example.push(result);
        }
    }
    // Each is locked once, by the thread that takes the example.
    let examples: Vec<_> = examples.into_iter().map(Mutex::new).collect();
    let failed = Mutex::new(None);
    split(count, at_least, |range| {
        for index in range {
            let operands = operands.iter().zip(marks).map(|(operand, &mark)| {
                if mark {
                    operand.example(index)
                } else {
                    operand.clone()
                }
            });
            let operands: Vec<_> = operands.collect();
            let results = take(&mut *locked(&examples[index]));
            if let Err(text) = each_example(inner, &operands, results, body) {
                locked(&failed).get_or_insert(text);
                return;
            }
        }
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    failed.map_or(Ok(()), Err)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
