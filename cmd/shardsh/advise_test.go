package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

const fillOrders = `db.getSiblingDB("shop").orders.insertMany(Array.from({length: 300}, (_, i) => ` +
	`({customer: i % 2 ? i * 7 % 300 : 0, order: String(i * 7919 % 1000) + i}))); ` +
	`db.getSiblingDB("shop").orders.createIndex({customer: 1, order: 1})`

// TestAdvise: of a live cluster, which hears nothing but questions.
func TestAdvise(t *testing.T) {
	l := serve(t, `{"shards": [{"id": "s0"}, {"id": "s1"}, {"id": "s2"}]}`)
	output(t, "--quiet", l.address, "--eval", fillOrders)
	l.mu.Lock()
	l.commands = nil
	l.mu.Unlock()
	text := output(t, "advise", "--quiet", l.address, "--ns", "shop.orders")
	for _, part := range []string{"shard shop.orders by {customer: 1, order: 1}, which is good.\n", "\nKeys\n",
		"by analyzeShardKey"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
	type advice struct {
		Best       struct{ Key map[string]any }
		MB, Chunks int64
	}
	var a advice
	for _, c := range []struct {
		args []string
		is   func() bool
	}{
		{[]string{"--no-analyze", "--query", `{"_id": 1}`}, func() bool { return a.Best.Key["_id"] == "hashed" }},
		{[]string{"--key", `{"customer": 1}`}, func() bool { return a.Best.Key["customer"] == 1.0 && len(a.Best.Key) == 1 }},
		{[]string{"--about", "chunk-size", "--expect", "2GB"}, func() bool { return a.MB == 32 }},
		{[]string{"--about", "presplit", "--expect", "100GB", "--key", `{"_id": "hashed"}`},
			func() bool { return a.Chunks == 24 }},
	} {
		out := output(t, append([]string{"advise", "--quiet", "--json", l.address, "--ns", "shop.orders"}, c.args...)...)
		a = advice{}
		if err := json.Unmarshal([]byte(out), &a); err != nil || !c.is() {
			t.Errorf("%q: %v: %s", c.args, err, out)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	harmless := []string{"hello", "isMaster", "ismaster", "ping", "buildInfo", "find", "aggregate", "listIndexes",
		"getMore",
		"endSessions", "killCursors", "balancerStatus", "getParameter", "connPoolStats", "analyzeShardKey"}
	for _, name := range l.commands {
		if !slices.Contains(harmless, name) {
			t.Errorf("%s was sent", name)
		}
	}
}

func TestAdviseLine(t *testing.T) {
	for name, c := range map[string]struct {
		args   []string
		code   int
		stderr string
	}{
		"no collection":    {nil, exitUsage, "--ns DB.COLLECTION is required"},
		"no namespace":     {[]string{"--ns", "orders"}, exitUsage, "--ns takes DB.COLLECTION"},
		"none there":       {[]string{"--ns", "shop.orders"}, exitFailure, "shop.orders"},
		"a file":           {[]string{"--ns", "shop.orders", "--from", "c.snap"}, exitUsage, "--from"},
		"another question": {[]string{"--ns", "shop.orders", "--about", "zones"}, exitUsage, "--about takes key"},
		"no key":           {[]string{"--ns", "shop.orders", "--key", "{"}, exitUsage, "not valid extended JSON"},
		"no shard key":     {[]string{"--ns", "shop.orders", "--key", `{"a": -1}`}, exitUsage, "must be 1 or"},
		"no query":         {[]string{"--ns", "shop.orders", "--query", "a"}, exitUsage, "not valid extended JSON"},
		"no size":          {[]string{"--ns", "shop.orders", "--expect", "lots"}, exitUsage, "--expect takes a size"},
		"a key for the size": {[]string{"--ns", "a.b", "--about", "chunk-size", "--key", `{"a": 1}`}, exitUsage, "--about " +
			"chunk-size"},
		"cut by what":         {[]string{"--ns", "shop.new", "--about", "presplit"}, exitUsage, "name a shard key with --key"},
		"an unknown format":   {[]string{"--ns", "shop.orders", "--output", "xml"}, exitUsage, "--output takes text, json"},
		"a query for a split": {[]string{"--ns", "a.b", "--about", "presplit", "--query", "{}"}, exitUsage, "--query is for"},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"advise", "--mock"}
			if slices.Contains(c.args, "--from") {
				args = args[:1]
			}
			code, stdout, stderr := runProgram(t, "", append(args, c.args...)...)
			if code != c.code || stdout != "" || !strings.Contains(stderr, c.stderr) {
				t.Errorf("exit code %d, output %q, errors %q", code, stdout, stderr)
			}
		})
	}
}
