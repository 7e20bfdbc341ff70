// Runs first in the frame of an app: gives it `dunlin`, and reports its errors.
(() => {
  'use strict';

  // Connections between browsers are a network that no policy of a page forbids. A document in an attribute of a frame would
  // have them again; what makes such an attribute past the policy below goes with them.
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    if (/^(webkit)?RTC|^XSLT/.test(name)) {
      delete globalThis[name];
    }
  }

  // All html that scripts make comes through here. Whatever the app makes of the methods of strings does not matter: these
  // are those of the browser. `document.write` may bring an attribute in two parts.
  const includes = Function.prototype.call.bind(String.prototype.includes);
  const lower = Function.prototype.call.bind(String.prototype.toLowerCase);
  globalThis.trustedTypes?.createPolicy('default', {
    createHTML: (html, _type, sink) => {
      const text = lower(html);
      const refused = includes(text, 'srcdoc') || includes(text, 'shadowrootmode') || includes(text, '<!entity')
        || includes(sink, 'srcdoc') || includes(sink, 'write');
      return refused ? null : html;
    },
    createScript: (script) => script,
    createScriptURL: (url) => url,
  });

  // Events that are kept until a handler for them is there.
  const MAX_EVENTS = 100;

  const base = new URL('.', document.currentScript.src).href;
  const sources = new Map([[base, 'html'], [`${base}renderer.js`, 'renderer-js']]);
  const { port1: port, port2: theirs } = new MessageChannel();
  const calls = new Map();
  const handlers = new Map();
  // Errors of the back end, which reports them itself.
  const reported = new WeakSet();
  let kept = [];
  let last = 0;

  const locate = (file, line, column) => {
    const source = sources.get(String(file).replace(/#.*/s, ''));
    return source && line > 0 ? { source, line, column: Math.max(column, 1) } : null;
  };

  // The first place in a stack that is the app's.
  const locateIn = (stack) => {
    for (const [, file, line, column] of String(stack).matchAll(/(http:[^\s()]*):(\d+):(\d+)/g)) {
      const found = locate(file, Number(line), Number(column));
      if (found) {
        return found;
      }
    }
    return null;
  };

  const report = (message, location, blocked = false) => {
    port.postMessage({ error: { message: String(message).slice(0, 2000), location, blocked } });
  };

  addEventListener('error', ({ message, filename, lineno, colno }) => {
    report(message.replace(/^Uncaught /, ''), locate(filename, lineno, colno));
  });

  addEventListener('unhandledrejection', ({ reason }) => {
    if (reported.has(reason)) {
      return;
    }
    report(`in a promise: ${reason}`, locateIn(reason?.stack));
  });

  // What the policy keeps out, by how its directives begin.
  const kinds = [
    ['style', 'load a style sheet'], ['img', 'load an image'], ['font', 'load a font'], ['media', 'load media'],
    ['script', 'load a script'], ['connect', 'send a request'], ['frame', 'show another document'],
    ['form', 'send a form'],
  ];

  addEventListener('securitypolicyviolation', (violation) => {
    const { effectiveDirective, blockedURI, sourceFile, lineNumber, columnNumber } = violation;
    const [, what] = kinds.find(([kind]) => effectiveDirective.startsWith(kind)) ?? [];
    let text = `the policy of apps blocks ${blockedURI} (${effectiveDirective})`;
    if (effectiveDirective === 'script-src-attr') {
      text = 'handlers in attributes of generated html do not run: use addEventListener';
    } else if (what && blockedURI.includes(':')) {
      text = `an app cannot ${what} from or to another place: ${blockedURI} (${effectiveDirective})`;
    }
    report(text, locate(sourceFile, lineNumber, columnNumber), true);
  });

  // What the app does not handle itself would navigate the frame.
  addEventListener('submit', (event) => event.preventDefault());
  // Links that lead to another place than one of the document do nothing, also with a middle click, which opens a new window
  // in spite of the sandbox. Before the app sees the event, and with the browser's own functions.
  const own = (prototype, name) => Function.prototype.call.bind(prototype[name]);
  const path = own(Event.prototype, 'composedPath');
  const prevent = own(Event.prototype, 'preventDefault');
  const attribute = own(Element.prototype, 'getAttribute');
  const xlink = own(Element.prototype, 'getAttributeNS');
  const getter = (prototype, name) =>
    Function.prototype.call.bind(Object.getOwnPropertyDescriptor(prototype, name).get);
  const nodeType = getter(Node.prototype, 'nodeType');
  const localName = getter(Element.prototype, 'localName');
  const namespace = getter(Element.prototype, 'namespaceURI');
  const MATHML = 'http://www.w3.org/1998/Math/MathML';
  const modifiers = ['ctrlKey', 'metaKey', 'shiftKey', 'altKey'].map((key) => getter(MouseEvent.prototype, key));
  const onLink = (event) => {
    // What such a click would open is decided after the app has seen it, and may have made a link of what was none.
    try {
      for (let i = 0; i < modifiers.length; i += 1) {
        if (modifiers[i](event)) {
          prevent(event);
        }
      }
    } catch {
      // What is not an event of a mouse opens nothing.
      return;
    }
    const nodes = path(event);
    for (let i = 0; i < nodes.length; i += 1) {
      const node = nodes[i];
      if (node === globalThis || nodeType(node) !== 1) {
        continue;
      }
      const name = localName(node);
      if (name !== 'a' && name !== 'area' && namespace(node) !== MATHML) {
        continue;
      }
      const href = attribute(node, 'href') ?? xlink(node, 'http://www.w3.org/1999/xlink', 'href');
      if (href !== null && href[0] !== '#') {
        prevent(event);
        report(`links to other URLs do nothing in an app: ${href}`, null);
        return;
      }
    }
  };
  addEventListener('click', onLink, true);
  addEventListener('auxclick', (event) => prevent(event), true);

  // The path of an event does not show what is in a closed tree.
  const attachShadow = own(Element.prototype, 'attachShadow');
  Object.defineProperty(Element.prototype, 'attachShadow', {
    value(options) {
      return attachShadow(this, { ...options, mode: 'open' });
    },
  });

  for (const name of ['alert', 'confirm', 'prompt', 'open', 'print']) {
    globalThis[name] = () => {
      report(`${name}() does nothing in an app`, locateIn(new Error().stack));
      return name === 'confirm' ? false : null;
    };
  }

  const deliver = ({ event, payload }) => {
    for (const handler of handlers.get(event) ?? []) {
      try {
        handler(payload);
      } catch (error) {
        reportError(error);
      }
    }
  };

  const settle = ({ call, ok, text }) => {
    const { resolve, reject } = calls.get(call) ?? {};
    calls.delete(call);
    try {
      const value = JSON.parse(text);
      if (ok) {
        resolve?.(value);
      } else {
        const error = new Error(value.message);
        const { kind, line, column } = value;
        Object.assign(error, { name: kind, kind, line, column });
        reported.add(error);
        reject?.(error);
      }
    } catch (error) {
      reject?.(error);
    }
  };

  port.onmessage = ({ data }) => {
    if (data.ping) {
      port.postMessage({ pong: true });
    } else if (data.call !== undefined) {
      settle(data);
    } else {
      const event = JSON.parse(data.event);
      if (handlers.has(event.event)) {
        deliver(event);
      } else {
        kept.push(event);
        kept.splice(0, kept.length - MAX_EVENTS);
      }
    }
  };

  const invoke = (name, value) => new Promise((resolve, reject) => {
    const text = JSON.stringify(value) ?? 'null';
    last += 1;
    calls.set(last, { resolve, reject });
    port.postMessage({ call: last, name: String(name), text });
  });

  const on = (event, handler) => {
    const name = String(event);
    handlers.set(name, [...(handlers.get(name) ?? []), handler]);
    const waiting = kept.filter((it) => it.event === name);
    kept = kept.filter((it) => it.event !== name);
    queueMicrotask(() => waiting.forEach(deliver));
  };

  Object.defineProperty(globalThis, 'dunlin', { value: Object.freeze({ invoke, on }) });
  parent.postMessage('dunlin', location.origin, [theirs]);
})();
