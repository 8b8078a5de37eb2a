//! Expressions as data: random ones, and what they are on numbers.

use std::cell::Cell;
use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;

use proptest::prelude::*;
use pullback::Real;
use pullback::kernels::{Elements, Formula, Literal, Place};

/// The number of inputs of an expression.
pub(super) const INPUTS: usize = 3;

/// Lists the operations, each with the number of its operands.
macro_rules! operations {
    ($($Operation:ident $arity:literal)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Operation {
            $($Operation,)*
        }

        impl Operation {
            pub(super) const ALL: &[Self] = &[$(Self::$Operation),*];

            fn arity(self) -> usize {
                match self {
                    $(Self::$Operation => $arity,)*
                }
            }
        }
    };
}

operations! {
    Exp 1 ExpM1 1 Ln 1 Ln1p 1 Powi 1 Sqrt 1 Cbrt 1 Recip 1 Abs 1 Signum 1 Floor 1 Ceil 1 Round 1 RoundTiesEven 1 Detach 1 Sin 1 Cos 1 Tan 1 Asin 1 Acos 1
    Atan 1 Sinh 1 Cosh 1 Tanh 1 Asinh 1 Acosh 1 Atanh 1 Sigmoid 1 Softplus 1 Erf 1 NormalCdf 1 NormalPdf 1 Gelu 1
    Square 1 Rsqrt 1 Relu 1 Silu 1 GeluTanh 1 Neg 1
    Powf 2 Atan2 2 Hypot 2 Max 2 Min 2 Clamp 3 MulAdd 3 LeakyRelu 2 Elu 2
    PowfLiteral 1 Atan2Literal 1 HypotLiteral 1 MaxLiteral 1 MinLiteral 1 ClampLiteral 1 MulAddLiteral 1
    LeakyReluLiteral 1 EluLiteral 1
    Add 2 Sub 2 Mul 2 Div 2 AddAssign 2 SubAssign 2 MulAssign 2 DivAssign 2 Sum 3
    AddLiteral 1 SubLiteral 1 MulLiteral 1 DivLiteral 1
    LiteralAdd 1 LiteralSub 1 LiteralMul 1 LiteralDiv 1
    AddAssignLiteral 1 SubAssignLiteral 1 MulAssignLiteral 1 DivAssignLiteral 1
    IfLess 3 IfAtMost 3 IfGreater 3 IfAtLeast 3 IfEqual 3 IfOrdered 3
    IfLessLiteral 2 IfAtMostLiteral 2 IfGreaterLiteral 2 IfAtLeastLiteral 2 IfOrderedLiteral 2 IsNan 3
}

impl Operation {
    /// Returns whether its values are steps.
    fn jumps(self) -> bool {
        matches!(
            self,
            Self::Signum | Self::Floor | Self::Ceil | Self::Round | Self::RoundTiesEven
        )
    }
}

/// An operation with its literals, used or not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) operation: Operation,
    pub(super) c: f64,
    pub(super) d: f64,
    pub(super) n: i32,
}

#[derive(Clone, Copy, Debug)]
enum Token {
    Input(usize),
    Literal(f64),
    Step(Step),
}

/// An expression in postfix order, so that proptest can shorten it anywhere. A missing operand is the first input; the
/// values that are left at the end are added up.
#[derive(Clone)]
pub(super) struct Tree(Vec<Token>);

/// Returns expressions of up to so many tokens.
pub(super) fn trees(tokens: Range<usize>) -> impl Strategy<Value = Tree> {
    let literals = || prop::sample::select(&[0.5, -1.5, 2.0, 1.0, 0.0, -0.75, 0.3][..]);
    let operations = prop::sample::select(Operation::ALL);
    let step = (operations, literals(), literals(), -3..=5)
        .prop_map(|(operation, c, d, n)| Token::Step(Step { operation, c, d, n }));
    let token = prop_oneof![
        8 => (0..INPUTS).prop_map(Token::Input),
        1 => literals().prop_map(Token::Literal),
        12 => step,
    ];
    prop::collection::vec(token, tokens).prop_map(Tree)
}

impl Tree {
    /// Returns the operations that occur.
    pub(super) fn operations(&self) -> impl Iterator<Item = Operation> {
        self.0.iter().filter_map(|token| match token {
            Token::Step(step) => Some(step.operation),
            _ => None,
        })
    }

