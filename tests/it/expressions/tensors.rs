//! Expressions on tensors, by methods of tensors or compositions of methods.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use pullback::Tensor1;
use pullback::ndarray::{Array1, Zip};

use super::tree::{INPUTS, Operation, Step, Tree};

type Numbers = Tensor1<f64>;

/// Computes an expression.
pub(super) fn on_tensors(tree: &Tree, inputs: &[Numbers; INPUTS]) -> Numbers {
    let length = inputs[0].len();
    tree.compute(
        inputs,
        |value| Array1::from_elem(length, value).into(),
        apply,
        |a, b| a + b,
    )
}

fn within_one(x: &Numbers) -> Numbers {
    x * (x.square() + 1.0).rsqrt()
}

fn positive(x: &Numbers) -> Numbers {
    x.square() + 0.5
}

/// Returns a function that is constant between jumps.
fn constant(x: &Numbers, f: fn(f64) -> f64) -> Numbers {
    x.view().mapv(f).into()
}

/// Returns `x` where a comparison of two tensors is true, and `other` elsewhere.
fn choose(
    compare: impl Fn(&f64, &f64) -> bool,
    (a, b): (&Numbers, &Numbers),
    x: &Numbers,
    other: &Numbers,
) -> Numbers {
    let mask = Zip::from(a.view()).and(b.view()).map_collect(compare);
    x.where_(&mask, other)
}

fn apply(step: &Step, operands: &[Numbers]) -> Numbers {
    let Step { c, d, n, .. } = *step;
    let x = &operands[0];
    let literal = |value: f64| Numbers::from(Array1::from_elem(x.len(), value));
    let second = || &operands[1];
    let third = || &operands[2];
    match step.operation {
        Operation::Exp => (within_one(x) * 2.0).exp(),
        Operation::ExpM1 => (within_one(x) * 2.0).exp_m1(),
        Operation::Ln => positive(x).ln(),
        Operation::Ln1p => (within_one(x) * 0.75).ln_1p(),
        Operation::Powi => x.powi(n),
        Operation::Sqrt => positive(x).sqrt(),
        Operation::Cbrt => -(-within_one(x) + 1.5).powf(1.0 / 3.0),
        Operation::Recip => positive(x).recip(),
        Operation::Abs => x.abs(),
        Operation::Signum => constant(x, f64::signum),
        Operation::Floor => constant(x, f64::floor),
        Operation::Ceil => constant(x, f64::ceil),
        Operation::Round => constant(x, f64::round),
        Operation::RoundTiesEven => constant(x, f64::round_ties_even),
        Operation::Detach => x.detach(),
        Operation::Sin => x.sin(),
        Operation::Cos => x.cos(),
        Operation::Tan => within_one(x).tan(),
        Operation::Asin => (within_one(x) * 0.75).asin(),
        Operation::Acos => (within_one(x) * 0.75).acos(),
        Operation::Atan => x.atan(),
        Operation::Sinh => (within_one(x) * 2.0).sinh(),
        Operation::Cosh => (within_one(x) * 2.0).cosh(),
        Operation::Tanh => x.tanh(),
        Operation::Asinh => asinh(x),
        Operation::Acosh => {
            let x = positive(x) + 1.0;
            (&x + (x.square() - 1.0).sqrt()).ln()
        }
        Operation::Atanh => {
            let x = within_one(x) * 0.75;
            (x.ln_1p() - (-&x).ln_1p()) * 0.5
        }
        Operation::Sigmoid => x.sigmoid(),
        Operation::Softplus => x.softplus(),
        Operation::Erf => x.erf(),
        Operation::NormalCdf => ((x * FRAC_1_SQRT_2).erf() + 1.0) * 0.5,
        Operation::NormalPdf => (x.square() * -0.5).exp() / (2.0 * PI).sqrt(),
        Operation::Gelu => x.gelu(),
        Operation::Square => x.square(),
        Operation::Rsqrt => positive(x).rsqrt(),
        Operation::Relu => x.relu(),
        Operation::Silu => x.silu(),
        Operation::GeluTanh => x.gelu_tanh(),
        Operation::Neg => -x,
        Operation::Powf => (positive(x).ln() * within_one(second()) * 3.0).exp(),
        Operation::Atan2 => atan2(x, second()),
        Operation::Hypot => (x.square() + second().square()).sqrt(),
        Operation::Max => x.maximum(second()),
        Operation::Min => x.minimum(second()),
        Operation::Clamp => {
            let raised = choose(|x, min| x < min, (x, second()), second(), x);
            choose(|x, max| x > max, (&raised, third()), third(), &raised)
        }
        Operation::MulAdd => x * second() + third(),
        Operation::LeakyRelu => choose(|x, zero| x > zero, (x, &literal(0.0)), x, &(x * second())),
        Operation::Elu => {
            let x = &within_one(x);
            let left = x.exp_m1() * second();
            choose(|x, zero| x > zero, (x, &literal(0.0)), x, &left)
        }
        Operation::PowfLiteral => positive(x).powf(c),
        Operation::Atan2Literal => atan2(x, &literal(c)),
        Operation::HypotLiteral => (x.square() + c * c).sqrt(),
        Operation::MaxLiteral => x.maximum(&literal(c)),
        Operation::MinLiteral => x.minimum(&literal(c)),
        Operation::ClampLiteral => x.clamp(c, d),
        Operation::MulAddLiteral => x * c + d,
        Operation::LeakyReluLiteral => x.leaky_relu(c),
        Operation::EluLiteral => within_one(x).elu(c),
        Operation::Add | Operation::AddAssign => x + second(),
        Operation::Sub | Operation::SubAssign => x - second(),
        Operation::Mul | Operation::MulAssign => x * second(),
        Operation::Div | Operation::DivAssign => x / positive(second()),
        Operation::Sum => x + second() + third(),
        Operation::AddLiteral | Operation::AddAssignLiteral => x + c,
        Operation::SubLiteral | Operation::SubAssignLiteral => x - c,
        Operation::MulLiteral | Operation::MulAssignLiteral => x * c,
        Operation::DivLiteral | Operation::DivAssignLiteral => x / (c + 3.0),
        Operation::LiteralAdd => literal(c) + x,
        Operation::LiteralSub => literal(c) - x,
        Operation::LiteralMul => literal(c) * x,
        Operation::LiteralDiv => literal(c) / positive(x),
        _ => branch(step, operands),
    }
}

