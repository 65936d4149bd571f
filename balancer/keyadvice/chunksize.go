package keyadvice

import (
	"fmt"
	"math"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
	"shardsh/balancer/policy"
)

// The limits of a chunk size in MiB, and the criteria for it.
const (
	minMB, maxMB = 1, 1024
	// minAdvisedMB is the minimum advised size: a migration takes seconds, however little data it
	// moves.
	minAdvisedMB = 8
	// maxImbalance is the lasting difference between shards that is acceptable, as a part of a shard's
	// share.
	maxImbalance = 0.2
	// maxChunksPerShard is how many chunks a shard may have: routers and config servers keep the routing
	// table in memory.
	maxChunksPerShard = 10_000
	// minDocsPerChunk is the minimum number of documents in a chunk; smaller chunks can't be split
	// evenly.
	minDocsPerChunk = 32
	// maxMoveTime is the maximum duration of a chunk's migration: a balancer window has to fit many
	// migrations.
	maxMoveTime = 2 * time.Minute
)

// ChunkSizeAdvice is the advice on the chunk size of a collection.
type ChunkSizeAdvice struct {
	Namespace string `json:"ns"`
	Verdict   string `json:"verdict"`
	// CurrentMB is the size in effect, MB the advised size. All sizes between LowMB and HighMB are
	// acceptable.
	CurrentMB int64 `json:"currentMB"`
	MB        int64 `json:"mb"`
	LowMB     int64 `json:"lowMB"`
	HighMB    int64 `json:"highMB"`
	// Reasons give the reasons for the bounds.
	Reasons  []string `json:"reasons"`
	Commands []string `json:"commands"`
	Notes    []string `json:"notes,omitempty"`
}

// bounds are the lower and the upper bound of a chunk size, with their reasons.
type bounds struct {
	low, high float64
	reasons   []string
}

func (b *bounds) requireAtLeast(mb float64, format string, args ...any) {
	if b.low < mb {
		b.low = mb
	}
	b.reasons = append(b.reasons, fmt.Sprintf(format, args...))
}

func (b *bounds) requireAtMost(mb float64, format string, args ...any) {
	if b.high > mb {
		b.high = mb
	}
	b.reasons = append(b.reasons, fmt.Sprintf(format, args...))
}

// AdviseChunkSize returns the advice on the chunk size of a collection, for its expected size.
func AdviseChunkSize(f Facts) ChunkSizeAdvice {
	a := ChunkSizeAdvice{Namespace: f.Namespace, CurrentMB: f.ChunkBytes >> 20, Notes: f.Notes}
	b := bounds{low: minAdvisedMB, high: maxMB}
	f.limitBySpread(&b)
	f.limitByDocuments(&b)
	f.limitBySpeed(&b)
	b.low = math.Min(b.low, maxMB)
	if b.low > b.high { // chunks that are too small to hold their documents can't move at all, which is worse
		b.high = math.Exp2(math.Ceil(math.Log2(b.low)))
	}
	a.LowMB, a.HighMB = int64(math.Ceil(b.low)), max(int64(math.Ceil(b.low)), int64(b.high))
	a.MB = a.CurrentMB
	if a.MB < a.LowMB || a.MB > a.HighMB {
		a.MB = nearestPowerOfTwo(a.CurrentMB, a.LowMB, a.HighMB)
		a.Commands = f.chunkSizeCommands(a.MB)
	}
	a.Reasons = b.reasons
	switch {
	case f.expectedBytes() < policy.ImbalanceFactor*minAdvisedMB<<20:
		a.MB, a.Commands, a.Reasons = a.CurrentMB, nil, nil
		a.Verdict = fmt.Sprintf("keep chunks of %d MB: with %s %s is too small to spread; {expect: \"500GB\"} advises for a "+
			"larger size",
			a.MB, humanize.Bytes(f.expectedBytes()), f.Namespace)
	case a.MB == a.CurrentMB:
		a.Verdict = fmt.Sprintf("keep chunks of %d MB (%d to %d MB are fine for %s)", a.MB, a.LowMB, a.HighMB, f.Namespace)
	default:
		a.Verdict = fmt.Sprintf("%s: use chunks of %d MB (%d to %d MB are fine); now %d MB", f.Namespace, a.MB,
			a.LowMB, a.HighMB, a.CurrentMB)
	}
	if len(a.Commands) > 0 && f.Release.FCVAtLeast(catalog.Release60) {
		a.Notes = append(a.Notes, "chunks that are there stay as they are: larger ones are cut as they move, and "+
			"sh.defragment() merges smaller ones")
	}
	return a
}

// expectedBytes returns the size that the collection will grow to.
func (f Facts) expectedBytes() int64 { return max(f.Bytes, f.ExpectBytes) }

func mib(bytes float64) float64 { return bytes / (1 << 20) }

