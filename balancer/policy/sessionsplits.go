package policy

import (
	"encoding/binary"
	"math/bits"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// SessionsSplits returns the splits of the sessions collection up to 7.0. They divide the collection
// into equal parts by the UUIDs in _id.id: minChunks parts, rounded up to a power of two, as long as
// the collection has fewer chunks than minChunks. Points that are chunk boundaries already are left out
// (rules/01-rounds-and-settings §5.4).
func SessionsSplits(t *catalog.RoutingTable, minChunks int) []Split {
	if t.Len() >= minChunks {
		return nil
	}
	parts := bits.Len(uint(minChunks - 1)) // the number of leading bits of the UUID
	var splits []Split
	for i := uint64(1); i < 1<<parts; i++ {
		point, err := sessionsPoint(t.Pattern(), i<<(64-parts))
		if err != nil {
			return nil // the collection has another shard key
		}
		if c := t.Find(point); !c.Min.Equal(point) {
			splits = addSplitPoint(splits, SessionsNamespace, t, c, point)
		}
	}
	return splits
}

// sessionsPoint returns the bound whose UUID begins with these 64 bits.
func sessionsPoint(p catalog.KeyPattern, high uint64) (catalog.Key, error) {
	uuid := make([]byte, 16)
	binary.BigEndian.PutUint64(uuid, high)
	id := bson.Binary{Subtype: bson.TypeBinaryUUID, Data: uuid}
	bound, err := bson.Marshal(bson.D{{Key: "_id", Value: bson.D{{Key: "id", Value: id}}}})
	if err != nil {
		return catalog.Key{}, err
	}
	return p.ParseKey(bound)
}
