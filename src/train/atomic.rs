//! Files that are there whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::data::BoxError;

/// Lets `write` write a file beside `path`, and gives it that name when it is on the disk. Whatever goes
/// wrong, a file that was there before is as it was.
pub(super) fn write(
    path: &Path,
    write: impl FnOnce(&Path) -> Result<(), BoxError>,
) -> Result<(), BoxError> {
    let folder = folder_of(path);
    fs::create_dir_all(folder)?;
    let temporary = Temporary(temporary(path)?);
    write(&temporary.0)?;
    if !temporary.0.is_file() {
        return Err(format!("nothing was written to {}", temporary.0.display()).into());
    }
    // The new name must not reach the disk before the contents do.
    OpenOptions::new()
        .write(true)
        .open(&temporary.0)?
        .sync_all()?;
    fs::rename(&temporary.0, path)?;
    // Folders can be synchronised on Unix only. The file is whole in either case, and not every file system
    // can.
    if cfg!(unix) {
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
    Ok(())
}

pub(super) fn folder_of(path: &Path) -> &Path {
    let folder = path.parent();
    folder
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Removed when it is let go, after a panic too. After the renaming there is no file of that name.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A name of its own in the same folder, as only there renaming is one step. Its end is that of `path`, by
/// which some formats are chosen.
fn temporary(path: &Path) -> io::Result<PathBuf> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path has no file name"))?;
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut temporary = OsString::from(format!(".tmp-{}-{count}-", process::id()));
    temporary.push(name);
    Ok(folder_of(path).join(temporary))
}
