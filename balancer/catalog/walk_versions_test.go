package catalog

import (
	"iter"
	"slices"
	"testing"
)

// checkChosen wants the chunks of a table that are chosen by what they have to
// be those that a look at all of them finds.
func (m model) checkChosen(t interface {
	Helper()
	Fatalf(string, ...any)
}, rt *RoutingTable) {
	t.Helper()
	check := func(what string, got iter.Seq[Chunk], wanted func(Chunk) bool) {
		var want []Chunk
		for _, c := range m {
			if wanted(c) {
				want = append(want, normal(c))
			}
		}
		if all := slices.Collect(got); !slices.EqualFunc(all, want, sameChunk) {
			t.Fatalf("%s: %d chunks, want %d", what, len(all), len(want))
		}
	}
	check("flagged", rt.JumboChunks(), func(c Chunk) bool { return c.Jumbo == JumboTrue })
	check("measured", rt.ChunksWithEstimate(), func(c Chunk) bool { return c.Estimate.Known() })
	for _, c := range m[:min(5, len(m))] {
		v := c.Version
		check("from "+v.String(), rt.ChunksFromVersion(v), func(c Chunk) bool { return c.Version.Compare(v) >= 0 })
	}
}

func TestChosenEndEarly(t *testing.T) {
	chunks := chunksAt(t, []any{0, 9}, "b", "a", "b")
	for i := range chunks {
		chunks[i].Jumbo, chunks[i].Estimate = JumboTrue, NewEstimate(1)
	}
	rt := table(t, chunks)
	for _, all := range []iter.Seq[Chunk]{rt.JumboChunks(), rt.ChunksWithEstimate(), rt.ChunksFromVersion(ChunkVersion{})} {
		for c := range all {
			if !sameChunk(c, chunks[0]) {
				t.Errorf("first is %+v", c)
			}
			break
		}
	}
}