// limitBySpread limits the size by the evenness of the distribution, and by the number of chunks.
func (f Facts) limitBySpread(b *bounds) {
	share := float64(f.expectedBytes()) / float64(f.shards())
	shown := humanize.Bytes(int64(share))
	if most := mib(share) * maxImbalance / policy.ImbalanceFactor; f.Release.FCVAtLeast(catalog.Release60) &&
		most < maxMB {
		b.requireAtMost(
			math.Max(minAdvisedMB, most),
			"a shard's share is %s, and data moves from a difference of %d chunk sizes on: "+
				"with at most %.0f MB shards differ by no more than %s; less than %d MB is not worth a migration",
			shown,
			policy.ImbalanceFactor,
			math.Max(minAdvisedMB, most),
			humanize.Percent(maxImbalance),
			minAdvisedMB,
		)
	} else if f.Release.FCVAtLeast(catalog.Release60) {
		b.reasons = append(b.reasons, fmt.Sprintf("a shard's share is %s: shards differ by at most %s with any chunk size",
			shown, humanize.Percent(maxImbalance)))
	}
	if least := math.Ceil(mib(share / maxChunksPerShard)); least > minAdvisedMB {
		b.requireAtLeast(least, "with at least %.0f MB a shard has no more than %d chunks, of which routers hold the table",
			math.Min(least, maxMB), maxChunksPerShard)
	}
}

// limitByDocuments limits the size by the units that can't be split: documents, and values of the key.
func (f Facts) limitByDocuments(b *bounds) {
	if f.Docs == 0 {
		return
	}
	average := float64(f.Bytes) / float64(f.Docs)
	if needs := mib(average * minDocsPerChunk); needs > minMB {
		b.requireAtLeast(math.Min(needs, maxMB), "documents have %s on average, and a chunk should hold %d: at least %.0f MB",
			humanize.Bytes(int64(average)), minDocsPerChunk, math.Ceil(math.Min(needs, maxMB)))
	}
	if len(f.Current) == 0 {
		return
	}
	j := newJudge(f)
	n := j.table.counts(f.Current.Names())
	if len(n.perValue) == 0 || n.perValue[0] < 2 || j.isUnique(f.Current) {
		return
	}
	value := countLowerBound(n.perValue[0]) / float64(n.total) * float64(f.expectedBytes())
	switch needs := mib(value); {
	case needs > maxMB:
		b.reasons = append(b.reasons, fmt.Sprintf("the most common value of %s has %s or more, which no chunk size holds: "+
			"refine the key (sh.adviseKey(%s))", f.Current, humanize.Bytes(int64(value)), humanize.TextLiteral(f.Namespace)))
	case needs > minAdvisedMB:
		b.requireAtLeast(needs, "the most common value of %s has %s, which nothing can split: with at least %.0f MB "+
			"its chunk can move", f.Current, humanize.Bytes(int64(value)), math.Ceil(needs))
	}
}

// limitBySpeed limits the size by the duration of a migration.
func (f Facts) limitBySpeed(b *bounds) {
	if f.BytesPerSecond <= 0 {
		return
	}
	most := math.Max(minAdvisedMB, mib(f.BytesPerSecond*maxMoveTime.Seconds()))
	b.requireAtMost(most, "migrations of the last day moved %s a second: with at most %.0f MB one takes no more than "+
		"%.0f minutes", humanize.Bytes(int64(f.BytesPerSecond)), math.Min(most, maxMB), maxMoveTime.Minutes())
}

// nearestPowerOfTwo returns the power of two within bounds that is nearest to a size. If there is none,
// it returns a bound.
func nearestPowerOfTwo(from, low, high int64) int64 {
	if from < low {
		for mb := int64(1); mb <= maxMB; mb *= 2 {
			if mb >= low && mb <= high {
				return mb
			}
		}
		return low
	}
	for mb := int64(maxMB); mb >= minMB; mb /= 2 {
		if mb <= high && mb >= low {
			return mb
		}
	}
	return high
}

// hasCollectionChunkSize reports whether a collection can have a chunk size of its own.
func (f Facts) hasCollectionChunkSize() bool { return f.Release.FCVAtLeast(catalog.Release60) }

func (f Facts) chunkSizeCommands(mb int64) []string {
	switch {
	case !f.hasCollectionChunkSize():
		return []string{fmt.Sprintf("sh.chunkSize(%d)   // of all collections: before 6.0 none has a size of its own", mb)}
	case len(f.Current) == 0:
		return []string{fmt.Sprintf("sh.chunkSize(%s, %d)   // once it is sharded", humanize.TextLiteral(f.Namespace), mb)}
	}
	return []string{fmt.Sprintf("sh.chunkSize(%s, %d)", humanize.TextLiteral(f.Namespace), mb)}
}
