//! Each function where it has a kink, at the edge of its domain, far out, and at what is no number: its values and
//! derivatives are those of the function of tensors of that name.

use pullback::kernels::{Blocks, Elements, Evaluation, Formula, Literal, Loops, Place, evaluate};
use pullback::ndarray::{Array1, ArrayViewD};
use pullback::{Grad, Real, Tensor, Tensor1};

const POINTS: [f64; 25] = [
    0.0,
    -0.0,
    1e-300,
    -1e-300,
    1e-9,
    -1e-9,
    0.5,
    -0.5,
    0.75,
    -0.75,
    1.0,
    -1.0,
    2.0,
    -2.0,
    10.0,
    -10.0,
    40.0,
    -40.0,
    1e3,
    -1e3,
    1e150,
    -1e150,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

/// Returns values and first and second derivatives by the loops.
fn by_loops(loops: &dyn Loops<f64>, x: &Array1<f64>) -> [Vec<f64>; 3] {
    let one = Array1::ones(1);
    let [x, one]: [ArrayViewD<'_, f64>; 2] = [x.view().into_dyn(), one.view().into_dyn()];
    let inputs = [Some(x.view()), Some(one.view()), Some(one.view()), None];
    let run = |pass, count: usize| {
        let wanted: Vec<bool> = (0..count).map(|index| index == 0).collect();
        let results = evaluate(loops, pass, &inputs[..count], x.shape(), &wanted);
        results.into_iter().flatten().next().unwrap()
    };
    let partials = |order| Evaluation::Partials { order };
    [
        run(Evaluation::Values, 1),
        run(partials(1), 2),
        run(partials(2), 4),
    ]
}

/// Returns values and first and second derivatives by backward passes.
fn by_tensors(f: fn(&Tensor1<f64>) -> Tensor1<f64>, x: &Array1<f64>) -> [Vec<f64>; 3] {
    let x = Tensor::from(x.clone()).set_requires_grad(true);
    let y = f(&x);
    let first = Grad::of(&y.sum()).create_graph(true).run(&x).unwrap();
    // Some derivatives are constants.
    let second = if first.requires_grad() {
        Grad::of(&first.sum()).allow_unused(true).run(&x).unwrap()
    } else {
        Tensor::from(Array1::zeros(x.len()))
    };
    [y, first, second].map(|of| of.to_array().to_vec())
}

fn compare(loops: &dyn Loops<f64>, f: fn(&Tensor1<f64>) -> Tensor1<f64>, differ: &[(usize, f64)]) {
    let x = Array1::from(POINTS.to_vec());
    let (found, expected) = (by_loops(loops, &x), by_tensors(f, &x));
    let mut wrong = Vec::new();
    for (order, (found, expected)) in found.iter().zip(&expected).enumerate() {
        for ((x, found), expected) in POINTS.iter().zip(found).zip(expected) {
            let is_same = found == expected
                || found.is_nan() && expected.is_nan()
                // A derivative where there is no number means nothing.
                || order > 0 && x.is_nan()
                || (found - expected).abs() <= 1e-13 * expected.abs() + 1e-15;
            let may_differ = differ.contains(&(order, *x));
            if is_same == may_differ {
                wrong.push(format!(
                    "at {x}, derivative {order}: {found}, of tensors {expected}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Makes a test of each function, given of a number and of a tensor, and where derivatives may differ.
macro_rules! compared {
    ($($name:ident: |$x:ident| $of_number:expr, $of_tensor:expr $(, but $differ:expr)?;)*) => {$(
        #[test]
        fn $name() {
            struct This;

            impl Formula<1, 1> for This {
                type Entries = ();

                fn entries(&self, _: Elements) {}

                fn at<R: Real>(&self, (): &(), _: Place, [$x]: [R; 1]) -> [R; 1]
                where
                    f64: Literal<R>,
                {
                    [$of_number]
                }
            }

            let loops = &Blocks::<_, 1, 1, 2>(This);
            let differ: &[&[(usize, f64)]] = &[$(&$differ)?];
            compare(loops, |$x| $of_tensor, &differ.concat());
        }
    )*};
}

compared! {
    exp: |x| x.exp(), x.exp();
    exp_m1: |x| x.exp_m1(), x.exp_m1();
    ln: |x| x.ln(), x.ln();
    ln_1p: |x| x.ln_1p(), x.ln_1p();
    sqrt: |x| x.sqrt(), x.sqrt();
    recip: |x| x.recip(), x.recip();
    abs: |x| x.abs(), x.abs();
    sin: |x| x.sin(), x.sin();
    cos: |x| x.cos(), x.cos();
    tan: |x| x.tan(), x.tan();
    asin: |x| x.asin(), x.asin();
    acos: |x| x.acos(), x.acos();
    atan: |x| x.atan(), x.atan();
    sinh: |x| x.sinh(), x.sinh();
    cosh: |x| x.cosh(), x.cosh();
    tanh: |x| x.tanh(), x.tanh();
    sigmoid: |x| x.sigmoid(), x.sigmoid();
    softplus: |x| x.softplus(), x.softplus();
    erf: |x| x.erf(), x.erf();
    gelu: |x| x.gelu(), x.gelu();
    square: |x| x.square(), x.square();
    rsqrt: |x| x.rsqrt(), x.rsqrt();
    relu: |x| x.relu(), x.relu();
    silu: |x| x.silu(), x.silu();
    gelu_tanh: |x| x.gelu_tanh(), x.gelu_tanh();
    leaky_relu: |x| x.leaky_relu(0.1), x.leaky_relu(0.1);
    elu: |x| x.elu(1.5), x.elu(1.5);
    clamp: |x| Real::clamp(x, -0.5, 0.75), x.clamp(-0.5, 0.75);
    maximum: |x| x.max(0.5), x.maximum(&literal(0.5));
    minimum: |x| x.min(0.5), x.minimum(&literal(0.5));
    powf_0: |x| x.powf(0.0), x.powf(0.0);
    powf_half: |x| x.powf(0.5), x.powf(0.5);
    powf_1: |x| x.powf(1.0), x.powf(1.0);
    powf_2: |x| x.powf(2.0), x.powf(2.0);
    powf_negative: |x| x.powf(-1.5), x.powf(-1.5);
    powi_negative_3: |x| x.powi(-3), x.powi(-3);
    powi_negative_2: |x| x.powi(-2), x.powi(-2);
    powi_negative_1: |x| x.powi(-1), x.powi(-1);
    powi_0: |x| x.powi(0), x.powi(0);
    powi_1: |x| x.powi(1), x.powi(1);
    powi_2: |x| x.powi(2), x.powi(2);
    powi_3: |x| x.powi(3), x.powi(3);
    powi_4: |x| x.powi(4), x.powi(4);
    powi_7: |x| x.powi(7), x.powi(7);
}

fn literal(value: f64) -> Tensor1<f64> {
    Tensor::from(Array1::from_elem(POINTS.len(), value))
}
