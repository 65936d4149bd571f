// Package args reads the fields of commands as servers do: what types a field
// takes, how values are converted, and what is refused with which error (spec
// 03 §0.5).
package args

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// Kind is what a declared field takes (spec 03 §0.5).
type Kind uint8

// The kinds; those without a word are of the BSON type of their name.
const (
	Any Kind = iota
	String
	Namespace        // a full namespace string
	OldNamespace     // the same, of old-style commands: another type is BadValue
	NamespaceToShard // the same, of a collection that may be sharded
	Shard            // a shard id: not empty
	Object
	Array
	Objects // an array of objects
	Bool
	SafeBool     // a bool or a number
	SafeInt      // any number, cut to int32
	OptionalBool // a bool; null is a type error
	UUID
	Long  // an int64 and no other number
	Count // any number that is not negative
	Tasks // any number from 1 to 256
	Hint
)

// Field is one declared field.
type Field struct {
	name     string
	kind     Kind
	required bool
	since    catalog.Release // zero where all releases have it
}

// Name returns the field's name.
func (f Field) Name() string { return f.name }

// Kind returns what the field takes.
func (f Field) Kind() Kind { return f.kind }

// Required declares a field that a command can't go without.
func Required(name string, kind Kind) Field { return Field{name: name, kind: kind, required: true} }

// Optional declares a field that may be left out.
func Optional(name string, kind Kind) Field { return Field{name: name, kind: kind} }

// Since returns the field as one that older releases do not know.
func (f Field) Since(r catalog.Release) Field {
	f.since = r
	return f
}

// In returns the fields that a release has.
func In(r catalog.Release, fields []Field) []Field {
	var known []Field
	for _, f := range fields {
		if f.since == (catalog.Release{}) || r.AtLeast(f.since) {
			known = append(known, f)
		}
	}
	return known
}

// Generic reports whether a top-level field is one that every command takes.
func Generic(name string) bool { return generic[name] }

var generic = map[string]bool{
	"$db": true, "apiVersion": true, "apiStrict": true, "apiDeprecationErrors": true, "maxTimeMS": true,
	"readConcern": true, "writeConcern": true, "lsid": true, "txnNumber": true, "autocommit": true,
	"startTransaction": true, "stmtId": true, "comment": true, "clientOperationKey": true,
	"$readPreference": true, "$clusterTime": true, "$audit": true, "$client": true, "$configTime": true,
	"$topologyTime": true, "$queryOptions": true,
}

// Spec is what Parse needs to know of a command.
type Spec struct {
	Name    string
	Aliases []string
	// Fields are parsed before anything else; nil for commands that read theirs
	// by hand.
	Fields []Field
	// Strict commands refuse unknown fields with 40415.
	Strict bool
}

