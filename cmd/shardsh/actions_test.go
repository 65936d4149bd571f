package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/cmd/shardsh/cmdline"
)

// twoFaces is an action as its subcommand and as its helper. In both DIR is a directory
// of its own; in the helper's call the options stand as they are.
type twoFaces struct {
	name       string
	line, call string
	prepare    string // in the shell, on both clusters
	topology   string
	members    bool   // the shards have ports, for what asks them
	reason     string // what it fails with
}

// bothFaces runs each face on a cluster of its own, of the same topology.
func bothFaces(t *testing.T, c twoFaces) (line, call map[string]any, layouts [2]string, reasons [2]string) {
	t.Helper()
	eval := func(address, code string) (string, string, bool) {
		t.Helper()
		exit, stdout, stderr := runProgram(t, "", address, "--quiet", "--json=relaxed", "--eval", code)
		return stdout, stderr, exit == exitOK
	}
	results := [2]map[string]any{}
	for face := range 2 {
		address := serve(t, c.topology, func(s *setting) { s.members = c.members }).address
		dir := t.TempDir()
		if c.prepare != "" {
			if out, errs, ok := eval(address, strings.ReplaceAll(c.prepare, "DIR", filepath.ToSlash(dir))); !ok {
				t.Fatal(out, errs)
			}
		}
		var stdout, stderr string
		if face == 0 {
			line := c.line
			if strings.Contains(line, "HASH") {
				line = strings.ReplaceAll(line, "HASH", hashOfPlan(t, filepath.Join(dir, "plan.json")))
			}
			args := strings.Fields(strings.NewReplacer("DIR", dir, "ADDRESS", address).Replace(line))
			_, stdout, stderr = runProgram(t, "", append(args, "--json")...)
		} else {
			stdout, stderr, _ = eval(address, strings.ReplaceAll(c.call, "DIR", filepath.ToSlash(dir)))
		}
		stdout = strings.ReplaceAll(stdout, address, "ADDRESS")
		results[face], reasons[face] = lastDocument(stdout), stdout+stderr
		layouts[face] = layoutOf(t, clientOf(t, address))
	}
	return results[0], results[1], layouts, reasons
}

// layoutOf lists the chunks of a cluster's collections with their shards.
func layoutOf(t *testing.T, client *mongo.Client) string {
	t.Helper()
	var collections []struct {
		Name string      `bson:"_id"`
		UUID bson.Binary `bson:"uuid"`
	}
	sorted(t, client, "collections", document("_id", bson.Regex{Pattern: "^shop"}), "_id", &collections)
	var layout strings.Builder
	for _, c := range collections {
		var chunks []struct {
			Min   bson.Raw
			Shard string
		}
		sorted(t, client, "chunks", document("uuid", c.UUID), "min", &chunks)
		fmt.Fprintf(&layout, "%s:", c.Name)
		for _, chunk := range chunks {
			fmt.Fprintf(&layout, " %s %s", chunk.Shard, chunk.Min)
		}
		layout.WriteString("\n")
	}
	return layout.String()
}

// sorted reads documents of the config database in an order.
func sorted(t *testing.T, client *mongo.Client, coll string, filter bson.D, by string, into any) {
	t.Helper()
	order := options.Find().SetSort(document(by, 1))
	cursor, err := client.Database("config").Collection(coll).Find(t.Context(), filter, order)
	if err != nil {
		t.Fatal(err)
	}
	if err := cursor.All(t.Context(), into); err != nil {
		t.Fatal(err)
	}
}

// hashOfPlan is what "shardsh plan" prints of a plan to be approved.
func hashOfPlan(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var made struct{ Hash string }
	if err := json.Unmarshal(text, &made); err != nil || made.Hash == "" {
		t.Fatalf("%s has no hash: %v", path, err)
	}
	return made.Hash
}

