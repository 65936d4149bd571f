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

// IndexSpec is the definition of an index. Options holds all other options of createIndexes as given. Of
// these the store uses partialFilterExpression, hidden and prepareUnique.
type IndexSpec struct {
	Name           string
	Key            bson.Raw
	Unique, Sparse bool
	Options        bson.Raw
}

// Doc returns the index in the format of listIndexes.
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

// Index is an index of a collection. Its keys are the concatenated encodings of the fields, all
// ascending. The value of a "hashed" field is the encoded hash.
type Index struct {
	spec           IndexSpec
	fields         []indexField
	partialFilter  *filter.Filter
	entries        *tree.Keys
	arrayPaths     []string // path prefixes at which a document had an array since the index was built
	hidden         bool     // maintained, but not used for queries
	preparedUnique bool     // rejects new duplicates, before the conversion to a unique index
	special        bool     // a text, geo or wildcard index, which no query uses
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

// partialOps are the operators allowed in a partial filter (MongoDB manual).
var partialOps = []string{"$eq", "$exists", "$gt", "$gte", "$lt", "$lte", "$type", "$in", "$or"}

// unsupportedPartialClause returns a condition that is not allowed in a partial filter.
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

// checkIndexField rejects invalid key patterns with the server's error (67).
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

// CreateIndex builds an index over the documents of the collection. If the same index exists, it does
// nothing. It fails with 86 if the name exists with another definition, with 85 if the key exists under
// another name, and with 11000 for a duplicate key in a unique index.
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

// DropIndex removes an index by name. It fails with 27 if the index does not exist, and with 72 for the
// index on _id.
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

// Indexes returns the indexes in the order of creation, with the index on _id first.
func (c *Collection) Indexes() []IndexSpec {
	specs := make([]IndexSpec, len(c.indexes))
	for i, ix := range c.indexes {
		specs[i] = ix.spec
	}
	return specs
}

// HasSameIndexNames reports whether another collection has indexes with the same names in the same order.
func (c *Collection) HasSameIndexNames(o *Collection) bool {
	return slices.EqualFunc(c.indexes, o.indexes, func(a, b *Index) bool { return a.spec.Name == b.spec.Name })
}

// IndexServes reports whether the named index serves prefix.
func (c *Collection) IndexServes(prefix bson.Raw, name string) bool {
	return slices.ContainsFunc(c.indexes, func(ix *Index) bool { return ix.spec.Name == name && ix.Serves(prefix) })
}

// IndexHasPrefix reports whether the key of the named index begins with prefix.
func (c *Collection) IndexHasPrefix(prefix bson.Raw, name string) bool {
	return slices.ContainsFunc(c.indexes, func(ix *Index) bool {
		return ix.spec.Name == name && !ix.special && hasPrefix(ix.spec.Key, prefix)
	})
}

// IsIndexMultikey reports whether the named index is multikey.
func (c *Collection) IsIndexMultikey(name string) bool {
	return slices.ContainsFunc(c.indexes, func(ix *Index) bool { return ix.spec.Name == name && ix.IsMultikey() })
}

// Serves reports whether the index's key begins with prefix (same fields, order and values) and the
// index contains every document. Sparse and partial indexes don't.
func (ix *Index) Serves(prefix bson.Raw) bool {
	return !ix.spec.Sparse && ix.partialFilter == nil && !ix.special && hasPrefix(ix.spec.Key, prefix)
}

// IsLastIndexFor reports whether the named index serves prefix and no other visible, non-multikey index
// does. It ignores the indexes in without.
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

// IndexFor returns a visible index that serves prefix. It returns a multikey index only if there is no
// other.
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

// Spec returns the definition of the index.
func (ix *Index) Spec() IndexSpec { return ix.spec }

// FieldCount returns the number of fields in a key of the index.
func (ix *Index) FieldCount() int { return len(ix.fields) }

// IsMultikey reports whether a document has an array in an indexed field, or had one since the index was
// built. Like servers, the index does not count the arrays.
func (ix *Index) IsMultikey() bool { return len(ix.arrayPaths) > 0 }

// Len returns the number of entries.
func (ix *Index) Len() int { return ix.entries.Len() }

// ScanIndex iterates over the entries with from <= key < to, sorted by key and then by insertion order.
// A nil bound means unbounded. It reads the index as of the time of the call. The keys stay valid but
// must not be changed.
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

// checkUnique fails if another document has one of the keys and the index is unique.
func (ix *Index) checkUnique(ns string, keys *indexKeys, id RecordID, doc bson.Raw) error {
	if !ix.spec.Unique && !ix.preparedUnique {
		return nil
	}
	for _, key := range keys.keys {
		if ix.isKeyTaken(key, id) {
			return ix.duplicateKeyError(ns, doc, key)
		}
	}
	return nil
}

// isKeyTaken reports whether a document other than id has the key.
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
