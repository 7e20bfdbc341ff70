//! The numbers of a model: read out of its file, in the form in which they are computed with fastest.

use std::io::{Read, Seek};
use std::sync::Arc;

use candle_core::quantized::gguf_file::{Content, TensorInfo};
use candle_core::quantized::{GgmlDType, QMatMul, QTensor};
use candle_core::{Device, Module, Result, Tensor, bail};

use crate::dimensions::Misfit;

/// The longest vector, in numbers: ten times the widest model's. Vectors are widened to 32 bits each, so one
/// that pretends to be a matrix would take many times its size in the file.
const MAX_VECTOR: usize = 1 << 18;

/// What a model takes in memory, in bytes, when its weights are computed with: the kernels keep a second form of
/// them, and the largest is widened for a moment while it is read.
///
/// # Errors
/// The file has less in it than it promises. So nothing is ever allocated by a promise.
pub(crate) fn memory(content: &Content, file_bytes: u64) -> std::result::Result<u64, Misfit> {
    let (mut stored, mut computed, mut widest) = (0_u64, 0_u64, 0_u64);
    for (name, info) in &content.tensor_infos {
        let (numbers, bytes) = extent(info)
            .ok_or_else(|| Misfit::Damaged(format!("the size of {name:?} is impossible")))?;
        let quick = match is_slow(info.ggml_dtype) {
            true => {
                numbers.saturating_mul(GgmlDType::Q8_0.type_size() as u64)
                    / GgmlDType::Q8_0.block_size() as u64
            }
            false => bytes,
        };
        stored = stored.saturating_add(bytes);
        computed = computed.saturating_add(quick);
        widest = widest.max(numbers.saturating_mul(size_of::<f32>() as u64));
    }
    let there = file_bytes.saturating_sub(content.tensor_data_offset);
    if stored > there {
        return Err(Misfit::Damaged(format!(
            "it ends early: {} MB of weights are promised, and there is room for {}",
            stored / 1_000_000,
            there / 1_000_000
        )));
    }
    Ok(computed.saturating_mul(2).saturating_add(widest))
}

/// How many numbers a tensor has, and how many bytes of the file they take. `None`: no machine has so many, or they do
/// not fill their blocks.
fn extent(info: &TensorInfo) -> Option<(u64, u64)> {
    let numbers = info
        .shape
        .dims()
        .iter()
        .try_fold(1_u64, |product, size| product.checked_mul(*size as u64))?;
    let block = info.ggml_dtype.block_size() as u64;
    if !numbers.is_multiple_of(block) {
        return None;
    }
    let bytes = (numbers / block).checked_mul(info.ggml_dtype.type_size() as u64)?;
    Some((numbers, bytes))
}

/// A matrix, with what is added after it.
pub(crate) struct Linear {
    pub(crate) weight: QMatMul,
    bias: Option<Tensor>,
}

impl Linear {
    pub(crate) fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let output = match &self.weight {
            QMatMul::QTensor(stored) if pays_to_widen(stored, input.dim(0)?) => {
                input.matmul(&stored.dequantize(&Device::Cpu)?.t()?)?
            }
            weight => weight.forward(input)?,
        };
        match &self.bias {
            Some(bias) => output.broadcast_add(bias),
            None => Ok(output),
        }
    }
}

/// How many tokens have to be read at once for it to pay to widen a matrix to 32 bits for them.
const MANY: usize = 16;

/// Matrices of these kinds are multiplied row by row, token by token. For many tokens the product of wide numbers is
/// several times as fast, with the widening counted in.
fn pays_to_widen(stored: &QTensor, tokens: usize) -> bool {
    tokens >= MANY && matches!(stored.dtype(), GgmlDType::Q8_0 | GgmlDType::Q4_0)
}

/// Reads tensors out of a file. [`memory`] has to be asked before.
pub(crate) struct Source<'a, R> {
    pub(crate) content: &'a Content,
    pub(crate) reader: &'a mut R,
}

impl<R: Read + Seek> Source<'_, R> {
    pub(crate) fn has(&self, name: &str) -> bool {
        self.content.tensor_infos.contains_key(name)
    }

    pub(crate) fn matrix(&mut self, name: &str) -> Result<QMatMul> {
        let tensor = self.content.tensor(self.reader, name, &Device::Cpu)?;
        QMatMul::from_arc(Arc::new(quick(tensor)?))
    }

    pub(crate) fn vector(&mut self, name: &str) -> Result<Tensor> {
        let info = self.content.tensor_infos.get(name);
        if info.is_some_and(|info| info.shape.elem_count() > MAX_VECTOR) {
            bail!("{name} is too long");
        }
        let tensor = self.content.tensor(self.reader, name, &Device::Cpu)?;
        tensor.dequantize(&Device::Cpu)
    }

    pub(crate) fn vector_if_any(&mut self, name: &str) -> Result<Option<Tensor>> {
        match self.has(name) {
            true => self.vector(name).map(Some),
            false => Ok(None),
        }
    }

    pub(crate) fn linear(&mut self, name: &str) -> Result<Linear> {
        Ok(Linear {
            weight: self.matrix(&format!("{name}.weight"))?,
            bias: self.vector_if_any(&format!("{name}.bias"))?,
        })
    }
}

/// The older kinds of weights have no kernel that uses wide registers, and those of 16 bits none at all: they are
/// computed ten times as fast with 8 bits, which lose nothing of what 4 or 5 had.
fn is_slow(kind: GgmlDType) -> bool {
    use GgmlDType as Kind;
    matches!(
        kind,
        Kind::Q4_1 | Kind::Q5_0 | Kind::Q5_1 | Kind::Q8_1 | Kind::F16 | Kind::BF16
    )
}

fn quick(tensor: QTensor) -> Result<QTensor> {
    let rows_fit = tensor
        .shape()
        .dims()
        .last()
        .is_some_and(|width| width.is_multiple_of(GgmlDType::Q8_0.block_size()));
    match is_slow(tensor.dtype()) && rows_fit {
        true => QTensor::quantize(&tensor.dequantize(&Device::Cpu)?, GgmlDType::Q8_0),
        false => Ok(tensor),
    }
}
