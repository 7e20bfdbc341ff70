// structuredClone.
(function (host, entries) {
  "use strict";

  const ERRORS = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
  const refuse = (value) => {
    const what = typeof value === "object" ? "this object" : `a ${typeof value}`;
    throw new DOMException(`${what} cannot be cloned`, "DataCloneError");
  };
  // A plain assignment to `__proto__` would change what the copy is.
  const put = (object, key, value) =>
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });

  function structuredClone(value, { transfer = [] } = {}) {
    const copies = new Map();
    for (const buffer of transfer) {
      if (!(buffer instanceof ArrayBuffer)) refuse(buffer);
      copies.set(buffer, buffer.transfer());
    }
    return copy(value, copies);
  }

  function copy(value, copies) {
    if (typeof value === "function" || typeof value === "symbol") refuse(value);
    if (typeof value !== "object" || value === null) return value;
    if (copies.has(value)) return copies.get(value);
    const made = (object) => {
      copies.set(value, object);
      return object;
    };
    if (Array.isArray(value)) {
      const array = made(new Array(value.length));
      for (const key of Object.keys(value)) put(array, key, copy(value[key], copies));
      return array;
    }
    if (value instanceof Date) return made(new Date(value.getTime()));
    if (value instanceof RegExp) return made(new RegExp(value.source, value.flags));
    if (value instanceof Boolean || value instanceof Number || value instanceof String || value instanceof BigInt) {
      return made(Object(value.valueOf()));
    }
    if (value instanceof Map) {
      const map = made(new Map());
      for (const [key, item] of [...value]) map.set(copy(key, copies), copy(item, copies));
      return map;
    }
    if (value instanceof Set) {
      const set = made(new Set());
      for (const item of [...value]) set.add(copy(item, copies));
      return set;
    }
    if (value instanceof ArrayBuffer) return made(value.slice(0));
    if (ArrayBuffer.isView(value)) {
      const buffer = copy(value.buffer, copies);
      if (value instanceof DataView) return made(new DataView(buffer, value.byteOffset, value.byteLength));
      return made(new value.constructor(buffer, value.byteOffset, value.length));
    }
    if (value instanceof Error) {
      const error = made(Object.create((ERRORS[value.name] ?? Error).prototype));
      for (const key of ["message", "stack", "cause"]) {
        if (!Object.hasOwn(value, key)) continue;
        const item = copy(value[key], copies);
        Object.defineProperty(error, key, { value: item, writable: true, enumerable: false, configurable: true });
      }
      return error;
    }
    // Of what else the language makes, and of private state, nothing can be seen.
    const kind = Object.prototype.toString.call(value);
    if (kind !== "[object Object]" || value instanceof WeakRef) refuse(value);
    const object = made({});
    for (const key of Object.keys(value)) put(object, key, copy(value[key], copies));
    return object;
  }

  entries.define({ structuredClone });
});
