//! The forms in which a function can be written.

use std::mem::discriminant;

use proc_macro2::{Group, TokenStream};
use syn::{Attribute, BinOp, Expr, Generics, Ident, Item, ItemFn, Signature, Type, Visibility};

use crate::constants::Constants;
use crate::lists::Lists as _;
use crate::show::show;

/// The form in which a function is written, with what only that form has.
pub(crate) enum FunctionKind {
    /// An `impl` block.
    Block,
    /// A free function, with an expression for each gradient.
    Short(Box<FreeFunction>),
    /// An elementwise function: a formula, whose derivatives the runtime computes.
    Elementwise(Box<FreeFunction>, Box<Elementwise>),
}

/// A free function under the attribute, for which a block was made.
pub(crate) struct FreeFunction {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) ident: Ident,
    pub(crate) generics: Generics,
    /// The signature of the function, as that of the block's forward.
    pub(crate) kernel: Signature,
    /// The body of the function, in its braces.
    pub(crate) body: Group,
    /// Whether its gradients are written on tensors.
    pub(crate) higher_order: bool,
    /// Whether all arguments of the attribute could be read.
    pub(crate) complete: bool,
}

/// A function of one element of each tensor, which becomes a function of the tensors.
pub(crate) struct Elementwise {
    /// Its signature, as it is written.
    pub(crate) formula: Signature,
    /// The type parameter of its numbers.
    pub(crate) number: Ident,
    /// The parameters that are numbers or rows of numbers.
    pub(crate) inputs: Vec<Ident>,
    /// For each of `inputs`, its rows, if it has any.
    pub(crate) rows: Vec<Option<Row>>,
    /// For each of `inputs`, whether it is differentiable.
    pub(crate) differentiable: Vec<bool>,
    /// The other parameters, with their types.
    pub(crate) values: Vec<(Ident, Type)>,
    /// The values that have an entry for each element, with its type.
    pub(crate) entries: Vec<(Ident, Type)>,
    /// For each output, its rows, if it has any. The states of a scan that are slices are written, and not returned.
    pub(crate) outputs: Vec<Option<Row>>,
    /// The names of the outputs and of their gradients.
    pub(crate) returned: Vec<[Ident; 2]>,
    /// What is done with rows and columns, if it is a function of pairs.
    pub(crate) pairs: Option<Pairs>,
    /// The number of times that it can be differentiated.
    pub(crate) order: usize,
    /// The derivatives that are given.
    pub(crate) replaced: Vec<Replaced>,
    /// What it is in each step, if it is a scan.
    pub(crate) scan: Option<Scan>,
    /// The constants that it names.
    pub(crate) constants: Constants,
    /// The functions of numbers that it calls, as far as they are beside it.
    pub(crate) functions: Vec<Beside>,
    pub(crate) style: Style,
    /// Whether it has angles, and is NaN where one of them is.
    pub(crate) has_angles: bool,
    /// Its derivatives in reverse, if it has them.
    pub(crate) reversed: Option<Reversed>,
}

/// A function beside a formula.
#[derive(Clone)]
pub(crate) struct Beside {
    /// How it is called: `cross`, or `Cdf::formula`.
    pub(crate) path: String,
    pub(crate) function: ItemFn,
}

/// The operations of a formula, which are differentiated in reverse: see `lower::reversed`.
pub(crate) struct Reversed {
    /// The constants and imports of its body.
    pub(crate) items: Vec<Item>,
    /// The count of its inputs, as numbers: they are numbered before the results of the operations.
    pub(crate) inputs: usize,
    pub(crate) operations: Vec<Operation>,
    /// For each operation, the branch that it is in, if it is in one.
    pub(crate) branches: Vec<Option<Branch>>,
    /// The numbers that it returns.
    pub(crate) outputs: Vec<usize>,
    /// Whether loops take the outputs from it, too: of the body, the compiler may make no vector code.
    pub(crate) has_outputs: bool,
}

impl Reversed {
    /// Returns whether there are no branches, all of which it computes.
    pub(crate) fn is_straight(&self) -> bool {
        self.branches.iter().all(Option::is_none)
    }
}

/// A branch of an `if`: all branches are computed, and those that are not taken pass nothing on.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Branch {
    /// The condition under which it is taken, and all that are around it.
    pub(crate) condition: usize,
    /// The number of branches around it, and itself.
    pub(crate) depth: usize,
}

/// An operation of a formula.
pub(crate) enum Operation {
    /// An `f64` becomes a number.
    Constant(TokenStream),
    Negated(usize),
    Operator(BinOp, [Operand; 2]),
    /// A method of a number.
    Method(Ident, Vec<Operand>),
    /// What an `if` returns, whose two branches are taken under these conditions.
    Chosen([usize; 2], [Operand; 2]),
    Condition(Condition),
}

impl Operation {
    /// Returns whether both are the same operation of the same numbers. What has no derivative is not compared.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let are_same = |x: &[Operand], y: &[Operand]| {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| x.is_same(y))
        };
        match (self, other) {
            (Self::Negated(x), Self::Negated(y)) => x == y,
            (Self::Operator(op, x), Self::Operator(other, y)) => {
                discriminant(op) == discriminant(other) && are_same(x, y)
            }
            (Self::Method(name, x), Self::Method(other, y)) => name == other && are_same(x, y),
            _ => false,
        }
    }
}

