package anonymous

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// fieldKind says what the texts in a field of a stored document are.
type fieldKind uint8

const (
	isText    fieldKind = iota // depends on nothing
	isName                     // of a shard, host, zone, namespace, alone or in a list
	isWord                     // of the server's own
	isBound                    // a key
	isPattern                  // a shard key
)

// kinds has the fields of config's documents, at any depth, that are more than
// texts.
var kinds = map[string]fieldKind{
	"_id": isName, "ns": isName, "shard": isName, "from": isName, "to": isName, "tag": isName, "tags": isName,
	"primary": isName, "host": isName, "server": isName, "db": isName, "donor": isName, "recipient": isName,
	"donorShard": isName, "recipientShard": isName, "toShard": isName, "fromShard": isName, "owningShard": isName,
	"collection": isName, "zone": isName, "shards": isName, "uuid": isName, "source": isName, "target": isName,

	"what": isWord, "note": isWord, "mode": isWord, "state": isWord, "start": isWord, "stop": isWord, "w": isWord,
	"day": isWord, "mongoVersion": isWord, "version": isWord, "defragmentationPhase": isWord, "phase": isWord,
	"codeName": isWord, "level": isWord, "provenance": isWord, "locale": isWord,

	"min": isBound, "max": isBound, "middle": isBound, "splitKeys": isBound,
	"key": isPattern, "shardKey": isPattern, "oldKey": isPattern, "newKey": isPattern,
}

// settings are the names of config.settings' documents.
var settings = map[string]bool{
	"balancer": true, "chunksize": true, "autosplit": true, "automerge": true, "ReadWriteConcernDefaults": true,
}

// document replaces what is in a stored document.
func (w walk) document(doc bson.Raw) (bson.Raw, error) {
	return w.fields(doc, func(name string, v bson.RawValue) (string, bson.RawValue, error) {
		v, err := w.stored(kinds[name], v)
		return name, v, err
	})
}

func (w walk) stored(kind fieldKind, v bson.RawValue) (bson.RawValue, error) {
	inside, isDoc := v.DocumentOK()
	array, isArray := v.ArrayOK()
	text, isString := v.StringValueOK()
	switch {
	case isArray:
		list, err := w.fields(bson.Raw(array), func(i string, v bson.RawValue) (string, bson.RawValue, error) {
			v, err := w.stored(kind, v)
			return i, v, err
		})
		return bson.RawValue{Type: v.Type, Value: list}, err
	case isDoc:
		part := w.document
		switch kind {
		case isBound:
			part = w.bound
		case isPattern:
			part = w.patternDoc
		}
		next, err := part(inside)
		return bson.RawValue{Type: v.Type, Value: next}, err
	case !isString || kind == isWord || kind == isName && settings[text]:
		return v, nil
	case kind == isName && strings.Contains(text, "/"):
		return stringValue(w.host(text)), nil
	case kind == isName:
		return stringValue(w.name(text)), nil
	}
	return stringValue(w.text(text)), nil
}

// patternDoc replaces the fields of a shard key, whose values say nothing.
func (w walk) patternDoc(doc bson.Raw) (bson.Raw, error) {
	return w.fields(doc, func(name string, v bson.RawValue) (string, bson.RawValue, error) {
		return w.name(name), v, nil
	})
}

// bound replaces the fields and values of a key. A value may be a document with
// fields of its own.
func (w walk) bound(doc bson.Raw) (bson.Raw, error) {
	return w.fields(doc, func(name string, v bson.RawValue) (string, bson.RawValue, error) {
		v, err := w.leaf(v)
		return w.name(name), v, err
	})
}

func (w walk) leaf(v bson.RawValue) (bson.RawValue, error) {
	switch v.Type {
	case bson.TypeMinKey, bson.TypeMaxKey, bson.TypeNull, bson.TypeUndefined, bson.TypeBoolean:
		return v, nil
	case bson.TypeEmbeddedDocument:
		doc, err := w.bound(v.Document())
		return bson.RawValue{Type: v.Type, Value: doc}, err
	}
	return w.value(v)
}

// fields makes a document of the fields that by returns for those of another.
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
