//! Names for what a definition has, awkward ones among them: words that generated code could use too, raw
//! identifiers, names of things of the library.

use super::random::Random;

const NAMES: &[&str] = &[
    "x",
    "y",
    "z",
    "w",
    "u",
    "v",
    "a",
    "b",
    "c",
    "t",
    "p",
    "f",
    "input",
    "weight",
    "bias",
    "gain",
    "node",
    "nodes",
    "grad",
    "context",
    "context2",
    "saved",
    "state",
    "edges",
    "edge",
    "needs",
    "call",
    "primal",
    "tangent",
    "values",
    "list",
    "inputs",
    "outputs",
    "in_place",
    "input_0",
    "input_1",
    "tensor",
    "array",
    "shape",
    "backward",
    "jvp",
    "apply",
    "function",
    "saves",
    "name",
    "given",
    "needs_grad",
    "needs_input",
    "result",
    "error",
    "d",
    "n",
    "i",
    "self_",
    "mask",
    "mean",
    "rstd",
    "x_1",
    "x1",
    "_x",
    "__x",
    "r#type",
    "r#in",
    "r#fn",
    "r#loop",
    "r#match",
    "r#async",
    "café",
    "λ",
    "vec",
    "option",
    "some",
    "none",
    "core",
    "std",
    "pullback",
    "from",
    "into",
    "clone",
    "higher_order",
    "gradcheck",
    "plan",
    "owner",
    "kernel",
    "ndarray",
];

const TYPES: &[&str] = &[
    "Linear", "Norm", "Scale", "Node", "Edge", "Context", "State", "Saved", "Inputs", "Outputs",
    "Apply", "Forward", "Backward", "Hook", "Item", "ABC", "X", "Log1P", "Add", "Sum",
];

/// Names for the short form.
const FUNCTIONS: &[&str] = &[
    "linear",
    "norm",
    "scale",
    "node",
    "edge",
    "state",
    "saved",
    "apply",
    "forward",
    "backward",
    "log_1p",
    "add",
    "r#move",
    "f",
    "t",
    "d",
    "n",
    "two_words_and_more",
    "x",
];

/// The names that are left, so that none is used twice.
pub(crate) struct Names(Vec<&'static str>);

impl Names {
    pub(crate) fn new(random: &mut Random) -> Self {
        let mut names = NAMES.to_vec();
        random.shuffle(&mut names);
        Self(names)
    }

    pub(crate) fn next(&mut self) -> String {
        self.0
            .pop()
            .expect("more names than a definition has")
            .to_owned()
    }
}

pub(crate) fn of_type(random: &mut Random) -> String {
    random.pick(TYPES).to_owned()
}

pub(crate) fn of_function(random: &mut Random) -> String {
    random.pick(FUNCTIONS).to_owned()
}
