package trace

import (
	"fmt"
	"maps"
	"slices"

	catalogs "shardsh/balancer/catalog"
)

// migration identifies a migration in the events.
type migration struct {
	ns, from, to string
	min          Bound
}

func migrationOf(e Event) migration {
	m := migration{ns: e.NS, from: e.From, to: e.To, min: MinKey}
	if e.Min != nil {
		m.min = *e.Min
	}
	return m
}

// CheckRounds checks S1 to S5 and S7 to S9: the choices of the balancer's rounds, the order of rounds,
// and that there are no rounds without a balancer. throttle is the minimum time between two batches in
// microseconds.
func CheckRounds(throttle int64) Checker {
	return func(t Trace) []Violation {
		r := &roundChecker{catalog: newCatalog(), throttleMicros: throttle, lastBatchEnd: -1, open: map[migration]bool{}}
		for _, e := range t {
			r.apply(e)
		}
		return r.found
	}
}

type roundChecker struct {
	catalog        *catalog
	throttleMicros int64
	found          []Violation

	onlyDonorsInZone bool // the release evens out a zone only from donors in the zone
	balancerEnded    bool // the balancer is not running
	inRound          bool
	entriesAtBegin   map[[2]string]Entry // the catalog's documents at the beginning of the round
	endedRounds      int64               // number of the rounds that have ended in the term
	term             int64
	busy             []string // shards of the round's migrations
	moved            bool     // the round has moved data

	open            map[migration]bool // migrations of the balancer
	lastBatchEnd    int64              // time of the end of the last batch; -1 for never
	lastBatchEndSeq int                // number of the event that ended it
}

func (r *roundChecker) fail(rule string, e Event, format string, args ...any) {
	r.found = append(r.found, Violation{rule, fmt.Sprintf(format, args...), []int{e.Seq}})
}

func (r *roundChecker) apply(e Event) {
	r.catalog.apply(e)
	switch e.Kind {
	case Start:
		release, _ := catalogs.ReleaseOf(e.Text)
		r.onlyDonorsInZone = release.DonorBelongsToZone()
	case BalancerBegin:
		r.balancerEnded = false
	case BalancerEnd:
		if r.balancerEnded = true; r.inRound {
			r.fail("S9", e, "the balancer has ended, and is still in a round")
		}
	case RoundBegin, RoundEnd:
		r.changeRound(e)
	case MigrationStart:
		r.checkStart(e)
	case "migration.clone":
		r.checkClone(e)
	case MigrationDone, MigrationFailed:
		m := migrationOf(e)
		m.min = MinKey // the bound may have been unknown
		if e.By == "balancer" && r.open[m] {
			delete(r.open, m)
			r.lastBatchEnd, r.lastBatchEndSeq = e.Micros, e.Seq
		}
	}
}

func (r *roundChecker) changeRound(e Event) {
	if e.Term != r.term {
		r.term, r.endedRounds, r.inRound = e.Term, 0, false
		r.lastBatchEnd = -1 // a new primary does not know the previous batch
		clear(r.open)
		if e.Kind == RoundEnd {
			return // of the previous term
		}
	}
	if e.Kind == RoundBegin {
		if r.balancerEnded {
			r.fail("S9", e, "a round begins, and the balancer has ended")
		}
		if e.Number < r.endedRounds {
			r.fail("S8", e, "the number of rounds falls from %d to %d", r.endedRounds, e.Number)
		}
		r.inRound, r.endedRounds, r.busy, r.moved = true, e.Number, nil, false
		r.entriesAtBegin = maps.Clone(r.catalog.entries)
		return
	}
	if r.inRound && e.Number <= r.endedRounds { // more than one if empty rounds follow at once
		r.fail("S8", e, "a round that ends takes the number from %d to %d", r.endedRounds, e.Number)
	}
	r.inRound, r.endedRounds = false, e.Number
}

