//! The header of a file, checked against its length.

use std::collections::BTreeMap;
use std::io::{self, Read};

use autograd_kernels::counted;

use crate::state::file::json;
use crate::state::file::stored::Stored;

/// The length of the longest header that readers of the format accept.
pub(super) const LONGEST: u64 = 100_000_000;

/// The value that [`save_safetensors`](crate::nn::Stateful::save_safetensors) writes for `format`.
pub(super) const FORMAT: &str = "pullback";

/// The value that [`save_safetensors`](crate::nn::Stateful::save_safetensors) writes for `version`.
pub(super) const VERSION: &str = "1";

/// The contents of a header.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) tensors: BTreeMap<String, Stored>,
    /// Names of tied tensors, mapped to the name under which the elements are stored.
    pub(super) ties: BTreeMap<String, String>,
    /// The strings of the metadata that are not ties.
    pub(super) metadata: BTreeMap<String, String>,
}

/// Reads the header's text from the beginning of a file of `length` bytes. The inner error is the reason why it
/// cannot be a header.
///
/// Reads it in pieces and stops at bytes that are not JSON, so that a sparse file with a header of a large announced
/// length costs no memory.
pub(super) fn read(file: &mut dyn Read, length: u64) -> io::Result<Result<Vec<u8>, String>> {
    if length < 8 {
        let reason = format!(
            "it has {}, but the length of its header takes 8",
            counted(length, "byte", "bytes")
        );
        return Ok(Err(reason));
    }
    let mut announced = [0; 8];
    file.read_exact(&mut announced)?;
    let announced = u64::from_le_bytes(announced);
    if announced > LONGEST {
        let reason = format!("its header has {announced} bytes, more than {LONGEST}");
        return Ok(Err(reason));
    }
    if announced > length - 8 {
        let rest = length - 8;
        let reason = format!(
            "its header has {}, but the file ends after {rest}",
            counted(announced, "byte", "bytes")
        );
        return Ok(Err(reason));
    }
    let mut text = Vec::new();
    let mut piece = [0; 8 << 10];
    let mut left = announced;
    while left > 0 {
        let next = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        file.read_exact(&mut piece[..next])?;
        let is_text = |byte: &u8| *byte >= b' ' || b"\t\n\r".contains(byte);
        if !piece[..next].iter().all(is_text) {
            return Ok(Err(
                "its header is not JSON: it has control characters".to_owned()
            ));
        }
        text.extend_from_slice(&piece[..next]);
        left -= next as u64;
    }
    if text.first() != Some(&b'{') {
        return Ok(Err("its header does not begin with `{`".to_owned()));
    }
    Ok(Ok(text))
}

impl Header {
    /// Parses the text and checks it against the number of bytes after it.
    pub(super) fn parse(text: &[u8], bytes: u64) -> Result<Self, String> {
        let (tensors, metadata) = json::parse(text)?;
        check_places(&tensors, bytes)?;
        let is_tie = |(name, first): &(String, String)| {
            !is_reserved(name) && tensors.contains_key(first) && !tensors.contains_key(name)
        };
        let (ties, metadata): (_, BTreeMap<_, _>) = metadata.into_iter().partition(is_tie);
        let value = |key| metadata.get(key).map(String::as_str);
        check_version(value("format"), value("version"))?;
        Ok(Self {
            tensors,
            ties,
            metadata,
        })
    }

    /// Returns the entry of the tensor of this name, tied or not.
    pub(super) fn get(&self, name: &str) -> Option<&Stored> {
        let own = self.tensors.get(name);
        own.or_else(|| self.tensors.get(self.ties.get(name)?))
    }
}

/// Returns whether a key of the metadata describes the kind of file.
pub(super) fn is_reserved(key: &str) -> bool {
    key == "format" || key == "version"
}

/// Checks the version, since files of later versions may have another meaning.
pub(super) fn check_version(format: Option<&str>, version: Option<&str>) -> Result<(), String> {
    if format != Some(FORMAT) || version == Some(VERSION) {
        return Ok(());
    }
    let version = version.unwrap_or("none");
    Err(format!(
        "its format `{FORMAT}` has version {version}, expected {VERSION}"
    ))
}

/// Checks that the tensors fill the `bytes` after the header without gaps.
fn check_places(tensors: &BTreeMap<String, Stored>, bytes: u64) -> Result<(), String> {
    let mut in_order: Vec<(&String, &Stored)> = tensors.iter().collect();
    in_order.sort_by_key(|(_, stored)| (stored.begin, stored.end));
    let mut place = 0;
    for (name, stored) in in_order {
        let &Stored { begin, end, .. } = stored;
        let (dtype, shape) = (stored.dtype.name, &stored.shape);
        if begin != place || end < begin {
            return Err(format!(
                "the bytes of `{name}` are [{begin}, {end}], but should begin at {place}"
            ));
        }
        let Some(bits) = stored.bits() else {
            return Err(format!(
                "the shape {shape:?} of `{name}`, of {dtype}, does not fit into memory"
            ));
        };
        if bits != 8 * u128::from(end - begin) {
            let (has, takes) = (end - begin, bits.div_ceil(8));
            return Err(format!(
                "`{name}` has {}, but {dtype} of shape {shape:?} takes {takes}",
                counted(has, "byte", "bytes")
            ));
        }
        place = end;
    }
    if place != bytes {
        return Err(format!(
            "its header describes {} of elements, but the file has {bytes}",
            counted(place, "byte", "bytes")
        ));
    }
    Ok(())
}
