//! Functions of pullback as operations of candle: values, gradients, memory and mistakes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use candle_core::{D, DType, Device, Error, Result, Shape, Storage, Tensor, Var};
use pullback::prelude::*;
use pullback_candle::apply;
use pullback_fixtures::{MulConstant, above_smallest, linear, polar, squash};

const CPU: Device = Device::Cpu;

type M = Tensor2<f64>;

/// Numbers in -3..3 that do not repeat, the same in each run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64 * 6.0 - 3.0
    }

    fn var(&mut self, shape: impl Into<Shape>, dtype: DType) -> Result<Var> {
        let shape = shape.into();
        let numbers: Vec<f64> = (0..shape.elem_count()).map(|_| self.next()).collect();
        Var::from_tensor(&Tensor::from_vec(numbers, shape, &CPU)?.to_dtype(dtype)?)
    }
}

#[track_caller]
fn assert_close(found: &Tensor, expected: &Tensor) {
    let tolerance = if found.dtype() == DType::F32 {
        2e-5
    } else {
        1e-12
    };
    assert_eq!(
        (found.shape(), found.dtype()),
        (expected.shape(), expected.dtype())
    );
    let (found, expected) = (numbers(found), numbers(expected));
    for (found, expected) in found.iter().zip(&expected) {
        let distance = (found - expected).abs();
        assert!(
            distance <= tolerance * (1.0 + expected.abs()),
            "{found} instead of {expected}"
        );
    }
}

fn numbers(tensor: &Tensor) -> Vec<f64> {
    let flat = tensor
        .flatten_all()
        .and_then(|flat| flat.to_dtype(DType::F64));
    flat.and_then(|flat| flat.to_vec1()).unwrap()
}

/// Returns the message of an error, without the backtrace that candle adds if `RUST_BACKTRACE` is set.
fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
    let text = result.unwrap_err().to_string();
    text.lines().next().unwrap_or_default().to_owned()
}

/// Returns a loss with a different weight for each element of `y`.
fn loss(y: &Tensor) -> Result<Tensor> {
    let weights = Tensor::arange(1.0, y.elem_count() as f64 + 0.5, &CPU)?.to_dtype(y.dtype())?;
    (weights.reshape(y.shape())? * y)?.sum_all()
}

/// Asserts equal values, and equal gradients of the variables.
#[track_caller]
fn assert_same(ours: &Tensor, theirs: &Tensor, variables: &[&Var]) {
    assert_close(ours, theirs);
    let grads = |y| loss(y).and_then(|loss| loss.backward()).unwrap();
    let (ours, theirs) = (grads(ours), grads(theirs));
    for variable in variables {
        assert_close(ours.get(variable).unwrap(), theirs.get(variable).unwrap());
    }
}

/// `squash` written with candle's operations.
fn squash_of_candle(x: &Tensor, limit: &Tensor) -> Result<Tensor> {
    x.broadcast_div(&(x.broadcast_div(limit)?.sqr()? + 1.0)?.sqrt()?)
}

fn squash_2<T: Element>((x, limit): (&Tensor2<T>, &Tensor2<T>)) -> Tensor2<T> {
    squash(x, limit)
}

#[test]
fn squash_is_as_with_candles_operations() -> Result<()> {
    let mut random = Numbers(1);
    for case in 0..20 {
        let (rows, columns) = (1 + case % 5, 1 + case % 7);
        let dtype = if case % 2 == 0 {
            DType::F32
        } else {
            DType::F64
        };
        let x = random.var((rows, columns), dtype)?;
        let limit = random.var((rows, 1), dtype)?;
        let limit = Var::from_tensor(&(limit.abs()? + 0.5)?)?;
        let ours = if dtype == DType::F32 {
            apply(squash_2::<f32>, (&x, &limit))?
        } else {
            apply(squash_2::<f64>, (&x, &limit))?
        };
        assert_same(&ours, &squash_of_candle(&x, &limit)?, &[&x, &limit]);
    }
    Ok(())
}

