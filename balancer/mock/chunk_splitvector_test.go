package mock

import (
	"fmt"
	"slices"
	"testing"
)

// A recording: 10000 documents of 4142 bytes with keys 0 to 99, pieces for
// chunks of 1 MiB.
func TestVectorPointsAsRecorded(t *testing.T) {
	var keys [][]byte
	for k := range 100 {
		for range 100 {
			keys = append(keys, []byte(fmt.Sprintf("%02d", k)))
		}
	}
	piece := SplitVectorRequest{ChunkBytes: 1 << 20}.keysPerPiece(4142, 10000)
	var got []string
	for _, at := range splitVectorPoints(keys, piece, 0) {
		got = append(got, string(keys[at]))
	}
	begin := []string{"01", "02", "03", "05", "06", "07", "08", "10", "11", "12", "13", "15", "16", "17", "19", "20", "21",
		"22", "24", "25"}
	end := []string{"90", "91", "92", "93", "95", "96", "97", "99"}
	if len(got) != 78 || !slices.Equal(got[:len(begin)], begin) || !slices.Equal(got[len(got)-len(end):], end) {
		t.Errorf("%d points: %v", len(got), got)
	}
	if few := splitVectorPoints(keys, piece, 3); len(few) != 3 {
		t.Errorf("%d points, want 3", len(few))
	}
}
