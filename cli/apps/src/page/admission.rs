//! Which requests count: what they ask for, and whether the page itself sent them.

use hyper::header::{CONTENT_TYPE, HOST, HeaderMap, ORIGIN};
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};

use super::address::Address;

/// All there is to ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    /// The outer document.
    Outer,
    OuterScript,
    OuterStyle,
    /// The stream of events.
    Events,
    /// A call of the back end.
    Invoke,
    /// An error of the page.
    Error,
    /// The document of the app, of this version.
    App(u64),
    /// The script that gives the app `dunlin.invoke` and `dunlin.on`.
    Bridge(u64),
    /// The script of the app.
    Renderer(u64),
}

/// What a request asks for, or the status with which it is refused.
///
/// The order matters: who does not know the token learns nothing, not even which methods there are.
pub(super) fn admit(request: &Parts, address: &Address) -> Result<Route, StatusCode> {
    // Without a second spelling: a site whose name was made to mean 127.0.0.1 says its own.
    if only(&request.headers, HOST.as_str()) != Some(&address.host)
        || request.uri.authority().is_some()
    {
        return Err(StatusCode::MISDIRECTED_REQUEST);
    }
    let route = find(request, address).ok_or(StatusCode::NOT_FOUND)?;
    if request.method != route.method() {
        return Err(StatusCode::METHOD_NOT_ALLOWED);
    }
    if !route.comes_from_the_page(&request.headers, address) {
        return Err(StatusCode::FORBIDDEN);
    }
    if route.method() == Method::POST
        && only(&request.headers, CONTENT_TYPE.as_str()) != Some("application/json")
    {
        return Err(StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
    Ok(route)
}

fn find(request: &Parts, address: &Address) -> Option<Route> {
    if request.uri.query().is_some() {
        return None;
    }
    let (token, rest) = request.uri.path().strip_prefix('/')?.split_once('/')?;
    if address.token.is(token) {
        return match rest {
            "" => Some(Route::Outer),
            "outer.js" => Some(Route::OuterScript),
            "outer.css" => Some(Route::OuterStyle),
            "events" => Some(Route::Events),
            "invoke" => Some(Route::Invoke),
            "error" => Some(Route::Error),
            _ => None,
        };
    }
    if !address.frame_token.is(token) {
        return None;
    }
    let (version, rest) = rest.split_once('/')?;
    let version = version.parse().ok()?;
    match rest {
        "" => Some(Route::App(version)),
        "bridge.js" => Some(Route::Bridge(version)),
        "renderer.js" => Some(Route::Renderer(version)),
        _ => None,
    }
}

impl Route {
    fn method(self) -> Method {
        match self {
            Route::Invoke | Route::Error => Method::POST,
            _ => Method::GET,
        }
    }

    /// Whether the browser says that the page itself asks, and for the use that is meant. All browsers of today say so; a
    /// program that is not a browser can say anything, and is kept out by the token.
    fn comes_from_the_page(self, headers: &HeaderMap, address: &Address) -> bool {
        let says = |name, value| only(headers, name) == Some(value);
        let same_origin = says("sec-fetch-site", "same-origin");
        match self {
            // Anybody may open it who knows the token: a click in a terminal comes from nowhere.
            Route::Outer => says("sec-fetch-dest", "document"),
            Route::OuterScript => same_origin && says("sec-fetch-dest", "script"),
            Route::OuterStyle => same_origin && says("sec-fetch-dest", "style"),
            Route::Events => same_origin && says("sec-fetch-dest", "empty"),
            Route::Invoke | Route::Error => same_origin && says(ORIGIN.as_str(), &address.origin),
            // Only in the frame: as a window of its own, nothing would watch where it navigates.
            Route::App(_) => same_origin && says("sec-fetch-dest", "iframe"),
            // The frame has no origin. The answer names that, so that errors of the scripts have their lines.
            Route::Bridge(_) | Route::Renderer(_) => {
                says(ORIGIN.as_str(), "null") && says("sec-fetch-dest", "script")
            }
        }
    }
}

/// The value of a header that is there once.
fn only<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}
