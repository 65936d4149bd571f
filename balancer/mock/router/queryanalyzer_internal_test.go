package router

import (
	"fmt"
	"testing"
)

// Of queries the newest are kept, so many and of so many collections.
func TestSamplesAreBounded(t *testing.T) {
	var a analyzer
	for range 3*maxSamples + 7 {
		a.add(sampledQuery{command: "find"})
	}
	a.add(sampledQuery{command: "count"})
	if len(a.samples) != maxSamples || cap(a.samples) > 2*maxSamples {
		t.Errorf("%d samples in the place of %d", len(a.samples), cap(a.samples))
	}
	if newest := a.samples[(a.oldest+maxSamples-1)%maxSamples]; newest.command != "count" {
		t.Error("the newest query is not kept")
	}
	all := analyzers{}
	for i := range 3 * maxAnalyzed {
		ns := fmt.Sprintf("db.c%d", i)
		all.sample(ns, "full", 50)
		all.sample(ns, "off", 0)
	}
	if len(all) > maxAnalyzed {
		t.Errorf("queries of %d collections are kept", len(all))
	}
}
