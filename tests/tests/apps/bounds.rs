//! What an app cannot do, and what others cannot do to it.

use dunlin_tests::Browser;
use serde_json::json;

use super::stage::{App, Elsewhere};

#[test]
fn an_app_sends_no_request_to_any_server() {
    let (here, named) = (Elsewhere::start(""), Elsewhere::start(""));
    let script = r#"
        const urls = [HERE, NAMED];
        const failed = async (attempt) => {
            try { await attempt(); return 'worked'; } catch (error) { return error.name; }
        };
        // What a browser loads: the end of the attempt, whichever it is.
        const load = (name, set) => new Promise((done) => {
            const element = document.createElement(name);
            element.onload = element.onerror = done;
            setTimeout(done, 300);
            set(element);
            document.body.append(element);
        });
        const own = location.origin + location.pathname;
        found.own = await failed(() => fetch(own));
        found.fetch = [];
        for (const url of urls) {
            found.fetch.push(await failed(() => fetch(url + '/fetch', { mode: 'no-cors' })));
            const request = new XMLHttpRequest();
            request.open('POST', url + '/xhr');
            request.send('tide');
            navigator.sendBeacon(url + '/beacon', 'tide');
            new EventSource(url + '/events');
            new WebSocket(url.replace('http', 'ws') + '/socket');
            try { new WebTransport(url.replace('http', 'https') + '/transport'); } catch {}
            try { new Worker(url + '/worker'); } catch {}
            found.import = await failed(() => import(url + '/import'));
            new FontFace('tide', `url(${url}/font)`).load().catch(() => {});
            const rules = JSON.stringify({ prefetch: [{ urls: [url + '/rules'] }], prerender: [{ urls: [url + '/rules'] }] });
            await Promise.all([
                load('img', (it) => { it.src = url + '/img'; }),
                load('script', (it) => { it.src = url + '/script'; }),
                load('script', (it) => { it.type = 'speculationrules'; it.textContent = rules; }),
                load('iframe', (it) => { it.src = url + '/iframe'; }),
                load('object', (it) => { it.data = url + '/object'; }),
                load('embed', (it) => { it.src = url + '/embed'; }),
                load('video', (it) => { it.src = url + '/video'; it.poster = url + '/poster'; }),
                load('style', (it) => { it.textContent = `@import '${url}/style'; body { background: url(${url}/background) }`; }),
                ...['stylesheet', 'prefetch', 'preload', 'modulepreload', 'prerender', 'icon', 'manifest'].map((rel) =>
                    load('link', (it) => { it.rel = rel; it.as = 'image'; it.href = `${url}/${rel}`; })),
            ]);
        }
        found.webrtc = Object.getOwnPropertyNames(globalThis).filter((name) => name.includes('RTC'));"#;
    let script = script
        .replace("HERE", &json!(here.url()).to_string())
        .replace("NAMED", &json!(named.named()).to_string());
    let (_app, found) = App::found("<body>", &script);
    let expected = json!({
        "own": "TypeError",
        "fetch": ["TypeError", "TypeError"],
        "import": "TypeError",
        "webrtc": [],
    });
    assert_eq!(found, expected);
    here.assert_untouched();
    named.assert_untouched();
}

/// Each in its own app: whatever it does, the app is gone afterwards, or still there.
#[test]
fn an_app_cannot_lead_its_window_or_its_frame_elsewhere() {
    let elsewhere = Elsewhere::start("");
    let attempts = [
        ("location = URL;", true),
        ("location.assign(URL + '/' + document.title);", true),
        ("location = 'data:text/html,x';", true),
        (
            "onload = () => setTimeout(() => { location = 'about:blank'; });",
            true,
        ),
        (
            "document.head.innerHTML = `<meta http-equiv=refresh content='0;url=${URL}'>`;",
            true,
        ),
        (
            "document.body.innerHTML = `<form method=post action='${URL}'><input name=a></form>`; document.forms[0].submit();",
            true,
        ),
        (
            "document.body.innerHTML = `<form action='${URL}'><input name=a></form>`; document.forms[0].requestSubmit();",
            false,
        ),
        (
            "document.body.innerHTML = `<a href='${URL}'>x</a>`; document.querySelector('a').click();",
            false,
        ),
        (
            "document.body.innerHTML = `<a href='${URL}' target=_blank>x</a>`; document.querySelector('a').click();",
            false,
        ),
        (
            "document.body.innerHTML = `<a href='${URL}' target=_top>x</a>`; document.querySelector('a').click();",
            false,
        ),
        (
            "document.body.innerHTML = `<a href='${URL}' download ping='${URL}'>x</a>`; document.querySelector('a').click();",
            false,
        ),
        ("try { top.location = URL; } catch {}", false),
        ("try { parent.location.replace(URL); } catch {}", false),
        (
            "if (open(URL) !== null) { dunlin.invoke('opened'); }",
            false,
        ),
    ];
    let mut app = App::open("", "");
    let url = app.tab.evaluate("location.href");
    for (number, (attempt, is_gone)) in attempts.into_iter().enumerate() {
        let name = format!("still {number}");
        app.reload(
            "<body>",
            &format!(
                "const URL = {};\n{attempt}\nsetTimeout(() => dunlin.invoke('{name}'), 100);",
                json!(elsewhere.url())
            ),
        );
        if is_gone {
            app.error_with("an app cannot navigate to other URLs");
            app.wait_for_notice("tried to navigate to another URL");
        } else {
            app.calls.wait(&name);
        }
    }
    assert_eq!(app.tab.evaluate("location.href"), url);
    assert_eq!(app.calls.count("opened"), 0);
    elsewhere.assert_untouched();
}

