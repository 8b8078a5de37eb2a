//! Computations run for another framework: what a recording saves, returns and refuses.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::Duration;

use pullback::foreign::{Recording, along, panic_text};
use pullback::ndarray::{Array1, Array2, Axis, arr0, array, s};
use pullback::prelude::*;
use pullback::{AnyTensor, Backward, Error, ErrorKind};

use crate::functions::{Square, SquareOnce};

/// Memory of another framework.
struct Memory(Arc<Vec<f64>>);

impl AsRef<[f64]> for Memory {
    fn as_ref(&self) -> &[f64] {
        &self.0
    }
}

fn memory(numbers: &[f64]) -> (Tensor1<f64>, Weak<Vec<f64>>) {
    let memory = Arc::new(numbers.to_vec());
    let seen = Arc::downgrade(&memory);
    (Tensor::from_owner(&[numbers.len()], Memory(memory)), seen)
}

fn numbers(tensor: Option<&AnyTensor>) -> Vec<f64> {
    let tensor = tensor.expect("a tensor").to_tensor::<f64>();
    tensor.expect("of f64").to_array().into_iter().collect()
}

fn some(array: Array1<f64>) -> Vec<Option<AnyTensor>> {
    vec![Some(array.into())]
}

#[test]
fn only_what_backward_needs_holds_the_callers_memory() {
    let (x, of_x) = memory(&[1.0, 2.0]);
    let (y, of_y) = memory(&[3.0, 4.0]);
    let product = |(x, y): (&Tensor1<f64>, &Tensor1<f64>)| x * y;
    let (run, outputs) = Recording::of(product, vec![x.into(), y.into()], &[true, false]).unwrap();
    assert_eq!(numbers(outputs.first()), [3.0, 8.0]);
    assert!(of_x.upgrade().is_none() && of_y.upgrade().is_some());
    drop(outputs);
    assert_eq!(
        numbers(
            run.gradients(some(array![1.0, 1.0]), &[true, true])
                .unwrap()[0]
                .as_ref()
        ),
        [3.0, 4.0]
    );
    drop(run);
    assert!(of_y.upgrade().is_none());
}

#[test]
fn nothing_is_saved_where_no_input_requires_grad() {
    let (x, of_x) = memory(&[1.0, 2.0]);
    let (run, outputs) = Recording::of(
        |x: &Tensor1<f64>| Square::apply(x),
        vec![x.into()],
        &[false],
    )
    .unwrap();
    assert!(!run.requires_grad(0) && of_x.upgrade().is_none());
    assert_eq!(numbers(outputs.first()), [1.0, 4.0]);
    assert!(run.gradients(some(array![1.0, 1.0]), &[true]).unwrap()[0].is_none());
}

#[test]
fn the_callers_memory_is_never_written_to() {
    let (x, seen) = memory(&[1.0, 2.0, 3.0, 4.0]);
    let parts = x.clone().reshape([2, 2]).t();
    assert_eq!(parts.to_array(), array![[1.0, 3.0], [2.0, 4.0]]);
    assert_eq!(x.slice(s![1..3]).to_array(), array![2.0, 3.0]);
    let sum = x + 1.0;
    assert_eq!(sum.into_array(), array![2.0, 3.0, 4.0, 5.0]);
    drop(parts);
    assert!(seen.upgrade().is_none());

    let (mut x, seen) = memory(&[1.0, 2.0]);
    let shared = seen.upgrade().expect("a tensor that owns it");
    x.update(|mut elements| elements += 1.0);
    assert_eq!(
        (x.to_array(), &**shared),
        (array![2.0, 3.0], &[1.0, 2.0][..])
    );
    let (x, _) = memory(&[5.0]);
    let mut array = x.into_array();
    array[0] = 6.0;
    assert_eq!(array, array![6.0]);
}

/// Returns fewer elements each time that it is looked at.
struct Shrinking(AtomicUsize);

