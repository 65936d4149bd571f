// Package update applies updates to documents. It implements update operators, replacements, pipelines
// and upserts, and the checks of inserted documents. The rules are those of the update operators' manual
// pages and of recorded replies (8.0).
package update

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/store/paths"
	"shardsh/balancer/mock/store/pipeline"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
	"shardsh/balancer/mongoerr"
)

// Update is a compiled update: operators, a replacement document or a
// pipeline.
type Update struct {
	changes     []change
	replacement bson.Raw
	pipeline    *pipeline.Pipeline
	options     Options
	filters     map[string]*filter.Filter // array filters by identifier
}

// Options are the inputs of an update besides its own document.
type Options struct {
	// ArrayFilters is the arrayFilters option; it may be empty.
	ArrayFilters []bson.Raw
	// Filter is the query of the update, which determines the element of the positional operator.
	Filter *filter.Filter
	// Now is the value of $currentDate and $$NOW; zero means the time of the call.
	Now time.Time
	// Let holds the variables of a pipeline update.
	Let bson.Raw
	// Language is the expression language of the release.
	Language expr.Language
	// NewID creates the _id of an upserted document; nil for a random one.
	NewID func() bson.ObjectID
	// FillTimestamps replaces the empty timestamps in a document of the client (see
	// document.FillEmptyTimestamps); nil keeps them.
	FillTimestamps func(bson.Raw) bson.Raw
	// UpsertDocument is the document that an upsert inserts instead of the pipeline's result; nil to
	// insert the result.
	UpsertDocument bson.Raw
}

// Compile compiles an update: a document, or an array for a pipeline.
func Compile(u bson.RawValue, o Options) (*Update, error) {
	up := &Update{options: o}
	if u.Type == bson.TypeArray {
		p, err := compileUpdatePipeline(document.Items(u), o)
		up.pipeline = p
		return up, err
	}
	if u.Type != bson.TypeEmbeddedDocument {
		return nil, servererr.FailedToParse("Update argument must be either an object or an array")
	}
	if !document.IsExpression(u.Value) {
		for name := range document.Fields(u.Value) {
			if len(name) > 0 && name[0] == '$' {
				return nil, dollarPrefixedErr(string(name), string(name))
			}
		}
		up.replacement = u.Value
		if o.FillTimestamps != nil {
			up.replacement = o.FillTimestamps(up.replacement)
		}
		return up, nil
	}
	if err := up.compileArrayFilters(); err != nil {
		return nil, err
	}
	return up, up.compileOperators(u.Value)
}

func dollarPrefixedErr(part, path string) error {
	return servererr.New(mongoerr.DollarPrefixedFieldName, "The dollar ($) prefixed field '%s' in '%s' is not allowed in "+
		"the context of an update's replacement document. Consider using an aggregation pipeline with $replaceWith.", part,
		path)
}

// IsReplacement reports whether the update is a replacement document.
func (u *Update) IsReplacement() bool { return u.replacement != nil }

// IsPipeline reports whether the update is an aggregation pipeline.
func (u *Update) IsPipeline() bool { return u.pipeline != nil }

// Apply returns the updated document. The _id cannot be changed (66).
func (u *Update) Apply(doc bson.Raw) (out bson.Raw, changed bool, err error) {
	return u.ApplyContext(context.Background(), doc)
}

// ApplyContext is like Apply and fails with the cause of ctx when ctx ends.
func (u *Update) ApplyContext(ctx context.Context, doc bson.Raw) (out bson.Raw, changed bool, err error) {
	out, err = u.applyTo(ctx, doc, false)
	if err != nil {
		return nil, false, err
	}
	if len(out) > document.MaxSize {
		return nil, false, servererr.NewCode(17419, "Resulting document after update is larger than %d", document.MaxSize)
	}
	return out, !bytes.Equal(out, doc), nil
}