fn branch(step: &Step, operands: &[Numbers]) -> Numbers {
    let (x, y) = (&operands[0], &operands[1]);
    let c = &Numbers::from(Array1::from_elem(x.len(), step.c));
    let other = operands.get(2).unwrap_or(y);
    let chosen = &(x * y);
    match step.operation {
        Operation::IfLess | Operation::IfOrdered => choose(|x, y| x < y, (x, y), chosen, other),
        Operation::IfAtMost => choose(|x, y| x <= y, (x, y), chosen, other),
        Operation::IfGreater => choose(|x, y| x > y, (x, y), chosen, other),
        Operation::IfAtLeast => choose(|x, y| x >= y, (x, y), chosen, other),
        Operation::IfEqual => choose(|x, y| x == y, (x, y), chosen, other),
        Operation::IsNan => choose(|x, _| x.is_nan(), (x, y), chosen, other),
        Operation::IfLessLiteral | Operation::IfOrderedLiteral => {
            choose(|x, c| x < c, (x, c), chosen, other)
        }
        Operation::IfAtMostLiteral => choose(|x, c| x <= c, (x, c), chosen, other),
        Operation::IfGreaterLiteral => choose(|x, c| x > c, (x, c), chosen, other),
        Operation::IfAtLeastLiteral => choose(|x, c| x >= c, (x, c), chosen, other),
        operation => unreachable!("{operation:?} is no branch"),
    }
}

/// arsinh x = sgn x · ln(|x| + √(x² + 1)): differences of nearly equal numbers would cost digits.
fn asinh(x: &Numbers) -> Numbers {
    let root = (x.square() + 1.0).sqrt();
    (x.abs() + root).ln() * constant(x, f64::signum)
}

/// The angle is an arctangent of y/x or, where that is large, of −x/y, and a constant.
fn atan2(y: &Numbers, x: &Numbers) -> Numbers {
    let one = &Numbers::from(Array1::ones(x.len()));
    let is_flat = |y: &f64, x: &f64| y.abs() < x.abs();
    let of_flat = (choose(is_flat, (y, x), y, one) / choose(is_flat, (y, x), x, one)).atan();
    let of_steep = -(choose(is_flat, (y, x), one, x) / choose(is_flat, (y, x), one, y)).atan();
    let angle = choose(is_flat, (y, x), &of_flat, &of_steep);
    let angles = Zip::from(y.view())
        .and(x.view())
        .map_collect(|y, x| y.atan2(*x));
    &angle + Numbers::from(angles - angle.view())
}
