package policy

import (
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// sessions is config.system.sessions with chunks that begin at these first
// bytes of the UUID.
func sessions(t *testing.T, begins ...byte) *catalog.RoutingTable {
	t.Helper()
	raw, err := bson.Marshal(bson.D{{Key: "_id", Value: int32(1)}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := catalog.ParseKeyPattern(raw)
	if err != nil {
		t.Fatal(err)
	}
	bounds := []catalog.Key{p.GlobalMin()}
	for _, b := range begins {
		k, err := sessionsPoint(p, uint64(b)<<56)
		if err != nil {
			t.Fatal(err)
		}
		bounds = append(bounds, k)
	}
	bounds = append(bounds, p.GlobalMax())
	table, err := catalog.NewRoutingTable(p, bson.ObjectID{1}, bson.Timestamp{T: 1}, func(yield func(catalog.Chunk) bool) {
		for i := range len(bounds) - 1 {
			c := catalog.Chunk{Min: bounds[i], Max: bounds[i+1], Shard: "a", Version: catalog.ChunkVersion{Major: 1, Minor: uint32(i)}}
			if !yield(c) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// rules/01-rounds-and-settings §5.4.
func TestSplitsOfSessions(t *testing.T) {
	for _, tt := range []struct {
		name   string
		least  int
		begins []byte
		want   []string // a split: the first byte of each point
	}{
		{"four parts", 4, nil, []string{"40 80 c0"}},
		{"rounded up to a power of two", 3, nil, []string{"40 80 c0"}},
		{"eight parts", 5, nil, []string{"20 40 60 80 a0 c0 e0"}},
		{"boundaries there already", 4, []byte{0x80}, []string{"40", "c0"}},
		{"a boundary elsewhere", 4, []byte{0x90}, []string{"40 80", "c0"}},
		{"as many chunks as wanted", 3, []byte{0x10, 0x20}, nil},
		{"one chunk is enough", 1, nil, nil},
		{"two parts", 2, nil, []string{"80"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			table := sessions(t, tt.begins...)
			var got []string
			for _, s := range SessionsSplits(table, tt.least) {
				line := ""
				for _, p := range s.Points {
					uuid := table.Pattern().Bound(p).Lookup("_id", "id")
					_, data := uuid.Binary()
					line += fmt.Sprintf(" %02x", data[0])
					for _, b := range data[1:] {
						if b != 0 {
							t.Errorf("point %x has more than its first bits", data)
						}
					}
				}
				if s.Namespace != SessionsNamespace || s.Shard != "a" || s.Points[0].Compare(s.Min) <= 0 {
					t.Errorf("split %+v", s)
				}
				got = append(got, line[1:])
			}
			same(t, "splits", got, tt.want)
		})
	}
	if n := len(SessionsSplits(sessions(t), 1024)[0].Points); n != 1023 {
		t.Errorf("%d points by default, want 1023", n)
	}
	other := stage(t, `{"shards":[{"id":"a"}],"layout":[["a",1]]}`).situation(t)
	if got := SessionsSplits(other.Table, 4); got != nil {
		t.Errorf("splits %v of another shard key", got)
	}
}
