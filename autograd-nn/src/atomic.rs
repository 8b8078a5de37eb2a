//! Files that are replaced as a whole or not at all.
//!
//! # Note [Names beside a file]
//! A save writes `.tmp-TARGET-RANDOM` and renames it. Processes that share a folder may have the same number, in
//! containers or on several hosts, so the name is random: the name of one save is never that of another, and a name
//! that was renamed or removed never appears again. `TARGET` is a hash of the target's name, by which the next save of
//! that target finds the files of saves that were killed. A save holds a lock on its file until the file is renamed,
//! and the system releases the lock of a process that ends, so a file that can be locked is of a save that was killed.
//! Without locks (file systems that have none, Windows) such files stay; nothing else depends on the locks.

use std::collections::hash_map::RandomState;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, Permissions};
use std::hash::BuildHasher;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The number of links that Linux follows.
const MOST_LINKS: usize = 40;

/// The number of names that a save tries; more than one is rarely needed.
const MOST_NAMES: usize = 16;

/// Lets `write` write a file beside `path`, and renames it to `path` when it is on the disk. After an error, `path`
/// is unchanged and the other file is deleted.
///
/// A link is followed, and its target replaced. The file keeps its permissions.
pub(crate) fn replace(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let (target, permissions) = target_of(path)?;
    let (beside, file) = Beside::create(&target, permissions.as_ref())?;
    let mut writer = BufWriter::new(file);
    write(&mut writer)?;
    let file = writer
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?;
    beside.finish(&file, permissions, &target)
}

/// Returns the folder of a file.
fn folder_of(path: &Path) -> &Path {
    let folder = path.parent();
    folder
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Returns the file to replace, and its permissions if it exists.
fn target_of(path: &Path) -> io::Result<(PathBuf, Option<Permissions>)> {
    // Links are followed here, as the system cannot resolve one to a file that does not exist yet.
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&target) {
            Ok(link) => target = folder_of(&target).join(link),
            Err(_) => return permissions_of(&target).map(|permissions| (target, permissions)),
        }
    }
    let what = format!("a chain of more than {MOST_LINKS} links");
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}

fn permissions_of(target: &Path) -> io::Result<Option<Permissions>> {
    match fs::metadata(target) {
        Ok(about) if about.is_file() => Ok(Some(about.permissions())),
        Ok(_) => {
            let what = "the path exists and is not a regular file";
            Err(io::Error::new(io::ErrorKind::InvalidInput, what))
        }
        Err(_) => Ok(None),
    }
}

/// A file that is deleted when this is dropped, unless it was renamed. See Note [Names beside a file].
struct Beside {
    path: PathBuf,
    renamed: bool,
}

