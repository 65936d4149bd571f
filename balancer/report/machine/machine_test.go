package machine_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/check"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/report/machine"
)

// hostile is a name with all that ends a word, a line, an attribute, a label, a
// command or a performance figure somewhere, or steers a terminal.
const hostile = "x.a\"b'<c>&d|e%f,g:h::i=j{k}\\l\nm\r\tn\x00\x1b[31m\u0085\u202e\u2028\xff]]>é"

// reports are of a cluster with findings of all kinds, one that is well, and one
// that can't be asked, with such names in all places.
func reports(t *testing.T, name string) []check.Report {
	t.Helper()
	coll := func(ns string, compliant bool) *catalog.CollectionState {
		return &catalog.CollectionState{
			Collection:     catalog.Collection{Namespace: ns, AllowMigrations: true, PermitMigrations: true, NoBalance: !compliant},
			Counts:         map[catalog.ShardID]catalog.ChunkCount{"a": {Chunks: 2}, catalog.ShardID(name): {Chunks: 3, Jumbo: 1}},
			Sizes:          map[catalog.ShardID]catalog.ShardData{"a": {Bytes: 9 << 30, Orphans: 5}},
			ReportedStatus: &catalog.ReportedStatus{Compliant: compliant, Violation: name},
		}
	}
	parts := func(colls ...*catalog.CollectionState) catalog.SnapshotParts {
		p := catalog.SnapshotParts{Time: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), Collections: colls,
			Settings: catalog.DefaultSettings(), Version: "8.0.23", Release: catalog.Release80, Outcomes: &catalog.MigrationOutcomes{}}
		p.Balancer.Mode = catalog.ModeFull
		for _, id := range []string{"a", name} {
			p.Shards = append(p.Shards, catalog.ShardState{Shard: catalog.Shard{ID: catalog.ShardID(id), Host: "rs/h"}})
		}
		return p
	}
	bad := parts(coll(name, false), coll("x.y", true))
	bad.Shards[1].Unreachable = "no answer: " + name
	bad.Source.Gaps = []catalog.Gap{{What: "mongos", Reason: name}}
	p := check.Default()
	if err := p.EnableOnly([]string{"all"}); err != nil {
		t.Fatal(err)
	}
	well := parts()
	return []check.Report{
		p.Check(name, check.Cluster{Diagnosis: diagnosis.Diagnose(catalog.NewSnapshot(bad)), MetadataUnsupported: "it is a test"}),
		p.Check("well", check.Cluster{Diagnosis: diagnosis.Diagnose(catalog.NewSnapshot(well))}),
		{Address: "silent" + name, Failure: check.ReadFailure{Name: name, Message: "can't reach " + name}},
	}
}

func write(t *testing.T, face func(io.Writer, []check.Report) error, list []check.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := face(&b, list); err != nil {
		t.Fatal(err)
	}
	for _, r := range b.String() {
		if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f || r == 0x202e || r == 0x2028 {
			t.Errorf("%q has %U", b.String(), r)
		}
	}
	return b.String()
}

// element is what the schema of Jenkins (junit-10.xsd of its xUnit plugin) lets an
// element have: children, attributes, and those of these that have to be there.
type element struct{ children, attributes, required []string }

func words(text string) []string { return strings.Fields(text) }

var schema = map[string]element{
	"testsuites": {words("testsuite"), words("name time tests failures errors"), nil},
	"testsuite": {words("testsuite properties testcase system-out system-err"),
		words("name tests failures errors group time skipped timestamp hostname id package file log url"),
		words("name tests failures errors")},
	"properties": {words("property"), nil, nil},
	"property":   {nil, words("name value"), words("name value")},
	"testcase": {words("skipped error failure system-out system-err"), words("name time classname group"),
		words("name")},
	"skipped": {nil, words("type message"), nil}, "error": {nil, words("type message"), nil},
	"failure": {nil, words("type message"), nil}, "system-out": {}, "system-err": {},
}

