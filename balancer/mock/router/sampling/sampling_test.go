package sampling

import (
	"fmt"
	"testing"
)

// Of queries the newest are kept, so many and of so many collections.
func TestSamplesAreBounded(t *testing.T) {
	var a Analyzer
	for range 3*maxSamples + 7 {
		a.add(Query{command: "find"})
	}
	a.add(Query{command: "count"})
	if len(a.Samples) != maxSamples || cap(a.Samples) > 2*maxSamples {
		t.Errorf("%d samples in the place of %d", len(a.Samples), cap(a.Samples))
	}
	if newest := a.Samples[(a.oldest+maxSamples-1)%maxSamples]; newest.command != "count" {
		t.Error("the newest query is not kept")
	}
	all := Analyzers{}
	for i := range 3 * maxAnalyzers {
		ns := fmt.Sprintf("db.c%d", i)
		all.SetSampling(ns, "full", 50)
		all.SetSampling(ns, "off", 0)
	}
	if len(all) > maxAnalyzers {
		t.Errorf("queries of %d collections are kept", len(all))
	}
}
