package diagnosis

import "testing"

// What is left is the operator's alone only if the balancer may move none of the chunks: they do
// not count unsharded collections.
func TestStuckDrain(t *testing.T) {
	three := []string{"x.a", "x.b", "x.c"}
	for _, tt := range []struct {
		name string
		d    Drain
		want bool
	}{
		{"chunks and collections", Drain{Chunks: 2, Collections: three}, false},
		{"collections alone", Drain{Collections: three}, true},
		{"chunks that are held", Drain{Chunks: 2, Held: []string{"x.y"}, HeldChunks: 2, Collections: three}, true},
		{"one that is not", Drain{Chunks: 3, Held: []string{"x.y"}, HeldChunks: 2}, false},
		{"unknown", Drain{Chunks: -1, Collections: three}, false},
		{"nothing", Drain{}, false},
	} {
		if got := tt.d.Stuck(); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