// TestJUnit: what is written is as the schema has it, and its sums are right.
func TestJUnit(t *testing.T) {
	for _, name := range []string{"x.z", hostile} {
		list := reports(t, name)
		text := write(t, machine.WriteJUnit, list)
		decoder := xml.NewDecoder(strings.NewReader(text))
		var within []string
		seen := map[string]int{}
		for {
			token, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v in %s", err, text)
			}
			switch of := token.(type) {
			case xml.StartElement:
				seen[of.Name.Local]++
				fits(t, within, of)
				within = append(within, of.Name.Local)
			case xml.EndElement:
				within = within[:len(within)-1]
			}
		}
		var doc struct{ Tests, Failures, Errors int }
		sums := regexp.MustCompile(`<testsuites name="[^"]*" tests="(\d+)" failures="(\d+)" errors="(\d+)">`)
		if found := sums.FindStringSubmatch(text); found != nil {
			_, err := fmt.Sscan(strings.Join(found[1:], " "), &doc.Tests, &doc.Failures, &doc.Errors)
			if err != nil {
				t.Error(err)
			}
		}
		// Of 19 rules of the first cluster a shard is down, x.y has a jumbo chunk, and the
		// routers are not known; metadata is skipped. The last cluster is an error.
		if doc.Tests != seen["testcase"] || doc.Tests != 39 || doc.Failures != seen["failure"] || doc.Failures != 2 ||
			doc.Errors != seen["error"] || doc.Errors != 2 || seen["skipped"] != 1 {
			t.Errorf("%+v, %v in %s", doc, seen, text)
		}
	}
}

func fits(t *testing.T, within []string, of xml.StartElement) {
	t.Helper()
	is, known := schema[of.Name.Local]
	parent := "(none)"
	if len(within) > 0 {
		parent = within[len(within)-1]
	}
	if !known || len(within) > 0 && !slices.Contains(schema[parent].children, of.Name.Local) {
		t.Errorf("%s in %s", of.Name.Local, parent)
	}
	var has []string
	for _, a := range of.Attr {
		if has = append(has, a.Name.Local); !slices.Contains(is.attributes, a.Name.Local) {
			t.Errorf("%s has %s", of.Name.Local, a.Name.Local)
		}
	}
	for _, name := range is.required {
		if !slices.Contains(has, name) {
			t.Errorf("%s has no %s", of.Name.Local, name)
		}
	}
}

// The text format of Prometheus, version 0.0.4: a line of help, one of the type,
// then all samples of the metric.
var (
	helpLine   = regexp.MustCompile(`^# HELP ([a-z_]+) [^\n\\]+$`)
	typeLine   = regexp.MustCompile(`^# TYPE ([a-z_]+) gauge$`)
	label      = `[a-zA-Z_][a-zA-Z0-9_]*="((?:[^"\\\n]|\\\\|\\n|\\")*)"`
	sampleLine = regexp.MustCompile(`^([a-z_]+)\{(` + label + `(?:,` + label + `)*)\} (\S+)$`)
)

