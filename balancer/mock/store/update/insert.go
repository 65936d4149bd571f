package update

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
	"shardsh/balancer/mongoerr"
)

// PrepareInsert returns the document in the form in which it is stored, with _id as the first field. If
// the document has no _id, newID creates one; a nil newID creates a random one. It rejects an _id that
// is an array, a regular expression or undefined (53), and a document larger than 16 MB (10334).
func PrepareInsert(doc bson.Raw, newID func() bson.ObjectID) (bson.Raw, error) {
	name, id, ok := document.FirstField(doc)
	if !ok || name != "_id" {
		if id = document.Lookup(doc, "_id"); value.IsMissing(id) {
			if newID == nil {
				newID = bson.NewObjectID
			}
			id = value.ObjectID(newID())
		}
		b, start := document.Open(make([]byte, 0, len(doc)+17))
		b = document.Append(b, "_id", id)
		for n, v := range document.Fields(doc) {
			if string(n) != "_id" {
				b = document.Append(b, n, v)
			}
		}
		doc = document.Close(b, start)
	}
	switch id.Type {
	case bson.TypeArray, bson.TypeRegex, bson.TypeUndefined:
		return nil, servererr.New(mongoerr.InvalidIdField, "The '_id' value cannot be of type %s", value.TypeName(id))
	case bson.TypeEmbeddedDocument:
		for n := range document.Fields(id.Value) {
			if len(n) > 0 && n[0] == '$' {
				return nil, servererr.New(mongoerr.DollarPrefixedFieldName,
					"_id fields may not contain '$'-prefixed fields: %s is not valid for storage.", n)
			}
		}
	}
	if len(doc) > document.MaxSize {
		return nil, servererr.New(mongoerr.BSONObjectTooLarge, "object to insert too large. size in bytes: %d, max size: %d",
			len(doc), document.MaxSize)
	}
	return doc, nil
}
