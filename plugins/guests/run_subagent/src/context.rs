//! The files that a subagent is given.

use dunlin_sdk::files::{File, Kind};
use dunlin_sdk::{Failure, FailureKind};

/// Bytes of all files together; what the contract says of `subagent`, which counts the paths as well.
const MAX_BYTES: u64 = 1024 * 1024;

/// Bytes that are read at once.
const PART_BYTES: u32 = 256 * 1024;

/// The files with their texts. The failure names the file.
pub fn read(paths: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let mut left = MAX_BYTES;
    let mut context = Vec::with_capacity(paths.len());
    for path in paths {
        let text = text_of(path, left)?;
        left -= text.len() as u64;
        context.push((path.clone(), text));
    }
    Ok(context)
}

fn text_of(path: &str, left: u64) -> Result<String, Failure> {
    let named = |problem: String| format!("context: '{path}' {problem}");
    let failed = |error: dunlin_sdk::Error| {
        let failure = Failure::from(error);
        Failure {
            message: named(format!("cannot be read: {failure}")),
            ..failure
        }
    };
    let too_large = || {
        Failure::too_large(named(format!(
            "does not fit: the files of a subagent may have {MAX_BYTES} bytes together; name it in the task instead"
        )))
    };
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.kind != Kind::File {
        let problem = named("is not a file; name folders in the task instead".to_owned());
        return Err(Failure::invalid_arguments(problem));
    }
    if metadata.size_bytes > left {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    loop {
        let part = file
            .read_at(bytes.len() as u64, PART_BYTES)
            .map_err(failed)?;
        if part.is_empty() {
            break;
        }
        bytes.extend(part);
        // It may have grown since.
        if bytes.len() as u64 > left {
            return Err(too_large());
        }
    }
    let text = String::from_utf8(bytes).ok();
    text.filter(|text| !text.contains('\0')).ok_or_else(|| {
        let problem = named("is not a text file; only UTF-8 can be given".to_owned());
        Failure::new(FailureKind::Failed, problem)
    })
}
