package main

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// facesOf is a cluster whose numbers are all different, in MiB, so that none is
// taken for another: s0 drains, s1 has a jumbo chunk.
const facesOf = `{
	"shards": [{"id": "s0", "draining": true}, {"id": "s1"}, {"id": "s2"}],
	"databases": [{"name": "shop", "primary": "s1"}], "settings": {"balancer": {"stopped": true}},
	"collections": [{"ns": "shop.orders", "key": {"x": 1}, "chunks": [
		{"shard": "s0", "bytes": 104857600, "docs": 102400, "max": {"x": 100}},
		{"shard": "s1", "bytes": 734003200, "docs": 716800, "max": {"x": 200}, "jumbo": true},
		{"shard": "s1", "bytes": 104857600, "docs": 102400, "max": {"x": 300}},
		{"shard": "s2", "bytes": 52428800, "docs": 51200}]}]}`

// held is what a face says a shard has.
type held struct{ bytes, chunks string }

// The seven faces of one snapshot tell the same: the helper, the subcommand, the
// JSON, JUnit and Prometheus of the check, the page and the watch.
func TestSevenFaces(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cluster.snap")
	ask := func(want int, args ...string) string {
		t.Helper()
		code, stdout, stderr := runProgram(t, "", append(args, "--quiet")...)
		if code != want {
			t.Fatalf("%s: exit code %d, %s", args, code, stderr)
		}
		return stdout
	}
	ask(0, "snapshot", "--mock="+writeFile(t, "topology.json", facesOf), "-o", file)
	truth := map[string]held{"s0": {"104857600", "1"}, "s1": {"838860800", "2"}, "s2": {"52428800", "1"}}
	inWords := map[string]held{"s0": {"100 MiB", "1"}, "s1": {"800 MiB", "2"}, "s2": {"50 MiB", "1"}}

	const jumbo, drain = "shop.orders has 1 jumbo chunk", "shard s0 is draining, 1 chunk left"
	why := ask(0, "why", "--from", file, "--ns", "shop.orders")
	page := ask(0, "report", "--from", file, "--quick", "-o", "-")
	watch := ask(0, "watch", "--from", file, "--once")
	check := ask(3, "check", "--from", file, "--json")
	for name, tt := range map[string]struct {
		got    map[string]held
		want   map[string]held
		text   string
		phrase []string
	}{
		"helper": {heldInJSON(t, ask(0, "--snapshot", file, "--json=relaxed", "--eval", "sh.balancerSummary()"), "shard"), truth,
			ask(0, "--snapshot", file, "--eval",
				`const a = sh.why("shop.orders"); a.symptoms.concat(a.causes).map(f => f.sentence).join("\n")`),
			[]string{jumbo, drain}},
		"subcommand": {heldIn(`(?m)^  (s\d) +(\S+ \S+) +(\d+) chunk`, why), inWords, why, []string{jumbo, drain}},
		"JSON":       {heldInJSON(t, check, "shard"), truth, check, []string{jumbo}},
		"Prometheus": {heldInMetrics(ask(3, "check", "--from", file, "--output", "prometheus")), truth, "", nil},
		"page": {heldIn(
			`(?s)</i>(s\d)<td class="n" data-v="(\d+)">[^<]*<td><svg.*?</svg><td[^>]*>[^<]*<td[^>]*>[^<]*<td class="n" data-v="(\d+)">`,
			page), truth, page, []string{jumbo, drain}},
		"watch":        {heldIn(`(?m)^  (s\d) .* (\d+ \S+) +(\d+) chunk`, watch), inWords, watch, []string{jumbo, drain}},
		"watch's JSON": {heldInJSON(t, ask(0, "watch", "--from", file, "--once", "--json"), "id"), truth, "", nil},
	} {
		if !maps.Equal(tt.got, tt.want) {
			t.Errorf("%s: shards have %v, want %v", name, tt.got, tt.want)
		}
		for _, phrase := range tt.phrase {
			if !strings.Contains(tt.text, phrase) {
				t.Errorf("%s does not say %q:\n%s", name, phrase, tt.text)
			}
		}
	}
	if json, junit := failingInJSON(t, check), failingInJUnit(t, ask(3, "check", "--from", file, "--output", "junit")); len(
		json) == 0 || !slices.Equal(json, junit) {
		t.Errorf("JSON has the failures\n%q\nJUnit\n%q", json, junit)
	}
}

// heldIn reads shard, bytes and chunks by the groups of a pattern.
func heldIn(pattern, text string) map[string]held {
	got := map[string]held{}
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		got[m[1]] = held{m[2], m[3]}
	}
	return got
}

func heldInMetrics(text string) map[string]held {
	got := map[string]held{}
	for _, m := range regexp.MustCompile(
		`(?m)^shardsh_collection_(bytes|chunks)\{.*ns="shop.orders",shard="(s\d)"\} (\S+)$`).FindAllStringSubmatch(text, -1) {
		h := got[m[2]]
		var number float64
		_, _ = fmt.Sscan(m[3], &number)
		if plain := fmt.Sprintf("%.0f", number); m[1] == "bytes" {
			h.bytes = plain
		} else {
			h.chunks = plain
		}
		got[m[2]] = h
	}
	return got
}

// heldInJSON reads the list of shards, whose ids are in the field id.
func heldInJSON(t *testing.T, text, id string) map[string]held {
	t.Helper()
	var doc struct{ Shards []map[string]any }
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&doc); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	got := map[string]held{}
	for _, shard := range doc.Shards {
		got[fmt.Sprint(shard[id])] = held{fmt.Sprint(shard["bytes"]), fmt.Sprint(shard["chunks"])}
	}
	return got
}

// failingInJSON lists the sentences of what fails.
func failingInJSON(t *testing.T, text string) (list []string) {
	t.Helper()
	var doc struct {
		Findings []struct {
			Fails    bool
			Sentence string
		}
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	for _, f := range doc.Findings {
		if f.Fails {
			list = append(list, f.Sentence)
		}
	}
	slices.Sort(list)
	return list
}

func failingInJUnit(t *testing.T, text string) (list []string) {
	t.Helper()
	var doc struct {
		Suites []struct {
			Cases []struct {
				Failure *struct {
					Message string `xml:"message,attr"`
				} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	for _, c := range doc.Suites[0].Cases {
		if c.Failure != nil {
			list = append(list, c.Failure.Message)
		}
	}
	slices.Sort(list)
	return list
}
