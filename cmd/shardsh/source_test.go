package main

import (
	"strings"
	"testing"

	"shardsh/balancer/catalog"
)

// What a look left out stands in its answer, and is not said twice.
func TestGapsAreSaidOnce(t *testing.T) {
	s := catalog.NewSnapshot(catalog.SnapshotParts{Source: catalog.Source{Gaps: []catalog.Gap{
		{What: "sizes", Reason: "no answer"}, {Reason: "jumbo chunks were looked for in 100 of 300 collections"},
	}}})
	var out strings.Builder
	printGaps(environment{streams: streams{stderr: &out}}, s)
	if got, want := out.String(), "shardsh: sizes could not be read: no answer\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
