package node_test

import (
	"testing"

	"shardsh/bindings/shelltest"
)

// TestNodeGlobals: what scripts use of Node's globals and of newer JavaScript
// (rules/04-values-and-language §4.3, §4.4).
func TestNodeGlobals(t *testing.T) {
	shelltest.Run(t, shelltest.Connect(t),
		step{`new URL("https://u:p@h.example:8080/a/b?x=1&y=2#f").searchParams.get("y")`, "2"},
		step{`new URLSearchParams({a: 1, b: "x y"}).toString()`, "a=1&b=x+y"},
		step{`url.parse("http://a.b:1/c?d").host + url.fileURLToPath("file:///a%20b")`, "a.b:1/a b"},
		step{`const ac = new AbortController(); ac.signal.addEventListener("abort", () => print("aborted")); ac.abort(); ac.signal.aborted`, "aborted\ntrue"},
		step{`try { AbortSignal.abort().throwIfAborted() } catch (e) { e.name }`, "AbortError"},
		step{`atob(btoa("hi"))`, "hi"},
		step{`fetch("http://x")`, "Error: fetch is not available in shardsh"},
		step{`Buffer.from([1, 2, 3, 4]).readUInt32BE(0) + Buffer.from([1, 2]).readUint16LE()`, "16909573"},
		step{`Buffer.alloc(1).readInt16LE(0)`, "RangeError: Attempt to access memory outside buffer bounds"},
		step{`const b8 = Buffer.alloc(8); b8.writeDoubleLE(1.5); b8.readDoubleLE()`, "1.5"},
		step{`Buffer.concat([Buffer.from("ab"), Buffer.from("cd")], 3).toString()`, "abc"},
		step{`Buffer.from("abc").indexOf("c") + Buffer.compare(Buffer.from("b"), Buffer.from("a"))`, "3"},
		step{`Buffer.from("abcdef").slice(1, 3).toString("hex")`, "6263"},
		step{`[1, 2, 3].values().map(x => x * 2).filter(x => x > 2).toArray()`, "[ 4, 6 ]"},
		step{`(function* () { let i = 0; while (true) yield i++ })().drop(2).take(2).toArray()`, "[ 2, 3 ]"},
		step{`Iterator.from([1, 2]).reduce((a, b) => a + b)`, "3"},
		step{`await Array.fromAsync([Promise.resolve(1), 2], x => x + 1)`, "[ 2, 3 ]"},
		step{`"a\ud800".isWellFormed() || "\u{1F600}".isWellFormed()`, "true"},
		step{`new Date(0).toLocaleString() + " " + new Date(46800000).toLocaleTimeString()`, "1/1/1970, 12:00:00 AM 1:00:00 PM"},
		step{`const ee = new (require("events"))(); ee.once("x", v => print(v)); ee.emit("x", 1) + " " + ee.emit("x", 2)`, "1\ntrue false"},
		step{`await require("timers/promises").setTimeout(10, "waited")`, "waited"},
		step{`await util.promisify((a, cb) => cb(null, a + 1))(1)`, "2"},
		step{`await assert.rejects(async () => { throw new TypeError("x") }, TypeError); "rejected"`, "rejected"},
		step{`assert.rejects(async () => 1)`, "AssertionError: Missing expected rejection."},
		step{`crypto.createHash("md5").update(Buffer.from("a")).digest().toString("hex")`, "0cc175b9c0f1b6a831c399e269772661"},
		step{`crypto.createHash("md5").update("61", "hex").digest("hex")`, "0cc175b9c0f1b6a831c399e269772661"},
		step{`crypto.randomInt(-(2 ** 62), 2 ** 62 + 1)`, `RangeError: The value of "max - min" is out of range. It must be <= 281474976710655`},
		step{`crypto.randomBytes(4).length`, "4"},
		step{`["a.b", "./a", "/a", "/", "a/b/"].map(p => path.parse(p).dir)`, "[ '', '.', '/', '/', 'a' ]"},
		step{`[path.join(), path.join("a", "", "b/"), path.normalize("/a/../"), path.dirname("/a/b/")]`, "[ '.', 'a/b/', '/', '/a' ]"},
		step{`path.parse("/a/b.c").name + path.format({dir: "/a", base: "b"}) + path.posix.join("x", "y")`, "b/a/bx/y"},
		step{`crypto.createHmac("sha256", Buffer.from("ff00", "hex")).update("a").digest("hex")`, "bf033e25102c94189729e188d37b9612b3a7b47589314392376db5b69db42a4b"},
		step{`crypto.randomBytes(-1)`, `RangeError: The value of "size" is out of range. It must be >= 0 && <= 67108864. Received -1`},
		step{`[path.extname(".x"), path.extname(".x.y"), path.extname("a/.b"), path.extname("a.b/c.d"), path.basename("")]`,
			"[ '', '.y', '', '.d', '' ]"},
		step{`[path.basename("/"), path.parse("/").base, path.extname(".."), path.parse("a/..").ext, path.extname("...")]`,
			"[ '', '', '', '', '.' ]"},
		step{`[path.relative("/a/b", "/a/c"), path.relative("a", "a"), path.relative("../a", "b") == "../" + process.cwd().split("/").pop() + "/b",
			path.relative("/", "x") == process.cwd().slice(1) + "/x"]`, "[ '../c', '', true, true ]"},
		step{`path.format({root: "/", base: "b"}) + path.format({dir: "a", name: "b", ext: ".c"}) + path.parse(".x").name`, "/ba/b.c.x"},
		step{`const m = new Map([[1, {a: 1}]]); m.set("self", m); const m2 = structuredClone(m); [m2.get("self") === m2, m2 === m, m2.get(1).a]`,
			"[ true, false, 1 ]"},
		step{`const s2 = new Set(); s2.add(s2); const s3 = structuredClone(s2); s3.has(s3) && !s3.has(s2)`, "true"},
		step{`const d2 = new Date(5), both = structuredClone([d2, d2]); both[0] === both[1] && both[0] !== d2 && both[0].getTime()`, "5"},
		step{`const u = new Uint16Array([1, 2]), u2 = structuredClone({u}).u; u[0] = 9; [u2 instanceof Uint16Array, u2[0], structuredClone(u.buffer).byteLength]`,
			"[ true, 1, 4 ]"},
		step{`try { structuredClone(async () => 1) } catch (e) { e.name }`, "DataCloneError"},
		step{`typeof process.hrtime.bigint()`, "bigint"},
		step{`const began = process.hrtime(); process.hrtime(began)[0] < began[0] + 1`, "true"},
		step{`const at = process.hrtime(); const [s, n] = process.hrtime([at[0] - 2, at[1]]); s >= 2 && s < 60 && n >= 0 && n < 1e9`, "true"},
		step{`process.hrtime([at[0] + 100, 0]).map((x, i) => i == 0 ? x < -30 : x >= 0 && x < 1e9)`, "[ true, true ]"},
		step{`process.hrtime(5)`, `TypeError: The "time" argument must be an instance of Array, as process.hrtime() returns it`},
		step{`process.hrtime([1])`, `RangeError: The value of "time" is out of range. It must be 2. Received 1`},
		step{`os.totalmem() >= os.freemem()`, "true"},
		step{`var url = "mine"; url`, "mine"},
		step{`require("url").fileURLToPath(require("url").pathToFileURL("/tmp/a#b?c%20 d"))`, "/tmp/a#b?c%20 d"},
		step{`require("url").parse("http://h:1/p?q=1").path`, "/p?q=1"},
		step{`console.timeEnd("none")`, "No such label 'none' for console.timeEnd()"},
		step{`console.group("g"); console.trace("t"); console.assert(false); console.count(); console.dir({a: 1}); ` +
			`console.groupEnd(); console.count()`,
			"g\n  Trace: t\n  Assertion failed\n  default: 1\n  { a: 1 }\ndefault: 2"},
	)
}

func TestFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and long")
	}
	t.Chdir(t.TempDir())
	shelltest.Run(t, shelltest.Connect(t),
		step{`fs.writeFileSync("a", Buffer.from("ff00", "hex")); fs.readFileSync("a").toString("hex")`, "ff00"},
		step{`fs.writeFileSync("t", "é"); fs.readFileSync("t", "utf8") + fs.readFileSync("t", {encoding: "utf8"})`, "éé"},
		step{`await fs.promises.readFile("t", "utf8")`, "é"},
		step{`fs.writeFileSync("t", "w", {flag: "a"}); fs.writeFileSync("t", "ff", {encoding: "hex", flag: "a"}); ` +
			`fs.readFileSync("t", "base64") + fs.readFileSync("t", {encoding: "hex"})`, "w6l3/w==c3a977ff"},
		step{`fs.writeFileSync("t", "x", {flag: "wx"})`, "Error: EEXIST: file already exists, open 't'"},
		step{`fs.writeFileSync("t", "x", {flag: "z"})`, "TypeError: The argument 'flags' is invalid. Received 'z'"},
		step{`fs.writeFileSync("m", "x", {mode: 0o600}); fs.statSync("m").mode.toString(8) + fs.rmSync("m")`, "600undefined"},
		step{`fs.writeFileSync("m", "x", {mode: "600", flag: "as"}); fs.readFileSync("m", "utf8") + fs.rmSync("m")`, "xundefined"},
		step{`fs.writeFileSync("m", "x", {mode: "rw"})`,
			"TypeError: The argument 'mode' must be a 32-bit unsigned integer or an octal string. Received 'rw'"},
		step{`fs.writeFileSync("t", "é"); fs.readFileSync("t", "latin1")`, "Ã©"},
		step{`fs.copyFileSync("t", "u"); fs.rmSync("t"); fs.readdirSync(".")`, "[ 'a', 'u' ]"},
		step{`fs.writeFileSync("s", "x", {mode: 0o600}); fs.writeFileSync("k", ""); fs.copyFileSync("s", "k"); fs.copyFileSync("s", "n")
			const modes = ["k", "n"].map(f => fs.statSync(f).mode.toString(8)); fs.rmSync("s"); fs.rmSync("k"); fs.rmSync("n"); modes`,
			"[ '600', '600' ]"},
		step{`fs.mkdirSync("dir"); fs.rmdirSync("a")`, "Error: ENOTDIR: not a directory, rmdir 'a'"},
		step{`fs.unlinkSync("dir")`, "Error: EISDIR: illegal operation on a directory, unlink 'dir'"},
		step{`fs.rmSync("dir")`, "Error: EISDIR: illegal operation on a directory, rm 'dir'"},
		step{`fs.rmdirSync("dir"); fs.readdirSync(".")`, "[ 'a', 'u' ]"},
		step{`try { fs.readFileSync("/dev/zero") } catch (e) { e.code }`, "ERR_FS_FILE_TOO_LARGE"},
		step{`load("/dev/zero")`, "Error: File size of '/dev/zero' is greater than 512 MiB"},
		step{`try { fs.readFileSync("none") } catch (e) { e.code + e.syscall }`, "ENOENTopen"},
		step{`await fs.promises.unlink("none")`, "Error: ENOENT: no such file or directory, unlink 'none'"},
	)
}
