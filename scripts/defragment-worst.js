// Merges the small chunks of the collections that have most more than they need, one
// collection after the other, within a window if one is given. From 5.3 on the balancer
// does it; before, neighbours on a shard are merged as they are.
const cli = require("shardsh:cli");

cli.script(
  {
    name: "defragment-worst",
    about: "Defragments the collections with the most needless chunks, one by one, in a window.",
    options: {
      ns: { value: "NS", is: "ns", many: true, about: "only this one; may be repeated" },
      most: { value: "N", is: "number", default: 3, about: "so many collections in one run" },
      "at-least": { value: "N", is: "number", default: 10, about: "leave those alone that have fewer needless chunks" },
      "chunk-size": { value: "MB", is: "number", about: "merge up to this size; the collection keeps it" },
      window: { value: "HH:MM-HH:MM", about: "be at work only then, in UTC: waits for it, and stops at its end" },
      for: { value: "TIME", is: "duration", default: "1d", about: "stop after this" },
      ...cli.WAITS,
    },
    examples: ["mongodb://host:27017 --dry-run", "mongodb://host:27017 --window 22:00-06:00 --most 1"],
  },
  run => {
    const { most, atLeast, ns } = run.options,
      window = parseWindow(run.options.window),
      ends = Date.now() + run.options.for;
    const byBalancer = cli.since(5, 3);
    if (byBalancer && sh.isBalancerRunning().mode === "off")
      run.refuse("the balancer is off, which does the work: sh.startBalancer()");
    const all = worst(ns),
      list = all.filter(c => c.needless >= atLeast && !c.leftAlone).slice(0, most);
    run.table(
      all.slice(0, 20).map(c => ({
        collection: c.ns,
        chunks: c.chunks,
        needs: c.needs,
        "": c.leftAlone || (list.includes(c) ? (c.running ? "at work" : "next") : ""),
      })),
    );
    const done = [],
      over = () => (Date.now() >= ends ? "the time is over" : window && !window.open() ? "the window is over" : "");
    for (const c of list) {
      if (window && !window.open() && done.length === 0 && !run.dryRun)
        run.wait("the window opens", window.open, { timeout: run.options.for });
      if (!run.dryRun && over()) break;
      run.step(`defragment ${c.ns}`, () => (byBalancer ? defragment : consolidate)(run, c, over));
      if (!run.dryRun) {
        const chunks = Number(sh.chunks(c.ns).itcount());
        run.say(`${c.ns}: ${c.chunks} chunks, now ${chunks}`);
        done.push({ ns: c.ns, before: c.chunks, after: chunks });
      }
    }
    if (!run.dryRun && over()) run.say(`Stopped: ${over()}. Run it again to go on.`);
    return { collections: done, finished: run.dryRun ? undefined : !over() };
  },
);

/** Collections, those first that have most chunks more than their data and their shards need. */
function worst(only) {
  const sizes = Object.fromEntries(cli.distribution().map(d => [d.ns, cli.sum(d.shards.map(s => s.ownedSizeBytes))]));
  return sh
    .balancerSummary()
    // Servers give their own collections the chunks that they are to have: 1,024 before 7.0.
    .collections.filter(c => (only ? only.includes(c.ns) : !c.ns.startsWith("config.")))
    .map(c => {
      const bytes = c.ns in sizes ? sizes[c.ns] : Number(cli.collection(c.ns).stats().size);
      const owners = sh
          .chunks(c.ns)
          .toArray()
          .map(one => one.shard),
        chunks = owners.length;
      const needs = Math.max(new Set(owners).size, Math.ceil(bytes / (sh.chunkSize(c.ns) * 2 ** 20)));
      return { ...c, chunks, needs, needless: Math.max(0, chunks - needs), running: Boolean(c.defragmentationPhase) };
    })
    .sort((a, b) => b.running - a.running || b.needless - a.needless);
}

function defragment(run, c, over) {
  const ended = () => !sh.defragmentStatus(c.ns).running;
  const stop = run.restore(`sh.stopDefragment("${c.ns}")`, () => {
    if (ended()) return;
    sh.stopDefragment(c.ns);
    run.wait(`${c.ns} is left alone`, ended, { timeout: 10 * cli.TIMES.m }); // a new one would end with it
  });
  const options = run.options.chunkSize ? { chunkSize: run.options.chunkSize } : {};
  if (!c.running) sh.defragment(c.ns, options);
  run.wait(`${c.ns} is defragmented`, () => ended() || over(), {
    timeout: run.options.for + 6e4,
    stuck: () => sh.isBalancerRunning().mode === "off" && "the balancer is off, which does the work: sh.startBalancer()",
  });
  stop(); // what is merged stays merged
}

/** Before 5.3: what is beside each other on a shard becomes one chunk. */
function consolidate(run, c) {
  const plan = sh.plan(c.ns, { goal: "consolidate" });
  if (plan.steps.length > 0) sh.apply(plan, { pauseBalancing: true, journal: null, onChange: "replan" });
}

/** "22:00-06:00", in UTC. */
function parseWindow(text) {
  if (!text) return null;
  const m = /^(\d\d?):(\d\d)-(\d\d?):(\d\d)$/.exec(text);
  if (!m) throw new cli.Usage(`--window takes HH:MM-HH:MM, not ${JSON.stringify(text)}`);
  const [start, stop] = [m[1] * 60 + +m[2], m[3] * 60 + +m[4]];
  if (start === stop) throw new cli.Usage(`--window ${text} is never open`);
  return {
    open() {
      const now = new Date(Date.now()),
        minute = now.getUTCHours() * 60 + now.getUTCMinutes();
      return start <= stop ? minute >= start && minute < stop : minute >= start || minute < stop;
    },
  };
}