/// An operation that has a `bool`.
pub(crate) enum Condition {
    Compared(BinOp, [Operand; 2]),
    /// One without numbers.
    Plain(TokenStream),
    Not(usize),
    /// `&` or `|`.
    Both(BinOp, [usize; 2]),
}

/// What an operation is done with.
pub(crate) enum Operand {
    Number(usize),
    /// What has no derivative.
    Plain(TokenStream),
}

impl Operand {
    fn is_same(&self, other: &Self) -> bool {
        matches!((self, other), (Self::Number(x), Self::Number(y)) if x == y)
    }
}

/// How a formula is written: see `lower::written_out`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// As operators and methods of numbers: the compiler makes vector code of it and of its derivatives.
    WrittenOut,
    /// With loops, but without rows.
    Loops,
    /// With calls of functions, or loops over rows.
    Calls,
}

/// Rows of numbers, by their length.
#[derive(Clone)]
pub(crate) enum Row {
    /// That of the type, `[T; N]`.
    Of(Expr),
    /// That of the tensor: `&[T]`, or `&mut [T]` for a state.
    Slice,
}

impl Row {
    /// Returns the length, if the type has it.
    pub(crate) fn length(&self) -> Option<&Expr> {
        match self {
            Self::Of(length) => Some(length),
            Self::Slice => None,
        }
    }

    /// Returns whether some are slices.
    pub(crate) fn have_slices(rows: &[Option<Self>]) -> bool {
        rows.iter().any(|row| matches!(row, Some(Self::Slice)))
    }
}

/// `scan`, as it is written.
pub(crate) struct Scanned {
    pub(crate) keyword: Ident,
    /// Whether it runs from the last step.
    pub(crate) is_reversed: bool,
}

/// A formula that runs once for each step.
pub(crate) struct Scan {
    /// Whether it runs from the last step.
    pub(crate) is_reversed: bool,
    /// For each of the inputs.
    pub(crate) roles: Vec<Role>,
}

/// The meaning of an input of a scan.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// It is passed from step to step.
    State,
    /// It has an axis of steps.
    Step,
    /// It is the same in each step.
    Shared,
}

/// `grad(x) = …` of an elementwise function.
pub(crate) struct Replaced {
    /// The places of the inputs whose derivatives it gives.
    pub(crate) inputs: Vec<usize>,
    pub(crate) expression: Expr,
    /// The names that it uses.
    pub(crate) names: Vec<Ident>,
    /// Whether it computes with `f64`, and is not to be differentiated.
    pub(crate) once: bool,
}

/// A backward function that is written as one expression.
pub(crate) struct Written {
    pub(crate) sig: Signature,
    pub(crate) expression: Expr,
}

/// What a function of pairs does with rows and columns.
pub(crate) struct Pairs {
    pub(crate) reduce: Reduce,
    /// For each input, what it has an item for.
    pub(crate) sides: Vec<Side>,
}

/// How the results of all columns become one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reduce {
    Sum,
    Max,
    Min,
    LogSumExp,
}

/// What a tensor of a function of pairs has an item for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Row,
    Column,
    /// One for all pairs.
    All,
}

impl Elementwise {
    /// Returns the type that a value has in the formula, which gets one entry of a list that has one for each element.
    pub(crate) fn type_of(&self, name: &Ident) -> Option<&Type> {
        let is_it = |(value, _): &&(Ident, Type)| value == name;
        let entry = self.entries.iter().find(is_it);
        entry
            .or_else(|| self.values.iter().find(is_it))
            .map(|(_, ty)| ty)
    }

    /// Returns the length of rows, if that is known.
    pub(crate) fn length_of(&self, row: &Row) -> Option<u64> {
        self.constants.whole(row.length()?)
    }

    /// Returns the type parameter that stands for the rank of the tensors with the fewest axes.
    pub(crate) fn rank(&self) -> Ident {
        let rank = if self.number == "D" { "Dim" } else { "D" };
        Ident::new(rank, self.number.span())
    }

    /// Returns how many axes an input has more than numbers of no steps: one for rows, one for steps.
    pub(crate) fn axes_of_input(&self, input: usize) -> usize {
        let has_steps = self.scan.as_ref().map(|scan| scan.roles[input]) == Some(Role::Step);
        let pairs = self.pairs.as_ref();
        let has_side = pairs.is_some_and(|pairs| pairs.sides[input] != Side::All);
        usize::from(self.rows[input].is_some()) + usize::from(has_steps || has_side)
    }

    /// Returns how many axes an output has more than numbers of no steps.
    pub(crate) fn axes_of_output(&self, output: usize) -> usize {
        let has_steps = self.scan.is_some() && output >= self.count(Role::State);
        let has_rows = self.pairs.is_some();
        usize::from(self.outputs[output].is_some()) + usize::from(has_steps || has_rows)
    }

