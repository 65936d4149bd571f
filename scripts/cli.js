// What the scripts of the library share: options, output, what is put back at the end,
// and how it ends. In a script of your own:
//
//   const cli = require("shardsh:cli");
//   cli.script({ name: "mine", about: "…", options: { ns: { value: "NS", about: "…", needed: true } } }, run => {
//     run.step("do this", () => sh.enableBalancing(run.options.ns));
//     return { done: true };     // what --json prints
//   });
//
// Exit codes: 0 done, 1 not, 2 wrong command line, 3 something was found.
const { SIZES, TIMES, Usage, parse, help, didYouMean } = require("shardsh:options");

/** Writes a line to the error stream, where nothing that a cluster calls something may steer the terminal. */
function complain(text) {
  const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
  process.stderr.write(String(text).replace(hidden, c => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0")) + "\n");
}

/** The options of a script that waits for the balancer. */
const WAITS = {
  "keep-waiting": { about: "go on waiting where the end can't come as things stand, instead of ending with exit code 3" },
};

class Refusal extends Error {}

/** Ends a wait for what can't come as things stand; the message says what has to be done. Exit code 3. */
class Stuck extends Error {
  name = "StuckError";
}

const plural = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;
const sum = list => list.reduce((all, n) => all + Number(n), 0);
const key = document => EJSON.stringify(document);

/** 1536 is "1.5 KiB". */
function size(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let n = Number(bytes),
    i = 0;
  for (; Math.abs(n) >= 1024 && i < units.length - 1; i++) n /= 1024;
  return `${Math.abs(n) >= 100 || i === 0 ? Math.round(n) : Math.round(n * 10) / 10} ${units[i]}`;
}

/** 5400000 is "1h30m". */
function time(ms) {
  const parts = [];
  for (const [unit, n] of [
    ["d", TIMES.d],
    ["h", TIMES.h],
    ["m", TIMES.m],
    ["s", TIMES.s],
  ]) {
    if (ms >= n) parts.push(Math.floor(ms / n) + unit);
    ms %= n;
  }
  return parts.slice(0, 2).join("") || "0s";
}

/** A run of a script: what its function gets. */
class Run {
  constructor(spec, options, words, again) {
    Object.assign(this, { spec, options, words, again, dryRun: options.dryRun, json: options.json });
    this.steps = []; // what was done, or would be
    this.found = 0; // findings: exit code 3
    this.toRestore = [];
    this.leaves = [];
  }
  /** A line for people. */
  say(text) {
    this.json ? complain(text) : print(text);
  }
  warn(text) {
    complain(text);
  }
  table(rows, title) {
    if (this.json || rows.length === 0) return;
    if (title) print(title);
    print(table(rows));
  }
  /** Does one thing, or in a dry run says that it would. */
  step(text, act) {
    this.steps.push(text);
    this.say((this.dryRun ? "would " : "") + text);
    return this.dryRun ? undefined : act();
  }
  /** Ends the script where going on would not be safe. */
  refuse(text) {
    throw new Refusal(text);
  }
  /**
   * Has something put back however the script ends; how is what a person would enter. Call what it returns to do it
   * now.
   */
  restore(how, act) {
    const one = { how, act };
    this.toRestore.push(one);
    return () => this.putBack(one);
  }
  /** Tells, if the script fails, what is left as it is now and how to go on; forget it with what is returned. */
  left(text) {
    this.leaves.push(text);
    return () => {
      this.leaves = this.leaves.filter(one => one !== text);
    };
  }
  /**
   * Looks again and again until the function returns something true, which is returned. The function stuck returns why
   * that can't come as things stand, and what has to be done; it ends the wait.
   */
  wait(what, look, { timeout = TIMES.d, interval = 5000, stuck = () => "" } = {}) {
    const began = Date.now();
    for (let told = began; ; sleep(interval)) {
      const done = retried(look);
      if (done) return done;
      this.stop(retried(stuck));
      if (Date.now() - began > timeout) throw new Error(`after ${time(timeout)}: still waiting until ${what}`);
      if (Date.now() - told >= 60000) {
        told = Date.now();
        this.warn(`waiting until ${what}, for ${time(told - began)}`);
      }
    }
  }
  /** Ends with exit code 3 for a reason, unless there is none; with --keep-waiting it says so once. */
  stop(why) {
    if (!why || this.told === why) return;
    if (!this.options.keepWaiting) throw new Stuck(why);
    this.told = why;
    this.warn(`Waiting all the same: ${why}`);
  }
  putBack(one) {
    if (!this.toRestore.includes(one)) return;
    this.toRestore = this.toRestore.filter(o => o !== one);
    try {
      retried(one.act);
    } catch (e) {
      this.left(`Not put back (${e.message}): ${one.how}`);
    }
  }
  end() {
    while (this.toRestore.length > 0) this.putBack(this.toRestore[this.toRestore.length - 1]);
  }
}

/** Calls something that does no harm when it is done twice, up to four times. */
function retried(act, times = 4) {
  for (let n = 1; ; n++) {
    try {
      return act();
    } catch (e) {
      if (n >= times || e instanceof Refusal || e instanceof Usage || e.name === "StuckError") throw e;
      sleep(500 * n);
    }
  }
}

/** Calls something that needs shards for itself: waits up to an hour while the balancer has them in a migration. */
function patient(act) {
  const conflictingOperationInProgress = 117;
  for (const began = Date.now(); ; sleep(2000)) {
    try {
      return act();
    } catch (e) {
      if (e.code !== conflictingOperationInProgress || Date.now() - began > TIMES.h) throw e;
    }
  }
}

/** Rows of objects as a table of text. */
function table(rows) {
  const columns = Object.keys(Object.assign({}, ...rows));
  const text = v =>
    v === undefined || v === null ? "" : typeof v === "string" ? v : typeof v === "object" ? key(v) : String(v);
  const cells = rows.map(r => columns.map(c => text(r[c])));
  const widths = columns.map((c, i) => Math.max(c.length, ...cells.map(row => row[i].length)));
  const isNumber = columns.map((c, i) => cells.every(row => /^[-+]?[\d.,]*( ?([KMGT]iB|B|%|s))?$/.test(row[i])));
  const line = row =>
    ("  " + row.map((t, i) => (isNumber[i] ? t.padStart(widths[i]) : t.padEnd(widths[i]))).join("  ")).trimEnd();
  return [columns, ...cells].map(line).join("\n");
}

/** Runs a script: its options, its function, what it answers, how it ends. */
function script(spec, act) {
  const words = globalThis.scriptArgs || process.argv.slice(2);
  // Another script, or a prompt, that loads this one gets an error, and goes on or not.
  const alone = !isInteractive() && new Error().stack.trim().split("\n").pop().includes(globalThis.__filename);
  let run;
  try {
    const { options, rest } = parse(spec, words);
    if (options.help) return print(help(spec));
    run = new Run(spec, options, rest, `shardsh run ${spec.name} … ${words.join(" ")}`);
    atExit(() => run.end()); // Ctrl-C passes by every finally
    let result;
    try {
      result = act(run) || {};
    } finally {
      run.end();
    }
    if (run.leaves.length > 0) throw new Error("it is done, but for what is said below");
    if (run.json)
      print(EJSON.stringify({ ok: 1, ...(run.dryRun ? { dryRun: true, would: run.steps } : {}), ...result }));
    else if (run.dryRun) print(run.steps.length ? "Nothing was changed." : "There is nothing to do.");
    if (run.found && alone) process.exitCode = 3;
    return alone || (isInteractive() && !run.json) ? undefined : result;
  } catch (e) {
    if (!alone) throw e;
    process.exitCode = { usage: 2, stuck: 3 }[kindOf(e)] || 1;
    fail(spec, run, words, e);
  }
}

function kindOf(e) {
  if (e instanceof Refusal) return "refused";
  if (e instanceof Usage) return "usage";
  return e.name === "StuckError" ? "stuck" : "failed";
}

function fail(spec, run, words, e) {
  const left = run ? run.leaves : [],
    kind = kindOf(e);
  const again = kind === "failed" ? "Run it again to go on; what is done is not done twice." : undefined;
  const known = kind !== "failed" || e.name === "Error" || /^Mongo/.test(e.name);
  if (words.includes("--json")) {
    print(EJSON.stringify({ ok: 0, [kind]: e.message, ...(left.length ? { left } : {}), ...(again ? { again } : {}) }));
  }
  const prefix = { refused: "refused: ", stuck: "stuck: " }[kind] || "";
  complain(`${spec.name}: ${prefix}${known ? e.message : e.stack || e}`);
  for (const text of left) complain(text);
  if (again) complain(again);
  if (kind === "usage") complain(`See shardsh run ${spec.name} --help.`);
}

/** The shards that stay, which is all but those that drain and, if it is given, one. */
const staying = but =>
  sh
    .listShards()
    .filter(s => !s.draining && s._id !== but)
    .map(s => s._id);

/** The documents, bytes and orphans of each shard of a collection, or of all; empty before 6.0.3. */
function distribution(ns) {
  try {
    return sh
      .getShardedDataDistribution()
      .toArray()
      .filter(c => !ns || c.ns === ns);
  } catch (e) {
    if (/only works on mongos and servers from version/.test(e.message)) return [];
    throw e;
  }
}

/** Whether the server is of a release or later: since(6, 0, 3). */
function since(...release) {
  const version = db.version().split(".").map(Number);
  for (let i = 0; i < release.length; i++) {
    if ((version[i] || 0) !== release[i]) return (version[i] || 0) > release[i];
  }
  return true;
}

const config = () => db.getSiblingDB("config");

/** The collection of a namespace. */
const collection = ns => db.getSiblingDB(ns.slice(0, ns.indexOf("."))).getCollection(ns.slice(ns.indexOf(".") + 1));

/** The catalog's entry of a sharded collection; refuses one that is not. */
function sharded(run, ns) {
  const entry = config().collections.findOne({ _id: ns, dropped: { $ne: true }, unsplittable: { $ne: true } });
  if (entry) return entry;
  const known = config()
    .collections.find({ dropped: { $ne: true }, unsplittable: { $ne: true } })
    .toArray()
    .map(c => c._id);
  return run.refuse(`${ns} is not a sharded collection${didYouMean(ns, known)}`);
}

/** The entry of a shard; refuses one that is not there. */
function shard(run, id) {
  const all = sh.listShards(),
    entry = all.find(s => s._id === id);
  return (
    entry ||
    run.refuse(
      `no shard ${id}${didYouMean(
        id,
        all.map(s => s._id),
      )}; there are ${all.map(s => s._id).join(", ")}`,
    )
  );
}

/** Whether two documents are the same, fields in order. */
const same = (a, b) => EJSON.stringify(a, { relaxed: false }) === EJSON.stringify(b, { relaxed: false });

/** Reads a file of extended JSON: a list, or a document a line; - is standard input. With one it is one document. */
function documents(path, one) {
  const text = path === "-" ? fs.readFileSync(0, "utf8") : fs.readFileSync(path, "utf8");
  const whole = text.trim();
  try {
    if (one || whole.startsWith("[")) return EJSON.parse(whole);
    return whole
      .split("\n")
      .filter(line => line.trim() !== "")
      .map(line => EJSON.parse(line));
  } catch (e) {
    throw new Usage(`${path} is not extended JSON: ${e.message}`);
  }
}

module.exports = {
  script,
  Usage,
  Refusal,
  Stuck,
  WAITS,
  size,
  time,
  plural,
  sum,
  key,
  table,
  retried,
  patient,
  didYouMean,
  staying,
  distribution,
  since,
  config,
  collection,
  sharded,
  shard,
  same,
  documents,
  SIZES,
  TIMES,
};
