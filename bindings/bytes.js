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
    static concat(list) { return Buffer.from([].concat(...list.map(b => Array.from(b)))); }
    toString(encoding) { return decode(this, encoding || "utf8"); }
    toJSON() { return { type: "Buffer", data: Array.from(this) }; }
    equals(other) { return this.length === other.length && this.every((b, i) => b === other[i]); }
    write(text, at) { this.set(new Uint8Array(encode(text, "utf8")), at || 0); return text.length; }
  }
  class TextEncoder { encode(text) { return new Uint8Array(encode(String(text === undefined ? "" : text), "utf8")); } }
  class TextDecoder { decode(bytes) { return bytes === undefined ? "" : decode(bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes, "utf8"); } }
  return { Buffer, TextEncoder, TextDecoder };
});
