package sh_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/shelltest"
)

// onVersion is a shell on a fixture of another version.
func onVersion(t *testing.T, version string, answers map[string]bson.D) *connected {
	t.Helper()
	c := shelltest.Connect(t)
	all := map[string]bson.D{"buildInfo": ok(field("version", version))}
	for _, name := range []string{
		"startShardDraining", "stopShardDraining", "commitShardRemoval", "transitionToDedicatedConfigServer",
		"startTransitionToDedicatedConfigServer", "stopTransitionToDedicatedConfigServer",
	} {
		all[name] = ok()
	}
	maps.Copy(all, answers)
	c.SetAnswers(all)
	return c
}

// changesOf are the commands sent, without questions.
func changesOf(c *connected) string {
	sent := slices.DeleteFunc(c.TakeCommands(), func(text string) bool {
		_, body, _ := strings.Cut(text, " ")
		return slices.ContainsFunc([]string{"buildInfo", "find", "aggregate", "distinct", "listCollections"},
			func(read string) bool { return strings.HasPrefix(body, `{"`+read+`"`) })
	})
	return strings.Join(sent, "\n")
}

// TestHelpersByVersion: each helper sends what the server's version has, or says
// which version it needs (rules/03-commands §1.5).
func TestHelpersByVersion(t *testing.T) {
	const majority30 = `"writeConcern":{"w":"majority","wtimeout":30000}`
	settings := func(id, update string) string {
		upsert := `,"upsert":true`
		if strings.HasPrefix(update, `{"$unset"`) {
			upsert = ""
		}
		return `config {"update":"settings","updates":[{"q":{"_id":"` + id + `"},"u":` + update + upsert + `}],"ordered":true,` + majority30 + `}`
	}
	const daily = `{"$set":{"activeWindow":{"start":"22:00","stop":"06:30"}}`
	for _, tc := range []struct{ versions, call, sends, fails string }{
		{"4.4.29 5.0.31 6.0.20 7.0.25 8.0.10 8.2.1", `sh.drain("sh1")`, `admin {"removeShard":"sh1"}`, ""},
		{"8.3.0 8.3.0-rc1 9.0.0", `sh.drain("sh1")`, `admin {"startShardDraining":"sh1"}`, ""},
		{"8.0.10", `sh.drain("config")`, `admin {"transitionToDedicatedConfigServer":1}`, ""},
		{"8.3.0", `sh.drain("config")`, `admin {"startTransitionToDedicatedConfigServer":1}`, ""},
		{"4.4.29 8.2.1", `sh.drainStatus("sh1")`, ``, ""},
		{"8.3.0", `sh.drainStatus("sh1")`, `admin {"shardDrainingStatus":"sh1"}`, ""},
		{"8.3.0", `sh.drainStatus("config")`, `admin {"getTransitionToDedicatedConfigServerStatus":1}`, ""},
		{"4.4.29 8.2.1", `sh.stopDrain("sh1")`, ``, "sh.stopDrain needs MongoDB 8.3 or newer; this server is"},
		{"8.3.0", `sh.stopDrain("sh1")`, `admin {"stopShardDraining":"sh1"}`, ""},
		{"8.3.0", `sh.stopDrain("config")`, `admin {"stopTransitionToDedicatedConfigServer":1}`, ""},

		{"4.4.29 5.0.31", `sh.defragment("app.x")`, ``, "sh.defragment needs MongoDB 5.3 or newer; this server is"},
		{"4.4.29 5.0.31", `sh.stopDefragment("app.x")`, ``, "sh.stopDefragment needs MongoDB 5.3 or newer"},
		{"4.4.29 5.0.31", `sh.defragmentStatus("app.x")`, ``, "sh.defragmentStatus needs MongoDB 5.3 or newer"},
		{"6.0.20 7.0.25 8.0.10 8.3.0", `sh.defragment("app.x")`, `admin {"configureCollectionBalancing":"app.x","defragmentCollection":true}`, ""},
		{"8.0.10", `sh.defragment(db.orders, {chunkSize: NumberLong(64)})`, `admin {"configureCollectionBalancing":"app.orders","defragmentCollection":true,"chunkSize":64}`, ""},
		{"6.0.20 8.3.0", `sh.stopDefragment("app.x")`, `admin {"configureCollectionBalancing":"app.x","defragmentCollection":false}`, ""},

		{"4.4.29 8.0.10", `sh.mergeChunks("app.x", {k: 0}, {k: 9})`, `admin {"mergeChunks":"app.x","bounds":[{"k":0},{"k":9}]}`, ""},
		{"4.4.29 6.0.20", `sh.mergeAllChunks("app.orders")`, ``, "sh.mergeAllChunks needs MongoDB 7.0 or newer; this server is"},
		{"7.0.25 8.3.0", `sh.mergeAllChunks("app.orders")`, `admin {"mergeAllChunksOnShard":"app.orders","shard":"sh0"}` + "\n" + `admin {"mergeAllChunksOnShard":"app.orders","shard":"sh1"}`, ""},
		{"7.0.25", `sh.mergeAllChunks("app.orders", "sh1", {maxTimeProcessingChunksMS: 500})`,
			`admin {"mergeAllChunksOnShard":"app.orders","shard":"sh1","maxTimeProcessingChunksMS":500}`, ""},
		{"4.2.1", `sh.clearJumbo("app.x", {k: 5})`, ``, "sh.clearJumbo needs MongoDB 4.2.3 or newer; this server is 4.2.1"},
		{"4.4.29 8.3.0", `sh.clearJumbo("app.x", {k: 5})`, `admin {"clearJumboFlag":"app.x","find":{"k":5}}`, ""},

		{"4.4.29 8.2.1", `sh.balancerWindow("22:00", "6:30")`, settings("balancer", daily+`}`), ""},
		{"8.3.0", `sh.balancerWindow("22:00", "6:30")`, settings("balancer", daily+`,"$unset":{"activeWindowDOW":1}}`), ""},
		{"4.4.29 8.2.1", `sh.clearBalancerWindow()`, settings("balancer", `{"$unset":{"activeWindow":1}}`), ""},
		{"8.3.0", `sh.clearBalancerWindow()`, settings("balancer", `{"$unset":{"activeWindow":1,"activeWindowDOW":1}}`), ""},
		{"8.0.10", `sh.balancerWindow([{day: "Monday", start: "8:00", stop: "9:00"}])`, ``, "sh.balancerWindow with weekdays needs MongoDB 8.3 or newer; this server is 8.0.10"},
		{"8.3.0", `sh.balancerWindow([{day: "Monday", start: "8:00", stop: "9:00"}])`,
			settings("balancer", `{"$set":{"activeWindowDOW":[{"day":"Monday","start":"08:00","stop":"09:00"}]}}`), ""},

		{"4.4.29 8.3.0", `sh.chunkSize(64)`, settings("chunksize", `{"$set":{"value":64}}`), ""},
		{"5.0.31", `sh.chunkSize("app.orders", 64)`, ``, "sh.chunkSize for one collection needs MongoDB 5.3 or newer"},
		{"8.0.10", `sh.chunkSize("app.orders", 64)`, `admin {"configureCollectionBalancing":"app.orders","chunkSize":64}`, ""},
		{"8.0.10", `sh.chunkSize(db.orders, null)`, `admin {"configureCollectionBalancing":"app.orders","chunkSize":0}`, ""},
	} {
		for version := range strings.FieldsSeq(tc.versions) {
			c := onVersion(t, version, nil)
			out, _ := c.Show(tc.call)
			if failed := strings.Contains(out, "Error"); failed != (tc.fails != "") || !strings.Contains(out, tc.fails) {
				t.Errorf("%s on %s: %s", tc.call, version, out)
			}
			if got := changesOf(c); got != tc.sends {
				t.Errorf("%s on %s sent\n%s\nwant\n%s", tc.call, version, got, tc.sends)
			}
		}
	}
}

