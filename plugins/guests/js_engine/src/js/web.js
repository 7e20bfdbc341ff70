// URL, URLSearchParams, Headers, Response and fetch.
(function (host, entries) {
  "use strict";

  const { text, bytesOf } = entries;
  const iterable = (value) => value !== null && typeof value === "object" && Symbol.iterator in value;

  /** Pairs of texts, of what a constructor is given. */
  function pairsOf(init, what) {
    if (init === undefined || init === null) return [];
    if (typeof init !== "object") throw new TypeError(`${what} takes pairs or an object`);
    const pairs = iterable(init) ? [...init] : Object.entries(init);
    return pairs.map((pair) => {
      const [name, value, ...more] = [...pair];
      if (value === undefined || more.length > 0) throw new TypeError(`${what}: each pair has a name and a value`);
      return [text(name), text(value)];
    });
  }

  class URLSearchParams {
    #pairs;
    #changed = () => {};

    constructor(init = "") {
      this.#pairs =
        typeof init === "object" && init !== null
          ? pairsOf(init, "URLSearchParams")
          : host.parseQuery(text(init).replace(/^\?/, ""));
    }
    /** The parameters of a URL, which follows their changes. */
    static [entries.secret](changed) {
      const made = new URLSearchParams();
      made.#changed = () => changed(made.toString());
      return { made, read: (query) => (made.#pairs = host.parseQuery(query)) };
    }
    get size() {
      return this.#pairs.length;
    }
    append(name, value) {
      this.#pairs.push([text(name), text(value)]);
      this.#changed();
    }
    delete(name, value) {
      this.#pairs = this.#pairs.filter(
        ([other, held]) => other !== text(name) || (value !== undefined && held !== text(value)),
      );
      this.#changed();
    }
    get(name) {
      return this.#pairs.find(([other]) => other === text(name))?.[1] ?? null;
    }
    getAll(name) {
      return this.#pairs.filter(([other]) => other === text(name)).map(([, value]) => value);
    }
    has(name, value) {
      return this.#pairs.some(([other, held]) => other === text(name) && (value === undefined || held === text(value)));
    }
    set(name, value) {
      const first = this.#pairs.findIndex(([other]) => other === text(name));
      if (first < 0) {
        this.#pairs.push([text(name), text(value)]);
      } else {
        this.#pairs[first][1] = text(value);
        this.#pairs = this.#pairs.filter(([other], index) => index <= first || other !== text(name));
      }
      this.#changed();
    }
    sort() {
      this.#pairs.sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0));
      this.#changed();
    }
    forEach(callback, self) {
      for (const [name, value] of this) callback.call(self, value, name, this);
    }
    *keys() {
      for (const [name] of this) yield name;
    }
    *values() {
      for (const [, value] of this) yield value;
    }
    *entries() {
      for (let index = 0; index < this.#pairs.length; index += 1) yield [...this.#pairs[index]];
    }
    [Symbol.iterator]() {
      return this.entries();
    }
    toString() {
      return host.writeQuery(this.#pairs);
    }
    get [Symbol.toStringTag]() {
      return "URLSearchParams";
    }
  }
  const parametersOf = URLSearchParams[entries.secret];
  delete URLSearchParams[entries.secret];

  class URL {
    #parts;
    #parameters;

    constructor(url, base) {
      this.#parts = host.parseUrl(text(url), base === undefined ? null : text(base));
      if (this.#parts === undefined) throw new TypeError(`'${text(url)}' is not a valid URL`);
      this.#parameters = parametersOf((query) => this.#set("search", query, false));
      this.#parameters.read(this.#parts.search.slice(1));
    }
    static canParse(url, base) {
      return host.parseUrl(text(url), base === undefined ? null : text(base)) !== undefined;
    }
    static parse(url, base) {
      return URL.canParse(url, base) ? new URL(url, base) : null;
    }
    #set(part, value, reads = true) {
      this.#parts = host.changeUrl(this.#parts.href, part, text(value)) ?? this.#parts;
      if (reads) this.#parameters.read(this.#parts.search.slice(1));
    }
    get href() {
      return this.#parts.href;
    }
    set href(value) {
      const parts = host.parseUrl(text(value), null);
      if (parts === undefined) throw new TypeError(`'${text(value)}' is not a valid URL`);
      this.#parts = parts;
      this.#parameters.read(parts.search.slice(1));
    }
    get origin() {
      return this.#parts.origin;
    }
    get searchParams() {
      return this.#parameters.made;
    }
    toString() {
      return this.href;
    }
    toJSON() {
      return this.href;
    }
    get [Symbol.toStringTag]() {
      return "URL";
    }
    static {
      const parts = ["protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"];
      for (const part of parts) {
        Object.defineProperty(URL.prototype, part, {
          get() {
            return this.#parts[part];
          },
          set(value) {
            this.#set(part, value);
          },
          enumerable: true,
          configurable: true,
        });
      }
    }
  }

  class Headers {
    #values = new Map();

    constructor(init) {
      for (const [name, value] of pairsOf(init, "Headers")) this.append(name, value);
    }
    append(name, value) {
      const key = text(name).toLowerCase();
      const held = this.#values.get(key);
      const added = text(value).trim();
      this.#values.set(key, held === undefined ? added : `${held}, ${added}`);
    }
    delete(name) {
      this.#values.delete(text(name).toLowerCase());
    }
    get(name) {
      return this.#values.get(text(name).toLowerCase()) ?? null;
    }
    has(name) {
      return this.#values.has(text(name).toLowerCase());
    }
    set(name, value) {
      this.#values.set(text(name).toLowerCase(), text(value).trim());
    }
    forEach(callback, self) {
      for (const [name, value] of this) callback.call(self, value, name, this);
    }
    *keys() {
      for (const [name] of this) yield name;
    }
    *values() {
      for (const [, value] of this) yield value;
    }
    *entries() {
      for (const name of [...this.#values.keys()].sort()) yield [name, this.#values.get(name)];
    }
    [Symbol.iterator]() {
      return this.entries();
    }
    get [Symbol.toStringTag]() {
      return "Headers";
    }
  }

  /** The bytes of a body, and the type that they have unless a header says otherwise. */
  function bodyOf(body) {
    if (body === undefined || body === null) return [null, undefined];
    if (body instanceof URLSearchParams) {
      return [host.encode(body.toString()), "application/x-www-form-urlencoded;charset=UTF-8"];
    }
    const bytes = bytesOf(body);
    if (bytes !== undefined) return [bytes.slice(), undefined];
    if (typeof body === "object" && body.toString === Object.prototype.toString) {
      throw new TypeError("the body is an object: use JSON.stringify");
    }
    return [host.encode(text(body)), "text/plain;charset=UTF-8"];
  }

  class Response {
    #bytes;
    #used = false;
    #url = "";
    #redirected = false;

    constructor(body = null, { status = 200, statusText = "", headers } = {}) {
      if (!(status >= 200 && status <= 599)) throw new RangeError("the status is 200 to 599");
      const [bytes, type] = bodyOf(body);
      this.#bytes = bytes ?? new Uint8Array(0);
      this.status = status;
      this.statusText = text(statusText);
      this.headers = new Headers(headers);
      if (type !== undefined && !this.headers.has("content-type")) this.headers.set("content-type", type);
    }
    static json(value, init) {
      const made = new Response(JSON.stringify(value), init);
      if (!new Headers(init?.headers).has("content-type")) made.headers.set("content-type", "application/json");
      return made;
    }
    /** What the host answered. */
    static [entries.secret](answer, asked) {
      const made = new Response();
      made.#bytes = answer.body;
      made.#url = answer.url;
      made.#redirected = answer.url !== asked;
      made.status = answer.status;
      made.headers = new Headers(answer.headers);
      return made;
    }
    get ok() {
      return this.status >= 200 && this.status <= 299;
    }
    get url() {
      return this.#url;
    }
    get redirected() {
      return this.#redirected;
    }
    get bodyUsed() {
      return this.#used;
    }
    clone() {
      if (this.#used) throw new TypeError("the body has been read already");
      const made = new Response(this.#bytes, { statusText: this.statusText, headers: this.headers });
      made.status = this.status;
      made.#url = this.#url;
      made.#redirected = this.#redirected;
      return made;
    }
    async bytes() {
      if (this.#used) throw new TypeError("the body has been read already");
      this.#used = true;
      return this.#bytes;
    }
    async arrayBuffer() {
      return (await this.bytes()).buffer;
    }
    async text() {
      return new TextDecoder().decode(await this.bytes());
    }
    async json() {
      return JSON.parse(await this.text());
    }
    get [Symbol.toStringTag]() {
      return "Response";
    }
  }
  const answered = Response[entries.secret];
  delete Response[entries.secret];

  async function fetch(resource, { method = "GET", headers, body } = {}) {
    const url = host.parseUrl(text(resource), null);
    if (url === undefined) throw new TypeError(`fetch: '${text(resource)}' is not an absolute URL`);
    const [bytes, type] = bodyOf(body);
    const all = new Headers(headers);
    if (type !== undefined && !all.has("content-type")) all.set("content-type", type);
    const asked = url.href.slice(0, url.href.length - url.hash.length);
    return answered(host.fetch(text(method).toUpperCase(), asked, [...all], bytes), asked);
  }

  entries.define({ URL, URLSearchParams, Headers, Response, fetch });
});
