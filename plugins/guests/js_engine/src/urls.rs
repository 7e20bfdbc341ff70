//! `URL` and `URLSearchParams`: the crate `url` knows the standard, `src/js/web.js` has the classes.

use rquickjs::prelude::{Func, Opt};
use rquickjs::{Ctx, Object};
use url::form_urlencoded::{self, Serializer};
use url::{Url, quirks};

pub(crate) fn install(host: &Object<'_>) -> rquickjs::Result<()> {
    host.set("parseUrl", Func::from(parse))?;
    host.set("changeUrl", Func::from(change))?;
    host.set("parseQuery", Func::from(parse_query))?;
    host.set("writeQuery", Func::from(write_query))
}

/// The parts of a URL; nothing where it is not valid.
fn parse<'js>(
    ctx: Ctx<'js>,
    text: String,
    base: Opt<Option<String>>,
) -> rquickjs::Result<Option<Object<'js>>> {
    let url = match base.0.flatten() {
        Some(base) => Url::parse(&base).and_then(|base| base.join(&text)),
        None => Url::parse(&text),
    };
    url.ok().map(|url| parts(&ctx, &url)).transpose()
}

/// The parts after one of them was set. A value that does not fit changes nothing, as the standard has it.
fn change<'js>(
    ctx: Ctx<'js>,
    href: String,
    part: String,
    value: String,
) -> rquickjs::Result<Option<Object<'js>>> {
    let Ok(mut url) = Url::parse(&href) else {
        return Ok(None);
    };
    // What does not fit is refused by leaving the URL as it is.
    let _: Result<(), ()> = match part.as_str() {
        "protocol" => quirks::set_protocol(&mut url, &value),
        "username" => quirks::set_username(&mut url, &value),
        "password" => quirks::set_password(&mut url, &value),
        "host" => quirks::set_host(&mut url, &value),
        "hostname" => quirks::set_hostname(&mut url, &value),
        "port" => quirks::set_port(&mut url, &value),
        "pathname" => {
            quirks::set_pathname(&mut url, &value);
            Ok(())
        }
        "search" => {
            quirks::set_search(&mut url, &value);
            Ok(())
        }
        "hash" => {
            quirks::set_hash(&mut url, &value);
            Ok(())
        }
        _ => Ok(()),
    };
    parts(&ctx, &url).map(Some)
}

fn parts<'js>(ctx: &Ctx<'js>, url: &Url) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    object.set("href", quirks::href(url))?;
    object.set("origin", quirks::origin(url))?;
    object.set("protocol", quirks::protocol(url))?;
    object.set("username", quirks::username(url))?;
    object.set("password", quirks::password(url))?;
    object.set("host", quirks::host(url))?;
    object.set("hostname", quirks::hostname(url))?;
    object.set("port", quirks::port(url))?;
    object.set("pathname", quirks::pathname(url))?;
    object.set("search", quirks::search(url))?;
    object.set("hash", quirks::hash(url))?;
    Ok(object)
}

/// Names and values in pairs.
fn parse_query(text: String) -> Vec<Vec<String>> {
    form_urlencoded::parse(text.as_bytes())
        .map(|(name, value)| vec![name.into_owned(), value.into_owned()])
        .collect()
}

fn write_query(pairs: Vec<Vec<String>>) -> String {
    let mut query = Serializer::new(String::new());
    for pair in &pairs {
        if let [name, value] = pair.as_slice() {
            query.append_pair(name, value);
        }
    }
    query.finish()
}
