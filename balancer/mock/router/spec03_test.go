package router_test

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/router/routertest"
	"shardsh/balancer/mongoerr"
)

// specCase is one line of testdata/spec03-*.jsonl: on the state S0 of rules/03-helpers-examples-traps
// §7, a command and what it must answer. A refused command changes nothing, and nor does one that says
// so.
type specCase struct {
	ID      string `bson:"id"`
	Why     string `bson:"why"`     // the rule, where the id does not name an example
	Release string `bson:"release"` // 8.0 when empty; with a compatibility version behind a slash
	// Releases are several in place of one.
	Releases []string `bson:"releases"`
	// Topology replaces S0's, with nothing else of S0.
	Topology bson.Raw   `bson:"topology"`
	Prepare  []specStep `bson:"prepare"`
	Step     specStep   `bson:",inline"`
	Nothing  bool       `bson:"nothing"` // it succeeds and changes nothing
	Raises   bool       `bson:"raises"`  // it is refused, when it has raised versions of chunks
	Then     []specStep `bson:"then"`
	Broken   bool       `bson:"broken"` // it breaks the cluster's invariants by hand
}

// specStep is one of: a command, a look at documents of config or at the chunks
// of a collection, or time that goes by.
type specStep struct {
	On   string   `bson:"on"` // the database; admin when empty
	Run  bson.Raw `bson:"run"`
	Want bson.Raw `bson:"want"` // the whole reply but for the gossip fields; see wanted.match
	// Code is the failure's: a number, or "none" for one without a code.
	Code    bson.RawValue `bson:"code"`
	Message string        `bson:"message"` // a part of errmsg

	Find   string        `bson:"find"` // a collection of config, read with a filter and a sort
	Filter bson.Raw      `bson:"filter"`
	Sort   bson.Raw      `bson:"sort"`
	Docs   bson.RawValue `bson:"docs"`

	Chunks string   `bson:"chunks"` // a namespace
	Are    []string `bson:"are"`    // its chunks as specTester.chunkLines shows them

	Sleep string `bson:"sleep"`
}

// Every line of every file of the rules and examples in part 03 of docs/rules.
func TestSpec03(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	files, err := filepath.Glob("testdata/spec03-*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "spec03-"), ".jsonl"), func(t *testing.T) {
			for _, c := range readSpecCases(t, file) {
				t.Run(c.ID, func(t *testing.T) { newSpecTester(t, c).play(c) })
			}
		})
	}
}

func readSpecCases(t *testing.T, file string) []specCase {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var cases []specCase
	seen := map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 || bytes.HasPrefix(lines.Bytes(), []byte("//")) {
			continue
		}
		var c specCase
		if err := bson.UnmarshalExtJSON(lines.Bytes(), false, &c); err != nil {
			t.Fatalf("%s:%d: %v", file, n, err)
		}
		if c.ID == "" || seen[c.ID] {
			t.Fatalf("%s:%d: the id %q is empty or taken", file, n, c.ID)
		}
		seen[c.ID] = true
		cases = append(cases, c)
	}
	return cases
}

// specTester is a cluster in the state S0 and the values that a case has named.
type specTester struct {
	*tester
	bound map[string]bson.RawValue
	names map[string]string // of chunks there at the start, by _id
}

