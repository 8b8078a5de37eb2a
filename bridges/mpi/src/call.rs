//! Descriptions of collectives, which all processes compare before they exchange data.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use pullback::{Element, ElementType};

/// The description of one use of a collective, the same on every process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Call {
    pub(crate) operation: &'static str,
    /// The element type; `None` if there are no elements.
    pub(crate) element: Option<ElementType>,
    pub(crate) shape: Vec<usize>,
    /// Other values that must agree, as text: a root, an axis, the name of a parameter, a step. May be empty.
    pub(crate) detail: String,
}

impl Call {
    /// Returns a description without elements.
    pub(crate) fn bare(operation: &'static str) -> Self {
        Self {
            operation,
            element: None,
            shape: Vec::new(),
            detail: String::new(),
        }
    }

    /// Returns a description of elements of type `T`.
    pub(crate) fn of<T: Element>(operation: &'static str, detail: String, shape: &[usize]) -> Self {
        Self {
            operation,
            element: Some(T::TYPE),
            shape: shape.to_vec(),
            detail,
        }
    }

    /// Returns 64 bits that are equal for equal descriptions. The hasher has fixed keys, so digests are equal on all
    /// processes of one program.
    pub(crate) fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.operation)?;
        if let Some(element) = self.element {
            write!(f, " of {element} of shape {:?}", self.shape)?;
        }
        if !self.detail.is_empty() {
            write!(f, " ({})", self.detail)?;
        }
        Ok(())
    }
}

/// The largest number of bytes of a description's text.
pub(crate) const TEXT: usize = 256;

/// Returns the message for descriptions, in the order of the ranks, that are not all equal.
pub(crate) fn disagreement(texts: &[String]) -> String {
    let first = texts.first().map(String::as_str).unwrap_or_default();
    let others = texts.iter().enumerate();
    let mut others = others.filter(|(_, text)| *text != first);
    let Some((rank, text)) = others.next() else {
        // Descriptions that differ beyond their first bytes.
        return format!("the processes disagree beyond the first {TEXT} bytes of {first}");
    };
    let more = match others.count() {
        0 => String::new(),
        more => format!(", and {more} more differ from rank 0"),
    };
    format!("the processes disagree: rank 0 calls {first}, rank {rank} calls {text}{more}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(shape: &[usize]) -> Call {
        Call::of::<f32>("all_reduce_sum", String::new(), shape)
    }

    #[test]
    fn equal_descriptions_have_equal_digests() {
        assert_eq!(call(&[2, 3]).digest(), call(&[2, 3]).digest());
        assert_ne!(call(&[2, 3]).digest(), call(&[3, 2]).digest());
        assert_ne!(call(&[2, 3]).digest(), Call::bare("barrier").digest());
    }

    #[test]
    fn a_disagreement_names_the_first_rank_that_differs() {
        let texts = [&[2][..], &[2], &[3], &[4]].map(|shape| call(shape).to_string());
        assert_eq!(
            disagreement(&texts),
            "the processes disagree: rank 0 calls `all_reduce_sum` of f32 of shape [2], rank 2 calls \
             `all_reduce_sum` of f32 of shape [3], and 1 more differ from rank 0"
        );
    }
}
