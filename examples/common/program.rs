//! What the examples have in common as programs: a command line, and an outcome that is checked.

use std::error::Error;
use std::fmt::Display;
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::ExitCode;
use std::str::FromStr;

/// Pairs of an option and its value, taken one by one.
pub struct Arguments {
    left: Vec<String>,
    usage: &'static str,
}

/// Runs a program on the command line's arguments, or prints how to use it. An error is printed
/// after the program's name.
pub fn run(
    name: &str,
    usage: &'static str,
    program: impl FnOnce(Arguments) -> Result<(), Box<dyn Error>>,
) -> ExitCode {
    let left: Vec<String> = std::env::args().skip(1).collect();
    if left.iter().any(|word| word == "--help" || word == "-h") {
        println!("{usage}");
        return ExitCode::SUCCESS;
    }
    match program(Arguments { left, usage }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::FAILURE
        }
    }
}

impl Arguments {
    /// The value of an option, or what stands for it if it is not given.
    pub fn take<V>(&mut self, name: &str, default: V) -> Result<V, String>
    where
        V: FromStr<Err: Display>,
    {
        let Some(place) = self.left.iter().position(|word| word == name) else {
            return Ok(default);
        };
        self.left.remove(place);
        if place == self.left.len() || self.left[place].starts_with("--") {
            return Err(format!("{name} needs a value"));
        }
        let value = self.left.remove(place);
        value
            .parse()
            .map_err(|error| format!("{name} cannot be `{value}`: {error}"))
    }

    /// As [`take`](Self::take), of a number with limits.
    pub fn take_within<V>(
        &mut self,
        name: &str,
        default: V,
        limits: RangeInclusive<V>,
    ) -> Result<V, String>
    where
        V: FromStr<Err: Display> + Display + PartialOrd,
    {
        let value = self.take(name, default)?;
        if limits.contains(&value) {
            return Ok(value);
        }
        let (least, most) = limits.into_inner();
        Err(format!("{name} must be {least} to {most}, found {value}"))
    }

    /// Refuses what no option took.
    pub fn finish(self) -> Result<(), String> {
        match self.left.first() {
            None => Ok(()),
            Some(word) => Err(format!("unknown option {word}\n\n{}", self.usage)),
        }
    }
}

/// Sees to it that a file can be written at a path whose folder may not exist yet.
pub fn make_folder_of(path: &Path) -> Result<(), String> {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    folder.map_or(Ok(()), |folder| {
        fs::create_dir_all(folder)
            .map_err(|error| format!("cannot make the folder {}: {error}", folder.display()))
    })
}

/// Prints a result beside its bound, and fails if it is not below. What is no number is not.
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
        Arguments {
            left: words.iter().map(|&word| word.to_owned()).collect(),
            usage: "how to use it",
        }
    }

    #[test]
    fn options_are_read_in_any_order() {
        let mut given = arguments(&["--rate", "0.5", "--seed", "7"]);
        assert_eq!(given.take("--seed", 1_u64), Ok(7));
        assert_eq!(given.take_within("--rate", 0.1, 0.0..=1.0), Ok(0.5));
        assert_eq!(given.take("--size", 3_usize), Ok(3));
        assert_eq!(given.finish(), Ok(()));
    }

    #[test]
    fn mistakes_are_told() {
        let number = |words: &[&str]| arguments(words).take_within("--size", 5, 2..=9);
        let refused = |words: &[&str]| number(words).expect_err("a mistake");
        assert_eq!(refused(&["--size"]), "--size needs a value");
        assert_eq!(refused(&["--size", "--seed", "1"]), "--size needs a value");
        assert_eq!(
            refused(&["--size", "x"]),
            "--size cannot be `x`: invalid digit found in string"
        );
        assert_eq!(refused(&["--size", "1"]), "--size must be 2 to 9, found 1");
        let unknown = arguments(&["--sice", "1"]).finish().expect_err("a mistake");
        assert_eq!(unknown, "unknown option --sice\n\nhow to use it");
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        assert_eq!(make_folder_of(Path::new("picture.svg")), Ok(()));
        let inside = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml/folder/picture.svg");
        let error = make_folder_of(&inside).expect_err("a file is no folder");
        assert!(error.starts_with("cannot make the folder") && error.contains("Cargo.toml"));
    }

    #[test]
    fn a_result_is_below_its_bound_or_an_error() {
        assert_eq!(below("error", 0.5, 1.0), Ok(()));
        assert!(below("error", 1.0, 1.0).is_err());
        assert!(below("error", f64::NAN, 1.0).is_err());
    }
}
