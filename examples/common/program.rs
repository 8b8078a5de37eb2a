//! The common parts of the programs: a command line, and a checked result.

use std::error::Error;
use std::ffi::OsString;
use std::fmt::Display;
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::ExitCode;
use std::str::FromStr;

use lexopt::{Arg, Parser, ValueExt};

type Outcome<V> = Result<V, Box<dyn Error>>;

/// Names of options with their values, taken one by one.
pub struct Arguments {
    left: Vec<(String, Option<OsString>)>,
    usage: &'static str,
}

/// Runs a program on the command line's arguments, or prints how to use it. An error is printed
/// after the program's name.
pub fn run(
    name: &str,
    usage: &'static str,
    program: impl FnOnce(Arguments) -> Outcome<()>,
) -> ExitCode {
    let outcome = Arguments::read(Parser::from_env(), usage).and_then(|arguments| {
        if arguments.left.iter().any(|(name, _)| name == "help") {
            println!("{usage}");
            return Ok(());
        }
        program(arguments)
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::FAILURE
        }
    }
}

impl Arguments {
    fn read(mut parser: Parser, usage: &'static str) -> Outcome<Self> {
        let mut left = Vec::new();
        while let Some(argument) = parser.next()? {
            let name = match argument {
                Arg::Long(name) => name.to_owned(),
                Arg::Short('h') => "help".to_owned(),
                other => return Err(other.unexpected().into()),
            };
            left.push((name, parser.value().ok()));
        }
        Ok(Self { left, usage })
    }

    /// Returns the value of an option, or the default if it is not given.
    pub fn take<V>(&mut self, name: &str, default: V) -> Outcome<V>
    where
        V: FromStr<Err: Into<Box<dyn Error + Send + Sync>>>,
    {
        let Some(place) = self.left.iter().position(|(given, _)| given == name) else {
            return Ok(default);
        };
        let (_, value) = self.left.remove(place);
        let value = value.ok_or_else(|| format!("--{name} needs a value"))?;
        Ok(value
            .parse()
            .map_err(|error| format!("--{name}: {error}"))?)
    }

    /// Like [`take`](Self::take), for a number with limits.
    pub fn take_within<V>(
        &mut self,
        name: &str,
        default: V,
        limits: RangeInclusive<V>,
    ) -> Outcome<V>
    where
        V: FromStr<Err: Into<Box<dyn Error + Send + Sync>>> + Display + PartialOrd,
    {
        let value = self.take(name, default)?;
        if limits.contains(&value) {
            return Ok(value);
        }
        let (least, most) = limits.into_inner();
        Err(format!("--{name} must be {least} to {most}, found {value}").into())
    }

    /// Fails if there are options that were not taken.
    pub fn finish(self) -> Outcome<()> {
        match self.left.first() {
            None => Ok(()),
            Some((name, _)) => Err(format!("unknown option --{name}\n\n{}", self.usage).into()),
        }
    }
}

/// Creates the folder of a path, so that a file can be written there.
pub fn make_folder_of(path: &Path) -> Result<(), String> {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    folder.map_or(Ok(()), |folder| {
        fs::create_dir_all(folder)
            .map_err(|error| format!("cannot make the folder {}: {error}", folder.display()))
    })
}

/// Prints a result beside its bound, and fails if it is not below. NaN is not below.
pub fn below(what: &str, value: f64, bound: f64) -> Result<(), String> {
    println!("{what}: {value:.3e} (bound {bound:.1e})");
    if value < bound {
        return Ok(());
    }
    Err(format!(
        "{what} is {value:.3e}, and should be below {bound:.1e}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(words: &[&str]) -> Arguments {
        Arguments::read(Parser::from_args(words), "how to use it").expect("options")
    }

    #[test]
    fn options_are_read_in_any_order() {
        let mut given = arguments(&["--rate", "0.5", "--seed=7"]);
        assert_eq!(given.take("seed", 1_u64).unwrap(), 7);
        assert_eq!(given.take_within("rate", 0.1, 0.0..=1.0).unwrap(), 0.5);
        assert_eq!(given.take("size", 3_usize).unwrap(), 3);
        given.finish().unwrap();
    }

    #[test]
    fn mistakes_are_errors() {
        let refused = |words: &[&str]| {
            let mut given = arguments(words);
            let size = given.take_within("size", 5, 2..=9);
            let error = size.and_then(|_| given.finish()).expect_err("a mistake");
            error.to_string()
        };
        assert_eq!(refused(&["--size"]), "--size needs a value");
        assert_eq!(
            refused(&["--size", "x"]),
            "--size: cannot parse argument \"x\": invalid digit found in string"
        );
        assert_eq!(refused(&["--size", "1"]), "--size must be 2 to 9, found 1");
        let unknown = "unknown option --sice\n\nhow to use it";
        assert_eq!(refused(&["--sice", "1"]), unknown);
        assert_eq!(refused(&["--sice"]), unknown);
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        assert_eq!(make_folder_of(Path::new("picture.svg")), Ok(()));
        let inside = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml/folder/picture.svg");
        let error = make_folder_of(&inside).expect_err("a file is not a folder");
        assert!(error.starts_with("cannot make the folder") && error.contains("Cargo.toml"));
    }

    #[test]
    fn a_result_is_below_its_bound_or_an_error() {
        assert_eq!(below("error", 0.5, 1.0), Ok(()));
        assert!(below("error", 1.0, 1.0).is_err());
        assert!(below("error", f64::NAN, 1.0).is_err());
    }
}
