//! Lengths of axes in place of shapes: `gradcheck(n = 3, i = 4)` where `shapes(…)` names them.

use proc_macro2::Span;
use syn::{Expr, ExprArray, ExprLit, Ident, Lit, LitInt, Stmt, Type, parse_quote};

use super::super::expressions::{lengths, peel};
use super::Reader;
use crate::lists::Lists as _;
use crate::model::{Declared, Forward, Length, Sample};
use crate::types::{Kind, Rank, is_primitive, whole};

/// The lengths that are given, or follow from shapes that are.
pub(super) struct Lengths {
    /// For each axis: its length, and the name of what gives it.
    of_axes: Vec<Option<(Expr, String)>>,
    /// The axes that are given by themselves.
    given: Vec<bool>,
}

impl Lengths {
    pub(super) fn of(forward: &Forward) -> Self {
        let count = forward.shapes.axes.len();
        Self {
            of_axes: (0..count).map(|_| None).listed(),
            given: vec![false; count],
        }
    }

    /// Returns a small length that no axis has, which it then has.
    fn fresh(&self, taken: &mut Vec<u64>) -> Expr {
        let known = self.of_axes.iter().flatten();
        taken.extend(known.filter_map(|(length, _)| whole(peel(length))));
        let length = (2..=u64::MAX).find(|length| !taken.contains(length));
        let length = length.unwrap_or(2);
        taken.push(length);
        number(length)
    }
}

