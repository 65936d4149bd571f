// The options of a script: what it may be given, as what, and the help about it.
const SHARED = {
  "dry-run": { about: "say what would be done; change nothing" },
  json: { about: "print the result as one JSON document, all else on the error stream" },
  help: { about: "print this help" },
};
const SIZES = { B: 1, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };
const TIMES = { ms: 1, s: 1e3, m: 6e4, h: 36e5, d: 864e5 };

class Usage extends Error {}

const camel = name => name.replace(/-(\w)/g, (_, letter) => letter.toUpperCase());

function measure(text, units, unless, what) {
  let all = 0,
    rest = String(text).trim();
  if (/^\d+(\.\d+)?$/.test(rest)) return Number(rest) * unless;
  for (let m; (m = /^(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*/.exec(rest)); rest = rest.slice(m[0].length)) {
    if (!units[m[2]]) break;
    all += Number(m[1]) * units[m[2]];
  }
  if (rest !== "" || String(text).trim() === "") throw new Usage(`${what}, not ${JSON.stringify(text)}`);
  return all;
}

const KINDS = {
  text: text => text,
  list: text =>
    text
      .split(",")
      .map(one => one.trim())
      .filter(Boolean),
  number(text, name) {
    if (!/^-?\d+(\.\d+)?$/.test(text)) throw new Usage(`--${name} takes a number, not ${JSON.stringify(text)}`);
    return Number(text);
  },
  size: (text, name) => measure(text, SIZES, 1, `--${name} takes a size such as 10GB`),
  duration: (text, name) => measure(text, TIMES, 1000, `--${name} takes a time such as 90s or 1h30m`),
  ns(text, name) {
    if (!/^[^.]+\..+/.test(text)) throw new Usage(`--${name} takes DATABASE.COLLECTION, not ${JSON.stringify(text)}`);
    return text;
  },
  document(text, name) {
    try {
      return EJSON.parse(text);
    } catch (e) {
      throw new Usage(`--${name} takes a document of extended JSON, not ${JSON.stringify(text)}`);
    }
  },
};

/** How far two words are from each other, for "did you mean". */
function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] !== b[j - 1]));
    row = next;
  }
  return row[b.length];
}

function didYouMean(word, known) {
  const near = known.map(k => [distance(word, k), k]).sort((a, b) => a[0] - b[0])[0];
  return near && near[0] <= Math.max(1, word.length / 3) ? `; did you mean ${near[1]}?` : "";
}

const byDefault = (o, name) => (typeof o.default === "string" ? KINDS[o.is || "text"](o.default, name) : o.default);

/** Reads words as options of a script; { options, rest }. */
function parse(spec, words) {
  const known = { ...spec.options, ...SHARED },
    options = {},
    rest = [];
  for (const [name, o] of Object.entries(known)) {
    options[camel(name)] = "default" in o ? byDefault(o, name) : o.value ? undefined : false;
  }
  for (let i = 0; i < words.length; i++) {
    const word = words[i] === "-h" ? "--help" : words[i];
    const m = /^--([^=]+)(?:=([^]*))?$/.exec(word);
    if (!m) {
      rest.push(word);
      continue;
    }
    const name = Object.keys(known).find(k => camel(k).toLowerCase() === camel(m[1]).toLowerCase());
    if (!name)
      throw new Usage(
        `unknown option --${m[1]}${didYouMean(
          "--" + m[1],
          Object.keys(known).map(k => "--" + k),
        )}`,
      );
    const option = known[name];
    if (!option.value) {
      if (m[2] !== undefined && m[2] !== "true" && m[2] !== "false") throw new Usage(`--${name} takes no value`);
      options[camel(name)] = m[2] !== "false";
      continue;
    }
    const text = m[2] !== undefined ? m[2] : words[++i];
    if (text === undefined || (m[2] === undefined && text.startsWith("--")))
      throw new Usage(`--${name} needs a value: ${option.value}`);
    const value = KINDS[option.is || "text"](text, name);
    if (option.oneOf && !option.oneOf.includes(value)) {
      throw new Usage(`--${name} is one of ${option.oneOf.join(", ")}, not ${JSON.stringify(text)}`);
    }
    options[camel(name)] = option.many ? [...(options[camel(name)] || []), value] : value;
  }
  if (options.help) return { options, rest };
  for (const [name, o] of Object.entries(known)) {
    if (o.needed && options[camel(name)] === undefined) throw new Usage(`--${name} ${o.value} is needed: ${o.about}`);
  }
  if (rest.length > (spec.words || 0)) {
    throw new Usage(
      `what is ${JSON.stringify(rest[spec.words || 0])}? The address comes right after the name of the script`,
    );
  }
  return { options, rest };
}

function help(spec) {
  const known = Object.entries({ ...spec.options, ...SHARED });
  const form = ([name, o]) => `  --${name}${o.value ? " " + o.value : ""}`;
  const width = Math.min(28, Math.max(...known.map(k => form(k).length)) + 2);
  const line = k =>
    form(k).padEnd(width - 1) + " " + k[1].about + (k[1].default !== undefined ? ` (${k[1].default})` : "");
  const parts = [`${spec.name}: ${spec.about}`];
  if (spec.more) parts.push(spec.more.trim());
  parts.push(
    `Usage:\n  shardsh run ${spec.name} [address] ${spec.usage || "[options]"}`,
    "Options:\n" + known.map(line).join("\n"),
    "Options that say how to reach the cluster: shardsh run --help.",
  );
  if (spec.examples) parts.push("Examples:\n" + spec.examples.map(e => `  shardsh run ${spec.name} ${e}`).join("\n"));
  return parts.join("\n\n");
}

module.exports = { SIZES, TIMES, Usage, parse, help, didYouMean };
