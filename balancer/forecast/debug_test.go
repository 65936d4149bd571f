package forecast_test

import (
	"math"
	"os"
	"strconv"
	"testing"
	"time"

	"shardsh/balancer/diagnosis"
	"shardsh/balancer/sim"
)

func TestDebug(t *testing.T) {
	seed, _ := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	d := draw(t, seed)
	history := time.Duration(20 * math.Exp(3*d.chance.Float64()) * float64(time.Minute)) // up to 400 min
	for n := int64(0); n < 10 || d.now(t).Sub(d.begin) < history; n, _ = d.commits(t, nil) {
		d.advance(t, history/4)
	}
	s, _ := d.reader.Read(t.Context())
	t.Log(d.finished(t), diagnosis.Balances(s))
	for _, c := range s.Collections() {
		for _, sh := range s.Shards() {
			t.Log(c.Namespace, sh.ID, c.CountOn(sh.ID), c.Sizes[sh.ID])
		}
	}
	r, err := sim.New(s, sim.Config{Location: time.UTC, IgnoreMode: true})
	if err != nil {
		t.Fatal(err)
	}
	for e := range r.EventsToRest(s.Time().Add(1000 * time.Hour)) {
		t.Log(e.Kind, e.Ended, e.Namespace, e.From, e.To, e.Bytes, e.Err, e.Reason)
	}
	t.Log("rest", r.Now())
	d.goOn(t)
	s, _ = d.reader.Read(t.Context())
	t.Log(d.finished(t), diagnosis.Balances(s))
	n := 0
	for _, x := range s.Parts().Changes {
		if (x.What == "moveChunk.commit" ) && x.Time.After(d.begin.Add(history)) {
			if n++; n < 50 {
			t.Log(x.Time.Format("15:04:05.000"), x.Namespace, x.What, x.Raw.Lookup("details"))
			}
		}
	}
}