func TestPrometheus(t *testing.T) {
	for _, name := range []string{"x.z", hostile} {
		text := write(t, machine.WritePrometheus, reports(t, name))
		if !strings.HasSuffix(text, "\n") {
			t.Error("the last line has no end")
		}
		helped, typed, samples := map[string]bool{}, "", map[string]bool{}
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			switch help, kind, sample := helpLine.FindStringSubmatch(line), typeLine.FindStringSubmatch(line),
				sampleLine.FindStringSubmatch(line); {
			case help != nil:
				if helped[help[1]] {
					t.Errorf("%s comes twice", help[1])
				}
				helped[help[1]] = true
			case kind != nil:
				if typed = kind[1]; !helped[typed] {
					t.Errorf("%s has no help", typed)
				}
			case sample != nil:
				_, err := strconv.ParseFloat(sample[len(sample)-1], 64)
				if err != nil || sample[1] != typed || samples[sample[1]+sample[2]] {
					t.Errorf("%q within %s: %v, or twice", line, typed, err)
				}
				samples[sample[1]+sample[2]] = true
			default:
				t.Errorf("no line of the format: %q", line)
			}
		}
	}
	text := write(t, machine.WritePrometheus, reports(t, "x.z"))
	for _, want := range []string{
		`shardsh_check_up{cluster="x.z"} 1`, `shardsh_check_up{cluster="silentx.z"} 0`, `shardsh_check_ok{cluster="well"} 1`,
		`shardsh_check_rule_findings{cluster="x.z",rule="shards",severity="critical"} 1`,
		`shardsh_check_rule_status{cluster="x.z",rule="versions",status="unknown"} 1`,
		`shardsh_collection_bytes{cluster="x.z",ns="x.y",shard="a"} 9.663676416e+09`,
		`shardsh_collection_orphan_documents{cluster="x.z",ns="x.z",shard="a"} 5`,
		`shardsh_collection_balancing{cluster="x.z",ns="x.z"} 0`, `shardsh_shard_up{cluster="x.z",shard="x.z"} 0`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

// TestGitHub takes the lines apart as the runner does: title up to the next colons,
// then the text, with %25, %0D, %0A, in titles also %3A and %2C, for what they stand for.
func TestGitHub(t *testing.T) {
	annotation := regexp.MustCompile(`^::(error|warning|notice) title=([^,:]+)::(.+)$`)
	back := strings.NewReplacer("%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",", "%25", "%")
	for _, name := range []string{"x.z", hostile} {
		text := write(t, machine.WriteGitHub, reports(t, name))
		kinds := map[string]int{}
		titles := ""
		for line := range strings.Lines(text) {
			found := annotation.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
			if found == nil {
				t.Fatalf("no annotation: %q", line)
			}
			kinds[found[1]]++
			titles += back.Replace(found[2]) + "\n"
			if rest := regexp.MustCompile(`%(25|0A|0D)`).ReplaceAllString(found[3], ""); strings.Contains(rest, "%") {
				t.Errorf("a bare percent sign: %q", line)
			}
		}
		// Errors: a shard is down, x.y is jumbo, a cluster is silent. Notices: x.z is switched off, jumbo
		// and not balanced, metadata. Warning: the routers.
		if want := map[string]int{"error": 3, "warning": 1, "notice": 3}; fmt.Sprint(kinds) != fmt.Sprint(want) {
			t.Errorf("%v, want %v: %s", kinds, want, text)
		}
		if name == hostile && (!strings.Contains(titles, `e%f,g:h::i=j{k}`) || !strings.Contains(titles, "check shards: ")) {
			t.Errorf("titles %q", titles)
		}
	}
}

// TestNagios: the first line is TEXT | PERFDATA, each figure label=value;warn;crit;min.
func TestNagios(t *testing.T) {
	figure := regexp.MustCompile(`^[a-z]+=\d+;\d*;\d*;0$`)
	for _, name := range []string{"x.z", hostile} {
		list := reports(t, name)
		for want, of := range map[machine.ServiceState][]check.Report{
			machine.NagiosOK: list[1:2], machine.NagiosCritical: list, machine.NagiosUnknown: list[1:],
		} {
			text := write(t, machine.WriteNagios, of)
			first, rest, _ := strings.Cut(text, "\n")
			status, figures, ok := strings.Cut(first, " | ")
			if got := machine.NagiosState(of); got != want || !ok ||
				!strings.HasPrefix(status, "SHARDSH "+want.String()+" - ") {
				t.Errorf("%s, want %s: %q", got, want, first)
			}
			for _, f := range strings.Fields(figures) {
				if !figure.MatchString(f) {
					t.Errorf("performance data %q", f)
				}
			}
			if strings.Contains(rest, "|") || strings.Count(first, "|") != 1 {
				t.Errorf("more performance data than meant: %q", text)
			}
		}
	}
	harmless, bad := reports(t, "x.z")[:1], reports(t, "x.z")[:1]
	for i := range harmless[0].Result.Findings {
		harmless[0].Result.Findings[i].Severity = diagnosis.Info
	}
	text := write(t, machine.WriteNagios, slices.Concat(harmless, bad))
	if first, _, _ := strings.Cut(text, "\n"); !strings.Contains(first, "the first: x.z: critical: ") {
		t.Errorf("a finding that does not fail comes first: %q", first)
	}
	mild := reports(t, "x.z")[:1]
	for i := range mild[0].Result.Findings {
		mild[0].Result.Findings[i].Severity = diagnosis.Warning
	}
	if got := machine.NagiosState(mild); got != machine.NagiosWarning {
		t.Errorf("warnings alone are %s", got)
	}
}