    /// Computes the expression on whatever has these operations.
    pub(super) fn compute<X: Clone>(
        &self,
        inputs: &[X; INPUTS],
        literal: impl Fn(f64) -> X,
        apply: impl Fn(&Step, &[X]) -> X,
        add: impl Fn(X, X) -> X,
    ) -> X {
        let mut stack: Vec<X> = Vec::with_capacity(self.0.len());
        for token in &self.0 {
            let next = match token {
                Token::Input(input) => inputs[*input].clone(),
                Token::Literal(value) => literal(*value),
                Token::Step(step) => {
                    let arity = step.operation.arity();
                    while stack.len() < arity {
                        stack.insert(0, inputs[0].clone());
                    }
                    let operands = stack.split_off(stack.len() - arity);
                    apply(step, &operands)
                }
            };
            stack.push(next);
        }
        stack
            .into_iter()
            .reduce(add)
            .unwrap_or_else(|| inputs[0].clone())
    }

    /// Computes it on plain numbers; returns the result, the largest absolute value of an operation's, and the sum of
    /// all that was rounded, which changes where there is a jump.
    pub(super) fn plain(&self, inputs: [f64; INPUTS]) -> (f64, f64, f64) {
        let (largest, rounded) = (Cell::new(0.0_f64), Cell::new(0.0));
        let seen = |value: f64| {
            // NaN stays.
            if value.is_nan() || value.abs() > largest.get() {
                largest.set(value.abs());
            }
            value
        };
        let apply = |step: &Step, operands: &[f64]| {
            let value = seen(on_numbers(step, operands));
            if step.operation.jumps() {
                rounded.set(rounded.get() + value);
            }
            value
        };
        let result = self.compute(&inputs, |value| value, apply, |a, b| seen(a + b));
        (result, largest.get(), rounded.get())
    }
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let apply = |step: &Step, operands: &[String]| {
            let Step {
                operation, c, d, n, ..
            } = step;
            let literals = match operation {
                Operation::Powi => format!("; {n}"),
                Operation::ClampLiteral | Operation::MulAddLiteral => format!("; {c}, {d}"),
                _ if format!("{operation:?}").contains("Literal") => format!("; {c}"),
                _ => String::new(),
            };
            format!("{operation:?}({}{literals})", operands.join(", "))
        };
        let text = self.compute(
            &["x", "y", "z"].map(String::from),
            |value| format!("{value:?}"),
            apply,
            |a, b| format!("{a} + {b}"),
        );
        f.write_str(&text)
    }
}

impl Tree {
    /// Computes it on numbers of a formula.
    pub(super) fn on_numbers<R: Real>(&self, inputs: &[R; INPUTS]) -> R
    where
        f64: Literal<R>,
    {
        let add = |a: R, b: R| a + b;
        self.compute(inputs, R::from, on_numbers::<R>, add)
    }
}

impl Formula<INPUTS, 1> for Tree {
    type Entries = ();

    fn entries(&self, _: Elements) {}

    fn at<R: Real>(&self, (): &(), _: Place, inputs: [R; INPUTS]) -> [R; 1]
    where
        f64: Literal<R>,
    {
        [self.on_numbers(&inputs)]
    }
}

/// Returns a number between −1 and 1: what grows fast, or is not defined everywhere, is computed of it.
fn within_one<R: Real>(x: R) -> R {
    x * (x.square() + 1.0).rsqrt()
}

/// Returns a number of at least ½.
fn positive<R: Real>(x: R) -> R {
    x.square() + 0.5
}