#[test]
fn linear_takes_two_inputs_or_three() -> Result<()> {
    let mut random = Numbers(2);
    let (x, w, b) = (
        random.var((4, 3), DType::F32)?,
        random.var((2, 3), DType::F32)?,
        random.var(2, DType::F32)?,
    );
    let product = x.matmul(&w.t()?)?;
    let of_two = |(x, w): (&Tensor2<f32>, &Tensor2<f32>)| linear(x, w, None);
    assert_same(&apply(of_two, (&x, &w))?, &product, &[&x, &w]);
    let of_three = |(x, w, b): (&Tensor2<f32>, &Tensor2<f32>, &Tensor1<f32>)| linear(x, w, Some(b));
    let biased = product.broadcast_add(&b)?;
    assert_same(&apply(of_three, (&x, &w, &b))?, &biased, &[&x, &w, &b]);
    Ok(())
}

#[test]
fn several_outputs_are_a_tuple() -> Result<()> {
    let mut random = Numbers(3);
    let (x, y) = (
        random.var((2, 3), DType::F64)?,
        random.var((2, 3), DType::F64)?,
    );
    let function = |(x, y): (&Tensor2<f64>, &Tensor2<f64>)| polar(x, y);
    let (radius, angle) = apply(function, (&x, &y))?;
    let squared = (x.sqr()? + y.sqr()?)?;
    assert_same(&radius, &squared.sqrt()?, &[&x, &y]);
    // d angle/dx = -y/r², d angle/dy = x/r².
    let grads = angle.sum_all()?.backward()?;
    assert_close(grads.get(&x).unwrap(), &(y.neg()? / &squared)?);
    assert_close(grads.get(&y).unwrap(), &(x.as_tensor() / &squared)?);
    // Both: the gradient of r·cos(angle) is that of x.
    let (radius, angle) = apply(function, (&x, &y))?;
    let grads = (radius * angle.cos()?)?.sum_all()?.backward()?;
    assert_close(grads.get(&x).unwrap(), &x.ones_like()?);
    assert_close(&grads.get(&y).unwrap().affine(1.0, 1.0)?, &y.ones_like()?);
    Ok(())
}

#[test]
fn outputs_are_of_any_types_and_some_are_constants() -> Result<()> {
    let x = Var::new(&[1.0, 2.0], &CPU)?;
    let weight = Var::new(3.0_f32, &CPU)?;
    let function =
        |(x, weight): (&Tensor1<f64>, &Tensor0<f32>)| (x * 2.0, weight * 5.0, x.detach(), x.sum());
    let (double, scaled, copy, sum) = apply(function, (&x, &weight))?;
    assert!(!copy.track_op());
    assert_eq!(copy.to_vec1::<f64>()?, [1.0, 2.0]);
    let loss = ((double.sum_all()? + sum)? + scaled.to_dtype(DType::F64)?)?;
    assert_eq!(loss.to_scalar::<f64>()?, 24.0);
    let grads = loss.backward()?;
    assert_eq!(grads.get(&x).unwrap().to_vec1::<f64>()?, [3.0, 3.0]);
    assert_eq!(grads.get(&weight).unwrap().to_scalar::<f32>()?, 5.0);

    let list = apply(|x: &Tensor1<f64>| vec![x * 2.0, x * 3.0, x * 4.0], &x)?;
    assert_eq!(list.len(), 3);
    assert_eq!(
        list[2].backward()?.get(&x).unwrap().to_vec1::<f64>()?,
        [4.0, 4.0]
    );

    let distances = |x: &Tensor1<f64>| above_smallest(x).0;
    let y = apply(distances, &x)?;
    assert_eq!(y.to_vec1::<f64>()?, [0.0, 1.0]);
    assert_eq!(
        y.backward()?.get(&x).unwrap().to_vec1::<f64>()?,
        [-1.0, 1.0]
    );
    Ok(())
}

