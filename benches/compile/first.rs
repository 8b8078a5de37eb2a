//! W8: what a crate with one custom function costs: crates in its tree, a clean build with
//! the default features and with none, a build after the function was touched.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs};

use super::{HEAD, LINEAR, manifest, median};

pub(super) const NAME: &str = "W8";
/// The bars, which have no limit measured in the same run.
const CRATES: usize = 15;
const BUILD: f64 = 30.0;
const MINIMAL: f64 = 20.0;
const REBUILD: f64 = 0.5;
const ROUNDS: usize = 7;

pub(super) fn run() {
    let this = First::new("first", &manifest("first"));
    let crates = this.crates();
    report("crates", crates as f64, CRATES as f64, "crates", 0);
    this.report_build("build", BUILD);
    let rebuilds = (1..=ROUNDS).map(|round| this.rebuild(round)).collect();
    report("rebuild", median(rebuilds) / 1e3, REBUILD, "s", 2);

    let without = manifest("minimal").replace("path =", "default-features = false, path =");
    First::new("minimal", &without).report_build("minimal", MINIMAL);
}

fn report(name: &str, ours: f64, limit: f64, unit: &str, digits: usize) {
    println!(
        "{NAME}/{name} ours {ours:.digits$} {unit} limit {limit:.digits$} {unit} ratio {:.2}",
        ours / limit
    );
}

struct First {
    folder: PathBuf,
}

impl First {
    fn new(name: &str, manifest: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        // Without what a former run built.
        drop(fs::remove_dir_all(&folder));
        fs::create_dir_all(folder.join("src")).expect("a temporary folder");
        fs::write(folder.join("Cargo.toml"), manifest).expect("a temporary file");
        let this = Self { folder };
        this.write(0);
        this
    }

    fn report_build(&self, name: &str, limit: f64) {
        match self.build() {
            Some(seconds) => report(name, seconds, limit, "s", 1),
            None => {
                eprintln!("{NAME}/{name} is skipped: there are no processor times in /proc");
            }
        }
    }

    fn write(&self, round: usize) {
        let function = LINEAR.replace("NUMBER", "");
        let source = format!("{HEAD}\n{function}\n// {round}\n");
        fs::write(self.folder.join("src/lib.rs"), source).expect("a temporary file");
    }

    fn cargo(&self, arguments: &[&str]) -> String {
        self.run(&mut Command::new(env!("CARGO")), arguments)
    }

    fn run(&self, cargo: &mut Command, arguments: &[&str]) -> String {
        let output = cargo
            .args(arguments)
            .args(["--quiet", "--offline"])
            .current_dir(&self.folder)
            .env("CARGO_TARGET_DIR", self.folder.join("target"))
            .output()
            .expect("cargo runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "cargo {arguments:?}: {errors}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The crates below the library that are not of this workspace.
    fn crates(&self) -> usize {
        let tree = self.cargo(&["tree", "--edges", "normal,build", "--prefix", "none"]);
        let mut names: Vec<&str> = tree
            .lines()
            .filter(|line| !line.contains(" (/"))
            .filter_map(|line| line.split(' ').next())
            .collect();
        names.sort_unstable();
        names.dedup();
        names.len()
    }

    /// The processor time of a build of everything, in seconds. Not incremental, as crates of a registry are built; those
    /// of a path would be otherwise, which takes a tenth longer.
    fn build(&self) -> Option<f64> {
        let before = processor_time_of_children()?;
        let mut cargo = Command::new(env!("CARGO"));
        self.run(cargo.env("CARGO_INCREMENTAL", "0"), &["build"]);
        Some(processor_time_of_children()? - before)
    }

    fn rebuild(&self, round: usize) -> Duration {
        self.write(round);
        let start = Instant::now();
        self.cargo(&["build"]);
        start.elapsed()
    }
}

/// Returns the processor time of finished child processes and of theirs, in seconds, from the fields `cutime` and
/// `cstime` of `/proc/self/stat`, which are in hundredths.
fn processor_time_of_children() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The second field, a name in parentheses, may contain spaces.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(13);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / 100.0)
}
