//! A table of what each function of a program does.

use crate::host::App;

/// The body of a handler, and the JSON that it returns.
const TABLE: &[(&str, &str)] = &[
    // The language.
    ("return [3, 1, 2].toSorted()", "[1,2,3]"),
    ("return [1, 2, 3].findLast((n) => n < 3)", "2"),
    (
        "return Object.groupBy([1, 2, 3], (n) => (n % 2 ? 'odd' : 'even'))",
        r#"{"odd":[1,3],"even":[2]}"#,
    ),
    (
        "return 'ä-b'.replace(/(?<first>\\p{L})-/u, '$<first>+')",
        r#""ä+b""#,
    ),
    (
        "class A { #x = 1; static make() { return new A().#x } } return A.make() ?? 0",
        "1",
    ),
    (
        "let sum = 0; for await (const n of (async function* () { yield 1; yield 2 })()) sum += n; return sum",
        "3",
    ),
    ("return String(2n ** 64n)", r#""18446744073709551616""#),
    (
        "return (await Promise.allSettled([Promise.resolve(1), Promise.reject(2)])).map((r) => r.status)",
        r#"["fulfilled","rejected"]"#,
    ),
    ("return 0.1 + 0.2", "0.30000000000000004"),
    ("return (1234.5).toFixed(2)", r#""1234.50""#),
    (
        "return (function sum(n) { return n === 0 ? 0 : 1 + sum(n - 1) })(450)",
        "450",
    ),
    ("return undefined", "null"),
    ("return arguments_.deep.x", "[7]"),
    (
        "return [import.meta.url, globalThis.process, globalThis.require].map((x) => typeof x)",
        r#"["undefined","undefined","undefined"]"#,
    ),
    // Dates, in the zone of the host.
    (
        "return new Date(0).toISOString()",
        r#""1970-01-01T00:00:00.000Z""#,
    ),
    (
        "return new Date().toISOString()",
        r#""2026-01-02T03:04:05.678Z""#,
    ),
    (
        "return new Date(2026, 0, 2).toISOString()",
        r#""2026-01-01T23:00:00.000Z""#,
    ),
    (
        "return [new Date('2026-07-01T10:00:00Z').getHours(), new Date('2026-01-01T10:00:00Z').getTimezoneOffset()]",
        "[12,-60]",
    ),
    // Files.
    (
        "return await dunlin.files.readText('notes.txt')",
        r#""Grüße\n""#,
    ),
    (
        "return await dunlin.files.readText('marked.txt')",
        r#""marked""#,
    ),
    (
        "return Array.from(await dunlin.files.readBytes('picture.png'))",
        "[137,80,255,0]",
    ),
    (
        "await dunlin.files.writeText('new.txt', 'ä' + 1); return await dunlin.files.readText('new.txt')",
        r#""ä1""#,
    ),
    (
        "return (await dunlin.files.list()).map((entry) => entry.name)",
        r#"["marked.txt","notes.txt","picture.png"]"#,
    ),
    (
        "return (await dunlin.files.list('.'))[1]",
        r#"{"kind":"file","size":8,"modified":1767323045678,"name":"notes.txt"}"#,
    ),
    (
        "return await dunlin.files.stat('notes.txt')",
        r#"{"kind":"file","size":8,"modified":1767323045678}"#,
    ),
    // The store.
    (
        "return String(await dunlin.store.get('none'))",
        r#""undefined""#,
    ),
    (
        "await dunlin.store.set('lastTide 1', { high: [1, null] }); return await dunlin.store.get('lastTide 1')",
        r#"{"high":[1,null]}"#,
    ),
    (
        "await dunlin.store.set('a', 1); await dunlin.store.delete('a'); return (await dunlin.store.get('a')) ?? 'gone'",
        r#""gone""#,
    ),
    (
        "await dunlin.store.set('A', 1); await dunlin.store.set('a', 2); return await dunlin.store.get('A')",
        "1",
    ),
    (
        "await dunlin.store.set('.', 1); await dunlin.store.set('', 2); return await dunlin.store.get('.')",
        "1",
    ),
    (
        "return await dunlin.store.get('A'.repeat(40)).catch((e) => e.name)",
        r#""InvalidError""#,
    ),
    // fetch.
    (
        "const r = await fetch('https://example.com/json'); return [r.ok, r.status, r.url, r.headers.get('Content-Type'), await r.json()]",
        r#"[true,200,"https://example.com/json","text/plain",{"wind":"süd"}]"#,
    ),
    (
        "const r = await fetch('https://example.com/gone#part'); return [r.ok, r.status, r.redirected, await r.text()]",
        r#"[false,404,false,"no such page"]"#,
    ),
    (
        "return (await fetch(new URL('/moved', 'https://example.com'))).redirected",
        "true",
    ),
    (
        "const r = await fetch('https://example.com/echo', { method: 'post', body: JSON.stringify({ a: 'ä' }) }); return [r.status, await r.json()]",
        r#"[201,{"a":"ä"}]"#,
    ),
    (
        "const r = await fetch('https://example.com/echo', { method: 'POST', body: new URLSearchParams({ a: 'b c' }) }); return await r.text()",
        r#""a=b+c""#,
    ),
    (
        "const r = await fetch('https://example.com/echo', { method: 'POST', body: new Uint8Array([0, 255]) }); return (await r.arrayBuffer()).byteLength",
        "2",
    ),
    (
        "const r = await fetch('https://example.com/json'); await r.text(); return [r.bodyUsed, await r.text().catch((e) => e.name)]",
        r#"[true,"TypeError"]"#,
    ),
    (
        "return await fetch('/relative').catch((e) => e.name)",
        r#""TypeError""#,
    ),
    (
        "return await fetch('https://down.example/').catch((e) => [e.name, e.message])",
        r#"["UnavailableError","the server of 'down.example' cannot be reached"]"#,
    ),
    (
        "return [...new Headers({ B: '2', a: ' 1 ' })]",
        r#"[["a","1"],["b","2"]]"#,
    ),
    (
        "return (await Response.json({ a: 1 }).clone().json()).a",
        "1",
    ),
    // Text.
    (
        "return Array.from(new TextEncoder().encode('ä€'))",
        "[195,164,226,130,172]",
    ),
    (
        "return new TextEncoder().encodeInto('a€', new Uint8Array(3))",
        r#"{"read":1,"written":1}"#,
    ),
    (
        "return new TextDecoder().decode(new Uint8Array([0xef, 0xbb, 0xbf, 0xc3, 0xa4, 0xff]).buffer)",
        r#""ä�""#,
    ),
    (
        "const d = new TextDecoder(); return [0xe2, 0x82, 0xac].map((b) => d.decode(new Uint8Array([b]), { stream: true })).join('|') + d.decode()",
        r#""||€""#,
    ),
    (
        "try { new TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array([0xff])) } catch (e) { return e.name }",
        r#""TypeError""#,
    ),
    (
        "try { new TextDecoder('utf-16') } catch (e) { return e.name }",
        r#""RangeError""#,
    ),
    (
        "return [btoa('dunlin'), atob('ZHVubGlu')]",
        r#"["ZHVubGlu","dunlin"]"#,
    ),
    (
        "return JSON.stringify('\\ud800') + encodeURIComponent('ä b')",
        r#""\"\\ud800\"%C3%A4%20b""#,
    ),
    // URLs.
    (
        "const u = new URL('../b?x=1#y', 'https://user@example.com:8443/a/c'); return [u.href, u.origin, u.host, u.pathname, u.search, u.hash, u.port, u.username]",
        r##"["https://user@example.com:8443/b?x=1#y","https://example.com:8443","example.com:8443","/b","?x=1","#y","8443","user"]"##,
    ),
    (
        "const u = new URL('https://bücher.example/ä'); return `${u}`",
        r#""https://xn--bcher-kva.example/%C3%A4""#,
    ),
    (
        "const u = new URL('https://example.com'); u.searchParams.set('q', 'a b'); u.hash = 'x'; return JSON.stringify({ u })",
        r##""{\"u\":\"https://example.com/?q=a+b#x\"}""##,
    ),
    (
        "const u = new URL('https://example.com?a=1'); u.search = '?b=2'; return [...u.searchParams]",
        r#"[["b","2"]]"#,
    ),
    (
        "const u = new URL('https://example.com/'); u.pathname = '/x'; u.protocol = 'http'; u.port = '81'; u.hostname = 'example.org'; return u.href",
        r#""http://example.org:81/x""#,
    ),
    (
        "try { new URL('nowhere') } catch (e) { return [e.name, URL.canParse('nowhere'), URL.parse('nowhere')] }",
        r#"["TypeError",false,null]"#,
    ),
    (
        "const p = new URLSearchParams('?b=2&a=1&b=3'); p.append('c', 'ä'); p.sort(); return [p.toString(), p.getAll('b'), p.get('x'), p.has('a'), p.size]",
        r#"["a=1&b=2&b=3&c=%C3%A4",["2","3"],null,true,4]"#,
    ),
    (
        "const p = new URLSearchParams([['a', 1], ['a', 2]]); p.set('a', 3); p.delete('none'); return Object.fromEntries(p)",
        r#"{"a":"3"}"#,
    ),
    // Copies.
    (
        "const a = { d: new Date(0), m: new Map([[1, new Set([2])]]), l: [, 1] }; a.self = a; const c = structuredClone(a); return [c !== a, c.self === c, c.d.getTime(), [...c.m.get(1)], 0 in c.l]",
        "[true,true,0,[2],false]",
    ),
    (
        "return Array.from(structuredClone(new Uint8Array([1, 2, 3]).subarray(1)))",
        "[2,3]",
    ),
    (
        "const e = structuredClone(new RangeError('far')); return [e instanceof RangeError, e.message]",
        r#"[true,"far"]"#,
    ),
    (
        "try { structuredClone({ f() {} }) } catch (e) { return e.name }",
        r#""DataCloneError""#,
    ),
    (
        "const b = new ArrayBuffer(4); const c = structuredClone(b, { transfer: [b] }); return [b.byteLength, c.byteLength]",
        "[0,4]",
    ),
    // Random numbers and the clock.
    (
        "return Array.from(crypto.getRandomValues(new Uint16Array(2)))",
        "[42149,42663]",
    ),
    (
        "return crypto.randomUUID()",
        r#""a5a4a7a6-a1a0-43a2-adac-afaea9a8abaa""#,
    ),
    (
        "return [performance.now(), typeof performance.timeOrigin]",
        r#"[0,"number"]"#,
    ),
    (
        "return await new Promise((done) => queueMicrotask(() => done('soon')))",
        r#""soon""#,
    ),
];

#[test]
fn every_function_does_what_the_table_says() {
    let mut wrong = Vec::new();
    for (body, expected) in TABLE {
        let mut app = App::start(&format!(
            "dunlin.handle('row', async (arguments_) => {{ {body} }});"
        ));
        let answer = app.invoke("row", r#"{"deep": {"x": [7]}}"#);
        if answer.as_deref().ok() != Some(expected) {
            wrong.push(format!("{body}\n  gave {answer:?}\n  and not {expected}"));
        }
        let logged = &app.world().logged;
        if !logged.is_empty() {
            wrong.push(format!("{body}\n  logged {logged:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn events_reach_the_page() {
    let mut app = App::start(
        "dunlin.emit('tide', { high: 1 }); dunlin.handle('again', () => { dunlin.emit('tide') });",
    );
    app.invoke("again", "null").unwrap();
    let emitted = [
        ("tide".to_owned(), r#"{"high":1}"#.to_owned()),
        ("tide".to_owned(), "null".to_owned()),
    ];
    assert_eq!(app.world().emitted, emitted);
}

#[test]
fn the_console_writes_to_the_log() {
    let mut app = App::start(
        r#"console.log("a", 1, { b: [2n, undefined, null], c: new Map([[1, 2]]) });
           const round = { name: "x" }; round.self = round; console.info(round);
           console.debug(() => 1); console.warn(null, undefined, Symbol("s"));
           console.error("bad:", new TypeError("no"));
           console.assert(1 === 2, "sums");"#,
    );
    let expected = [
        r#"Level::Info a 1 {"b":["2n",null,null],"c":[[1,2]]}"#,
        r#"Level::Info {"name":"x","self":"[circular]"}"#,
        "Level::Debug [function ]",
        "Level::Warn null undefined Symbol(s)",
        "Level::Error bad: TypeError: no\n    at <anonymous> (main-js:4:38)",
        "Level::Error assertion failed: sums",
    ];
    assert_eq!(app.world().logged, expected);
}

#[test]
fn a_request_is_sent_as_it_was_made() {
    let mut app = App::start(
        "await fetch('https://example.com/echo', { method: 'post', headers: { Accept: 'text/csv' }, body: 'ä' });",
    );
    let asked = &app.world().asked[0];
    assert_eq!(asked.method, "POST");
    assert_eq!(asked.url, "https://example.com/echo");
    assert_eq!(asked.body, "ä".as_bytes());
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let headers = [
        header("accept", "text/csv"),
        header("content-type", "text/plain;charset=UTF-8"),
    ];
    assert_eq!(asked.headers, headers);
}

#[test]
fn json_of_the_page_changes_only_the_value_itself() {
    let mut app = App::start(
        r#"dunlin.handle("keep", async (value) => {
             const copy = structuredClone(value);
             const merged = { ...value };
             await dunlin.store.set("value", value);
             const stored = await dunlin.store.get("value");
             return [value, copy, merged, stored].map((object) =>
               [Object.hasOwn(object, "__proto__"), object.polluted, Object.getPrototypeOf(object) === Object.prototype]);
           });
           dunlin.handle("polluted", () => [({}).polluted ?? "no", [].polluted ?? "no", (() => 1).polluted ?? "no"]);"#,
    );
    let arguments =
        r#"{"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 1}}}"#;
    let seen = app.invoke("keep", arguments).unwrap();
    let each = "[true,null,true]";
    assert_eq!(seen, format!("[{each},{each},{each},{each}]"));
    assert_eq!(
        app.invoke("polluted", "null").unwrap(),
        r#"["no","no","no"]"#
    );
    // Names of handlers are no properties either.
    let missing = app.invoke("__proto__", "null").unwrap_err();
    assert_eq!(missing.kind.as_deref(), Some("NoHandlerError"));
}