// lastDocument is the last document of JSON in an output, without what two runs never
// have in common.
func lastDocument(text string) (doc map[string]any) {
	decoder := json.NewDecoder(strings.NewReader(text))
	for {
		var next map[string]any
		if decoder.Decode(&next) != nil {
			break
		}
		doc = next
	}
	for _, name := range []string{
		"plan", "journal", "millis", "since", "until", "created", "updated", "worker", "time",
	} {
		delete(doc, name)
	}
	if progress, is := doc["progress"].(map[string]any); is {
		delete(progress, "etaSeconds") // by the time that the calls took
	}
	return doc
}

const planFile = `fs.writeFileSync("DIR/plan.json", JSON.stringify(sh.plan("shop.orders")))`

// Each action does the same as a subcommand and as a helper: the same moves, the same
// result.
func TestActionsHaveTwoFaces(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	t.Parallel() // most of it is waiting
	for _, c := range []twoFaces{
		{name: "apply", line: "apply DIR/plan.json ADDRESS --yes", call: `sh.apply("DIR/plan.json")`, prepare: planFile},
		{name: "apply, a dry run", line: "apply DIR/plan.json ADDRESS --dry-run",
			call: `sh.apply("DIR/plan.json", { dryRun: true })`, prepare: planFile},
		{name: "apply with a limit", line: "apply DIR/plan.json ADDRESS --yes --max-moves 1 --parallel 2",
			call: `sh.apply("DIR/plan.json", { maxMoves: 1, parallel: 2 })`, prepare: planFile},
		{name: "apply, resumed", line: "apply --resume DIR/j ADDRESS --yes --pause-balancing",
			call:    `sh.apply({ resume: "DIR/j", pauseBalancing: true })`,
			prepare: `sh.apply(sh.plan("shop.orders"), { journal: "DIR/j", maxMoves: 1 }).stopped`},
		{name: "apply, undone", line: "apply --undo DIR/j ADDRESS --yes", call: `sh.apply({ undo: "DIR/j" })`,
			prepare: `sh.apply(sh.plan("shop.orders"), { journal: "DIR/j" }); db.adminCommand({ mockAdvance: 3600000 }).ok`},
		{name: "apply, approved", line: "apply DIR/plan.json ADDRESS --approve HASH",
			call:    `sh.apply("DIR/plan.json", { approve: JSON.parse(fs.readFileSync("DIR/plan.json", "utf8")).hash })`,
			prepare: planFile},
		{name: "apply, undone, approved", line: "apply --undo DIR/j ADDRESS --approve HASH",
			call: `sh.apply({ undo: "DIR/j", approve: sh.undo("DIR/j").hash })`,
			prepare: `sh.apply(sh.plan("shop.orders"), { journal: "DIR/j" }); db.adminCommand({ mockAdvance: 3600000 }); ` +
				`fs.writeFileSync("DIR/plan.json", JSON.stringify(sh.undo("DIR/j")))`},
		{name: "apply with old names", line: "apply DIR/plan.json ADDRESS --yes --take-over --max-time 1h",
			call: `sh.apply("DIR/plan.json", { takeOver: true, maxTime: "1h" })`, prepare: planFile},
		{name: "balance", line: "balance ADDRESS --ns shop.orders --yes", call: `sh.balance("shop.orders")`},
		{name: "balance of all", line: "balance ADDRESS --all --yes --max-moves none --max-bytes 0",
			call: `sh.balance({ all: true, maxMoves: 0, maxBytes: "none" })`},
		{name: "defragment all", line: "defragment ADDRESS --all --yes --journal DIR/j",
			call: `sh.defragment({ all: true, journal: "DIR/j" })`, topology: scatteredStopped},
		{name: "balance with a limit", line: "balance ADDRESS --ns shop.orders --yes --max-bytes 250MB --seed 7",
			call: `sh.balance("shop.orders", { maxBytes: "250MB", seed: 7 })`},
		{name: "balance below a disk limit", line: "balance ADDRESS --ns shop.orders --yes --disk-limit 90%",
			call: `sh.balance("shop.orders", { diskLimit: "90%" })`},
		{name: "drain below a disk limit", line: "drain ADDRESS --shard a --yes --journal DIR/j --move-primaries --disk-limit 0.9",
			call: `sh.drain("a", { journal: "DIR/j", movePrimaries: true, diskLimit: 0.9 })`},
		{name: "drain above a disk limit", line: "drain ADDRESS --shard a --preflight --move-primaries --disk-limit 0.001%",
			call: `sh.drain("a", { preflight: true, movePrimaries: true, diskLimit: "0.001%" })`},
		{name: "balance, by force where it has to be", line: "balance ADDRESS --ns shop.orders --yes --force-jumbo",
			call: `sh.balance("shop.orders", { forceJumbo: true })`},
		{name: "balance, giving back", line: "balance ADDRESS --give-back", call: `sh.balance({ giveBack: true })`},
		{name: "balance, a dry run", line: "balance ADDRESS --ns shop.orders --dry-run --goal chunks",
			call: `JSON.parse(JSON.stringify(sh.balance("shop.orders", { dryRun: true, goal: "chunks" }).totals))`},
		{name: "drain", line: "drain ADDRESS --shard a --remove --move-primaries --yes --journal DIR/j",
			call: `sh.drain("a", { remove: true, movePrimaries: true, journal: "DIR/j" })`},
		{name: "drain once more", line: "drain ADDRESS --shard a --remove --yes --journal DIR/k",
			call:    `sh.drain("a", { remove: true, journal: "DIR/k" })`,
			prepare: `sh.drain("a", { remove: true, movePrimaries: true, journal: null }).removed`},
		{name: "drain, resumed", line: "drain ADDRESS --resume DIR/j --yes --shard a --move-primaries",
			call:    `sh.drain("a", { resume: "DIR/j", movePrimaries: true })`,
			prepare: `sh.drain("a", { maxMoves: 2, journal: "DIR/j" }).stopped`},
		{name: "drain, a preflight", line: "drain ADDRESS --shard a --remove --preflight",
			call: `sh.drain("a", { remove: true, preflight: true })`},
		{name: "drain despite what was found", line: "drain ADDRESS --shard a --yes --journal DIR/j --max-moves 1 --despite jumboChunks",
			call: `sh.drain("a", { journal: "DIR/j", maxMoves: 1, despite: ["jumboChunks"] })`},
		{name: "drain with advisories of one's own", line: "drain ADDRESS --shard a --preflight --advisories DIR/own.yaml",
			call:    `sh.drain("a", { preflight: true, advisories: "DIR/own.yaml" })`,
			prepare: "fs.writeFileSync(\"DIR/own.yaml\", `" + ownFaults + "`)"},
		{name: "apply, a preflight", line: "apply DIR/plan.json ADDRESS --preflight",
			call: `sh.apply("DIR/plan.json", { preflight: true })`, prepare: planFile},
		{name: "balance, a preflight", line: "balance ADDRESS --ns shop.orders --preflight",
			call: `sh.balance("shop.orders", { preflight: true })`, prepare: `sh.startBalancer()`},
		{name: "presplit, a preflight", line: "presplit ADDRESS --ns shop.events --per-shard 4 --preflight",
			call: `sh.presplit("shop.events", { perShard: 4, preflight: true })`, topology: scatteredStopped},
		{name: "defragment", line: "defragment ADDRESS --ns shop.orders --yes --journal DIR/j",
			call: `sh.defragment("shop.orders", { journal: "DIR/j" })`, topology: scatteredStopped},
		{name: "defragment, a dry run", line: "defragment ADDRESS --ns shop.orders --dry-run",
			call: `sh.defragment("shop.orders", { dryRun: true })`, topology: scatteredStopped},
		{name: "presplit", line: "presplit ADDRESS --ns shop.events --per-shard 4 --yes --journal DIR/j",
			call: `sh.presplit("shop.events", { perShard: 4, journal: "DIR/j" })`, topology: scatteredStopped},
		{name: "a job", line: "drain start ADDRESS --shard a --remove --move-primaries --work-for 20s",
			call: `sh.job("drain", "start", { shard: "a", remove: true, movePrimaries: true, workFor: "20s" })`},
		{name: "a job, recorded", line: "drain start ADDRESS --shard a --max-bytes 1GB --work-for 0",
			call: `sh.job("drain", "start", { shard: "a", maxBytes: "1GB", workFor: 0 })`},
		{name: "a job that is blocked", line: "drain start ADDRESS --shard a --work-for 20s",
			call: `sh.job("drain", "start", { shard: "a", workFor: "20s" })`},
		{name: "the status of a job", line: "drain status ADDRESS --shard a", call: `sh.job("drain", "status", { shard: "a" })`,
			prepare: `sh.job("drain", "start", { shard: "a", maxMoves: 1, workFor: "20s" }).state`},
		{name: "a job, cancelled", line: "drain cancel ADDRESS --shard a", call: `sh.job("drain", "cancel", { shard: "a" })`,
			prepare: `sh.job("drain", "start", { shard: "a", maxMoves: 1, workFor: "20s" }).state`},
		{name: "a job that balances", line: "balance start ADDRESS --ns shop.orders --work-for 20s",
			call: `sh.job("balance", "start", { ns: "shop.orders", workFor: "20s" })`},
		{name: "a job that defragments", line: "defragment start ADDRESS --all --work-for 20s",
			call: `sh.job("defragment", "start", { all: true, workFor: "20s" })`, topology: scatteredStopped},
		{name: "no job", line: "drain cancel ADDRESS --shard a", call: `sh.job("drain", "cancel", { shard: "a" })`},
		{name: "quiesce, a dry run", line: "quiesce ADDRESS --dry-run", call: `sh.quiesce({ dryRun: true })`, members: true},
		{name: "quiesce without one before", line: "quiesce ADDRESS --end", call: `sh.quiesce({ end: true })`},
		{name: "the end of no pause", line: "pause ADDRESS --end", call: `sh.pause({ end: true })`},
		{name: "the end of a pause", line: "pause ADDRESS --end", call: `sh.pause({ end: true })`,
			prepare: `sh.pause({ reason: "why", for: "2h" })`},
		{name: "pause", line: "pause why ADDRESS --for 2h", call: `sh.pause({ reason: "why", for: "2h" })`},
		{name: "pause until", line: "pause why ADDRESS --until 12:00", call: `sh.pause({ reason: "why", until: "12:00" })`},
		{name: "pause that takes the place of another", line: "pause why ADDRESS --replace",
			call: `sh.pause({ reason: "why", replace: true })`, prepare: `sh.pause({ reason: "before" })`},
		{name: "pause, shown", line: "pause ADDRESS --show", call: `sh.pause({ show: true })`,
			prepare: `sh.pause({ reason: "before" })`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.topology == "" {
				c.topology = heapedTopology
			}
			line, call, layouts, output := bothFaces(t, c)
			if strings.HasPrefix(c.name, "balance, a dry run") {
				line = line["totals"].(map[string]any)
			}
			if want, got := asJSON(t, line), asJSON(t, call); len(line) == 0 || want != got {
				t.Errorf("the subcommand returns\n%s\nthe helper\n%s\n%s", want, got, output)
			}
			if layouts[0] != layouts[1] || layouts[0] == "" {
				t.Errorf("the subcommand leaves\n%s\nthe helper\n%s", layouts[0], layouts[1])
			}
		})
	}
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var scatteredStopped = strings.Replace(scatteredTopology, `"databases"`,
	`"settings": {"balancer": {"stopped": true}}, "databases"`, 1)