impl AsRef<[f64]> for Shrinking {
    fn as_ref(&self) -> &[f64] {
        let length = self.0.fetch_sub(1, Ordering::Relaxed);
        &[1.0; 8][..length]
    }
}

#[test]
#[should_panic(expected = "returned another number of elements")]
fn an_owner_that_shrinks_is_not_believed() {
    let x = Tensor1::from_owner(&[4], Shrinking(4.into()));
    let _ = x.view();
}

type Look = Box<dyn Fn() + Send + Sync>;

/// Runs code each time that it is looked at, unless that code looks at it again.
struct Looking {
    memory: Vec<f64>,
    look: Arc<Mutex<Option<Look>>>,
}

impl AsRef<[f64]> for Looking {
    fn as_ref(&self) -> &[f64] {
        let look = self.look.lock().unwrap().take();
        if let Some(look) = look {
            look();
            *self.look.lock().unwrap() = Some(look);
        }
        &self.memory
    }
}

/// Returns a tensor in memory that runs what is put into the slot.
fn looking(numbers: &[f64]) -> (Tensor1<f64>, Arc<Mutex<Option<Look>>>) {
    let (memory, look) = (numbers.to_vec(), Arc::new(Mutex::new(None)));
    let owner = Looking {
        memory,
        look: Arc::clone(&look),
    };
    (Tensor::from_owner(&[numbers.len()], owner), look)
}

/// Waits for ever, if a lock is held while user code runs: the test then fails.
fn ends(test: impl FnOnce() + Send + 'static) {
    let (done, ended) = mpsc::channel();
    let thread = thread::spawn(move || {
        test();
        let _ = done.send(());
    });
    let ended = ended.recv_timeout(Duration::from_secs(60));
    assert!(
        !matches!(ended, Err(RecvTimeoutError::Timeout)),
        "user code waits for a lock"
    );
    thread.join().unwrap();
}

#[test]
fn no_lock_of_a_node_is_held_while_an_owner_is_asked() {
    ends(|| {
        let (x, look) = looking(&[1.0, 2.0]);
        let x = x.set_requires_grad(true);
        let node = (&x * &x).grad_fn().unwrap();
        let same = node.clone();
        *look.lock().unwrap() = Some(Box::new(move || assert_eq!(same.saved().unwrap().len(), 2)));
        assert_eq!(node.saved().unwrap().len(), 2);
        look.lock().unwrap().take();
    });
}

#[test]
fn no_lock_of_a_gradient_is_held_while_an_owner_is_asked() {
    ends(|| {
        let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
        let looks = Arc::new(AtomicUsize::new(0));
        for _ in 0..2 {
            let (seed, look) = looking(&[3.0, 4.0]);
            let (same, count) = (x.clone(), Arc::clone(&looks));
            *look.lock().unwrap() = Some(Box::new(move || {
                count.fetch_add(1, Ordering::Relaxed);
                let _ = same.grad();
            }));
            Backward::of(&x).seed(&seed).run().unwrap();
            look.lock().unwrap().take();
        }
        assert!(looks.load(Ordering::Relaxed) > 0);
        assert_eq!(x.grad(), Some(array![6.0, 8.0]));
    });
}

#[test]
fn an_owner_that_shrinks_changes_no_gradient() {
    let (w, x) = (
        Tensor::from(array![1.0]).set_requires_grad(true),
        Tensor::from(array![1.0, 1.0, 1.0, 1.0]).set_requires_grad(true),
    );
    let seed = Tensor1::from_owner(&[4], Shrinking(4.into()));
    let pass = catch_unwind(AssertUnwindSafe(|| {
        Backward::of(&w)
            .seed(array![1.0])
            .output(&x)
            .seed(&seed)
            .run()
    }));
    assert!(pass.is_err());
    assert_eq!((w.grad(), x.grad()), (None, None));
}

#[test]
#[should_panic(expected = "from_owner of shape [9223372036854775808, 2]: the owner has 0 elements")]
fn a_shape_without_end_is_refused() {
    let _ = Tensor2::<f64>::from_owner(&[1 << 63, 2], Vec::new());
}

