//! Measures the time of the macro in a compilation: 200 functions with the attribute beside the same functions as the
//! attribute expands them, written out.
//!
//! Both crates are the same to the compiler behind the macro, so the difference is the macro's own time: parsing the
//! definition, checking the rules and writing the tokens. The second crate is the output of the first under
//! `PULLBACK_EXPAND`. A third, without any function, takes the time of cargo and the dependencies, which is subtracted.
//! `first` measures the cost of a first function. See `benches/README.md`.

mod first;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs};

const NAME: &str = "compile/macro";
const ELEMENTWISE_NAME: &str = "compile/elementwise";
const SHAPES_NAME: &str = "compile/shapes";
const SCAN_NAME: &str = "compile/scan";
const PAIRS_NAME: &str = "compile/pairs";
const FUNCTIONS: usize = 200;
/// The number of functions that are built, which takes longer.
const BUILT: usize = 5;
const ROUNDS: usize = 7;

fn main() {
    // `cargo bench -- W1` runs no figure of this program.
    let wanted: Vec<String> = env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with('-'))
        .collect();
    let wants = |name: &str| {
        let named = |wanted: &String| name.starts_with(wanted) || wanted.starts_with(name);
        wanted.is_empty() || wanted.iter().any(named)
    };
    if wants(NAME) {
        macro_alone();
    }
    if wants(ELEMENTWISE_NAME) {
        elementwise();
    }
    if wants(SHAPES_NAME) {
        shapes();
    }
    if wants(SCAN_NAME) {
        beside_elementwise(SCAN_NAME, SCAN);
    }
    if wants(PAIRS_NAME) {
        beside_elementwise(PAIRS_NAME, PAIRS);
    }
    if wants(first::NAME) {
        first::run();
    }
}

fn macro_alone() {
    let names: Vec<String> = (0..FUNCTIONS)
        .map(|number| format!("Function{number}"))
        .collect();
    let ours = Crate::new("ours", &definitions());
    let expanded = ours.check(&[("PULLBACK_EXPAND", &names.join(","))]);
    let printed = expanded.matches("// the expansion of").count();
    assert_eq!(printed, FUNCTIONS, "not all expansions were printed");
    let types: String = types().collect();
    let written = format!("{HEAD}\n{types}\n{expanded}");
    let limit = Crate::new("written", &written);
    let empty = Crate::new("empty", HEAD);
    compare(NAME, FUNCTIONS, [&ours, &limit, &empty]);
}

/// Returns a crate of functions that all have this definition.
fn many(definition: &str, count: usize) -> String {
    let numbers = 0..count;
    let all = numbers.map(|number| definition.replace("NUMBER", &number.to_string()));
    format!("{HEAD}{}", all.collect::<String>())
}

/// Linear layers with declared shapes beside the same without them.
fn shapes() {
    let shapes = "shapes(input = [n, i], weight = [o, i], bias = [o], output = [n, o])";
    let declared = LINEAR.replace(
        "#[custom_function]",
        &format!("#[custom_function({shapes})]"),
    );
    let ours = Crate::new("shapes", &many(&declared, FUNCTIONS / 4));
    let limit = Crate::new("without_shapes", &many(LINEAR, FUNCTIONS / 4));
    let empty = Crate::new("empty", HEAD);
    compare(SHAPES_NAME, FUNCTIONS / 4, [&ours, &limit, &empty]);
}

/// Elementwise functions beside the short form of the same formula, with its gradients by hand.
fn elementwise() {
    let ours = Crate::new("elementwise", &many(ELEMENTWISE, FUNCTIONS / 4));
    let limit = Crate::new("by_hand", &many(BY_HAND, FUNCTIONS / 4));
    let empty = Crate::new("empty", HEAD);
    compare(ELEMENTWISE_NAME, FUNCTIONS / 4, [&ours, &limit, &empty]);
}

