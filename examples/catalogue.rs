//! Lists every differentiable function of a program: the built-in ones and two that are defined here.
//!
//! `cargo run --example catalogue` prints a table of them and writes `target/catalogue.html`, a page with a
//! search; `cargo run --example catalogue -- FILE` writes it elsewhere. With `--features math`, the page shows
//! typeset formulas.

#![allow(
    dead_code,
    reason = "the functions are listed here, and only their tests call them"
)]

use std::error::Error;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::{env, fs};

use pullback::catalogue;
use pullback::catalogue::Entry;
use pullback::ndarray::{
    Array, Array0, Array1, ArrayView, ArrayView0, ArrayView1, Dimension, arr0,
};
use pullback::prelude::*;

/// y = x · tanh(ln(1 + eˣ)), also known as mish.
#[doc = pullback::math!(r"y = x \tanh \ln\left(1 + e^x\right) = x \, \frac{(1 + e^x)^2 - 1}{(1 + e^x)^2 + 1}")]
#[custom_function(
    higher_order,
    gradcheck(x = [2, 3]),
    grad(x) = {
        let tanh = x.softplus().tanh();
        let slope = &tanh + x * x.sigmoid() * (-tanh.square() + T::one());
        grad_output * slope
    },
)]
fn mish<T: Element, D: Dimension>(x: ArrayView<T, D>) -> Array<T, D> {
    x.mapv(|x| x * x.exp().ln_1p().tanh())
}

/// Computes the distance to a sphere.
struct SphereDistance<T>(PhantomData<T>);

#[custom_function(gradcheck(point = [3], center = [3], radius = 0.5))]
impl<T: Element> SphereDistance<T> {
    /// d = ‖p − c‖ − r
    ///
    /// It is negative inside. At the center the gradient is zero, because no direction leads away.
    ///
    /// # Panics
    /// If point and center have different numbers of coordinates.
    #[forward(outputs(distance), saves(away))]
    #[track_caller]
    fn forward(point: ArrayView1<T>, center: ArrayView1<T>, radius: T) -> (Array0<T>, Array1<T>) {
        assert!(
            point.len() == center.len(),
            "the distance of a point of shape {:?} to a sphere with a center of shape {:?}",
            point.shape(),
            center.shape()
        );
        let between = &point - &center;
        let length = between.dot(&between).sqrt();
        let distance = arr0(length - radius);
        (
            distance,
            between.mapv(|x| if length > T::zero() { x / length } else { x }),
        )
    }

    #[backward(point)]
    fn grad_point(grad_distance: ArrayView0<T>, away: ArrayView1<T>) -> Array1<T> {
        &away * grad_distance[()]
    }

    #[backward(center)]
    fn grad_center(grad_distance: ArrayView0<T>, away: ArrayView1<T>) -> Array1<T> {
        &away * -grad_distance[()]
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut functions = catalogue();
    // The program's own functions come first.
    functions.sort_by_key(|function| function.module.starts_with("autograd_core::"));
    print(&functions);

    let target = || {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
    };
    let file = env::args_os()
        .nth(1)
        .map_or_else(|| target().join("catalogue.html"), PathBuf::from);
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&file, catalogue::html()).map_err(|error| format!("{}: {error}", file.display()))?;
    println!(
        "\n{} functions; {} shows them all",
        functions.len(),
        file.display()
    );
    Ok(())
}

/// Prints a line for each function, in columns.
fn print(functions: &[&Entry]) {
    let head = [
        "function",
        "inputs → outputs",
        "saved for the gradients of",
        "order",
        "forward mode",
    ];
    let mut rows = vec![(head.map(str::to_owned), "defined at".to_owned())];
    rows.extend(functions.iter().map(|function| {
        (
            columns(function),
            format!("{}:{}", function.file, function.line),
        )
    }));
    let width = |column: usize| {
        rows.iter()
            .map(|(cells, _)| cells[column].chars().count())
            .max()
    };
    let widths: [usize; 5] = std::array::from_fn(|column| width(column).unwrap_or(0));
    for (cells, place) in &rows {
        for (cell, width) in cells.iter().zip(widths) {
            print!("{cell:width$}  ");
        }
        println!("{place}");
    }
}

fn columns(function: &Entry) -> [String; 5] {
    let signature = function.signature;
    let inputs: Vec<&str> = signature.inputs.iter().map(|input| input.name).collect();
    let outputs: Vec<&str> = signature.outputs.iter().map(|output| output.name).collect();
    // Values that are saved for the same gradients are shown together.
    let mut saved_for: Vec<(&[&str], Vec<&str>)> = Vec::new();
    for saved in signature.saved {
        match saved_for
            .iter_mut()
            .find(|(inputs, _)| *inputs == saved.needed_for)
        {
            Some((_, names)) => names.push(saved.name),
            None => saved_for.push((saved.needed_for, vec![saved.name])),
        }
    }
    let saved: Vec<String> = saved_for
        .iter()
        .map(|(inputs, names)| format!("{} for {}", names.join(", "), inputs.join(", ")))
        .collect();
    let forward_mode = if signature.forward_mode { "yes" } else { "no" };
    [
        function.name().to_owned(),
        format!("{} → {}", inputs.join(", "), outputs.join(", ")),
        saved.join("; "),
        signature.order.to_string(),
        forward_mode.to_owned(),
    ]
}
