//! The images: those that come with `smartcore`, or a file's.

use std::fs;
use std::path::Path;

use pullback::ndarray::{Array2, Axis};
use pullback::nn::Generator;
use rand::RngExt;
use rand::seq::SliceRandom;

pub const PIXELS: usize = 64;
/// Of a range of brightness of 1; found by trying 0, 0.2, 0.4 and 0.6 on twelve seeds.
const NOISE: f32 = 0.2;
pub const CLASSES: usize = 10;

/// Images as rows of pixels between 0 and 1, each with its label.
pub struct Images {
    pub pixels: Array2<f32>,
    pub labels: Vec<usize>,
}

impl Images {
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// The images at `rows`.
    pub fn select(&self, rows: &[usize]) -> Self {
        Self {
            pixels: self.pixels.select(Axis(0), rows),
            labels: rows.iter().map(|&row| self.labels[row]).collect(),
        }
    }
}

/// The UCI handwritten digits: 1,797 images of 8x8 pixels of 0 to 16.
pub fn bundled() -> Images {
    let digits = smartcore::dataset::digits::load_dataset();
    let pixels = Array2::from_shape_vec((digits.num_samples, digits.num_features), digits.data)
        .expect("a row of features for each sample");
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "0 to 9"
    )]
    let labels = digits.target.iter().map(|&label| label as usize).collect();
    Images {
        pixels: pixels / 16.0,
        labels,
    }
}

/// Reads rows of 64 pixels and a label. Pixels may be of any positive range.
pub fn read_csv(path: &Path) -> Result<Images, String> {
    let shown = path.display();
    let text = fs::read_to_string(path).map_err(|error| format!("cannot read {shown}: {error}"))?;
    parse_csv(&text).map_err(|error| format!("{shown}: {error}"))
}

fn parse_csv(text: &str) -> Result<Images, String> {
    let mut pixels = Vec::new();
    let mut labels = Vec::new();
    for (line, row) in (1..).zip(text.lines()) {
        if !row.trim().is_empty() {
            labels.push(
                parse_row(row, &mut pixels).map_err(|error| format!("line {line}: {error}"))?,
            );
        }
    }
    if labels.is_empty() {
        return Err("no rows: 64 pixels and a label in each are needed".to_owned());
    }
    let brightest = pixels
        .iter()
        .fold(0.0_f32, |brightest, &pixel| brightest.max(pixel));
    if brightest <= 0.0 {
        return Err("every pixel is 0: there is nothing to learn from".to_owned());
    }
    let pixels = Array2::from_shape_vec((labels.len(), PIXELS), pixels)
        .expect("64 pixels were read for each label");
    Ok(Images {
        pixels: pixels / brightest,
        labels,
    })
}

/// Appends a row's pixels and returns its label.
fn parse_row(row: &str, pixels: &mut Vec<f32>) -> Result<usize, String> {
    let fields: Vec<&str> = row.split(',').map(str::trim).collect();
    if fields.len() != PIXELS + 1 {
        return Err(format!(
            "64 pixels and a label are needed, found {} fields",
            fields.len()
        ));
    }
    for (column, field) in (1..).zip(&fields[..PIXELS]) {
        let pixel: f32 = field
            .parse()
            .map_err(|_| format!("pixel {column} is not a number: `{field}`"))?;
        if !pixel.is_finite() || pixel < 0.0 {
            return Err(format!("pixel {column} is not a brightness: `{field}`"));
        }
        pixels.push(pixel);
    }
    let label = fields[PIXELS];
    match label.parse() {
        Ok(label) if label < CLASSES => Ok(label),
        _ => Err(format!("the label is not a digit from 0 to 9: `{label}`")),
    }
}

/// Adds noise to every pixel, anew for each look at an image: there are few images, and none should
/// be learnt by heart.
pub fn with_noise(mut images: Array2<f32>, random: &mut Generator) -> Array2<f32> {
    images.mapv_inplace(|pixel| pixel + random.random_range(-NOISE..NOISE));
    images
}

/// Shuffles and splits: four fifths to train on, one fifth to test on.
pub fn split(images: &Images, seed: u64) -> Result<(Images, Images), String> {
    let test = images.len() / 5;
    if test == 0 {
        return Err(format!(
            "{} images are too few: at least 5 are needed",
            images.len()
        ));
    }
    let mut rows: Vec<usize> = (0..images.len()).collect();
    rows.shuffle(&mut Generator::seed(seed));
    let (test, training) = rows.split_at(test);
    Ok((images.select(training), images.select(test)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(label: &str) -> String {
        format!("{}{label}\n", "3,".repeat(PIXELS))
    }

    fn failure(text: &str) -> String {
        parse_csv(text).err().expect("a damaged file is refused")
    }

    #[test]
    fn good_rows_are_read() {
        let images = parse_csv(&(row("7") + "\n" + &row("0"))).unwrap();
        assert_eq!(images.labels, [7, 0]);
        assert_eq!(images.pixels, Array2::ones((2, PIXELS)));
    }

    #[test]
    fn damage_is_told_with_its_line() {
        assert_eq!(
            failure(&(row("7") + "1,2\n")),
            "line 2: 64 pixels and a label are needed, found 2 fields"
        );
        assert_eq!(
            failure(&(row("1") + &row("1").replacen('3', "x", 1))),
            "line 2: pixel 1 is not a number: `x`"
        );
        assert_eq!(
            failure(&row("1").replacen('3', "NaN", 1)),
            "line 1: pixel 1 is not a brightness: `NaN`"
        );
        assert_eq!(
            failure(&row("10")),
            "line 1: the label is not a digit from 0 to 9: `10`"
        );
        assert_eq!(
            failure("\n \n"),
            "no rows: 64 pixels and a label in each are needed"
        );
    }

    #[test]
    fn the_bundled_digits_are_whole() {
        let images = bundled();
        assert_eq!((images.len(), images.pixels.dim()), (1797, (1797, PIXELS)));
        assert!(images.labels.iter().all(|&label| label < CLASSES));
        assert!(
            images
                .pixels
                .iter()
                .all(|pixel| (0.0..=1.0).contains(pixel))
        );
        let (training, test) = split(&images, 1).unwrap();
        assert_eq!((training.len(), test.len()), (1438, 359));
    }
}
