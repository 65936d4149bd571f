package mock

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// The worked examples of rules/02-examples-and-traps §9 about what becomes of chunks lie in testdata. A
// chunk is written as "id min max shard major|minor since", followed by jumbo,
// split (a flag that says false), est=bytes and hist=seconds:shard,… where there
// are any. since is seconds of the config server's time, with .n for an
// increment other than 0, or - for none. The collection is db.c.

const exampleNS = "db.c"

// exampleCluster has the shards A, B, C and D and a collection with these
// chunks. Its time is now, in seconds.
func exampleCluster(t *testing.T, now int64, release catalog.Release, chunks ...string) *Cluster {
	t.Helper()
	topology, err := ParseTopology([]byte(`{"shards":[{"id":"A"},{"id":"B"},{"id":"C"},{"id":"D"}],
		"settings":{"balancer":{"mode":"off","stopped":true}},
		"collections":[{"ns":"db.c","key":{"x":1},"chunks":[{"shard":"A"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(Config{Topology: topology, Start: time.Unix(now, 0), Release: release})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	c.clock.Lock()
	t.Cleanup(c.clock.Unlock)
	old := c.config.Table(exampleNS)
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
	c.config.setTable(exampleNS, table)
	c.ids.LastStamp = bson.Timestamp{T: uint32(now)}
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
	k, err := p.ParseKey(rawDoc(t, bson.D{{Key: "x", Value: int32(n)}}))
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
	c := catalog.Chunk{ID: bson.ObjectID{f[0][0]}, Min: exampleKey(t, p, f[1]), Max: exampleKey(t, p, f[2]),
		Shard: catalog.ShardID(f[3])}
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
			c.Estimate = catalog.NewEstimate(n)
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
	id := "new"
	if c.ID == (bson.ObjectID{c.ID[0]}) {
		id = string(rune(c.ID[0]))
	}
	text := fmt.Sprintf("%s %s %s %s %d|%d %s", id, shownKey(c.Min), shownKey(c.Max), c.Shard, c.Version.Major,
		c.Version.Minor, showStamp(c.OnCurrentShardSince))
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
	for chunk := range c.config.Table(exampleNS).All() {
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
	coll, ok, err := c.config.TrackedEntry(exampleNS)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	return coll
}

// logged gives the details of the entries of the change log with this name.
func (c *Cluster) logged(what string) []bson.Raw {
	var list []bson.Raw
	for _, doc := range c.config.Collection(configChangelog).Scan() {
		if name, _ := doc.Lookup("what").StringValueOK(); name == what {
			list = append(list, doc.Lookup("details").Document())
		}
	}
	return list
}

func (c *Cluster) zoneExample(t *testing.T, zones [][2]string) {
	t.Helper()
	p := c.config.Table(exampleNS).Pattern()
	for i, r := range zones {
		err := c.config.insert(configTags, bson.D{
			{Key: "_id", Value: int32(i)}, {Key: "ns", Value: exampleNS},
			{Key: "min", Value: p.Bound(exampleKey(t, p, r[0]))}, {Key: "max",
				Value: p.Bound(exampleKey(t, p, r[1]))}, {Key: "tag", Value: "Z"},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
