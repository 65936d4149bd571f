package keyadvice

import (
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// The numbers are those of the rules in docs/advise.md, reckoned by hand.
func TestChunkSize(t *testing.T) {
	const gib = 1 << 30
	for name, c := range map[string]struct {
		alter  func(*Facts)
		mb     int64
		reason string
	}{
		"fine as it is":     {func(f *Facts) { f.ExpectBytes = 400 * gib }, 128, ""},
		"too small a share": {func(f *Facts) { f.ExpectBytes = 4 * gib }, 64, "at most 68 MB"}, // 1 GiB a shard, a fifteenth of it
		"hardly anything":   {func(*Facts) {}, 128, ""},
		"too many chunks":   {func(f *Facts) { f.ExpectBytes = 16_000 * gib }, 512, "at least 410 MB"},
		// 4000 GiB in 10,000 chunks
		"more than fits":  {func(f *Facts) { f.ExpectBytes = 400_000 * gib }, 1024, "at least 1024 MB"},
		"slow migrations": {func(f *Facts) { f.ExpectBytes, f.BytesPerSecond = 400*gib, 500_000 }, 32, "at most 57 MB"},
		// 60 MB in two minutes
		"large documents": {func(f *Facts) { f.Docs, f.Bytes = 100_000, 100_000*10<<20 }, 512,
			"at least 320 MB"}, // 32 of 10 MiB
		"a hot value": {func(f *Facts) {
			f.Current, f.ExpectBytes = key(t, `{"kind": 1}`), 2*gib
			f.Indexes = append(f.Indexes, Index{Name: "k", Key: raw(t, `{"kind": 1}`)})
		}, 1024, "has 567.54 MiB"}, // 134 of 400 less twice the root: 110.8, of 2 GiB
		"before 6.0": {func(f *Facts) { f.Release, f.ChunkBytes, f.ExpectBytes = catalog.Release50, 64<<20, 4*gib }, 64, ""},
	} {
		f := facts(t)
		c.alter(&f)
		a := AdviseChunkSize(f)
		if a.MB != c.mb || !strings.Contains(strings.Join(a.Reasons, "\n"), c.reason) ||
			(a.MB == a.CurrentMB) != (len(a.Commands) == 0) {
			t.Errorf("%s: %s\n%q %q", name, a.Verdict, a.Reasons, a.Commands)
		}
	}
}

// Cuts lie between values that there are, in their order, and as many as can be told.
func TestPresplit(t *testing.T) {
	for name, c := range map[string]struct {
		alter         func(*Facts)
		key           string
		chunks        int64
		points        int
		verdict, text string
	}{
		"by a sample": {func(f *Facts) { f.ExpectBytes = 100 << 30 }, `{"customer": 1}`, 32, 31, "into 32 chunks, 8 for each " +
			"shard", "fromSample: 32"},
		"before 6.0": {func(f *Facts) { f.ExpectBytes, f.Release = 100<<30, catalog.Release50 }, `{"customer": 1}`, 400, 399,
			"no more values", ""},
		"little": {func(f *Facts) { f.ExpectBytes = 1 << 20 }, `{"customer": 1}`, 4, 3, "4 chunks, 1 for", ""},
		"hashes": {func(f *Facts) { f.ExpectBytes = 100 << 30 }, `{"customer": "hashed"}`, 32, 0, "32 chunks",
			"perShard: 8"},
		"few values": {func(f *Facts) { f.ExpectBytes = 100 << 30 }, `{"kind": 1}`, 3, 2, "into 3 chunks: there are no more " +
			"values", ""},
		"what grows": {func(*Facts) {}, `{"at": 1}`, 4, 0, "does not help", ""},
		"not there yet": {func(f *Facts) { *f = Facts{Namespace: "app.new", Shards: 4, ChunkBytes: 1 << 27} },
			`{"h": "hashed"}`, 32, 0, "32 chunks", "perShard: 8"},
	} {
		f := facts(t)
		c.alter(&f)
		a := AdvisePresplit(f, key(t, c.key))
		if a.Chunks != c.chunks || len(a.Points) != c.points || !strings.Contains(a.Verdict, c.verdict) ||
			!strings.Contains(strings.Join(a.Commands, "\n"), c.text) {
			t.Errorf("%s: %s, %d points\n%q %q", name, a.Verdict, len(a.Points), a.Reasons, a.Commands)
		}
		if a.PerShard > a.Chunks || a.PerShard*int64(max(f.Shards, 1)) < a.Chunks {
			t.Errorf("%s: %d for each of %d shards, of %d", name, a.PerShard, f.Shards, a.Chunks)
		}
		last := int32(-1)
		for _, p := range a.Points {
			if at, ok := bson.Raw(p).Lookup(strings.Trim(strings.Split(c.key, ":")[0], `{"`)).Int32OK(); !ok || at <= last {
				t.Errorf("%s: a cut at %s", name, bson.Raw(p))
			} else {
				last = at
			}
		}
	}
}

// The size of documents that are expected does not overflow.
func TestBytesOf(t *testing.T) {
	f := Facts{Docs: 1_000_000_000, Bytes: 1_000_000_000_000}
	for docs, want := range map[int64]int64{0: 0, 1000: 1_000_000, 20_000_000_000: 20_000_000_000_000, 1 << 62: 1 << 60} {
		if got := f.BytesOf(docs); got != want {
			t.Errorf("%d documents: %d bytes, want %d", docs, got, want)
		}
	}
	if got := (Facts{}).BytesOf(5); got != 0 {
		t.Errorf("%d bytes of a collection without documents", got)
	}
}

// A zone has what lies in its ranges.
func TestPresplitZones(t *testing.T) {
	f := facts(t)
	f.ZoneFields = []string{"customer"}
	f.ZoneRanges = []ZoneRange{
		{"low", raw(t, `{"customer": 0}`), raw(t, `{"customer": 100}`), 1},
		{"high", raw(t, `{"customer": 100}`), raw(t, `{"customer": 380}`), 1},
		{"gone", raw(t, `{"customer": 1000}`), raw(t, `{"customer": 2000}`), 0},
	}
	f.ExpectBytes = 100 << 30
	a := AdvisePresplit(f, key(t, `{"customer": 1, "_id": 1}`))
	want := "[{low 1 0.25 8} {high 1 0.7 22} {gone 0 0 1} { 4 0.05 2}]"
	if got := fmt.Sprint(a.Zones); got != want {
		t.Errorf("zones %s, want %s", got, want)
	}
	notes := strings.Join(a.Notes, "\n")
	if !strings.Contains(notes, "zone high has 70%") || !strings.Contains(notes, "zone gone has ranges and no shard") ||
		strings.Contains(notes, "zone low") {
		t.Errorf("notes %s", notes)
	}
}
