// Brings the zones of a cluster to what a file says, and verifies it:
//
//   { "shards": { "eu1": ["EU"], "us1": ["US"] },
//     "ranges": [ { "ns": "shop.orders", "zone": "EU", "min": { "region": "A" }, "max": { "region": "M" } } ] }
const cli = require("shardsh:cli");
const { checked, bring, settle } = require("shardsh:zoning");

cli.script(
  {
    name: "zones-from-file",
    about: "Brings zones and their ranges to what a file says, and verifies it.",
    usage: "--file FILE [options]",
    options: {
      file: {
        value: "FILE",
        about: "extended JSON: { shards: { id: [zones] }, ranges: [{ ns, zone, min, max }] }",
        needed: true,
      },
      replace: { about: "remove ranges that are in the way of those of the file" },
      prune: { about: "remove all other ranges of its collections, and its shards from all other zones" },
      wait: { about: "wait until the balancer has moved what has to move" },
      for: { value: "TIME", is: "duration", default: "1d", about: "wait so long at most" },
      ...cli.WAITS,
    },
    examples: [
      "mongodb://host:27017 --file zones.json --dry-run",
      "mongodb://host:27017 --file zones.json --prune --wait",
    ],
  },
  run => {
    const file = cli.documents(run.options.file, true);
    const unknown = Object.keys(file).filter(k => k !== "shards" && k !== "ranges");
    if (unknown.length > 0) run.refuse(`${run.options.file} has ${unknown.join(", ")}; it may have shards and ranges`);
    const wanted = checked(run, file);
    const result = bring(run, wanted, run.options);
    const namespaces = [...new Set(wanted.ranges.map(r => r.ns))];
    if (namespaces.length > 0) settle(run, namespaces, run.options.wait, run.options.for, run.options.keepWaiting);
    return result;
  },
);
