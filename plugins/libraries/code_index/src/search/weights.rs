//! How much each thing that speaks for a file counts.

/// How many things speak for a file. In order: its best chunk, its second, its third, the whole file, its path, the
/// names it declares, how much of the question its best chunk has, how much the file has, pairs of words in one name,
/// such pairs in a declared name, how much of its name is asked for, and how well it fits the area that the question
/// begins with.
pub const FEATURES: usize = 12;

/// The weights. They were chosen on other repositories than those whose figures are reported; see `tests/benchmarks/search`.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights {
    /// BM25's saturation, for chunks.
    pub k1: f32,
    /// BM25's normalisation by length, for chunks.
    pub b: f32,
    /// Saturation for files.
    pub file_k1: f32,
    /// Normalisation by length for files.
    pub file_b: f32,
    /// How much an occurrence in a comment counts of one in code.
    pub comment: f32,
    /// How many occurrences it is worth that a declared name has the word.
    pub declared: f32,
    /// How much a pair of neighbouring words counts of a word.
    pub pair: f32,
    /// How much a word of change counts (`fix`, `add`): it says what was done rather than where.
    pub weak: f32,
    /// How much more the words before a colon count in paths: `parser: accept empty lists`.
    pub area: f32,
    /// How much a pair counts that is written as one name in the question.
    pub written: f32,
    /// By what a pair is multiplied for each word between the two.
    pub apart: f32,
    /// What speaks for a file, each between 0 and 1, and how much it counts.
    pub features: [f32; FEATURES],
    /// By what tests are multiplied where the question asks for none.
    pub test: f32,
    /// Likewise examples and benchmarks.
    pub example: f32,
    /// Likewise code of others.
    pub vendored: f32,
    /// Likewise prose.
    pub prose: f32,
    /// Likewise configuration.
    pub data: f32,
    /// By what a file is multiplied that declares what another of the same name defines: a header.
    pub header: f32,
    /// By what a further chunk of a file is multiplied: other files come first.
    pub further: f32,
    /// How much a file gains by a function that is called what is asked for.
    pub function: f32,
    /// How much a passage gains whose file declares a function that is semantically nearer than the mean of those that were
    /// looked at.
    pub declared_semantic: f32,
    /// How much a passage gains that is semantically nearer than the mean of those that were looked at, where there is a
    /// model for it.
    pub semantic: f32,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            k1: 1.2,
            b: 0.5,
            file_k1: 1.2,
            file_b: 0.5,
            comment: 1.0,
            declared: 1.0,
            pair: 0.4,
            weak: 0.4,
            area: 1.5,
            written: 1.5,
            apart: 0.7,
            features: [
                0.205, 0.025, 0.02, 0.195, 0.12, 0.06, 0.03, 0.06, 0.0, 0.025, 0.0, 0.26,
            ],
            test: 0.6,
            example: 0.4,
            vendored: 0.6,
            prose: 0.3,
            data: 0.5,
            header: 0.65,
            further: 0.6,
            function: 0.3,
            declared_semantic: 1.2,
            semantic: 0.5,
        }
    }
}
