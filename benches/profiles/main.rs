//! Measures whether a function is as fast in any program and profile: one small program, once with `f32` alone and once
//! with both element types, under the profiles that users have. For each function it prints the slowest beside the
//! fastest. See `benches/README.md`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const NAME: &str = "profiles";
const PROGRAM: &str = include_str!("program.rs");
const ROUNDS: usize = 4;

/// The name of each profile, its lines in the manifest, and the flags of the compiler.
const PROFILES: [(&str, &str, &str); 5] = [
    ("release", "", ""),
    ("units", "codegen-units = 1", ""),
    ("lto", "codegen-units = 1\nlto = \"fat\"", ""),
    ("opt2", "opt-level = 2", ""),
    ("native", "", "-C target-cpu=native"),
];

fn main() {
    let is_wanted = |wanted: &str| NAME.starts_with(wanted) || wanted.starts_with(NAME);
    let mut wanted = env::args().skip(1).filter(|arg| !arg.starts_with('-'));
    let first = wanted.next();
    if !(first.as_deref().is_none_or(is_wanted) || wanted.any(|wanted| is_wanted(&wanted))) {
        return;
    }
    let programs: Vec<(String, PathBuf)> = PROFILES
        .into_iter()
        .flat_map(|profile| {
            [("single", ""), ("both", "run::<f64>();")].map(|(types, call)| {
                (
                    format!("{}, {types}", profile.0),
                    build(profile, types, call),
                )
            })
        })
        .collect();
    // Of each function, the fastest run of each program.
    let mut times: BTreeMap<String, BTreeMap<&str, f64>> = BTreeMap::new();
    for _ in 0..ROUNDS {
        for (name, program) in &programs {
            for (function, time) in run(program) {
                let of_function = times.entry(function).or_default();
                let fastest = of_function.entry(name).or_insert(time);
                *fastest = fastest.min(time);
            }
        }
    }
    let mut lines: Vec<(f64, String)> = times
        .into_iter()
        .map(|(function, of_function)| {
            let order = |x: &(&&str, &f64), y: &(&&str, &f64)| x.1.total_cmp(y.1);
            let slowest = of_function.iter().max_by(order).expect("a program");
            let fastest = of_function.iter().min_by(order).expect("a program");
            let ratio = slowest.1 / fastest.1;
            let line = format!(
                "{NAME}/{function} ours {:.3} ns limit {:.3} ns ratio {ratio:.2} ({} and {})",
                slowest.1, fastest.1, slowest.0, fastest.0
            );
            (ratio, line)
        })
        .collect();
    lines.sort_by(|x, y| y.0.total_cmp(&x.0));
    for (_, line) in lines {
        println!("{line}");
    }
}

/// Builds the program and returns its path.
fn build((name, profile, flags): (&str, &str, &str), types: &str, call: &str) -> PathBuf {
    let parent = Path::new(env!("CARGO_TARGET_TMPDIR")).join(NAME);
    let folder = parent.join(format!("{name}_{types}"));
    fs::create_dir_all(folder.join("src")).expect("a temporary folder");
    let library = env!("CARGO_MANIFEST_DIR");
    let manifest = format!(
        "[package]\nname = \"{name}_{types}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n\
         pullback = {{ path = {library:?} }}\n\n[profile.release]\n{profile}\n\n[workspace]\n"
    );
    fs::write(folder.join("Cargo.toml"), manifest).expect("a temporary file");
    let source = PROGRAM.replace("/*both*/", call);
    fs::write(folder.join("src/main.rs"), source).expect("a temporary file");
    // The library is compiled once for each profile.
    let target = parent.join(format!("target_{name}"));
    let output = Command::new(env!("CARGO"))
        .args(["build", "--release", "--quiet", "--offline"])
        .current_dir(&folder)
        .env("CARGO_TARGET_DIR", &target)
        .env("RUSTFLAGS", flags)
        .output()
        .expect("cargo runs");
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {printed}", folder.display());
    target.join("release").join(format!("{name}_{types}"))
}

/// Runs the program and returns the time of each function.
fn run(program: &Path) -> Vec<(String, f64)> {
    let output = Command::new(program).output().expect("the program runs");
    assert!(output.status.success(), "{} failed", program.display());
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let times = printed.lines().map(|line| {
        let (function, time) = line.split_once(' ').expect("a name and a time");
        (function.to_owned(), time.parse().expect("a number"))
    });
    times.collect()
}
