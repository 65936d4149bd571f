package action

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/plan"
)

// besideSettled is an uneven collection beside some in which nothing can happen.
func besideSettled(settled int) string {
	var b strings.Builder
	b.WriteString(`{"shards": [{"id": "s0"}, {"id": "s1"}], "collections": [{"ns": "app.hot", "key": {"k": 1}, "chunks": [`)
	for i := range 9 {
		fmt.Fprintf(&b, `{"shard": "s0", "max": {"k": %d}, "bytes": "150MB", "docs": 1000}, `, i)
	}
	b.WriteString(`{"shard": "s0", "bytes": "150MB", "docs": 1000}]}`)
	for n := range settled {
		fmt.Fprintf(&b, `, {"ns": "app.c%d", "key": {"k": 1}, "chunks": [{"shard": "s%d", "max": {"k": 1}}, {"shard": "s%d"}]}`,
			n, n%2, 1-n%2)
	}
	return b.String() + "]}"
}

// Of a cluster with many chunks plans and forecasts keep only outlines of the collections in
// which nothing happens, and say the same.
func TestLargeClustersAreOutlined(t *testing.T) {
	w := newWorld(t, besideSettled(7), catalog.Release80, 1)
	whole, outlined := Source{Client: w.client}, Source{Client: w.client, maxFullTableChunks: 20}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // as of --timeout
	defer cancel()
	for of, want := range map[*Source]int{&whole: 0, &outlined: 7} {
		s, err := of.Read(ctx, of.withOutlines(ctx, plan.Goal{}, live.ReaderOptions{}))
		if err != nil {
			t.Fatal(err)
		}
		outlines := 0
		for _, c := range s.Collections() {
			if c.Outline != nil {
				outlines++
			}
		}
		if outlines != want {
			t.Errorf("above %d chunks %d outlines, want %d", of.maxFullTableChunks, outlines, want)
		}
	}
	for _, p := range []Plan{{}, {Goal: plan.Goal{Kind: plan.Drain, Shard: "s1"}}} {
		want, err := p.Run(t.Context(), whole, nil)
		if err != nil || len(want.Steps) == 0 {
			t.Fatalf("%+v, %v", want, err)
		}
		got, err := p.Run(t.Context(), outlined, nil)
		if err != nil || !reflect.DeepEqual(got.Steps, want.Steps) || !reflect.DeepEqual(got.Shards, want.Shards) ||
			got.Totals != want.Totals || got.ReachesGoal != want.ReachesGoal || !reflect.DeepEqual(got.Left, want.Left) {
			t.Errorf("%s: %+v, %v, want %+v", p.Goal.Kind, got, err, want)
		}
	}
	want, err := Forecast{}.Run(t.Context(), whole, nil)
	if err != nil || want.Done || want.Moves == 0 {
		t.Fatalf("%+v, %v", want, err)
	}
	got, err := Forecast{}.Run(t.Context(), outlined, nil)
	got.At = want.At // the mock's clock runs
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}
