// Keeps the balancer quiet for a while, with a dead man's switch: it is never switched
// off. Its window is set so that it begins again at the end by itself; no shell has to
// live for that. What the window was is kept in shardsh.maintenance, and --end, or --for
// once more, puts it back from there, whoever runs it.
//
// Servers read the window on the clock of the config server's primary, in its local time,
// which nobody can ask a router for: --utc-offset says what that is.
const cli = require("shardsh:cli");

const DAY = 24 * 60;

const notes = () => db.getSiblingDB("shardsh").getCollection("maintenance");
const note = () => notes().findOne({ _id: "balancer" });
const settings = () => cli.config().settings.findOne({ _id: "balancer" }) || {};
const PAUSED = "maintenance: "; // how the reason of our pause begins
const ours = pause => pause.paused && pause.reason.startsWith(PAUSED);
const plain = w => (w ? { start: w.start, stop: w.stop } : null);
const shown = w => (w ? `${w.start}-${w.stop}` : "at any time");
const clock = minutes => {
  const m = ((minutes % DAY) + DAY) % DAY;
  return `${String(Math.floor(m / 60)).padStart(2, "0")}:${String(m % 60).padStart(2, "0")}`;
};
const minutes = text => {
  const [h, m] = text.split(":").map(Number);
  return h * 60 + m;
};

cli.script(
  {
    name: "maintenance",
    about: "Keeps the balancer quiet for a while; it begins again by itself, even if this shell dies.",
    usage: "(--for TIME | --end) [options]",
    options: {
      for: { value: "TIME", is: "duration", about: "from now on so long; 23 hours at most" },
      end: { about: "end it now, and put the balancer's own window back" },
      stay: { about: "stay until the end, and put the window back then; Ctrl-C does it earlier" },
      "utc-offset": { value: "+HH:MM", default: "+00:00", about: "the local time of the config server's primary" },
      reason: { value: "TEXT", default: "", about: "for those who look" },
    },
    examples: [
      "mongodb://host:27017                   # how it stands",
      "mongodb://host:27017 --for 2h --reason 'new disks'",
      "mongodb://host:27017 --end",
    ],
  },
  run => {
    const { for: length, end, stay } = run.options;
    if (length && end) throw new cli.Usage("--for and --end exclude each other");
    if (length && (length < 6e4 || length > 23 * cli.TIMES.h))
      run.refuse("--for takes a minute to 23 hours: the window is a daily one");
    return end ? finish(run) : length ? begin(run, stay) : status(run);
  },
);

function status(run) {
  const kept = note(),
    now = plain(settings().activeWindow);
  run.say(`The balancer may work ${shown(now)}.`);
  if (!kept) run.say("There is no maintenance.");
  else
    run.say(
      `Maintenance by ${kept.by}${kept.reason ? " (" + kept.reason + ")" : ""} until ${kept.until.toISOString()}; ` +
        `the balancer's own window is ${shown(kept.before)}: --end puts it back.`,
    );
  return { window: now, maintenance: kept };
}

