//! The model: blocks of attention and a perceptron, as in GPT-2 (Radford et al., 2019).

use pullback::ndarray::{Array2, ArrayView2, Axis, s};
use pullback::nn::{
    Dropout, Embedding, Gelu, Generator, LayerNorm, Linear, MultiheadAttention, Sequential,
};
use pullback::prelude::*;
use rand::RngExt;

const WIDTH: usize = 64;
const HEADS: usize = 4;
const BLOCKS: usize = 2;
const DROPOUT: f64 = 0.1;

#[derive(Module)]
pub struct LanguageModel {
    letters: Embedding,
    places: Embedding,
    blocks: Vec<Block>,
    norm: LayerNorm,
    head: Linear,
    #[module(skip)]
    context: usize,
}

/// x + attention(norm(x)), then x + perceptron(norm(x)).
#[derive(Module)]
struct Block {
    attention_norm: LayerNorm,
    attention: MultiheadAttention,
    perceptron_norm: LayerNorm,
    perceptron: Sequential<(Linear, Gelu, Linear, Dropout)>,
}

impl Block {
    fn new(random: &mut Generator) -> Self {
        Self {
            attention_norm: LayerNorm::new(WIDTH),
            attention: MultiheadAttention::builder(WIDTH, HEADS)
                .causal(true)
                .build(random),
            perceptron_norm: LayerNorm::new(WIDTH),
            perceptron: Sequential::new((
                Linear::new(WIDTH, 4 * WIDTH, random),
                Gelu,
                Linear::new(4 * WIDTH, WIDTH, random),
                Dropout::new(DROPOUT, random),
            )),
        }
    }
}

impl Forward<&Tensor3<f32>> for Block {
    type Output = Tensor3<f32>;

    fn forward(&self, x: &Tensor3<f32>) -> Tensor3<f32> {
        let x = x + self.attention.forward(&self.attention_norm.forward(x));
        let change: Tensor3<f32> = self.perceptron.forward(&self.perceptron_norm.forward(&x));
        x + change
    }
}

impl LanguageModel {
    pub fn new(letters: usize, context: usize, random: &mut Generator) -> Self {
        Self {
            letters: Embedding::new(letters, WIDTH, random),
            places: Embedding::new(context, WIDTH, random),
            blocks: (0..BLOCKS).map(|_| Block::new(random)).collect(),
            norm: LayerNorm::new(WIDTH),
            head: Linear::new(WIDTH, letters, random),
            context,
        }
    }

    /// Continues `start`, letter by letter: the lower the temperature, the safer.
    pub fn sample(
        &mut self,
        start: &[usize],
        letters: usize,
        temperature: f32,
        random: &mut Generator,
    ) -> Vec<usize> {
        self.eval();
        let mut written = start.to_vec();
        for _ in 0..letters {
            let seen = &written[written.len().saturating_sub(self.context)..];
            let window = ArrayView2::from_shape((1, seen.len()), seen).expect("one row");
            let scores = no_grad(|| self.forward(&window.to_owned()));
            let last = scores.slice(s![-1.., ..]) / temperature;
            let chances = last.softmax(Axis(1)).to_array();
            written.push(draw(chances.iter().copied(), random));
        }
        written
    }
}

/// Maps letter numbers of shape `[texts, places]` to scores of the next letters, of shape
/// `[texts · places, letters]`.
impl Forward<&Array2<usize>> for LanguageModel {
    type Output = Tensor2<f32>;

    fn forward(&self, letters: &Array2<usize>) -> Tensor2<f32> {
        let (texts, places) = letters.dim();
        let numbers: Vec<usize> = (0..places).collect();
        let places_of = ArrayView2::from_shape((1, places), &numbers)
            .expect("one row")
            .to_owned();
        let mut x: Tensor3<f32> = self.letters.forward(letters) + self.places.forward(&places_of);
        for block in &self.blocks {
            x = block.forward(&x);
        }
        let x = self.norm.forward(&x).reshape((texts * places, WIDTH));
        self.head.forward(&x)
    }
}

/// Draws a number with these probabilities, which sum to one.
fn draw(chances: impl Iterator<Item = f32>, random: &mut Generator) -> usize {
    let mut left: f32 = random.random_range(0.0..1.0);
    let mut drawn = 0;
    for (number, chance) in chances.enumerate() {
        drawn = number;
        left -= chance;
        if left < 0.0 {
            break;
        }
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_does_not_see_the_next_ones() {
        let mut model = LanguageModel::new(7, 5, &mut Generator::seed(2));
        model.eval();
        let mut letters = Array2::from_shape_fn((1, 5), |(_, place)| place);
        let before = model.forward(&letters).to_array();
        letters[[0, 4]] = 6;
        let after = model.forward(&letters).to_array();
        assert_eq!(before.slice(s![..4, ..]), after.slice(s![..4, ..]));
        assert_ne!(before.row(4), after.row(4));
    }

    #[test]
    fn draws_follow_the_chances() {
        let mut random = Generator::seed(1);
        let ones = (0..1000).filter(|_| draw([0.25, 0.75].into_iter(), &mut random) == 1);
        assert!((700..800).contains(&ones.count()));
    }
}