impl Reader<'_> {
    /// Reads the length of an axis.
    ///
    /// ```text
    /// #[custom_function(shapes(x = [n], output = [n]), gradcheck(n = 3, n = 4))]
    /// //                                                                ^ `n` is given twice
    /// #[custom_function(shapes(x = [n], output = [n]), gradcheck(n = [3]))]
    /// //                                                             ^^^ `n` is an axis, and this is not a length
    /// ```
    pub(super) fn length(&mut self, axis: usize, name: &Ident, value: &Expr) {
        self.is_given_once(name, self.lengths.given[axis]);
        self.lengths.given[axis] = true;
        let is_number = match peel(value) {
            Expr::Lit(ExprLit { lit, .. }) => matches!(lit, Lit::Int(_)),
            Expr::Unary(_) | Expr::Array(_) | Expr::Tuple(_) | Expr::Range(_) => false,
            _ => true,
        };
        if !is_number {
            let message = format!("`{name}` is an axis, and this is not a length");
            let help = format!("write a whole number: `{name} = 3`");
            self.diagnostics.error_with_help(value, &message, &help);
            return;
        }
        self.agrees(axis, value, format!("`{name} = …`"));
    }

    /// Lengths and shapes that are given agree.
    ///
    /// ```text
    /// #[custom_function(shapes(x = [n], output = [n]), gradcheck(n = 3, x = [4]))]
    /// //                                                                     ^ the axis `n` has length 3 in `n = …`
    /// ```
    fn agrees(&mut self, axis: usize, length: &Expr, from: String) {
        let name = &self.forward.shapes.axes[axis].name;
        let known = &mut self.lengths.of_axes[axis];
        let Some((earlier, place)) = known else {
            *known = Some((length.clone(), from));
            return;
        };
        if let (Some(first), Some(second)) = (whole(peel(earlier)), whole(peel(length)))
            && first != second
        {
            let message =
                format!("the axis `{name}` has length {first} in {place}, but {second} here");
            let help = "give the lengths of axes alone, or shapes that agree";
            self.diagnostics.error_with_help(length, &message, help);
        }
    }

    /// Compares the shape that is given for an input with the lengths that are known.
    pub(super) fn lengths_agree(&mut self, input: usize, value: &Expr) {
        let Some(declared) = self.forward.shapes.of_input(input) else {
            return;
        };
        let name = &self.forward.inputs[input].name;
        let Some(given) = lengths(value) else {
            return;
        };
        let tensor = self.forward.inputs[input].tensor.as_ref();
        let is_list = tensor.is_some_and(|tensor| tensor.kind == Kind::List);
        let shapes: Vec<&ExprArray> = if is_list {
            given.elems.iter().filter_map(lengths).listed()
        } else {
            vec![given]
        };
        for given in shapes {
            let Some(leading) = given.elems.len().checked_sub(declared.lengths.len()) else {
                continue;
            };
            let lengths = given.elems.iter().skip(leading);
            for (length, declared) in lengths.zip(&declared.lengths) {
                if let Length::Axis(axis) = declared {
                    self.agrees(*axis, length, format!("`{name} = …`"));
                }
            }
        }
    }

    /// Gives a shape to each tensor that has none, of the lengths of its axes. Those that are not given are small, and
    /// differ.
    pub(super) fn shapes_from_axes(&mut self) {
        let forward = self.forward;
        let mut taken = Vec::new();
        for axis in 0..forward.shapes.axes.len() {
            if self.lengths.of_axes[axis].is_none() {
                let length = self.lengths.fresh(&mut taken);
                self.lengths.of_axes[axis] = Some((length, String::new()));
            }
        }
        for (index, input) in forward.inputs.iter().enumerate() {
            let (Some(tensor), Some(declared)) = (&input.tensor, forward.shapes.of_input(index))
            else {
                continue;
            };
            if self.given[index].is_some() {
                continue;
            }
            let leading = match tensor.ty.content.rank() {
                Some(Rank::Fixed(rank)) => {
                    usize::from(*rank).saturating_sub(declared.lengths.len())
                }
                _ => usize::from(declared.leading),
            };
            let mut lengths: Vec<Expr> =
                (0..leading).map(|place| number(2 + place as u64)).listed();
            lengths.extend(self.lengths_of(declared, &mut taken));
            let mut shape: Expr = parse_quote!([#(#lengths),*]);
            if tensor.kind == Kind::List {
                shape = parse_quote!([#shape, #shape]);
            }
            self.given[index] = Some(self.given(input, &shape, None));
        }
    }

    fn lengths_of(&self, declared: &Declared, taken: &mut Vec<u64>) -> Vec<Expr> {
        let known = |axis: usize| {
            let known = self.lengths.of_axes[axis].as_ref();
            known.map_or_else(|| number(2), |(length, _)| length.clone())
        };
        let lengths = declared.lengths.iter().map(|length| match length {
            Length::Any => self.lengths.fresh(taken),
            Length::Number(number) => parse_quote!(#number),
            Length::Axis(axis) => known(*axis),
            Length::Computed(computed) => {
                let names = computed.names.iter();
                let bound = names.filter_map(|name| self.bound(name, &known));
                let expression = &computed.expression;
                parse_quote!({ #(#bound)* #expression })
            }
        });
        lengths.listed()
    }

    /// Returns the statement that gives a name in an expression its number.
    fn bound(&self, name: &Ident, known: &impl Fn(usize) -> Expr) -> Option<Stmt> {
        if let Some(axis) = self.forward.shapes.axis(name) {
            let length = known(axis);
            return Some(parse_quote!(let #name: usize = #length;));
        }
        let mut inputs = self.forward.inputs.iter().zip(&self.given);
        let (input, value) = inputs.find_map(|(input, given)| match given {
            Some(Sample::Value(variants)) if input.name == *name => {
                Some((input, variants.first()?))
            }
            _ => None,
        })?;
        // As the expression has it elsewhere, so that a mistake in it is one error.
        let is_borrowed = !is_primitive(&input.ty) && !matches!(input.ty, Type::Reference(_));
        Some(if is_borrowed {
            parse_quote!(let #name = &#value;)
        } else {
            parse_quote!(let #name = #value;)
        })
    }
}

fn number(length: u64) -> Expr {
    let number = LitInt::new(&length.to_string(), Span::call_site());
    parse_quote!(#number)
}
