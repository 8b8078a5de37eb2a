//! Each test starts its own program on several processes with `mpirun`, see `launch`.

mod collectives;
mod failures;
mod launch;
