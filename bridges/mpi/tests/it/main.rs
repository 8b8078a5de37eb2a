//! Each test starts its own program on several processes with `mpirun`, see `launch`.

mod collectives;
mod data_parallel;
mod examples;
mod failures;
mod launch;
