//! Reading and writing of the header's JSON. Names that occur twice are an error.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;

use json_event_parser::{JsonEvent, SliceJsonParser, WriterJsonSerializer};

use crate::state::file::stored::{Dtype, METADATA, Stored};

/// The largest number of axes of a tensor, as in PyTorch and NumPy; limits the work for a header.
const AXES: usize = 64;

type Parsed = (BTreeMap<String, Stored>, BTreeMap<String, String>);

/// Parses tensors and metadata; an error is the reason why the text is not a header.
pub(super) fn parse(text: &[u8]) -> Result<Parsed, String> {
    let mut reader = Reader {
        parser: SliceJsonParser::new(text),
    };
    reader
        .header()
        .map_err(|error| format!("its header: {error}"))
}

struct Reader<'t> {
    parser: SliceJsonParser<'t>,
}

impl<'t> Reader<'t> {
    fn next(&mut self) -> Result<JsonEvent<'t>, String> {
        self.parser.parse_next().map_err(|error| error.to_string())
    }

    fn header(&mut self) -> Result<Parsed, String> {
        let (mut tensors, mut metadata) = (BTreeMap::new(), None);
        self.open("a map from names to tensors")?;
        while let Some(name) = self.key()? {
            if name == METADATA {
                let strings = self.metadata()?;
                if metadata.replace(strings).is_some() {
                    return Err(twice(METADATA));
                }
            } else {
                let stored = self
                    .stored()
                    .map_err(|error| format!("`{name}`: {error}"))?;
                insert(&mut tensors, name, stored)?;
            }
        }
        match self.next()? {
            JsonEvent::Eof => Ok((tensors, metadata.unwrap_or_default())),
            found => Err(expected("the end", &found)),
        }
    }

    /// Reads the beginning of a map.
    fn open(&mut self, what: &str) -> Result<(), String> {
        match self.next()? {
            JsonEvent::StartObject => Ok(()),
            found => Err(expected(what, &found)),
        }
    }

    /// Reads the next key of a map; `None` at its end.
    fn key(&mut self) -> Result<Option<Cow<'t, str>>, String> {
        match self.next()? {
            JsonEvent::ObjectKey(key) => Ok(Some(key)),
            JsonEvent::EndObject => Ok(None),
            found => Err(expected("a name", &found)),
        }
    }

    fn string(&mut self) -> Result<Cow<'t, str>, String> {
        match self.next()? {
            JsonEvent::String(string) => Ok(string),
            found => Err(expected("a string", &found)),
        }
    }

    fn metadata(&mut self) -> Result<BTreeMap<String, String>, String> {
        let mut strings = BTreeMap::new();
        self.open("a map from names to strings")?;
        while let Some(key) = self.key()? {
            let string = self.string()?.into_owned();
            insert(&mut strings, key, string)?;
        }
        Ok(strings)
    }

    /// Reads the element type, shape and position of a tensor.
    fn stored(&mut self) -> Result<Stored, String> {
        let (mut dtype, mut shape, mut place) = (None, None, None);
        self.open("a map with `dtype`, `shape` and `data_offsets`")?;
        while let Some(key) = self.key()? {
            let is_new = match &key[..] {
                "dtype" => dtype.replace(self.dtype()?).is_none(),
                "shape" => shape.replace(self.numbers(AXES)?).is_none(),
                "data_offsets" => place.replace(self.numbers(2)?).is_none(),
                _ => {
                    return Err(format!(
                        "`{key}` is unknown: expected `dtype`, `shape` and `data_offsets`"
                    ));
                }
            };
            if !is_new {
                return Err(twice(&key));
            }
        }
        let missing = |what| move || format!("`{what}` is missing");
        let place = place.ok_or_else(missing("data_offsets"))?;
        let &[begin, end] = &place[..] else {
            let found = place.len();
            return Err(format!(
                "`data_offsets` must have two numbers, found {found}"
            ));
        };
        Ok(Stored {
            dtype: dtype.ok_or_else(missing("dtype"))?,
            shape: shape.ok_or_else(missing("shape"))?,
            begin: begin as u64,
            end: end as u64,
        })
    }

    fn dtype(&mut self) -> Result<Dtype, String> {
        let name = self.string()?;
        Dtype::named(&name).ok_or_else(|| format!("the element type `{name}` is unknown"))
    }

    fn numbers(&mut self, most: usize) -> Result<Vec<usize>, String> {
        match self.next()? {
            JsonEvent::StartArray => {}
            found => return Err(expected("a list of numbers", &found)),
        }
        let mut numbers = Vec::new();
        loop {
            match self.next()? {
                JsonEvent::EndArray => return Ok(numbers),
                JsonEvent::Number(_) if numbers.len() == most => {
                    return Err(format!("a list has more than {most} numbers"));
                }
                JsonEvent::Number(number) => {
                    let whole = number.parse().map_err(|_| {
                        let most = usize::MAX;
                        format!("expected a whole number from 0 to {most}, found {number}")
                    })?;
                    numbers.push(whole);
                }
                found => return Err(expected("a number", &found)),
            }
        }
    }
}

