package diff_test

import (
	"testing"

	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/diff"
)

// A million chunks that were read twice share nothing.
func BenchmarkMillion(b *testing.B) {
	was, is := snaptest.Large(b, snaptest.Million()), snaptest.Large(b, snaptest.Million())
	b.ResetTimer()
	for range b.N {
		if r := diff.Compare(was, is); !r.Empty() {
			b.Fatalf("%+v", r.Changes)
		}
	}
}
