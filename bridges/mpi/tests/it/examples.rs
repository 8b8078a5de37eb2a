//! Runs the examples on several numbers of processes.

#[path = "../../examples/columns.rs"]
#[expect(dead_code, reason = "its `main`")]
mod columns;
#[path = "../../examples/digits.rs"]
#[expect(dead_code, reason = "its `main`")]
mod digits;
#[path = "../../examples/step_time.rs"]
#[expect(dead_code, reason = "its `main`")]
mod step_time;

use std::time::Duration;

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

#[test]
fn the_table_of_the_readme_is_what_the_program_prints() {
    let page = include_str!("../../README.md");
    let table = step_time::table(&step_time::MEASURED);
    assert!(page.contains(&table), "the README should have:\n{table}");
}

#[test]
fn steps_with_delays_take_as_long_as_the_model_says() {
    on(&[2], |comm| {
        // Little to compute, so that delays show: layers of 64 x 64, eight gradients.
        let latencies = [5, 20].map(Duration::from_millis);
        let compared =
            step_time::compare(comm, (4, 64, 16), (&latencies, &[1, 1 << 20]), 5).unwrap();
        // Only the delays: other programs on these processors may slow down the rest.
        let (short, long) = compared.split_at(4);
        for (short, long) in short.iter().zip(long) {
            let ratio = (long.measured - short.measured) / (long.model - short.model);
            assert!(
                (0.5..2.0).contains(&ratio),
                "{ratio:.2} of the model: {short:?}, {long:?}"
            );
        }
        for steps in compared.chunks(4) {
            let [many, _, one, _] = steps else {
                panic!("two buckets, with and without overlap")
            };
            assert!(
                one.measured < many.measured,
                "a message for each gradient is slower than one"
            );
        }
    });
}
