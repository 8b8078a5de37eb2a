//! A browser without a window, for tests of the pages that the library writes. There is one where
//! `chromium`, `chromium-browser` or `google-chrome` is on `PATH` and can show a page; elsewhere the tests
//! print that they are skipped.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use std::{env, io, thread};

use serde_json::Value;

const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Two seconds are usual.
const LIMIT: Duration = Duration::from_secs(120);

/// It asks no questions, stores nothing, and runs in containers too: as root, with little shared memory.
const FLAGS: [&str; 13] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--enable-logging=stderr",
    "--dump-dom",
];

/// A page after the browser has run its scripts.
pub struct Opened {
    /// The source of the page after its scripts ran.
    pub page: String,
    /// The messages on the console, uncaught errors included.
    pub console: Vec<String>,
}

impl Opened {
    /// Returns the value that the script of a test reported with [`REPORT`].
    pub fn report(&self) -> Value {
        let (_, report) = self
            .page
            .rsplit_once("<pre id=\"report\">")
            .unwrap_or_else(|| panic!("no report; the console has {:?}", self.console));
        let (report, _) = report.split_once("</pre>").expect("its end");
        let report = report.replace("&lt;", "<").replace("&gt;", ">");
        let report = report.replace("&nbsp;", "\u{a0}").replace("&amp;", "&");
        serde_json::from_str(&report).expect("the report is JSON")
    }
}

/// A function for scripts: `report(value)` stores a value for [`Opened::report`].
const REPORT: &str = "const report = value => document.body.append(Object.assign(\
    document.createElement('pre'), {id: 'report', textContent: JSON.stringify(value)}));";

/// Returns a copy of a page that runs `script` after its scripts.
pub fn with_script(page: &str, script: &str) -> String {
    let (before, after) = page.rsplit_once("</body>").expect("a page has a body");
    format!("{before}<script>{REPORT}\n{script}</script></body>{after}")
}

/// Returns whether there is a browser, and prints the reason if not.
pub fn is_there() -> bool {
    match browser() {
        Ok(_) => true,
        Err(reason) => {
            println!("skipped: {reason}");
            false
        }
    }
}

/// Opens a page at `fragment`, which is empty or begins with `#`, in a window of this width.
///
/// # Panics
/// If the browser fails, or takes longer than two minutes.
pub fn open(page: &str, fragment: &str, width: u32) -> Opened {
    let program = browser().as_ref().expect("`is_there` has returned true");
    run(program, page, fragment, width).unwrap_or_else(|reason| panic!("{reason}"))
}

/// Returns the browser's path, or the reason why there is none. A browser that cannot show an empty page is not used.
fn browser() -> &'static Result<PathBuf, String> {
    static BROWSER: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    BROWSER.get_or_init(|| {
        let path = env::var_os("PATH").unwrap_or_default();
        let programs =
            env::split_paths(&path).flat_map(|folder| NAMES.map(|name| folder.join(name)));
        let program = programs
            .into_iter()
            .find(|program| program.is_file())
            .ok_or_else(|| format!("none of {} is on PATH", NAMES.join(", ")))?;
        let empty = "<!DOCTYPE html><title>a page</title>";
        match run(&program, empty, "", 800) {
            Ok(opened) if opened.page.contains("<title>a page</title>") => Ok(program),
            Ok(_) => Err(format!("{} shows nothing", program.display())),
            Err(reason) => Err(reason),
        }
    })
}

fn run(program: &Path, page: &str, fragment: &str, width: u32) -> Result<Opened, String> {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    static TURN: Mutex<()> = Mutex::new(());
    // Several browsers at once would take longer than the limit.
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let number = RUNS.fetch_add(1, Ordering::Relaxed);
    let folders = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser");
    if number == 0 {
        // The folders of earlier failures.
        let _ = fs::remove_dir_all(&folders);
    }
    let folder = folders.join(number.to_string());
    let ended = prepared(&folder, page).and_then(|file| {
        let mut child = Command::new(program)
            .args(FLAGS)
            .arg(format!("--window-size={width},900"))
            .arg(format!(
                "--user-data-dir={}",
                folder.join("profile").display()
            ))
            .arg(address(&file) + fragment)
            .stdin(Stdio::null())
            // A pipe that is not read would block the browser when it is full.
            .stdout(File::create(folder.join("stdout"))?)
            .stderr(File::create(folder.join("stderr"))?)
            .spawn()?;
        ended(&mut child, LIMIT)
    });
    let read = |name: &str| fs::read(folder.join(name)).unwrap_or_default();
    let text = |name: &str| String::from_utf8_lossy(&read(name)).into_owned();
    let (page, errors) = (text("stdout"), text("stderr"));
    let program = program.display();
    let result = match ended {
        Ok(Some(status)) if status.success() => Ok(Opened {
            page,
            console: console(&errors),
        }),
        Ok(Some(status)) => Err(format!("{program} ended with {status}: {errors}")),
        Ok(None) => Err(format!("{program} took longer than {LIMIT:?}: {errors}")),
        Err(error) => Err(format!("{program} does not run: {error}")),
    };
    // The folder of a failure is kept.
    if result.is_ok() {
        let _ = fs::remove_dir_all(&folder);
    }
    result
}

/// Writes the page into a new folder.
fn prepared(folder: &Path, page: &str) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let file = folder.join("page.html");
    fs::write(&file, page)?;
    Ok(file)
}

/// Returns the URL of a file, with escapes.
fn address(file: &Path) -> String {
    let mut address = "file://".to_owned();
    for &byte in file.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => address.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => address.push(char::from(byte)),
            _ => address.extend(format!("%{byte:02X}").chars()),
        }
    }
    address
}

/// Waits until the program ends; returns `None` if it had to be stopped.
fn ended(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if begun.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Returns the messages of scripts in the browser's log: `[…:INFO:CONSOLE:1] "message", source: …`.
fn console(log: &str) -> Vec<String> {
    let messages = log.lines().filter_map(|line| {
        let (_, message) = line.split_once(":CONSOLE")?;
        let (_, message) = message.split_once("] ")?;
        Some(message.to_owned())
    });
    messages.collect()
}

#[cfg(unix)]
#[test]
fn a_browser_that_fails_or_hangs_is_an_error() -> io::Result<()> {
    let failure = |program: &str| run(Path::new(program), "", "", 800).err();
    let failed = failure("false").expect("a failure");
    assert!(
        failed.starts_with("false ended with exit status: 1"),
        "{failed}"
    );
    let missing = failure("no such program").expect("a failure");
    assert!(
        missing.starts_with("no such program does not run: "),
        "{missing}"
    );
    let mut child = Command::new("sleep").arg("600").spawn()?;
    assert_eq!(ended(&mut child, Duration::from_millis(50))?, None);
    assert_eq!(
        address(Path::new("/a b/ö#.html")),
        "file:///a%20b/%C3%B6%23.html"
    );
    Ok(())
}

#[test]
fn reports_and_console_messages_are_read() {
    if !is_there() {
        return;
    }
    let page = "<!DOCTYPE html><title>a</title><body><script>nothing();</script></body>";
    let page = with_script(
        page,
        "report({ text: 'a < b & \\u00a0', width: innerWidth });",
    );
    let opened = open(&page, "", 390);
    assert_eq!(opened.report()["text"], "a < b & \u{a0}");
    assert_eq!(opened.console.len(), 1, "{:?}", opened.console);
    assert!(opened.console[0].contains("nothing is not defined"));
}
