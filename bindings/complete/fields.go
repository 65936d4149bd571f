package complete

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/bindings/server"
)

const (
	// sampleSize is the number of documents that are read for field names, and sampleDepth is the depth
	// to which they are read.
	sampleSize  = 10
	sampleDepth = 3
)

// fieldNames returns the field names of some documents of the collection, where a key of an object is
// typed in a call on the collection. It returns them only after config.set("disableSchemaSampling",
// false): reading a user's data must be the user's decision.
func (s *Completer) fieldNames(t *inputContext) []string {
	in := t.innermost()
	if !s.shell.SamplesFields() || in == nil || in.bracket != '{' || in.key != "" {
		return nil
	}
	callee, _, _, ok := t.call()
	if !ok {
		return nil
	}
	_, on, _ := s.calledFunction(callee)
	d, name := s.shell.NamespaceOf(on.value)
	if name == "" {
		return nil
	}
	database := d.Name
	return s.lists.get(d.Conn.Client, "fields of "+database+"."+name,
		func(ctx context.Context, client *mongo.Client) []string {
			reply := server.RunOrNil(ctx, client, database, bson.D{
				{Key: "aggregate", Value: name}, {Key: "cursor", Value: bson.D{}},
				{Key: "pipeline", Value: bson.A{bson.D{{Key: "$sample", Value: bson.D{{Key: "size", Value: sampleSize}}}}}},
			})
			docs, err := server.FirstBatch(reply).Values()
			if err != nil {
				return nil
			}
			names := []string{}
			for _, doc := range docs {
				names = appendFields(names, "", doc, sampleDepth)
			}
			slices.Sort(names)
			return slices.Compact(names)
		})
}

// appendFields adds the names of a document's fields, and the paths of nested fields.
func appendFields(names []string, prefix string, v bson.RawValue, depth int) []string {
	doc, isDocument := v.DocumentOK()
	if !isDocument || depth == 0 {
		return names
	}
	elements, err := doc.Elements()
	if err != nil {
		return names
	}
	for _, e := range elements {
		names = append(names, prefix+e.Key())
		names = appendFields(names, prefix+e.Key()+".", e.Value(), depth-1)
	}
	return names
}
