//! An app of a chat while the chat, and the program of the app, do what they do.

use std::time::Instant;

use dunlin_tests::{Gate, Response};

use super::chat::Chat;

#[test]
fn the_page_shows_the_next_version_by_itself() {
    let gate = Gate::new();
    let first = "One:\n```html\n<title>Tides</title>\n<h1>Flood</h1>\n```\n";
    let next = Response::stream()
        .text("Another heading:\n```html\n<title>Tides</title>\n<h1>Ebb</h1>\n```\n")
        .wait(&gate)
        .finish("stop");
    let mut chat = Chat::open([Response::reply(first), next], |_| {});
    chat.tab
        .wait_in_frame("document.querySelector('h1')?.textContent === 'Flood'");
    // The window itself stays.
    chat.tab.evaluate("globalThis.isSame = true");
    chat.terminal.type_line("another heading");
    gate.wait_reached();
    let begun = Instant::now();
    gate.open();
    chat.tab
        .wait_in_frame("document.querySelector('h1')?.textContent === 'Ebb'");
    println!(
        "from the end of a reply to the page that shows it: {:.0?}",
        begun.elapsed()
    );
    assert_eq!(chat.tab.evaluate("isSame"), true);
}

/// A page that calls what it is told to, and a program that counts its calls and breaks.
const BREAKS: &str = "\
Here:

```html
<title>Breaks</title>
<p id=\"state\"></p>
```

```renderer-js
async function call(name) {
  document.title = name;
  try {
    const answer = await dunlin.invoke(name);
    state.textContent = `${name}: ${answer}`;
  } catch (error) {
    state.textContent = `${name}: ${error.message}`;
  }
}
```

```main-js
let calls = 0;
dunlin.handle(\"count\", () => (calls += 1));
dunlin.handle(\"fill\", () => {
  const all = [];
  while (all.length < 1024) all.push(new Uint8Array(2 ** 20).fill(1));
  return all.length;
});
```
";

#[test]
fn a_program_that_fills_the_memory_is_ended() {
    let expected = "needed more than 64 MiB of memory";
    let chat = Chat::open([Response::reply(BREAKS)], |_| {});
    let page = &chat.tab;
    let state = "document.querySelector('#state')?.textContent";
    for answer in ["count: 1", "count: 2"] {
        page.wait_in_frame("globalThis.call");
        page.evaluate_in_frame("call('count')");
        page.wait_in_frame(&format!("{state} === '{answer}'"));
    }
    page.evaluate_in_frame("void call('fill')");
    page.wait_in_frame(&format!("{state}.startsWith('fill: ')"));
    let said = page.evaluate_in_frame(state).to_string();
    assert!(said.contains(expected), "{said}");
    let line = format!("app 'breaks': main-js: it {expected}");
    chat.terminal.wait_for(&line);
    // The next call starts it again.
    page.evaluate_in_frame("call('count')");
    page.wait_in_frame(&format!("{state} === 'count: 1'"));
    let screen = chat.terminal.screen();
    assert_eq!(screen.count("app 'breaks': "), 1, "{:?}", chat.terminal);
}
