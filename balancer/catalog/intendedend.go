package catalog

import "go.mongodb.org/mongo-driver/v2/bson"

// IntendedUpperBound returns MaxKey in all fields for a bound that has MaxKey in its first fields and MinKey
// in all others; false for other bounds. Servers completed { x: MaxKey } of a compound key with MinKey,
// so that a range that was meant to reach the end does not contain documents with x: MaxKey.
func IntendedUpperBound(bound bson.Raw) (end bson.Raw, changed bool) {
	elements, err := bound.Elements()
	if err != nil {
		return nil, false
	}
	all, last := bson.D{}, bson.TypeMaxKey
	for i, e := range elements {
		kind := e.Value().Type
		if kind != bson.TypeMaxKey && kind != bson.TypeMinKey || i == 0 && kind == bson.TypeMinKey ||
			kind == bson.TypeMaxKey && last == bson.TypeMinKey {
			return nil, false
		}
		last, all = kind, append(all, bson.E{Key: e.Key(), Value: bson.MaxKey{}})
	}
	if len(elements) == 0 || last != bson.TypeMinKey {
		return nil, false
	}
	end, err = bson.Marshal(all)
	return end, err == nil
}
