package reads

import (
	"context"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/store/update"
	"shardsh/balancer/mongoerr"
)

// MergeOutput implements $merge: it merges each result into a collection by the on fields.
type MergeOutput struct {
	NS             string
	on             []string
	whenMatched    string   // replace, keepExisting, merge, fail or pipeline
	pipeline       bson.Raw // of whenMatched, as an array
	let            bson.Raw
	whenNotMatched string // insert, discard or fail
}

func readMerge(c *call.Call, spec bson.RawValue) (Output, error) {
	m := MergeOutput{whenMatched: "merge", whenNotMatched: "insert"}
	options, isDoc := spec.DocumentOK()
	into := spec
	switch {
	case isDoc:
		into = options.Lookup("into")
	case spec.Type != bson.TypeString:
		return nil, mongoerr.New(51182, "$merge requires a string or object argument, but found %s", args.TypeName(spec.Type))
	}
	elems, err := options.Elements()
	if isDoc && err != nil {
		return nil, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	for _, e := range elems {
		if err := m.readOption(e.Key(), e.Value()); err != nil {
			return nil, err
		}
	}
	if into.IsZero() {
		return nil, mongoerr.New(mongoerr.IDLFailedToParse, "BSON field '$merge.into' is missing but a required field")
	}
	if m.NS, err = mergeTarget(c.DB, into); err != nil {
		return nil, err
	}
	if !slices.Contains(mergeModes, m.whenMatched+" "+m.whenNotMatched) {
		return nil, mongoerr.New(51181,
			"Combination of $merge modes 'whenMatched: %s' and 'whenNotMatched: %s' is not supported", m.whenMatched,
			m.whenNotMatched)
	}
	if m.let != nil && m.whenMatched != "pipeline" {
		return nil, mongoerr.New(51199, "Cannot use 'let' variables with 'whenMatched: %s' mode", m.whenMatched)
	}
	return m, m.resolveOnFields(c.Cluster)
}

// mergeModes are the valid pairs of whenMatched and whenNotMatched.
var mergeModes = []string{
	"replace insert", "replace fail", "replace discard", "merge insert", "merge fail", "merge discard",
	"keepExisting insert", "fail insert", "pipeline insert", "pipeline fail", "pipeline discard",
}

func (m *MergeOutput) readOption(name string, v bson.RawValue) error {
	text, isText := v.StringValueOK()
	wrongType := func() error {
		return mongoerr.New(mongoerr.TypeMismatch, "BSON field '$merge.%s' is the wrong type '%s'", name,
			args.TypeName(v.Type))
	}
	switch name {
	case "into":
		return nil
	case "on":
		return m.readOn(v)
	case "let":
		doc, isDoc := v.DocumentOK()
		if !isDoc {
			return wrongType()
		}
		m.let = doc
	case "whenMatched":
		if array, isArray := v.ArrayOK(); isArray {
			m.whenMatched, m.pipeline = "pipeline", bson.Raw(array)
			return nil
		}
		if !isText {
			return mongoerr.New(51191, "$merge 'whenMatched' field must be either a string or an array, but found %s",
				args.TypeName(v.Type))
		}
		if !slices.Contains([]string{"replace", "keepExisting", "merge", "fail"}, text) {
			return mongoerr.New(mongoerr.BadValue,
				"Enumeration value '%s' for field '$merge.whenMatched' is not a valid value.", text)
		}
		m.whenMatched = text
	case "whenNotMatched":
		if !isText {
			return wrongType()
		}
		if !slices.Contains([]string{"insert", "discard", "fail"}, text) {
			return mongoerr.New(mongoerr.BadValue,
				"Enumeration value '%s' for field '$merge.whenNotMatched' is not a valid value.", text)
		}
		m.whenNotMatched = text
	case "targetCollectionVersion", "allowMergeOnNullishValues":
	default:
		return mongoerr.New(mongoerr.IDLUnknownField, "BSON field '$merge.%s' is an unknown field.", name)
	}
	return nil
}

func (m *MergeOutput) readOn(v bson.RawValue) error {
	values := []bson.RawValue{v}
	if array, isArray := v.ArrayOK(); isArray {
		var err error
		if values, err = array.Values(); err != nil {
			return mongoerr.New(mongoerr.InvalidBSON, "%s", err)
		}
		if len(values) == 0 {
			return mongoerr.New(51187, "If explicitly specifying $merge 'on', must include at least one field")
		}
	} else if v.Type != bson.TypeString {
		return mongoerr.New(51186, "$merge 'on' field must be either a string or an array of strings, but found %s",
			args.TypeName(v.Type))
	}
	for _, item := range values {
		name, isText := item.StringValueOK()
		if !isText {
			return mongoerr.New(51134, "$merge 'on' array elements must be strings, but found %s", args.TypeName(item.Type))
		}
		if slices.Contains(m.on, name) {
			return mongoerr.New(31465, "Found a duplicate field '%s'", name)
		}
		m.on = append(m.on, name)
	}
	return nil
}

// mergeTargetFields are the fields of an into that is a document.
var mergeTargetFields = []args.Field{args.Optional("db", args.String), args.Optional("coll", args.String)}

func mergeTarget(db string, into bson.RawValue) (string, error) {
	coll, isText := into.StringValueOK()
	if !isText {
		doc, isDoc := into.DocumentOK()
		if !isDoc {
			return "", mongoerr.New(51178, "$merge 'into' field must be either a string or an object, but found %s",
				args.TypeName(into.Type))
		}
		if err := args.Check("into", mergeTargetFields, doc); err != nil {
			return "", err
		}
		if other, ok := doc.Lookup("db").StringValueOK(); ok {
			db = other
		}
		coll, _ = doc.Lookup("coll").StringValueOK()
	}
	return outputNamespace("$merge", db, coll, 31319)
}

// resolveOnFields determines the on fields, by default _id and the shard key, and requires that
// a unique index has exactly these fields.
func (m *MergeOutput) resolveOnFields(cluster *mock.Cluster) error {
	var key []string
	if table := cluster.ConfigDB().Table(m.NS); table != nil {
		key = table.Pattern().Fields()
	}
	if m.on == nil {
		m.on = []string{"_id"}
		for _, field := range key {
			if field != "_id" {
				m.on = append(m.on, field)
			}
		}
		return nil
	}
	want := slices.Sorted(slices.Values(m.on))
	if slices.Equal(want, []string{"_id"}) && len(key) == 0 ||
		slices.Equal(want, slices.Sorted(slices.Values(append([]string{"_id"}, key...)))) {
		return nil
	}
	specs, _ := cluster.Indexes().List(m.NS)
	for _, s := range specs {
		elems, err := s.Key.Elements()
		if err != nil || !s.Unique && s.Name != "_id_" || s.IsPartial() {
			continue
		}
		var have []string
		for _, e := range elems {
			have = append(have, e.Key())
		}
		slices.Sort(have)
		if slices.Equal(have, want) {
			return nil
		}
	}
	return mongoerr.New(51183, "Cannot find index to verify that join fields will be unique")
}

func (m MergeOutput) write(c *call.Call, results []bson.Raw) error {
	for _, doc := range results {
		if err := m.writeOne(c, doc); err != nil {
			return err
		}
	}
	return nil
}

func (m MergeOutput) writeOne(c *call.Call, doc bson.Raw) error {
	if slices.Contains(m.on, "_id") {
		var err error
		if doc, err = update.PrepareInsert(doc, c.Cluster.IDs().NewObjectID); err != nil {
			return err
		}
	}
	if m.whenMatched == "fail" {
		return c.Request.Insert(m.NS, doc)
	}
	req, err := call.WithoutLock(c,
		func(ctx context.Context) (mock.UpdateRequest, error) { return m.request(ctx, c, doc) })
	if err != nil {
		return err
	}
	var matched bool
	if m.whenMatched == "keepExisting" {
		matched, err = documentExists(c, m.NS, req.Filter)
	} else {
		var result mock.UpdateResult
		result, err = c.Request.Update(m.NS, req)
		matched = result.Matched > 0
	}
	switch {
	case err != nil:
		return err
	case matched || m.whenNotMatched == "discard":
		return nil
	case m.whenNotMatched == "fail":
		return mongoerr.New(13113,
			"$merge could not find a matching document in the target collection for at least one document in the source "+
				"collection")
	}
	return c.Request.Insert(m.NS, doc)
}

// request returns the update that merges a result.
func (m MergeOutput) request(ctx context.Context, c *call.Call, doc bson.Raw) (mock.UpdateRequest, error) {
	req := mock.UpdateRequest{MayChangeKey: true}
	var err error
	if req.Query, err = m.mergeQuery(doc); err != nil {
		return req, err
	}
	req.Filter, err = filter.CompileWith(req.Query, filter.Options{Language: c.Language()})
	if err != nil || m.whenMatched == "keepExisting" {
		return req, err
	}
	req.Update, err = m.newUpdate(ctx, c, doc, req.Filter)
	return req, err
}

// documentExists reports whether a document matches.
func documentExists(c *call.Call, ns string, filter *filter.Filter) (bool, error) {
	results, err := OpenQuery(c, call.Query{NS: ns, Filter: filter, Limit: 1})
	if err != nil {
		return false, err
	}
	docs, err := call.WithoutLock(c, results.All)
	return len(docs) > 0, err
}

// mergeQuery returns the query for the document to merge a result with.
func (m MergeOutput) mergeQuery(doc bson.Raw) (bson.Raw, error) {
	query := bson.D{}
	for _, field := range m.on {
		v, err := doc.LookupErr(strings.Split(field, ".")...)
		switch {
		case err != nil || v.Type == bson.TypeNull || v.Type == bson.TypeUndefined:
			return nil, mongoerr.New(51132,
				"$merge write error: 'on' field '%s' cannot be missing, null, or undefined if supporting index is sparse", field)
		case v.Type == bson.TypeArray:
			return nil, mongoerr.New(51185, "$merge write error: 'on' field '%s' cannot be an array", field)
		}
		query = append(query, bson.E{Key: field, Value: bson.D{{Key: "$eq", Value: v}}})
	}
	return bson.Marshal(query)
}

// newUpdate returns the update of the document that a result is merged with.
func (m MergeOutput) newUpdate(ctx context.Context, c *call.Call, doc bson.Raw, filter *filter.Filter) (
	*update.Update, error) {
	options := update.Options{Filter: filter, Now: c.Now, Language: c.Language()}
	how := bson.RawValue{Type: bson.TypeEmbeddedDocument, Value: doc}
	switch m.whenMatched {
	case "merge":
		merge, err := bson.Marshal(bson.D{{Key: "p",
			Value: bson.A{bson.D{{Key: "$replaceWith",
				Value: bson.D{{Key: "$mergeObjects", Value: bson.A{"$$ROOT", "$$new"}}}}}}}})
		if err != nil {
			return nil, err
		}
		how = bson.Raw(merge).Lookup("p")
		options.Let = expr.LetLiteral("new", doc)
	case "pipeline":
		how = bson.RawValue{Type: bson.TypeArray, Value: m.pipeline}
		let, err := expr.LetForDocument(ctx, c.Language(), m.let, doc, c.Now)
		if err != nil {
			return nil, err
		}
		options.Let = let
	}
	return update.Compile(how, options)
}