impl Beside {
    /// Creates a file in the folder of `target`, since a file can be renamed only within one file system. Its
    /// permissions are not wider than those of the file that it replaces.
    fn create(target: &Path, permissions: Option<&Permissions>) -> io::Result<(Self, File)> {
        let Some(name) = target.file_name() else {
            let what = "the path does not end with the name of a file";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        };
        let prefix = prefix_of(name);
        remove_abandoned(folder_of(target), &prefix);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if let Some(permissions) = permissions {
            use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
            options.mode(permissions.mode());
        }
        #[cfg(not(unix))]
        let _ = permissions;
        for _ in 0..MOST_NAMES {
            let random = RandomState::new().hash_one(&prefix);
            let path = target.with_file_name(format!("{prefix}{random:016x}"));
            match options.open(&path) {
                Ok(file) => {
                    let beside = Self {
                        path,
                        renamed: false,
                    };
                    if is_being_written(&beside.path, &file) {
                        return Ok((beside, file));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        let what =
            format!("other processes lock or remove {prefix}…, the file that is written first");
        Err(io::Error::new(io::ErrorKind::ResourceBusy, what))
    }

    /// Renames the file, which is `file`, to `target`.
    fn finish(
        mut self,
        file: &File,
        permissions: Option<Permissions>,
        target: &Path,
    ) -> io::Result<()> {
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        // The new name must not reach the disk before the contents do.
        file.sync_all()?;
        fs::rename(&self.path, target)?;
        self.renamed = true;
        // So that the new name survives a power cut. If the folder cannot be opened for that, the file is complete
        // nevertheless.
        if let Ok(folder) = File::open(folder_of(target)) {
            let _ = folder.sync_all();
        }
        Ok(())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if !self.renamed {
            // An error could not be reported here.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Returns how the names beside a file of this name begin: with a hash (FNV-1a, the same in every process), as a name
/// may have the greatest length already.
fn prefix_of(name: &OsStr) -> String {
    let bytes = name.as_encoded_bytes().iter();
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    format!(".tmp-{hash:016x}-")
}

/// Removes the files of saves that were killed. An error is not one of the save that begins.
fn remove_abandoned(folder: &Path, prefix: &str) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let is_of_target = entry
            .file_name()
            .to_str()
            .is_some_and(|n| n.starts_with(prefix));
        // A pipe of that name must not be opened: that would wait for a reader.
        if !is_of_target || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let path = entry.path();
        let Ok(file) = OpenOptions::new().write(true).open(&path) else {
            continue;
        };
        if is_abandoned(&file) {
            let _ = fs::remove_file(&path);
        }
        // The lock is held until the name is gone. Else a save that has just created the file could lock it and see its
        // name in between.
        drop(file);
    }
}

/// Locks a new file; false if another save has taken it for abandoned before.
#[cfg(unix)]
fn is_being_written(path: &Path, file: &File) -> bool {
    let is_not_there = |error: io::Error| error.kind() == io::ErrorKind::NotFound;
    // With another error there are no locks here.
    !matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock))
        && !fs::symlink_metadata(path).is_err_and(is_not_there)
}

/// Does not lock the file: on Windows no other handle could read it for a moment after it was renamed.
#[cfg(not(unix))]
fn is_being_written(_path: &Path, _file: &File) -> bool {
    true
}

/// Returns whether no save writes the file.
fn is_abandoned(file: &File) -> bool {
    cfg!(unix) && file.try_lock().is_ok()
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::process;

    use super::*;

    /// An empty folder, deleted with the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("atomic-{name}-{}", process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).unwrap();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let mut names: Vec<String> = names.collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_former_file_survives_every_failure() {
        let folder = Folder::new("failure");
        let path = folder.0.join("model");
        fs::write(&path, "old").unwrap();
        let half_way = |writer: &mut dyn Write| {
            writer.write_all(&vec![1; 100_000])?;
            Err(io::ErrorKind::StorageFull.into())
        };
        let error = replace(&path, half_way).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        let panics = |_: &mut dyn Write| panic!("half-way");
        assert!(catch_unwind(AssertUnwindSafe(|| replace(&path, panics))).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(folder.names(), ["model"]);
        replace(&path, |writer| writer.write_all(b"new")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(folder.names(), ["model"]);
    }

    #[test]
    fn what_is_no_regular_file_is_left_alone() {
        let folder = Folder::new("folder");
        let never = |_: &mut dyn Write| unreachable!("there is nothing to write to");
        let error = replace(&folder.0, never).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert!(replace(Path::new(""), never).is_err());
        assert!(replace(&folder.0.join("none/model"), never).is_err());
        assert!(folder.names().is_empty());
    }

    #[test]
    fn a_name_beside_a_file_is_not_used_again() {
        let folder = Folder::new("names");
        let mut all = Vec::new();
        for target in ["model", "model", "other"] {
            let path = folder.0.join(target);
            replace(&path, |writer| {
                all.extend(
                    folder
                        .names()
                        .into_iter()
                        .filter(|name| name.starts_with('.')),
                );
                writer.write_all(b"new")
            })
            .unwrap();
        }
        let parts = |name: &String| {
            let parts: Vec<String> = name.split('-').map(str::to_owned).collect();
            <[String; 3]>::try_from(parts).expect("`.tmp`, the target, a random number")
        };
        let [first, second, other] = [0, 1, 2].map(|index| parts(&all[index]));
        assert_eq!((all.len(), &first[1]), (3, &second[1]));
        assert_ne!(first[1], other[1]);
        assert_ne!(first[2], second[2]);
    }

    #[cfg(unix)]
    #[test]
    fn what_a_killed_save_left_is_removed_by_the_next_save_of_that_file() {
        let folder = Folder::new("killed");
        let path = folder.0.join("model");
        let beside = |target: &str| {
            let name = prefix_of(OsStr::new(target)) + "0123456789abcdef";
            fs::write(folder.0.join(&name), "half a file").unwrap();
            name
        };
        let (_, of_other) = (beside("model"), beside("other"));
        fs::create_dir(folder.0.join(prefix_of(OsStr::new("model")) + "folder")).unwrap();
        // A second save of the same file, while the first one writes.
        replace(&path, |outer| {
            replace(&path, |writer| writer.write_all(b"inner"))?;
            assert_eq!(fs::read_to_string(&path)?, "inner");
            outer.write_all(b"outer")
        })
        .unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "outer");
        let left = [
            prefix_of(OsStr::new("model")) + "folder",
            of_other,
            "model".to_owned(),
        ];
        let names = folder.names();
        assert_eq!(names.len(), 3, "{names:?}");
        assert!(left.iter().all(|name| names.contains(name)), "{names:?}");
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = Folder::new("links");
        let (path, link) = (folder.0.join("model"), folder.0.join("latest"));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        symlink("model", &link).unwrap();
        replace(&link, |writer| writer.write_all(b"new")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o640
        );
    }

    #[cfg(unix)]
    #[test]
    fn nobody_reads_a_private_file_while_it_is_written() {
        use std::os::unix::fs::PermissionsExt;
        let folder = Folder::new("private");
        let path = folder.0.join("model");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let look = |writer: &mut dyn Write| {
            for name in folder.names() {
                let mode = fs::metadata(folder.0.join(&name))?.permissions().mode();
                assert_eq!(mode & 0o077, 0, "{name}: {mode:o}");
            }
            writer.write_all(b"new")
        };
        replace(&path, look).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_a_file_that_is_not_there_stays() {
        use std::os::unix::fs::symlink;
        let folder = Folder::new("dangling");
        let (path, link) = (folder.0.join("model"), folder.0.join("latest"));
        symlink("model", &link).unwrap();
        symlink("latest", folder.0.join("newest")).unwrap();
        let write = |writer: &mut dyn Write| writer.write_all(b"new");
        replace(&folder.0.join("newest"), write).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let (one, other) = (folder.0.join("one"), folder.0.join("other"));
        symlink("one", &other).unwrap();
        symlink("other", &one).unwrap();
        assert!(replace(&one, write).is_err());
    }

    #[test]
    fn a_name_may_be_as_long_as_names_can_be() {
        let folder = Folder::new("long");
        let path = folder.0.join("m".repeat(255));
        replace(&path, |writer| writer.write_all(b"new")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_may_not_be_written_is_an_error() {
        use std::os::unix::fs::PermissionsExt;
        let folder = Folder::new("read-only");
        let path = folder.0.join("model");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&folder.0, Permissions::from_mode(0o555)).unwrap();
        let result = replace(&path, |writer| writer.write_all(b"new"));
        // Root may write to any folder.
        let is_root = File::create(folder.0.join("probe")).is_ok();
        fs::set_permissions(&folder.0, Permissions::from_mode(0o755)).unwrap();
        if is_root {
            assert!(result.is_ok());
        } else {
            assert_eq!(result.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
            assert_eq!(fs::read_to_string(&path).unwrap(), "old");
            assert_eq!(folder.names(), ["model"]);
        }
    }
}
