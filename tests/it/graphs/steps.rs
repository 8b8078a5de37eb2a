//! The kinds of steps.

use pullback::ndarray::{ArrayD, Dimension, Ix0, Ix1, Ix2, Ix3};
use pullback::prelude::*;

use super::forms::*;
use super::functions::*;
use super::program::{Kind, Step};
use super::run::{Dyn, Results, Run, Value};
use crate::functions::Linear;

/// Calls `$body` with `$x` as a tensor of static rank, or of dynamic rank.
macro_rules! ranked {
    ($x:expr, $dynamic:expr, |$typed:ident| $body:expr) => {
        match $x.ndim() {
            0 if !$dynamic => {
                let $typed = typed::<Ix0>(&$x);
                $body
            }
            1 if !$dynamic => {
                let $typed = typed::<Ix1>(&$x);
                $body
            }
            2 if !$dynamic => {
                let $typed = typed::<Ix2>(&$x);
                $body
            }
            3 if !$dynamic => {
                let $typed = typed::<Ix3>(&$x);
                $body
            }
            _ => {
                let $typed = $x.clone();
                $body
            }
        }
    };
}

fn typed<D: Dimension>(x: &Dyn) -> Tensor<f64, D> {
    x.clone()
        .into_dimensionality()
        .expect("a tensor of this rank")
}

