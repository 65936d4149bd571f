// Starts mock sharded clusters for tests. No dependencies; the program shardsh is found in
// $SHARDSH_BINARY, or on the path. docs/embed.md has a tour.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

// The options of "shardsh serve" that options of start stand for.
const flags = {
  shards: "--shards", version: "--server-version", topology: "--topology", snapshot: "--snapshot", seed: "--seed",
  dbpath: "--dbpath", time: "--mock-time",
};

function commandLine(options) {
  const args = ["serve", "--port", "0", "--log-level", "error", "--until-eof"];
  for (const [name, value] of Object.entries(options)) {
    if (name === "binary" || name === "timeout" || value === undefined) continue;
    if (name === "parameters") {
      for (const [key, v] of Object.entries(value)) args.push("--set-parameter", `${key}=${v}`);
    } else if (flags[name]) {
      args.push(`${flags[name]}=${value}`);
    } else {
      throw new TypeError(`start() has no option ${name}; it has ${[...Object.keys(flags), "parameters", "binary",
        "timeout"].join(", ")}`);
    }
  }
  return args;
}

/** Starts a cluster; resolves with its connection string when it can be used. */
export async function start(options = {}) {
  const args = commandLine(options);
  const binary = options.binary ?? process.env.SHARDSH_BINARY ?? "shardsh";
  // Its standard input ends with this process, however that ends, and it with that.
  const child = spawn(binary, args, { stdio: ["pipe", "pipe", "pipe"] });
  let errors = "";
  child.stderr.on("data", (text) => { errors = (errors + text).slice(-4096); });
  const gone = new Promise((resolve) => {
    child.once("error", (error) => resolve(error.code === "ENOENT"
      ? new Error(`there is no ${binary}: put it on the path, or its file into SHARDSH_BINARY`) : error));
    child.once("close", (code) => resolve(new Error(`shardsh serve ended with ${code}: ${errors.trim()}`)));
  });
  const stop = async () => {
    child.kill("SIGTERM"); // which is nothing where it is gone
    const late = setTimeout(() => child.kill("SIGKILL"), 6000);
    await gone;
    clearTimeout(late);
  };
  const lines = createInterface({ input: child.stdout });
  const limit = options.timeout ?? 10_000;
  let timer;
  const uri = await Promise.race([
    new Promise((resolve) => lines.once("line", resolve)),
    gone.then((error) => { throw error; }),
    new Promise((_, reject) => {
      const late = () => reject(new Error(`shardsh serve said nothing for ${limit} ms: ${errors.trim()}`));
      timer = setTimeout(late, limit);
    }),
  ]).catch(async (error) => {
    child.kill("SIGKILL");
    throw error;
  }).finally(() => clearTimeout(timer));
  for (const handle of [child, child.stdin, child.stdout, child.stderr]) handle.unref?.();
  return { uri: uri.trim(), stop, [Symbol.asyncDispose ?? Symbol.for("asyncDispose")]: stop };
}