#[test]
fn an_app_has_no_storage_and_no_way_into_the_page_around_it() {
    let (_app, found) = App::found(
        "",
        "const names = {
             cookie: () => document.cookie, local: () => localStorage.length, session: () => sessionStorage.length,
             database: () => indexedDB.open('x'), caches: () => caches.keys(), parent: () => parent.document,
             frame: () => frameElement.src, top: () => top.location.href,
         };
         for (const [name, attempt] of Object.entries(names)) {
             try { found[name] = String(await attempt()); } catch (error) { found[name] = error.name; }
         }
         found.origin = origin;
         found.referrer = document.referrer;",
    );
    let denied = "SecurityError";
    let expected = json!({
        "cookie": denied, "local": denied, "session": denied, "database": denied, "caches": denied,
        "parent": denied, "frame": "TypeError", "top": denied, "origin": "null", "referrer": "",
    });
    assert_eq!(found, expected);
}

/// There the bridge did not run, and connections between browsers would be possible again.
#[test]
fn an_app_cannot_make_documents_of_its_own() {
    let elsewhere = Elsewhere::start("");
    let script = r#"
        if (globalThis.dunlin) {
            start();
        } else {
            parent.postMessage('ran', '*');
            const connection = new RTCPeerConnection({ iceServers: [{ urls: 'stun:127.0.0.1:PORT' }] });
            connection.createDataChannel('x');
            connection.createOffer().then((offer) => connection.setLocalDescription(offer));
        }
        async function start() {
            addEventListener('message', ({ data }) => dunlin.invoke(data));
            const script = `<script crossorigin src=${location.href}renderer.js></` + `script>`;
            const html = `<iframe sRcDoc="${script}"></iframe>`;
            const frame = document.createElement('iframe');
            const add = (node) => document.body.append(node);
            const attribute = (node) => { node.value = script; return node; };
            // Methods that the guard might use.
            String.prototype.includes = String.prototype.toLowerCase = Function.prototype.call = () => '';
            const attempts = {
                property: () => { frame.srcdoc = script; },
                attribute: () => frame.setAttribute('SRCDOC', script),
                node: () => frame.setAttributeNode(attribute(document.createAttribute('srcdoc'))),
                later: () => { frame.setAttributeNode(document.createAttribute('srcdoc')); attribute(frame.attributes[0]); },
                inner: () => { const div = document.createElement('div'); add(div); div.innerHTML = html; },
                adjacent: () => document.body.insertAdjacentHTML('beforeend', html),
                fragment: () => add(document.createRange().createContextualFragment(html)),
                unsafe: () => document.body.setHTMLUnsafe(html),
                parsed: () => add(document.adoptNode(new DOMParser().parseFromString(html, 'text/html').querySelector('iframe'))),
                entity: () => new DOMParser().parseFromString('<!DOCTYPE x [<!ENTITY e "<iframe src&#100;oc=1/>">]><x>&e;</x>', 'application/xml'),
                other: () => { const other = document.implementation.createHTMLDocument(); other.body.innerHTML = html; add(other.body.firstChild); },
                write: () => { document.write(html.slice(0, 10)); document.write(html.slice(10)); },
                transformed: () => new XSLTProcessor(),
                policy: () => trustedTypes.createPolicy('other', { createHTML: (text) => text }),
                again: () => trustedTypes.createPolicy('default', { createHTML: (text) => text }),
            };
            const found = {};
            for (const [name, attempt] of Object.entries(attempts)) {
                try { attempt(); found[name] = 'worked'; } catch (error) { found[name] = error.name; }
            }
            add(frame);
            try { found.blank = typeof frame.contentWindow.RTCPeerConnection; } catch (error) { found.blank = error.name; }
            setTimeout(() => dunlin.invoke('found', found), 300);
        }"#;
    let script = script.replace("PORT", &elsewhere.port().to_string());
    let app = App::open(
        "<body><iframe SRCDOC='<script src=renderer.js crossorigin></script>'></iframe>",
        &script,
    );
    let found = app.calls.wait("found");
    let refused = "TypeError";
    let expected = json!({
        "property": refused, "attribute": refused, "node": refused, "later": refused, "inner": refused,
        "adjacent": refused, "fragment": refused, "unsafe": refused, "parsed": refused, "entity": refused,
        "other": refused, "write": refused, "transformed": "ReferenceError", "policy": refused, "again": refused,
        "blank": "SecurityError",
    });
    assert_eq!(found, expected);
    assert_eq!(app.calls.count("ran"), 0);
    elsewhere.assert_untouched();
}

