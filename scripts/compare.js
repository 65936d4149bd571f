// Says in what two clusters differ, or one from a snapshot of it: shards, settings,
// databases, collections, zones, and the share of the data that each shard has.
const cli = require("shardsh:cli");

// What is compared: a list, what names one of it, and what of it counts.
const LISTS = [
  ["shards", s => s.id, s => ({ zones: s.zones, ...(s.draining ? { draining: true } : {}) })],
  ["settings", s => s._id, s => ({ ...s, _id: undefined })],
  ["databases", d => d.name, d => ({ primary: d.primary })],
  ["collections", c => c.ns, c => ({ key: c.key, ...(c.chunkSize ? { chunkSize: c.chunkSize } : {}) })],
  ["tags", t => `${t.ns} from ${cli.key(t.min)}`, t => ({ zone: t.tag, max: t.max })],
];

cli.script(
  {
    name: "compare",
    about: "Says in what two clusters, or two snapshots, differ.",
    usage: "FILE | OTHER-ADDRESS [options], or FILE FILE",
    words: 2,
    more: `
A word is the file of "shardsh snapshot", or a connection string. Of two the first is
the one from before; one alone is compared with the cluster that is connected.`,
    options: {
      tolerance: {
        value: "PERCENT",
        is: "number",
        default: 5,
        about: "differences of a shard's share of the data that don't count",
      },
      "no-sizes": { about: "leave data, chunks and balance out" },
    },
    examples: [
      "mongodb://host:27017 before.snap",
      "mongodb://staging:27017 mongodb://production:27017 --no-sizes",
      "before.snap after.snap",
    ],
  },
  run => {
    if (run.words.length === 0) throw new cli.Usage("with what? The file of a snapshot, or a connection string");
    const sources = run.words.length === 2 ? run.words : [run.words[0], null];
    const [before, after] = sources.map(read);
    const rows = [];
    const differs = (what, a, b) => {
      if (!cli.same(a === undefined ? null : a, b === undefined ? null : b)) rows.push({ what, before: a, after: b });
    };
    differs("version", before.version, after.version);
    for (const [list, id, fields] of LISTS) {
      const [a, b] = [before, after].map(s => Object.fromEntries(s[list].map(one => [id(one), fields(one)])));
      for (const name of [...new Set([...Object.keys(a), ...Object.keys(b)])].sort())
        differs(`${list}: ${name}`, a[name], b[name]);
    }
    if (!run.options.noSizes) sizes(before, after, run.options.tolerance, rows);
    run.table(
      rows.map(r => ({
        what: r.what,
        before: r.before === undefined ? "none" : r.before,
        after: r.after === undefined ? "none" : r.after,
      })),
    );
    run.say(rows.length ? cli.plural(rows.length, "difference") : "They are the same.");
    run.found = rows.length;
    return { before: before.source, after: after.source, differences: rows };
  },
);

function read(source) {
  if (source === null || !/^mongodb(\+srv)?:/.test(source))
    return source === null ? sh.snapshot() : sh.snapshot(source);
  const here = db;
  try {
    db = connect(source); // sh works on the connection of db
    return sh.snapshot();
  } finally {
    db = here;
  }
}

/** Adds where a shard's share of a collection differs by more than that. */
function sizes(before, after, tolerance, rows) {
  const part = c => Object.fromEntries(c.parts.map(p => [p.shard, p.bytes]));
  for (const a of before.collections) {
    const b = after.collections.find(c => c.ns === a.ns);
    if (!b || !a.sizesKnown || !b.sizesKnown) continue;
    if (a.state !== b.state) rows.push({ what: `balance of ${a.ns}`, before: a.state, after: b.state });
    const [x, y] = [part(a), part(b)],
      [all, now] = [x, y].map(p => cli.sum(Object.values(p)));
    for (const shard of new Set([...Object.keys(x), ...Object.keys(y)])) {
      const was = (100 * (x[shard] || 0)) / (all || 1),
        is = (100 * (y[shard] || 0)) / (now || 1);
      if (Math.abs(was - is) > tolerance) {
        rows.push({ what: `${a.ns} on ${shard}`, before: `${Math.round(was)} %`, after: `${Math.round(is)} %` });
      }
    }
  }
}
