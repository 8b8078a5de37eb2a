//! Files of Python's package `safetensors`, and files that it reads.

use std::fs;
use std::path::Path;
use std::process::Command;

use pullback::AnyTensor;
use pullback::ndarray::{Array2, arr0, array};
use pullback::nn::{Parameter, StateDict, StateFile, Stateful};

use super::bits;
use super::files::Folder;

/// The values in the file of `tests/golden/write_safetensors.py`.
fn expected() -> StateDict {
    let mut state = StateDict::new();
    let weight = array![[1.0, 2.5, -3.0], [f32::INFINITY, -0.0, f32::from_bits(1)]];
    state.insert("layers.0.weight", weight);
    state.insert("layers.0.bias", array![0.1, 0.2]);
    state.insert("scale", arr0(7.0_f32));
    state.insert("empty", Array2::<f32>::zeros((0, 3)));
    state.insert("naïve \"name\"\n", array![1.0]);
    state
}

fn golden() -> &'static Path {
    Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/golden/python.safetensors"
    ))
}

#[test]
fn a_file_of_pythons_package_is_read() {
    let mut state = expected();
    // The metadata tie this name to another.
    state.insert("tied", arr0(7.0_f32));
    let mut file = StateFile::open(golden()).unwrap();
    assert_eq!(bits(&file.state_dict().unwrap()), bits(&state));
    assert_eq!(file.metadata()["format"], "np");
    assert_eq!(file.metadata()["note"], "schön");
    assert!(!file.metadata().contains_key("tied"));
    let mut model = vec![(
        Parameter::new(Array2::<f32>::zeros((2, 3))),
        Parameter::new(array![0.0, 0.0]),
    )];
    let part = file
        .part("layers")
        .unwrap()
        .rename(|name| name.replace("weight", "0").replace("bias", "1"));
    model.load_state_dict(&part, true).unwrap();
    assert_eq!(model[0].1.to_array(), array![0.1, 0.2]);
}

#[test]
fn the_same_tensors_give_the_same_elements_as_pythons() {
    let folder = Folder::new("same-elements");
    let path = folder.file("ours.safetensors");
    expected().save_safetensors(&path, &[]).unwrap();
    let elements = |path: &Path| {
        let bytes = fs::read(path).unwrap();
        let header = u64::from_le_bytes(bytes[..8].try_into().unwrap());
        let header = usize::try_from(header).unwrap();
        assert_eq!((bytes[8], header % 8), (b'{', 0));
        bytes[8 + header..].to_vec()
    };
    assert_eq!(elements(&path), elements(golden()));
}

/// Runs a Python program; `None`, with the reason on the screen, where the packages are not installed.
fn python(program: &str, arguments: &[&Path]) -> Option<String> {
    let available = Command::new("python3")
        .args(["-c", "import numpy, safetensors"])
        .output();
    match available {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            let why = String::from_utf8_lossy(&output.stderr);
            println!("skipped: {}", why.lines().last().unwrap_or("no reason"));
            return None;
        }
        Err(error) => {
            println!("skipped: python3: {error}");
            return None;
        }
    }
    let output = Command::new("python3")
        .args(["-c", program])
        .args(arguments)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn pythons_package_reads_what_is_written_and_the_other_way_round() {
    let folder = Folder::new("python");
    let (ours, theirs) = (
        folder.file("ours.safetensors"),
        folder.file("theirs.safetensors"),
    );
    let mut state = expected();
    let AnyTensor::F32(scale) = state["scale"].clone() else {
        panic!("`scale` is f32");
    };
    state.insert("tied", scale);
    state.save_safetensors(&ours, &[("note", "schön")]).unwrap();
    let program = "
import sys
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
tensors = load_file(sys.argv[1])
for name in sorted(tensors):
    tensor = tensors[name]
    print(ascii(name), tensor.dtype, list(tensor.shape), tensor.tobytes().hex())
with safe_open(sys.argv[1], 'np') as file:
    metadata = file.metadata()
print(sorted(metadata.items()))
save_file(tensors, sys.argv[2], metadata)
";
    let Some(printed) = python(program, &[&ours, &theirs]) else {
        return;
    };
    let lines = [
        "'empty' float32 [0, 3] ",
        "'layers.0.bias' float64 [2] 9a9999999999b93f9a9999999999c93f",
        "'layers.0.weight' float32 [2, 3] 0000803f00002040000040c00000807f0000008001000000",
        r#"'na\xefve "name"\n' float64 [1] 000000000000f03f"#,
        "'scale' float32 [] 0000e040",
        "[('format', 'pullback'), ('note', 'schön'), ('tied', 'scale'), ('version', '1')]",
    ];
    assert_eq!(printed.lines().collect::<Vec<_>>(), lines);
    assert_eq!(
        bits(&StateDict::load_safetensors(&theirs).unwrap()),
        bits(&state)
    );
}
