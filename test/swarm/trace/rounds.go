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

// CheckRounds is S1 to S5 and S7 to S9: what the rounds of the balancer choose, how they
// follow one another, and that there is none without a balancer. throttle is the least time between two batches, in
// microseconds.
func CheckRounds(throttle int64) Checker {
	return func(t Trace) []Violation {
		r := &rounds{catalog: newCatalog(), throttle: throttle, ended: -1, open: map[migration]bool{}}
		for _, e := range t {
			r.apply(e)
		}
		return r.found
	}
}

type rounds struct {
	catalog  *catalog
	throttle int64
	found    []Violation

	donorsInZone   bool // who gives data of a zone to even out sizes is in it
	balancerEnded  bool // the balancer does not run
	inRound        bool
	entriesAtBegin map[[2]string]Entry // the catalog's documents when the round began
	number         int64               // of rounds that have ended, in the term
	term           int64
	busy           []string // shards of migrations of the round
	moved          bool     // the round has moved something

	open  map[migration]bool // migrations of the balancer
	ended int64              // when the last batch has; -1 for never
	last  int                // number of the event that ended it
}

func (r *rounds) fail(rule string, e Event, format string, args ...any) {
	r.found = append(r.found, Violation{rule, fmt.Sprintf(format, args...), []int{e.Seq}})
}

func (r *rounds) apply(e Event) {
	r.catalog.apply(e)
	switch e.Ev {
	case Start:
		release, _ := catalogs.ReleaseOf(e.Text)
		r.donorsInZone = release.DonorBelongsToZone()
	case BalancerBegin:
		r.balancerEnded = false
	case BalancerEnd:
		if r.balancerEnded = true; r.inRound {
			r.fail("S9", e, "the balancer has ended, and is still in a round")
		}
	case RoundBegin, RoundEnd:
		r.changeRound(e)
	case MigrationStart:
		r.start(e)
	case "migration.clone":
		r.clone(e)
	case MigrationDone, MigrationFailed:
		m := migrationOf(e)
		m.min = MinKey // which may not have been known
		if e.By == "balancer" && r.open[m] {
			delete(r.open, m)
			r.ended, r.last = e.T, e.Seq
		}
	}
}

func (r *rounds) changeRound(e Event) {
	if e.Term != r.term {
		r.term, r.number, r.inRound = e.Term, 0, false
		r.ended = -1 // a new primary knows nothing of the batch before
		clear(r.open)
		if e.Ev == RoundEnd {
			return // of the term before
		}
	}
	if e.Ev == RoundBegin {
		if r.balancerEnded {
			r.fail("S9", e, "a round begins, and the balancer has ended")
		}
		if e.Number < r.number {
			r.fail("S8", e, "the number of rounds falls from %d to %d", r.number, e.Number)
		}
		r.inRound, r.number, r.busy, r.moved = true, e.Number, nil, false
		r.entriesAtBegin = maps.Clone(r.catalog.entries)
		return
	}
	if r.inRound && e.Number <= r.number { // more than one when rounds with nothing to do follow it at once
		r.fail("S8", e, "a round that ends takes the number from %d to %d", r.number, e.Number)
	}
	r.inRound, r.number = false, e.Number
}

func (r *rounds) start(e Event) {
	if e.By != "balancer" || !r.inRound { // one of the term before may begin late
		return
	}
	m := migrationOf(e)
	m.min = MinKey
	r.open[m] = true
	if slices.Contains(r.busy, e.From) || slices.Contains(r.busy, e.To) {
		r.fail("S1", e, "a second migration of the round with one of %s and %s", e.From, e.To)
	}
	r.busy = append(r.busy, e.From, e.To)
	if !r.moved && r.ended >= 0 && e.T < r.ended+r.throttle {
		r.found = append(r.found, Violation{
			"S7", fmt.Sprintf("a batch begins %d us after the one before", e.T-r.ended),
			[]int{r.last, e.Seq},
		})
	}
	r.moved = true
	if to, known := r.catalog.entry("shards", e.To); known && to.Draining &&
		r.entriesAtBegin[[2]string{"shards", e.To}].Draining {
		r.fail("S2", e, "the balancer moves to %s, which is draining", e.To)
	}
	from, _ := r.catalog.entry("shards", e.From)
	if chunk, there := r.catalog.chunks[e.NS][boundOf(e.Min)]; e.Min != nil && there && chunk.Jumbo && !from.Draining {
		r.fail("S4", e, "the balancer moves %s, which is jumbo", chunk)
	}
}

// clone looks at a migration whose bounds are known. What has changed since the round began may not have
// been seen.
func (r *rounds) clone(e Event) {
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
	evens := r.donorsInZone && e.Reason == "chunksImbalance"
	if evens && was != "" && was == is && !slices.Contains(had, is) && !slices.Contains(has, is) {
		r.fail("S5", e, "the balancer evens out zone %s with a range of %s, which is not in it", is, e.From)
	}
}

// zoneOf returns the zone that all of a range is in.
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

// CheckFence is that no migration of the balancer commits after balancerStop has answered, until
// somebody starts it again. A start that comes while the stop waits for its answer is the later one.
func CheckFence(t Trace) (found []Violation) {
	fence := 0
	asked := map[int]bool{} // stops that no start came after
	for _, e := range t {
		switch {
		case e.Ev == CmdBegin && e.Cmd == "balancerStop":
			asked[e.Op] = true
		case e.Ev == CmdEnd && e.Cmd == "balancerStop" && e.Code == 0 && asked[e.Op]:
			fence = e.Seq
		case e.Ev == CmdBegin && e.Cmd == "balancerStart":
			fence = 0
			clear(asked)
		case e.Ev == MigrationCommitted && e.By == "balancer" && fence > 0:
			found = append(found, Violation{
				"fence", fmt.Sprintf("a migration of %s commits though balancerStop has answered", e.NS),
				[]int{fence, e.Seq},
			})
		}
	}
	return found
}
