// Package secondary is the second node of a shard's replica set that is behind: it
// has what its primary had some time ago. It keeps no documents of its own. The
// primary's collections are noted as snapshots, which share what has not changed, each
// time that they are others; of these it has those that are old enough. There is no
// clock and no lock here: who has a Member says what time it is, and holds the cluster's.
package secondary

import (
	"iter"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store"
)

// State is what a node has of one collection, and what it knows of where that lies; or,
// by the name of a database alone, what it knows of that.
type State struct {
	// Docs is a snapshot; nil where the node has no such collection.
	Docs *store.Collection
	// Table is by which the shard owns documents; nil of a collection that is not tracked.
	Table *catalog.RoutingTable
	// Home: the shard is the primary of the database.
	Home bool
}

// version is a state that the primary had from a time on.
type version struct {
	from time.Time
	State
}

// mark is the newest logical time that the cluster had given out at a time.
type mark struct {
	from  time.Time
	stamp bson.Timestamp
}

// Member is a secondary.
type Member struct {
	lag time.Duration
	// floor is what it has at least: of before it fell behind there is nothing, and it
	// does not go back when it falls behind by more.
	floor time.Time
	colls map[string][]version // the oldest one is what it has
	marks []mark
}

// New returns the secondary of a primary that it is equal to now, and will be behind
// from now on.
func New(lag time.Duration, now time.Time) *Member {
	return &Member{lag: lag, floor: now, colls: map[string][]version{}}
}

// Fall lets it be behind by more or less from now on.
func (m *Member) Fall(lag time.Duration, now time.Time) {
	m.floor = m.has(now)
	m.lag = lag
}

// has returns up to when it has everything.
func (m *Member) has(now time.Time) time.Time {
	if t := now.Add(-m.lag); t.After(m.floor) {
		return t
	}
	return m.floor
}

// Behind is by how much it is behind: as its lag says only after that time has gone by.
func (m *Member) Behind(now time.Time) time.Duration { return now.Sub(m.has(now)) }

// steps is into how many a lag is divided: changes of the primary within one of them,
// or within a millisecond, come together.
const steps = 1000

// step returns the beginning of the step that a time belongs to. What is written after
// it fell behind is not there at once.
func (m *Member) step(now time.Time) time.Time {
	t := now.Truncate(min(max(m.lag/steps, time.Millisecond), max(m.lag, 1)))
	switch {
	case t.After(m.floor):
		return t
	case now.After(m.floor):
		return m.floor.Add(1)
	}
	return m.floor
}

// Note notes what the primary has now, where it is something else than before. names
// are its collections and their databases, and of tells the state of one of them, or of
// one that is gone.
// It has to be called before time goes by.
func (m *Member) Note(now time.Time, stamp bson.Timestamp, names iter.Seq[string], of func(ns string) State) {
	from, old := m.step(now), m.has(now)
	for ns := range m.colls {
		m.note(ns, from, old, of(ns))
	}
	for ns := range names {
		if _, known := m.colls[ns]; !known {
			m.note(ns, from, old, of(ns))
		}
	}
	switch n := len(m.marks); {
	case n > 0 && m.marks[n-1].stamp == stamp:
	case n > 0 && m.marks[n-1].from.Equal(from):
		m.marks[n-1].stamp = stamp
	default:
		m.marks = append(m.marks, mark{from, stamp})
	}
	for len(m.marks) > 1 && !m.marks[1].from.After(old) {
		m.marks = m.marks[1:]
	}
}

func (m *Member) note(ns string, from, old time.Time, s State) {
	list := m.colls[ns]
	switch n := len(list); {
	case n > 0 && list[n-1].State == s:
	case n > 0 && list[n-1].from.Equal(from):
		list[n-1].State = s
	default:
		list = append(list, version{from, s})
	}
	past := 0
	for past+1 < len(list) && !list[past+1].from.After(old) {
		past++
	}
	switch {
	case past == 0:
	case len(list) == past+1 && list[past].Docs == nil && !list[past].Home:
		delete(m.colls, ns) // it is gone here, too
		return
	default:
		list = slices.Delete(list, 0, past)
	}
	m.colls[ns] = list
}

// State returns what the secondary has of a collection.
func (m *Member) State(ns string, now time.Time) State {
	list := m.colls[ns]
	if len(list) == 0 {
		return State{}
	}
	has := m.has(now)
	for _, v := range slices.Backward(list) {
		if !has.Before(v.from) {
			return v.State
		}
	}
	return State{} // it was made since
}

// Knows reports whether there is, or was not long ago, such a collection on the shard.
func (m *Member) Knows(ns string) bool { return len(m.colls[ns]) > 0 }

// Next returns when the secondary will have another state of one of some collections or
// databases; false where it has the primary's. A nil Member is the primary itself.
func (m *Member) Next(now time.Time, names ...string) (at time.Time, ok bool) {
	if m == nil {
		return time.Time{}, false
	}
	has := m.has(now)
	for _, name := range names {
		for _, v := range m.colls[name] {
			if due := v.from.Add(m.lag); v.from.After(has) && (!ok || due.Before(at)) {
				at, ok = due, true
			}
		}
	}
	return at, ok
}

// ClusterTime is the newest logical time of which it has everything.
func (m *Member) ClusterTime(now time.Time) (t bson.Timestamp) {
	has := m.has(now)
	for _, k := range m.marks {
		if !k.from.After(has) {
			t = k.stamp
		}
	}
	return t
}

// Reaches returns when the secondary will have all that was written up to a logical
// time; false where it has, or nobody has given that time out. A nil Member is the
// primary itself.
func (m *Member) Reaches(stamp bson.Timestamp, now time.Time) (at time.Time, ok bool) {
	if m == nil {
		return time.Time{}, false
	}
	has := m.has(now)
	for _, k := range m.marks {
		if !k.stamp.Before(stamp) {
			return k.from.Add(m.lag), k.from.After(has)
		}
	}
	return time.Time{}, false
}
