package store

import (
	"bytes"
	"iter"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/store/paths"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/tree"
	"shardsh/balancer/mock/store/value"
	"shardsh/balancer/mongoerr"
)

// IndexSpec says what an index is on. Options holds whatever else the index
// was created with, as given; of it only partialFilterExpression has a meaning
// here.
type IndexSpec struct {
	Name           string
	Key            bson.Raw
	Unique, Sparse bool
	Options        bson.Raw
}

// Doc returns the index as listIndexes shows it.
func (s IndexSpec) Doc() bson.D {
	doc := bson.D{{Key: "v", Value: int32(2)}, {Key: "key", Value: s.Key}, {Key: "name", Value: s.Name}}
	if s.Unique && s.Name != "_id_" {
		doc = append(doc, bson.E{Key: "unique", Value: true})
	}
	if s.Sparse {
		doc = append(doc, bson.E{Key: "sparse", Value: true})
	}
	if elems, err := s.Options.Elements(); err == nil {
		for _, e := range elems {
			doc = append(doc, bson.E{Key: e.Key(), Value: e.Value()})
		}
	}
	return doc
}

// IsPartial reports whether the index has a partialFilterExpression.
func (s IndexSpec) IsPartial() bool {
	return value.IsObject(document.Lookup(s.Options, "partialFilterExpression"))
}

// Index is one index of a collection. Its keys are the encodings of its fields
// one after another, all ascending; "hashed" fields are the encoded hash.
type Index struct {
	spec           IndexSpec
	fields         []indexField
	partialFilter  *filter.Filter
	entries        *tree.Keys
	arrayPaths     []string // the beginnings of paths at which there was an array since the index was built
	hidden         bool     // maintained, but not used for queries
	preparedUnique bool     // refuses new duplicates, on the way to a unique index
	special        bool     // text, geo and wildcard indexes: no query uses them
}

type indexField struct {
	name   string
	path   []string
	hashed bool
}

func newIndex(spec IndexSpec, l expr.Language) (*Index, error) {
	ix := &Index{spec: spec, entries: tree.NewKeys()}
	for name, v := range document.Fields(spec.Key) {
		if err := checkIndexField(string(name), v); err != nil {
			return nil, err
		}
		hashed := value.IsString(v) && value.TextAt(v.Value) == "hashed"
		ix.special = ix.special || value.IsString(v) && !hashed || strings.Contains(string(name), "$**")
		if hashed && slices.ContainsFunc(ix.fields, func(f indexField) bool { return f.hashed }) {
			return nil, servererr.NewCode(31303, "A maximum of one index field is allowed to be hashed but found 2 for 'key' %s",
				spec.Key)
		}
		ix.fields = append(ix.fields, indexField{string(name), paths.Split(string(name)), hashed})
	}
	if len(ix.fields) == 0 {
		return nil, servererr.New(mongoerr.CannotCreateIndex, "Index keys cannot be empty.")
	}
	if spec.Unique && slices.ContainsFunc(ix.fields, func(f indexField) bool { return f.hashed }) {
		return nil, servererr.NewCode(16764, "Currently hashed indexes cannot guarantee uniqueness. Use a regular index.")
	}
	if len(ix.fields) > 32 {
		return nil, servererr.New(mongoerr.CannotCreateIndex, "Index key contains too many fields")
	}
	ix.hidden = value.IsTruthy(document.Lookup(spec.Options, "hidden"))
	if p := document.Lookup(spec.Options, "partialFilterExpression"); value.IsObject(p) {
		f, err := filter.CompileWith(p.Value, filter.Options{Language: l})
		if err != nil {
			return nil, err
		}
		if c, found := unsupportedPartialClause(f.Clauses); found {
			return nil, servererr.New(mongoerr.CannotCreateIndex, "Expression not supported in partial index: %s",
				value.Object(filter.ExplainQuery([]filter.Clause{c})))
		}
		ix.partialFilter = f
	}
	return ix, nil
}

// partialOps are the operators allowed in a partial filter, as MongoDB's manual lists them.
var partialOps = []string{"$eq", "$exists", "$gt", "$gte", "$lt", "$lte", "$type", "$in", "$or"}

// unsupportedPartialClause returns a condition that a partial filter must not contain.
func unsupportedPartialClause(list []filter.Clause) (filter.Clause, bool) {
	for _, c := range list {
		if !slices.Contains(partialOps, c.Op) {
			return c, true
		}
		for _, branch := range c.Or {
			if c, found := unsupportedPartialClause(branch); found {
				return c, true
			}
		}
	}
	return filter.Clause{}, false
}

