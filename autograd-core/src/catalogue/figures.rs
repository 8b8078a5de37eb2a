//! The largest errors of checked derivatives, in a file for each function, on their way from the tests that
//! measure them to the page that shows them.
//!
//! A file has the function's path on its first line, and on each other one a derivative and its error:
//!
//! ```text
//! pullback::ops::exp::Exp
//! gradient 2.1e-10
//! tangent 2.1e-10
//! ```

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use crate::error::Derivative;

/// By how much the derivatives of a function differ at most from central differences, at the inputs that its
/// test makes up. `None` of a derivative that the test does not look at.
///
/// A central difference is off by itself: by about 1e-9 in `f64` and 1e-3 in `f32`, for derivatives near 1.
///
/// ```
/// use pullback::catalogue::Errors;
///
/// let mut errors = Errors::default();
/// errors.gradient = Some(2e-10);
/// let worst = [errors.gradient, errors.second].into_iter().flatten().fold(0.0, f64::max);
/// assert_eq!((worst, errors.tangent), (2e-10, None));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Errors {
    /// Of the gradient.
    pub gradient: Option<f64>,
    /// Of the gradient of the gradient.
    pub second: Option<f64>,
    /// Of the tangent, in forward mode.
    pub tangent: Option<f64>,
    /// Of what comes of differentiating the tangent.
    pub second_tangent: Option<f64>,
    /// Whether the test failed: the errors are those of what it had found right before.
    pub failed: bool,
}

impl Errors {
    /// Notes one error: the larger of two of the same derivative stays.
    pub(crate) fn note(&mut self, derivative: Derivative, error: f64) {
        let place = match derivative {
            Derivative::First => &mut self.gradient,
            Derivative::Second => &mut self.second,
            Derivative::Tangent => &mut self.tangent,
            Derivative::SecondTangent => &mut self.second_tangent,
        };
        *place = Some(place.unwrap_or(0.0).max(error));
    }

    /// Returns the derivatives that were looked at.
    #[doc(hidden)]
    pub fn each(&self) -> impl Iterator<Item = (Derivative, f64)> {
        let Self {
            gradient,
            second,
            tangent,
            second_tangent,
            failed: _,
        } = *self;
        [gradient, second, tangent, second_tangent]
            .into_iter()
            .zip(NAMES)
            .filter_map(|(error, (derivative, _))| Some((derivative, error?)))
    }
}

/// In the order of [`Derivative`].
const NAMES: [(Derivative, &str); 4] = [
    (Derivative::First, "gradient"),
    (Derivative::Second, "second"),
    (Derivative::Tangent, "tangent"),
    (Derivative::SecondTangent, "second_tangent"),
];

/// The folder that tests are to leave their errors in, if they are: the value of `PULLBACK_CATALOGUE`.
pub(crate) fn wanted() -> Option<PathBuf> {
    let folder = env::var_os("PULLBACK_CATALOGUE")?;
    (!folder.is_empty()).then(|| folder.into())
}

/// The line of a test that failed.
const FAILED: &str = "failed";

/// Before a check of a function, given as module and name: until it ends, it has failed. What earlier checks
/// found is kept, or begun `anew`.
pub(crate) fn begin(folder: &Path, function: [&str; 2], anew: bool) -> io::Result<()> {
    let before = if anew { None } else { read(folder, function)? };
    let errors = Errors {
        failed: true,
        ..before.unwrap_or_default()
    };
    write(folder, function, &errors)
}

/// Writes the errors that a check found, beside those of earlier ones.
pub(crate) fn keep(folder: &Path, function: [&str; 2], mut errors: Errors) -> io::Result<()> {
    for (derivative, error) in read(folder, function)?.unwrap_or_default().each() {
        errors.note(derivative, error);
    }
    write(folder, function, &errors)
}

