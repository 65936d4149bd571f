package check

import (
	"fmt"
	"math"
	"slices"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/humanize"
	"shardsh/balancer/policy"
)

// The rules about each collection.

// compliant takes the server's word, and the rules of the release for lack of it.
// Who switched a collection off did so on purpose.
func (l *ruleRun) compliant() {
	for _, b := range l.Balances {
		c := l.Collection(b.Namespace)
		scope := diagnosis.Scope{Namespace: b.Namespace}
		switch {
		case !l.policy.Namespaces.Match(b.Namespace):
		case !b.Known:
			l.unknown(scope, "whether %s is balanced is unknown: %s", b.Namespace, l.reason(b))
		case b.Balanced:
		case b.Hold != diagnosis.NotHeld:
			l.add(Finding{About: scope, Excuse: l.excuse(c), Sentence: fmt.Sprintf("%s is not balanced (%s), but %s for it",
				b.Namespace, b.Why(), b.Hold)})
		default:
			l.add(Finding{About: scope, Excuse: l.excuse(c),
				Sentence: fmt.Sprintf("%s is not balanced (%s)", b.Namespace, b.Why())})
		}
	}
}

// reason is why nobody could tell: what the server said, rather than what the
// rules miss without its word.
func (l *ruleRun) reason(b diagnosis.Balance) string {
	for _, gap := range l.Parts().Source.Gaps {
		if gap.What == "balance" && (gap.Namespace == b.Namespace || gap.Namespace == "") {
			return gap.Reason
		}
	}
	return b.Reason
}

func (l *ruleRun) jumbo() {
	if l.gap("chunks") {
		return
	}
	for _, f := range l.About(diagnosis.JumboChunks) {
		n, _ := f.Number("jumboChunks")
		if ns := f.Scope.Namespace; l.policy.Namespaces.Match(ns) {
			found := taken(f)
			found.Excuse = l.excuse(l.Collection(ns))
			l.measured(count(n), found)
		}
	}
}

func (l *ruleRun) orphans() {
	for _, c := range l.sized() {
		var documents, bytes int64
		for _, data := range c.Sizes {
			documents, bytes = documents+data.Orphans, bytes+data.OrphanBytes
		}
		l.measured(count(documents), Finding{About: diagnosis.Scope{Namespace: c.Namespace},
			Sentence: fmt.Sprintf("%s has %d orphaned documents of %s", c.Namespace, documents, humanize.Bytes(float64(bytes)))})
	}
}

// sized returns the collections whose sizes are known, and notes the others.
func (l *ruleRun) sized() []*catalog.CollectionState {
	if l.gap("sizes") {
		return nil
	}
	return slices.DeleteFunc(l.chosen(), func(c *catalog.CollectionState) bool {
		for _, gap := range l.Parts().Source.Gaps {
			if gap.What == "sizes" && gap.Namespace == c.Namespace {
				l.unknown(diagnosis.Scope{Namespace: c.Namespace}, "the sizes of %s could not be read: %s", c.Namespace, gap.Reason)
				return true
			}
		}
		return len(c.Sizes) == 0 // no data
	})
}

// uneven compares each shard with its fair share. A share in percent counts only
// where the balancer would call it uneven, too: small collections are never even.
func (l *ruleRun) uneven() {
	for _, c := range l.sized() {
		deviations := Deviations(l.Snapshot, c)
		if deviations == nil {
			continue
		}
		worst := slices.MaxFunc(deviations, func(a, b Deviation) int { return cmpAbs(a.Bytes, b.Bytes) })
		off := Quantity{math.Abs(worst.Bytes), diagnosis.Bytes}
		if l.choice.Max.Unit == Percent {
			if off.Value < policy.ImbalanceFactor*float64(l.chunkSize(c)) {
				continue
			}
			off = Quantity{math.Abs(worst.Percent), Percent}
		}
		side := "above"
		if worst.Bytes < 0 {
			side = "below"
		}
		l.measured(off, Finding{About: diagnosis.Scope{Namespace: c.Namespace, Shard: worst.Shard}, Excuse: l.excuse(c),
			Sentence: fmt.Sprintf("shard %s has %s of %s, %s %s its fair share of %s", worst.Shard, humanize.Bytes(worst.Has),
				c.Namespace, off, side, humanize.Bytes(worst.Share))})
	}
}

// chunkSize returns the chunk size in force in bytes.
func (l *ruleRun) chunkSize(c *catalog.CollectionState) int64 {
	return c.DataSizes(l.Settings().MaxChunkSizeBytes).MaxChunkSizeBytes
}

// fewChunks is how many chunks too many nobody minds.
const fewChunks = 20

// fragmentation compares the number of chunks with what the data would need: one
// for each shard and zone range, and as many as they fill.
func (l *ruleRun) fragmentation() {
	if l.gap("chunks") {
		return
	}
	for _, c := range l.sized() {
		if c.Namespace == policy.SessionsNamespace { // the server cuts it into 1,024 chunks, up to 6.0
			continue
		}
		var bytes int64
		for _, data := range c.Sizes {
			bytes += data.Bytes
		}
		has := c.Count().Chunks
		needs := int64(len(c.Owners())) + 2*int64(l.ranges(c)) + bytes/max(1, l.chunkSize(c))
		if has-needs <= fewChunks {
			continue
		}
		share := Quantity{100 * float64(has-needs) / float64(has), Percent}
		l.measured(share, Finding{About: diagnosis.Scope{Namespace: c.Namespace}, Excuse: l.excuse(c),
			Sentence: fmt.Sprintf("%s has %d chunks and needs %d: %s of them could be merged",
				c.Namespace, has, needs, share),
			Commands: []string{defragmenting(l.Release(), c.Namespace)}})
	}
}

// defragmenting is the helper that merges chunks: the server's, or this program's own.
func defragmenting(release catalog.Release, ns string) string {
	if release.Defragments() {
		return fmt.Sprintf("sh.defragment(%q)", ns)
	}
	return fmt.Sprintf("sh.defragment(%q, { pauseBalancing: true })", ns)
}

// ranges counts the zone ranges of a collection.
func (l *ruleRun) ranges(c *catalog.CollectionState) (n int) {
	for _, z := range diagnosis.Zones(l.Snapshot, c.Namespace) {
		n += len(z.Ranges)
	}
	return n
}