/// Scans or pairs beside elementwise functions of the same formula, built: what they cost is their loops.
fn beside_elementwise(name: &str, definition: &str) {
    let folder = name.replace('/', "_");
    let ours = Crate::new(&folder, &many(definition, BUILT)).built();
    let limit = Crate::new(
        &format!("{folder}_elementwise"),
        &many(THREE_NUMBERS, BUILT),
    )
    .built();
    let empty = Crate::new(&format!("{folder}_empty"), HEAD).built();
    compare(name, BUILT, [&ours, &limit, &empty]);
}

/// Prints the time for each function of our crate, and of the other; the third has no functions.
fn compare(name: &str, functions: usize, crates: [&Crate; 3]) {
    let mut times: [Vec<Duration>; 3] = Default::default();
    for krate in crates {
        krate.timed(0);
    }
    for round in 1..=ROUNDS {
        for (krate, times) in crates.into_iter().zip(&mut times) {
            times.push(krate.timed(round));
        }
    }
    let [ours, limit, empty] = times.map(median);
    let each = |time: f64| (time - empty) / functions as f64;
    let (ours, limit) = (each(ours), each(limit));
    println!(
        "{name} ours {ours:.2} ms limit {limit:.2} ms ratio {:.2}",
        ours / limit
    );
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e3
}

struct Crate {
    folder: PathBuf,
    source: String,
    /// `check` or `build`
    command: &'static str,
}

impl Crate {
    fn new(name: &str, source: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join("compile")
            .join(name);
        fs::create_dir_all(folder.join("src")).expect("a temporary folder");
        fs::write(folder.join("Cargo.toml"), manifest(name)).expect("a temporary file");
        let source = source.to_owned();
        let command = "check";
        let this = Self {
            folder,
            source,
            command,
        };
        this.write("");
        this
    }

    /// The crate, to be built rather than checked.
    fn built(self) -> Self {
        let command = "build";
        Self { command, ..self }
    }

    fn write(&self, comment: &str) {
        let source = format!("{}\n// {comment}\n", self.source);
        fs::write(self.folder.join("src/lib.rs"), source).expect("a temporary file");
    }

    /// Checks the crate and returns the output of the compiler.
    fn check(&self, variables: &[(&str, &str)]) -> String {
        // The profile that users have while they write; without what an earlier round left behind.
        let output = Command::new(env!("CARGO"))
            .args([self.command, "--quiet", "--offline"])
            .current_dir(&self.folder)
            .env("CARGO_TARGET_DIR", self.folder.with_file_name("target"))
            .env("CARGO_INCREMENTAL", "0")
            .envs(variables.iter().copied())
            .output()
            .expect("cargo runs");
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.success(),
            "{}: {printed}",
            self.folder.display()
        );
        printed
    }

    fn timed(&self, round: usize) -> Duration {
        self.write(&round.to_string());
        let start = Instant::now();
        self.check(&[]);
        start.elapsed()
    }
}

/// Returns the manifest of a crate that depends on the library.
fn manifest(name: &str) -> String {
    format!(
        "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [dependencies]\npullback = {{ path = {:?} }}\n\n[workspace]\n",
        env!("CARGO_MANIFEST_DIR")
    )
}

const HEAD: &str = "#![allow(warnings)]
use std::marker::PhantomData;
use pullback::ndarray::{Array, Array1, Array2, ArrayView, ArrayView1, ArrayView2, Axis, Dimension};
use pullback::prelude::*;
";

/// One third each: a linear layer, a generic function on tensors, and the short form.
fn definitions() -> String {
    let mut source = HEAD.to_owned();
    for number in 0..FUNCTIONS {
        let definition = [LINEAR, UNARY, SHORT][number % 3];
        let definition = definition.replace("NUMBER", &number.to_string());
        let _ = writeln!(source, "{definition}");
    }
    source
}

/// The types of the blocks, which are no part of an expansion.
fn types() -> impl Iterator<Item = String> {
    (0..FUNCTIONS).filter_map(|number| {
        let definition = [LINEAR, UNARY, SHORT][number % 3];
        let (ty, _) = definition.split_once("\n\n")?;
        ty.contains("struct")
            .then(|| ty.replace("NUMBER", &number.to_string()))
    })
}