func (r *roundChecker) checkStart(e Event) {
	if e.By != "balancer" || !r.inRound { // a migration of the previous term may start late
		return
	}
	m := migrationOf(e)
	m.min = MinKey
	r.open[m] = true
	if slices.Contains(r.busy, e.From) || slices.Contains(r.busy, e.To) {
		r.fail("S1", e, "a second migration of the round with one of %s and %s", e.From, e.To)
	}
	r.busy = append(r.busy, e.From, e.To)
	if !r.moved && r.lastBatchEnd >= 0 && e.Micros < r.lastBatchEnd+r.throttleMicros {
		r.found = append(r.found, Violation{
			"S7", fmt.Sprintf("a batch begins %d us after the one before", e.Micros-r.lastBatchEnd),
			[]int{r.lastBatchEndSeq, e.Seq},
		})
	}
	r.moved = true
	if to, known := r.catalog.entry("shards", e.To); known && to.Draining &&
		r.entriesAtBegin[[2]string{"shards", e.To}].Draining {
		r.fail("S2", e, "the balancer moves to %s, which is draining", e.To)
	}
	from, _ := r.catalog.entry("shards", e.From)
	if chunk, ok := r.catalog.chunks[e.NS][boundOf(e.Min)]; e.Min != nil && ok && chunk.Jumbo && !from.Draining {
		r.fail("S4", e, "the balancer moves %s, which is jumbo", chunk)
	}
}

// checkClone checks a migration whose bounds are known. The balancer may not have seen changes since the
// beginning of the round.
func (r *roundChecker) checkClone(e Event) {
	m := migrationOf(e)
	m.min = MinKey
	if !r.open[m] {
		return
	}
	was, is := zoneOf(r.entriesAtBegin, e), zoneOf(r.catalog.entries, e)
	shard := [2]string{"shards", e.To}
	had, has := r.entriesAtBegin[shard].Zones, r.catalog.entries[shard].Zones
	if was != "" && was == is && !slices.Contains(had, is) && !slices.Contains(has, is) {
		r.fail("S3", e, "the balancer moves a range of zone %s to %s, which is not in it", is, e.To)
	}
	shard[1] = e.From
	had, has = r.entriesAtBegin[shard].Zones, r.catalog.entries[shard].Zones
	evens := r.onlyDonorsInZone && e.Reason == "chunksImbalance"
	if evens && was != "" && was == is && !slices.Contains(had, is) && !slices.Contains(has, is) {
		r.fail("S5", e, "the balancer evens out zone %s with a range of %s, which is not in it", is, e.From)
	}
}

// zoneOf returns the zone that contains a whole range.
func zoneOf(entries map[[2]string]Entry, e Event) string {
	min, max := e.Range()
	for id, tag := range entries {
		if id[0] == "tags" && tag.UUID == e.NS && tag.Min <= min && max <= tag.Max {
			return tag.Zone
		}
	}
	return ""
}

func boundOf(b *Bound) Bound {
	if b == nil {
		return MinKey
	}
	return *b
}

// CheckBalancerStop checks that no migration of the balancer commits between the end of balancerStop and the
// next start. A start that arrives while the stop is waiting counts as later.
func CheckBalancerStop(t Trace) (found []Violation) {
	fence := 0
	asked := map[int]bool{} // stops that were not followed by a start
	for _, e := range t {
		switch {
		case e.Kind == CmdBegin && e.Cmd == "balancerStop":
			asked[e.Op] = true
		case e.Kind == CmdEnd && e.Cmd == "balancerStop" && e.Code == 0 && asked[e.Op]:
			fence = e.Seq
		case e.Kind == CmdBegin && e.Cmd == "balancerStart":
			fence = 0
			clear(asked)
		case e.Kind == MigrationCommitted && e.By == "balancer" && fence > 0:
			found = append(found, Violation{
				"fence", fmt.Sprintf("a migration of %s commits though balancerStop has answered", e.NS),
				[]int{fence, e.Seq},
			})
		}
	}
	return found
}
