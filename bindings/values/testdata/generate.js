// Writes random JavaScript expressions and what Node's inspector makes of them,
// with the parameters of rules/04-values-and-language §3.2: node testdata/generate.js COUNT SEED > inspected.json
const util = require('util');
let seed = Number(process.argv[3] || 1);
const random = () => { seed = (seed + 0x6D2B79F5) | 0; let t = Math.imul(seed ^ seed >>> 15, 1 | seed); t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t; return ((t ^ t >>> 14) >>> 0) / 4294967296; };
const rnd = n => Math.floor(random() * n);
const pick = a => a[rnd(a.length)];
const word = () => 'abcdefghijklmnopqrstuvwxyz'.slice(rnd(20)).slice(0, 1 + rnd(pick([3, 8, 26])));
const text = () => pick([
  () => word(), () => word() + ' ' + word(), () => word().repeat(1 + rnd(6)), () => "it's " + word(), () => 'say "' + word() + '"',
  () => `it's "${word()}"`, () => "`a` 'b' \"c\" ", () => 'line\n' + word().repeat(3), () => (word() + ' ' + word() + '\n').repeat(1 + rnd(5)),
  () => 'tab\tnul\u0000esc\u001b\u007f\u0085', () => 'é ü 漢字 😀' + word(), () => '\ud800x', () => '${' + word() + "}'\"", () => 'back\\slash', () => '',
])();
const key = () => pick([word, word, word, () => String(rnd(30)), () => '$' + word(), () => word() + '-' + word(), () => word() + '.' + rnd(9), () => "it's", () => '_' + rnd(99), () => ''])();
const scalar = () => pick([
  () => String(rnd(10)), () => String(rnd(100000)), () => String(-rnd(1000)), () => String(rnd(1000) / 8), () => '-0', () => 'NaN', () => '1e21', () => rnd(999999) + 'n',
  () => JSON.stringify(text()), () => JSON.stringify(text()), () => JSON.stringify(word()), () => 'true', () => 'false', () => 'null', () => 'undefined',
  () => "Symbol('" + word() + "')", () => '/' + word() + '/gi',
])();
const list = (n, f) => Array.from({ length: n }, f);
const array = d => pick([
  () => '[' + list(rnd(6), () => value(d + 1)).join(',') + ']',
  () => '[' + list(rnd(40), () => String(rnd(pick([10, 1000, 1e7])))).join(',') + ']',
  () => '[' + list(rnd(30), () => JSON.stringify(word())).join(',') + ']',
  () => '[' + list(rnd(12), scalar).join(',') + ']',
  () => '[' + list(90 + rnd(30), () => rnd(999)).join(',') + ']',
  () => '[' + list(rnd(8), () => pick(['', '', scalar()])).join(',') + ']',
  () => '[' + list(rnd(9), () => `{${word()}:${rnd(99)}}`).join(',') + ']',
  () => `Object.assign([${list(rnd(9), scalar).join(',')}], {${word()}: ${scalar()}})`,
])();
const object = d => '({' + list(rnd(6), () => JSON.stringify(key()) + ':' + value(d + 1)).join(',') + '})';
const other = d => pick([
  () => `new Map([${list(rnd(5), () => `[${value(d + 1)},${value(d + 1)}]`).join(',')}])`,
  () => `new Set([${list(rnd(8), () => value(d + 1)).join(',')}])`,
  () => `new ${pick(['Uint8Array', 'Int16Array', 'Float64Array'])}([${list(rnd(20), () => rnd(100)).join(',')}])`,
  () => `(function ${word()}x(){})`, () => '(() => {})', () => `(class ${word().toUpperCase()}x {})`, () => '(class extends Map {})', () => '(async () => {})', () => '(function*(){})',
  () => `Object.assign(function ff(){}, {a: ${value(d + 1)}})`,
  () => `new (class Foo { constructor() { this.a = ${value(d + 1)} } })()`, () => 'new (class Foo {})()', () => `new (class Foo extends Array {})(${rnd(5)})`,
  () => `new (class Foo extends Map {})([[1,${value(d + 1)}]])`, () => `new (class Foo extends Set {})()`,
  () => `Object.assign(Object.create(null), {${word()}x: ${value(d + 1)}})`, () => '({get a(){return 1}, set b(v){}, get c(){return 1}, set c(v){}})',
  () => `({[Symbol('s')]: ${value(d + 1)}, x: 1})`, () => `(() => { const o = {n: ${value(d + 1)}}; o.self = o; return o })()`,
  () => `(() => { const a = [1, [2]]; a[1].push(a, a[1]); return a })()`,
  () => `new Number(${rnd(9)})`, () => `new String(${JSON.stringify(text())})`, () => 'new Boolean(false)', () => 'Math', () => 'JSON', () => 'globalThis.Object', () => 'new WeakMap()', () => 'new WeakSet()',
  () => '(function(){ return arguments })(1, "a")', () => `({__proto__: {x: 1}, y: ${scalar()}})`, () => `({['__proto__']: 1})`, () => `Object.create({})`, () => `Object.create(Object.create(null))`,
  () => `new ArrayBuffer(3)`, () => `Object.assign(/x/g, {a: 1})`, () => `Object(Symbol('q'))`, () => `Object(5n)`,
  () => `new Proxy({a: 1}, {get() { throw 1 }})`, () => `({ [Symbol.toStringTag]: 'Tagged', a: 1 })`, () => `new (class T { get [Symbol.toStringTag]() { return 'Tagged' } })()`,
  () => `Object.assign(new Set([1]), {p: 2})`, () => `new (class extends Array {})(3)`,
])();
const value = d => { const r = rnd(10 + d * 4); return r < 4 ? object(d) : r < 7 ? array(d) : r < 8 ? other(d) : scalar(); };
const base = { breakLength: 80, depth: 6, maxArrayLength: 100, maxStringLength: 10000, compact: 3 };
const out = [];
const seen = new Set();
while (out.length < Number(process.argv[2] || 300)) {
  const src = value(0);
  if (src.length > 400 || seen.has(src)) continue;
  seen.add(src);
  const v = (0, eval)('(' + src + ')');
  out.push({ src, shown: util.inspect(v, base), lines: util.inspect(v, { ...base, compact: false, depth: Infinity, maxArrayLength: Infinity, maxStringLength: Infinity }), color: rnd(20) ? undefined : util.inspect(v, { ...base, colors: true }), full: rnd(4) ? undefined : util.inspect(v, { ...base, compact: true }) });
}
process.stdout.write(JSON.stringify(out, null, 0).replace(/\},\{"src"/g, '},\n{"src"') + '\n');
