package live_test

import (
	"testing"

	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/mock"
)

// A mock that plays a million chunks.
func BenchmarkPictureOfAMillion(b *testing.B) {
	s := snaptest.Large(b, snaptest.Million())
	peak := peakHeap()
	for b.Loop() {
		c, err := mock.New(mock.Config{Metadata: s})
		if err != nil {
			b.Fatal(err)
		}
		c.Close()
	}
	b.ReportMetric(peak(), "peakMB")
}
