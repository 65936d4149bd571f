package main

import "testing"

func TestPercentForScripts(t *testing.T) {
	for live, want := range map[uint64]int{
		0: 400, 1 << 20: 400, 12 << 20: 400, 24 << 20: 200, 48 << 20: 100, 1 << 40: 100,
	} {
		if got := percentFor(live); got != want {
			t.Errorf("with %d MiB in use %d %%, want %d", live>>20, got, want)
		}
	}
}
