package anonymous

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// fieldKind is the kind of strings in a field of a stored document.
type fieldKind uint8

const (
	kindText    fieldKind = iota // nothing depends on it
	kindName                     // a name of a shard, host, zone or namespace, alone or in an array
	kindWord                     // a word of the server
	kindBound                    // a key
	kindPattern                  // a shard key
)

// kinds contains the fields of config's documents, at any depth, whose strings are not of kindText.
var kinds = map[string]fieldKind{
	"_id":            kindName,
	"ns":             kindName,
	"shard":          kindName,
	"from":           kindName,
	"to":             kindName,
	"tag":            kindName,
	"tags":           kindName,
	"primary":        kindName,
	"host":           kindName,
	"server":         kindName,
	"db":             kindName,
	"donor":          kindName,
	"recipient":      kindName,
	"donorShard":     kindName,
	"recipientShard": kindName,
	"toShard":        kindName,
	"fromShard":      kindName,
	"owningShard":    kindName,
	"collection":     kindName,
	"zone":           kindName,
	"shards":         kindName,
	"uuid":           kindName,
	"source":         kindName,
	"target":         kindName,

	"what":                 kindWord,
	"note":                 kindWord,
	"mode":                 kindWord,
	"state":                kindWord,
	"start":                kindWord,
	"stop":                 kindWord,
	"w":                    kindWord,
	"day":                  kindWord,
	"mongoVersion":         kindWord,
	"version":              kindWord,
	"defragmentationPhase": kindWord,
	"phase":                kindWord,
	"codeName":             kindWord,
	"level":                kindWord,
	"provenance":           kindWord,
	"locale":               kindWord,

	"min":       kindBound,
	"max":       kindBound,
	"middle":    kindBound,
	"splitKeys": kindBound,
	"key":       kindPattern,
	"shardKey":  kindPattern,
	"oldKey":    kindPattern,
	"newKey":    kindPattern,
}

// settingIDs contains the _ids of the documents of config.settings.
var settingIDs = map[string]bool{
	"balancer": true, "chunksize": true, "autosplit": true, "automerge": true, "ReadWriteConcernDefaults": true,
}

// document replaces the values in a stored document.
func (w walk) document(doc bson.Raw) (bson.Raw, error) {
	return w.fields(doc, func(name string, v bson.RawValue) (string, bson.RawValue, error) {
		v, err := w.storedValue(kinds[name], v)
		return name, v, err
	})
}

func (w walk) storedValue(kind fieldKind, v bson.RawValue) (bson.RawValue, error) {
	inside, isDoc := v.DocumentOK()
	array, isArray := v.ArrayOK()
	text, isString := v.StringValueOK()
	switch {
	case isArray:
		list, err := w.fields(bson.Raw(array), func(i string, v bson.RawValue) (string, bson.RawValue, error) {
			v, err := w.storedValue(kind, v)
			return i, v, err
		})
		return bson.RawValue{Type: v.Type, Value: list}, err
	case isDoc:
		part := w.document
		switch kind {
		case kindBound:
			part = w.bound
		case kindPattern:
			part = w.patternDoc
		}
		next, err := part(inside)
		return bson.RawValue{Type: v.Type, Value: next}, err
	case !isString || kind == kindWord || kind == kindName && settingIDs[text]:
		return v, nil
	case kind == kindName && strings.Contains(text, "/"):
		return stringValue(w.host(text)), nil
	case kind == kindName:
		return stringValue(w.name(text)), nil
	}
	return stringValue(w.text(text)), nil
}

// patternDoc replaces the field names of a shard key pattern. Its values are not confidential.
func (w walk) patternDoc(doc bson.Raw) (bson.Raw, error) {
	return w.fields(doc, func(name string, v bson.RawValue) (string, bson.RawValue, error) {
		return w.name(name), v, nil
	})
}

// bound replaces the fields and values of a key. A value may be a document with
// fields of its own.
func (w walk) bound(doc bson.Raw) (bson.Raw, error) {
	return w.fields(doc, func(name string, v bson.RawValue) (string, bson.RawValue, error) {
		v, err := w.leafValue(v)
		return w.name(name), v, err
	})
}

func (w walk) leafValue(v bson.RawValue) (bson.RawValue, error) {
	switch v.Type {
	case bson.TypeMinKey, bson.TypeMaxKey, bson.TypeNull, bson.TypeUndefined, bson.TypeBoolean:
		return v, nil
	case bson.TypeEmbeddedDocument:
		doc, err := w.bound(v.Document())
		return bson.RawValue{Type: v.Type, Value: doc}, err
	}
	return w.value(v)
}

// fields returns a document with the fields that by returns for the fields of doc.
func (w walk) fields(doc bson.Raw,
	by func(name string, v bson.RawValue) (string, bson.RawValue, error)) (bson.Raw, error) {
	if doc == nil {
		return nil, nil
	}
	elements, err := doc.Elements()
	if err != nil {
		return nil, err
	}
	next := bsoncore.NewDocumentBuilder()
	for _, e := range elements {
		name, v, err := by(e.Key(), e.Value())
		if err != nil {
			return nil, err
		}
		next.AppendValue(name, bsoncore.Value{Type: bsoncore.Type(v.Type), Data: v.Value})
	}
	return bson.Raw(next.Build()), nil
}

func stringValue(text string) bson.RawValue {
	return bson.RawValue{Type: bson.TypeString, Value: bsoncore.AppendString(nil, text)}
}
