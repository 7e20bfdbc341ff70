//! A file of safetensors: what it promises is checked before anything is read by it.

use std::collections::HashMap;
use std::io::{Read, Seek, SeekFrom};

use candle_core::{Device, Tensor};
use serde::Deserialize;

use crate::dimensions::Misfit;
use crate::model_file::Failed;

/// Bytes of the longest head of a file: a hundred times that of a small model.
const MAX_HEAD_BYTES: u64 = 1 << 20;

/// What a file holds.
pub(crate) struct Tensors {
    entries: HashMap<String, Entry>,
    /// Where the numbers begin.
    start: u64,
    /// How many bytes of them there are.
    bytes: u64,
}

/// A tensor, as the head of a file has it. It may have more to it, such as a note about the whole.
#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    dtype: String,
    #[serde(default)]
    shape: Vec<u64>,
    #[serde(default)]
    data_offsets: [u64; 2],
}

impl Tensors {
    /// Reads the head of a file of so many bytes.
    pub(crate) fn read(file: &mut impl Read, bytes: u64) -> Result<Tensors, Failed> {
        let damaged = |problem: &str| Misfit::Damaged(problem.to_owned());
        let mut length = [0; size_of::<u64>()];
        file.read_exact(&mut length)
            .map_err(|_| damaged("it ends before its head"))?;
        let length = u64::from_le_bytes(length);
        let start = length.saturating_add(size_of::<u64>() as u64);
        if length > MAX_HEAD_BYTES || start > bytes {
            return Err(Misfit::Unsupported("it is not a file of safetensors".to_owned()).into());
        }
        let mut head = Vec::new();
        file.take(length)
            .read_to_end(&mut head)
            .map_err(|_| damaged("its head cannot be read"))?;
        let entries = serde_json::from_slice(&head)
            .map_err(|_| Misfit::Unsupported("it is not a file of safetensors".to_owned()))?;
        Ok(Tensors {
            entries,
            start,
            bytes: bytes - start,
        })
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// Where a tensor of this shape begins in the file.
    pub(crate) fn place(&self, name: &str, shape: &[usize]) -> Result<u64, Failed> {
        let entry = self
            .entries
            .get(name)
            .ok_or_else(|| Misfit::Unsupported(format!("it has no {name}")))?;
        let fits = entry.shape.len() == shape.len()
            && entry
                .shape
                .iter()
                .zip(shape)
                .all(|(there, wanted)| *there == *wanted as u64);
        if entry.dtype != "F32" || !fits {
            let problem = format!(
                "{name} is {:?} of {}; understood is {shape:?} of F32",
                entry.shape.iter().take(8).collect::<Vec<_>>(),
                entry.dtype.chars().take(8).collect::<String>(),
            );
            return Err(Misfit::Unsupported(problem).into());
        }
        let [from, to] = entry.data_offsets;
        let wanted = (shape.iter().product::<usize>() * size_of::<f32>()) as u64;
        if to > self.bytes || to.checked_sub(from) != Some(wanted) {
            return Err(Misfit::Damaged(format!("{name} lies beyond the end of the file")).into());
        }
        Ok(self.start + from)
    }

    /// Reads a tensor of this shape.
    pub(crate) fn take(
        &mut self,
        file: &mut (impl Read + Seek),
        name: &str,
        shape: &[usize],
    ) -> Result<Tensor, Failed> {
        let place = self.place(name, shape)?;
        let count: usize = shape.iter().product();
        let mut bytes = vec![0; count * size_of::<f32>()];
        file.seek(SeekFrom::Start(place))
            .and_then(|_| file.read_exact(&mut bytes))
            .map_err(|error| Misfit::Damaged(format!("{name} cannot be read: {error}")))?;
        let (numbers, _) = bytes.as_chunks();
        let numbers: Vec<f32> = numbers
            .iter()
            .map(|bytes| f32::from_le_bytes(*bytes))
            .collect();
        Ok(Tensor::from_vec(numbers, shape, &Device::Cpu)?)
    }
}