#[test]
fn more_inputs_than_candle_has_arguments() -> Result<()> {
    let mut random = Numbers(5);
    let vars: Vec<Var> = (0..5)
        .map(|_| random.var((2, 3), DType::F64))
        .collect::<Result<_>>()?;
    let (t, z) = (vars[1].t()?, Var::new(2.0, &CPU)?);
    let function =
        |(a, b, c, d, e, z): (&M, &M, &M, &M, &M, &Tensor0<f64>)| a * b.t() + c * d * z - e;
    let ours = apply(function, (&vars[0], &t, &vars[2], &vars[3], &vars[4], &z))?;
    let theirs =
        (vars[0].mul(&vars[1])? + vars[2].mul(&vars[3])?.broadcast_mul(&z)?)? - vars[4].as_tensor();
    let variables: Vec<&Var> = vars.iter().chain([&z]).collect();
    assert_same(&ours, &theirs?, &variables);

    // Inputs of both types, an unused one, and a list.
    let half = random.var(3, DType::F32)?;
    let function = |(parts, half): (&[M], &Tensor1<f32>)| (&parts[0] * &parts[3], half * 2.0);
    assert_eq!(
        message(apply(function, (&vars, &half))),
        "input 5 is a tensor of f32 of rank 1; the function takes one of f64 of rank 2"
    );
    let function = |(half, parts): (&Tensor1<f32>, &[M])| (&parts[0] * &parts[3], half * 2.0);
    let (product, double) = apply(function, (&half, &vars))?;
    assert_same(&product, &vars[0].mul(&vars[3])?, &[&vars[0], &vars[3]]);
    assert_same(&double, &half.affine(2.0, 0.0)?, &[&half]);
    let grads = product.backward()?;
    assert_close(grads.get(&vars[1]).unwrap(), &vars[1].zeros_like()?);
    Ok(())
}

#[test]
fn inputs_need_not_be_contiguous() -> Result<()> {
    let mut random = Numbers(6);
    let x = random.var((4, 5), DType::F64)?;
    let limit = Var::from_tensor(&(random.var(1, DType::F64)?.abs()? + 0.5)?)?;
    let narrow = x.narrow(0, 1, 2)?.narrow(1, 2, 3)?;
    let limits = limit.broadcast_as((3, 2))?;
    for x_view in [narrow.t()?, x.narrow(0, 2, 2)?.narrow(1, 0, 3)?.t()?] {
        assert!(!x_view.is_contiguous() && !limits.is_contiguous());
        let ours = apply(squash_2::<f64>, (&x_view, &limits))?;
        assert_same(&ours, &squash_of_candle(&x_view, &limits)?, &[&x, &limit]);
    }
    // A contiguous one that does not begin where its memory does, and one of which each second element is taken.
    let row = x.narrow(0, 3, 1)?;
    let ones = Tensor::ones((1, 5), DType::F64, &CPU)?;
    let ours = apply(squash_2::<f64>, (&row, &ones))?;
    assert_same(&ours, &squash_of_candle(&row, &ones)?, &[&x]);
    let permuted = x.reshape((2, 2, 5))?.permute((2, 0, 1))?;
    let ours = apply(|x: &Tensor3<f64>| x * x, &permuted)?;
    assert_same(&ours, &permuted.sqr()?, &[&x]);
    // A gradient that is not contiguous either.
    let y = apply(|x: &Tensor2<f64>| x * x, &x)?;
    let weights = random.var((5, 4), DType::F64)?;
    let grads = (y.t()? * weights.as_tensor())?.sum_all()?.backward()?;
    let expected = ((x.as_tensor() * weights.t()?)? * 2.0)?;
    assert_close(grads.get(&x).unwrap(), &expected);
    let grads = apply(|x: &Tensor2<f64>| x * x, &x)?
        .sum(D::Minus1)?
        .backward()?;
    assert_close(grads.get(&x).unwrap(), &(x.as_tensor() * 2.0)?);
    Ok(())
}

#[test]
fn outputs_in_another_order_are_put_in_order() -> Result<()> {
    let x = Var::new(&[[1.0, 2.0], [3.0, 4.0]], &CPU)?;
    let turned = apply(|x: &Tensor2<f64>| x.t(), &x)?;
    assert_eq!(turned.to_vec2::<f64>()?, [[1.0, 3.0], [2.0, 4.0]]);
    assert_same(&turned, &x.t()?, &[&x]);
    let (row, rest) = apply(
        |x: &Tensor2<f64>| (x.slice(pullback::ndarray::s![1, ..]), x.t()),
        &x,
    )?;
    assert_same(&row, &x.narrow(0, 1, 1)?.squeeze(0)?, &[&x]);
    assert_same(&rest, &x.t()?, &[&x]);
    assert_same(&apply(|x: &Tensor2<f64>| x.clone(), &x)?, &x, &[]);
    assert_same(
        &apply(|x: &Tensor2<f64>| x.clone(), &x)?,
        &(x.as_tensor() * 1.0)?,
        &[&x],
    );
    Ok(())
}

