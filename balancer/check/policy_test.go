package check_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
	"shardsh/balancer/check"
	"shardsh/balancer/diagnosis"
)

func TestQuantities(t *testing.T) {
	all := []diagnosis.Unit{diagnosis.Count, check.Percent, diagnosis.Bytes, diagnosis.Seconds}
	for text, want := range map[string]check.Quantity{
		"0": {}, "17": {Value: 17}, "20%": {Value: 20, Unit: check.Percent}, "0.5 %": {Value: 0.5, Unit: check.Percent},
		"10GiB": {Value: 10 * gib, Unit: diagnosis.Bytes}, "1MB": {Value: 1e6, Unit: diagnosis.Bytes},
		"24h": {Value: 86400, Unit: diagnosis.Seconds}, "7d": {Value: 7 * 86400, Unit: diagnosis.Seconds},
		"1m30s": {Value: 90, Unit: diagnosis.Seconds}, " 5 ": {Value: 5},
	} {
		if got, err := check.ParseQuantity(text, all...); got != want || err != nil {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "-1", "x", "NaN", "NaN%", "-3%", "-2h", "Infd", "1e400%", "GiB", "5 apples", "1.5"} {
		if got, err := check.ParseQuantity(text, all...); err == nil {
			t.Errorf("%q is %+v", text, got)
		}
	}
	for want, q := range map[string]check.Quantity{
		"17": {Value: 17}, "20%": {Value: 20, Unit: check.Percent}, "33.3%": {Value: 100. / 3, Unit: check.Percent},
		"1.5 GiB": {Value: 3 * gib / 2, Unit: diagnosis.Bytes}, "12 B": {Value: 12, Unit: diagnosis.Bytes},
		"2d": {Value: 2 * 86400, Unit: diagnosis.Seconds}, "1h30m": {Value: 5400, Unit: diagnosis.Seconds},
		"0s": {Unit: diagnosis.Seconds},
	} {
		if got := q.String(); got != want {
			t.Errorf("%+v is %q, want %q", q, got, want)
		}
	}
}

// TestPatterns compares with a matcher that tries everything.
func TestPatterns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.SampledFrom([]rune("ab.*?é"))
		pattern := string(rapid.SliceOfN(letters, 0, 6).Draw(t, "pattern"))
		ns := string(rapid.SliceOfN(letters, 0, 6).Draw(t, "ns"))
		got := check.Patterns{Include: []string{pattern}}.Match(ns)
		if want := matches([]rune(pattern), []rune(ns)); got != want {
			t.Fatalf("%q matches %q: %v, want %v", pattern, ns, got, want)
		}
	})
	p := check.Patterns{Include: []string{"shop.*", "crm.people", "iot.t?"}, Exclude: []string{"*.tmp_?"}}
	for ns, want := range map[string]bool{
		"shop.orders": true, "shop.a/b.c": true, "crm.people": true, "crm.peoples": false, "x.y": false, "shop.tmp_1": false,
		"iot.system.buckets.ts": true, "iot.system.buckets.x": false, "shop.system.buckets.tmp_1": false,
	} {
		if p.Match(ns) != want {
			t.Errorf("%s: %v", ns, !want)
		}
	}
}

func matches(pattern, text []rune) bool {
	switch {
	case len(pattern) == 0:
		return len(text) == 0
	case pattern[0] == '*':
		return matches(pattern[1:], text) || len(text) > 0 && matches(pattern, text[1:])
	}
	return len(text) > 0 && (pattern[0] == '?' || pattern[0] == text[0]) && matches(pattern[1:], text[1:])
}

// TestNeeds: a policy needs what its rules need and nothing else.
func TestNeeds(t *testing.T) {
	for words, want := range map[string]check.Need{
		"compliant": check.BalanceStatuses, "jumbo": check.ChunkCounts, "shards,moves": check.Reachability | check.MigrationOutcomes,
		"collections": 0, "window": check.Tables,
	} {
		p := check.Default()
		if err := p.EnableOnly(strings.Split(words, ",")); err != nil {
			t.Fatal(err)
		}
		if got := p.Needs(); got != want {
			t.Errorf("%s: %b, want %b", words, got, want)
		}
	}
	if check.Default().Needs().Has(check.Tables) || check.Default().Needs().Has(check.Metadata) ||
		check.Default().Needs().Has(check.Sizes) {
		t.Error("the usual rules need more than an overview")
	}
}

