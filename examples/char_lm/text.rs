//! A text as numbers, in windows.

use pullback::ndarray::Array2;
use pullback::nn::Generator;
use rand::RngExt;

/// The number of windows of a section; every tenth section is for the test.
const WINDOWS: usize = 5;
const TEST_EVERY: usize = 10;

/// The different letters of a text, each with a number.
pub struct Letters(Vec<char>);

impl Letters {
    fn of(text: &str) -> Self {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters.dedup();
        Self(letters)
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    pub fn encode(&self, text: &str) -> Result<Vec<usize>, String> {
        let number = |letter: char| {
            let known = self.0.binary_search(&letter);
            known.map_err(|_| format!("the training text does not contain {letter:?}"))
        };
        text.chars().map(number).collect()
    }

    pub fn decode(&self, numbers: &[usize]) -> String {
        numbers.iter().map(|&number| self.0[number]).collect()
    }
}

/// A text in sections, some of which are reserved for the test.
pub struct Text {
    pub letters: Letters,
    training: Vec<Vec<usize>>,
    test: Vec<Vec<usize>>,
    context: usize,
}

impl Text {
    /// Splits a text into windows of `context` letters and one more, which is to be guessed.
    pub fn new(text: &str, context: usize) -> Result<Self, String> {
        let letters = Letters::of(text);
        let numbers = letters.encode(text)?;
        let section = WINDOWS * context + 1;
        let least = TEST_EVERY * section;
        if numbers.len() < least {
            return Err(format!(
                "{} letters are too few: at least {least} are needed",
                numbers.len()
            ));
        }
        let (mut training, mut test) = (Vec::new(), Vec::new());
        for (place, section) in (1..).zip(numbers.chunks_exact(section)) {
            if place % TEST_EVERY == 0 {
                test.push(section.to_vec());
            } else {
                training.push(section.to_vec());
            }
        }
        Ok(Self {
            letters,
            training,
            test,
            context,
        })
    }

    /// Returns how many letters are for the training and for the test.
    pub fn sizes(&self) -> [usize; 2] {
        [&self.training, &self.test].map(|part| part.iter().map(Vec::len).sum())
    }

    /// Draws windows from the training sections, and for each letter the next one.
    pub fn batch(&self, count: usize, random: &mut Generator) -> (Array2<usize>, Vec<usize>) {
        let windows = (0..count).map(|_| {
            let section = &self.training[random.random_range(0..self.training.len())];
            let start = random.random_range(0..section.len() - self.context);
            &section[start..=start + self.context]
        });
        self.pairs(windows)
    }

    /// Returns the test sections, window by window.
    pub fn test(&self) -> (Array2<usize>, Vec<usize>) {
        let starts = (0..WINDOWS).map(|window| window * self.context);
        let windows = self.test.iter().flat_map(|section| {
            let windows = starts.clone();
            windows.map(|start| &section[start..=start + self.context])
        });
        self.pairs(windows)
    }

    fn pairs<'a>(&self, windows: impl Iterator<Item = &'a [usize]>) -> (Array2<usize>, Vec<usize>) {
        let (mut inputs, mut labels) = (Vec::new(), Vec::new());
        for window in windows {
            inputs.extend_from_slice(&window[..self.context]);
            labels.extend_from_slice(&window[1..]);
        }
        let shape = (inputs.len() / self.context, self.context);
        let inputs = Array2::from_shape_vec(shape, inputs).expect("whole windows");
        (inputs, labels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_the_next_letters() {
        let alphabet: String = ('a'..='z').cycle().take(1000).collect();
        let text = Text::new(&alphabet, 8).expect("enough letters");
        assert_eq!(text.sizes(), [22 * 41, 2 * 41]);
        let (inputs, labels) = text.batch(5, &mut Generator::seed(3));
        assert_eq!(inputs.dim(), (5, 8));
        for (input, label) in inputs.iter().zip(&labels) {
            assert_eq!((input + 1) % 26, *label);
        }
        let (inputs, labels) = text.test();
        assert_eq!(inputs.dim(), (10, 8));
        let pairs = inputs.iter().zip(&labels);
        assert!(
            pairs
                .into_iter()
                .all(|(input, label)| (input + 1) % 26 == *label)
        );
    }

    #[test]
    fn unknown_letters_and_short_texts_are_errors() {
        let letters = Letters::of("banana");
        assert_eq!(letters.count(), 3);
        assert_eq!(
            letters.decode(&letters.encode("nab").expect("known letters")),
            "nab"
        );
        let unknown = letters.encode("naïf").expect_err("ï is unknown");
        assert_eq!(unknown, "the training text does not contain 'ï'");
        let short = Text::new("short", 8).err().expect("too short");
        assert_eq!(short, "5 letters are too few: at least 410 are needed");
    }
}