/// Even one that found the address of the page out.
#[test]
fn another_site_in_the_same_browser_cannot_use_an_app() {
    let app = App::open("", "dunlin.invoke('loaded')");
    app.calls.wait("loaded");
    let url = app.page.url();
    let frame = app.tab.evaluate("document.querySelector('iframe').src");
    let script = r#"<body><script>
        (async () => {
            const found = {};
            const body = '{"version":1,"name":"stolen","arguments":null}';
            const attempt = async (name, path, options) => {
                try { found[name] = (await fetch(PAGE + path, options)).type; } catch (error) { found[name] = error.name; }
            };
            const json = { 'content-type': 'application/json' };
            await attempt('simple', 'invoke', { method: 'POST', mode: 'no-cors', body });
            await attempt('json', 'invoke', { method: 'POST', headers: json, body });
            await attempt('events', 'events', { mode: 'no-cors' });
            await attempt('script', 'outer.js', {});
            const load = (name, key, url) => new Promise((done) => {
                const element = document.createElement(name);
                element.onload = () => done('loaded');
                element.onerror = () => done('error');
                // A frame that was refused tells nobody.
                setTimeout(done, 500, 'nothing');
                element[key] = url;
                document.body.append(element);
            });
            found.renderer = await load('script', 'src', FRAME + 'renderer.js');
            await load('iframe', 'src', PAGE);
            await load('iframe', 'src', FRAME);
            found.frames = Array.from(frames).map((frame) => { try { return frame.document.title; } catch { return 'closed'; } });
            fetch('/found?' + encodeURIComponent(JSON.stringify(found)));
        })();
        </script>"#;
    let script = script
        .replace("PAGE", &json!(url).to_string())
        .replace("FRAME", &frame.to_string());
    // By its number it is the same site, by its name another one.
    for is_named in [false, true] {
        let elsewhere = Elsewhere::start(&script);
        let url = if is_named {
            elsewhere.named()
        } else {
            elsewhere.url()
        };
        let _tab = Browser::shared().open(&url);
        let found = elsewhere.wait("/found?");
        for part in [
            "%22json%22%3A%22TypeError%22",
            "%22script%22%3A%22TypeError%22",
            "%22renderer%22%3A%22error%22",
        ] {
            assert!(found.contains(part), "{part} in {found}");
        }
    }
    assert_eq!(app.calls.count("stolen"), 0);
    // The app was not loaded in a frame of others: it would have called.
    assert_eq!(app.calls.count("loaded"), 1);
    app.wait_for_windows(1);
}

#[test]
fn links_of_an_app_open_nothing_however_they_are_clicked() {
    // A middle click opens a window in spite of the sandbox, unless its event is prevented.
    let app = App::open(
        "<div id=host></div><a id=inside href='#p'>down</a><p id=p></p>",
        "const outside = document.createElement('a');
         outside.href = 'http://127.0.0.1:9/secret';
         Object.defineProperty(outside, 'href', { value: '#' });
         Event.prototype.preventDefault = () => {};
         const tree = host.attachShadow({ mode: 'closed' });
         tree.append(outside);
         outside.addEventListener('auxclick', (event) => event.stopImmediatePropagation());
         outside.addEventListener('click', (event) => event.stopImmediatePropagation());
         const goes = (link, name) =>
           link.dispatchEvent(new MouseEvent(name, { button: 1, bubbles: true, cancelable: true, composed: true }));
         dunlin.invoke('found', {
           tree: tree.mode,
           outside: ['click', 'auxclick'].map((name) => goes(outside, name)),
           inside: ['click', 'auxclick'].map((name) => goes(inside, name)),
           none: p.dispatchEvent(new MouseEvent('click', { ctrlKey: true, bubbles: true, cancelable: true })),
         });",
    );
    let expected = json!({ "tree": "open", "outside": [false, false], "inside": [true, false], "none": false });
    assert_eq!(app.calls.wait("found"), expected);
}