#[test]
fn scalars_and_tensors_without_elements() -> Result<()> {
    let (x, empty) = (Var::new(3.0, &CPU)?, Var::zeros((0, 3), DType::F64, &CPU)?);
    let square = apply(|x: &Tensor0<f64>| x * x, &x)?;
    assert_eq!(square.dims(), [0_usize; 0]);
    assert_eq!(square.backward()?.get(&x).unwrap().to_scalar::<f64>()?, 6.0);

    let function = |(x, empty): (&Tensor0<f64>, &Tensor2<f64>)| (x * 2.0, empty * 2.0, empty.sum());
    let (double, nothing, sum) = apply(function, (&x, &empty))?;
    assert_eq!(
        (nothing.dims(), sum.to_scalar::<f64>()?),
        (&[0, 3][..], 0.0)
    );
    let grads = ((double + nothing.sum_all()?)? + sum)?.backward()?;
    assert_eq!(grads.get(&x).unwrap().to_scalar::<f64>()?, 2.0);
    assert_eq!(grads.get(&empty).unwrap().dims(), [0, 3]);

    let four = |(x, empty, y, z): (&Tensor0<f64>, &Tensor2<f64>, &Tensor0<f64>, &Tensor0<f64>)| {
        x * y * z + empty.sum()
    };
    let grads = apply(four, (&x, &empty, &x, &x))?.backward()?;
    assert_eq!(grads.get(&x).unwrap().to_scalar::<f64>()?, 27.0);
    assert_eq!(grads.get(&empty).unwrap().dims(), [0, 3]);
    Ok(())
}

#[test]
fn constants_get_no_gradient() -> Result<()> {
    let x = Var::new(&[[1.0, 2.0]], &CPU)?;
    let (limit, detached) = (Tensor::new(&[[1.5]], &CPU)?, x.detach());
    let y = apply(squash_2::<f64>, (&x, &limit))?;
    let grads = y.backward()?;
    assert!(grads.get(&x).is_some() && grads.get(&limit).is_none());
    let y = apply(squash_2::<f64>, (&detached, &limit))?;
    assert!(!y.track_op());
    let y = apply(|x: &Tensor2<f64>| MulConstant::apply(x, 2.5), &x)?;
    assert_eq!(
        y.backward()?.get(&x).unwrap().to_vec2::<f64>()?,
        [[2.5, 2.5]]
    );
    Ok(())
}

#[test]
fn a_tensor_is_used_twice_and_between_others() -> Result<()> {
    let x = Var::new(&[[0.5, 2.0]], &CPU)?;
    let ours = apply(squash_2::<f64>, (&x, &x))?;
    assert_same(&ours, &squash_of_candle(&x, &x)?, &[&x]);
    // Ours between candle's, in two branches of one graph.
    let inner = x.exp()?;
    let one = Tensor::ones((1, 1), DType::F64, &CPU)?;
    let ours = apply(squash_2::<f64>, (&inner, &one))?.mul(&inner)?;
    assert_same(&ours, &squash_of_candle(&inner, &one)?.mul(&inner)?, &[&x]);
    // A branch that the result does not depend on: candle asks for its gradient all the same.
    let ignored = |(x, _): (&Tensor2<f64>, &Tensor2<f64>)| x * 2.0;
    let grads = apply(ignored, (&x, &inner))?.backward()?;
    assert_eq!(grads.get(&x).unwrap().to_vec2::<f64>()?, [[2.0, 2.0]]);
    Ok(())
}

