// The outer document of an app: stands between the frame, which it does not trust, and the server.
'use strict';

// Calls and reports that wait at one time: what a loop without end asks for must not fill the memory.
const MAX_CALLS = 256;
const MAX_REPORTS = 4;
const MAX_WAITING_REPORTS = 20;
// Events that are kept while the frame loads.
const MAX_EVENTS = 100;
// What the server reads of the message of an error.
const MAX_MESSAGE = 2000;
// How often the frame is asked whether it still runs, and when it counts as hanging.
const PING_MS = 1000;
const HANGING_MS = 5000;
// How long the server may be away.
const GONE_MS = 3000;

let frame = document.querySelector('iframe');
let content = { version: 0 };
// The way to the app, its calls that are not answered, and the events that wait for it.
let port = null;
let calls = new Set();
let events = [];
let reports = 0;
let waiting = [];
let omitted = 0;
let heard = 0;
let hangs = false;

const notice = document.querySelector('#notice');

function tell(text, canReload) {
  notice.hidden = !text;
  notice.firstElementChild.textContent = text;
  notice.lastElementChild.hidden = !canReload;
}

function disconnect() {
  port?.close();
  port = null;
  calls.forEach((call) => call.abort());
  calls = new Set();
}

function show() {
  disconnect();
  waiting = [];
  omitted = 0;
  tell('', false);
  hangs = false;
  const next = document.createElement('iframe');
  next.sandbox = content.sandbox;
  next.referrerPolicy = 'no-referrer';
  next.title = content.title;
  next.src = content.path;
  // The first document of a frame is the app.
  let loaded = 0;
  next.addEventListener('load', () => {
    loaded += 1;
    if (loaded > 1) {
      left('');
    }
  });
  frame.replaceWith(next);
  frame = next;
}

// The app is gone from the frame: it navigated, or tried to.
function left(url) {
  if (port) {
    disconnect();
    tell('The app tried to navigate to another URL, which is not allowed.', true);
    report(`an app cannot navigate to other URLs: ${url}`, null);
  }
}

function post(path, body, signal) {
  return fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body, signal });
}

// What was blocked comes last: a page may load twenty files from elsewhere, and the exception behind them is what matters.
function report(message, location, blocked = false) {
  const error = { message: message.slice(0, MAX_MESSAGE), location, blocked };
  const first = blocked ? -1 : waiting.findIndex((other) => other.blocked);
  waiting.splice(first < 0 ? waiting.length : first, 0, error);
  omitted += waiting.splice(MAX_WAITING_REPORTS).length;
  sendReports();
}

function sendReports() {
  while (reports < MAX_REPORTS && waiting.length > 0) {
    reports += 1;
    const body = JSON.stringify({ version: content.version, ...waiting.shift(), omitted });
    omitted = 0;
    post('error', body).catch(() => {}).finally(() => {
      reports -= 1;
      sendReports();
    });
  }
}

async function invoke(from, { call, name, text }) {
  const failed = (kind, message) => from.postMessage({ call, ok: false, text: JSON.stringify({ kind, message }) });
  if (calls.size >= MAX_CALLS) {
    failed('BusyError', `too many calls at once: ${MAX_CALLS} may wait`);
    return;
  }
  const own = calls;
  const cancel = new AbortController();
  own.add(cancel);
  try {
    const body = `{"version":${content.version},"name":${JSON.stringify(String(name))},"arguments":${text}}`;
    const answer = await post('invoke', body, cancel.signal);
    from.postMessage({ call, ok: answer.ok, text: await answer.text() });
  } catch {
    failed('ClosedError', 'Dunlin has closed this app');
  } finally {
    own.delete(cancel);
  }
}

function connect(to) {
  disconnect();
  port = to;
  heard = performance.now();
  to.onmessage = ({ data }) => {
    if (data.call !== undefined) {
      invoke(to, data);
    } else if (data.error) {
      report(String(data.error.message), data.error.location, data.error.blocked === true);
    } else if (data.pong) {
      heard = performance.now();
      if (hangs) {
        hangs = false;
        tell('', false);
      }
    }
  };
  events.forEach((event) => to.postMessage(event));
  events = [];
}

addEventListener('message', ({ source, ports }) => {
  if (source === frame.contentWindow && ports.length === 1) {
    connect(ports[0]);
  }
});

setInterval(() => {
  const now = performance.now();
  if (!port || document.hidden) {
    heard = now;
  } else if (now - heard > HANGING_MS && !hangs) {
    hangs = true;
    tell('The app does not respond.', true);
    report('the app does not respond', null);
  }
  port?.postMessage({ ping: true });
}, PING_MS);

addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI }) => {
  if (effectiveDirective === 'frame-src') {
    left(blockedURI);
  }
});

notice.lastElementChild.addEventListener('click', show);

const source = new EventSource('events');
let gone = null;

function end(text) {
  source.close();
  disconnect();
  tell(text, false);
}

source.addEventListener('open', () => {
  clearTimeout(gone);
  gone = null;
});
source.addEventListener('error', () => {
  gone ??= setTimeout(end, GONE_MS, 'Dunlin has closed this app.');
});
source.addEventListener('content', ({ data }) => {
  const next = JSON.parse(data);
  // The connection may have been opened again.
  if (next.version !== content.version) {
    content = next;
    document.title = content.title;
    events = [];
    show();
  }
});
source.addEventListener('emit', ({ data }) => {
  const event = { event: data };
  if (port) {
    port.postMessage(event);
  } else {
    events.push(event);
    events.splice(0, events.length - MAX_EVENTS);
  }
});
source.addEventListener('lost', ({ data }) => {
  report(`the page was too busy for ${JSON.parse(data).events} events, which were lost`, null);
});
source.addEventListener('replaced', () => end('This app is open in other windows.'));
source.addEventListener('closed', () => end('Dunlin has closed this app.'));
