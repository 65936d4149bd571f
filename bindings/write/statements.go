package write

import (
	"slices"
	"strings"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
)

// InsertOp returns the operation for a document. It adds a missing _id, also to the script's own
// object.
func InsertOp(js *script.Engine, v goja.Value, index int) Op {
	obj, ok := v.(*goja.Object)
	if !ok {
		js.Throw("MongoInvalidArgumentError", "Document must be a valid JavaScript object")
	}
	doc := js.Document(obj)
	if _, has := rawdoc.ID(doc); !has {
		id := bson.NewObjectIDFromTimestamp(js.Clock.Now())
		script.Must(obj.Set("_id", js.Values.ObjectID(id)))
		doc = rawdoc.WithID(doc, id)
	}
	return Op{Kind: Insert, Doc: doc, Index: index}
}

// ParseOptions returns the options that all writes share.
func ParseOptions(js *script.Engine, o *goja.Object) Options {
	opts := Options{Unordered: !script.Flag(o, "ordered", true)}
	if v := script.Property(o, "writeConcern"); v != nil {
		opts.Concern = js.Document(v)
	} else if w := script.Property(o, "w"); w != nil {
		opts.Concern = rawdoc.MustMarshal(bson.D{{Key: "w", Value: js.BSONValue(w)}})
	}
	for _, name := range []string{"bypassDocumentValidation", "comment", "let", "maxTimeMS"} {
		if v := script.Property(o, name); v != nil {
			opts.Extra = append(opts.Extra, bson.E{Key: name, Value: js.BSONValue(v)})
		}
	}
	return opts
}

// ParseUpdateDocument returns an update document or pipeline. It throws for a document without operators,
// like the driver (rules/04-objects §6.3).
func ParseUpdateDocument(js *script.Engine, v goja.Value) *bson.RawValue {
	raw := js.BSONValue(v)
	if !hasOperators(raw) {
		js.Throw("MongoInvalidArgumentError", "Update document requires atomic operators")
	}
	return &raw
}

// hasOperators checks the first field of a document, and of each stage of a pipeline.
func hasOperators(v bson.RawValue) bool {
	if v.Type == bson.TypeArray {
		stages, err := v.Array().Values()
		return err == nil && slices.ContainsFunc(stages, hasOperators)
	}
	doc, ok := v.DocumentOK()
	if !ok {
		return false
	}
	first, err := doc.IndexErr(0)
	return err == nil && strings.HasPrefix(first.Key(), "$")
}

// ParseReplacementDocument returns a document that replaces another; it throws for a document with
// operators.
func ParseReplacementDocument(js *script.Engine, v goja.Value) *bson.RawValue {
	raw := js.BSONValue(v)
	doc, ok := raw.DocumentOK()
	if !ok {
		js.Throw("MongoInvalidArgumentError", "Replacement document must be an object")
	}
	if first, err := doc.IndexErr(0); err == nil && strings.HasPrefix(first.Key(), "$") {
		js.Throw("MongoInvalidArgumentError", "Replacement document must not contain atomic operators")
	}
	return &raw
}

// UpdateOp returns one statement of an update command.
func UpdateOp(js *script.Engine, filter *goja.Object, u *bson.RawValue, options *goja.Object, multi bool) Op {
	st := bson.D{{Key: "q", Value: js.Document(filter)}, {Key: "u", Value: *u}}
	if v := script.Property(options, "upsert"); v != nil {
		st = append(st, bson.E{Key: "upsert", Value: v.ToBoolean()})
	}
	if multi {
		st = append(st, bson.E{Key: "multi", Value: true})
	}
	for _, name := range []string{"arrayFilters", "collation", "hint", "sort"} {
		if v := script.Property(options, name); v != nil {
			st = append(st, bson.E{Key: name, Value: js.BSONValue(v)})
		}
	}
	return Op{Kind: Update, Doc: rawdoc.MustMarshal(st), multi: multi}
}

// DeleteOp returns one statement of a delete command.
func DeleteOp(js *script.Engine, filter, options *goja.Object, one bool) Op {
	limit := int32(0)
	if one {
		limit = 1
	}
	st := bson.D{{Key: "q", Value: js.Document(filter)}, {Key: "limit", Value: limit}}
	for _, name := range []string{"collation", "hint"} {
		if v := script.Property(options, name); v != nil {
			st = append(st, bson.E{Key: name, Value: js.BSONValue(v)})
		}
	}
	return Op{Kind: Delete, Doc: rawdoc.MustMarshal(st), multi: !one}
}

// ParseOperation returns one operation in the argument of bulkWrite: {operation: {…}}.
func ParseOperation(js *script.Engine, item goja.Value, index int) Op {
	entry, _ := item.(*goja.Object)
	if entry == nil || len(entry.Keys()) == 0 {
		ThrowUnknownOperation(js, index)
	}
	name := entry.Keys()[0]
	spec, _ := entry.Get(name).(*goja.Object)
	if spec == nil {
		ThrowUnknownOperation(js, index)
	}
	var op Op
	switch name {
	case "insertOne":
		doc := script.Property(spec, "document")
		if doc == nil {
			doc = spec
		}
		return InsertOp(js, doc, index)
	case "updateOne", "updateMany":
		op = UpdateOp(js, RequireDocument(js, spec, "filter", index),
			ParseUpdateDocument(js, script.OrUndefined(spec.Get("update"))), spec, name == "updateMany")
	case "replaceOne":
		op = UpdateOp(js, RequireDocument(js, spec, "filter", index),
			ParseReplacementDocument(js, script.OrUndefined(spec.Get("replacement"))), spec, false)
	case "deleteOne", "deleteMany":
		op = DeleteOp(js, RequireDocument(js, spec, "filter", index), spec, name == "deleteOne")
	default:
		ThrowUnknownOperation(js, index)
	}
	op.Index = index
	return op
}

// RequireDocument returns a field that must be a document.
func RequireDocument(js *script.Engine, spec *goja.Object, name string, index int) *goja.Object {
	o, _ := script.Property(spec, name).(*goja.Object)
	if o == nil {
		js.Throw("MongoInvalidArgumentError", "bulkWrite operation %d needs a document as its %s", index, name)
	}
	return o
}

// ThrowUnknownOperation throws for an entry with an unknown operation.
func ThrowUnknownOperation(js *script.Engine, index int) {
	js.Throw("MongoInvalidArgumentError",
		"bulkWrite operation %d is none of insertOne, updateOne, updateMany, replaceOne, deleteOne, deleteMany", index)
}
