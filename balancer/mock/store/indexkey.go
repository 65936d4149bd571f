package store

import (
	"bytes"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/paths"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
	"shardsh/balancer/mongoerr"
)

// indexKeys are the entries of one document in one index.
type indexKeys struct {
	keys       [][]byte // ascending and distinct
	arrayPaths []string // path prefixes at which the document has an array
	buf        []byte   // buffer of a single key, reused for the next document
}

func (k indexKeys) equal(o indexKeys) bool {
	return slices.Equal(k.arrayPaths, o.arrayPaths) && slices.EqualFunc(k.keys, o.keys, bytes.Equal)
}

// append encodes one field of a key; a missing value counts as null.
func (f indexField) append(dst []byte, v value.Value) []byte {
	if value.IsMissing(v) {
		v = value.Null()
	}
	if f.hashed {
		return keyorder.AppendInt64(dst, keyorder.Hash(v))
	}
	return keyorder.Append(dst, v)
}

// keysOf returns the entries of a document. An array has one entry for each element. It fails for two
// parallel arrays (171) and for an array in a hashed field (16766).
func (ix *Index) keysOf(doc bson.Raw) (keys indexKeys, err error) {
	err = ix.readKeys(&keys, doc)
	return keys, err
}

// readKeys is like keysOf and reuses the memory of into.
func (ix *Index) readKeys(into *indexKeys, doc bson.Raw) (err error) {
	into.keys, into.arrayPaths = into.keys[:0], nil
	if ix.special || ix.partialFilter != nil && !ix.partialFilter.Match(doc) {
		return nil
	}
	key, found, plain := ix.keyWithoutArrays(into.buf[:0], doc)
	if plain {
		if into.buf = key; found || !ix.spec.Sparse {
			into.keys = append(into.keys, key)
		}
		return nil
	}
	x, err := ix.keysWithArrays(doc, nil)
	into.keys, into.arrayPaths = x.out.keys, x.out.arrayPaths
	return err
}

// keyWithoutArrays appends the only key of a document without arrays in indexed fields. found reports whether
// the document has any of the fields. plain is false if the document may have arrays.
func (ix *Index) keyWithoutArrays(dst []byte, doc bson.Raw) (key []byte, found, plain bool) {
	for _, f := range ix.fields {
		v := value.Object(doc)
		for _, name := range f.path {
			if value.IsArray(v) {
				return dst, false, false
			}
			if !value.IsObject(v) {
				v = value.Value{}
				break
			}
			v = document.Lookup(v.Value, name)
		}
		if value.IsArray(v) {
			return dst, false, false
		}
		found = found || !value.IsMissing(v)
		dst = f.append(dst, v)
	}
	return dst, found, true
}

// keysWithArrays computes the entries of a document with arrays. If shownKey is one of them, its values are
// kept.
func (ix *Index) keysWithArrays(doc bson.Raw, shownKey []byte) (keyExtraction, error) {
	x := keyExtraction{ix: ix, duplicateKey: shownKey}
	at := make([]paths.Position, len(ix.fields))
	for i, f := range ix.fields {
		at[i] = paths.Position{Value: value.Object(doc), Rest: f.path}
	}
	if err := x.expand(at); err != nil {
		return x, err
	}
	if len(x.out.keys) > 1 {
		slices.SortFunc(x.out.keys, bytes.Compare)
		x.out.keys = slices.CompactFunc(x.out.keys, bytes.Equal)
	}
	return x, nil
}

type keyExtraction struct {
	ix              *Index
	out             indexKeys
	duplicateKey    []byte        // the key that an error message shows; nil for none
	duplicateValues []value.Value // its values
}

// expand follows every field to its value or to the first array. It emits a key if there is no array,
// and otherwise continues with each element of the array.
func (k *keyExtraction) expand(at []paths.Position) error {
	var arr value.Value
	var through string // the field that leads to the array
	at = slices.Clone(at)
	for i := range at {
		at[i].Follow()
		v := at[i].Value
		if !value.IsArray(v) || at[i].Done {
			continue
		}
		if k.ix.fields[i].hashed {
			return servererr.NewCode(16766, "hashed indexes do not currently support array values. Found array at path: %s",
				k.ix.fields[i].name)
		}
		if !value.IsMissing(arr) && &arr.Value[0] != &v.Value[0] {
			return servererr.New(171, "cannot index parallel arrays [%s] [%s]", k.ix.fields[i].name, through)
		}
		arr, through = v, k.ix.fields[i].name
	}
	if value.IsMissing(arr) {
		k.emit(at)
		return nil
	}
	k.recordArrays(at)
	elements := document.Items(arr)
	if len(elements) == 0 {
		for i := range at {
			if value.IsArray(at[i].Value) && !at[i].Done {
				at[i] = at[i].ForEmptyArray()
			}
		}
		return k.expand(at)
	}
	for _, e := range elements {
		next := slices.Clone(at)
		for i := range next {
			if value.IsArray(next[i].Value) && !next[i].Done {
				next[i] = next[i].ForElement(e)
			}
		}
		if err := k.expand(next); err != nil {
			return err
		}
	}
	return nil
}

// recordArrays records the path prefixes of arrays.
func (k *keyExtraction) recordArrays(at []paths.Position) {
	for i, p := range at {
		if !value.IsArray(p.Value) || p.Done {
			continue
		}
		path := k.ix.fields[i].path
		before := strings.Join(path[:len(path)-len(p.Rest)], ".")
		if !slices.Contains(k.out.arrayPaths, before) {
			k.out.arrayPaths = append(k.out.arrayPaths, before)
		}
	}
}

func (k *keyExtraction) emit(at []paths.Position) {
	if k.ix.spec.Sparse && !slices.ContainsFunc(at, func(p paths.Position) bool { return !value.IsMissing(p.Value) }) {
		return
	}
	key := make([]byte, 0, 16*len(at))
	for i, p := range at {
		key = k.ix.fields[i].append(key, p.Value)
	}
	if k.duplicateValues == nil && k.duplicateKey != nil && bytes.Equal(key, k.duplicateKey) {
		for _, p := range at {
			k.duplicateValues = append(k.duplicateValues, p.Value)
		}
	}
	k.out.keys = append(k.out.keys, key)
}

// duplicateKeyError returns the error of a unique index (11000) for a key of the document that another
// document has.
func (ix *Index) duplicateKeyError(ns string, doc bson.Raw, taken []byte) error {
	x, err := ix.keysWithArrays(doc, taken)
	if err != nil {
		return err
	}
	var shown strings.Builder
	var keyValue bson.D
	for i, f := range ix.fields {
		v := x.duplicateValues[i]
		if value.IsMissing(v) {
			v = value.Null()
		}
		if f.hashed {
			v = value.Int64(keyorder.Hash(v))
		}
		if i > 0 {
			shown.WriteString(", ")
		}
		shown.WriteString(f.name + ": " + document.Text(v))
		keyValue = append(keyValue, bson.E{Key: f.name, Value: v})
	}
	duplicate := mongoerr.New(mongoerr.DuplicateKey, "E11000 duplicate key error collection: %s index: %s dup key: { %s }",
		ns, ix.spec.Name, shown.String())
	duplicate.Extra = bson.D{{Key: "keyPattern", Value: ix.spec.Key}, {Key: "keyValue", Value: keyValue}}
	return duplicate
}
