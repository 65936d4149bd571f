(function (encode, decode) {
  "use strict";
  class Buffer extends Uint8Array {
    static from(v, encoding, length) {
      if (typeof v === "string") return new Buffer(encode(v, encoding || "utf8"));
      if (v instanceof ArrayBuffer) return new Buffer(v, encoding, length);
      return new Buffer(Uint8Array.from(v).buffer);
    }
    static alloc(n, fill) { return new Buffer(n).fill(fill || 0); }
    static isBuffer(v) { return v instanceof Buffer; }
    static byteLength(v, encoding) { return typeof v === "string" ? encode(v, encoding || "utf8").byteLength : v.byteLength; }
    static concat(list, length) {
      if (length === undefined) length = list.reduce((n, b) => n + b.length, 0);
      const all = Buffer.alloc(length);
      let at = 0;
      for (const b of list) { if (at >= length) break; all.set(b.subarray(0, length - at), at); at += b.length; }
      return all;
    }
    static allocUnsafe(n) { return new Buffer(n); }
    static isEncoding(name) { return /^(utf-?8|hex|base64(url)?|latin1|binary|ascii|ucs-?2|utf16le)$/i.test(name); }
    static compare(a, b) { return Buffer.prototype.compare.call(a, b); }
    compare(other) {
      const n = Math.min(this.length, other.length);
      for (let i = 0; i < n; i++) if (this[i] !== other[i]) return this[i] < other[i] ? -1 : 1;
      return Math.sign(this.length - other.length);
    }
    slice(start, end) { return this.subarray(start, end); }
    copy(target, at, start, end) { const part = this.subarray(start || 0, end === undefined ? this.length : end).subarray(0, target.length - (at || 0)); target.set(part, at || 0); return part.length; }
    indexOf(v, from, encoding) {
      if (typeof v === "number") return Uint8Array.prototype.indexOf.call(this, v & 255, from);
      const b = typeof v === "string" ? new Uint8Array(encode(v, encoding || "utf8")) : v;
      for (let i = from || 0; i + b.length <= this.length; i++) { let j = 0; while (j < b.length && this[i + j] === b[j]) j++; if (j === b.length) return i; }
      return -1;
    }
    includes(v, from, encoding) { return this.indexOf(v, from, encoding) >= 0; }
    fill(v, start, end, encoding) {
      if (typeof v !== "string") return super.fill(v, start, end);
      const b = new Uint8Array(encode(v, encoding || "utf8"));
      for (let i = start || 0, k = 0; i < (end === undefined ? this.length : end); i++, k++) this[i] = b.length ? b[k % b.length] : 0;
      return this;
    }
    toString(encoding, start, end) { return decode(start === undefined && end === undefined ? this : this.subarray(start, end), encoding || "utf8"); }
    toJSON() { return { type: "Buffer", data: Array.from(this) }; }
    equals(other) { return this.length === other.length && this.every((b, i) => b === other[i]); }
    write(text, at) { this.set(new Uint8Array(encode(text, "utf8")), at || 0); return text.length; }
  }
  const view = b => new DataView(b.buffer, b.byteOffset, b.byteLength);
  const inside = (b, at, size) => {
    if (b.length < size) { const e = new RangeError("Attempt to access memory outside buffer bounds"); e.code = "ERR_BUFFER_OUT_OF_BOUNDS"; throw e; }
    if (at < 0 || at + size > b.length) { const e = new RangeError('The value of "offset" is out of range. It must be >= 0 and <= ' + (b.length - size) + ". Received " + at); e.code = "ERR_OUT_OF_RANGE"; throw e; }
  };
  for (const [name, size] of Object.entries({ Uint8: 1, Int8: 1, Uint16: 2, Int16: 2, Uint32: 4, Int32: 4, Float32: 4, Float64: 8, BigUint64: 8, BigInt64: 8 })) {
    const node = name.replace("Float32", "Float").replace("Float64", "Double");
    for (const order of size === 1 ? [""] : ["LE", "BE"]) {
      const read = function (at = 0) { inside(this, at, size); return view(this)["get" + name](at, order === "LE"); };
      const write = function (v, at = 0) { inside(this, at, size); view(this)["set" + name](at, v, order === "LE"); return at + size; };
      for (const n of [node, node.replace("Uint", "UInt")]) {
        Object.defineProperty(Buffer.prototype, "read" + n + order, { value: read, configurable: true, writable: true });
        Object.defineProperty(Buffer.prototype, "write" + n + order, { value: write, configurable: true, writable: true });
      }
    }
  }
  class TextEncoder { encode(text) { return new Uint8Array(encode(String(text === undefined ? "" : text), "utf8")); } }
  class TextDecoder { decode(bytes) { return bytes === undefined ? "" : decode(bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes, "utf8"); } }
  return { Buffer, TextEncoder, TextDecoder };
});
