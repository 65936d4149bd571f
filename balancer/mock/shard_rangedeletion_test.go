package mock

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
)

// Looking a range up finds an overlapping task exactly when there is one, also
// when tasks overlap each other.
func TestDeletionOrder(t *testing.T) {
	doc, err := bson.Marshal(bson.D{{Key: "k", Value: 1}})
	if err != nil {
		t.Fatal(err)
	}
	pattern, err := catalog.ParseKeyPattern(doc)
	if err != nil {
		t.Fatal(err)
	}
	key := func(n int) catalog.Key {
		doc, _ := bson.Marshal(bson.D{{Key: "k", Value: n}})
		k, err := pattern.ParseKey(doc)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	rapid.Check(t, func(rt *rapid.T) {
		s := newShard("s")
		mayOverlap := rapid.Bool().Draw(rt, "tasks may overlap")
		draw := func() *rangeDeletion {
			from := rapid.IntRange(0, 30).Draw(rt, "from")
			uuid := bson.Binary{Subtype: 4, Data: []byte{rapid.Byte().Draw(rt, "uuid") % 2}}
			return &rangeDeletion{coll: deletionTarget{UUID: uuid}, min: key(from),
				max: key(from + rapid.IntRange(1, 5).Draw(rt, "length"))}
		}
		overlapping := func(task *rangeDeletion) bool {
			for _, other := range s.deletions {
				if other.overlaps(task.span()) {
					return true
				}
			}
			return false
		}
		rt.Repeat(map[string]func(*rapid.T){
			"": func(rt *rapid.T) {
				asked := draw()
				found := s.overlappingDeletion(asked.span())
				if want := overlapping(asked); (found != nil) != want || want && !found.overlaps(asked.span()) {
					rt.Fatalf("found %v, want one: %v", found, want)
				}
			},
			"add": func(*rapid.T) {
				if task := draw(); mayOverlap || !overlapping(task) {
					m := &migration{coll: catalog.Collection{UUID: task.coll.UUID}, min: task.min, max: task.max}
					s.addDeletion(m, deletionNow)
				}
			},
			"remove": func(rt *rapid.T) {
				if n := len(s.deletions); n > 0 {
					s.removeDeletion(s.deletions[rapid.IntRange(0, n-1).Draw(rt, "which")])
				}
			},
			"drop": func(rt *rapid.T) {
				if rapid.IntRange(0, 20).Draw(rt, "all") == 0 {
					s.dropDeletions("")
				}
			},
		})
	})
}