// checkIndexField refuses key patterns as the server does (67).
func checkIndexField(name string, v value.Value) error {
	refuse := func(format string, args ...any) error {
		return servererr.New(mongoerr.CannotCreateIndex, format, args...)
	}
	parts := paths.Split(name)
	if len(parts) > expr.MaxDepth {
		return refuse("Index key has a field name of more than %d parts.", expr.MaxDepth)
	}
	for i, part := range parts {
		if part == "" {
			return refuse("Index keys cannot contain an empty field.")
		}
		ofReference := i > 0 && (part == "$id" || part == "$ref" || part == "$db")
		if part[0] == '$' && part != "$**" && !ofReference {
			return refuse("Index key contains an illegal field name: field name starts with '$'.")
		}
	}
	switch {
	case value.IsNumber(v):
		if value.IsNaN(v) || value.Compare(v, value.Int32(0)) == 0 {
			return refuse("Values in the index key pattern cannot be 0 or NaN.")
		}
	case value.IsString(v):
		switch value.TextAt(v.Value) {
		case "hashed", "text", "2d", "2dsphere", "wildcard":
		default:
			return refuse("Unknown index plugin '%s'", value.TextAt(v.Value))
		}
	default:
		return refuse("Values in v:2 index key pattern cannot be of type %s. Only numbers > 0, numbers < 0, and strings "+
			"are allowed.", value.TypeName(v))
	}
	return nil
}

// CreateIndex builds an index over what the collection holds. The same index
// again is accepted; another one of that name fails with 86, the same key
// under another name with 85, and a value that a unique index does not admit
// with 11000.
func (c *Collection) CreateIndex(spec IndexSpec) error {
	ix, err := newIndex(spec, c.Language)
	if err != nil {
		return err
	}
	for _, other := range c.indexes {
		if other == c.indexes[0] && value.Compare(value.Object(other.spec.Key), value.Object(spec.Key)) == 0 {
			return nil
		}
		if same, err := spec.matchesExisting(other.spec); same || err != nil {
			return err
		}
	}
	for id, doc := range c.Scan() {
		keys, err := ix.keysOf(doc)
		if err == nil {
			err = ix.checkUnique(c.Namespace, &keys, id, doc)
		}
		if err != nil {
			return err
		}
		ix.addKeys(&keys, id)
	}
	ix.preparedUnique = value.IsTruthy(document.Lookup(spec.Options, "prepareUnique"))
	c.indexes = append(c.indexes, ix)
	c.noteIndexes()
	return nil
}

// DropIndex removes an index by name: 27 when there is none, 72 for the one on
// _id.
func (c *Collection) DropIndex(name string) error {
	if name == "_id_" {
		return servererr.New(mongoerr.InvalidOptions, "cannot drop _id index")
	}
	i := slices.IndexFunc(c.indexes, func(ix *Index) bool { return ix.spec.Name == name })
	if i < 0 {
		return servererr.New(mongoerr.IndexNotFound, "index not found with name [%s]", name)
	}
	c.indexes = slices.Delete(c.indexes, i, i+1)
	c.noteIndexes()
	return nil
}

// Indexes lists the indexes, the one on _id first, then as they were created.
func (c *Collection) Indexes() []IndexSpec {
	specs := make([]IndexSpec, len(c.indexes))
	for i, ix := range c.indexes {
		specs[i] = ix.spec
	}
	return specs
}

// HasSameIndexes reports whether another collection has indexes of the same names, in
// the same order.
func (c *Collection) HasSameIndexes(o *Collection) bool {
	return slices.EqualFunc(c.indexes, o.indexes, func(a, b *Index) bool { return a.spec.Name == b.spec.Name })
}

// IndexServes reports whether the index of a name serves prefix.
func (c *Collection) IndexServes(prefix bson.Raw, name string) bool {
	return slices.ContainsFunc(c.indexes, func(ix *Index) bool { return ix.spec.Name == name && ix.Serves(prefix) })
}

// IndexHasPrefix reports whether the key of the index of a name begins with prefix.
func (c *Collection) IndexHasPrefix(prefix bson.Raw, name string) bool {
	return slices.ContainsFunc(c.indexes, func(ix *Index) bool {
		return ix.spec.Name == name && !ix.special && hasPrefix(ix.spec.Key, prefix)
	})
}