// Each action refuses the same as a subcommand and as a helper, with the same reason.
func TestActionsRefuseAlike(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	for _, c := range []twoFaces{
		{line: "apply DIR/plan.json ADDRESS --yes --parallel 0", call: `sh.apply("DIR/plan.json", { parallel: 0 })`,
			reason: "parallel must be at least 1, not 0"},
		{line: "apply ADDRESS --yes --resume j --undo k", call: `sh.apply({ resume: "j", undo: "k" })`,
			reason: "resume and undo exclude each other"},
		{line: "apply ADDRESS --yes --resume j --journal k", call: `sh.apply({ resume: "j", journal: "k" })`,
			reason: "journal is for a new plan: resume and undo name their journal"},
		{line: "apply ADDRESS --yes --resume DIR/none", call: `sh.apply({ resume: "DIR/none" })`,
			reason: "no such file"},
		{line: "apply DIR/plan.json ADDRESS --approve 0123456789abcdef",
			call: `sh.apply("DIR/plan.json", { approve: "0123456789abcdef" })`, reason: "or the first 32 at least"},
		{line: "apply DIR/plan.json ADDRESS --approve " + strings.Repeat("0a", 32),
			call:   `sh.apply("DIR/plan.json", { approve: "` + strings.Repeat("0a", 32) + `" })`,
			reason: "is not the plan that was approved: its hash is"},
		{line: "apply DIR/plan.json ADDRESS --on-change replan --approve " + strings.Repeat("0a", 32),
			call:   `sh.apply("DIR/plan.json", { onChange: "replan", approve: "` + strings.Repeat("0a", 32) + `" })`,
			reason: "approve and onChange replan exclude each other"},
		{line: "apply DIR/plan.json ADDRESS --yes --window 22:00", call: `sh.apply("DIR/plan.json", { window: "22:00" })`,
			reason: `such as "22:00-06:00"`},
		{line: "apply DIR/plan.json ADDRESS --yes --disk-limit 850%", call: `sh.apply("DIR/plan.json", { diskLimit: "850%" })`,
			reason: `"850%" is not a share such as 85% or 0.85`},
		{line: "balance ADDRESS --ns shop.orders --yes --disk-limit much", call: `sh.balance("shop.orders", { diskLimit: "much" })`,
			reason: `"much" is not a share such as 85% or 0.85`},
		{line: "apply DIR/plan.json ADDRESS --yes --pause-when lagg>1s",
			call: `sh.apply("DIR/plan.json", { pauseWhen: "lagg>1s" })`, reason: "expected one of"},
		{line: "apply DIR/plan.json ADDRESS --yes", call: `sh.apply("DIR/plan.json")`,
			prepare: planFile + `; sh.startBalancer()`, reason: `sh.disableBalancing("shop.orders")`},
		{line: "balance ADDRESS --ns shop.orders --yes --ops-interval 5s",
			call: `sh.balance("shop.orders", { opsInterval: "5s" })`, reason: "opsInterval is for goal ops"},
		{line: "balance ADDRESS --ns shop.orders --yes", call: `sh.balance("shop.orders")`,
			prepare: `sh.startBalancer()`, reason: `sh.disableBalancing("shop.orders")`},
		{line: "drain ADDRESS --shard nope --yes", call: `sh.drain("nope", { journal: "DIR/j" })`, reason: "nope"},
		{line: "drain ADDRESS --yes --shard b --resume DIR/j", call: `sh.drain("b", { resume: "DIR/j" })`,
			prepare: `sh.drain("a", { maxMoves: 1, journal: "DIR/j" }).stopped`, reason: "the journal is for shard a, not b"},
		{line: "drain ADDRESS --yes --shard a --resume DIR/j --journal k",
			call: `sh.drain("a", { resume: "DIR/j", journal: "k" })`, reason: "resume names its journal: leave journal out"},
		{line: "drain ADDRESS --yes --shard a --journal DIR/j", call: `sh.drain("a", { journal: "DIR/j" })`,
			reason: "shard a is not empty; you must move 1 database: sh.movePrimary(\"shop\", <shard>); movePrimaries moves it"},
		{line: "balance ADDRESS --yes", call: `sh.balance()`,
			reason: "name the collections: ns, or all for all collections"},
		{line: "balance ADDRESS --dry-run", call: `sh.balance({ dryRun: true })`,
			reason: "name the collections: ns, or all for all collections"},
		{line: "balance ADDRESS --yes --all --ns shop.orders", call: `sh.balance("shop.orders", { all: true })`,
			reason: "ns and all exclude each other"},
		{line: "defragment ADDRESS --yes", call: `sh.defragment({ parallel: 1 })`,
			reason: "name the collections: ns, or all for all collections"},
		{line: "defragment ADDRESS --yes --all --ns shop.orders", call: `sh.defragment("shop.orders", { all: true })`,
			reason: "ns and all exclude each other"},
		{line: "drain ADDRESS --yes --shard a --despite nothing", call: `sh.drain("a", { despite: "nothing" })`,
			reason: `despite: there is no code "nothing"`},
		{line: "defragment ADDRESS --yes --ns shop.nope", call: `sh.defragment("shop.nope", { journal: "DIR/j" })`,
			reason: "shop.nope"},
		{line: "defragment ADDRESS --yes --ns shop.orders --resume DIR/j",
			call: `sh.defragment("shop.orders", { resume: "DIR/j" })`, reason: "has another goal, drain",
			prepare: `sh.drain("a", { maxMoves: 1, journal: "DIR/j" }).stopped`},
		{line: "presplit ADDRESS --yes --ns shop.orders", call: `sh.presplit("shop.orders", { parallel: 1 })`,
			reason: "give one of chunks or perShard (of a hashed key), points, fromSample"},
		{line: "presplit ADDRESS --yes --ns shop.orders --chunks 4", call: `sh.presplit("shop.orders", { chunks: 4 })`,
			reason: "does not begin with a hash"},
		{line: "drain start ADDRESS", call: `sh.job("drain", "start", {})`, reason: "drain needs shard"},
		{line: "balance start ADDRESS", call: `sh.job("balance", "start", {})`,
			reason: "name the collections: ns, or all for all collections"},
		{line: "drain start ADDRESS --shard nope", call: `sh.job("drain", "start", { shard: "nope" })`,
			reason: `the cluster has no shard "nope"`},
		{line: "defragment start ADDRESS --ns shop.nope", call: `sh.job("defragment", "start", { ns: "shop.nope" })`,
			reason: "shop.nope"},
		{line: "drain start ADDRESS --shard a --window 22:00-06:00",
			call:   `sh.job("drain", "start", { shard: "a", window: "22:00-06:00" })`,
			reason: `the window of a job needs its time zone, as its calls come from many machines: "22:00-06:00 UTC"`},
		{line: "drain start ADDRESS --shard a --max-moves 3", call: `sh.job("drain", "start", { shard: "a", maxMoves: 3 })`,
			prepare: `sh.job("drain", "start", { shard: "a", maxMoves: 1, workFor: "20s" }).state`,
			reason:  "job drain:a exists with different options: shard a maxMoves 1; replace applies the new ones"},
		{line: "drain start ADDRESS --shard a --advisories DIR/none.yaml",
			call:   `sh.job("drain", "start", { shard: "a", advisories: "DIR/none.yaml" })`,
			reason: "none.yaml: no such file or directory"},
		{line: "apply ADDRESS --yes --undo job:drain:a", call: `sh.apply({ undo: "job:drain:a" })`,
			reason: "there is no job drain:a"},
		{line: "quiesce ADDRESS", call: `sh.quiesce()`, reason: "quiesce needs a command to run meanwhile, or hold"},
		{line: "quiesce ADDRESS --detach", call: `sh.quiesce({ detach: true })`, reason: "detach needs hold"},
		{line: "quiesce ADDRESS --end --hold 1h", call: `sh.quiesce({ end: true, hold: "1h" })`,
			reason: "end restores the previous state: leave out hold"},
		{line: "pause why ADDRESS --for 2h --until 12:00", call: `sh.pause({ reason: "why", for: "2h", until: "12:00" })`,
			reason: "for and until exclude each other"},
		{line: "pause why ADDRESS --for 900h", call: `sh.pause({ reason: "why", for: "900h" })`, reason: "31 days at most"},
		{line: "pause why ADDRESS --until noon", call: `sh.pause({ reason: "why", until: "noon" })`,
			reason: "until is a time such as 18:00"},
		{line: "pause ADDRESS --show --for 2h", call: `sh.pause({ show: true, for: "2h" })`, reason: "stand alone"},
	} {
		t.Run(c.line, func(t *testing.T) {
			if c.topology = heapedTopology; c.prepare == "" {
				c.prepare = planFile
			}
			_, _, layouts, reasons := bothFaces(t, c)
			for face, got := range reasons {
				if got := withoutFlags(got); !strings.Contains(got, c.reason) {
					t.Errorf("%s gives %s", []string{c.line, c.call}[face], got)
				}
			}
			if layouts[0] != layouts[1] {
				t.Errorf("the subcommand leaves\n%s\nthe helper\n%s", layouts[0], layouts[1])
			}
		})
	}
}

