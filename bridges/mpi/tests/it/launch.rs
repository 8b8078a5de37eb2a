//! Tests of several processes: a test starts `mpirun` on its own binary with its own name, and in those processes the
//! test runs its body.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{env, fs, process, thread};

use pullback_mpi::Communicator;

/// The longest time of a test.
const LIMIT: Duration = Duration::from_secs(120);

/// The exit status, the output and the time of a program of several processes.
pub(crate) struct Outcome {
    pub(crate) status: ExitStatus,
    pub(crate) text: String,
    pub(crate) time: Duration,
}

/// Runs `body` on each number of processes.
#[track_caller]
pub(crate) fn on<F: FnOnce(&Communicator)>(sizes: &[usize], body: F) {
    if is_process() {
        inside(body);
        return;
    }
    for &size in sizes {
        let Some(outcome) = start::<F>(size) else {
            return;
        };
        assert!(
            outcome.status.success(),
            "{size} processes, {:?}: {}\n{}",
            outcome.time,
            outcome.status,
            outcome.text
        );
    }
}

/// Runs `body` on so many processes, one of which must fail. Returns `None` on these processes, and without MPI.
pub(crate) fn failing<F: FnOnce(&Communicator)>(size: usize, body: F) -> Option<Outcome> {
    if is_process() {
        inside(body);
        return None;
    }
    start::<F>(size)
}

fn inside(body: impl FnOnce(&Communicator)) {
    pullback_mpi::run(|comm| {
        body(comm);
        Ok::<(), pullback::Error>(())
    });
}

/// Returns whether `mpirun` has started this process.
fn is_process() -> bool {
    env::var_os("PULLBACK_MPI_TEST").is_some()
}

/// Starts the test that defines the closure `F` on so many processes; `None` without `mpirun`.
fn start<F>(size: usize) -> Option<Outcome> {
    let name = std::any::type_name::<F>().trim_end_matches("::{{closure}}");
    let (_, name) = name.split_once("::").expect("the name of the crate first");
    let program = env::current_exe().expect("a test has a path");
    let mut command = mpirun(size);
    command.arg(program).args([name, "--exact", "--nocapture"]);
    let outcome = run(command.env("PULLBACK_MPI_TEST", name))?;
    assert!(
        outcome.text.contains("running 1 test"),
        "`{name}` is not the name of a test:\n{}",
        outcome.text
    );
    Some(outcome)
}

/// Returns a command that starts a program on so many processes, each with one thread.
pub(crate) fn mpirun(size: usize) -> Command {
    let mut command = Command::new("mpirun");
    command.args([
        "-n",
        &size.to_string(),
        "--oversubscribe",
        "--bind-to",
        "none",
    ]);
    command.env("PULLBACK_NUM_THREADS", "1");
    // Tests compare messages, which a backtrace would follow.
    command.env("RUST_BACKTRACE", "0");
    // Open MPI needs both variables to run as root, as tests in containers do.
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1");
    command.env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command
}

/// Runs the command within the limit of time, alone, as tests measure times. `None` without `mpirun`.
pub(crate) fn run(command: &mut Command) -> Option<Outcome> {
    static RUNS: Mutex<usize> = Mutex::new(0);
    let mut runs = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
    *runs += 1;
    // A folder of its own: processes of the run before that still end would remove that of MPI's in the common one.
    let folder = env::temp_dir().join(format!("pullback-{}-{runs}", process::id()));
    fs::create_dir_all(&folder).expect("a folder for MPI");
    command.env("OMPI_MCA_orte_tmpdir_base", &folder);
    let begun = Instant::now();
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    command.stdin(Stdio::null());
    command.stdout(writer.try_clone().expect("a pipe"));
    command.stderr(writer);
    let Ok(mut child) = command.spawn() else {
        println!("skipped: there is no `mpirun`");
        return None;
    };
    // The command holds the writing end too: the pipe closes when the processes have closed it.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let (sender, texts) = channel();
    thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(length @ 1..) = reader.read(&mut bytes) {
            let _ = sender.send(bytes[..length].to_vec());
        }
    });
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child that is there") {
            break status;
        }
        if begun.elapsed() > LIMIT {
            let text = text(texts.try_iter());
            let _ = child.kill();
            let _ = child.wait();
            panic!("not done within {LIMIT:?}: {command:?}\n{text}");
        }
        thread::sleep(Duration::from_millis(10));
    };
    let time = begun.elapsed();
    let text = text(texts.iter());
    let _ = fs::remove_dir_all(&folder);
    Some(Outcome { status, text, time })
}

fn text(parts: impl Iterator<Item = Vec<u8>>) -> String {
    String::from_utf8_lossy(&parts.flatten().collect::<Vec<u8>>()).into_owned()
}

/// Returns the path of a file of this name that tests may write.
pub(crate) fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mpi-{name}"))
}

/// Returns the largest difference between these numbers and those of one process, which runs first and writes them
/// into a file.
pub(crate) fn from_one_process(name: &str, numbers: &[f64], comm: &Communicator) -> f64 {
    let path = file(name);
    if comm.size() == 1 {
        let text: Vec<String> = numbers.iter().map(f64::to_string).collect();
        fs::write(&path, text.join("\n")).expect("a file of one process");
        return 0.0;
    }
    let alone = fs::read_to_string(&path).expect("the file of one process");
    let alone: Vec<f64> = alone
        .lines()
        .map(|line| line.parse().expect("a number"))
        .collect();
    assert_eq!(alone.len(), numbers.len());
    let differences = alone
        .iter()
        .zip(numbers)
        .map(|(one, several)| (one - several).abs());
    differences.fold(0.0, f64::max)
}
