package diagnosis

import (
	"fmt"
	"slices"
	"strings"

	"shardsh/balancer/humanize"

	"shardsh/balancer/catalog"
)

// maxJumboCommands is the maximum number of jumbo chunks for which a finding has commands.
const maxJumboCommands = 5

// jumboFindings finds chunks that are flagged jumbo.
func jumboFindings(c *catalog.CollectionState) []Finding {
	n := c.Count().Jumbo
	if n == 0 {
		return nil
	}
	f := finding(JumboChunks, Scope{Namespace: c.Namespace},
		fmt.Sprintf("%s has %s, which the balancer does not move", c.Namespace, humanize.Count(n, "jumbo chunk")),
		fmt.Sprintf("sh.chunks(%q, { jumbo: true })", c.Namespace))
	f.Numbers = countNumbers("jumboChunks", n)
	return []Finding{f}
}

// withJumboSizes adds to a finding about jumbo chunks their sizes, as far as they were measured, and
// how the chunks can be split.
func withJumboSizes(c *catalog.CollectionState, f Finding) Finding {
	f.Commands = jumboCommands(c)
	var measured, single, bytes, documents int64
	for chunk, size := range jumboSizes(c) {
		if size == nil {
			continue
		}
		measured, bytes, documents = measured+1, bytes+size.Bytes, documents+size.Documents
		if size.hasSingleKey() {
			single++
		}
		if measured == 1 {
			f.Sentence += fmt.Sprintf(": the chunk at %s on %s has %s", humanize.Literal(c.Pattern.Bound(chunk.Min)),
				chunk.Shard, size)
		}
	}
	if measured > 0 {
		f.Numbers = append(f.Numbers, Number{Name: "measured", Value: measured}, Number{"bytes", bytes, Bytes},
			Number{Name: "documents", Value: documents}, Number{Name: "ofOneKey", Value: single})
	}
	return f
}

// jumboSize is the measured size of a jumbo chunk.
type jumboSize struct{ catalog.ChunkSize }

// hasSingleKey reports whether all documents of the chunk have the same key, so that the chunk can't be
// split.
func (s *jumboSize) hasSingleKey() bool { return !s.First.IsZero() && s.First.Equal(s.Last) }

// String describes the size of the chunk, and where the chunk can be split.
func (s *jumboSize) String() string {
	text := fmt.Sprintf("%s in %s", humanize.Bytes(s.Bytes), humanize.Count(s.Documents, "document"))
	switch {
	case s.hasSingleKey():
		return text + ", all with the same shard key: it cannot be split"
	case !s.First.IsZero():
		return text + ", and can be split"
	}
	return text
}

// jumboSizes yields the jumbo chunks in key order, each with its measured size; the size is nil where
// the chunk was not measured.
func jumboSizes(c *catalog.CollectionState) func(func(catalog.Chunk, *jumboSize) bool) {
	return func(yield func(catalog.Chunk, *jumboSize) bool) {
		if c.Table == nil {
			return
		}
		measured := make(map[catalog.Key]*jumboSize, len(c.ChunkSizes))
		for _, size := range c.ChunkSizes {
			measured[size.Min] = &jumboSize{size}
		}
		for chunk := range c.Table.JumboChunks() {
			if !yield(chunk, measured[chunk.Min]) {
				return
			}
		}
	}
}

// jumboCommands returns the commands that split the first jumbo chunks whose keys are known. A chunk
// with a single key can only be split after the shard key has been refined.
func jumboCommands(c *catalog.CollectionState) (list []string) {
	var splits []string
	refine := false
	for chunk, size := range jumboSizes(c) {
		if len(splits) == maxJumboCommands {
			break
		}
		if size == nil || size.First.IsZero() {
			continue
		}
		refined := size.hasSingleKey()
		refine = refine || refined
		splits = append(splits, splitCommand(c, chunk, refined))
	}
	if refine {
		list = refineCommands(c)
		if list == nil {
			return []string{fmt.Sprintf("sh.reshardCollection(%q, <key>)", c.Namespace)}
		}
	}
	if list = append(list, splits...); list == nil {
		return []string{fmt.Sprintf("sh.chunks(%q, { jumbo: true })", c.Namespace)}
	}
	return list
}

// splitCommand returns the command that splits a chunk in the middle of its data. The chunk is given by
// its bounds, which work for all kinds of keys; refined extends the bounds to a refined shard key.
func splitCommand(c *catalog.CollectionState, chunk catalog.Chunk, refined bool) string {
	bound := func(k catalog.Key) string {
		text := humanize.Literal(c.Pattern.Bound(k))
		if !refined {
			return text
		}
		end := "MinKey()"
		if k.Equal(c.Pattern.GlobalMax()) {
			end = "MaxKey()"
		}
		return strings.TrimSuffix(text, "}") + `, "_id": ` + end + "}"
	}
	return fmt.Sprintf("db.adminCommand({ split: %q, bounds: [%s, %s] })", c.Namespace, bound(chunk.Min), bound(chunk.Max))
}

// refineCommands returns the commands that add _id to a shard key. It returns none where the key
// contains _id, or can't be refined.
func refineCommands(c *catalog.CollectionState) []string {
	if slices.Contains(c.Pattern.Fields(), "_id") || c.Pattern.HashedField() >= 0 {
		return nil
	}
	key := strings.TrimSuffix(keyLiteral(c.Pattern), "}") + `, "_id": 1}`
	return []string{
		fmt.Sprintf("%s.createIndex(%s)", CollectionExpr(c.Namespace), key),
		fmt.Sprintf("sh.refineCollectionShardKey(%q, %s)", c.Namespace, key),
	}
}
