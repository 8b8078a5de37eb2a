//! Random systems, against the same solutions differentiated through the steps of Newton's method.

use pullback::ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use pullback::nn::Generator;
use pullback::prelude::*;
use rand::RngExt;

/// Returns My + p sin y − q.
fn equations(
    y: &Tensor1<f64>,
    m: &Tensor2<f64>,
    p: &Tensor1<f64>,
    q: &Tensor1<f64>,
) -> Tensor1<f64> {
    m.matmul(y) + p * y.sin() - q
}

/// Returns the solution by Newton's method, recorded if the inputs are.
fn newton(m: &Tensor2<f64>, p: &Tensor1<f64>, q: &Tensor1<f64>) -> Tensor1<f64> {
    let eye = Tensor::from(Array2::<f64>::eye(p.len()));
    let mut y = Tensor::from(Array1::zeros(p.len()));
    for _ in 0..12 {
        let slopes = m + eye.clone() * (p * y.cos()).unsqueeze(Axis(0));
        y = &y - slopes.solve(&equations(&y, m, p, q)).unwrap();
    }
    y
}

macro_rules! solutions {
    ($Name:ident, $($dense:tt)*) => {
        struct $Name;

        #[custom_function]
        impl $Name {
            #[forward]
            fn forward(m: ArrayView2<f64>, p: ArrayView1<f64>, q: &Array1<f64>) -> Array1<f64> {
                let (m, p, q) = (Tensor::from(m), Tensor::from(p), Tensor::from(q.view()));
                newton(&m, &p, &q).to_array()
            }

            #[residual $($dense)*]
            fn residual(
                output: &Tensor1<f64>,
                m: &Tensor2<f64>,
                p: &Tensor1<f64>,
                q: &Array1<f64>,
            ) -> Tensor1<f64> {
                equations(output, m, p, &Tensor::from(q.view()))
            }
        }
    };
}

solutions!(Factored,);
solutions!(Free, (dense = 0));

type Inputs<'a> = (&'a Tensor2<f64>, &'a Tensor1<f64>);

struct Found {
    gradient: (Tensor2<f64>, Tensor1<f64>),
    second: (Tensor2<f64>, Tensor1<f64>),
    along: Tensor1<f64>,
}

impl Found {
    fn of(
        solve: impl Fn(&Tensor2<f64>, &Tensor1<f64>) -> Tensor1<f64>,
        (m, p): Inputs<'_>,
        (dm, dp): Inputs<'_>,
    ) -> Self {
        let y = solve(m, p);
        let loss = (y.powi(3) + &y).sum();
        let create = Grad::of(&loss).create_graph(true);
        let (gm, gp) = create.run((m, p)).unwrap();
        let again = (&gm * dm).sum() + (&gp * dp).sum();
        let second = grad(&again, (m, p)).unwrap();
        let detached = (&m.detach(), &p.detach());
        let (_, along) = jvp(|(m, p)| solve(m, p), detached, (dm, dp)).unwrap();
        Self {
            gradient: (gm.detach(), gp.detach()),
            second,
            along,
        }
    }

    /// Returns the largest difference, relative to the size of each derivative.
    fn distance(&self, other: &Self) -> f64 {
        let distance = |x: TensorD<f64>, y: TensorD<f64>| {
            let largest =
                |x: TensorD<f64>| x.view().iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            largest(&x - &y) / (1.0 + largest(y))
        };
        let pairs = [
            (
                self.gradient.0.clone().into_dyn(),
                other.gradient.0.clone().into_dyn(),
            ),
            (
                self.gradient.1.clone().into_dyn(),
                other.gradient.1.clone().into_dyn(),
            ),
            (
                self.second.0.clone().into_dyn(),
                other.second.0.clone().into_dyn(),
            ),
            (
                self.second.1.clone().into_dyn(),
                other.second.1.clone().into_dyn(),
            ),
            (
                self.along.clone().into_dyn(),
                other.along.clone().into_dyn(),
            ),
        ];
        let all = pairs.into_iter().map(|(x, y)| distance(x, y));
        all.fold(0.0, f64::max)
    }
}

#[test]
fn derivatives_are_those_of_newtons_steps() {
    let mut random = Generator::seed(27);
    for round in 0..200 {
        let size = 1 + round % 30;
        let mut draw = |scale: f64| random.random_range(-scale..scale);
        let spread = 0.8 / (size as f64).sqrt();
        let m = Array2::from_shape_fn((size, size), |(i, j)| {
            draw(spread) + if i == j { 2.0 } else { 0.0 }
        });
        let p = Array1::from_shape_simple_fn(size, || draw(0.9));
        let q = Array1::from_shape_simple_fn(size, || draw(2.0));
        let dm = Tensor::from(Array2::from_shape_simple_fn((size, size), || draw(1.0)));
        let dp = Tensor::from(Array1::from_shape_simple_fn(size, || draw(1.0)));
        let (m, p) = (
            Tensor::from(m).set_requires_grad(true),
            Tensor::from(p).set_requires_grad(true),
        );
        let (at, direction) = ((&m, &p), (&dm, &dp));
        let constant = Tensor::from(q.clone());
        let unrolled = Found::of(|m, p| newton(m, p, &constant), at, direction);
        let factored = Found::of(|m, p| Factored::apply(m, p, &q), at, direction);
        let free = Found::of(|m, p| Free::apply(m, p, &q), at, direction);
        let distances = (factored.distance(&unrolled), free.distance(&unrolled));
        assert!(
            distances.0 < 1e-10 && distances.1 < 1e-10,
            "{size}: {distances:?}"
        );
    }
}