/// Applies an operation to numbers, as its function is written.
#[expect(
    clippy::too_many_lines,
    clippy::match_same_arms,
    reason = "a line for each operation"
)]
fn on_numbers<R: Real>(step: &Step, operands: &[R]) -> R
where
    f64: Literal<R>,
{
    let Step { c, d, n, .. } = *step;
    let x = operands[0];
    let second = || operands[1];
    let third = || operands[2];
    let assigned = |assign: fn(&mut R, R)| {
        let mut x = x;
        assign(&mut x, second());
        x
    };
    match step.operation {
        Operation::Exp => (within_one(x) * 2.0).exp(),
        Operation::ExpM1 => (within_one(x) * 2.0).exp_m1(),
        Operation::Ln => positive(x).ln(),
        Operation::Ln1p => (within_one(x) * 0.75).ln_1p(),
        Operation::Powi => x.powi(n),
        Operation::Sqrt => positive(x).sqrt(),
        // Of a negative number.
        Operation::Cbrt => (within_one(x) - 1.5).cbrt(),
        Operation::Recip => positive(x).recip(),
        Operation::Abs => x.abs(),
        Operation::Signum => x.signum(),
        Operation::Floor => x.floor(),
        Operation::Ceil => x.ceil(),
        Operation::Round => x.round(),
        Operation::RoundTiesEven => x.round_ties_even(),
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
        Operation::Asinh => x.asinh(),
        Operation::Acosh => (positive(x) + 1.0).acosh(),
        Operation::Atanh => (within_one(x) * 0.75).atanh(),
        Operation::Sigmoid => x.sigmoid(),
        Operation::Softplus => x.softplus(),
        Operation::Erf => x.erf(),
        Operation::NormalCdf => x.normal_cdf(),
        Operation::NormalPdf => x.normal_pdf(),
        Operation::Gelu => x.gelu(),
        Operation::Square => x.square(),
        Operation::Rsqrt => positive(x).rsqrt(),
        Operation::Relu => x.relu(),
        Operation::Silu => x.silu(),
        Operation::GeluTanh => x.gelu_tanh(),
        Operation::Neg => -x,
        Operation::Powf => positive(x).powf(within_one(second()) * 3.0),
        Operation::Atan2 => x.atan2(second()),
        Operation::Hypot => x.hypot(second()),
        Operation::Max => x.max(second()),
        Operation::Min => x.min(second()),
        Operation::Clamp => x.clamp(second(), third()),
        Operation::MulAdd => x.mul_add(second(), third()),
        Operation::LeakyRelu => x.leaky_relu(second()),
        Operation::Elu => within_one(x).elu(second()),
        Operation::PowfLiteral => positive(x).powf(c),
        Operation::Atan2Literal => x.atan2(c),
        Operation::HypotLiteral => x.hypot(c),
        Operation::MaxLiteral => x.max(c),
        Operation::MinLiteral => x.min(c),
        Operation::ClampLiteral => x.clamp(c, d),
        Operation::MulAddLiteral => x.mul_add(c, d),
        Operation::LeakyReluLiteral => x.leaky_relu(c),
        Operation::EluLiteral => within_one(x).elu(c),
        Operation::Add => x + second(),
        Operation::Sub => x - second(),
        Operation::Mul => x * second(),
        Operation::Div => x / positive(second()),
        Operation::AddAssign => assigned(|x, y| *x += y),
        Operation::SubAssign => assigned(|x, y| *x -= y),
        Operation::MulAssign => assigned(|x, y| *x *= y),
        Operation::DivAssign => assigned(|x, y| *x /= positive(y)),
        Operation::Sum => operands.iter().copied().sum(),
        Operation::AddLiteral => x + c,
        Operation::SubLiteral => x - c,
        Operation::MulLiteral => x * c,
        Operation::DivLiteral => x / (c + 3.0),
        Operation::LiteralAdd => c + x,
        Operation::LiteralSub => c - x,
        Operation::LiteralMul => c * x,
        Operation::LiteralDiv => c / positive(x),
        Operation::AddAssignLiteral => {
            let mut x = x;
            x += c;
            x
        }
        Operation::SubAssignLiteral => {
            let mut x = x;
            x -= c;
            x
        }
        Operation::MulAssignLiteral => {
            let mut x = x;
            x *= c;
            x
        }
        Operation::DivAssignLiteral => {
            let mut x = x;
            x /= c + 3.0;
            x
        }
        _ => branch(step, operands),
    }
}

/// Returns one of two numbers, whichever a comparison chooses.
fn branch<R: Real>(step: &Step, operands: &[R]) -> R
where
    f64: Literal<R>,
{
    let (x, y, c) = (operands[0], operands[1], step.c);
    let third = || operands[2];
    let ordered = |ordering: Option<Ordering>| ordering == Some(Ordering::Less);
    let is_true = match step.operation {
        Operation::IfLess => x < y,
        Operation::IfAtMost => x <= y,
        Operation::IfGreater => x > y,
        Operation::IfAtLeast => x >= y,
        Operation::IfEqual => x == y,
        Operation::IfOrdered => ordered(x.partial_cmp(&y)),
        Operation::IsNan => x.is_nan(),
        Operation::IfLessLiteral => x < c,
        Operation::IfAtMostLiteral => x <= c,
        Operation::IfGreaterLiteral => x > c,
        Operation::IfAtLeastLiteral => x >= c,
        Operation::IfOrderedLiteral => ordered(x.partial_cmp(&c)),
        operation => unreachable!("{operation:?} is no branch"),
    };
    match (is_true, step.operation.arity()) {
        (true, _) => x * y,
        (false, 3) => third(),
        (false, _) => y,
    }
}