// IsIndexMultikey reports whether the index of a name holds or held an array.
func (c *Collection) IsIndexMultikey(name string) bool {
	return slices.ContainsFunc(c.indexes, func(ix *Index) bool { return ix.spec.Name == name && ix.IsMultikey() })
}

// Serves reports whether the index's key begins with prefix, in the same order
// and with the same values, and has every document: it is neither sparse nor
// partial.
func (ix *Index) Serves(prefix bson.Raw) bool {
	return !ix.spec.Sparse && ix.partialFilter == nil && !ix.special && hasPrefix(ix.spec.Key, prefix)
}

// IsLastIndexFor reports whether an index serves prefix and no other index does that
// is not hidden and holds no arrays. Those in without don't count.
func (c *Collection) IsLastIndexFor(prefix bson.Raw, name string, without []string) bool {
	serves := false
	for _, ix := range c.indexes {
		switch {
		case slices.Contains(without, ix.spec.Name) || !ix.Serves(prefix):
		case ix.spec.Name == name:
			serves = true
		case !ix.hidden && !ix.IsMultikey():
			return false
		}
	}
	return serves
}

// IndexFor finds an index that serves prefix and is not hidden. One that holds
// arrays is taken only when there is no other.
func (c *Collection) IndexFor(prefix bson.Raw) (*Index, bool) {
	var found *Index
	for _, ix := range c.indexes {
		if ix.hidden || !ix.Serves(prefix) {
			continue
		}
		if !ix.IsMultikey() {
			return ix, true
		}
		if found == nil {
			found = ix
		}
	}
	return found, found != nil
}

func hasPrefix(key, prefix []byte) bool {
	rest := keyorder.Body(key)
	for want, wantRest, ok := keyorder.Next(keyorder.Body(prefix)); ok; want, wantRest, ok = keyorder.Next(wantRest) {
		have, next, ok := keyorder.Next(rest)
		if !ok || !bytes.Equal(have.Name, want.Name) || value.Compare(have.Value, want.Value) != 0 {
			return false
		}
		rest = next
	}
	return true
}

// Spec returns the specification that the index was created with.
func (ix *Index) Spec() IndexSpec { return ix.spec }

// FieldCount returns the number of fields in a key of the index.
func (ix *Index) FieldCount() int { return len(ix.fields) }

// IsMultikey reports whether some document has an array in an indexed field, or had one since the
// index was built: servers don't count how many there are left.
func (ix *Index) IsMultikey() bool { return len(ix.arrayPaths) > 0 }

// Len returns the number of entries.
func (ix *Index) Len() int { return ix.entries.Len() }

// ScanIndex walks the entries with from <= key < to in key order, and in order
// of insertion within one key; nil leaves an end open. It shows the index as it
// is now. A key must not be changed, and is good for keeping.
func (c *Collection) ScanIndex(ix *Index, from, to []byte) iter.Seq2[RecordID, []byte] {
	entries := ix.entries
	if c.cachedSnapshot != c {
		entries = entries.Copy()
	}
	return func(yield func(RecordID, []byte) bool) {
		for id, key := range entries.From(from) {
			if to != nil && bytes.Compare(key, to) >= 0 || !yield(RecordID(id), key) {
				return
			}
		}
	}
}

// checkUnique refuses a key of a document that a unique index already has for another
// one.
func (ix *Index) checkUnique(ns string, keys *indexKeys, id RecordID, doc bson.Raw) error {
	if !ix.spec.Unique && !ix.preparedUnique {
		return nil
	}
	for _, key := range keys.keys {
		if ix.isKeyTaken(key, id) {
			return ix.duplicateKeyError(ns, doc)
		}
	}
	return nil
}

// isKeyTaken reports whether a document other than the record's has the key.
func (ix *Index) isKeyTaken(key []byte, id RecordID) bool {
	first, taken := ix.entries.FirstRecord(key)
	if !taken || first != uint64(id) {
		return taken
	}
	for other, has := range ix.entries.From(key) {
		if other != uint64(id) {
			return bytes.Equal(has, key)
		}
	}
	return false
}

func (ix *Index) addKeys(keys *indexKeys, id RecordID) {
	for _, before := range keys.arrayPaths {
		if !slices.Contains(ix.arrayPaths, before) {
			ix.arrayPaths = append(ix.arrayPaths, before)
		}
	}
	for _, key := range keys.keys {
		ix.entries.Add(key, uint64(id))
	}
}

func (ix *Index) removeKeys(keys *indexKeys, id RecordID) {
	for _, key := range keys.keys {
		ix.entries.Delete(key, uint64(id))
	}
}
