//! An app from its start to its end, and what its user sees of that.

use dunlin_tests::Browser;
use serde_json::json;

use super::stage::App;

#[test]
fn html_as_models_write_it_works() {
    let html = r#"<!DOCTYPE html>
<html lang="en">
<head>
  <title>Tides</title>
  <style>#p { color: rgb(1, 2, 3); }</style>
</head>
<body>
  <p id="p" style="width: 7px" onclick="clicked(&quot;p&quot;)">Tides</p>
  <form id="form" onsubmit="submitted(); return false"><input name="a"></form>
  <a id="link" href="&#35;p">down</a>
  <img id="picture" src="data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==">
  <script>
    const found = { early: document.querySelectorAll('p').length };
    function clicked(id) { found.clicked = id; }
    function submitted() { found.submitted = true; }
  </script>
</body>
</html>"#;
    let app = App::open(
        html,
        "p.click();
         form.requestSubmit();
         link.click();
         found.hash = location.hash;
         found.language = document.documentElement.lang;
         found.mode = document.compatMode;
         found.title = document.title;
         found.color = getComputedStyle(p).color;
         found.width = p.style.width;
         p.style.height = '3px';
         found.height = p.offsetHeight;
         const own = document.createElement('p');
         own.innerHTML = '<b>bold</b>';
         found.bold = own.firstChild.localName;
         picture.decode().then(() => { found.picture = picture.naturalWidth; dunlin.invoke('found', found); });",
    );
    let expected = json!({
        "early": 1, "clicked": "p", "submitted": true, "hash": "#p", "language": "en", "mode": "CSS1Compat",
        "title": "Tides", "color": "rgb(1, 2, 3)", "width": "7px", "height": 3, "bold": "b", "picture": 1,
    });
    assert_eq!(app.calls.wait("found"), expected);
}

#[test]
fn the_title_is_text() {
    let app = App::open("", "dunlin.invoke('loaded')");
    app.calls.wait("loaded");
    assert_eq!(app.tab.evaluate("document.title"), "Tide <b>table</b>");
    assert_eq!(app.tab.evaluate("document.querySelectorAll('b').length"), 0);
}

#[test]
fn an_endless_loop_stops_only_its_own_frame() {
    let mut app = App::open(
        "",
        "dunlin.on('loop', () => { for (;;) {} }); dunlin.invoke('loaded');",
    );
    app.calls.wait("loaded");
    app.emit("loop", &json!(null));
    let error = app.error();
    assert_eq!(error.message, "the app does not respond");
    app.wait_for_notice("The app does not respond.");
    // The server answers others, and the page around the app its user.
    let other = Browser::shared().open(&app.page.url());
    app.wait_for_windows(2);
    drop(other);
    assert_eq!(app.calls.count("loaded"), 1);
    // The button loads the same version once more.
    app.tab
        .evaluate("document.querySelector('#notice button').click()");
    app.calls.wait_for_count("loaded", 2);
    app.tab.wait_for("document.querySelector('#notice').hidden");
    // So does another version, whatever the one before does.
    app.emit("loop", &json!(null));
    app.reload("", "dunlin.invoke('again')");
    app.calls.wait("again");
}

#[test]
fn the_end_of_an_app_is_shown() {
    let app = App::open("", "dunlin.invoke('loaded')");
    app.calls.wait("loaded");
    let tab = app.close();
    tab.wait_for(
        "document.querySelector('#notice').textContent.includes('Dunlin has closed this app.')",
    );
}

#[test]
fn a_server_that_is_gone_is_noticed() {
    let app = App::open("", "dunlin.invoke('loaded')");
    app.calls.wait("loaded");
    let tab = app.abandon();
    tab.wait_for(
        "document.querySelector('#notice').textContent.includes('Dunlin has closed this app.')",
    );
}

#[test]
fn one_window_more_than_a_browser_can_serve_replaces_the_first() {
    let app = App::open("", "");
    let others: Vec<_> = (0..3)
        .map(|_| Browser::shared().open(&app.page.url()))
        .collect();
    app.wait_for_notice("This app is open in other windows.");
    app.wait_for_windows(3);
    drop(others);
    app.wait_for_windows(0);
}
