//! What a file says about the form of its model.

use crate::header::Header;

/// More layers than any model has that could run here; keeps a damaged number from allocating.
const MAX_LAYERS: usize = 512;

/// The dimensions of a decoder.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Dimensions {
    pub(crate) layers: usize,
    pub(crate) heads: usize,
    pub(crate) kv_heads: usize,
    pub(crate) head_width: usize,
    /// Whether a head's rotated pairs are its two halves; otherwise they are neighbours.
    pub(crate) halves: bool,
    pub(crate) rope_base: f64,
    pub(crate) rope_scale: f64,
    pub(crate) epsilon: f64,
    /// The longest conversation in tokens.
    pub(crate) window: usize,
}

impl Dimensions {
    /// Reads them. The error says what is missing or not supported.
    pub(crate) fn read(header: &Header<'_>) -> std::result::Result<Dimensions, Misfit> {
        let architecture = header
            .text("general.architecture")
            .ok_or_else(|| Misfit::missing("general.architecture"))?;
        if !crate::ARCHITECTURES.contains(&architecture) {
            let known = crate::ARCHITECTURES.join(", ");
            return Err(Misfit::Unsupported(format!(
                "its architecture is {architecture:?}; known are {known}"
            )));
        }
        let key = |name: &str| format!("{architecture}.{name}");
        let number = |name: &str| {
            header
                .number(&key(name))
                .filter(|number| *number > 0)
                .ok_or_else(|| Misfit::missing(&key(name)))
        };
        if header
            .number(&key("expert_count"))
            .is_some_and(|count| count > 1)
        {
            return Err(Misfit::Unsupported("it is a mixture of experts".to_owned()));
        }
        let heads = number("attention.head_count")?;
        let width = number("embedding_length")?;
        let head_width = match header.number(&key("attention.key_length")) {
            Some(width) => width,
            None => width / heads,
        };
        let rotated = header.number(&key("rope.dimension_count"));
        let scaling = header.text(&key("rope.scaling.type")).unwrap_or("none");
        let rope_scale = match scaling {
            "none" => 1.0,
            "linear" => header.real(&key("rope.scaling.factor")).unwrap_or(1.0),
            other => {
                return Err(Misfit::Unsupported(format!(
                    "its positions are scaled by {other:?}"
                )));
            }
        };
        let dimensions = Dimensions {
            layers: number("block_count")?,
            heads,
            kv_heads: match header.number(&key("attention.head_count_kv")) {
                Some(heads) => heads,
                None => heads,
            },
            head_width,
            halves: architecture != "llama",
            rope_base: header.real(&key("rope.freq_base")).unwrap_or(10_000.0),
            rope_scale,
            epsilon: header
                .real(&key("attention.layer_norm_rms_epsilon"))
                .unwrap_or(1e-5),
            window: number("context_length")?,
        };
        let sound = dimensions.layers <= MAX_LAYERS
            && dimensions.kv_heads > 0
            && heads.is_multiple_of(dimensions.kv_heads)
            && head_width > 0
            && head_width.is_multiple_of(2)
            && rope_scale > 0.0;
        if !sound {
            return Err(Misfit::Damaged(format!(
                "its dimensions do not fit together: {dimensions:?}"
            )));
        }
        if rotated.is_some_and(|rotated| rotated != head_width) {
            return Err(Misfit::Unsupported(
                "only a part of each head is rotated".to_owned(),
            ));
        }
        Ok(dimensions)
    }

    /// What is kept for each token, in bytes.
    pub(crate) fn bytes_per_token(&self) -> u64 {
        let numbers = [
            2,
            self.layers,
            self.kv_heads,
            self.head_width,
            size_of::<f32>(),
        ];
        numbers
            .into_iter()
            .map(|number| number as u64)
            .fold(1, u64::saturating_mul)
    }
}

/// Why a header cannot be used.
#[derive(Debug, PartialEq)]
pub(crate) enum Misfit {
    Damaged(String),
    Unsupported(String),
}

impl Misfit {
    pub(crate) fn missing(key: &str) -> Misfit {
        Misfit::Damaged(format!("{key} is missing"))
    }
}
