//! What the embedding model was taught about code, as a small change of its weights.
//!
//! The change of each matrix is the product of two thin ones (LoRA, <https://arxiv.org/abs/2106.09685>), which were
//! learnt from first sentences of documentation and the functions that they stand at. `tests/benchmarks/search/teach.py` makes
//! the file, from packages that no figure is reported of.

use candle_core::safetensors::SliceSafetensors;
use candle_core::{DType, Device, Result, Tensor};

/// For each matrix `NAME.down` (from × rank) and `NAME.up` (rank × to) of F16, and what tells the model.
const CODE: &[u8] = include_bytes!("code.safetensors");

/// The tensor of the model by which it is told.
const TOLD_BY: &str = "embeddings.LayerNorm.weight";

/// Two for each of six matrices.
const TENSORS_OF_LAYER: usize = 12;

/// The changes of a model's weights.
pub(crate) struct Adapter {
    tensors: SliceSafetensors<'static>,
}

impl Adapter {
    /// The one that comes with the program.
    pub(crate) fn of_code() -> Result<Adapter> {
        Ok(Adapter {
            tensors: SliceSafetensors::new(CODE)?,
        })
    }

    /// Whether the model that has this tensor, and so many layers, is the one that was taught: to any other, the
    /// changes are noise.
    pub(crate) fn is_for(&self, told_by: &Tensor, layers: usize) -> bool {
        let same = || -> Result<bool> {
            let taught: Vec<f32> = self.tensors.load(TOLD_BY, &Device::Cpu)?.to_vec1()?;
            Ok(taught == told_by.to_vec1::<f32>()?)
        };
        let count = self.tensors.tensors().len();
        count == layers * TENSORS_OF_LAYER + 1 && same().unwrap_or(false)
    }

    /// What is added to a matrix, in its shape: to × from.
    pub(crate) fn change(&self, name: &str) -> Result<Tensor> {
        let part = |part: &str| {
            let tensor = self.tensors.load(&format!("{name}.{part}"), &Device::Cpu)?;
            tensor.to_dtype(DType::F32)
        };
        part("down")?.matmul(&part("up")?)?.t()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_a_change_for_each_matrix_of_the_model() {
        let adapter = Adapter::of_code().unwrap();
        for layer in 0..6 {
            for (name, shape) in [
                ("attention.self.query", [384, 384]),
                ("attention.self.key", [384, 384]),
                ("attention.self.value", [384, 384]),
                ("attention.output.dense", [384, 384]),
                ("intermediate.dense", [1536, 384]),
                ("output.dense", [384, 1536]),
            ] {
                let name = format!("encoder.layer.{layer}.{name}");
                let change = adapter.change(&name).unwrap();
                assert_eq!(change.dims(), shape, "{name}");
                let most: f32 = change
                    .abs()
                    .and_then(|change| change.max_all()?.to_scalar())
                    .unwrap();
                // Weights are some hundredths: a change of another order would be none of this model.
                assert!((1e-4..0.5).contains(&most), "{name}: {most}");
            }
        }
        assert!(adapter.change("encoder.layer.6.output.dense").is_err());
    }

    #[test]
    fn only_the_model_that_was_taught_is_changed() {
        let adapter = Adapter::of_code().unwrap();
        let told_by = adapter.tensors.load(TOLD_BY, &Device::Cpu).unwrap();
        assert!(adapter.is_for(&told_by, 6));
        assert!(!adapter.is_for(&told_by, 12));
        assert!(!adapter.is_for(&(&told_by + 1e-3).unwrap(), 6));
        assert!(!adapter.is_for(&told_by.narrow(0, 0, 8).unwrap(), 6));
    }
}
