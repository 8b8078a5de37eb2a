use super::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A folder of its own, removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("pullback-checkpoints-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&folder);
        Self(folder)
    }

    fn checkpoints(&self) -> Checkpoints {
        Checkpoints::new(self.0.join("deep/model.bin"))
    }

    /// The names of all files, hidden ones too.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.join("deep")).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn save(checkpoints: &mut Checkpoints, epoch: usize, value: f64) -> Option<PathBuf> {
    let write = |path: &Path| fs::write(path, epoch.to_string());
    checkpoints.save(epoch, value, write).unwrap()
}

#[test]
fn only_its_own_files_are_removed() {
    let folder = Folder::new("own");
    let mut earlier = folder.checkpoints();
    (1..=2).for_each(|epoch| drop(save(&mut earlier, epoch, 0.0)));
    let mut checkpoints = folder.checkpoints().keep(2);
    (3..=6).for_each(|epoch| drop(save(&mut checkpoints, epoch, 0.0)));
    let expected = [1, 2, 5, 6].map(|epoch| format!("model-000{epoch}.bin"));
    assert_eq!(folder.names(), expected);
    assert_eq!(checkpoints.kept().count(), 2);

    // One that somebody has removed is not missed.
    fs::remove_file(checkpoints.kept().next().unwrap()).unwrap();
    save(&mut checkpoints, 7, 0.0).unwrap();
    assert_eq!(folder.names()[2..], ["model-0006.bin", "model-0007.bin"]);
}

#[test]
fn an_epoch_that_is_saved_again_is_one_file() {
    let folder = Folder::new("again");
    let mut checkpoints = folder.checkpoints().keep(1);
    for _ in 0..3 {
        let path = save(&mut checkpoints, 4, 0.0).unwrap();
        assert_eq!(fs::read_to_string(path).unwrap(), "4");
    }
    assert_eq!(folder.names(), ["model-0004.bin"]);
}

#[test]
fn a_checkpoint_that_fails_leaves_the_old_one_and_nothing_else() {
    let folder = Folder::new("fails");
    let mut checkpoints = folder.checkpoints().best(Mode::Max);
    save(&mut checkpoints, 1, 0.5).unwrap();

    let half = |path: &Path| -> Result<(), BoxError> {
        fs::write(path, "half of")?;
        Err("the disk is full".into())
    };
    let error = checkpoints.save(1, 0.7, half).unwrap_err().to_string();
    assert!(error.starts_with("cannot write the checkpoint "), "{error}");
    assert!(
        error.ends_with("model-0001.bin: the disk is full"),
        "{error}"
    );

    let nothing = |_: &Path| -> Result<(), BoxError> { Ok(()) };
    let error = checkpoints.save(1, 0.7, nothing).unwrap_err().to_string();
    assert!(error.contains("nothing was written to "), "{error}");

    let panic = catch_unwind(AssertUnwindSafe(|| {
        checkpoints.save(1, 0.7, |path| -> io::Result<()> {
            fs::write(path, "half of")?;
            panic!("in the middle")
        })
    }));
    assert!(panic.is_err());

    assert_eq!(folder.names(), ["model-0001.bin"]);
    let path = folder.0.join("deep/model-0001.bin");
    assert_eq!(fs::read_to_string(path).unwrap(), "1");
    // The value of what was not saved does not count.
    assert!(checkpoints.is_due(2, 0.6));
}

#[test]
fn what_cannot_be_removed_is_told_and_tried_again() {
    let folder = Folder::new("remove");
    let mut checkpoints = folder.checkpoints().keep(1);
    let first = save(&mut checkpoints, 1, 0.0).unwrap();
    // A folder in its place is not a file to be removed.
    fs::remove_file(&first).unwrap();
    fs::create_dir(&first).unwrap();
    let write = |path: &Path| fs::write(path, "2");
    let error = checkpoints.save(2, 0.0, write).unwrap_err();
    assert!(matches!(&error, CheckpointError::Remove { path, .. } if *path == first));
    assert_eq!(checkpoints.kept().count(), 2);
    fs::remove_dir(&first).unwrap();
    save(&mut checkpoints, 3, 0.0).unwrap();
    assert_eq!(folder.names(), ["model-0003.bin"]);
}

#[test]
fn what_is_no_number_is_not_the_best() {
    let folder = Folder::new("nan");
    let mut checkpoints = folder.checkpoints().best(Mode::Min).every(2);
    let values = [f64::NAN, f64::NAN, 0.1, 0.5, 0.4, 0.4, 0.3, 0.5];
    let saved: Vec<usize> = (1..)
        .zip(values)
        .filter(|&(epoch, value)| save(&mut checkpoints, epoch, value).is_some())
        .map(|(epoch, _)| epoch)
        .collect();
    assert_eq!(saved, [4, 6]);
    let expected = Best {
        epoch: 6,
        value: 0.4,
    };
    assert_eq!(checkpoints.last_saved(), Some(expected));
}

#[test]
fn the_latest_is_that_of_the_highest_epoch() {
    let folder = Folder::new("latest");
    let mut checkpoints = folder.checkpoints();
    assert_eq!(checkpoints.latest().unwrap(), None);
    for epoch in [9998, 2, 10_001] {
        save(&mut checkpoints, epoch, 0.0).unwrap();
    }
    for other in [
        "model-99999.txt",
        "model-99999",
        "other-99999.bin",
        "model-099999.bin",
        ".tmp-7-0-model-99999.bin",
        "model-x.bin",
    ] {
        fs::write(folder.0.join("deep").join(other), "").unwrap();
    }
    let path = folder.0.join("deep/model-10001.bin");
    assert_eq!(checkpoints.latest().unwrap(), Some((10_001, path)));

    let bare = Checkpoints::new(folder.0.join("deep/best"));
    assert_eq!(bare.path_of(3), folder.0.join("deep/best-0003"));
    assert_eq!(bare.epoch_of(&bare.path_of(12_345)), Some(12_345));
}

#[test]
#[should_panic(expected = "Checkpoints at `/`: the path has no file name")]
fn a_checkpoint_has_a_name() {
    Checkpoints::new("/");
}