const LINEAR: &str = "
pub struct FunctionNUMBER;

#[custom_function]
impl FunctionNUMBER {
    #[forward]
    pub fn forward(
        input: ArrayView2<f32>,
        weight: ArrayView2<f32>,
        bias: Option<ArrayView1<f32>>,
    ) -> Array2<f32> {
        let product = input.dot(&weight.t());
        match bias {
            Some(bias) => product + bias,
            None => product,
        }
    }

    #[backward(input)]
    fn grad_input(grad_output: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> {
        grad_output.dot(&weight)
    }

    #[backward(weight)]
    fn grad_weight(grad_output: ArrayView2<f32>, input: ArrayView2<f32>) -> Array2<f32> {
        grad_output.t().dot(&input)
    }

    #[backward(bias)]
    fn grad_bias(grad_output: ArrayView2<f32>) -> Array1<f32> {
        grad_output.sum_axis(Axis(0))
    }
}
";

const ELEMENTWISE: &str = "
#[custom_function(elementwise)]
pub fn function_NUMBER<T: Real>(x: T, y: T, k: f64) -> T {
    x.exp() * x.powi(3) + y * k
}
";

/// Three numbers, as the step of [`SCAN`] and a pair of [`PAIRS`] have, applied, so that the loops are compiled.
const THREE_NUMBERS: &str = "
#[custom_function(elementwise)]
pub fn function_NUMBER<T: Real>(v: T, x: T, tau: T) -> T {
    (tau * v + x).sigmoid() * x
}

pub fn apply_NUMBER(v: &Tensor1<f64>, x: &Tensor1<f64>, tau: &Tensor1<f64>) -> Tensor1<f64> {
    function_NUMBER(v, x, tau)
}
";

const SCAN: &str = "
#[custom_function(scan)]
pub fn function_NUMBER<T: Real>(#[state] v: T, #[step] x: T, tau: T) -> T {
    (tau * v + x).sigmoid() * x
}

pub fn apply_NUMBER(v: &Tensor1<f64>, x: &Tensor2<f64>, tau: &Tensor1<f64>) -> Tensor1<f64> {
    function_NUMBER(v, x, tau)
}
";

const PAIRS: &str = "
#[custom_function(pairs)]
pub fn function_NUMBER<T: Real>(#[row] v: T, #[column] x: T, tau: T) -> T {
    (tau * v + x).sigmoid() * x
}

pub fn apply_NUMBER(v: &Tensor1<f64>, x: &Tensor1<f64>, tau: &Tensor0<f64>) -> Tensor1<f64> {
    function_NUMBER(v, x, tau)
}
";

const BY_HAND: &str = "
#[custom_function(
    grad(x) = &grad_output * &x.mapv(|x| x.exp() * (x.powi(3) + 3.0 * x.powi(2))),
    grad(y) = &grad_output * *k,
)]
pub fn function_NUMBER(x: ArrayView1<f64>, y: ArrayView1<f64>, k: f64) -> Array1<f64> {
    x.mapv(|x| x.exp() * x.powi(3)) + &y * k
}
";

const UNARY: &str = "
pub struct FunctionNUMBER<T, D>(PhantomData<(T, D)>);

#[custom_function]
impl<T: Element, D: Dimension> FunctionNUMBER<T, D> {
    #[forward]
    pub fn forward(x: ArrayView<T, D>) -> Array<T, D> {
        x.mapv(T::exp)
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor<T, D>, output: &Tensor<T, D>) -> Tensor<T, D> {
        grad_output * output
    }
}
";

const SHORT: &str = "
#[custom_function(grad(x) = &grad_output * *factor)]
pub fn function_NUMBER(x: ArrayView2<f64>, factor: f64) -> Array2<f64> {
    &x * factor
}
";
