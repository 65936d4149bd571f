package diagnosis

import (
	"testing"

	"shardsh/balancer/heat"
)

func TestLoadText(t *testing.T) {
	for want, load := range map[string]heat.Load{
		"0 reads and 1 write a second":     {Writes: 1},
		"1 read and 1,200 writes a second": {Reads: 1.2, Writes: 1200},
	} {
		if got := LoadText(load); got != want {
			t.Errorf("%v is %q, want %q", load, got, want)
		}
	}
}
