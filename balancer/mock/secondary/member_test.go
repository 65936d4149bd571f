package secondary_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/mock/secondary"
	"shardsh/balancer/mock/store"
)

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// primary is a node with collections, and what it had at which time.
type primary struct {
	colls map[string]*store.Collection
	now   time.Time
	stamp uint32
	past  []moment
}

type moment struct {
	from  time.Time
	stamp uint32
	shown map[string]string
}

func (p *primary) note(m *secondary.Member) {
	m.Record(p.now, bson.Timestamp{T: 1, I: p.stamp}, maps.Keys(p.colls), func(ns string) secondary.State {
		var s secondary.State
		if c := p.colls[ns]; c != nil {
			s.Docs = c.Snapshot()
		}
		return s
	})
	shown := map[string]string{}
	for ns, c := range p.colls {
		shown[ns] = text(c)
	}
	p.past = append(p.past, moment{p.now, p.stamp, shown})
}

func text(c *store.Collection) string {
	if c == nil {
		return "none"
	}
	var ids []string
	for doc := range c.Documents() {
		ids = append(ids, doc.String())
	}
	return fmt.Sprint(ids)
}

// at returns what a collection was at a time.
func (p *primary) at(t time.Time, ns string) string {
	for _, m := range slices.Backward(p.past) {
		if !m.from.After(t) {
			if shown, there := m.shown[ns]; there {
				return shown
			}
			return "none"
		}
	}
	return "none"
}

// A secondary has what its primary had as long ago as it is behind, to a thousandth of
// that: nothing else, and nothing newer or older. It never goes back, however far it
// falls behind, and says when it has what it has not yet.
func TestASecondaryHasThePast(t *testing.T) {
	names := []string{"a", "b"}
	rapid.Check(t, func(t *rapid.T) {
		p := &primary{now: began, stamp: 1, colls: map[string]*store.Collection{"a": store.New()}}
		lag := time.Duration(rapid.IntRange(1, 30).Draw(t, "lag")) * time.Second
		m := secondary.New(lag, p.now)
		p.note(m)
		floor := began // what it has at least
		id := int32(0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			ns := rapid.SampledFrom(names).Draw(t, "collection")
			switch c := p.colls[ns]; rapid.IntRange(0, 6).Draw(t, "what") {
			case 0:
				delete(p.colls, ns)
			case 1:
				if c != nil && c.Count() > 0 {
					first, _, _ := c.First()
					c.Delete(first)
				}
			case 2:
				floor = later(floor, p.now.Add(-lag))
				lag = time.Duration(rapid.IntRange(1, 30).Draw(t, "other lag")) * time.Second
				p.note(m)
				m.SetLag(lag, p.now)
			default:
				if c == nil {
					c = store.New()
					p.colls[ns] = c
				}
				id++
				doc, _ := bson.Marshal(bson.D{{Key: "_id", Value: id}})
				if _, err := c.Insert(doc); err != nil {
					t.Fatal(err)
				}
			}
			p.stamp++
			p.note(m)
			p.now = p.now.Add(time.Duration(rapid.IntRange(1, 4000).Draw(t, "ms")) * time.Millisecond)
			for _, ns := range names {
				oldest := later(floor, p.now.Add(-lag))
				got := text(m.State(ns, p.now).Docs)
				if !p.had(ns, got, oldest, oldest.Add(30*time.Millisecond)) {
					t.Fatalf("%s of %v ago is %s, and was %s", ns, p.now.Sub(oldest), got, p.at(oldest, ns))
				}
				next, later := m.NextChange(p.now, ns)
				if newest := text(p.colls[ns]); !later && got != newest || later && !next.After(p.now) {
					t.Fatalf("%s: %s, the primary has %s; more comes at %v, %v", ns, got, newest, next, later)
				}
			}
			write := p.past[rapid.IntRange(0, len(p.past)-1).Draw(t, "write")].stamp
			of := p.past[slices.IndexFunc(p.past, func(m moment) bool { return m.stamp == write })]
			at, waits := m.WhenReplicated(bson.Timestamp{T: 1, I: of.stamp}, p.now)
			// What it had at least when it fell behind by more came in the steps of the lag
			// before: it may hold a step more than that.
			const step = 30 * time.Millisecond
			late := of.from.Add(lag).After(p.now.Add(step)) && of.from.After(floor.Add(step))
			if late && !waits || waits && at.After(of.from.Add(lag)) {
				t.Fatalf("what was written at %v is there at %v, %v; it is %v, and %v behind", of.from, at, waits, p.now, lag)
			}
		}
	})
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// had reports whether a collection was this at some time.
func (p *primary) had(ns, text string, from, to time.Time) bool {
	for _, m := range p.past {
		if m.from.After(from) && !m.from.After(to) && p.at(m.from, ns) == text {
			return true
		}
	}
	return p.at(from, ns) == text
}

// What was made after a secondary fell behind is not there before its time, and what was
// dropped is there until then.
func TestWhatIsMadeAndDropped(t *testing.T) {
	p := &primary{now: began, colls: map[string]*store.Collection{"old": store.New()}}
	m := secondary.New(10*time.Second, began)
	p.note(m)
	p.now = began.Add(time.Second)
	delete(p.colls, "old")
	p.colls["new"] = store.New()
	p.note(m)
	for _, tt := range []struct {
		after    time.Duration
		old, new bool
	}{{0, true, false}, {9 * time.Second, true, false}, {10 * time.Second, false, true}} {
		now := p.now.Add(tt.after)
		if m.State("old", now).Docs != nil != tt.old || m.State("new", now).Docs != nil != tt.new {
			t.Errorf("after %v: old %v, new %v", tt.after, m.State("old", now), m.State("new", now))
		}
	}
	p.now = p.now.Add(time.Minute)
	p.note(m)
	if m.Knows("old") || !m.Knows("new") {
		t.Error("what is gone from both nodes is remembered, or what is there is not")
	}
}