// TestVersionIsAskedOnce: one buildInfo for each connection, and none for
// helpers that work everywhere.
func TestVersionIsAskedOnce(t *testing.T) {
	c := shelltest.Connect(t)
	if out, failed := c.Show(`sh.clearJumbo("app.x", {k: 1}); sh.clearJumbo("app.x", {k: 1}); sh.removeShard("sh1").ok`); failed {
		t.Fatal(out)
	}
	want := []string{`admin {"buildInfo":1}`, `admin {"clearJumboFlag":"app.x","find":{"k":1}}`, `admin {"clearJumboFlag":"app.x","find":{"k":1}}`, `admin {"removeShard":"sh1"}`}
	if got := c.TakeCommands(); !slices.Equal(got, want) {
		t.Error(got)
	}
}

// TestChunksAreMatchedByWhatTheServerHas: by uuid since 5.0, by name before
// (rules/04-objects §5.4).
func TestChunksAreMatchedByWhatTheServerHas(t *testing.T) {
	c := shelltest.Connect(t)
	shelltest.Run(t, c, step{`sh.chunks("app.users").map(c => c.shard).toArray().join()`, "sh0,sh1"})
	c.ScriptedServer.Data["config.collections"] = []bson.Raw{shelltest.MustMarshal(shelltest.Doc(field("_id", "app.old"), field("key", shelltest.Doc(field("k", int32(1))))))}
	c.ScriptedServer.Data["config.chunks"] = []bson.Raw{
		shelltest.MustMarshal(shelltest.Doc(field("ns", "app.old"), field("min", shelltest.Doc(field("k", int32(0)))), field("max", shelltest.Doc(field("k", int32(1)))), field("shard", "sh1"))),
		shelltest.MustMarshal(shelltest.Doc(field("ns", "app.other"), field("shard", "sh0"))),
	}
	shelltest.Run(t, c,
		step{`sh.chunks("app.old").map(c => c.shard).toArray().join()`, "sh1"},
		step{`sh.status().databases[0].collections["app.old"].chunkMetadata`, "[ { shard: 'sh1', nChunks: 1 } ]"},
	)
}

