package mock

import (
	"encoding/binary"
	"testing"
)

func keysOf(n int) [][]byte {
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = binary.BigEndian.AppendUint32(nil, uint32(i))
	}
	return keys
}

// The table of rules/01-selection §6.8: M = 100 documents a chunk, one point.
func TestRangeThatMoves(t *testing.T) {
	for _, tt := range []struct{ docs, moved int }{
		{50, 50}, {132, 132}, {133, 66}, {134, 66}, {140, 69}, {150, 74}, {179, 89}, {180, 99}, {1000, 99},
	} {
		moved := tt.docs
		if at, ok := firstSplitPoint(keysOf(tt.docs), 100); ok {
			moved = at
		}
		if moved != tt.moved {
			t.Errorf("of %d documents %d move, want %d", tt.docs, moved, tt.moved)
		}
	}
}