func TestUnknownNames(t *testing.T) {
	p := check.Default()
	_, severity := check.ParseSeverity("fatal")
	for _, err := range []error{p.EnableOnly([]string{"jumbos"}), p.SetAllow([]string{"moving"}), severity} {
		var unknown *check.UnknownError
		if !errors.As(err, &unknown) || len(unknown.Known) == 0 {
			t.Errorf("error %v", err)
		}
	}
	for rule, limit := range map[string]string{"compliant": "1", "jumbo": "20%", "uneven": "5", "balancer": "5"} {
		c, err := p.Choice(rule)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.SetMax(limit); err == nil || !strings.Contains(err.Error(), rule) {
			t.Errorf("%s=%s: error %v", rule, limit, err)
		}
	}
}

// TestBaseline: what was so before is excused unless it got worse.
func TestBaseline(t *testing.T) {
	jumbo := func(n int64) func(*catalog.CollectionState) {
		return func(c *catalog.CollectionState) { c.Counts["a"] = catalog.ChunkCount{Chunks: 9, Jumbo: n} }
	}
	uneven := violates("chunksImbalance")
	before := newCluster(coll("x.y", jumbo(3), uneven), coll("x.z"))
	before.ClusterID[0] = 1
	text, err := json.Marshal(before.report(check.Default()))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		now  *cluster
		id   byte
		want string
	}{
		"the same": {newCluster(coll("x.y", jumbo(3), uneven)), 1,
			"passed; warning x.y (as in the baseline); warning x.y 3 (as in the baseline)"},
		"better":         {newCluster(coll("x.y", jumbo(2))), 1, "passed; warning x.y 2 (as in the baseline)"},
		"more of it":     {newCluster(coll("x.y", jumbo(4))), 1, "failed; warning x.y 4"},
		"of another":     {newCluster(coll("x.z", jumbo(3))), 1, "failed; warning x.z 3"},
		"something else": {newCluster(coll("x.z", uneven)), 1, "failed; warning x.z"},
		"another id":     {newCluster(coll("x.y", jumbo(3))), 2, "failed; warning x.y 3"},
	} {
		for _, form := range []string{string(text), "[" + string(text) + "]"} {
			p := check.Default()
			if p.Baseline, err = check.ParseBaseline([]byte(form)); err != nil {
				t.Fatal(err)
			}
			c.now.ClusterID[0] = c.id
			if got := shownAs(c.now.report(p)); got != c.want {
				t.Errorf("%s: %s\nwant %s", name, got, c.want)
			}
		}
	}
	// What could not be decided then was not found then.
	undecided := newCluster(coll("x.y", bytesOn(9*gib, gib), func(c *catalog.CollectionState) { c.ReportedStatus = nil }))
	undecided.ClusterID[0] = 1
	unknown, err := json.Marshal(undecided.report(check.Default()))
	if err != nil || !strings.Contains(string(unknown), `"unknown":true`) {
		t.Fatal(string(unknown), err)
	}
	p := check.Default()
	if p.Baseline, err = check.ParseBaseline(unknown); err != nil {
		t.Fatal(err)
	}
	undecided.Collections = []*catalog.CollectionState{coll("x.y", uneven)}
	if got := shownAs(undecided.report(p)); got != "failed; warning x.y" {
		t.Errorf("unknown before: %s, with %s", got, unknown)
	}
	// What is graver now is worse.
	p = check.Default()
	if p.Baseline, err = check.ParseBaseline(text); err != nil {
		t.Fatal(err)
	}
	p.Choices[4].Severity = diagnosis.Critical
	if got := before.report(p); p.Choices[4].Name != "compliant" || got.Status() != check.Failed {
		t.Errorf("%s", shownAs(got))
	}
	for _, text := range []string{"", "{}", "[{}]", "null", "[]", `{"address": 5}`, "5", "[1]"} {
		if _, err := check.ParseBaseline([]byte(text)); err == nil {
			t.Errorf("%q is a baseline", text)
		}
	}
}

// TestWorst: findings count more than what could not be asked.
func TestWorst(t *testing.T) {
	fine := newCluster().report(check.Default())
	bad := newCluster(coll("x.y", violates("draining"))).report(check.Default())
	var silent check.Report
	for want, list := range map[check.Status][]check.Report{
		check.Passed: {fine, fine}, check.Failed: {fine, silent, bad, silent}, check.Unknown: {fine, silent},
	} {
		if got := check.WorstStatus(list); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
