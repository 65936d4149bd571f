package store

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// A collection that is read back from a disk may have the duplicates that it
// had before its index was prepared.
func TestRestoreNextToDuplicates(t *testing.T) {
	raw := func(doc bson.D) bson.Raw {
		data, err := bson.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	spec := IndexSpec{Name: "n_1", Key: raw(bson.D{{Key: "n", Value: 1}}),
		Options: raw(bson.D{{Key: "prepareUnique", Value: true}})}
	c := New()
	if err := c.CreateIndex(spec); err != nil {
		t.Fatal(err)
	}
	for id := range 2 {
		if err := c.Restore(RecordID(id+1), raw(bson.D{{Key: "_id", Value: id}, {Key: "n", Value: 5}})); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Insert(raw(bson.D{{Key: "_id", Value: 9}, {Key: "n", Value: 5}})); err == nil {
		t.Error("a new duplicate came in")
	}
	if groups, err := c.DuplicateGroups("n_1"); err != nil || len(groups) != 1 || len(groups[0]) != 2 {
		t.Errorf("duplicates %v: %v", groups, err)
	}
}
