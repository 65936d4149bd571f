package mock

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// The worked examples of spec 02 §9.1 and §9.5, which are about what becomes of
// chunks. A chunk is written as "id min max shard major|minor since", followed
// by jumbo, split (a flag that says false), est=bytes and hist=seconds:shard,…
// where there are any. since is seconds of the config server's time, with .n
// for an increment other than 0, or - for none. The collection is db.c.

const exampleNS = "db.c"

// examples is a cluster of the shards A, B, C and D whose collection has these
// chunks and whose time is now, in seconds.
func examples(t *testing.T, now int64, release catalog.Release, chunks ...string) *Cluster {
	t.Helper()
	topology, err := ParseTopology([]byte(`{"shards":[{"id":"A"},{"id":"B"},{"id":"C"},{"id":"D"}],
		"settings":{"balancer":{"mode":"off","stopped":true}},
		"collections":[{"ns":"db.c","key":{"x":1},"chunks":[{"shard":"A"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(Config{Topology: topology, Start: time.Unix(now, 0), Version: release})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	c.Lock()
	t.Cleanup(c.Unlock)
	old := c.tables[exampleNS]
	var list []catalog.Chunk
	for _, text := range chunks {
		list = append(list, readChunk(t, old.Pattern(), text))
	}
	// Where an example says nothing of the rest of the key space, D owns it.
	list = fillUp(old.Pattern(), list)
	table, err := catalog.NewRoutingTable(old.Pattern(), old.Epoch(), old.Timestamp(), slices.Values(list))
	if err != nil {
		t.Fatal(err)
	}
	c.tables[exampleNS] = table
	c.lastStamp = bson.Timestamp{T: uint32(now)}
	return c
}

func fillUp(p catalog.KeyPattern, chunks []catalog.Chunk) []catalog.Chunk {
	var all []catalog.Chunk
	at, minor := p.GlobalMin(), uint32(100)
	rest := func(to catalog.Key) {
		if at.Less(to) {
			minor++
			all = append(all, catalog.Chunk{Min: at, Max: to, Shard: "D", Version: catalog.ChunkVersion{Minor: minor}})
		}
	}
	for _, c := range chunks {
		rest(c.Min)
		all = append(all, c)
		at = c.Max
	}
	rest(p.GlobalMax())
	return all
}

func exampleKey(t *testing.T, p catalog.KeyPattern, text string) catalog.Key {
	t.Helper()
	switch text {
	case "MIN":
		return p.GlobalMin()
	case "MAX":
		return p.GlobalMax()
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	k, err := p.Key(rawDoc(t, bson.D{{Key: "x", Value: int32(n)}}))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func rawDoc(t *testing.T, d bson.D) bson.Raw {
	t.Helper()
	raw, err := bson.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func readStamp(t *testing.T, text string) bson.Timestamp {
	t.Helper()
	if text == "-" {
		return bson.Timestamp{}
	}
	var s bson.Timestamp
	seconds, increment, _ := strings.Cut(text, ".")
	if _, err := fmt.Sscan(seconds, &s.T); err != nil {
		t.Fatal(err)
	}
	if increment != "" {
		if _, err := fmt.Sscan(increment, &s.I); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func showStamp(s bson.Timestamp) string {
	switch {
	case s.IsZero():
		return "-"
	case s.I == 0:
		return fmt.Sprint(s.T)
	}
	return fmt.Sprintf("%d.%d", s.T, s.I)
}

func readChunk(t *testing.T, p catalog.KeyPattern, text string) catalog.Chunk {
	t.Helper()
	f := strings.Fields(text)
	c := catalog.Chunk{ID: bson.ObjectID{f[0][0]}, Min: exampleKey(t, p, f[1]), Max: exampleKey(t, p, f[2]), Shard: catalog.ShardID(f[3])}
	if _, err := fmt.Sscanf(f[4], "%d|%d", &c.Version.Major, &c.Version.Minor); err != nil {
		t.Fatal(err)
	}
	c.OnCurrentShardSince = readStamp(t, f[5])
	for _, extra := range f[6:] {
		switch name, value, _ := strings.Cut(extra, "="); name {
		case "jumbo":
			c.Jumbo = catalog.JumboTrue
		case "est":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			c.Estimate = catalog.EstimateOf(n)
		case "hist":
			for entry := range strings.SplitSeq(value, ",") {
				at, shard, _ := strings.Cut(entry, ":")
				c.History = append(c.History, catalog.ChunkHistory{ValidAfter: readStamp(t, at), Shard: catalog.ShardID(shard)})
			}
		default:
			t.Fatalf("unknown %q in %q", extra, text)
		}
	}
	if len(c.History) == 0 && !c.OnCurrentShardSince.IsZero() {
		c.History = []catalog.ChunkHistory{{ValidAfter: c.OnCurrentShardSince, Shard: c.Shard}}
	}
	return c
}

func showChunk(c catalog.Chunk) string {
	bound := func(k catalog.Key) string {
		switch v := k.Values()[0]; v.Type {
		case bson.TypeMinKey:
			return "MIN"
		case bson.TypeMaxKey:
			return "MAX"
		default:
			n, _ := v.AsInt64OK()
			return fmt.Sprint(n)
		}
	}
	id := "new"
	if c.ID == (bson.ObjectID{c.ID[0]}) {
		id = string(rune(c.ID[0]))
	}
	text := fmt.Sprintf("%s %s %s %s %d|%d %s", id, bound(c.Min), bound(c.Max), c.Shard, c.Version.Major, c.Version.Minor, showStamp(c.OnCurrentShardSince))
	if c.Jumbo == catalog.JumboTrue {
		text += " jumbo"
	}
	if c.Jumbo == catalog.JumboFalse {
		text += " split"
	}
	if c.Estimate.Known() {
		text += fmt.Sprintf(" est=%d", c.Estimate.Bytes())
	}
	implied := []catalog.ChunkHistory{{ValidAfter: c.OnCurrentShardSince, Shard: c.Shard}}
	if len(c.History) > 0 && !slices.Equal(c.History, implied) {
		var entries []string
		for _, h := range c.History {
			entries = append(entries, showStamp(h.ValidAfter)+":"+string(h.Shard))
		}
		text += " hist=" + strings.Join(entries, ",")
	}
	return text
}

// shown are the chunks, without those that fill the key space up.
func (c *Cluster) shown() []string {
	var list []string
	for chunk := range c.tables[exampleNS].All() {
		if chunk.Version.Major > 0 {
			list = append(list, showChunk(chunk))
		}
	}
	return list
}

func sameChunks(t *testing.T, c *Cluster, want ...string) {
	t.Helper()
	if got := c.shown(); !slices.Equal(got, want) {
		t.Errorf("chunks:\n  got  %s\n  want %s", strings.Join(got, "\n       "), strings.Join(want, "\n       "))
	}
}

func (c *Cluster) exampleCollection(t *testing.T) catalog.Collection {
	t.Helper()
	coll, ok, err := c.Tracked(exampleNS)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	return coll
}

// logged gives the details of the entries of the change log with this name.
func (c *Cluster) logged(what string) []bson.Raw {
	var list []bson.Raw
	for _, doc := range c.Config(configChangelog).Scan() {
		if name, _ := doc.Lookup("what").StringValueOK(); name == what {
			list = append(list, doc.Lookup("details").Document())
		}
	}
	return list
}

func (c *Cluster) mergeExample(t *testing.T, min, max string) error {
	t.Helper()
	p := c.tables[exampleNS].Pattern()
	return c.MergeRange(c.exampleCollection(t), exampleKey(t, p, min), exampleKey(t, p, max))
}

func TestMRGMergeChunks(t *testing.T) {
	for _, tt := range []struct {
		id       string
		given    []string
		min, max string
		want     []string
		logs     int
	}{
		{"MRG-01", []string{"a 1 5 A 1|0 100", "b 5 10 A 1|1 200"}, "1", "10", []string{"a 1 10 A 1|2 200"}, 1},
		{"MRG-02", []string{"a 1 5 A 1|0 100.10", "b 5 7 A 1|1 200.1", "c 7 10 A 1|2 50"}, "1", "10", []string{"a 1 10 A 1|3 200.1"}, 1},
		{"MRG-03", []string{"a 1 5 A 1|2 1", "b 5 10 A 1|3 1", "c 10 20 A 2|1 1"}, "1", "10", []string{"a 1 10 A 2|2 1", "c 10 20 A 2|1 1"}, 1},
		{"MRG-04", []string{"a 1 10 A 1|1 1", "z 10 MAX B 3|0 1"}, "1", "10", []string{"a 1 10 A 1|1 1", "z 10 MAX B 3|0 1"}, 0},
	} {
		t.Run(tt.id, func(t *testing.T) {
			c := examples(t, 900, catalog.Release80, tt.given...)
			if err := c.mergeExample(t, tt.min, tt.max); err != nil {
				t.Fatal(err)
			}
			sameChunks(t, c, tt.want...)
			logs := c.logged("merge")
			if len(logs) != tt.logs {
				t.Fatalf("%d entries in the change log, want %d", len(logs), tt.logs)
			}
			if n := int32(len(tt.given) - len(tt.want) + 1); tt.logs == 1 && logs[0].Lookup("numChunks").Int32() != n {
				t.Errorf("change log %s, want %d chunks", logs[0], n)
			}
		})
	}
}

// MRG-05: the shard refuses these before the config server can.
func TestMRG05RejectedShapes(t *testing.T) {
	given := []string{"a MIN 0 A 1|1 1", "b 0 10 A 1|2 1", "c 10 20 B 1|3 1", "d 20 40 A 1|4 1", "e 40 MAX A 1|5 1"}
	for name, r := range map[string][2]string{
		"max inside a chunk": {"MIN", "5"}, "a hole": {"0", "40"}, "no chunk begins in the range": {"5", "10"}, "one chunk, other bounds": {"10", "40"},
	} {
		c := examples(t, 900, catalog.Release80, given...)
		if err := c.mergeExample(t, r[0], r[1]); !mongoerr.Is(err, mongoerr.StaleConfig) {
			t.Errorf("%s: %v, want StaleConfig", name, err)
		}
		sameChunks(t, c, given...)
	}
}

func TestMRG06JumboOfMergedChunks(t *testing.T) {
	c := examples(t, 900, catalog.Release80, "a 0 5 A 4|0 1 jumbo est=9", "b 5 9 A 4|1 1", "c 9 12 A 4|2 1", "d 12 15 A 4|3 1 jumbo")
	for _, r := range [][2]string{{"0", "9"}, {"9", "15"}} {
		if err := c.mergeExample(t, r[0], r[1]); err != nil {
			t.Fatal(err)
		}
	}
	sameChunks(t, c, "a 0 9 A 4|4 1 jumbo", "c 9 15 A 4|5 1")
}

func TestMRGMergeAll(t *testing.T) {
	const all = 1 << 30
	// The time is 10000 with the window of 300 seconds, so the cutoff is 9700.
	for _, tt := range []struct {
		id     string
		given  []string
		zones  [][2]string // all of the name Z
		shard  catalog.ShardID
		most   int
		merged int
		want   []string
	}{
		{"MRG-07", []string{"a MIN 0 A 6|1 1", "b 0 1 A 6|2 5", "c 1 2 B 7|0 9", "d 2 3 B 8|0 9", "e 3 4 A 6|3 2", "f 4 7 A 8|1 3", "g 7 MAX B 5|0 1"}, nil, "A", all, 4,
			[]string{"new MIN 1 A 8|2 5", "c 1 2 B 7|0 9", "d 2 3 B 8|0 9", "new 3 7 A 8|3 3", "g 7 MAX B 5|0 1"}},
		{"MRG-08", []string{"a 0 1 A 3|4 9699.99", "b 1 2 A 3|5 9600", "c 2 3 A 3|6 9700", "d 3 4 A 3|7 9000", "e 4 5 A 3|8 9000", "f 5 6 A 3|9 -"}, nil, "A", all, 4,
			[]string{"new 0 2 A 3|10 9699.99", "c 2 3 A 3|6 9700", "new 3 5 A 3|11 9000", "f 5 6 A 3|9 -"}},
		{"MRG-09 A", []string{"a 3 4 A 1|1 1 jumbo", "b 4 5 A 1|2 1", "c 5 6 A 1|3 1", "d 6 7 A 1|4 1"}, nil, "A", all, 3,
			[]string{"a 3 4 A 1|1 1 jumbo", "new 4 7 A 1|5 1"}},
		{"MRG-09 B", []string{"a 7 8 B 1|1 1", "b 8 9 B 1|2 1 jumbo", "c 9 10 B 1|3 1"}, nil, "B", all, 0,
			[]string{"a 7 8 B 1|1 1", "b 8 9 B 1|2 1 jumbo", "c 9 10 B 1|3 1"}},
		{"MRG-10", []string{"a 0 1 A 1|1 1", "b 1 2 A 1|2 1", "c 2 3 A 1|3 1"}, nil, "A", 2, 2,
			[]string{"new 0 2 A 1|4 1", "c 2 3 A 1|3 1"}},
		{"MRG-10, one", []string{"a 0 1 A 1|1 1", "b 1 2 A 1|2 1"}, nil, "A", 1, 0, []string{"a 0 1 A 1|1 1", "b 1 2 A 1|2 1"}},
		{"MRG-12", []string{"a MIN 0 A 5|0 1", "b 0 10 A 5|1 1", "c 10 15 A 5|2 1", "d 15 20 A 5|3 1", "e 20 25 A 5|4 1", "f 25 30 A 5|5 1", "g 30 MAX A 5|6 1"},
			[][2]string{{"10", "20"}, {"20", "30"}}, "A", all, 6,
			[]string{"new MIN 10 A 5|7 1", "new 10 20 A 5|8 1", "new 20 30 A 5|9 1", "g 30 MAX A 5|6 1"}},
		{"MRG-13", []string{"a 0 15 A 1|1 1", "b 15 20 A 1|2 1", "c 20 30 A 1|3 1"}, [][2]string{{"10", "20"}}, "A", all, 2,
			[]string{"new 0 20 A 1|4 1", "c 20 30 A 1|3 1"}},
	} {
		t.Run(tt.id, func(t *testing.T) {
			c := examples(t, 10000, catalog.Release80, tt.given...)
			c.zoneExample(t, tt.zones)
			merged, err := c.MergeAll(c.exampleCollection(t), tt.shard, tt.most)
			if err != nil || merged != tt.merged {
				t.Errorf("%d chunks merged, want %d: %v", merged, tt.merged, err)
			}
			sameChunks(t, c, tt.want...)
		})
	}
}

func (c *Cluster) zoneExample(t *testing.T, zones [][2]string) {
	t.Helper()
	p := c.tables[exampleNS].Pattern()
	for i, r := range zones {
		err := c.configInsert(configTags, bson.D{
			{Key: "_id", Value: int32(i)}, {Key: "ns", Value: exampleNS},
			{Key: "min", Value: p.Bound(exampleKey(t, p, r[0]))}, {Key: "max", Value: p.Bound(exampleKey(t, p, r[1]))}, {Key: "tag", Value: "Z"},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// MRG-10 to its end: two at a time.
func TestMRG10TwoAtATime(t *testing.T) {
	given := []string{"a MIN 0 A 1|0 1"}
	for i := range 9 {
		given = append(given, fmt.Sprintf("%c %d %d A 1|%d 1", 'b'+rune(i), i, i+1, i+1))
	}
	given = append(given, "z 9 MAX A 1|20 1")
	c := examples(t, 10000, catalog.Release80, given...)
	for i := range 10 {
		if merged, err := c.MergeAll(c.exampleCollection(t), "A", 2); err != nil || merged != 2 {
			t.Fatalf("time %d: %d chunks merged: %v", i+1, merged, err)
		}
	}
	sameChunks(t, c, "new MIN MAX A 1|30 1")
}

// move is a migration whose data has been copied.
func (c *Cluster) move(t *testing.T, min, max string, from, to catalog.ShardID, before string) error {
	t.Helper()
	p := c.tables[exampleNS].Pattern()
	m := &migration{
		coll: c.exampleCollection(t), min: exampleKey(t, p, min), max: exampleKey(t, p, max),
		req: MoveRequest{Namespace: exampleNS, From: from, To: to},
	}
	m.before = c.tables[exampleNS].Find(m.min).Version
	if before != "" {
		if _, err := fmt.Sscanf(before, "%d|%d", &m.before.Major, &m.before.Minor); err != nil {
			t.Fatal(err)
		}
	}
	return c.commitCatalog(m)
}

func TestVRCommitsOfMigrations(t *testing.T) {
	for _, tt := range []struct {
		id        string
		now       int64
		given     []string
		min, max  string
		to        catalog.ShardID
		want      []string
		placement string // the owners logged; "" = nothing
	}{
		{"VR-01", 900, []string{"a 1 10 A 12|7 800", "b 10 20 A 12|8 50 jumbo"}, "1", "10", "B",
			[]string{"a 1 10 B 13|0 900.1 hist=900.1:B,800:A", "b 10 20 A 13|1 50 jumbo"}, "A B D"},
		{"VR-02", 900, []string{"a 1 10 A 12|7 800", "b 10 20 B 12|6 50"}, "1", "10", "B",
			[]string{"a 1 10 B 13|0 900.1 hist=900.1:B,800:A", "b 10 20 B 12|6 50"}, "B D"},
		{"VR-03", 900, []string{"a MIN MAX A 1|0 100"}, "1", "10", "B",
			[]string{"new MIN 1 A 2|1 100", "a 1 10 B 2|0 900.1 hist=900.1:B,100:A", "new 10 MAX A 2|2 100"}, "A B"},
		{"VR-04", 900, []string{"a MIN 0 A 3|1 800", "b 0 100 A 3|2 800", "c 100 MAX B 3|0 800"}, "50", "100", "B",
			[]string{"a MIN 0 A 4|2 800", "new 0 50 A 4|1 800", "b 50 100 B 4|0 900.1 hist=900.1:B,800:A", "c 100 MAX B 3|0 800"}, ""},
		{"VR-05, one of two old ones", 1000, []string{"a 1 10 A 1|0 900 hist=900:A,650:B,500:C"}, "1", "10", "D",
			[]string{"a 1 10 D 2|0 1000.1 hist=1000.1:D,900:A"}, "D"},
		{"VR-05, inside the window", 1000, []string{"a 1 10 A 1|0 900 hist=900:A,750:B"}, "1", "10", "D",
			[]string{"a 1 10 D 2|0 1000.1 hist=1000.1:D,900:A,750:B"}, "D"},
		{"VR-05, at its edge", 1000, []string{"a 1 10 A 1|0 900 hist=900:A,700:B"}, "1", "10", "D",
			[]string{"a 1 10 D 2|0 1000.1 hist=1000.1:D,900:A,700:B"}, "D"},
		{"VR-05, far outside", 1000, []string{"a 1 10 A 1|0 100"}, "1", "10", "D",
			[]string{"a 1 10 D 2|0 1000.1 hist=1000.1:D,100:A"}, "D"},
	} {
		t.Run(tt.id, func(t *testing.T) {
			c := examples(t, tt.now, catalog.Release80, tt.given...)
			before := c.Config(configPlacement).Count()
			if err := c.move(t, tt.min, tt.max, "A", tt.to, ""); err != nil {
				t.Fatal(err)
			}
			sameChunks(t, c, tt.want...)
			var last bson.Raw
			for _, doc := range c.Config(configPlacement).Scan() {
				last = doc
			}
			switch added := c.Config(configPlacement).Count() - before; {
			case added == 0 && tt.placement == "":
			case added != 1 || tt.placement == "":
				t.Errorf("%d entries of the placement history, want %q", added, tt.placement)
			default:
				var owners []string
				values, _ := last.Lookup("shards").Array().Values()
				for _, v := range values {
					owners = append(owners, v.StringValue())
				}
				if got := strings.Join(owners, " "); got != tt.placement {
					t.Errorf("placement %s, want %s", got, tt.placement)
				}
			}
		})
	}
}

func TestVR06CommitsThatAreRefused(t *testing.T) {
	given := []string{"a 1 10 A 14|7 1", "b 10 20 A 12|0 1"}
	for _, tt := range []struct {
		name     string
		min, max string
		from, to catalog.ShardID
		before   string
		prepare  func(*Cluster) error
		code     mongoerr.Code
	}{
		{"the chunk has changed", "1", "10", "A", "B", "12|7", nil, mongoerr.ConflictingOperationInProgress},
		{"the recipient drains", "1", "10", "A", "C", "14|7", func(c *Cluster) error {
			_, err := c.configModify(configShards, "C", func(doc *bson.D) { set(doc, "draining", true) })
			return err
		}, mongoerr.ShardNotFound},
		{"no such recipient", "1", "10", "A", "X", "14|7", nil, mongoerr.ShardNotFound},
		{"the range is in no chunk", "5", "15", "A", "B", "14|7", nil, 40165},
		{"migrations are not allowed", "1", "10", "A", "B", "14|7", func(c *Cluster) error {
			_, err := c.configModify(configCollections, exampleNS, func(doc *bson.D) { set(doc, "allowMigrations", false) })
			return err
		}, mongoerr.ConflictingOperationInProgress},
		{"the donor is not the owner", "1", "10", "B", "C", "14|7", nil, 4914702},
		{"it is there already", "1", "10", "B", "A", "14|7", nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := examples(t, 900, catalog.Release80, given...)
			if tt.prepare != nil {
				if err := tt.prepare(c); err != nil {
					t.Fatal(err)
				}
			}
			err := c.move(t, tt.min, tt.max, tt.from, tt.to, tt.before)
			if got, _ := mongoerr.CodeOf(err); got != tt.code || (err == nil) != (tt.code == 0) {
				t.Errorf("%v, want code %d", err, tt.code)
			}
			sameChunks(t, c, given...)
		})
	}
}

func TestVR07Splits(t *testing.T) {
	given := []string{"a 1 10 A 1|0 100 jumbo est=5 hist=100:A,90:B", "z 10 20 A 2|1 1"}
	for _, tt := range []struct {
		points []string
		want   []string
		logs   map[string]int
	}{
		{[]string{"5"}, []string{"a 1 5 A 2|2 100 split hist=100:A,90:B", "new 5 10 A 2|3 100 split hist=100:A,90:B", given[1]}, map[string]int{"split": 1}},
		{[]string{"5", "7"}, []string{"a 1 5 A 2|2 100 split hist=100:A,90:B", "new 5 7 A 2|3 100 split hist=100:A,90:B",
			"new 7 10 A 2|4 100 split hist=100:A,90:B", given[1]}, map[string]int{"multi-split": 3}},
		{[]string{"5", "4"}, nil, nil},
		{[]string{"0", "5"}, nil, nil},
		{[]string{"5", "15"}, nil, nil},
		{[]string{"1"}, nil, nil},
		{[]string{"10"}, nil, nil},
		{[]string{"5", "5"}, nil, nil},
	} {
		t.Run(strings.Join(tt.points, " "), func(t *testing.T) {
			c := examples(t, 900, catalog.Release80, given...)
			table := c.tables[exampleNS]
			var points []catalog.Key
			for _, text := range tt.points {
				points = append(points, exampleKey(t, table.Pattern(), text))
			}
			err := c.Split(c.exampleCollection(t), table.Find(exampleKey(t, table.Pattern(), "1")), points)
			if tt.want == nil {
				if !mongoerr.Is(err, mongoerr.InvalidOptions) {
					t.Errorf("%v, want InvalidOptions", err)
				}
				sameChunks(t, c, given...)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			sameChunks(t, c, tt.want...)
			for what, n := range tt.logs {
				if got := len(c.logged(what)); got != n {
					t.Errorf("%d entries %s in the change log, want %d", got, what, n)
				}
			}
		})
	}
}

func TestVR08ClearJumboFlag(t *testing.T) {
	given := []string{"a MIN 0 A 12|7 1 jumbo", "b 0 MAX A 14|7 1"}
	c := examples(t, 900, catalog.Release80, given...)
	clearFlag := func(i int) {
		if err := c.ClearJumbo(exampleNS, c.tables[exampleNS].At(i)); err != nil {
			t.Fatal(err)
		}
	}
	clearFlag(1)
	sameChunks(t, c, given...)
	clearFlag(0)
	sameChunks(t, c, "a MIN 0 A 15|0 1", given[1])
}

func TestVR11SizeRule(t *testing.T) {
	for _, tt := range []struct {
		name              string
		release           catalog.Release
		chunk, size, docs int64
		moving            int64
		tooBig            bool
	}{
		{"at the limit", catalog.Release80, 128 << 20, 1024000000, 1000000, 262144, false},
		{"above it", catalog.Release80, 128 << 20, 1024000000, 1000000, 262145, true},
		{"two large documents", catalog.Release80, 1 << 20, 4 << 20, 2, 2, false},
		{"three", catalog.Release80, 1 << 20, 6 << 20, 3, 3, true},
		{"4.4: 1.3 times", catalog.Release44, 128 << 20, 1024000000, 1000000, 170393, false},
		{"4.4: above", catalog.Release44, 128 << 20, 1024000000, 1000000, 170394, true},
		{"no documents", catalog.Release80, 1 << 20, 0, 0, 250001, false},
		{"no documents, above", catalog.Release80, 1 << 20, 0, 0, 250002, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := examples(t, 900, tt.release)
			local := &localCollection{docs: newDocs(exampleNS)}
			local.virtual.docs, local.virtual.bytes = tt.docs, tt.size
			m := &migration{virtualDocs: tt.moving, req: MoveRequest{MaxChunkSizeBytes: tt.chunk}}
			if err := c.checkSize(m, local); mongoerr.Is(err, mongoerr.ChunkTooBig) != tt.tooBig {
				t.Errorf("%v, too big should be %v", err, tt.tooBig)
			}
			m.req.Force = 2
			if err := c.checkSize(m, local); err != nil {
				t.Errorf("forced by the balancer: %v", err)
			}
		})
	}
}

// AM-01: which collections the auto-merger picks, by shard.
func TestAM01CollectionsPicked(t *testing.T) {
	old, recent := "1", "9800"
	type coll struct {
		chunks []string // "shard since"
		change func(*bson.D)
	}
	flag := func(name string, value bool) func(*bson.D) { return func(doc *bson.D) { set(doc, name, value) } }
	c := examples(t, 10000, catalog.Release80)
	if _, err := c.configModify(configCollections, exampleNS, flag("enableAutoMerge", false)); err != nil {
		t.Fatal(err)
	}
	for name, entry := range map[string]coll{
		"db.c1": {[]string{"A " + old, "A " + old, "B " + old, "B " + old}, nil},
		"db.c2": {[]string{"A " + old, "B " + old}, flag("defragmentCollection", true)},
		"db.c3": {[]string{"A " + old, "B " + old}, flag("enableAutoMerge", false)},
		"db.c4": {[]string{"A " + recent, "A " + recent, "B " + old}, nil},
		"db.c5": {[]string{"B " + old}, flag("noBalance", true)},
		"db.c6": {[]string{"A " + old}, flag("unsplittable", true)},
		"db.c7": {[]string{"C -"}, nil}, // trap 37: never
	} {
		empty := TopologyCollection{Namespace: name, Key: json.RawMessage(`{"x":1}`), Chunks: []TopologyChunk{{Shard: "A"}}}
		if err := c.buildCollection(empty); err != nil {
			t.Fatal(err)
		}
		table := c.tables[name]
		var list []catalog.Chunk
		for i, text := range entry.chunks {
			shard, since, _ := strings.Cut(text, " ")
			min, max := fmt.Sprint(i), fmt.Sprint(i+1)
			if i == 0 {
				min = "MIN"
			}
			if i == len(entry.chunks)-1 {
				max = "MAX"
			}
			list = append(list, readChunk(t, table.Pattern(), fmt.Sprintf("a %s %s %s 1|%d %s", min, max, shard, i, since)))
		}
		table, err := catalog.NewRoutingTable(table.Pattern(), table.Epoch(), table.Timestamp(), slices.Values(list))
		if err != nil {
			t.Fatal(err)
		}
		c.tables[name] = table
		if entry.change != nil {
			if _, err := c.configModify(configCollections, name, entry.change); err != nil {
				t.Fatal(err)
			}
		}
	}
	work, err := engine{c}.Mergeable(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, w := range work {
		for _, ns := range w.Namespaces {
			got[string(w.Shard)] = append(got[string(w.Shard)], strings.TrimPrefix(ns, "db."))
		}
	}
	want := map[string][]string{"A": {"c1"}, "B": {"c1", "c4", "c5"}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("picked %v, want %v", got, want)
	}
}
