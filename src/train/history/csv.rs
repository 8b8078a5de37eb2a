//! A history as comma-separated values, by RFC 4180.

use std::error::Error;
use std::fmt::{self, Write};
use std::mem;

use super::{History, Row};
use crate::words::counted;

/// Why a text is no history.
///
/// ```
/// use pullback::train::History;
///
/// let error = History::from_csv("loss\n0.5\n").unwrap_err();
/// assert_eq!(error.line(), 1);
/// assert_eq!(error.to_string(), "line 1: the first column must be `epoch`, found `loss`");
/// ```
///
/// `Debug` writes the message too: it is what `?` in `main`, `unwrap` and `expect` show.
#[derive(Clone, PartialEq, Eq)]
pub struct CsvError {
    line: usize,
    message: String,
}

impl CsvError {
    fn new(line: usize, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { line, message }
    }

    /// The line, from 1.
    ///
    /// ```
    /// use pullback::train::History;
    ///
    /// let error = History::from_csv("epoch,loss\n1,0.5\n1,0.4\n").unwrap_err();
    /// assert_eq!(error.line(), 3);
    /// ```
    pub fn line(&self) -> usize {
        self.line
    }
}

impl fmt::Debug for CsvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for CsvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl Error for CsvError {}

pub(super) fn write(history: &History) -> String {
    let mut text = String::from("epoch");
    for name in &history.names {
        text.push(',');
        text.push_str(&quoted(name));
    }
    text.push('\n');
    for row in &history.epochs {
        text.push_str(&row.epoch.to_string());
        for column in 0..history.names.len() {
            text.push(',');
            if let Some(Some(value)) = row.values.get(column) {
                // INVARIANT: writing to a text does not fail.
                write!(text, "{value:?}").expect("a text");
            }
        }
        text.push('\n');
    }
    text
}

fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_owned()
    }
}

pub(super) fn read(text: &str) -> Result<History, CsvError> {
    let mut records = records(text)?.into_iter();
    let (line, header) = records.next().ok_or_else(|| {
        CsvError::new(
            1,
            "there is no header: expected `epoch` and the names of the metrics",
        )
    })?;
    let (first, names) = header
        .split_first()
        .map_or(("", &[][..]), |(first, names)| (first, names));
    if first != "epoch" {
        let message = format!("the first column must be `epoch`, found `{first}`");
        return Err(CsvError::new(line, message));
    }
    if let Some(name) = (1..)
        .zip(names)
        .find_map(|(n, name)| names[n..].contains(name).then_some(name))
    {
        return Err(CsvError::new(
            line,
            format!("two columns are named `{name}`"),
        ));
    }
    let mut history = History {
        names: names.to_vec(),
        epochs: Vec::new(),
    };
    for (line, fields) in records {
        let row = row(&fields, names.len()).map_err(|message| CsvError::new(line, message))?;
        if let Some(last) = history.last_epoch().filter(|last| *last >= row.epoch) {
            let message = format!("epoch {} comes after epoch {last}", row.epoch);
            return Err(CsvError::new(line, message));
        }
        history.epochs.push(row);
    }
    Ok(history)
}

fn row(fields: &[String], metrics: usize) -> Result<Row, String> {
    let (found, expected) = (fields.len(), metrics + 1);
    let Some((epoch, values)) = fields.split_first().filter(|_| found == expected) else {
        return Err(format!(
            "{}, but the header has {expected}",
            counted(found, "field", "fields")
        ));
    };
    let epoch = epoch
        .parse()
        .map_err(|_| format!("`{epoch}` is not an epoch: expected a whole number"))?;
    let value = |field: &String| match field.as_str() {
        "" => Ok(None),
        field => field
            .parse()
            .map(Some)
            .map_err(|_| format!("`{field}` is not a number")),
    };
    let mut values: Vec<Option<f64>> = values.iter().map(value).collect::<Result<_, _>>()?;
    // As `push` leaves it.
    while values.last() == Some(&None) {
        values.pop();
    }
    Ok(Row { epoch, values })
}

/// The fields of each record, and the line where it begins. Empty lines do not count.
fn records(text: &str) -> Result<Vec<(usize, Vec<String>)>, CsvError> {
    let mut records = Vec::new();
    let (mut fields, mut field) = (Vec::new(), String::new());
    let (mut line, mut start) = (1, 1);
    let mut quote = None;
    let mut characters = text
        .strip_prefix('\u{feff}')
        .unwrap_or(text)
        .chars()
        .peekable();
    while let Some(character) = characters.next() {
        line += usize::from(character == '\n');
        match character {
            '"' if quote.is_some() => {
                if characters.next_if_eq(&'"').is_some() {
                    field.push('"');
                } else {
                    quote = None;
                }
            }
            '"' if field.is_empty() => quote = Some(line),
            _ if quote.is_some() => field.push(character),
            ',' => fields.push(mem::take(&mut field)),
            '\r' if characters.peek() == Some(&'\n') => {}
            '\n' => {
                finish(&mut records, start, &mut fields, &mut field);
                start = line;
            }
            _ => field.push(character),
        }
    }
    if let Some(line) = quote {
        return Err(CsvError::new(line, "a quote is not closed"));
    }
    finish(&mut records, start, &mut fields, &mut field);
    Ok(records)
}

fn finish(
    records: &mut Vec<(usize, Vec<String>)>,
    start: usize,
    fields: &mut Vec<String>,
    field: &mut String,
) {
    if !fields.is_empty() || !field.is_empty() {
        fields.push(mem::take(field));
        records.push((start, mem::take(fields)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_and_name_is_read_as_it_was() {
        let mut history = History::new();
        let names = ["loss", "a,b", "say \"so\"", "two\nlines", " ", "ß"];
        let values = [0.1 + 0.2, 1e-300, f64::INFINITY, -0.0, f64::MAX, 5e-324];
        history.push(1, names.into_iter().zip(values));
        history.push(20, [("ß", 3.0)]);
        history.push(21, [("loss", 3.0)]);
        let text = history.to_csv();
        let read = History::from_csv(&text).unwrap();
        assert_eq!(read, history);
        assert_eq!(
            History::from_csv(&text.replace('\n', "\r\n"))
                .unwrap()
                .len(),
            3
        );
        assert_eq!(
            History::from_csv(&format!("\u{feff}{text}\n\n")).unwrap(),
            history
        );
        assert_eq!(
            read.get(1, "two\nlines").unwrap().to_bits(),
            (-0.0_f64).to_bits()
        );
        let none = History::new();
        assert_eq!(History::from_csv(&none.to_csv()).unwrap(), none);
    }

    #[test]
    fn damage_is_told_with_its_line() {
        for (text, message) in [
            (
                "",
                "line 1: there is no header: expected `epoch` and the names of the metrics",
            ),
            ("epoch,a,b,a\n", "line 1: two columns are named `a`"),
            (
                "epoch,a\n1,2\n\n2\n",
                "line 4: 1 field, but the header has 2",
            ),
            (
                "epoch,a\n1,2\n2,3,4\n",
                "line 3: 3 fields, but the header has 2",
            ),
            (
                "epoch,a\n-1,2\n",
                "line 2: `-1` is not an epoch: expected a whole number",
            ),
            ("epoch,a\n2,2\n1,2\n", "line 3: epoch 1 comes after epoch 2"),
            ("epoch,\"a\n1,2\n", "line 1: a quote is not closed"),
        ] {
            let error = History::from_csv(text).unwrap_err();
            assert_eq!(error.to_string(), message);
        }
    }
}