func newSpecTester(t *testing.T, of specCase) *specTester {
	t.Helper()
	described := []byte(routertest.StateS0)
	if of.Topology != nil {
		var err error
		if described, err = bson.MarshalExtJSON(of.Topology, false, false); err != nil {
			t.Fatal(err)
		}
	}
	topology, err := mock.ParseTopology(described)
	if err != nil {
		t.Fatal(err)
	}
	version, fcv, _ := strings.Cut(cmp.Or(of.Release, "8.0"), "/")
	line, err := catalog.ParseRelease(version)
	if err != nil {
		t.Fatal(err)
	}
	c, err := mock.New(mock.Config{Topology: topology, Release: line, FCV: fcv, ConfigServer: "c0:27019", Start: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	x := &specTester{tester: &tester{T: t, Router: router.New(c, nil), Cluster: c}, bound: map[string]bson.RawValue{}, names: map[string]string{}}
	if of.Topology != nil {
		return x
	}
	for i := range 10 {
		x.OK("shop", d("insert", "users", "documents", bson.A{d("_id", i)}))
	}
	x.setVersions()
	return x
}

// setVersions gives the chunks of shop.orders the versions and times of S0.
func (st *specTester) setVersions() {
	st.T.Helper()
	since := bson.Timestamp{T: 100, I: 1}
	for i, version := range []bson.Timestamp{{T: 5, I: 1}, {T: 5, I: 2}, {T: 5, I: 0}} {
		chunk := st.chunkDocs("shop.orders")[i]
		id := chunk.Lookup("_id")
		st.names[id.ObjectID().Hex()] = fmt.Sprintf("C%d", i)
		st.OK("config", d("update", "chunks", "updates", bson.A{d("q", d("_id", id), "u", d("$set", d(
			"lastmod", version, "onCurrentShardSince", since,
			"history", bson.A{d("validAfter", since, "shard", chunk.Lookup("shard"))})))}))
	}
}

func (st *specTester) play(c specCase) {
	st.T.Helper()
	for i, step := range c.Prepare {
		st.step(fmt.Sprintf("prepare[%d]", i), step)
	}
	before := ""
	if c.Nothing || !c.Step.Code.IsZero() && !c.Raises {
		before = st.ConfigText()
	}
	st.step("the command", c.Step)
	if before != "" {
		st.unchanged(before)
	}
	for i, step := range c.Then {
		st.step(fmt.Sprintf("then[%d]", i), step)
	}
	st.Cluster.Lock()
	defer st.Cluster.Unlock()
	if err := st.Cluster.CheckInvariants(); err != nil && !c.Broken {
		st.T.Error(err)
	}
}

func (st *specTester) unchanged(before string) {
	st.T.Helper()
	was, is := strings.Split(before, "\n"), strings.Split(st.ConfigText(), "\n")
	for i := range was {
		if was[i] != is[i] {
			st.T.Errorf("it has changed\n%s\nto\n%s", was[i], is[i])
		}
	}
}

func (st *specTester) step(name string, s specStep) {
	st.T.Helper()
	switch {
	case s.Run != nil:
		st.command(name, s)
	case s.Find != "":
		st.look(name, s)
	case s.Chunks != "":
		if got := st.chunkLines(s.Chunks); !slices.Equal(got, s.Are) {
			st.T.Errorf("%s: the chunks of %s are\n%s\nwant\n%s", name, s.Chunks, strings.Join(got, "\n"), strings.Join(s.Are, "\n"))
		}
	case s.Sleep != "":
		d, err := time.ParseDuration(s.Sleep)
		if err != nil {
			st.T.Fatal(err)
		}
		st.Sleep(d)
	default:
		st.T.Fatalf("%s does nothing", name)
	}
}

func (st *specTester) command(name string, s specStep) {
	st.T.Helper()
	reply := st.Run(cmp.Or(s.On, "admin"), st.substitute(s.Run))
	for _, gossip := range []string{"$clusterTime", "operationTime"} {
		if reply.Lookup(gossip).IsZero() {
			st.T.Errorf("%s: the reply lacks %s", name, gossip)
		}
	}
	reply = withoutGossip(st.T, reply)
	if !s.Code.IsZero() {
		st.failure(name, s, reply)
		return
	}
	want := s.Want
	if want == nil {
		want = raw(st.T, d("…", 1, "ok", 1.0))
	}
	if err := st.match("reply", document(want), document(reply)); err != nil {
		st.T.Errorf("%s %s answered %s\n%v", name, s.Run, reply, err)
	}
}

// failure compares an error reply: its fields, their order and the code's name.
func (st *specTester) failure(name string, s specStep, reply bson.Raw) {
	st.T.Helper()
	want := d("ok", 0.0, "errmsg", "…")
	if code, isNumber := s.Code.AsInt64OK(); isNumber {
		want = append(want, d("code", int32(code), "codeName", mongoerr.Code(code).Name())...)
	}
	if s.Want != nil {
		var extra bson.D
		if err := bson.Unmarshal(s.Want, &extra); err != nil {
			st.T.Fatal(err)
		}
		want = append(want, extra...)
	}
	if err := st.match("reply", document(raw(st.T, want)), document(reply)); err != nil {
		st.T.Errorf("%s %s answered %s\n%v", name, s.Run, reply, err)
		return
	}
	if text := reply.Lookup("errmsg").StringValue(); !strings.Contains(text, s.Message) {
		st.T.Errorf("%s: errmsg %q lacks %q", name, text, s.Message)
	}
}

// look compares documents of the config database.
func (st *specTester) look(name string, s specStep) {
	st.T.Helper()
	find := d("find", s.Find, "batchSize", 1000)
	if s.Filter != nil {
		find = append(find, bson.E{Key: "filter", Value: st.substitute(s.Filter)})
	}
	if s.Sort != nil {
		find = append(find, bson.E{Key: "sort", Value: s.Sort})
	}
	got := st.OK("config", find).Lookup("cursor", "firstBatch")
	if err := st.match(s.Find, s.Docs, got); err != nil {
		st.T.Errorf("%s: config.%s has %s\n%v", name, s.Find, got, err)
	}
}

func (st *specTester) chunkDocs(ns string) []bson.Raw {
	st.T.Helper()
	entry := st.First("config", d("find", "collections", "filter", d("_id", ns)))
	if entry == nil {
		return nil
	}
	reply := st.OK("config", d("find", "chunks", "filter", d("uuid", entry.Lookup("uuid")), "sort", d("min", 1), "batchSize", 1000))
	values, err := reply.Lookup("cursor", "firstBatch").Array().Values()
	if err != nil {
		st.T.Fatal(err)
	}
	docs := make([]bson.Raw, len(values))
	for i, v := range values {
		docs[i] = v.Document()
	}
	return docs
}

// chunkLines are a collection's chunks as the spec writes them: bounds, shard,
// version, C0 to C2 or new for the _id, and the jumbo flag if there is one.
func (st *specTester) chunkLines(ns string) []string {
	st.T.Helper()
	var lines []string
	for _, doc := range st.chunkDocs(ns) {
		t, i := doc.Lookup("lastmod").Timestamp()
		line := fmt.Sprintf("[%s, %s) %s %d|%d", boundText(doc.Lookup("min")), boundText(doc.Lookup("max")), doc.Lookup("shard").StringValue(), t, i)
		if ns == "shop.orders" {
			line += " " + cmp.Or(st.names[doc.Lookup("_id").ObjectID().Hex()], "new")
		}
		if jumbo := doc.Lookup("jumbo"); !jumbo.IsZero() {
			line += fmt.Sprintf(" jumbo: %v", jumbo.Boolean())
		}
		lines = append(lines, line)
	}
	return lines
}

func boundText(v bson.RawValue) string {
	elems, err := v.Document().Elements()
	if err != nil {
		return err.Error()
	}
	var parts []string
	for _, e := range elems {
		text := e.Value().String()
		switch e.Value().Type {
		case bson.TypeMinKey:
			text = "MinKey"
		case bson.TypeMaxKey:
			text = "MaxKey"
		case bson.TypeInt32:
			text = fmt.Sprint(e.Value().Int32())
		case bson.TypeInt64:
			text = fmt.Sprintf("Long(%d)", e.Value().Int64())
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ",")
}