fn write(folder: &Path, function: [&str; 2], errors: &Errors) -> io::Result<()> {
    let mut lines = vec![function.join("::")];
    if errors.failed {
        lines.push(FAILED.to_owned());
    }
    for (derivative, error) in errors.each() {
        let name = NAMES[derivative as usize].1;
        lines.push(format!("{name} {error:e}"));
    }
    fs::create_dir_all(folder)?;
    fs::write(file(folder, function), lines.join("\n") + "\n")
}

/// The errors of a function, if there are any.
pub(super) fn read(folder: &Path, function: [&str; 2]) -> io::Result<Option<Errors>> {
    let file = file(folder, function);
    let text = match fs::read_to_string(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        text => text?,
    };
    let mut lines = text.lines();
    // Names that differ in what no file's name may have share a file.
    if lines.next() != Some(&function.join("::")) {
        return Ok(None);
    }
    let mut errors = Errors::default();
    for line in lines {
        if line == FAILED {
            errors.failed = true;
            continue;
        }
        let Some((derivative, error)) = figure(line) else {
            let message = format!(
                "{}: `{line}` is not an error of a derivative",
                file.display()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        };
        errors.note(derivative, error);
    }
    Ok(Some(errors))
}

fn figure(line: &str) -> Option<(Derivative, f64)> {
    let (name, error) = line.split_once(' ')?;
    let error: f64 = error.parse().ok()?;
    (error >= 0.0).then_some((derivative(name)?, error))
}

fn derivative(name: &str) -> Option<Derivative> {
    let (derivative, _) = NAMES.into_iter().find(|(_, known)| *known == name)?;
    Some(derivative)
}

fn file(folder: &Path, [module, name]: [&str; 2]) -> PathBuf {
    let path = format!("{}.{name}", module.replace("::", "."));
    let plain = |letter: char| {
        if letter.is_alphanumeric() || "._".contains(letter) {
            letter
        } else {
            '-'
        }
    };
    let path: String = path.chars().map(plain).collect();
    folder.join(path + ".txt")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn temporary(name: &str) -> PathBuf {
        let folder = env::temp_dir().join(format!("pullback-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn what_is_kept_is_read_and_a_first_check_begins_anew() {
        let folder = temporary("figures");
        let function = ["a::b", "Name of / its own"];
        let errors = |gradient, tangent| Errors {
            gradient,
            tangent,
            ..Errors::default()
        };
        assert_eq!(read(&folder, function).unwrap(), None);
        begin(&folder, function, true).unwrap();
        keep(&folder, function, errors(Some(1e-9), None)).unwrap();
        begin(&folder, function, false).unwrap();
        let failed = Errors {
            failed: true,
            ..errors(Some(1e-9), None)
        };
        assert_eq!(read(&folder, function).unwrap(), Some(failed));
        keep(&folder, function, errors(Some(5e-10), Some(0.25))).unwrap();
        let both = errors(Some(1e-9), Some(0.25));
        assert_eq!(read(&folder, function).unwrap(), Some(both));
        begin(&folder, function, true).unwrap();
        let failed = Errors {
            failed: true,
            ..Errors::default()
        };
        assert_eq!(read(&folder, function).unwrap(), Some(failed));
        keep(&folder, function, errors(Some(5e-10), None)).unwrap();
        let anew = errors(Some(5e-10), None);
        assert_eq!(read(&folder, function).unwrap(), Some(anew));
        // Another function whose file has the same name.
        assert_eq!(read(&folder, ["a::b", "Name of - its own"]).unwrap(), None);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_damaged_file_is_an_error() {
        let folder = temporary("damaged");
        fs::create_dir_all(&folder).unwrap();
        for line in [
            "gradient",
            "gradient x",
            "gradient NaN",
            "gradient -1",
            "slope 1e-9",
            "",
        ] {
            let text = format!("m::F\n{line}\ngradient 1e-9\n");
            fs::write(file(&folder, ["m", "F"]), text).unwrap();
            let error = read(&folder, ["m", "F"]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{line}");
            assert!(error.to_string().contains(line), "{error}");
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
