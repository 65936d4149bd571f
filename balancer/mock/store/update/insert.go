package store

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

// PrepareInsert returns the document as it is stored: _id first, made by newID
// (nil for random ones) when the document has none. It refuses what the server
// does: an _id that is an array, a regular expression or undefined (53), and a
// document beyond 16 MB (10334).
func PrepareInsert(doc bson.Raw, newID func() bson.ObjectID) (bson.Raw, error) {
	name, id, ok := first(doc)
	if !ok || name != "_id" {
		if id = lookup(doc, "_id"); isMissing(id) {
			if newID == nil {
				newID = bson.NewObjectID
			}
			id = objectIDValue(newID())
		}
		b, start := openDocument(make([]byte, 0, len(doc)+17))
		b = appendField(b, "_id", id)
		for n, v := range fields(doc) {
			if string(n) != "_id" {
				b = appendField(b, n, v)
			}
		}
		doc = closeDocument(b, start)
	}
	switch id.Type {
	case bson.TypeArray, bson.TypeRegex, bson.TypeUndefined:
		return nil, serverError(mongoerr.InvalidIdField, "The '_id' value cannot be of type %s", typeName(id))
	case bson.TypeEmbeddedDocument:
		for n := range fields(id.Value) {
			if len(n) > 0 && n[0] == '$' {
				return nil, serverError(mongoerr.DollarPrefixedFieldName,
					"_id fields may not contain '$'-prefixed fields: %s is not valid for storage.", n)
			}
		}
	}
	if len(doc) > MaxDocumentSize {
		return nil, serverError(mongoerr.BSONObjectTooLarge, "object to insert too large. size in bytes: %d, max size: %d",
			len(doc), MaxDocumentSize)
	}
	return doc, nil
}
