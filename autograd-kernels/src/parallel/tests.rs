use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::*;

/// A place for two threads to meet.
struct Meeting(AtomicUsize);

impl Meeting {
    fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// Returns whether a second thread arrives in time. Another test may be using the helper.
    fn met(&self) -> bool {
        const MISSED: usize = 100;
        self.0.fetch_add(1, Ordering::SeqCst);
        let since = Instant::now();
        while self.0.load(Ordering::SeqCst) == 1 {
            if since.elapsed() > Duration::from_millis(20) {
                let _ = self
                    .0
                    .compare_exchange(1, MISSED, Ordering::SeqCst, Ordering::SeqCst);
            }
            thread::yield_now();
        }
        self.0.load(Ordering::SeqCst) == 2
    }
}

#[test]
fn ranges_are_all_that_was_asked_for() {
    for count in [0, 1, 2, 7, 100, 1001] {
        for at_least in [0, 1, 3, 1000] {
            let seen: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
            split(count, at_least, |range| {
                for i in range {
                    seen[i].fetch_add(1, Ordering::Relaxed);
                }
            });
            assert!(seen.iter().all(|seen| seen.load(Ordering::Relaxed) == 1));
        }
    }
}

#[test]
fn pieces_are_whole_rows_in_order() {
    for (rows, row) in [(0, 3), (1, 1), (5, 7), (1000, 3), (4, 0)] {
        let mut elements = vec![usize::MAX; rows * row];
        split_mut(&mut elements, row, 1, |first, piece| {
            for (i, element) in piece.iter_mut().enumerate() {
                *element = first * row + i;
            }
        });
        assert!(
            elements
                .iter()
                .enumerate()
                .all(|(i, &element)| i == element)
        );
    }
}

#[test]
#[should_panic(expected = "7 elements cannot be cut into rows of 3")]
fn a_piece_of_a_row_is_refused() {
    split_mut(&mut [0; 7], 3, 1, |_, _| ());
}

#[test]
fn helpers_help_and_nested_work_stays_where_it_is() {
    loop {
        let (both, threads) = (Meeting::new(), Mutex::new(HashSet::new()));
        in_parts(2, 2, &|part| {
            if both.met() {
                let here = thread::current().id();
                split(1000, 1, |_| assert_eq!(thread::current().id(), here));
                threads.lock().unwrap().insert((here, part));
            }
        });
        assert!(!AT_WORK.get());
        let threads = threads.into_inner().unwrap();
        let different: HashSet<_> = threads.iter().map(|(thread, _)| thread).collect();
        match threads.len() {
            0 => continue,
            parts => assert_eq!((parts, different.len()), (2, 2)),
        }
        break;
    }
}

#[test]
fn panics_reach_the_caller_with_their_message() {
    for culprit in [0, 1] {
        let failed = || {
            let both = Meeting::new();
            catch_unwind(AssertUnwindSafe(|| {
                in_parts(2, 2, &|part| {
                    assert!(!both.met() || part != culprit, "part {part} failed");
                });
            }))
        };
        let panic = std::iter::repeat_with(failed).find_map(Result::err);
        assert_eq!(
            panic.unwrap().downcast_ref::<String>().unwrap(),
            &format!("part {culprit} failed")
        );
    }
    helpers_help_and_nested_work_stays_where_it_is();
}

#[test]
fn many_callers_at_once_all_finish() {
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..200 {
                    let sum = AtomicUsize::new(0);
                    in_parts(2, 5, &|part| {
                        sum.fetch_add(part + 1, Ordering::Relaxed);
                    });
                    assert_eq!(sum.into_inner(), 15);
                }
            });
        }
    });
}

/// Panics as it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(
            thread::panicking(),
            "a payload that panics as it is dropped"
        );
    }
}

#[test]
fn nobody_is_in_the_closure_when_it_returns_whatever_the_payloads_do() {
    for parts in [2, 3, 8] {
        let failed = || {
            let (both, inside) = (Meeting::new(), AtomicUsize::new(0));
            let result = catch_unwind(AssertUnwindSafe(|| {
                in_parts(2, parts, &|_| {
                    inside.fetch_add(1, Ordering::SeqCst);
                    let met = both.met();
                    inside.fetch_sub(1, Ordering::SeqCst);
                    if met {
                        std::panic::panic_any(Bomb);
                    }
                });
            }));
            assert_eq!(inside.load(Ordering::SeqCst), 0);
            result
        };
        let panic = std::iter::repeat_with(failed).find_map(Result::err);
        forget(panic.unwrap());
    }
    helpers_help_and_nested_work_stays_where_it_is();
}

#[test]
fn while_one_is_awake_less_work_is_worth_it() {
    // Ten of what is worth an eighth.
    let parts_now = || parts(2, 10, 8);
    loop {
        in_parts(2, 2, &|_| ());
        let awake = (helpers::is_awake(), parts_now(), helpers::is_awake());
        if let (true, parts, true) = awake {
            // Unless another test was helped in between.
            if parts == 8 {
                break;
            }
        }
    }
    assert_eq!((parts(1, 1000, 1), parts(2, 16, 8)), (1, 2));
}

/// Prints, for the tests below, how many threads this process uses, and how many it has while it works.
#[test]
#[ignore = "called by other tests"]
fn in_a_process_of_its_own() {
    let tasks = || std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
    let (before, most) = (tasks(), AtomicUsize::new(0));
    split(1 << 20, 1, |_| {
        most.fetch_max(tasks(), Ordering::Relaxed);
    });
    println!("threads: {} {}", threads(), most.into_inner() - before);
}

/// Runs `in_a_process_of_its_own` in a new process, and returns what it prints on both streams.
fn process(through: &[&str], variable: Option<&str>) -> Option<String> {
    let test = env::current_exe().unwrap();
    let test = test.to_str().unwrap();
    let name = "parallel::tests::in_a_process_of_its_own";
    let command = [
        through,
        &[test, "--ignored", "--exact", name, "--nocapture"],
    ]
    .concat();
    let mut process = std::process::Command::new(command[0]);
    process.args(&command[1..]).env_remove(VARIABLE);
    if let Some(value) = variable {
        process.env(VARIABLE, value);
    }
    let output = process.output().ok()?;
    let streams = [output.stdout, output.stderr].concat();
    Some(String::from_utf8(streams).unwrap())
}

#[test]
fn the_environment_says_how_many_threads() {
    let printed = process(&[], Some("1")).unwrap();
    assert!(printed.contains("threads: 1 0\n"), "{printed}");
    let printed = process(&[], Some(" 3 ")).unwrap();
    assert!(printed.contains("threads: 3 "), "{printed}");
    for mistake in ["0", "two", "-1", ""] {
        let printed = process(&[], Some(mistake)).unwrap();
        let message =
            format!("PULLBACK_NUM_THREADS is `{mistake}`: it is a number of threads, from 1 on");
        assert!(printed.contains(&message), "{printed}");
        assert!(
            !printed.contains("once_lock.rs"),
            "the line of std: {printed}"
        );
    }
}

#[test]
fn a_process_with_one_processor_starts_no_thread() {
    match process(&["taskset", "-c", "0"], None) {
        Some(printed) if printed.contains("threads: ") => {
            assert!(printed.contains("threads: 1 0\n"), "{printed}");
        }
        _ => println!("skipped: there is no `taskset`, or processor 0 is not ours"),
    }
}
