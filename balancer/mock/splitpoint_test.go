package mock

import (
	"encoding/binary"
	"slices"
	"testing"
)

func keysOf(n int) [][]byte {
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = binary.BigEndian.AppendUint32(nil, uint32(i))
	}
	return keys
}

// Spec 02 §9.5, VR-10: 100 documents of one size, keys 0 to 99.
func TestVR10SplitVector(t *testing.T) {
	const size = 1000
	for _, tt := range []struct {
		name string
		req  VectorRequest
		want []int
	}{
		{"the whole in a chunk", VectorRequest{ChunkBytes: 100 * size}, []int{50}},
		{"the median", VectorRequest{Force: true}, []int{50}},
		{"at most 10 documents", VectorRequest{ChunkBytes: 100 * size, MaxKeys: 10}, []int{10, 21, 32, 43, 54, 65, 76, 87, 98}},
		{"three points", VectorRequest{ChunkBytes: 6 * size, MaxPoints: 3}, []int{3, 7, 11}},
	} {
		if got := vectorPoints(keysOf(100), tt.req.piece(size, 100), tt.req.MaxPoints); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// Spec 02 §9.5, VR-09: documents of 1 MiB, chunks of 10 MiB, no limit.
func TestVR09AutoSplit(t *testing.T) {
	for _, tt := range []struct {
		docs              int
		forward, backward []int
	}{
		{10, nil, nil}, {12, nil, nil}, {14, []int{6}, []int{7}}, {18, []int{9}, []int{8}}, {24, []int{7, 15}, []int{16, 8}},
	} {
		keys := keysOf(tt.docs)
		forward := piecePoints(keys, 10, 0)
		slices.Reverse(keys)
		backward := piecePoints(keys, 10, 0)
		for i, at := range backward {
			backward[i] = tt.docs - 1 - at
		}
		if !slices.Equal(forward, tt.forward) || !slices.Equal(backward, tt.backward) {
			t.Errorf("%d documents: %v and backward %v, want %v and %v", tt.docs, forward, backward, tt.forward, tt.backward)
		}
	}
}

// The table of spec 01 §6.8: M = 100 documents a chunk, one point.
func TestRangeThatMoves(t *testing.T) {
	for _, tt := range []struct{ docs, moved int }{
		{50, 50}, {132, 132}, {133, 66}, {134, 66}, {140, 69}, {150, 74}, {179, 89}, {180, 99}, {1000, 99},
	} {
		moved := tt.docs
		if at, ok := firstPiece(keysOf(tt.docs), 100); ok {
			moved = at
		}
		if moved != tt.moved {
			t.Errorf("of %d documents %d move, want %d", tt.docs, moved, tt.moved)
		}
	}
}
