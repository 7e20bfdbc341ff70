//! `dunlin.files`.

use rquickjs::prelude::Func;
use rquickjs::{Array, Ctx, Object, TypedArray};

use crate::bindings::dunlin::tool::files::{self, Kind};
use crate::bindings::dunlin::tool::types::Error;
use crate::error::refused;

/// Bytes that the host gives at once.
const PIECE_BYTES: u32 = 1024 * 1024;

/// Entries that the host gives of one folder.
const MAX_ENTRIES: u32 = 10_000;

pub(crate) fn install(host: &Object<'_>) -> rquickjs::Result<()> {
    host.set("readFile", Func::from(read))?;
    host.set("writeFile", Func::from(write))?;
    host.set("listFolder", Func::from(list))?;
    host.set("stat", Func::from(stat))
}

fn read(ctx: Ctx<'_>, path: String) -> rquickjs::Result<TypedArray<'_, u8>> {
    let bytes = read_all(&path).map_err(|error| refused(&ctx, error))?;
    TypedArray::new(ctx, bytes)
}

fn read_all(path: &str) -> Result<Vec<u8>, Error> {
    let file = files::open_read(path)?;
    let mut bytes = Vec::new();
    loop {
        let piece = file.read_at(bytes.len() as u64, PIECE_BYTES)?;
        if piece.is_empty() {
            return Ok(bytes);
        }
        append(&mut bytes, &piece, path)?;
    }
}

/// Adds a piece, or fails where the memory of the component does not take it.
pub(crate) fn append(bytes: &mut Vec<u8>, piece: &[u8], from: &str) -> Result<(), Error> {
    bytes
        .try_reserve(piece.len())
        .map_err(|_| Error::TooLarge(format!("'{from}' does not fit into the app's memory")))?;
    bytes.extend_from_slice(piece);
    Ok(())
}

fn write(ctx: Ctx<'_>, path: String, text: String) -> rquickjs::Result<()> {
    match files::write_text(&path, &text) {
        Ok(_) => Ok(()),
        Err(error) => Err(refused(&ctx, error)),
    }
}

fn list(ctx: Ctx<'_>, path: String) -> rquickjs::Result<Array<'_>> {
    let listing = files::list_folder(&path, MAX_ENTRIES).map_err(|error| refused(&ctx, error))?;
    if listing.is_truncated {
        let message = format!("the folder '{path}' has more than {MAX_ENTRIES} entries");
        return Err(refused(&ctx, Error::TooLarge(message)));
    }
    let entries = Array::new(ctx.clone())?;
    for (index, entry) in listing.entries.into_iter().enumerate() {
        let object = described(&ctx, entry.kind, entry.size_bytes, entry.modified_ms)?;
        object.set("name", entry.name)?;
        entries.set(index, object)?;
    }
    Ok(entries)
}

fn stat(ctx: Ctx<'_>, path: String) -> rquickjs::Result<Object<'_>> {
    let found = files::stat(&path).map_err(|error| refused(&ctx, error))?;
    described(&ctx, found.kind(), found.size_bytes(), found.modified_ms())
}

fn described<'js>(
    ctx: &Ctx<'js>,
    kind: Kind,
    size_bytes: u64,
    modified_ms: u64,
) -> rquickjs::Result<Object<'js>> {
    let kind = match kind {
        Kind::File => "file",
        Kind::Folder => "folder",
        Kind::SymbolicLink => "symbolic-link",
        Kind::Other => "other",
    };
    let object = Object::new(ctx.clone())?;
    object.set("kind", kind)?;
    object.set("size", size_bytes as f64)?;
    object.set("modified", modified_ms as f64)?;
    Ok(object)
}

/// The bytes of an array; none where its memory was given away.
pub(crate) fn copied(array: &TypedArray<'_, u8>) -> Vec<u8> {
    #[expect(
        unsafe_code,
        reason = "copied before anything else of the program runs"
    )]
    // SAFETY: nothing changes the array between here and the copy.
    let bytes = unsafe { array.as_bytes() };
    bytes.unwrap_or_default().to_vec()
}