    /// Returns the number of inputs of a scan with a role.
    pub(crate) fn count(&self, role: Role) -> usize {
        let roles = self.scan.iter().flat_map(|scan| &scan.roles);
        roles.filter(|its| **its == role).count()
    }

    /// Returns the rank of a tensor with so many axes more than numbers of no steps have: [`rank`](Self::rank), or others of
    /// that.
    pub(crate) fn rank_of(&self, axes: usize) -> (Ident, &'static [&'static str]) {
        let inputs = 0..self.inputs.len();
        let fewest = inputs.map(|input| self.axes_of_input(input)).min();
        let others: &[_] = match axes.checked_sub(fewest.unwrap_or(0)) {
            Some(0) => &[],
            Some(1) => &["Larger"],
            Some(_) => &["Larger", "Larger"],
            None => &["Smaller"],
        };
        (self.rank(), others)
    }

    /// Returns whether an input or an output has rows.
    pub(crate) fn has_rows(&self) -> bool {
        self.rows.iter().chain(&self.outputs).any(Option::is_some)
    }

    /// Returns whether rows have the length of their tensors.
    pub(crate) fn has_slices(&self) -> bool {
        Row::have_slices(&self.rows)
    }

    /// Returns the rows of an input, of an output or of its gradient, if it has any.
    pub(crate) fn row(&self, name: &Ident) -> Option<&Row> {
        let input = self.inputs.iter().position(|input| input == name);
        let output = self.returned.iter().position(|names| names.contains(name));
        match (input, output) {
            (Some(input), _) => self.rows[input].as_ref(),
            (None, output) => self.outputs[output?].as_ref(),
        }
    }

    /// Returns the states of a scan that are slices, which a step writes.
    pub(crate) fn written_states(&self) -> impl Iterator<Item = &Ident> {
        let roles = self.scan.iter().flat_map(|scan| &scan.roles);
        let inputs = self.inputs.iter().zip(&self.rows).zip(roles);
        let written = inputs
            .filter(|((_, row), role)| matches!((row, role), (Some(Row::Slice), Role::State)));
        written.map(|((name, _), _)| name).listed().into_iter()
    }

    /// Returns whether an input or an output has the axis of the steps of a scan.
    pub(crate) fn has_steps(&self, name: &Ident) -> bool {
        let Some(scan) = &self.scan else {
            return false;
        };
        let input = self.inputs.iter().position(|input| input == name);
        let output = self.returned.iter().position(|[output, _]| output == name);
        input.is_some_and(|input| scan.roles[input] == Role::Step)
            || output.is_some_and(|output| output >= self.count(Role::State))
    }

    /// Returns the state of a scan of which an output is the last one.
    pub(crate) fn state_of(&self, name: &Ident) -> Option<&Ident> {
        let output = self
            .returned
            .iter()
            .position(|[output, _]| output == name)?;
        // The states are the first inputs.
        (output < self.count(Role::State)).then(|| &self.inputs[output])
    }

    /// Returns the shape of an input or of an output of a function of pairs, by the names of its axes.
    pub(crate) fn shape_of_pairs(&self, name: &Ident) -> Option<String> {
        let pairs = self.pairs.as_ref()?;
        let side = match self.inputs.iter().position(|input| input == name) {
            Some(input) => pairs.sides[input],
            None => Side::Row,
        };
        // An argument may have the name.
        let free = |axis: &str| {
            let values = self.values.iter().map(|(value, _)| value);
            let is_taken = self.inputs.iter().chain(values).any(|other| other == axis);
            format!("{axis}{}", if is_taken { "_" } else { "" })
        };
        let side = match side {
            Side::Row => Some(free("rows")),
            Side::Column => Some(free("columns")),
            Side::All => None,
        };
        let row = self.row(name).and_then(Row::length);
        let row = row.map(|length| match length {
            Expr::Lit(length) => show(length),
            // Only the compiler knows the number.
            _ => "_".to_owned(),
        });
        let lengths: Vec<String> = side.into_iter().chain(row).listed();
        Some(format!("[{}]", lengths.join(", ")))
    }

    /// Returns the type of a tensor on arrays, as it is shown: `ArrayView<'_, ` is completed.
    pub(crate) fn shown(&self, array: &str, axes: usize) -> String {
        let (rank, others) = self.rank_of(axes);
        let rank = std::iter::once(rank.to_string()).chain(others.iter().map(ToString::to_string));
        let rank: Vec<String> = rank.listed();
        format!("{array}{}, {}>", self.number, rank.join("::"))
    }
}

impl FunctionKind {
    /// Returns the free function that is written in place of a block.
    pub(crate) fn free(&self) -> Option<&FreeFunction> {
        match self {
            Self::Block => None,
            Self::Short(free) | Self::Elementwise(free, _) => Some(free),
        }
    }

    /// Returns the formula of an elementwise function.
    pub(crate) fn elementwise(&self) -> Option<&Elementwise> {
        match self {
            Self::Elementwise(_, elementwise) => Some(elementwise),
            Self::Block | Self::Short(_) => None,
        }
    }
}
