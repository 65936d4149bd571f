package runner

import (
	"context"
	"errors"
	"testing"
	"time"

	"shardsh/balancer"
	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/heat"
)

type standingClock struct{}

func (standingClock) Now() time.Time                             { return time.Unix(1e9, 0) }
func (standingClock) Sleep(context.Context, time.Duration) error { return nil }

// A collection may be dropped after its moves were chosen.
func TestMovesOfADroppedCollectionAreLeftOut(t *testing.T) {
	r := &run{o: Options{Clock: standingClock{}}}
	r.round.catalog = &Catalog{}
	p := snaptest.IntPattern(t)
	list, err := r.chosenMoves(t.Context(), heat.Decision{Steps: []heat.Step{
		{Namespace: "x.a", Min: snaptest.IntKey(t, p, 1), Max: snaptest.IntKey(t, p, 2), From: "a", To: "b"},
	}})
	if err != nil || len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
}

type silentCluster struct{ Cluster }

var errSilent = errors.New("no answer")

func (silentCluster) ReadCatalog(context.Context, []string, *Catalog) (*Catalog, error) {
	return nil, errSilent
}

// A routing table that has changed and could not be read is read again, instead of the old one.
func TestChangedTablesAreReadAgainAfterAnError(t *testing.T) {
	r := &run{cluster: silentCluster{}}
	r.round.catalog = &Catalog{Routings: map[string]balancer.Routing{"x.a": {}}}
	r.noteChanged("x.a")
	for range 2 {
		if _, _, err := r.readRouting(t.Context(), "x.a"); !errors.Is(err, errSilent) {
			t.Errorf("%v", err)
		}
	}
}
