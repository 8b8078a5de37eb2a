//! The shapes that errors propose.

use syn::Type;

use super::Reader;
use crate::lists::Lists as _;
use crate::model::{Concrete, Draw, Input};
use crate::show::show;
use crate::types::{Kind, Rank};

impl Reader<'_> {
    /// Returns a shape that the input could have beside those that are given: `[2, 3]`, of a list `[[2, 3], [2, 3]]`.
    pub(super) fn example(&self, input: &Input) -> String {
        let tensor = input.tensor.as_ref();
        let elementwise = self.definition.kind.elementwise();
        let row = elementwise.and_then(|elementwise| elementwise.row(&input.name));
        let row = row.map(|row| row.length().map_or_else(|| "3".to_owned(), show));
        let has_steps = elementwise.is_some_and(|elementwise| elementwise.has_steps(&input.name));
        let mut lengths = match tensor.and_then(|tensor| tensor.ty.content.rank()) {
            Some(Rank::Fixed(rank)) => {
                of_rank(usize::from(*rank).saturating_sub(usize::from(row.is_some())))
            }
            Some(Rank::Named(dimension)) => self.example_of(dimension),
            Some(Rank::Dyn) | None => of_rank(2),
        };
        if has_steps {
            lengths.insert(0, "4".to_owned());
        }
        lengths.extend(row);
        let shape = format!("[{}]", lengths.join(", "));
        if tensor.is_some_and(|tensor| tensor.kind == Kind::List) {
            return format!("[{shape}, {shape}]");
        }
        shape
    }

    /// Returns lengths for the axes of a rank that is a parameter of the block: those of an input of this rank, without its
    /// steps and its row, or as many as are known.
    fn example_of(&self, dimension: &Type) -> Vec<String> {
        let Some((parameter, _)) = self.rank_of(dimension) else {
            return of_rank(2);
        };
        let given = self.forward.inputs.iter().zip(&self.given);
        let mut shapes = given.filter_map(|(input, given)| {
            let Some(Rank::Named(other)) = input.tensor.as_ref()?.ty.content.rank() else {
                return None;
            };
            let Some(Draw::Shape(shape, _)) = given.as_ref()?.tensors().first() else {
                return None;
            };
            let Some(of) = self.definition.kind.elementwise() else {
                let is_same = self.rank_of(other)? == (parameter.clone(), 0);
                return is_same.then(|| shape.elems.iter().map(show).listed());
            };
            // All are of numbers of one shape.
            let has_row = of.row(&input.name).is_some();
            let shared = shape.elems.len().checked_sub(usize::from(has_row))?;
            let steps = usize::from(of.has_steps(&input.name));
            let shared = shape.elems.iter().take(shared).skip(steps);
            Some(shared.map(show).listed())
        });
        if let Some(shared) = shapes.next() {
            return shared;
        }
        match self
            .parameters
            .iter()
            .find(|(known, _)| *known == parameter)
        {
            Some((_, Concrete::Rank(rank))) => of_rank(*rank),
            _ => of_rank(2),
        }
    }
}

/// Returns lengths of this number of axes.
fn of_rank(rank: usize) -> Vec<String> {
    (2..2 + rank).map(|length| length.to_string()).listed()
}