// BuildUpsertDocument returns the document to insert if no document matched: the equality conditions of the filter
// with the update applied, and _id first.
func (u *Update) BuildUpsertDocument(ctx context.Context, query bson.Raw) (bson.Raw, error) {
	o := filter.Options{Let: u.options.Let, Now: u.options.Now, Language: u.options.Language}
	f, err := filter.CompileWith(query, o)
	if err != nil {
		return nil, err
	}
	doc, err := newUpsertDocument(f, u.IsReplacement())
	if err != nil {
		return nil, err
	}
	if err := u.checkPartialID(f); err != nil {
		return nil, err
	}
	if supplied := u.options.UpsertDocument; supplied != nil {
		u = &Update{options: u.options, replacement: supplied}
	}
	out, err := u.applyTo(ctx, doc, true)
	if err != nil {
		return nil, err
	}
	return PrepareInsert(out, u.options.NewID)
}

// checkPartialID rejects operators that set the whole _id if the query sets parts of it. Servers reject
// them even if the parts keep their values (SERVER-44615).
func (u *Update) checkPartialID(f *filter.Filter) error {
	setsID := slices.ContainsFunc(u.changes, func(ch change) bool { return len(ch.path) == 1 && ch.path[0] == "_id" })
	if !setsID {
		return nil
	}
	for path := range f.Equalities() {
		if strings.HasPrefix(path, "_id.") {
			return immutableIDErr()
		}
	}
	return nil
}

func immutableIDErr() error {
	return servererr.New(mongoerr.ImmutableField,
		"Performing an update on the path '_id' would modify the immutable field '_id'")
}

func (u *Update) applyTo(ctx context.Context, doc bson.Raw, insert bool) (bson.Raw, error) {
	id := document.Lookup(doc, "_id")
	var out bson.Raw
	var err error
	switch {
	case u.replacement != nil:
		out = u.buildReplacement(id)
	case u.pipeline != nil:
		out, err = u.runPipeline(ctx, doc, id)
	default:
		out, err = u.applyOperators(quota.New(ctx), doc, insert)
	}
	if err != nil {
		return nil, err
	}
	if is := document.Lookup(out, "_id"); !value.IsMissing(id) &&
		(is.Type != id.Type || !bytes.Equal(is.Value, id.Value)) {
		if u.changes != nil {
			return nil, immutableIDErr()
		}
		// If the _ids compare equal, the old value stays.
		if value.Compare(is, id) == 0 {
			return document.WithField(out, "_id", id), nil
		}
		return nil, servererr.New(mongoerr.ImmutableField,
			"After applying the update, the (immutable) field '_id' was found to have been altered to _id: %s", is)
	}
	return out, nil
}

// buildReplacement returns the replacement with _id as the first field.
func (u *Update) buildReplacement(id value.Value) bson.Raw {
	if own := document.Lookup(u.replacement, "_id"); !value.IsMissing(own) {
		id = own
	}
	b, start := document.Open(make([]byte, 0, len(u.replacement)+20))
	b = document.Append(b, "_id", id)
	for name, v := range document.Fields(u.replacement) {
		if string(name) != "_id" {
			b = document.Append(b, name, v)
		}
	}
	return document.Close(b, start)
}

// newUpsertDocument returns the initial document of an upsert. For a replacement it contains only the
// _id.
func newUpsertDocument(f *filter.Filter, idOnly bool) (bson.Raw, error) {
	root := newNode(document.Empty)
	var set []string
	var failure error
	add := func(path string, v value.Value) bool {
		if idOnly && strings.HasPrefix(path, "_id.") {
			failure = servererr.New(mongoerr.NotExactValueField,
				"field at '_id' must be exactly specified, field at sub-path '%s'found", path) // as servers write it
			return false
		}
		if idOnly && path != "_id" {
			return true
		}
		for _, p := range set {
			if p == path || strings.HasPrefix(p, path+".") || strings.HasPrefix(path, p+".") {
				failure = servererr.New(mongoerr.NotSingleValueField,
					"cannot infer query fields to set, path '%s' is matched twice", path)
				return false
			}
		}
		set = append(set, path)
		failure = root.createPath(nil, paths.Split(path), v)
		return failure == nil
	}
	for _, wantID := range []bool{true, false} { // _id first
		for path, v := range f.Equalities() {
			isID := path == "_id" || strings.HasPrefix(path, "_id.")
			if isID == wantID && !add(path, v) {
				return nil, failure
			}
		}
	}
	return root.encodedDocument(nil), nil
}
