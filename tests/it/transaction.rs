//! A pass that fails changes nothing, wherever it fails: in random graphs with a switch behind every value.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use pullback::foreign::panic_text;
use pullback::ndarray::{ArrayD, arr0};
use pullback::prelude::*;
use pullback::{Error, ErrorKind};

use crate::graphs::{Cuts, Dyn, Kind, Program, arbitrary, try_programs};

/// The identity. Each use has a number, by which its backward is made to fail or to wait.
struct Switch;

/// The place where a pass fails: the switch's backward, or a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Backward,
    TensorHook,
    Prehook,
    NodeHook,
    /// After the gradient of a leaf, which has a number too, was accumulated.
    Leaf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Shape(Place),
    Panic(Place),
}

/// All that can go wrong at a switch.
const FAULTS: [Fault; 8] = [
    Fault::Shape(Place::Backward),
    Fault::Panic(Place::Backward),
    Fault::Shape(Place::TensorHook),
    Fault::Panic(Place::TensorHook),
    Fault::Shape(Place::Prehook),
    Fault::Panic(Place::Prehook),
    Fault::Shape(Place::NodeHook),
    Fault::Panic(Place::NodeHook),
];

/// Returns whether the error is the wrong shape of a switch's gradient at this place.
fn is_shape_of(error: &Error, place: Place) -> bool {
    let is_by_hook = match error.kind() {
        ErrorKind::GradientShape { .. } => false,
        ErrorKind::HookShape { .. } => true,
        _ => return false,
    };
    error.function() == Some("Switch") && is_by_hook == (place != Place::Backward)
}

/// Returns a gradient of a wrong shape, or panics, if that is the fault of this place.
fn fault(number: usize, place: Place, grad: &Dyn) -> Option<Dyn> {
    match FAULT.get() {
        Some((at, Fault::Shape(of))) if at == number && of == place => {
            let mut shape = grad.shape().to_vec();
            shape.push(2);
            Some(Tensor::from(ArrayD::zeros(shape)))
        }
        Some((at, Fault::Panic(of))) if at == number && of == place => {
            resume_unwind(Box::new("a fault"))
        }
        _ => None,
    }
}

/// Registers hooks of every kind, which fail if the fault is theirs.
fn hook(value: &Dyn, number: usize) {
    let Some(node) = value.grad_fn() else {
        return;
    };
    value.register_hook(move |grad| fault(number, Place::TensorHook, grad));
    node.register_prehook(move |grads: &[Option<Dyn>]| {
        let wrong = fault(number, Place::Prehook, grads[0].as_ref()?)?;
        Some(vec![Some(wrong)])
    });
    node.register_hook(move |inputs: &[Option<Dyn>], _: &[Option<Dyn>]| {
        let wrong = fault(number, Place::NodeHook, inputs[0].as_ref()?)?;
        Some(vec![Some(wrong)])
    });
}

/// Stops a pass at the switch of this number: the switch sends a message, and waits for one.
struct Stop {
    number: usize,
    here: Sender<()>,
    go_on: Receiver<()>,
}

thread_local! {
    static FAULT: Cell<Option<(usize, Fault)>> = const { Cell::new(None) };
    static STOP: RefCell<Option<Stop>> = const { RefCell::new(None) };
    /// The switches that passes have come through.
    static REACHED: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
    /// The leaves that passes have accumulated in.
    static LEAVES: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
    static SWITCHES: Cell<usize> = const { Cell::new(0) };
}

#[custom_function]
impl Switch {
    #[forward]
    fn forward(x: &TensorD<f64>, number: usize) -> TensorD<f64> {
        let _ = number;
        x.clone()
    }

    #[backward(x)]
    fn backward(grad_output: &TensorD<f64>, number: usize) -> TensorD<f64> {
        REACHED.with_borrow_mut(|reached| {
            if !reached.contains(&number) {
                reached.push(number);
            }
        });
        let stop = STOP.with_borrow_mut(|stop| stop.take_if(|stop| stop.number == number));
        if let Some(stop) = stop {
            // The thread at the other end may have failed.
            let _ = stop.here.send(());
            let _ = stop.go_on.recv();
        }
        fault(number, Place::Backward, grad_output).unwrap_or_else(|| grad_output.clone())
    }
}

/// The call that computes gradients.
#[derive(Clone, Copy, Debug)]
enum Way {
    Backward,
    BackwardCreatingGraph,
    Grad,
    GradCreatingGraph,
    /// The gradient of the gradient: the pass that fails goes through what the first one recorded.
    GradOfGrad,
}

