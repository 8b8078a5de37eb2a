//! Marks: for each of some things, whether there is an item for it.

/// Returns an item for each mark, `None` where it is false.
pub(crate) fn spread<T>(marks: &[bool], items: impl IntoIterator<Item = T>) -> Vec<Option<T>> {
    let mut items = items.into_iter();
    let spread = marks
        .iter()
        .map(|mark| mark.then(|| items.next()).flatten());
    spread.collect()
}

/// Extends marks of the things that are `known` to all things.
pub(crate) fn among_all(known: &[bool], marks: &[bool]) -> Vec<bool> {
    let marks = spread(known, marks).into_iter();
    marks.map(|mark| mark == Some(&true)).collect()
}

/// Returns the items that have a mark.
pub(crate) fn chosen<T>(
    marks: &[bool],
    items: impl IntoIterator<Item = T>,
) -> impl Iterator<Item = T> {
    let marked = items.into_iter().zip(marks).filter(|(_, mark)| **mark);
    marked.map(|(item, _)| item)
}
