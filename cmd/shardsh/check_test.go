package main

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	path := writeFile(t, "topology.json", unbalanced)
	uneven := writeFile(t, "uneven.json", strings.ReplaceAll(unbalanced, `"noBalance": true, `, ""))
	for name, c := range map[string]struct {
		args   []string
		code   int
		stdout string
	}{
		"switched off on purpose": {[]string{"--mock=" + path}, 0,
			"shop.odd   NOT balanced: chunksImbalance (balancing is disabled)\nshop.even  balanced\nOK\n"},
		"not balanced": {[]string{"--mock=" + uneven}, 3,
			"shop.odd   NOT balanced: chunksImbalance\nshop.even  balanced\n" +
				"FAILED: shop.odd is not balanced (chunksImbalance)\n"},
		"quiet": {[]string{"--quiet", "--mock=" + uneven}, 3,
			"shop.odd  NOT balanced: chunksImbalance\nFAILED: shop.odd is not balanced (chunksImbalance)\n"},
		"one collection":            {[]string{"--ns", "*.even", "--mock=" + uneven}, 0, "shop.even  balanced\nOK\n"},
		"all but one":               {[]string{"--exclude", "shop.o?d", "--mock=" + uneven}, 0, "shop.even  balanced\nOK\n"},
		"no collection of the name": {[]string{"--mock=" + uneven, "--ns", "shop.evn"}, 2, ""},
		"nor of the pattern":        {[]string{"--mock=" + uneven, "--ns", "shop.even", "--ns", "crm.*"}, 2, ""},
		"none, which is allowed": {[]string{"--mock=" + uneven, "--ns", "shop.evn", "--allow-missing", "--quiet"}, 1,
			"unknown   shop.evn is not a sharded collection of this cluster (collections)\n" +
				"UNKNOWN: no findings, but these could not be checked: collections\n"},
		"all there, which is not required": {[]string{"--mock=" + uneven, "--ns", "shop.even", "--allow-missing"}, 0,
			"shop.even  balanced\nOK\n"},
		"none, and a must": {[]string{"--mock=" + uneven, "--ns", "shop.evn", "--require-collections", "--quiet"}, 3,
			"critical  shop.evn is not a sharded collection of this cluster (collections)\n" +
				"FAILED: shop.evn is not a sharded collection of this cluster\n"},
		"nothing sharded":    {[]string{"--mock"}, 0, "no sharded collections\nOK\n"},
		"nothing, and quiet": {[]string{"--mock", "--quiet"}, 0, ""},
		"collections a must": {[]string{"--mock", "--require-collections", "--quiet"}, 3,
			"critical  there is no sharded collection to check (collections)\n" +
				"FAILED: there is no sharded collection to check\n"},
		"milder than fails": {[]string{"--mock=" + uneven, "--fail-on", "critical", "--quiet"}, 0,
			"shop.odd  NOT balanced: chunksImbalance\n"},
		"graver than usual": {[]string{"--mock=" + uneven, "--fail-on", "critical", "--severity", "compliant=critical",
			"--quiet"}, 3,
			"shop.odd  NOT balanced: chunksImbalance\nFAILED: shop.odd is not balanced (chunksImbalance)\n"},
		"another rule":        {[]string{"--mock=" + uneven, "--rules", "jumbo"}, 0, "OK\n"},
		"no address":          {nil, 2, ""},
		"an empty address":    {[]string{""}, 2, ""},
		"an empty one of two": {[]string{"127.0.0.1:1", ""}, 2, ""},
		"an empty host":       {[]string{"--host", ""}, 2, ""},
		"an unknown option":   {[]string{"--nope"}, 2, ""},
		"waiting for a file":  {[]string{"--from", "x.snap", "--wait", "1m"}, 2, ""},
		"how often, no wait":  {[]string{"--mock", "--every", "1m"}, 2, ""},
		"an unknown rule":     {[]string{"--mock", "--rules", "jumbos"}, 2, ""},
		"a threshold of none": {[]string{"--mock", "--max", "compliant=3"}, 2, ""},
		"an unknown format":   {[]string{"--mock", "--output", "yaml"}, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := runProgram(t, "", append([]string{"check"}, c.args...)...)
			if code != c.code || stdout != c.stdout {
				t.Errorf("exit code %d, stdout %q; want %d, %q\n%s", code, stdout, c.code, c.stdout, stderr)
			}
			if (code == exitUsage) != (strings.HasSuffix(stderr, "See shardsh check --help.\n") ||
				strings.Contains(stderr, "of this cluster")) {
				t.Errorf("errors %q", stderr)
			}
		})
	}
}

// Scripts of the first version find what they read.
func TestCheckJSON(t *testing.T) {
	path := writeFile(t, "topology.json", unbalanced)
	code, stdout, stderr := runProgram(t, "", "check", "--json", "--mock="+path)
	var doc struct {
		Compliant   bool
		Collections []map[string]any
	}
	if err := json.Unmarshal([]byte(stdout), &doc); code != 0 || err != nil || stderr != "" {
		t.Fatalf("exit code %d, %v: %s%s", code, err, stdout, stderr)
	}
	want := []map[string]any{
		{"ns": "shop.even", "compliant": true, "chunkSizeMB": 128.0},
		{"ns": "shop.odd", "compliant": false, "violation": "chunksImbalance", "chunkSizeMB": 128.0,
			"balancingDisabled": true},
	}
	for _, c := range doc.Collections {
		for name := range c {
			if _, old := want[1][name]; !old {
				delete(c, name)
			}
		}
	}
	if doc.Compliant || !reflect.DeepEqual(doc.Collections, want) {
		t.Errorf("compliant %v, collections %v", doc.Compliant, doc.Collections)
	}
}

// A cluster that can't be asked has a document, too.
func TestCheckCannotAsk(t *testing.T) {
	for _, args := range [][]string{{"127.0.0.1:1"}, {"mongodb://joe:secret@127.0.0.1:1/"}} {
		code, stdout, _ := runProgram(t, "", append([]string{"check", "--json"}, args...)...)
		var doc struct {
			OK     bool
			Status string
			Error  struct{ Name, Message string }
		}
		err := json.Unmarshal([]byte(stdout), &doc)
		if code != exitFailure || err != nil || doc.OK || doc.Status != "unknown" || strings.Contains(stdout, "secret") ||
			doc.Error.Name != "MongoServerSelectionError" || !strings.Contains(doc.Error.Message, "127.0.0.1:1") {
			t.Errorf("exit code %d, %v: %s", code, err, stdout)
		}
	}
}

// An empty address is most likely a variable that nobody has set.
func TestEmptyAddress(t *testing.T) {
	for _, args := range [][]string{
		{""}, {"--eval", "1", ""}, {"--host", ""}, {"--host=", "--eval", "1"}, {"why", ""},
		{"snapshot", "", "-o", "/nowhere/x"},
		{"check", ""}, {"check", "--host", ""}, {"--mock", ""},
	} {
		code, stdout, stderr := runProgram(t, "", args...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, "is empty") {
			t.Errorf("%q: exit code %d, %q, errors %q", args, code, stdout, stderr)
		}
	}
}