function begin(run, stay) {
  const is = settings();
  if (is.stopped || sh.isBalancerRunning().mode === "off") {
    run.say("The balancer is off, and stays so: there is nothing to keep quiet.");
    return { off: true };
  }
  if (is.activeWindowDOW && is.activeWindowDOW.length > 0)
    run.refuse("the balancer has windows by weekday, which a daily one can't stand in for");
  const m = /^([+-])(\d\d?):(\d\d)$/.exec(run.options.utcOffset);
  if (!m) throw new cli.Usage(`--utc-offset takes +HH:MM, not ${run.options.utcOffset}`);
  const offset = (m[1] === "-" ? -1 : 1) * (m[2] * 60 + +m[3]);
  const kept = note(),
    before = kept ? kept.before : plain(is.activeWindow);
  const now = db.hello().localTime.getTime(),
    until = new Date(Math.ceil((now + run.options.for) / 6e4) * 6e4);
  const from = Math.floor(now / 6e4) + offset,
    to = until.getTime() / 6e4 + offset;
  const window = windowFor(run, before, from, to);
  if (!window && !kept) {
    run.say(`The balancer's own window, ${shown(before)}, is closed all the time: nothing has to be set.`);
    return { until, window: before };
  }
  const set = window || before,
    by = `${process.env.USER || "somebody"} on ${os.hostname()}`;
  run.step(`write down in shardsh.maintenance that the balancer's own window is ${shown(before)}`, () =>
    notes().updateOne(
      { _id: "balancer" },
      { $set: { before, set, until, by, reason: run.options.reason } },
      { upsert: true, writeConcern: { w: "majority" } },
    ),
  );
  const put = run.left(
    "The balancer's window may be changed; it works at least a part of each day. --end puts its own back.",
  );
  run.step(
    `let the balancer work ${shown(set)} (${run.options.utcOffset}) only, ` +
      `which it does again from ${until.toISOString()} on`,
    () => sh.balancerWindow(set.start, set.stop),
  );
  put();
  pauseRuns(run, until, until.getTime() - now);
  if (run.dryRun) return { until, window: set };
  const back = stay ? run.restore("shardsh run maintenance --end", () => finish(run)) : null;
  run.wait("the balancer's round and its migrations are over", () => {
    const { inBalancerRound, activeMigrations } = sh.balancerSummary();
    return !inBalancerRound && activeMigrations.length === 0;
  });
  run.say(
    `Nothing moves. The balancer begins again at ${until.toISOString()} by itself; ` +
      `shardsh run maintenance --end puts its own window back.`,
  );
  if (stay) {
    while (Date.now() < until.getTime()) sleep(Math.min(60000, until.getTime() - Date.now()));
    back();
  }
  return { until, window: set, before };
}

/** Has the runs of shardsh wait as well, unless somebody else has paused them already. */
function pauseRuns(run, until, length) {
  const is = sh.pause({ show: true });
  if (is.paused && !ours(is)) return;
  const reason = `${PAUSED}${run.options.reason || "the balancer is kept quiet"}`;
  run.step(`pause the runs of shardsh until ${until.toISOString()}`, () =>
    sh.pause({ reason, for: length, replace: true }),
  );
}

/**
 * Returns the window that is closed from one minute to another and belongs to the balancer's own one; null where that
 * is closed all the time. Minutes count from 1970 in local time. Servers take the last minute of a window as open.
 */
function windowFor(run, own, from, to) {
  const window = (start, stop) => ({ start: clock(start), stop: clock(stop) });
  if (!own) return window(to, from - 1);
  const ahead = minute => (((minute - from) % DAY) + DAY) % DAY,
    length = to - from;
  const opens = ahead(minutes(own.start)),
    closes = ahead(minutes(own.stop));
  if (closes < opens) {
    // it is open now
    if (length < closes) return window(to, minutes(own.stop));
    return window(length <= opens ? minutes(own.start) : to, from - 1);
  }
  if (length <= opens) return null;
  if (length < closes) return window(to, minutes(own.stop));
  return run.refuse(
    `that is longer than the balancer's whole window, ${shown(own)}: after it no time would be left that is its own; ` +
      "a shorter time, or sh.stopBalancer() and somebody who switches it on",
  );
}

function finish(run) {
  const kept = note(),
    now = plain(settings().activeWindow);
  if (!kept) {
    run.say("There is no maintenance to end.");
    return { window: now };
  }
  if (cli.same(now, kept.set) && !cli.same(now, kept.before)) {
    run.step(`put the balancer's own window back: ${shown(kept.before)}`, () =>
      kept.before ? sh.balancerWindow(kept.before.start, kept.before.stop) : sh.clearBalancerWindow(),
    );
  } else if (!cli.same(now, kept.before)) {
    run.say(`Somebody has set the window to ${shown(now)} since: it is left alone.`);
  }
  if (ours(sh.pause({ show: true }))) run.step("end the pause of shardsh's runs", () => sh.pause({ end: true }));
  run.step("forget the maintenance", () => notes().deleteOne({ _id: "balancer" }, { writeConcern: { w: "majority" } }));
  return { window: run.dryRun ? kept.before : plain(settings().activeWindow) };
}