var flagInText = regexp.MustCompile(`--[a-z]+(-[a-z]+)*`)

// withoutFlags spells options in a text as a helper does, and takes JSON's escapes away.
func withoutFlags(text string) string {
	return strings.ReplaceAll(flagInText.ReplaceAllStringFunc(text, func(flag string) string { return keyOf(flag[2:]) }),
		`\"`, `"`)
}

func keyOf(flag string) string {
	words := strings.Split(flag, "-")
	for i, word := range words[1:] {
		words[i+1] = strings.ToUpper(word[:1]) + word[1:]
	}
	return strings.Join(words, "")
}

// Each action has the same options as a subcommand and as a helper, but for those that
// are about the process, or about having the cluster's own balancer do it.
func TestActionsHaveTheSameOptions(t *testing.T) {
	process := []string{"yes", "readOnly", "json", "script", "mock", "snapshot", "transcript", "timeout", "quiet", "help",
		"metrics"}
	shell := []string{"progress", "wait", "keepWaiting", "timeout", "interval", "chunkSize", "reason"}
	for verb, c := range map[string]struct {
		groups   []cmdline.Group
		call     string
		argument []string
	}{
		"apply":      {new(applyFlags).groups(), `sh.apply({ zzz: 1 })`, nil},
		"balance":    {new(balanceFlags).groups(), `sh.balance({ zzz: 1 })`, []string{"ns"}},
		"drain":      {new(drainFlags).groups(), `sh.drain("a", { zzz: 1 })`, []string{"shard"}},
		"defragment": {new(defragmentFlags).groups(), `sh.defragment("shop.orders", { zzz: 1 })`, []string{"ns"}},
		"presplit":   {new(presplitFlags).groups(), `sh.presplit("shop.orders", { zzz: 1 })`, []string{"ns"}},
		"job": {append((&jobFlags{verb: "drain", call: callStart}).groups(), (&jobFlags{verb: "balance", call: callStart}).groups()...),
			`sh.job("drain", "start", { zzz: 1 })`, nil},
		"quiesce": {new(quiesceFlags).groups(), `sh.quiesce({ zzz: 1 })`, nil},
		"pause":   {new(pauseFlags).groups(), `sh.pause({ zzz: 1 })`, nil},
	} {
		flags := map[string]bool{}
		for _, g := range c.groups {
			if g.Title == "Options" || g.Title == "Pace" {
				g.Flags.VisitAll(func(f *pflag.Flag) { flags[keyOf(f.Name)] = !f.Hidden })
			}
		}
		_, stdout, stderr := runProgram(t, "", "--mock", "--quiet", "--eval", c.call)
		_, known, _ := strings.Cut(stdout+stderr, "(options: ")
		known, _, _ = strings.Cut(known, ")")
		options := map[string]bool{}
		for _, name := range strings.Split(known, ", ") {
			if !slices.Contains(shell, name) {
				options[name] = true
			}
		}
		maps.DeleteFunc(flags, func(name string, shown bool) bool {
			return !shown || slices.Contains(process, name) || slices.Contains(c.argument, name)
		})
		if !maps.Equal(flags, options) {
			t.Errorf("%s has the flags\n%v\nand the helper the options\n%v", verb, slices.Sorted(maps.Keys(flags)),
				slices.Sorted(maps.Keys(options)))
		}
	}
}
