//! The images that come with `smartcore`.

use pullback::ndarray::{Array2, Axis};
use pullback::nn::Generator;
use rand::RngExt;
use rand::seq::SliceRandom;

pub const PIXELS: usize = 64;
/// The noise, for a range of brightness of 1; the best of 0, 0.2, 0.4 and 0.6 on twelve seeds.
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

    /// Returns the images at `rows`.
    pub fn select(&self, rows: &[usize]) -> Self {
        Self {
            pixels: self.pixels.select(Axis(0), rows),
            labels: rows.iter().map(|&row| self.labels[row]).collect(),
        }
    }
}

/// Returns the UCI handwritten digits: 1,797 images of 8x8 pixels of 0 to 16.
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

/// Adds noise to every pixel, different each time an image is used: there are few images, and the model
/// should not memorize them.
pub fn with_noise(mut images: Array2<f32>, random: &mut Generator) -> Array2<f32> {
    images.mapv_inplace(|pixel| pixel + random.random_range(-NOISE..NOISE));
    images
}

/// Shuffles and splits: four fifths to train on, one fifth to test on.
pub fn split(images: &Images, seed: u64) -> (Images, Images) {
    let mut rows: Vec<usize> = (0..images.len()).collect();
    rows.shuffle(&mut Generator::seed(seed));
    let (test, training) = rows.split_at(images.len() / 5);
    (images.select(training), images.select(test))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let (training, test) = split(&images, 1);
        assert_eq!((training.len(), test.len()), (1438, 359));
    }
}