#[test]
fn a_value_that_changes_after_forward_does_not_change_backward() -> Result<()> {
    let x = Var::new(&[1.0, 2.0], &CPU)?;
    let y = apply(|x: &Tensor1<f64>| x * x, &x)?;
    x.set(&Tensor::new(&[10.0, 20.0], &CPU)?)?;
    assert_eq!(y.backward()?.get(&x).unwrap().to_vec1::<f64>()?, [2.0, 4.0]);
    // Once more: what was saved is still there.
    assert_eq!(y.backward()?.get(&x).unwrap().to_vec1::<f64>()?, [2.0, 4.0]);
    Ok(())
}

#[test]
fn mistakes_have_their_place() -> Result<()> {
    let vector = Tensor::zeros(2, DType::F32, &CPU)?;
    let matrix = |dtype| Tensor::zeros((2, 2), dtype, &CPU);
    let (single, double) = (matrix(DType::F32)?, matrix(DType::F64)?);
    let function = |(x, w): (&Tensor2<f32>, &Tensor2<f32>)| linear(x, w, None);
    let of = |x: &Tensor, w: &Tensor| message(apply(function, (x, w)));
    assert_eq!(
        of(&single, &vector),
        "input 1 is a tensor of f32 of rank 1; the function takes one of f32 of rank 2"
    );
    assert_eq!(
        of(&double, &single),
        "input 0 is a tensor of f64 of rank 2; the function takes one of f32 of rank 2"
    );
    for (dtype, name) in [
        (DType::BF16, "bf16"),
        (DType::U32, "u32"),
        (DType::F16, "f16"),
    ] {
        assert_eq!(
            of(&single, &matrix(dtype)?),
            format!(
                "input 1 is a tensor of {name}; pullback computes with f32 and f64: \
                 convert it with `to_dtype(DType::F32)`"
            )
        );
    }
    assert_eq!(
        message(apply(function, &single)),
        "the function takes 2 tensors, but 1 was given"
    );
    let three = apply(function, [&single, &single, &single]);
    assert_eq!(
        message(three),
        "the function takes 2 tensors, but 3 were given"
    );
    Ok(())
}

#[custom_function(grad(x) = {
    assert!(grad_output[0] < 2.0, "a gradient of 2 or more");
    grad_output.to_owned()
})]
fn picky(x: pullback::ndarray::ArrayView1<f64>) -> pullback::ndarray::Array1<f64> {
    x.to_owned()
}

#[test]
fn panics_are_errors() -> Result<()> {
    let (x, w) = (
        Var::zeros((2, 3), DType::F32, &CPU)?,
        Var::zeros((2, 4), DType::F32, &CPU)?,
    );
    let function = |(x, w): (&Tensor2<f32>, &Tensor2<f32>)| x.matmul(w);
    let text = message(apply(function, (&x, &w)));
    assert!(
        text.starts_with("the function panicked, given shapes [2, 3] and [2, 4]: "),
        "{text}"
    );
    let function = |_: &Tensor2<f32>| -> Tensor0<f32> { panic!("no") };
    assert_eq!(
        message(apply(function, &x)),
        "the function panicked, given shapes [2, 3]: no"
    );
    let x = Var::zeros(1, DType::F64, &CPU)?;
    let y = apply(|x: &Tensor1<f64>| picky(x), &x)?;
    assert!(y.backward().is_ok());
    let text = message((y * 2.0)?.backward());
    assert!(
        text.starts_with("backward panicked, given shapes [1]: backward of `picky`, applied at ")
            && text.ends_with(", panicked: a gradient of 2 or more"),
        "{text}"
    );
    Ok(())
}

#[test]
fn what_was_saved_goes_with_the_graph() -> Result<()> {
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    impl AsRef<[f64]> for Counted {
        fn as_ref(&self) -> &[f64] {
            &[3.0, 4.0]
        }
    }
    let dropped = Arc::new(AtomicUsize::new(0));
    let x = Var::new(&[1.0, 2.0], &CPU)?;
    let product = |x: &Tensor1<f64>| {
        let factor = Tensor1::from_owner(&[2], Counted(Arc::clone(&dropped)));
        x * factor
    };
    let y = apply(product, &x)?;
    let later = (&y * 2.0)?;
    drop(y);
    assert_eq!(dropped.load(Ordering::Relaxed), 0);
    assert_eq!(
        later.backward()?.get(&x).unwrap().to_vec1::<f64>()?,
        [6.0, 8.0]
    );
    drop(later);
    assert_eq!(dropped.load(Ordering::Relaxed), 1);
    // Nothing is saved for constants.
    let y = apply(product, x.detach())?;
    assert_eq!(dropped.load(Ordering::Relaxed), 2);
    drop(y);
    Ok(())
}