/// A program's graph, with gradients accumulated in some of its leaves.
struct Graph {
    leaves: Vec<Dyn>,
    loss: Tensor0<f64>,
}

impl Graph {
    fn of(program: &Program, way: Way) -> Self {
        SWITCHES.set(0);
        let through = |value: Dyn| {
            let number = SWITCHES.get();
            SWITCHES.set(number + 1);
            let value = Switch::apply(&value, number);
            hook(&value, number);
            value
        };
        let leaves = program.leaves();
        for (number, leaf) in leaves
            .iter()
            .enumerate()
            .filter(|(_, leaf)| leaf.requires_grad())
        {
            leaf.register_post_accumulate_grad_hook(move |leaf| {
                LEAVES.with_borrow_mut(|reached| reached.push(number));
                fault(number, Place::Leaf, leaf);
            });
        }
        for leaf in leaves.iter().filter(|leaf| leaf.requires_grad()).step_by(2) {
            leaf.set_grad(arbitrary(leaf.shape(), 0.5));
        }
        let mut loss = program.loss_through(through, &leaves, &mut Cuts::default());
        if let Way::GradOfGrad = way
            && loss.requires_grad()
        {
            let required: Vec<&Dyn> = leaves.iter().filter(|leaf| leaf.requires_grad()).collect();
            let gradients = Grad::of(&loss)
                .create_graph(true)
                .allow_unused(true)
                .run(&required[..]);
            loss = gradients
                .expect("no fault")
                .iter()
                .fold(Tensor::from(arr0(0.0)), |sum, gradient| {
                    sum + (gradient * gradient).sum()
                });
        }
        Self { leaves, loss }
    }

    fn accumulated(&self) -> Vec<Option<ArrayD<f64>>> {
        self.leaves.iter().map(Tensor::grad).collect()
    }

    /// The gradients that a pass gives, and what is accumulated then.
    fn pass(&self, way: Way, retain_graph: bool) -> Result<Gradients, Error> {
        let create_graph = matches!(way, Way::BackwardCreatingGraph | Way::GradCreatingGraph);
        if let Way::Backward | Way::BackwardCreatingGraph = way {
            Backward::of(&self.loss)
                .retain_graph(retain_graph)
                .create_graph(create_graph)
                .run()?;
            return Ok((Vec::new(), self.accumulated()));
        }
        let required: Vec<&Dyn> = self
            .leaves
            .iter()
            .filter(|leaf| leaf.requires_grad())
            .collect();
        let pass = Grad::of(&self.loss)
            .create_graph(create_graph)
            .retain_graph(retain_graph)
            .allow_unused(true);
        let found = pass.run_unused(&required[..])?;
        Ok((
            found
                .iter()
                .map(|gradient| Some(gradient.as_ref()?.to_array()))
                .collect(),
            self.accumulated(),
        ))
    }

    /// Runs a pass that has to fail at a switch, and to leave everything as it was.
    fn fail(&self, way: Way, number: usize, fault: Fault) -> Result<(), String> {
        let before = self.accumulated();
        FAULT.set(Some((number, fault)));
        let result = catch_unwind(AssertUnwindSafe(|| self.pass(way, false)));
        FAULT.set(None);
        match (fault, result) {
            (Fault::Panic(_), Err(panic)) if panic_text(&*panic).ends_with("a fault") => {}
            (Fault::Shape(place), Ok(Err(error))) if is_shape_of(&error, place) => {}
            (_, result) => {
                return Err(format!("{way:?}, {fault:?} at switch {number}: {result:?}"));
            }
        }
        if self.accumulated() == before {
            Ok(())
        } else {
            Err(format!(
                "{way:?}, {fault:?} at switch {number}: {:?} was {before:?}",
                self.accumulated()
            ))
        }
    }

    /// Drops accumulated gradients: those with a history lead to the leaf that holds them.
    fn forget(&self) {
        self.leaves.iter().for_each(Tensor::zero_grad);
    }
}

type Gradients = (Vec<Option<ArrayD<f64>>>, Vec<Option<ArrayD<f64>>>);

/// Runs a pass without a fault through a new graph. Returns its gradients, and the switches that it ran.
fn clean(program: &Program, way: Way) -> Option<(Gradients, Vec<usize>)> {
    let graph = Graph::of(program, way);
    graph.loss.requires_grad().then(|| {
        REACHED.take();
        let gradients = graph.pass(way, false).expect("no fault");
        graph.forget();
        (gradients, REACHED.take())
    })
}