#[test]
#[should_panic(expected = "from_owner of shape [2] as a tensor of rank 2")]
fn an_owner_of_another_rank_is_refused() {
    let _ = Tensor2::<f64>::from_owner(&[2], vec![1.0, 2.0]);
}

#[test]
fn gradients_of_gradients_have_an_order_of_their_own() {
    // x⁴ by x, g, x: 4x³g, 12x²g, 24xg.
    let fourth = |x: &Tensor1<f64>| Square::apply(&Square::apply(x));
    let (run, _) = Recording::of(fourth, vec![array![2.0].into()], &[true]).unwrap();
    let one = || some(array![1.0]);
    let (first, grads) = run.record_gradients(one(), &[true]).unwrap();
    assert_eq!(numbers(grads[0].as_ref()), [32.0]);
    let (second, grads) = first.record_gradients(one(), &[true, false]).unwrap();
    assert_eq!(numbers(grads[0].as_ref()), [48.0]);
    assert!(grads[1].is_none() && !second.requires_grad(1));
    let seeds = vec![one().remove(0), None];
    let grads = second.gradients(seeds, &[true, true, true]).unwrap();
    // By x, by the gradient of the output, by that of the gradient.
    assert_eq!(numbers(grads[0].as_ref()), [48.0]);
    assert_eq!(numbers(grads[1].as_ref()), [48.0]);
    assert_eq!(numbers(grads[2].as_ref()), [48.0]);
}

#[test]
fn a_function_written_on_arrays_says_so_when_its_gradient_is_differentiated() {
    let (run, _) = Recording::of(
        |x: &Tensor1<f64>| SquareOnce::apply(x),
        vec![array![3.0].into()],
        &[true],
    )
    .unwrap();
    let (first, grads) = run.record_gradients(some(array![1.0]), &[true]).unwrap();
    assert_eq!(numbers(grads[0].as_ref()), [6.0]);
    let error = first
        .gradients(some(array![1.0]), &[true, true])
        .unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::OnceDifferentiable);
}

#[test]
fn recordings_are_used_on_other_threads() {
    let sum = |x: &Tensor2<f64>| x.sum_axis(Axis(0));
    let ones = Array2::<f64>::ones((3, 2));
    let (run, _) = Recording::of(sum, vec![ones.clone().into()], &[true]).unwrap();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let grads = run.gradients(some(array![1.0, 2.0]), &[true]).unwrap();
                let expected: Vec<f64> = ones.axis_iter(Axis(0)).flat_map(|_| [1.0, 2.0]).collect();
                assert_eq!(numbers(grads[0].as_ref()), expected);
            });
        }
    });
}

#[test]
fn lists_take_what_is_left_and_outputs_without_gradients_are_zeros() {
    let function = |(x, parts): (&Tensor1<f64>, &[Tensor1<f64>])| {
        let sum: Tensor1<f64> = parts.iter().cloned().sum();
        (x * &sum, sum)
    };
    let inputs = || {
        (1..=3)
            .map(|i| AnyTensor::from(array![f64::from(i)]))
            .collect::<Vec<_>>()
    };
    let (run, outputs) = Recording::of(function, inputs(), &[true; 3]).unwrap();
    assert_eq!(
        (numbers(outputs.first()), numbers(outputs.last())),
        (vec![5.0], vec![5.0])
    );
    let seeds = vec![Some(array![1.0].into()), None];
    let grads = run.gradients(seeds, &[true; 3]).unwrap();
    let grads: Vec<_> = grads.iter().map(|grad| numbers(grad.as_ref())).collect();
    assert_eq!(grads, [[5.0], [1.0], [1.0]]);
}