// Parse checks the declared fields of a command and returns those that it has:
// the fields as they come, then what is missing, and the value of the command's
// own name last, unless it decides whether the command is for it.
func (s Spec) Parse(body bson.Raw) (Values, error) {
	if s.Fields == nil {
		return nil, nil
	}
	elems, err := body.Elements()
	if err != nil {
		return nil, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	parsed := Values{}
	if f, _ := findField(s.Fields, s.Name); f.kind == NamespaceToShard {
		if err := s.parseOwn(elems, parsed); err != nil {
			return nil, err
		}
	}
	for _, e := range elems {
		name, v := s.fieldName(e.Key()), e.Value()
		if name == s.Name {
			continue
		}
		f, known := findField(s.Fields, name)
		if !known {
			if s.Strict && !Generic(name) {
				return nil, Unknown(s.Name, name)
			}
			continue
		}
		if err := parsed.take(s.Name, f, v); err != nil {
			return nil, err
		}
	}
	for _, f := range s.Fields {
		if f.required && f.name != s.Name && !parsed.Has(f.name) {
			return nil, Missing(s.Name, f.name)
		}
	}
	return parsed, s.parseOwn(elems, parsed)
}

// parseOwn checks the value of the command's own name. Where it may be anything,
// it may be null.
func (s Spec) parseOwn(elems []bson.RawElement, parsed Values) error {
	f, declared := findField(s.Fields, s.Name)
	if !declared {
		return nil
	}
	for _, e := range elems {
		if s.fieldName(e.Key()) != s.Name {
			continue
		}
		if err := parsed.take(s.Name, f, e.Value()); err != nil {
			return err
		}
	}
	if f.required && f.kind != Any && !parsed.Has(s.Name) {
		return Missing(s.Name, s.Name)
	}
	return nil
}

// take notes a field that is there and of its type; the first one counts.
func (v Values) take(cmd string, f Field, value bson.RawValue) error {
	if f.absent(value) {
		return nil
	}
	if err := f.Check(cmd, value); err != nil {
		return err
	}
	if !v.Has(f.name) {
		v[f.name] = value
	}
	return nil
}

// fieldName returns the declared name of a field: that of the command's own name
// may be an alias.
func (s Spec) fieldName(name string) string {
	if slices.Contains(s.Aliases, name) {
		return s.Name
	}
	return name
}

func findField(fields []Field, name string) (Field, bool) {
	for _, f := range fields {
		if f.name == name {
			return f, true
		}
	}
	return Field{}, false
}

// absent: null is as good as nothing, but for kinds where it is a wrong type.
func (f Field) absent(v bson.RawValue) bool {
	if v.Type == bson.TypeNull || v.Type == bson.TypeUndefined {
		return f.kind != OptionalBool && f.kind != OldNamespace && f.kind != NamespaceToShard
	}
	return v.IsZero()
}

// Check checks a document that a command takes. Messages name the fields
// with the place before them.
func Check(place string, fields []Field, doc bson.Raw) error {
	elems, err := doc.Elements()
	if err != nil {
		return mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	for _, e := range elems {
		f, known := findField(fields, e.Key())
		if !known {
			return Unknown(place, e.Key())
		}
		if f.absent(e.Value()) {
			continue
		}
		if err := f.Check(place, e.Value()); err != nil {
			return err
		}
	}
	for _, f := range fields {
		if f.required && f.absent(doc.Lookup(f.name)) {
			return Missing(place, f.name)
		}
	}
	return nil
}

// Unknown returns the error of a field that the command does not know.
func Unknown(place, name string) error {
	return mongoerr.New(mongoerr.IDLUnknownField, "BSON field '%s.%s' is an unknown field.", place, name)
}

// Missing returns the error of a required field that is not there.
func Missing(place, name string) error {
	return mongoerr.New(mongoerr.IDLFailedToParse, "BSON field '%s.%s' is missing but a required field", place, name)
}

// accepts lists the BSON types of each kind, in the order in which the server
// names them.
var accepts = map[Kind][]bson.Type{
	String:           {bson.TypeString},
	Namespace:        {bson.TypeString},
	OldNamespace:     {bson.TypeString},
	NamespaceToShard: {bson.TypeString},
	Shard:            {bson.TypeString},
	Object:           {bson.TypeEmbeddedDocument},
	Array:            {bson.TypeArray},
	Objects:          {bson.TypeArray},
	Bool:             {bson.TypeBoolean},
	OptionalBool:     {bson.TypeBoolean},
	SafeBool:         {bson.TypeBoolean, bson.TypeInt64, bson.TypeInt32, bson.TypeDecimal128, bson.TypeDouble},
	SafeInt:          {bson.TypeInt64, bson.TypeInt32, bson.TypeDecimal128, bson.TypeDouble},
	Count:            {bson.TypeInt64, bson.TypeInt32, bson.TypeDecimal128, bson.TypeDouble},
	Tasks:            {bson.TypeInt64, bson.TypeInt32, bson.TypeDecimal128, bson.TypeDouble},
	Long:             {bson.TypeInt64},
	Hint:             {bson.TypeString, bson.TypeEmbeddedDocument},
	UUID:             {bson.TypeBinary},
}

// Check refuses a value of the wrong type, or out of the field's range.
func (f Field) Check(cmd string, v bson.RawValue) error {
	types, limited := accepts[f.kind]
	if !limited {
		return nil
	}
	if !slices.Contains(types, v.Type) {
		return f.wrongType(cmd, v)
	}
	switch f.kind {
	case Shard:
		if v.StringValue() == "" {
			return mongoerr.New(mongoerr.NoSuchKey, "BSON field '%s.%s' must not be empty", cmd, f.name)
		}
	case NamespaceToShard:
		return checkNamespaceToShard(v.StringValue())
	case Objects:
		_, err := Documents(v)
		return err
	case Tasks:
		if n := Whole(v); n < 1 || n > 256 {
			return mongoerr.New(mongoerr.BadValue, "BSON field '%s' value must be >= 1 and <= 256, actual value '%d'", f.name, n)
		}
	case Namespace, OldNamespace:
		_, _, err := catalog.SplitNamespace(v.StringValue())
		return err
	case Count:
		if n, _ := Number(v); n < 0 {
			return mongoerr.New(mongoerr.BadValue, "BSON field '%s' value must be >= 0, actual value '%d'", f.name, int64(n))
		}
	}
	return nil
}

// checkNamespaceToShard refuses, before anything else, the collections that
// others are made of.
func checkNamespaceToShard(ns string) error {
	_, coll, err := catalog.SplitNamespace(ns)
	switch {
	case err != nil:
		return err
	case strings.HasPrefix(coll, "system.buckets."):
		return mongoerr.New(mongoerr.ShardBucketsCollection,
			"Cannot shard time-series buckets collection %s: shard the time-series collection", ns)
	case strings.HasPrefix(coll, "enxcol_.") &&
		(strings.HasSuffix(coll, ".esc") || strings.HasSuffix(coll, ".ecoc") || strings.HasSuffix(coll, ".ecc")):
		return mongoerr.New(mongoerr.ShardEncryptionState, "Cannot shard %s: it holds the state of an encrypted collection",
			ns)
	}
	return nil
}

func (f Field) wrongType(cmd string, v bson.RawValue) error {
	switch f.kind {
	case OldNamespace, NamespaceToShard:
		return mongoerr.New(mongoerr.BadValue, "collection name has invalid type %s", TypeName(v.Type))
	case OptionalBool:
		return mongoerr.New(mongoerr.TypeMismatch, "Field '%s' should be a boolean value, but found: %s", f.name,
			TypeName(v.Type))
	case Hint:
		return mongoerr.New(mongoerr.FailedToParse, "Hint must be a string or an object")
	}
	expected := "type '" + TypeName(accepts[f.kind][0]) + "'"
	if types := accepts[f.kind]; len(types) > 1 {
		var names []string
		for _, t := range types {
			names = append(names, TypeName(t))
		}
		expected = "types '[" + strings.Join(names, ", ") + "]'"
	}
	return mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s.%s' is the wrong type '%s', expected %s", cmd, f.name,
		TypeName(v.Type), expected)
}
