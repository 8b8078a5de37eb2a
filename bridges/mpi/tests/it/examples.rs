//! The examples do what they say, on any number of processes.

#[path = "../../examples/columns.rs"]
#[expect(dead_code, reason = "its `main`")]
mod columns;
#[path = "../../examples/digits.rs"]
#[expect(dead_code, reason = "its `main`")]
mod digits;

use crate::launch::{from_one_process, on};

#[test]
fn digits_have_the_same_losses_on_any_number_of_processes() {
    on(&[1, 2, 4], |comm| {
        let (losses, _) = digits::train(comm, 2).unwrap();
        assert!(losses[1] < 0.6 * losses[0], "{losses:?}");
        let difference = from_one_process("digits", &losses, comm);
        assert!(difference < 1e-6, "losses differ by {difference:e}");
    });
}

#[test]
fn split_layers_are_the_whole_ones() {
    on(&[1, 2, 4], |comm| {
        let difference = columns::train(comm, 10).unwrap();
        assert!(difference < 1e-12, "they differ by {difference:e}");
    });
}