fn same(what: &str, found: Gradients, expected: &Gradients) -> Result<(), String> {
    if found == *expected {
        return Ok(());
    }
    Err(format!("{what}: {found:?} in place of {expected:?}"))
}

/// Every fault at every switch, one after the other in one graph, and then none.
fn every_fault(program: &Program, way: Way) -> Result<(), String> {
    LEAVES.take();
    let Some((expected, reached)) = clean(program, way) else {
        return Ok(());
    };
    let leaves = LEAVES.take();
    let graph = Graph::of(program, way);
    for number in reached {
        for fault in FAULTS {
            graph.fail(way, number, fault)?;
        }
    }
    for number in leaves {
        graph.fail(way, number, Fault::Panic(Place::Leaf))?;
    }
    let found = graph
        .pass(way, false)
        .map_err(|error| format!("{way:?} without a fault: {error}"))?;
    graph.forget();
    same("without a fault", found, &expected)
}

#[test]
fn a_pass_that_fails_anywhere_changes_nothing() {
    try_programs(
        150,
        |_| true,
        |program| {
            use Way::*;
            [Backward, BackwardCreatingGraph, Grad, GradCreatingGraph]
                .into_iter()
                .try_for_each(|way| every_fault(program, way))
        },
    );
}

#[test]
fn a_pass_through_gradients_that_fails_anywhere_changes_nothing() {
    try_programs(150, Kind::is_differentiable_again, |program| {
        every_fault(program, Way::GradOfGrad)
    });
}

#[test]
fn a_pass_that_fails_leaves_another_thread_that_is_in_the_same_nodes_alone() {
    try_programs(
        60,
        |_| true,
        |program| {
            let Some((expected, reached)) = clean(program, Way::Grad) else {
                return Ok(());
            };
            let graph = Graph::of(program, Way::Grad);
            for &number in &reached {
                let (here, is_there) = channel();
                let (tell, go_on) = channel();
                let other = thread::scope(|scope| {
                    let other = scope.spawn(|| {
                        STOP.set(Some(Stop {
                            number,
                            here,
                            go_on,
                        }));
                        graph
                            .pass(Way::Grad, true)
                            .map_err(|error| error.to_string())
                    });
                    is_there
                        .recv()
                        .map_err(|_| format!("the other pass never came to switch {number}"))?;
                    for &at in &reached {
                        for fault in FAULTS {
                            graph.fail(Way::Grad, at, fault)?;
                        }
                    }
                    let found = graph
                        .pass(Way::Grad, true)
                        .map_err(|error| error.to_string())?;
                    same("beside another pass", found, &expected)?;
                    drop(tell);
                    other.join().expect("no panic")
                })?;
                same("the other pass", other, &expected)?;
            }
            let found = graph
                .pass(Way::Grad, false)
                .map_err(|error| error.to_string())?;
            same("without a fault", found, &expected)
        },
    );
}

#[test]
fn a_pass_that_fails_takes_back_its_own_gradient_alone() {
    // Four passes, each inside of the hook of the one before, on threads of their own; all ways to fail.
    const FACTORS: [f64; 4] = [1.0, 10.0, 100.0, 1000.0];
    for failing in 0..16_u32 {
        let x = Tensor::from(arr0(0.0)).set_requires_grad(true);
        let next = std::sync::atomic::AtomicUsize::new(0);
        x.register_post_accumulate_grad_hook(move |x| {
            let number = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if let Some(factor) = FACTORS.get(number + 1) {
                thread::scope(|scope| {
                    let inner = scope.spawn(|| (x * *factor).backward());
                    assert_eq!(inner.join().is_err(), failing & (2 << number) != 0);
                });
            }
            assert!(failing & (1 << number) == 0, "pass {number} fails");
        });
        let failed = catch_unwind(AssertUnwindSafe(|| (&x * FACTORS[0]).backward()));
        assert_eq!(failed.is_err(), failing & 1 != 0);
        let succeeded = (0..4).filter(|pass| failing & (1 << pass) == 0);
        let expected: f64 = succeeded.map(|pass| FACTORS[pass]).sum();
        assert_eq!(
            x.grad().map_or(0.0, |grad| grad.sum()),
            expected,
            "{failing:b}"
        );
    }
}
