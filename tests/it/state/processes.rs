//! Several processes that save into one folder: some with the same number, as in containers, and some that are killed.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{env, fs, thread};

use pullback::AnyTensor;
use pullback::ndarray::Array1;
use pullback::nn::{StateDict, StateFile};
use pullback::prelude::*;

use super::files::Folder;

/// Says to the test below, in a process of its own, what to do: a file, a number, and how often it is saved.
const SAVES: &str = "PULLBACK_TEST_SAVES";

/// Saves a state of equal numbers, and reads it back each time.
#[test]
#[ignore = "called by other tests"]
fn in_a_process_of_its_own() {
    let Ok(saves) = env::var(SAVES) else {
        return;
    };
    let parts: Vec<&str> = saves.split('|').collect();
    let [path, number, count] = parts[..] else {
        panic!("{saves}")
    };
    let number: f64 = number.parse().unwrap();
    for _ in 0..count.parse().unwrap() {
        save(Path::new(path), number);
        assert_eq!(
            numbers(Path::new(path)),
            [number; 2],
            "the file of another process"
        );
    }
    println!("saved everything");
}

fn save(path: &Path, number: f64) {
    let mut state = StateDict::new();
    state.insert("w", Tensor::from(Array1::from_elem(20_000, number)));
    state.save_safetensors(path, &[]).unwrap();
}

/// Returns the smallest and the largest number in the file.
fn numbers(path: &Path) -> [f64; 2] {
    let read = StateFile::open(path).and_then(|mut file| file.tensor("w"));
    let Ok(Some(AnyTensor::F64(tensor))) = read else {
        panic!("{read:?}")
    };
    let view = tensor.view();
    [f64::min, f64::max].map(|of| view.iter().copied().reduce(of).unwrap())
}

fn saver(before: &[&str], path: &Path, number: f64, count: usize) -> Child {
    let test = env::current_exe().unwrap();
    let own = [
        test.to_str().unwrap(),
        "--ignored",
        "--exact",
        "--nocapture",
    ];
    let command = [before, &own, &["state::processes::in_a_process_of_its_own"]].concat();
    Command::new(command[0])
        .args(&command[1..])
        .env(SAVES, format!("{}|{number}|{count}", path.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn names(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn saves_of_processes_with_one_number_leave_each_other_alone() {
    let numbered = ["unshare", "--pid", "--fork"];
    let can = Command::new(numbered[0])
        .args(&numbered[1..])
        .arg("true")
        .output();
    if !can.is_ok_and(|output| output.status.success()) {
        println!(
            "skipped: there is no `unshare`, or it may not make processes with numbers of their own"
        );
        return;
    }
    let folder = Folder::new("numbers");
    let savers: Vec<Child> = (0..4)
        .map(|saver_of| {
            let path = folder.file(&format!("{saver_of}.safetensors"));
            saver(&numbered, &path, f64::from(saver_of), 40)
        })
        .collect();
    for saver in savers {
        let output = saver.wait_with_output().unwrap();
        let printed = [output.stdout, output.stderr].concat();
        let printed = String::from_utf8_lossy(&printed);
        assert!(printed.contains("saved everything"), "{printed}");
    }
    assert_eq!(names(&folder.file("")).len(), 4);
}

#[cfg(unix)]
#[test]
fn what_killed_saves_leave_is_removed_and_the_file_is_whole() {
    let folder = Folder::new("killed");
    let path = folder.file("model.safetensors");
    save(&path, 0.0);
    let mut left_behind = 0;
    for round in 1..16_u32 {
        let mut saver = saver(&[], &path, f64::from(round), usize::MAX);
        thread::sleep(Duration::from_millis(60 + 7 * u64::from(round)));
        saver.kill().unwrap();
        saver.wait().unwrap();
        let [smallest, largest] = numbers(&path);
        assert!(smallest == largest && smallest <= f64::from(round));
        left_behind += names(&folder.file("")).len() - 1;
    }
    save(&path, 99.0);
    assert_eq!(
        (numbers(&path), names(&folder.file(""))),
        ([99.0; 2], vec![path.clone()])
    );
    println!("{left_behind} files were left behind");
}
