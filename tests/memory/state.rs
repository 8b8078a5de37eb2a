//! The memory of saving and loading: a buffer; the model once more while a file is read, so that an error changes
//! nothing; and nothing for the claims of a header.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

use pullback::ndarray::{Array2, Ix2};
use pullback::nn::{StateDict, StateFile, Stateful};
use pullback::prelude::*;

use crate::counting::bytes;

/// The limit for saving, loading, or checking a bad file.
const LITTLE: isize = 1 << 20;

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let name = format!("memory-{name}-{}.safetensors", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Returns 16 MiB in two parameters.
fn model(value: f32) -> Vec<Parameter<f32, Ix2>> {
    (0..2)
        .map(|_| Parameter::new(Array2::from_elem((1 << 10, 1 << 11), value)))
        .collect()
}

#[test]
fn saving_copies_no_model_and_loading_a_file_one() {
    let _alone = crate::alone();
    let file = Scratch::new("model");
    let (source, mut target) = (model(1.0), model(2.0));
    let (_, peak, saved) = bytes(|| source.save_safetensors(&file.0));
    saved.unwrap();
    assert!(peak < LITTLE, "{peak} bytes to save");
    let (_, peak, loaded) = bytes(|| target.load_safetensors(&file.0));
    loaded.unwrap();
    let once = 16 << 20;
    assert!(peak < once + LITTLE, "{peak} bytes to load from a file");
    assert_eq!(target[1].to_array(), source[1].to_array());

    let (alive, _, state) = bytes(|| source.state_dict());
    assert!(alive < LITTLE, "{alive} bytes for a snapshot");
    let mut target = model(2.0);
    let (_, peak, loaded) = bytes(|| target.load_state_dict(&state, true));
    loaded.unwrap();
    assert!(peak < LITTLE, "{peak} bytes to load");
    assert_eq!(target[1].to_array(), source[1].to_array());
}

/// Asserts that a file is refused within the limit of memory.
fn refused(file: &Scratch, what: &str) {
    let (alive, peak, opened) = bytes(|| StateFile::open(&file.0).is_ok());
    assert!(!opened, "{what} is accepted");
    assert!(
        peak < LITTLE && alive == 0,
        "{peak} bytes for {what}, {alive} kept"
    );
    assert!(StateDict::load_safetensors(&file.0).is_err(), "{what}");
}

fn with_header(length: u64, header: &[u8]) -> Vec<u8> {
    [&length.to_le_bytes()[..], header].concat()
}

#[test]
fn files_that_claim_much_cost_little() {
    let _alone = crate::alone();
    let file = Scratch::new("claims");
    let entry = |shape: &str, begin: u64, end: u64| {
        format!(r#"{{"a":{{"dtype":"F32","shape":[{shape}],"data_offsets":[{begin},{end}]}}}}"#)
    };
    let headers = [
        entry("1000000000", 0, 4_000_000_000),
        entry("0,18446744073709551615,18446744073709551615", 0, 0),
        entry("18446744073709551615", 0, u64::MAX),
        entry("4611686018427387904", 0, 0),
        entry(&vec!["0"; 10_000].join(","), 0, 4),
        entry("-1", 0, 4),
        entry("NaN", 0, 4),
        entry("1", u64::MAX - 3, u64::MAX),
        "[".repeat(60_000),
        r#"{"a":"#.repeat(10_000),
        format!(r#"{{"{}":7}}"#, "a".repeat(60_000)),
        format!(r#"{{"__metadata__":{{"k":{}"#, "[".repeat(60_000)),
        format!(
            "{{{}}}",
            r#""a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"#.repeat(1000)
        ),
        " ".repeat(60_000),
    ];
    for header in headers {
        fs::write(&file.0, with_header(header.len() as u64, header.as_bytes())).unwrap();
        refused(&file, &header[..header.len().min(60)]);
    }
    for length in [3, 1 << 20, 100_000_000, 100_000_001, u64::MAX - 8, u64::MAX] {
        fs::write(&file.0, with_header(length, b"{}")).unwrap();
        refused(&file, &format!("a header of {length} bytes"));
    }
}

#[test]
fn a_hole_is_not_read_as_a_header() {
    let _alone = crate::alone();
    let file = Scratch::new("hole");
    // A sparse file, which is long but takes no room on the disk.
    for header in [&b""[..], b"{", b"{\"a\":"] {
        let sparse: File = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&file.0)
            .unwrap();
        (&sparse)
            .write_all(&with_header(90_000_000, header))
            .unwrap();
        sparse.set_len(1 << 40).unwrap();
        refused(&file, "a hole");
    }
}

#[test]
fn elements_that_are_not_asked_for_cost_nothing() {
    let _alone = crate::alone();
    let file = Scratch::new("elements");
    model(1.0).save_safetensors(&file.0).unwrap();
    let mut small = vec![model(0.0).remove(0), Parameter::new(Array2::zeros((3, 3)))];
    let (_, peak, loaded) = bytes(|| small.load_safetensors(&file.0).is_err());
    assert!(
        loaded && peak < LITTLE,
        "{peak} bytes to find a wrong shape"
    );
    assert_eq!(small[0].view()[[0, 0]], 0.0);
}
