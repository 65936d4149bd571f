package collections

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
)

// The mock stores the definitions of text, geo and wildcard indexes, so that applications that create
// indexes at startup run on it. No query uses these indexes. Queries that work without an index are
// answered; $text and geo queries are rejected.

// indexKind returns the kind of a special index, "" for an ordinary index.
func indexKind(key bson.Raw) string {
	elems, err := key.Elements()
	if err != nil {
		return ""
	}
	for _, e := range elems {
		word, _ := e.Value().StringValueOK()
		if slices.Contains([]string{"text", "2d", "2dsphere"}, word) {
			return word
		}
	}
	for _, e := range elems {
		if e.Key() == "$**" || strings.HasSuffix(e.Key(), ".$**") {
			return "wildcard"
		}
	}
	return ""
}

// kindByOption are the options of special indexes by kind. Indexes of other kinds may have them too, with
// two exceptions.
var kindByOption = map[string]string{
	"weights": "text", "default_language": "text", "language_override": "text", "textIndexVersion": "text",
	"2dsphereIndexVersion": "2dsphere", "bits": "2d", "min": "2d", "max": "2d", "wildcardProjection": "wildcard",
}

// completeSpecialIndex adds to the definition of a special index what a server adds. It returns the requested
// options of that kind.
func completeSpecialIndex(spec *store.IndexSpec, asked bson.D) (bson.D, error) {
	kind := indexKind(spec.Key)
	for _, o := range asked {
		v, _ := o.Value.(bson.RawValue)
		if err := checkTextOption(o.Key, v); err != nil {
			return nil, err
		}
		if kindByOption[o.Key] != kind && (o.Key == "weights" || o.Key == "wildcardProjection") {
			return nil, mongoerr.New(mongoerr.CannotCreateIndex, "The field '%s' is only for indexes of type %s", o.Key,
				kindByOption[o.Key])
		}
	}
	if spec.Unique && (kind == "text" || kind == "wildcard") {
		return nil, mongoerr.New(mongoerr.CannotCreateIndex, "Index type '%s' does not support the unique option", kind)
	}
	switch kind {
	case "text":
		return completeTextIndex(spec, asked)
	case "2dsphere":
		return withDefaults(asked, bson.D{{Key: "2dsphereIndexVersion", Value: int32(3)}}), nil
	}
	return asked, nil
}

// checkTextOption rejects text index options of the wrong type.
func checkTextOption(name string, v bson.RawValue) error {
	switch {
	case name == "weights" && (v.Type == bson.TypeString || v.Type == bson.TypeArray):
		return mongoerr.New(mongoerr.CannotCreateIndex, "text index option 'weights' must be an object")
	case name == "weights" && v.Type != bson.TypeEmbeddedDocument:
		return mongoerr.New(mongoerr.TypeMismatch, "The field 'weights' must be an object, but got %s", args.TypeName(v.Type))
	case (name == "default_language" || name == "language_override") && v.Type != bson.TypeString:
		return mongoerr.New(mongoerr.TypeMismatch, "The field '%s' must be a string, but got %s", name, args.TypeName(v.Type))
	}
	return nil
}

// completeTextIndex stores the text fields as weights. Like the server, it replaces them in the key, at the
// place of the first one, by _fts and _ftsx.
func completeTextIndex(spec *store.IndexSpec, asked bson.D) (bson.D, error) {
	elems, err := spec.Key.Elements()
	if err != nil {
		return nil, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	key, weights := bson.D{}, bson.D{}
	for _, e := range elems {
		if word, _ := e.Value().StringValueOK(); word != "text" {
			key = append(key, bson.E{Key: e.Key(), Value: e.Value()})
			continue
		}
		if len(weights) == 0 {
			key = append(key, bson.E{Key: "_fts", Value: "text"}, bson.E{Key: "_ftsx", Value: int32(1)})
		}
		if e.Key() != "_fts" {
			weights = append(weights, bson.E{Key: e.Key(), Value: int32(1)})
		}
	}
	for _, o := range asked {
		if given, isDoc := o.Value.(bson.RawValue).DocumentOK(); o.Key == "weights" && isDoc {
			var heavier bson.D
			if err := bson.Unmarshal(given, &heavier); err != nil {
				return nil, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
			}
			weights = withDefaults(heavier, weights)
		}
	}
	slices.SortFunc(weights, func(a, b bson.E) int { return strings.Compare(a.Key, b.Key) })
	spec.Key, err = bson.Marshal(key)
	if err != nil {
		return nil, err
	}
	asked = slices.DeleteFunc(asked, func(e bson.E) bool { return e.Key == "weights" })
	return append(bson.D{{Key: "weights", Value: weights}}, withDefaults(asked, bson.D{
		{Key: "default_language", Value: "english"}, {Key: "language_override",
			Value: "language"}, {Key: "textIndexVersion", Value: int32(3)},
	})...), nil
}

// withDefaults adds the defaults that doc lacks.
func withDefaults(doc, defaults bson.D) bson.D {
	for _, e := range defaults {
		if !slices.ContainsFunc(doc, func(have bson.E) bool { return have.Key == e.Key }) {
			doc = append(doc, e)
		}
	}
	return doc
}
