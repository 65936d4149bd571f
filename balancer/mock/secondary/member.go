// Package secondary implements a lagging secondary of a shard's replica set, which has the data that its
// primary had some time ago. It stores no documents of its own: it records snapshots of the primary's
// collections when they change (snapshots share unchanged data) and uses those that are old enough. The
// package has no clock and no lock: the caller passes the time and holds the cluster's lock.
package secondary

import (
	"iter"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store"
)

// State is the state of a collection on a node, and the node's knowledge of its location. For the name
// of a database it is only the latter.
type State struct {
	// Docs is a snapshot; nil if the node does not have the collection.
	Docs *store.Collection
	// Table is the routing table by which the shard owns documents; nil for an untracked collection.
	Table *catalog.RoutingTable
	// IsPrimaryShard reports whether the shard is the primary of the database.
	IsPrimaryShard bool
}

// version is a state that the primary has had since a time.
type version struct {
	from time.Time
	State
}

// clusterTimeMark is the newest cluster time at a time.
type clusterTimeMark struct {
	from  time.Time
	stamp bson.Timestamp
}

// Member is a lagging secondary.
type Member struct {
	lag time.Duration
	// minReplicated is a lower bound of the time up to which the secondary has replicated. There are no versions
	// from before the lag began, and the secondary does not go back when its lag increases.
	minReplicated    time.Time
	colls            map[string][]version // the oldest version is the secondary's state
	clusterTimeMarks []clusterTimeMark
}

// New returns a secondary that has all of the primary's data now and lags behind it from now on.
func New(lag time.Duration, now time.Time) *Member {
	return &Member{lag: lag, minReplicated: now, colls: map[string][]version{}}
}

// SetLag changes the lag.
func (m *Member) SetLag(lag time.Duration, now time.Time) {
	m.minReplicated = m.replicatedUntil(now)
	m.lag = lag
}

// replicatedUntil returns the time up to which the secondary has replicated.
func (m *Member) replicatedUntil(now time.Time) time.Time {
	if t := now.Add(-m.lag); t.After(m.minReplicated) {
		return t
	}
	return m.minReplicated
}

// CurrentLag returns by how much the secondary lags now: less than lag until that time has passed.
func (m *Member) CurrentLag(now time.Time) time.Duration { return now.Sub(m.replicatedUntil(now)) }

// stepsPerLag is the number of steps of a lag: changes of the primary within one step, or within a
// millisecond, come together.
const stepsPerLag = 1000

// stepStart returns the beginning of the step that contains a time. For a time after floor it returns a time
// after floor, so that a write after the lag began is not replicated at once.
func (m *Member) stepStart(now time.Time) time.Time {
	t := now.Truncate(min(max(m.lag/stepsPerLag, time.Millisecond), max(m.lag, 1)))
	switch {
	case t.After(m.minReplicated):
		return t
	case now.After(m.minReplicated):
		return m.minReplicated.Add(1)
	}
	return m.minReplicated
}

// Record records the states of the primary that have changed. names are its collections and their
// databases; stateOf returns the state of a name, which may be a dropped collection. The caller must call
// Record before time advances.
func (m *Member) Record(now time.Time, stamp bson.Timestamp, names iter.Seq[string], stateOf func(ns string) State) {
	from, old := m.stepStart(now), m.replicatedUntil(now)
	for ns := range m.colls {
		m.recordState(ns, from, old, stateOf(ns))
	}
	for ns := range names {
		if _, known := m.colls[ns]; !known {
			m.recordState(ns, from, old, stateOf(ns))
		}
	}
	switch n := len(m.clusterTimeMarks); {
	case n > 0 && m.clusterTimeMarks[n-1].stamp == stamp:
	case n > 0 && m.clusterTimeMarks[n-1].from.Equal(from):
		m.clusterTimeMarks[n-1].stamp = stamp
	default:
		m.clusterTimeMarks = append(m.clusterTimeMarks, clusterTimeMark{from, stamp})
	}
	for len(m.clusterTimeMarks) > 1 && !m.clusterTimeMarks[1].from.After(old) {
		m.clusterTimeMarks = m.clusterTimeMarks[1:]
	}
}

func (m *Member) recordState(ns string, from, old time.Time, s State) {
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
	case len(list) == past+1 && list[past].Docs == nil && !list[past].IsPrimaryShard:
		delete(m.colls, ns) // also dropped on the secondary
		return
	default:
		list = slices.Delete(list, 0, past)
	}
	m.colls[ns] = list
}

// State returns the state of a collection on the secondary.
func (m *Member) State(ns string, now time.Time) State {
	list := m.colls[ns]
	if len(list) == 0 {
		return State{}
	}
	has := m.replicatedUntil(now)
	for _, v := range slices.Backward(list) {
		if !has.Before(v.from) {
			return v.State
		}
	}
	return State{} // created after the secondary's time
}

// Knows reports whether the collection exists on the shard or was dropped recently.
func (m *Member) Knows(ns string) bool { return len(m.colls[ns]) > 0 }

// NextChange returns when the secondary will have another state of one of the given collections or
// databases. It returns false if the secondary has the primary's state. A nil Member is the primary itself.
func (m *Member) NextChange(now time.Time, names ...string) (at time.Time, ok bool) {
	if m == nil {
		return time.Time{}, false
	}
	has := m.replicatedUntil(now)
	for _, name := range names {
		for _, v := range m.colls[name] {
			if due := v.from.Add(m.lag); v.from.After(has) && (!ok || due.Before(at)) {
				at, ok = due, true
			}
		}
	}
	return at, ok
}

// ClusterTime returns the newest cluster time up to which the secondary has all writes.
func (m *Member) ClusterTime(now time.Time) (t bson.Timestamp) {
	has := m.replicatedUntil(now)
	for _, k := range m.clusterTimeMarks {
		if !k.from.After(has) {
			t = k.stamp
		}
	}
	return t
}

// WhenReplicated returns when the secondary will have all that was written up to a cluster time. It
// returns false if it already has, or if no cluster time is that high yet. A nil Member is the primary
// itself.
func (m *Member) WhenReplicated(stamp bson.Timestamp, now time.Time) (at time.Time, ok bool) {
	if m == nil {
		return time.Time{}, false
	}
	has := m.replicatedUntil(now)
	for _, k := range m.clusterTimeMarks {
		if !k.stamp.Before(stamp) {
			return k.from.Add(m.lag), k.from.After(has)
		}
	}
	return time.Time{}, false
}
