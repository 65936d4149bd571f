package mock

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"shardsh/balancer/catalog"
	"shardsh/balancer/examples"
)

// pickedCase is about the collections that the auto-merger looks at: AM-01 of
// rules/02-examples-and-traps §9.2. A chunk is a shard and since when it is there.
type pickedCase struct {
	ID          string
	Collections map[string]struct {
		Chunks               []string
		DefragmentCollection *bool
		EnableAutoMerge      *bool
		NoBalance            *bool
		Unsplittable         *bool
	}
	Then map[string][]string
	Why  string
}

func TestWorkedExamplesOfCollectionsPicked(t *testing.T) {
	for _, tt := range examples.Read[pickedCase](t, "testdata/picked.jsonl") {
		t.Run(tt.ID, tt.play)
	}
}

func (p pickedCase) play(t *testing.T) {
	c := exampleCluster(t, 10000, catalog.Release80)
	c.setField(t, configCollections, exampleNS, "enableAutoMerge", false)
	for name, coll := range p.Collections {
		c.addExample(t, name, coll.Chunks)
		for field, value := range map[string]*bool{
			"defragmentCollection": coll.DefragmentCollection, "enableAutoMerge": coll.EnableAutoMerge,
			"noBalance": coll.NoBalance, "unsplittable": coll.Unsplittable,
		} {
			if value != nil {
				c.setField(t, configCollections, name, field, *value)
			}
		}
	}
	for round := range 2 { // the second one looks at everything again: trap 30
		work, err := engineCluster{b: c.balancer}.Mergeable(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := map[string][]string{}
		for _, w := range work {
			for _, ns := range w.Namespaces {
				got[string(w.Shard)] = append(got[string(w.Shard)], strings.TrimPrefix(ns, "db."))
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(p.Then) {
			t.Errorf("round %d: picked %v, want %v", round+1, got, p.Then)
		}
	}
}

// addExample adds a collection with chunks from 0 on.
func (c *Cluster) addExample(t *testing.T, name string, chunks []string) {
	t.Helper()
	empty := TopologyCollection{Namespace: name, Key: json.RawMessage(`{"x":1}`), Chunks: []TopologyChunk{{Shard: "A"}}}
	if err := (topologyBuilder{c}).addCollection(empty); err != nil {
		t.Fatal(err)
	}
	table := c.config.Table(name)
	var list []catalog.Chunk
	for i, text := range chunks {
		shard, since, _ := strings.Cut(text, " ")
		min, max := fmt.Sprint(i), fmt.Sprint(i+1)
		if i == 0 {
			min = "MIN"
		}
		if i == len(chunks)-1 {
			max = "MAX"
		}
		list = append(list, readChunk(t, table.Pattern(), fmt.Sprintf("a %s %s %s 1|%d %s", min, max, shard, i, since)))
	}
	table, err := catalog.NewRoutingTable(table.Pattern(), table.Epoch(), table.Timestamp(), slices.Values(list))
	if err != nil {
		t.Fatal(err)
	}
	c.config.setTable(name, table)
}
