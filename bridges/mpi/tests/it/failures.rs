//! A process that fails ends all of them, within ten seconds and with a message that has the reason.

use std::thread;
use std::time::Duration;

use pullback::Tensor;
use pullback::ndarray::{Array1, Axis, array};
use pullback_mpi::{all_gather, all_reduce_max, all_reduce_sum, broadcast, shift};

use crate::launch::{Outcome, failing};

/// Checks that all ended in time, with these words among what they printed.
#[track_caller]
pub(crate) fn ended(outcome: Option<Outcome>, words: &[&str]) {
    let Some(outcome) = outcome else { return };
    let Outcome { status, text, time } = outcome;
    assert!(!status.success(), "it succeeded:\n{text}");
    assert!(time < Duration::from_secs(10), "{time:?}:\n{text}");
    for words in words {
        assert!(text.contains(words), "without `{words}`:\n{text}");
    }
}

#[test]
fn a_panic() {
    let outcome = failing(3, |comm| {
        comm.barrier();
        assert!(comm.rank() != 1, "the loss is not a number");
        comm.barrier();
    });
    ended(outcome, &["rank 1: panicked: the loss is not a number"]);
}

#[test]
fn an_exit_in_the_middle() {
    let outcome = failing(2, |comm| {
        comm.barrier();
        if comm.rank() == 1 {
            eprintln!("rank 1 has had enough");
            std::process::exit(3);
        }
        comm.barrier();
    });
    ended(outcome, &["rank 1 has had enough"]);
}

#[test]
fn a_killed_process() {
    let outcome = failing(3, |comm| {
        comm.barrier();
        if comm.rank() == 2 {
            let own = std::process::id().to_string();
            let _ = std::process::Command::new("kill")
                .args(["-9", &own])
                .status();
        }
        let _ = all_reduce_sum(&Tensor::from(1.0), comm);
    });
    ended(outcome, &["signal 9"]);
}

#[test]
fn a_process_that_stalls() {
    let outcome = failing(3, |comm| {
        let comm = comm.with_deadline(Duration::from_secs(2));
        comm.barrier();
        if comm.rank() == 1 {
            thread::sleep(Duration::from_secs(60));
        }
        let _ = all_reduce_sum(&Tensor::from(array![1.0_f32, 2.0]), &comm);
    });
    ended(
        outcome,
        &[
            "rank 0: `all_reduce_sum` of f32 of shape [2] (call 2) has waited for 2.0 s: rank 1 has not reached this \
             call; it is at call 1",
        ],
    );
}

#[test]
fn a_process_that_is_stopped() {
    let outcome = failing(3, |comm| {
        let comm = comm.with_deadline(Duration::from_secs(2));
        comm.barrier();
        if comm.rank() == 0 {
            let own = std::process::id().to_string();
            let _ = std::process::Command::new("kill")
                .args(["-STOP", &own])
                .status();
        }
        let _ = all_reduce_sum(&Tensor::from(array![1.0_f32, 2.0]), &comm);
    });
    ended(
        outcome,
        &[
            "rank 1: `all_reduce_sum` of f32 of shape [2] (call 2) has waited for 2.0 s: rank 0 does not reply",
        ],
    );
}

#[test]
fn processes_that_disagree_on_a_shape() {
    let outcome = failing(3, |comm| {
        let length = if comm.rank() == 2 { 3 } else { 2 };
        let _ = all_reduce_sum(&Tensor::from(Array1::<f64>::zeros(length)), comm);
    });
    ended(
        outcome,
        &[
            "the processes disagree: rank 0 calls `all_reduce_sum` of f64 of shape [2], rank 2 calls `all_reduce_sum` of \
             f64 of shape [3]",
        ],
    );
}

#[test]
fn processes_that_disagree_on_the_element_type() {
    let outcome = failing(2, |comm| {
        if comm.rank() == 0 {
            let _ = all_reduce_max(&Tensor::from(1.0_f32), comm);
        } else {
            let _ = all_reduce_max(&Tensor::from(1.0_f64), comm);
        }
    });
    ended(
        outcome,
        &[
            "rank 0 calls `all_reduce_max` of f32 of shape [], rank 1 calls `all_reduce_max` of f64 of shape []",
        ],
    );
}

#[test]
fn processes_that_disagree_on_a_value() {
    let outcome = failing(2, |comm| {
        let x = Tensor::from(array![[1.0]]);
        let _ = match comm.rank() {
            0 => all_gather(&x, Axis(0), comm),
            _ => all_gather(&x, Axis(1), comm),
        };
    });
    ended(
        outcome,
        &[
            "shape [1, 1] (along axis 0), rank 1",
            "shape [1, 1] (along axis 1)",
        ],
    );
}

#[test]
fn processes_that_disagree_on_the_root() {
    let outcome = failing(2, |comm| {
        let _ = broadcast(&Tensor::from(1.0), comm.rank(), comm);
    });
    ended(outcome, &["(root 0)", "(root 1)"]);
}

#[test]
fn processes_that_disagree_on_the_operation() {
    let outcome = failing(2, |comm| {
        let x = Tensor::from(1.0);
        let _ = match comm.rank() {
            0 => shift(&x, 1, comm),
            _ => all_reduce_sum(&x, comm),
        };
    });
    ended(
        outcome,
        &["rank 0 calls `shift` of f64 of shape [] (by 1), rank 1 calls `all_reduce_sum` of f64"],
    );
}

#[test]
fn processes_that_disagree_on_the_number_of_steps() {
    let outcome = failing(2, |comm| {
        for _ in 0..3 + comm.rank() {
            let _ = all_reduce_sum(&Tensor::from(1.0), comm);
        }
    });
    ended(
        outcome,
        &["rank 0 calls `the end`, rank 1 calls `all_reduce_sum` of f64 of shape []"],
    );
}