// TestWrongArgumentsAreNamed: nothing is sent that the server would have to
// refuse, or worse, would take.
func TestWrongArgumentsAreNamed(t *testing.T) {
	c := shelltest.Connect(t)
	for _, tc := range []struct{ call, want string }{
		{`sh.balancerWindow("24:00", "06:00")`, `Argument start must be a time of day as in "22:30", got '24:00' instead (Shard.balancerWindow)`},
		{`sh.balancerWindow("22:00")`, `Argument stop must be a time of day as in "22:30", got undefined instead`},
		{`sh.balancerWindow("9", "06:00")`, `Argument start must be a time of day`},
		{`sh.balancerWindow("09:00", "9:00")`, `Arguments start and stop are the same time`},
		{`sh.balancerWindow([{day: "monday", start: "8:00", stop: "9:00"}])`, `Argument day must be one of Sunday`},
		{`sh.balancerWindow([{day: "Monday", start: "8:00"}])`, `Argument stop must be a time of day as in "22:30", got undefined instead (window 1 of Shard.balancerWindow)`},
		{`sh.balancerWindow([])`, `Argument start must be a time of day, or a list`},
		{`sh.chunkSize(0)`, `Argument nsOrMB must be a whole number of MB from 1 to 1024, got 0 instead (Shard.chunkSize)`},
		{`sh.chunkSize(1025)`, `from 1 to 1024, got 1025`},
		{`sh.chunkSize(0.5)`, `from 1 to 1024, got 0.5`},
		{`sh.chunkSize(NaN)`, `from 1 to 1024, got NaN`},
		{`sh.chunkSize("app.orders", "64")`, `Argument mb must be a whole number of MB from 1 to 1024, got '64' instead (Shard.chunkSize)`},
		{`sh.defragment("app.x", {chunkSize: 2048})`, `Argument options.chunkSize must be a whole number of MB from 1 to 1024, got 2048 instead (Shard.defragment)`},
		{`sh.defragment("app.x", {chunksize: 1})`, `sh.defragment has no option chunksize (options: all, chunkSize, wait, timeout, interval, progress, keepWaiting, pauseBalancing, forceJumbo, parallel, journal, resume, dryRun, verify, preflight, despite, advisories, maxMoves, maxBytes, for, pauseBetween, window, timeZone, pauseWhen, diskLimit); did you mean chunkSize?`},
		{`sh.drain("sh0", {wait: 1})`, `Argument options.wait must be of type boolean, got number instead (Shard.drain)`},
		{`sh.drain("sh0", {timeout: "x"})`, `Argument options.timeout must be a number of milliseconds, or a time such as "90s" or "1h30m", got "x" instead (Shard.drain)`},
		{`sh.waitForBalance("app.orders", {timeout: -1})`, `Argument options.timeout must be a number of milliseconds, or a time such as "90s" or "1h30m", got -1 instead`},
		{`sh.chunks("app.orders", {limit: 0})`, `Argument options.limit must be a number of chunks, got 0 instead`},
		{`sh.chunks("app.none")`, `Collection app.none is not sharded`},
		{`sh.chunks("app.orders", {zone: "US"})`, `There is no zone US (sh.zones() lists them)`},
		{`sh.drainStatus("sh9")`, `There is no shard sh9`},
		{`sh.status({verbos: true})`, `sh.status has no option verbos (options: verbose, full); did you mean verbose?`},
		{`sh.splitAt(5, {})`, `Argument ns must be of type string, got number instead (Shard.splitAt)`},
		{`sh.splitAt("app.x")`, `Missing required argument middle (Shard.splitAt)`},
	} {
		if got, failed := c.Show(tc.call); !failed || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %s", tc.call, got)
		}
		if sent := changesOf(c); sent != "" {
			t.Errorf("%s sent %s", tc.call, sent)
		}
	}
}
