//! The program's side: what its functions do. [`install`] joins it to what they look like, which is in `src/js`.

use rquickjs::context::EvalOptions;
use rquickjs::prelude::Func;
use rquickjs::{Ctx, Function, Object, TypedArray, Value};

use crate::bindings::dunlin::tool::log::{Level, log};
use crate::bindings::dunlin::tool::{app_page, random, store};
use crate::engine;
use crate::error::{named, refused, thrown};
use crate::{fetch, files, time, urls};

/// What these functions are called in stacks.
const NAME: &str = "dunlin-api";

/// The scripts, in their order: each is a function of the host's functions and of what the ones before it made.
const SCRIPTS: [&str; 4] = [
    include_str!("js/text.js"),
    include_str!("js/clone.js"),
    include_str!("js/web.js"),
    include_str!("js/dunlin.js"),
];

/// Random bytes that the host gives at once.
const RANDOM_BYTES: usize = 64 * 1024;

/// The longest name in the store.
const MAX_NAME_BYTES: usize = 64;

/// What every name in the store begins with: a name may not begin with a dot.
const NAME_START: &str = "v-";

/// Gives the program its functions; the entries by which the host calls it.
pub(crate) fn install<'js>(ctx: &Ctx<'js>) -> rquickjs::Result<Object<'js>> {
    let host = Object::new(ctx.clone())?;
    host.set("log", Func::from(write_log))?;
    host.set(
        "emit",
        Func::from(|event: String, payload: String| app_page::emit(&event, &payload)),
    )?;
    host.set("now", Func::from(time::steady_ms))?;
    host.set("random", Func::from(random_bytes))?;
    host.set("settle", Func::from(settle))?;
    host.set("fail", Func::from(fail))?;
    host.set("encode", Func::from(encode))?;
    host.set("decode", Func::from(decode))?;
    host.set("jsonDepth", Func::from(json_depth))?;
    host.set("storeGet", Func::from(store_get))?;
    host.set("storeSet", Func::from(store_set))?;
    host.set("storeDelete", Func::from(store_delete))?;
    files::install(&host)?;
    fetch::install(&host)?;
    urls::install(&host)?;
    let entries = Object::new(ctx.clone())?;
    for script in SCRIPTS {
        let mut options = EvalOptions::default();
        options.filename = Some(NAME.to_owned());
        let script: Function = ctx.eval_with_options(script, options)?;
        script.call::<_, ()>((host.clone(), entries.clone()))?;
    }
    Ok(entries)
}

fn write_log(level: String, message: String) {
    let level = match level.as_str() {
        "debug" => Level::Debug,
        "warn" => Level::Warn,
        "error" => Level::Error,
        _ => Level::Info,
    };
    log(level, &message);
}

fn random_bytes(ctx: Ctx<'_>, count: usize) -> rquickjs::Result<TypedArray<'_, u8>> {
    let mut bytes = Vec::new();
    while bytes.len() < count {
        let more = (count - bytes.len()).min(RANDOM_BYTES);
        bytes.extend(random::bytes(more as u32));
    }
    TypedArray::new(ctx, bytes)
}

/// A handler has returned JSON.
fn settle(call: String, json: String) {
    // It is the host's own number, on its way back.
    if let Ok(call) = call.parse() {
        engine::settle(call, Ok(json));
    }
}

/// A handler has thrown.
fn fail<'js>(ctx: Ctx<'js>, call: String, error: Value<'js>) {
    if let Ok(call) = call.parse() {
        engine::settle(call, Err(thrown(&ctx, &error)));
    }
}

fn encode(ctx: Ctx<'_>, text: String) -> rquickjs::Result<TypedArray<'_, u8>> {
    TypedArray::new(ctx, text.into_bytes())
}

fn decode<'js>(ctx: Ctx<'js>, bytes: TypedArray<'js, u8>, fatal: bool) -> rquickjs::Result<String> {
    let bytes = files::copied(&bytes);
    if fatal {
        String::from_utf8(bytes).map_err(|_| named(&ctx, "TypeError", "the bytes are not UTF-8"))
    } else {
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// How deeply JSON is nested.
fn json_depth(json: String) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_text, mut escaped) = (false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_text,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

fn store_get(ctx: Ctx<'_>, key: String) -> rquickjs::Result<Option<String>> {
    let found = store::get(&name(&ctx, &key)?).map_err(|error| refused(&ctx, error))?;
    Ok(found.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

fn store_set(ctx: Ctx<'_>, key: String, json: String) -> rquickjs::Result<()> {
    store::put(&name(&ctx, &key)?, json.as_bytes()).map_err(|error| refused(&ctx, error))
}

fn store_delete(ctx: Ctx<'_>, key: String) -> rquickjs::Result<()> {
    store::remove(&name(&ctx, &key)?).map_err(|error| refused(&ctx, error))
}

/// What a key is called in the store, whose names have few characters. No two keys have one name.
fn name(ctx: &Ctx<'_>, key: &str) -> rquickjs::Result<String> {
    let mut name = NAME_START.to_owned();
    for byte in key.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' => name.push(char::from(byte)),
            _ => name.push_str(&format!(".{byte:02x}")),
        }
    }
    if name.len() > MAX_NAME_BYTES {
        let message = format!(
            "the key '{key}' is too long: use at most 62 of a-z 0-9 -; other characters count for three or more"
        );
        return Err(named(ctx, "InvalidError", &message));
    }
    Ok(name)
}