fn insert<V>(entries: &mut BTreeMap<String, V>, key: Cow<'_, str>, value: V) -> Result<(), String> {
    match entries.entry(key.into_owned()) {
        Entry::Occupied(entry) => Err(twice(entry.key())),
        Entry::Vacant(entry) => {
            entry.insert(value);
            Ok(())
        }
    }
}

fn twice(name: &str) -> String {
    format!("`{name}` occurs twice")
}

fn expected(what: &str, found: &JsonEvent<'_>) -> String {
    let found = match found {
        JsonEvent::String(_) => "a string",
        JsonEvent::Number(number) => return format!("expected {what}, found {number}"),
        JsonEvent::Boolean(_) => "a boolean",
        JsonEvent::Null => "null",
        JsonEvent::StartArray => "a list",
        JsonEvent::StartObject => "a map",
        JsonEvent::ObjectKey(_) => "a name",
        JsonEvent::EndArray | JsonEvent::EndObject | JsonEvent::Eof => "the end",
    };
    format!("expected {what}, found {found}")
}

/// Writes a text for [`parse`], in the order given.
pub(super) fn text<'a>(
    metadata: &BTreeMap<&'a str, &'a str>,
    tensors: impl Iterator<Item = (&'a str, &'a Stored)>,
) -> io::Result<Vec<u8>> {
    let mut writer = WriterJsonSerializer::new(Vec::new());
    let mut put = |event| writer.serialize_event(event);
    put(JsonEvent::StartObject)?;
    put(key(METADATA))?;
    put(JsonEvent::StartObject)?;
    for (name, string) in metadata {
        put(key(name))?;
        put(JsonEvent::String(Cow::Borrowed(string)))?;
    }
    put(JsonEvent::EndObject)?;
    for (name, stored) in tensors {
        put(key(name))?;
        put(JsonEvent::StartObject)?;
        put(key("dtype"))?;
        put(JsonEvent::String(Cow::Borrowed(stored.dtype.name)))?;
        let axes = stored.shape.iter().map(ToString::to_string);
        for (name, numbers) in [
            ("shape", axes.collect()),
            (
                "data_offsets",
                vec![stored.begin.to_string(), stored.end.to_string()],
            ),
        ] {
            put(key(name))?;
            put(JsonEvent::StartArray)?;
            for number in numbers {
                put(JsonEvent::Number(Cow::Owned(number)))?;
            }
            put(JsonEvent::EndArray)?;
        }
        put(JsonEvent::EndObject)?;
    }
    put(JsonEvent::EndObject)?;
    writer.finish()
}

fn key(name: &str) -> JsonEvent<'_> {
    JsonEvent::ObjectKey(Cow::Borrowed(name))
}