#[test]
fn outputs_are_moved() -> Result<()> {
    let place = AtomicUsize::new(0);
    let double = |x: &Tensor1<f64>| {
        let y = x * 2.0;
        place.store(y.view().as_ptr().addr(), Ordering::Relaxed);
        y
    };
    let x = Var::zeros(1000, DType::F64, &CPU)?;
    for x in [x.as_tensor(), &x.detach()] {
        let y = apply(double, x)?;
        let (storage, _) = y.storage_and_layout();
        let Storage::Cpu(storage) = &*storage else {
            panic!()
        };
        let elements = storage.as_slice::<f64>()?;
        assert_eq!(elements.as_ptr().addr(), place.load(Ordering::Relaxed));
    }
    Ok(())
}

#[test]
fn graphs_are_used_on_several_threads() -> Result<()> {
    let x = Numbers(8).var((3, 2), DType::F64)?;
    let y = apply(|x: &Tensor2<f64>| x * x, &x)?;
    let expected = (x.as_tensor() * 2.0)?;
    std::thread::scope(|scope| {
        let run = || {
            for _ in 0..20 {
                assert_close(y.backward()?.get(&x).unwrap(), &expected);
                let again = apply(|x: &Tensor2<f64>| x * x, &x)?;
                assert_close(again.backward()?.get(&x).unwrap(), &expected);
            }
            Ok::<_, Error>(())
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(run)).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap())
    })
}

/// Runs in a process of its own: candle reads the variable once for each thread.
#[test]
#[ignore = "run by `gradients_are_differentiated_again`"]
fn second_order() -> Result<()> {
    let mut random = Numbers(9);
    let x = random.var((2, 3), DType::F64)?;
    let limit = Var::from_tensor(&(random.var((2, 1), DType::F64)?.abs()? + 0.5)?)?;
    let slope = |y: Tensor| {
        loss(&y.sqr()?)?
            .backward()?
            .remove(&x)
            .ok_or(Error::UnwrapNone)
    };
    let ours = slope(apply(squash_2::<f64>, (&x, &limit))?)?;
    let theirs = slope(squash_of_candle(&x, &limit)?)?;
    assert_same(&ours, &theirs, &[&x, &limit]);

    // x⁴ three times, and through four inputs.
    let fourth = apply(|x: &Tensor2<f64>| x * x * x * x, &x)?;
    let again = |y: &Tensor| y.backward()?.remove(&x).ok_or(Error::UnwrapNone);
    let third = again(&again(&again(&fourth)?)?)?;
    assert_close(&third, &(x.as_tensor() * 24.0)?);
    let product = |(a, b, c, d): (&M, &M, &M, &M)| a * b * (c * d);
    let second = again(&again(&apply(product, (&x, &x, &x, &x))?)?)?;
    assert_close(&second, &(x.sqr()? * 12.0)?);

    // x³ and x² as outputs of one run, in x⁸: the gradient of both is one tensor, with a history.
    let (cube, square) = apply(|x: &M| (x * x * x, x * x), &x)?;
    let second = again(&again(&(cube.sqr()? * square)?)?)?;
    assert_close(&second, &(x.powf(6.0)? * 56.0)?);

    // A gradient that is written on arrays is differentiated once.
    let x = Var::zeros(1, DType::F64, &CPU)?;
    let grads = apply(|x: &Tensor1<f64>| picky(x), &x)?.backward()?;
    let text = message(grads.get(&x).ok_or(Error::UnwrapNone)?.backward());
    assert!(text.contains("picky"), "{text}");
    Ok(())
}

#[test]
fn gradients_are_differentiated_again() {
    let this = std::env::current_exe().unwrap();
    let output = std::process::Command::new(this)
        .args(["--exact", "second_order", "--ignored"])
        .env("CANDLE_GRAD_DO_NOT_DETACH", "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
}
