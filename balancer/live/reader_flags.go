package live

import (
	"iter"

	"shardsh/balancer/catalog"
)

// differing compares the chunks of a table that have a flag with those that
// have it now, and returns what is to be changed: chunks with the flag that the
// table has without it, and without it those that have lost it. Chunks that are
// newer than the table, or not in it, are none of its business: the next look
// finds them.
func differing(
	t *catalog.RoutingTable, had func() iter.Seq[catalog.Chunk], has []catalog.Chunk, without func(*catalog.Chunk),
) []catalog.Chunk {
	var changed []catalog.Chunk
	still := make(map[catalog.Key]bool, len(has))
	for _, c := range has {
		still[c.Min] = true
		old := t.Find(c.Min)
		if old.Min != c.Min || old.Max != c.Max || old.Version != c.Version {
			continue
		}
		if old.Jumbo != c.Jumbo || old.Estimate != c.Estimate {
			changed = append(changed, c)
		}
	}
	for c := range had() {
		if !still[c.Min] {
			without(&c)
			changed = append(changed, c)
		}
	}
	return changed
}
