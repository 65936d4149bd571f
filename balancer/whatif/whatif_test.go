package whatif_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/whatif"
)

func parse(t *testing.T, text string) whatif.Change {
	t.Helper()
	c, err := whatif.ParseChange(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Every kind's example is one, and a change comes back from its text.
func TestExamples(t *testing.T) {
	for _, k := range whatif.ChangeKinds() {
		c := parse(t, k.Example)
		again := parse(t, c.String())
		if !strings.HasPrefix(c.String(), k.Name) || again.String() != c.String() {
			t.Errorf("%s is shown as %s, and that as %s", k.Example, c, again)
		}
		if k.Description == "" || !strings.HasSuffix(k.Description, ".") {
			t.Errorf("%s is not described", k.Name)
		}
	}
}

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		`drain s3`:         `drain s3`,
		"  drain \t s3 ":   `drain s3`,
		`drain "my shard"`: `drain "my shard"`,
		`drain 'a"b'`:      `drain 'a"b'`,
		`drain "a;b"`:      `drain "a;b"`,
		`unzone a.b {"x": {"$minKey": 1}} {"x": "}\"{"}`: `unzone a.b {"x": {"$minKey": 1}} {"x": "}\"{"}`,
		`unzone a.b '{"x": 1}' '{"x": 2}'`:               `unzone a.b {"x": 1} {"x": 2}`,
	} {
		if got := parse(t, text).String(); got != want {
			t.Errorf("%s is shown as %s, not as %s", text, got, want)
		}
	}
	list, err := whatif.ParseChanges(`addShard 2; unzone a.b {"x": ";"} {"x": 2};drain "a;b"`)
	if err != nil || len(list) != 3 || list[1].String() != `unzone a.b '{"x": ";"}' {"x": 2}` {
		t.Errorf("%v, %v", list, err)
	}
}

// What can't be meant says what can.
func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "a change is empty",
		"drane s3":                          `unknown change "drane": use one of addShard, drain,`,
		"drain":                             "drain: got 0 arguments; usage: drain SHARD, such as: drain shard2",
		"drain s3 s4":                       "got 2 arguments",
		`drain "s3`:                         "a quote is not closed",
		`drain ""`:                          "an argument is empty",
		"addShard 0":                        "0 is not a number of shards from 1 to 1000",
		"chunkSize 2000":                    "2000 is not a chunk size from 1 to 1024 MiB",
		"chunkSize a.b big":                 "big is not a chunk size from 0 to 1024 MiB",
		"window 23:00":                      "23:00 is not a valid window; usage: window always|START-STOP | window START STOP",
		"window 23:00 25:00":                `"25:00", which is not HH:MM`,
		"balancer maybe":                    `"maybe" is not on or off`,
		"grow a.b much":                     "much is not a percentage from -99% to 10000%",
		"release 8":                         "unknown server version",
		"zone a.b 1 2 EU":                   "1 is not valid extended JSON",
		`zone a.b {"x": 1} {"x": 2 EU`:      "a document is not closed",
		`clearJumbo a.b {"x": {"$date": 7}`: "a document is not closed",
	} {
		if _, err := whatif.ParseChange(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	_, err := whatif.ParseChange("drane s3")
	if unknown, ok := errors.AsType[*whatif.UnknownChangeError](err); !ok || !slices.Contains(unknown.Names, "drain") {
		t.Errorf("%v", err)
	}
}

// What can't be done to a cluster says why, and what to do first.
func TestRefusals(t *testing.T) {
	s := snaptest.Large(t, snaptest.Scale{Chunks: 30, EmptyShards: 1})
	old := parse(t, "release 5.0")
	fifty, err := old.Apply(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text, want string
		of         *catalog.Snapshot
	}{
		{"drain s999", `drain s999: the cluster has no shard "s999"`, s},
		{"drop db.c9", "db.c9 is not a sharded collection of this cluster", s},
		{"addShard s000", "the cluster already has a shard s000", s},
		{"removeShard s000", "chunks of db.c0: drain s000 first", s},
		{`zone db.c0 {"k": 0} {"k": 1} EU`, "add a shard to it first: zone SHARD EU", s},
		{`unzone db.c0 {"k": 0} {"k": 1}`, "no zone range has these bounds", s},
		{"unzone s000 EU", "s000 is not in the zone EU", s},
		{`zone db.c0 {"x": 0} {"x": 1} EU`, "the shard key of db.c0 is", s},
		{"clearJumbo db.c0", "there is no jumbo chunk", s},
		{"defragment db.c0", "5.0 can't defragment, which came with 6.0", fifty},
		{"chunkSize db.c0 64", "chunkSize MB sets that of the cluster", fifty},
		{"autoMerge on", "5.0 has no auto-merger", fifty},
	} {
		if _, err := parse(t, c.text).Apply(c.of); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
		}
	}
	_, err = parse(t, "drain s999").Apply(s)
	if unknown, ok := errors.AsType[*diagnosis.NotFoundError](err); !ok || unknown.Name != "s999" {
		t.Errorf("%v", err)
	}
	all, err := whatif.ParseChanges("drain s000; drain s001; drain s002")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := whatif.ApplyChanges(s, all); err == nil || !strings.Contains(err.Error(), "no shard would be left") {
		t.Errorf("%v", err)
	}
	last, err := whatif.ParseChanges(`zone s000 EU; zone db.c0 {"k": 0} {"k": 9} EU; unzone s000 EU`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := whatif.ApplyChanges(s, last); err == nil || !strings.Contains(err.Error(), "the last shard of the zone") {
		t.Errorf("%v", err)
	}
}

// Ids of new shards go on from those that there are.
func TestNewShards(t *testing.T) {
	s := snaptest.Large(t, snaptest.Scale{Chunks: 30})
	next, err := whatif.ApplyChanges(s, []whatif.Change{parse(t, "addShard 2"), parse(t, "addShard eu EU,DE"), parse(t, "addShard")})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, shard := range next.Shards() {
		ids = append(ids, string(shard.ID))
		if data, told := next.Collection("db.c0").Sizes[shard.ID]; !told || shard.ID >= "s003" && data.Bytes != 0 {
			t.Errorf("%s has %+v", shard.ID, data)
		}
	}
	if want := "eu s000 s001 s002 s003 s004 s005"; strings.Join(ids, " ") != want {
		t.Errorf("%v, want %s", ids, want)
	}
	if eu, _ := next.Shard("eu"); !slices.Equal(eu.Zones, []string{"EU", "DE"}) {
		t.Errorf("%+v", eu)
	}
	if len(s.Shards()) != 3 {
		t.Error("the first snapshot has changed")
	}
}