impl Run<'_> {
    pub fn built_in(&mut self, step: Step, place: usize) -> Option<Results> {
        let Value { tensor: x, bound } = self.values[place].clone();
        let [_, y, z] = step.picks;
        let dynamic = z % 4 == 3;
        let c = f64::from(y) / 256.0 + 0.5;
        Some(match step.kind {
            Kind::Neg => ranked!(x, dynamic, |x| Results::of(-x, bound)),
            Kind::AddScalar => ranked!(x, dynamic, |x| Results::of(x + c, bound + c)),
            Kind::MulScalar => ranked!(x, dynamic, |x| Results::of(c * x, bound * c)),
            Kind::DivScalar => ranked!(x, dynamic, |x| Results::of(x / c, bound / c)),
            Kind::ScalarSub => ranked!(x, dynamic, |x| Results::of(c - x, bound + c)),
            Kind::ScalarDiv => ranked!(x, dynamic, |x| Results::of(1.0 / (x + (bound + 1.0)), 1.0)),
            Kind::Exp => ranked!(x, dynamic, |x| Results::of(x.exp(), bound.exp())),
            Kind::Ln => ranked!(x, dynamic, |x| Results::of(
                (x + (bound + 1.0)).ln(),
                (2.0 * bound + 1.0).ln()
            )),
            Kind::Tanh => ranked!(x, dynamic, |x| Results::of(x.tanh(), 1.0)),
            Kind::Powi => {
                let n = i32::from(y % 5);
                self.note(&format!(", {n}"));
                ranked!(x, dynamic, |x| Results::of(x.powi(n), bound.powi(n)))
            }
            Kind::Sum => ranked!(x, dynamic, |x| Results::of(x.sum(), bound * x.len() as f64)),
            Kind::Mean if !x.is_empty() => ranked!(x, dynamic, |x| Results::of(x.mean(), bound)),
            Kind::Mean => Results::of(x.sum(), bound),
            Kind::Transpose => ranked!(x, dynamic, |x| Results::of(x.t(), bound)),
            Kind::SumTo => self.sum_to(&x, bound, [y, z]),
            Kind::BroadcastTo => self.broadcast_to(&x, bound, [y, z]),
            Kind::Add | Kind::Sub | Kind::Mul | Kind::Div => {
                let y = self.other(y, place, |y| broadcasts(x.shape(), y.shape()));
                let (y, other) = (y.tensor, y.bound);
                match step.kind {
                    Kind::Add => Results::of(x + y, bound + other),
                    Kind::Sub => Results::of(x - y, bound + other),
                    Kind::Mul => Results::of(x * y, bound * other),
                    _ => Results::of(x / (y + (other + 1.0)), bound),
                }
            }
            Kind::MatMul => {
                let x = matrix(&x);
                let y = self.other(y, place, |y| {
                    matrix_shape(y.shape()).contains(&x.shape()[1])
                });
                let (mut y, other) = (matrix(&y.tensor), y.bound);
                if y.shape()[0] != x.shape()[1] {
                    y = y.t();
                }
                Results::of(x.matmul(&y), bound * other * x.shape()[1] as f64)
            }
            Kind::Detach => Results::of(self.cuts.cut(x.detach()), bound),
            _ => return None,
        })
    }

    fn sum_to(&mut self, x: &Dyn, bound: f64, [drop, ones]: [u8; 2]) -> Results {
        let mut shape = x.shape()[usize::from(drop) % (x.ndim() + 1)..].to_vec();
        for (axis, length) in shape.iter_mut().enumerate() {
            if ones >> axis & 1 == 1 {
                *length = 1;
            }
        }
        self.note(&format!(", {shape:?}"));
        let size: usize = shape.iter().product();
        let bound = bound * (x.len().max(1) / size.max(1)).max(1) as f64;
        let sum: Dyn = x.sum_to(&shape);
        Results::of(sum, bound)
    }

    fn broadcast_to(&mut self, x: &Dyn, bound: f64, [new, stretched]: [u8; 2]) -> Results {
        let mut shape = x.shape().to_vec();
        for (axis, length) in shape.iter_mut().enumerate() {
            if *length == 1 {
                *length = [1, 2, 3, 0][usize::from(stretched >> (2 * axis) & 3)];
            }
        }
        if shape.len() < 3 && new % 4 > 0 {
            shape.insert(0, usize::from(new % 4));
        }
        self.note(&format!(", {shape:?}"));
        let repeated: Dyn = x.broadcast_to(&shape);
        Results::of(repeated, bound)
    }

    pub fn custom(&mut self, step: Step, place: usize) -> Results {
        let Value { tensor: x, bound } = self.values[place].clone();
        let [_, y, z] = step.picks;
        let dynamic = z % 4 == 3;
        match step.kind {
            Kind::Sine => ranked!(x, dynamic, |x| Results::of(sine(&x), 1.0)),
            Kind::Damped => ranked!(x, dynamic, |x| Results::of(Damped::apply(&x), 0.5)),
            Kind::Nested => ranked!(x, dynamic, |x| Results::of(
                Nested::apply(&x),
                bound * bound / 2.0
            )),
            Kind::Waves => ranked!(x, dynamic, |x| {
                let (sine, cosine) = Waves::apply(&x);
                Results::of(sine, 1.0).and(cosine, 1.0)
            }),
            Kind::Powers => ranked!(x, dynamic, |x| {
                let (second, third) = Powers::apply(&x);
                Results::of(second, bound.powi(2) / 2.0).and(third, bound.powi(3) / 3.0)
            }),
            Kind::Same => ranked!(x, dynamic, |x| {
                let (first, second) = Same::apply(&x);
                Results::of(first, bound).and(second, bound)
            }),
            Kind::Masked => ranked!(x, dynamic, |x| {
                let (y, mask) = Masked::apply(x, vec![1.25]);
                let mask = self.cuts.cut(mask.into_dyn());
                Results::of(y, 1.25).and(mask, 1.0)
            }),
            Kind::Linear => self.linear(&x, bound, place, [y, z]),
            Kind::SineInPlace | Kind::TanhInPlace | Kind::Grown => self.in_place(step, place),
            _ => self.of_several(step, place),
        }
    }

    /// Functions of several tensors of one shape.
    fn of_several(&mut self, step: Step, place: usize) -> Results {
        let Value { tensor: x, bound } = self.values[place].clone();
        let [_, y, z] = step.picks;
        let dynamic = z % 4 == 3;
        let alike = |other: &Dyn| other.shape() == x.shape();
        let y = self.other(y, place, alike);
        let product = bound * y.bound;
        match step.kind {
            Kind::HalfProduct => ranked!(x, dynamic, |x| Results::of(
                half_product(&x, &typed_like(&y.tensor, &x)),
                product / 2.0
            )),
            Kind::Formula => ranked!(x, dynamic, |x| Results::of(
                formula(&x, &typed_like(&y.tensor, &x)),
                1.0
            )),
            Kind::GivenFormula => ranked!(x, dynamic, |x| Results::of(
                given_formula(&x, &typed_like(&y.tensor, &x)),
                y.bound
            )),
            Kind::Affine | Kind::AffineAgain => {
                let third = (z % 2 == 1).then(|| self.other(z / 2, place, alike));
                let bound = product + third.as_ref().map_or(0.0, |third| third.bound);
                ranked!(x, dynamic, |x| {
                    let w = typed_like(&y.tensor, &x);
                    let b = third.map(|third| typed_like(&third.tensor, &x));
                    Results::of(
                        match step.kind {
                            Kind::Affine => Affine::apply(&x, &w, b.as_ref()),
                            _ => AffineAgain::apply(&x, &w, b.as_ref()),
                        },
                        bound,
                    )
                })
            }
            _ => {
                let list: Vec<Value> = (0..z % 4)
                    .map(|turn| self.other(z / 4 + 3 * turn, place, alike))
                    .collect();
                let bound = match step.kind {
                    Kind::Blend => list.iter().map(|u| u.bound * bound).sum(),
                    _ => {
                        list.iter().map(|u| u.bound.powi(2) / 2.0).sum::<f64>()
                            + bound.powi(2) / 2.0
                    }
                };
                ranked!(x, dynamic, |x| {
                    let list: Vec<_> = list.iter().map(|u| typed_like(&u.tensor, &x)).collect();
                    let list: Vec<_> = list.iter().collect();
                    Results::of(
                        match step.kind {
                            Kind::Blend => Blend::apply(&list, &x),
                            _ => Squares::apply(&x, &list),
                        },
                        bound,
                    )
                })
            }
        }
    }

    /// Functions that write to their inputs: to a value that nothing else may hold, or to a copy of it.
    fn in_place(&mut self, step: Step, place: usize) -> Results {
        let Value { tensor: x, bound } = self.values[place].clone();
        let [_, y, z] = step.picks;
        let dynamic = z % 4 == 3;
        // A leaf that requires grad may not be written to.
        let x = if x.is_leaf() { x * 1.0 } else { x };
        // Inside `no_grad` a result that is written to keeps its history.
        let x = if step.no_grad { x.detach() } else { x };
        let keep = z & 4 == 0;
        if !keep {
            self.values[place].tensor = Tensor::from(ArrayD::zeros(vec![]));
        }
        let put = |tensor: Dyn, bound: f64| {
            if keep {
                Results::of(tensor, bound)
            } else {
                Results::default().written(place, tensor, bound)
            }
        };
        match step.kind {
            Kind::SineInPlace => ranked!(x, dynamic, |typed| {
                let mut typed = typed;
                drop(x);
                SineInPlace::apply(&mut typed);
                put(typed.into_dyn(), 1.0)
            }),
            Kind::TanhInPlace => {
                let fits = |other: &Dyn| other.shape() == x.shape();
                let other = if keep {
                    self.other(y, place, fits)
                } else {
                    Value {
                        tensor: x.clone(),
                        bound,
                    }
                };
                let other = Value {
                    tensor: other.tensor * 1.0,
                    ..other
                };
                ranked!(x, dynamic, |typed| {
                    let mut typed = typed;
                    let mut second = typed_like(&other.tensor, &typed);
                    drop(x);
                    TanhInPlace::apply(&mut typed, &mut second);
                    put(typed.into_dyn(), 1.0).and(second, other.bound)
                })
            }
            _ => ranked!(x, dynamic, |typed| {
                let mut typed = typed;
                drop(x);
                let squares = Grown::apply(&mut typed);
                put(typed.into_dyn(), bound * 1.5).and(squares, bound * bound / 2.0)
            }),
        }
    }

    fn linear(&mut self, x: &Dyn, bound: f64, place: usize, [y, z]: [u8; 2]) -> Results {
        let x = matrix(x);
        let fits = |y: &Dyn| y.ndim() == 2 && y.shape()[1] == x.shape()[1];
        let weight = self.other(y, place, fits);
        let weight = if fits(&weight.tensor) {
            weight
        } else {
            Value {
                tensor: x.clone().into_dyn(),
                bound,
            }
        };
        let rows = weight.tensor.shape()[0];
        let bias = self
            .values
            .iter()
            .position(|value| value.tensor.shape() == [rows])
            .filter(|_| z % 2 == 1);
        let bias = bias.map(|place| self.values[place].clone());
        let more = bias.as_ref().map_or(0.0, |bias| bias.bound);
        let product = bound * weight.bound * x.shape()[1] as f64;
        let bias = bias.map(|bias| typed::<Ix1>(&bias.tensor));
        Results::of(
            Linear::apply(&x, &typed(&weight.tensor), bias.as_ref()),
            product + more,
        )
    }
}

fn typed_like<D: Dimension>(x: &Dyn, _like: &Tensor<f64, D>) -> Tensor<f64, D> {
    typed(x)
}

/// A tensor of any rank as a matrix: repeated from ranks below, the mean of those above.
fn matrix(x: &Dyn) -> Tensor2<f64> {
    let shape = matrix_shape(x.shape());
    match x.ndim() {
        0 | 1 => x.broadcast_to(&shape),
        2 => typed(x),
        _ => x.sum_to(&shape) / x.shape()[0].max(1) as f64,
    }
}

fn matrix_shape(shape: &[usize]) -> [usize; 2] {
    match *shape {
        [] => [1, 1],
        [columns] => [1, columns],
        [.., rows, columns] => [rows, columns],
    }
}

/// Returns whether the two shapes broadcast.
fn broadcasts(x: &[usize], y: &[usize]) -> bool {
    x.iter()
        .rev()
        .zip(y.iter().rev())
        .all(|(a, b)| a == b || *a == 1 || *b == 1)
}
