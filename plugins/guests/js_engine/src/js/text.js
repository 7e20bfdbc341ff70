// Text and bytes, and what the other scripts share.
(function (host, entries) {
  "use strict";

  /** Makes something global as the language's own things are: it can be replaced, and no loop meets it. */
  entries.define = (values) => {
    for (const [name, value] of Object.entries(values)) {
      Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
    }
  };

  /** What only these scripts can name. */
  entries.secret = Symbol("secret");

  /** Any value as text that is Unicode. */
  const text = (entries.text = (value) => `${value}`.toWellFormed());

  /** The bytes behind a buffer or a view of one. */
  const bytesOf = (entries.bytesOf = (value) => {
    if (value instanceof ArrayBuffer || value instanceof SharedArrayBuffer) return new Uint8Array(value);
    if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
    return undefined;
  });

  /** What is nested deeper would take more of the stack than there is. */
  const MAX_JSON_DEPTH = 500;
  const parseJson = JSON.parse;
  Object.defineProperty(JSON, "parse", {
    value: function parse(json, reviver) {
      const given = `${json}`;
      // What is shorter cannot be nested that deeply.
      if (given.length > MAX_JSON_DEPTH && host.jsonDepth(given.toWellFormed()) > MAX_JSON_DEPTH) {
        throw new RangeError(`the JSON is nested more than ${MAX_JSON_DEPTH} deep`);
      }
      return parseJson(given, reviver);
    },
    writable: true,
    configurable: true,
  });

  class TextEncoder {
    get encoding() {
      return "utf-8";
    }
    encode(input = "") {
      return host.encode(text(input));
    }
    encodeInto(input, target) {
      let read = 0;
      let written = 0;
      for (const character of text(input)) {
        const bytes = host.encode(character);
        if (written + bytes.length > target.length) break;
        target.set(bytes, written);
        read += character.length;
        written += bytes.length;
      }
      return { read, written };
    }
  }

  class TextDecoder {
    #fatal;
    #keepsMark;
    /** What of a character came so far, while more is to come. */
    #rest = new Uint8Array(0);
    #begun = false;

    constructor(label = "utf-8", { fatal = false, ignoreBOM = false } = {}) {
      if (!["utf-8", "utf8", "unicode-1-1-utf-8"].includes(text(label).trim().toLowerCase())) {
        throw new RangeError(`the encoding '${label}' is not supported: use utf-8`);
      }
      this.#fatal = Boolean(fatal);
      this.#keepsMark = Boolean(ignoreBOM);
    }
    get encoding() {
      return "utf-8";
    }
    get fatal() {
      return this.#fatal;
    }
    get ignoreBOM() {
      return this.#keepsMark;
    }
    decode(input = new Uint8Array(0), { stream = false } = {}) {
      let bytes = bytesOf(input);
      if (bytes === undefined) throw new TypeError("decode takes a buffer or a view of one");
      if (this.#rest.length > 0) {
        const joined = new Uint8Array(this.#rest.length + bytes.length);
        joined.set(this.#rest);
        joined.set(bytes, this.#rest.length);
        bytes = joined;
      }
      const whole = stream ? bytes.length - unfinished(bytes) : bytes.length;
      this.#rest = bytes.slice(whole);
      let decoded = host.decode(bytes.subarray(0, whole), this.#fatal);
      if (!this.#begun && !this.#keepsMark && decoded.startsWith("\ufeff")) decoded = decoded.slice(1);
      this.#begun = stream && (this.#begun || whole > 0);
      return decoded;
    }
  }

  /** How many bytes at the end may be the beginning of a character. */
  function unfinished(bytes) {
    for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
      const byte = bytes[bytes.length - back];
      if (byte >= 0xc0) {
        const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
        return length > back ? back : 0;
      }
      if (byte < 0x80) return 0;
    }
    return 0;
  }

  entries.define({ TextEncoder, TextDecoder });
});