#[test]
fn mistakes_have_their_place() {
    let function = |(x, y): (&Tensor1<f64>, &Tensor0<f32>)| (x * 2.0, y * 2.0);
    let of = |inputs: Vec<AnyTensor>| {
        let requires_grad = vec![true; inputs.len()];
        let run = Recording::of(function, inputs, &requires_grad);
        run.map(|(run, _)| run)
    };
    let (x, y) = (
        || AnyTensor::from(array![1.0]),
        || AnyTensor::from(arr0(1.0_f32)),
    );
    let message = |inputs| of(inputs).unwrap_err().to_string();
    assert_eq!(
        message(vec![x()]),
        "the function takes 2 tensors, but 1 was given"
    );
    assert_eq!(
        message(vec![x(), y(), y()]),
        "the function takes 2 tensors, but 3 were given"
    );
    assert_eq!(
        message(vec![y(), x()]),
        "input 0 is a tensor of f32 of rank 0; the function takes one of f64 of rank 1"
    );
    let run = of(vec![x(), y()]).unwrap();
    let error = run
        .gradients(vec![None, Some(arr0(1.0).into())], &[true, true])
        .unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::ElementType { .. }));
    let error = run
        .gradients(vec![Some(array![1.0, 1.0].into()), None], &[true, true])
        .unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::SeedShape { .. }));
}

#[test]
fn only_the_needed_gradients_are_returned() {
    let product = |(x, y): (&Tensor1<f64>, &Tensor1<f64>)| x * y;
    let inputs = vec![array![2.0].into(), array![3.0].into()];
    let (run, _) = Recording::of(product, inputs, &[true, true]).unwrap();
    let grads = run.gradients(some(array![1.0]), &[false, true]).unwrap();
    assert!(grads[0].is_none());
    assert_eq!(numbers(grads[1].as_ref()), [2.0]);
}

#[test]
fn a_panic_without_a_text_has_a_message() {
    assert_eq!(panic_text(&5), "a panic without a text");
}

#[test]
fn directions_are_nested() {
    let cube = |inputs: &[AnyTensor]| {
        let x = inputs[0].to_tensor::<f64>().expect("of f64");
        Ok::<_, Error>(vec![(&x * &x * &x).into()])
    };
    let x = || AnyTensor::from(array![1.0, 2.0]);
    let ones = || Some(AnyTensor::from(array![1.0, 1.0]));
    // x³ along 1, along 1: 6x.
    let (values, tangents) = along(vec![x()], vec![ones()], |inputs| {
        let (mut values, tangents) = along(inputs.to_vec(), vec![ones()], cube)?;
        values.extend(tangents);
        Ok::<_, Error>(values)
    })
    .unwrap();
    let found: Vec<_> = values
        .iter()
        .chain(&tangents)
        .map(|found| numbers(Some(found)))
        .collect();
    assert_eq!(found, [[1.0, 8.0], [3.0, 12.0], [3.0, 12.0], [6.0, 12.0]]);
}

#[test]
fn a_function_without_a_rule_is_differentiated_by_two_passes() {
    let square = |inputs: &[AnyTensor]| {
        let x = inputs[0].to_tensor::<f64>().expect("of f64");
        Ok::<_, Error>(vec![Square::apply(&x).into()])
    };
    let x = || AnyTensor::from(array![1.0, 2.0]);
    let (_, tangents) = along(vec![x()], some(array![1.0, 3.0]), square).unwrap();
    assert_eq!(numbers(tangents.first()), [2.0, 12.0]);
    // An input without a tangent, and one that the output does not depend on.
    let (_, tangents) = along(vec![x(), x()], vec![None, Some(x())], square).unwrap();
    assert_eq!(numbers(tangents.first()), [0.0, 0.0]);

    let once = |inputs: &[AnyTensor]| {
        let x = inputs[0].to_tensor::<f64>().expect("of f64");
        let x: Tensor1<f64> = x.into_dimensionality().expect("one axis");
        Ok::<_, Error>(vec![SquareOnce::apply(&x).into()])
    };
    let error = along(vec![x()], some(array![1.0, 3.0]), once).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::NeitherMode { .. }),
        "{error}"
    );
}
