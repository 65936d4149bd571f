package mock

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store/document"
)

// A log has the newest of its entries that its limit has room for, short ones and such
// as need memory of their own, and those that somebody has looked at stay as they were.
func TestLogKeepsTheNewestEntries(t *testing.T) {
	c := exampleCluster(t, 900, catalog.Release80)
	rapid.Check(t, func(rt *rapid.T) {
		log, limit := c.config.Collection(configChangelog), rapid.Int64Range(3000, 30_000).Draw(rt, "limit")
		for record := range log.Scan() {
			log.Delete(record)
		}
		c.log.changelogLimitBytes = limit
		longest := rapid.SampledFrom([]int{0, 300, 2 * logBlockBytes}).Draw(rt, "longest")
		var want []string // the newest last
		check := func(*rapid.T) {
			total, n := int64(0), 0
			var got []string
			for _, doc := range c.config.Collection(configChangelog).Scan() {
				what, _ := doc.Lookup("what").StringValueOK()
				got = append(got, what)
				total += int64(len(doc))
				n++
			}
			if total > limit {
				rt.Fatalf("%d bytes, limit %d", total, limit)
			}
			if !slices.Equal(got, want[len(want)-n:]) {
				rt.Fatalf("entries %.40q, want the last of %.40q", got, want)
			}
			// One more of the longest would not have fitted.
			if n < len(want) && total+int64(longest+len(want[len(want)-n-1])+2*logEntryOverhead) < limit {
				rt.Fatalf("%d bytes in %d of %d entries, limit %d", total, n, len(want), limit)
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"append": func(rt *rapid.T) {
				for range rapid.IntRange(1, 60).Draw(rt, "entries") {
					what := strings.Repeat(string(rune('a'+len(want)%26)), 1+rapid.IntRange(0, longest).Draw(rt, "length"))
					c.log.writeChangeEncoded(catalog.ShardID("A"), what, exampleNS, document.Empty)
					want = append(want, what)
				}
			},
			"look": check,
		})
		check(rt)
	})
}

// Of many namespaces each keeps its newest placement, and what can't be forgotten is not
// looked at again for each new one: a cluster of 50,000 collections took a quarter of an hour
// to make. What can be is still forgotten.
func TestPlacementsOfManyNamespaces(t *testing.T) {
	c := exampleCluster(t, 900, catalog.Release80)
	c.KeepOfLogs(1<<20, 100)
	const namespaces = 400
	rows := func() int64 { return c.config.Collection(configPlacement).Count() }
	place := func(i int) {
		c.log.writePlacement(fmt.Sprintf("many.c%d", i), nil, c.ids.Tick(), []catalog.ShardID{"A"})
	}
	scans, before := 0, c.log.neededPlacements
	for i := range namespaces {
		place(i)
		if c.log.neededPlacements != before {
			scans, before = scans+1, c.log.neededPlacements
		}
	}
	if scans > 6 || rows() < namespaces {
		t.Errorf("%d scans for %d namespaces, of which %d are left", scans, namespaces, rows())
	}
	for range 9000 {
		place(7)
	}
	if rows() > 7*namespaces {
		t.Errorf("%d rows for %d namespaces", rows(), namespaces)
	}
	newest := map[string]bool{}
	for _, row := range c.config.Collection(configPlacement).Scan() {
		ns, _ := row.Lookup("nss").StringValueOK()
		newest[ns] = true
	}
	for i := range namespaces {
		if ns := fmt.Sprintf("many.c%d", i); !newest[ns] {
			t.Errorf("%s has no placement", ns)
		}
	}
}
