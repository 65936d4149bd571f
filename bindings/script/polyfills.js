(function () {
  "use strict";
  function sum(list) { var n = 0; for (var x of list) n += +x; return n; }
  function avg(list) { return list.length ? sum(list) / list.length : NaN; }
  function grouped(items, f, get, put) {
    var i = 0;
    for (var x of items) { var k = f(x, i++); var g = get(k); if (g) g.push(x); else put(k, [x]); }
  }
  const two = n => String(n).padStart(2, "0");
  function localDate(d) { return (d.getMonth() + 1) + "/" + d.getDate() + "/" + d.getFullYear(); }
  function localTime(d) { return (d.getHours() % 12 || 12) + ":" + two(d.getMinutes()) + ":" + two(d.getSeconds()) + (d.getHours() < 12 ? " AM" : " PM"); }
  function whole(n) { n = Math.trunc(+n); if (!(n >= 0)) throw new RangeError(n + " must be positive"); return n; }
  function lazily(make) { return function (...args) { const it = this; return make(it, ...args); }; }
  return {
    "Iterator": {
      Iterator: Object.assign(function Iterator() {}, {
        from: function from(x) { const it = (x[Symbol.iterator] ? x[Symbol.iterator]() : x); return (function* () { for (let r = it.next(); !r.done; r = it.next()) yield r.value; })(); },
      }),
    },
    "Iterator.prototype": {
      map: lazily(function* (it, f) { let i = 0; for (const x of it) yield f(x, i++); }),
      filter: lazily(function* (it, f) { let i = 0; for (const x of it) if (f(x, i++)) yield x; }),
      take: lazily(function (it, n) { n = whole(n); return (function* () { if (n > 0) for (const x of it) { yield x; if (--n <= 0) return; } })(); }),
      drop: lazily(function (it, n) { n = whole(n); return (function* () { for (const x of it) if (n > 0) n--; else yield x; })(); }),
      flatMap: lazily(function* (it, f) { let i = 0; for (const x of it) yield* f(x, i++); }),
      reduce: lazily(function (it, f, ...first) {
        let started = first.length > 0, sum = first[0], i = 0;
        for (const x of it) { if (started) sum = f(sum, x, i); else { sum = x; started = true; } i++; }
        if (!started) throw new TypeError("Reduce of a done iterator with no initial value");
        return sum;
      }),
      toArray: lazily(it => Array.from(it)),
      forEach: lazily((it, f) => { let i = 0; for (const x of it) f(x, i++); }),
      some: lazily((it, f) => { let i = 0; for (const x of it) if (f(x, i++)) return true; return false; }),
      every: lazily((it, f) => { let i = 0; for (const x of it) if (!f(x, i++)) return false; return true; }),
      find: lazily((it, f) => { let i = 0; for (const x of it) if (f(x, i++)) return x; }),
    },
    "Object": {
      groupBy: function groupBy(items, f) { var o = Object.create(null); grouped(items, f, k => o[k], (k, v) => { o[k] = v; }); return o; },
      extend: function extend(dst, src, deep) {
        for (var k in src) {
          var v = src[k];
          if (deep && v && typeof v === "object" && !v._bsontype && !(v instanceof Date) && !(v instanceof RegExp))
            v = Object.extend(Array.isArray(v) ? [] : {}, v, true);
          dst[k] = v;
        }
        return dst;
      },
      merge: function merge(a, b, deep) { return Object.extend(Object.extend({}, a, deep), b, deep); },
      deepMerge: function deepMerge(a, b) { return Object.merge(a, b, true); },
      keySet: function keySet(o) { return Object.keys(o); },
      isEmpty: function isEmpty(o) { return Object.keys(o).length === 0; },
      bsonsize: o => bsonsize(o),
    },
    "Map": {
      groupBy: function groupBy(items, f) { var m = new Map(); grouped(items, f, k => m.get(k), (k, v) => m.set(k, v)); return m; },
    },
    "Promise": {
      withResolvers: function withResolvers() { var r = {}; r.promise = new this((a, b) => { r.resolve = a; r.reject = b; }); return r; },
      // The engine's rejects with an error without a message.
      any: function any(items) {
        const from = this.resolve.bind(this);
        return new this((resolve, reject) => {
          const errors = [];
          let left = 1;
          const failed = () => { if (--left === 0) reject(new AggregateError(errors, "All promises were rejected")); };
          let i = 0;
          for (const item of items) {
            const at = i++;
            left++;
            from(item).then(resolve, error => { errors[at] = error; failed(); });
          }
          failed();
        });
      },
      "try": function (f, ...args) { return new this(resolve => resolve(f(...args))); },
    },
    "Array": {
      fromAsync: async function fromAsync(items, f) {
        const list = [];
        const it = items[Symbol.asyncIterator] ? items[Symbol.asyncIterator]() : items[Symbol.iterator] ? items[Symbol.iterator]() : Array.from(items)[Symbol.iterator]();
        for (let r = await it.next(); !r.done; r = await it.next()) { const x = await r.value; list.push(f ? await f(x, list.length) : x); }
        return list;
      },
      contains: function contains(list, x) { return list.some(y => y == x); },
      unique: function unique(list) { var u = []; for (var x of list) if (!u.some(y => friendlyEqual(x, y))) u.push(x); return u; },
      shuffle: function shuffle(list) { for (var i = list.length - 1; i > 0; i--) { var j = Random.randInt(i + 1); [list[i], list[j]] = [list[j], list[i]]; } return list; },
      sort: function sort(list, order) { return list.sort(order); },
      fetchRefs: function fetchRefs(list, coll) { return list.filter(r => !coll || r.collection === coll).map(r => db.getSiblingDB(r.db || db.getName()).getCollection(r.collection).findOne({_id: r.oid})); },
      sum: sum,
      avg: avg,
      stdDev: function stdDev(list) { var m = avg(list); return Math.sqrt(avg(list.map(x => (x - m) * (x - m)))); },
      tojson: function (list, indent, nolint) { return tojson(list, indent, nolint); },
    },
    "Number.prototype": {
      zeroPad: function zeroPad(width) { return String(this).padStart(width, "0"); },
      toPercentStr: function toPercentStr() { return (this * 100).toFixed(2) + "%"; },
      toLocaleString: function toLocaleString() {
        if (!isFinite(this)) return String(this);
        var parts = String(Math.abs(Math.round(this * 1000) / 1000)).split(".");
        parts[0] = parts[0].replace(/\B(?=(\d{3})+(?!\d))/g, ",");
        return (this < 0 ? "-" : "") + parts.join(".");
      },
    },
    "String.prototype": {
      isWellFormed: function isWellFormed() { return Array.from(String(this)).every(c => c.length > 1 || c < "\ud800" || c > "\udfff"); },
      toWellFormed: function toWellFormed() { return Array.from(String(this), c => c.length === 1 && c >= "\ud800" && c <= "\udfff" ? "\ufffd" : c).join(""); },
      ltrim: function ltrim() { return this.trimStart(); },
      rtrim: function rtrim() { return this.trimEnd(); },
      pad: function pad(length, right, chr) { return right ? this.padEnd(length, chr || " ") : this.padStart(length, chr || " "); },
    },
    "Date.prototype": {
      toLocaleString: function toLocaleString() { return isNaN(this) ? "Invalid Date" : localDate(this) + ", " + localTime(this); },
      toLocaleDateString: function toLocaleDateString() { return isNaN(this) ? "Invalid Date" : localDate(this); },
      toLocaleTimeString: function toLocaleTimeString() { return isNaN(this) ? "Invalid Date" : localTime(this); },
      tojson: function () { return tojson(this); },
    },
    "Date": {
      timeFunc: function timeFunc(f, times) { var t = new Date(); for (var i = 0; i < (times || 1); i++) f(); return new Date() - t; },
    },
  };
})();
