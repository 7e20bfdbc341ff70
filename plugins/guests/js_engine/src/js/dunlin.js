// The app's own functions, the log, timers, random numbers; and the entries by which the host calls the program.
(function (host, entries) {
  "use strict";

  const { define, text } = entries;

  /** JSON of a value; what JSON has no word for is null. */
  const json = (value) => JSON.stringify(value) ?? "null";

  const handlers = new Map();

  function handle(name, handler) {
    if (typeof handler !== "function") throw new TypeError(`dunlin.handle('${text(name)}', …): the handler is not a function`);
    handlers.set(text(name), handler);
  }

  function emit(event, payload) {
    host.emit(text(event), json(payload));
  }

  const files = {
    async readText(path) {
      const bytes = host.readFile(text(path));
      try {
        return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
      } catch {
        const error = new Error(`'${text(path)}' is not UTF-8 text: use readBytes`);
        error.name = "WrongKindError";
        throw error;
      }
    },
    readBytes: async (path) => host.readFile(text(path)),
    writeText: async (path, content) => host.writeFile(text(path), text(content)),
    list: async (path = ".") => host.listFolder(text(path)),
    stat: async (path) => host.stat(text(path)),
  };

  const store = {
    async get(key) {
      const held = host.storeGet(text(key));
      return held === undefined || held === null ? undefined : JSON.parse(held);
    },
    set: async (key, value) => host.storeSet(text(key), json(value)),
    delete: async (key) => host.storeDelete(text(key)),
  };

  // --- The log. ---

  /** A value in one text: as it is, or as JSON, in which what JSON cannot say is written as text. */
  function shown(value) {
    if (typeof value === "string") return value;
    if (value instanceof Error) return `${value}${value.stack ? `\n${value.stack.trimEnd()}` : ""}`;
    if (typeof value === "function") return `[function ${value.name}]`;
    if (typeof value !== "object" || value === null) return String(value);
    const above = [];
    const said = JSON.stringify(value, function (key, item) {
      while (above.length > 0 && above.at(-1) !== this) above.pop();
      if (typeof item === "bigint") return `${item}n`;
      if (typeof item === "function" || typeof item === "symbol") return String(item);
      if (typeof item !== "object" || item === null) return item;
      if (above.includes(item)) return "[circular]";
      above.push(item);
      if (item instanceof Error) return shown(item);
      if (item instanceof Map || item instanceof Set) return [...item];
      return item;
    });
    return said ?? String(value);
  }

  const writes =
    (level) =>
    (...values) => {
      let line;
      try {
        line = values.map(shown).join(" ");
      } catch (error) {
        line = `a value that cannot be shown: ${error}`;
      }
      host.log(level, line.toWellFormed());
    };
  const console = {
    log: writes("info"),
    info: writes("info"),
    dir: (value) => console.log(value),
    debug: writes("debug"),
    trace: writes("debug"),
    warn: writes("warn"),
    error: writes("error"),
    assert(holds, ...values) {
      if (!holds) console.error("assertion failed:", ...values);
    },
  };

  // --- Timers. ---

  const MIN_INTERVAL_MS = 4;
  const MAX_WAIT_MS = 2 ** 31 - 1;
  const timers = new Map();
  let lastTimer = 0;

  function addTimer(callback, wait, values, repeats) {
    if (typeof callback !== "function") throw new TypeError("a timer takes a function");
    const number = Number(wait);
    // As in browsers: what is too long for them does not wait at all.
    let ms = number > 0 && number <= MAX_WAIT_MS ? number : 0;
    if (repeats) ms = Math.max(ms, MIN_INTERVAL_MS);
    lastTimer += 1;
    timers.set(lastTimer, { due: host.now() + ms, callback, values, every: repeats ? ms : undefined });
    return lastTimer;
  }

  const clear = (timer) => {
    timers.delete(Number(timer));
  };

  entries.dueTimers = (now) =>
    [...timers]
      .filter(([, { due }]) => due <= now)
      .sort(([left, { due: leftDue }], [right, { due: rightDue }]) => leftDue - rightDue || left - right)
      .map(([timer]) => timer);

  entries.runTimer = (timer) => {
    const found = timers.get(timer);
    // One that was due before may have cleared it.
    if (found === undefined) return;
    if (found.every === undefined) {
      timers.delete(timer);
    } else {
      found.due = host.now() + found.every;
    }
    found.callback.apply(undefined, found.values);
  };

  entries.nextTimer = (now) => {
    if (timers.size === 0) return null;
    let next = Infinity;
    for (const { due } of timers.values()) next = Math.min(next, due);
    return Math.max(next - now, 0);
  };

  // --- Calls from outside. ---

  entries.invoke = (call, name, argument) => {
    const handler = handlers.get(name);
    const run = async () => {
      if (handler === undefined) {
        const error = new Error(`no handler named '${name}': call dunlin.handle('${name}', …)`);
        error.name = "NoHandlerError";
        throw error;
      }
      return json(await handler(JSON.parse(argument)));
    };
    run().then(
      (answer) => host.settle(call, answer),
      (error) => host.fail(call, error),
    );
  };

  // --- Random numbers. ---

  const crypto = {
    getRandomValues(array) {
      const bytes = entries.bytesOf(array);
      if (bytes === undefined || array instanceof Float32Array || array instanceof Float64Array) {
        throw new TypeError("getRandomValues takes an array of integers");
      }
      if (bytes.length > 65536) throw new DOMException("at most 65,536 bytes at once", "QuotaExceededError");
      bytes.set(host.random(bytes.length));
      return array;
    },
    randomUUID() {
      const bytes = host.random(16);
      bytes[6] = (bytes[6] & 0x0f) | 0x40;
      bytes[8] = (bytes[8] & 0x3f) | 0x80;
      const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
      return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
    },
  };

  const begun = host.now();
  const performance = { timeOrigin: Date.now(), now: () => host.now() - begun };

  define({
    dunlin: Object.freeze({ handle, emit, files: Object.freeze(files), store: Object.freeze(store) }),
    console,
    crypto,
    performance,
    setTimeout: (callback, wait, ...values) => addTimer(callback, wait, values, false),
    setInterval: (callback, wait, ...values) => addTimer(callback, wait, values, true),
    clearTimeout: clear,
    clearInterval: clear,
  });
});
