package router

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// kind is what a declared field takes (spec 03 §0.5).
type kind uint8

const (
	anyValue kind = iota
	stringValue
	namespaceValue    // a full namespace string
	oldNamespaceValue // the same, of old-style commands: another type is BadValue
	namespaceToShard  // the same, of a collection that may be sharded
	shardValue        // a shard id: not empty
	objectValue
	arrayValue
	objectsValue // an array of objects
	boolValue
	safeBool     // a bool or a number
	safeInt      // any number, cut to int32
	optionalBool // a bool; null is a type error
	uuidValue
	longValue  // an int64 and no other number
	countValue // any number that is not negative
	tasksValue // any number from 1 to 256
	hintValue
)

// field is one declared field.
type field struct {
	name     string
	kind     kind
	required bool
}

// args are the declared fields that are present and not null.
type args map[string]bson.RawValue

// generic are the top-level fields that every command takes.
var generic = map[string]bool{
	"$db": true, "apiVersion": true, "apiStrict": true, "apiDeprecationErrors": true, "maxTimeMS": true,
	"readConcern": true, "writeConcern": true, "lsid": true, "txnNumber": true, "autocommit": true,
	"startTransaction": true, "stmtId": true, "comment": true, "clientOperationKey": true,
	"$readPreference": true, "$clusterTime": true, "$audit": true, "$client": true, "$configTime": true,
	"$topologyTime": true, "$queryOptions": true,
}

// parseArgs checks the declared fields of a command.
func parseArgs(cmd *command, body bson.Raw) (args, error) {
	if cmd.declared == nil {
		return nil, nil
	}
	elems, err := body.Elements()
	if err != nil {
		return nil, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	parsed := args{}
	for _, e := range elems {
		name, v := cmd.fieldName(e.Key()), e.Value()
		f, known := findField(cmd.declared, name)
		if !known {
			if cmd.strict && !generic[name] && name != cmd.name {
				return nil, unknownField(cmd.name, name)
			}
			continue
		}
		if f.absent(v) {
			continue
		}
		if err := f.check(cmd.name, v); err != nil {
			return nil, err
		}
		if _, twice := parsed[name]; !twice {
			parsed[name] = v
		}
	}
	for _, f := range cmd.declared {
		if f.required && !parsed.has(f.name) {
			return nil, missingField(cmd.name, f.name)
		}
	}
	return parsed, nil
}

// fieldName is the declared name of a field: that of the command's own name may
// be an alias.
func (cmd *command) fieldName(name string) string {
	if slices.Contains(cmd.aliases, name) {
		return cmd.name
	}
	return name
}

func findField(fields []field, name string) (field, bool) {
	for _, f := range fields {
		if f.name == name {
			return f, true
		}
	}
	return field{}, false
}

// absent: null is as good as nothing, but for kinds where it is a wrong type.
func (f field) absent(v bson.RawValue) bool {
	if v.Type == bson.TypeNull || v.Type == bson.TypeUndefined {
		return f.kind != optionalBool && f.kind != oldNamespaceValue && f.kind != namespaceToShard
	}
	return v.IsZero()
}

// checkFields checks a document that a command takes. Messages name the fields
// with the place before them.
func checkFields(place string, fields []field, doc bson.Raw) error {
	elems, err := doc.Elements()
	if err != nil {
		return mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	for _, e := range elems {
		f, known := findField(fields, e.Key())
		if !known {
			return unknownField(place, e.Key())
		}
		if f.absent(e.Value()) {
			continue
		}
		if err := f.check(place, e.Value()); err != nil {
			return err
		}
	}
	for _, f := range fields {
		if f.required && f.absent(doc.Lookup(f.name)) {
			return missingField(place, f.name)
		}
	}
	return nil
}

func unknownField(place, name string) error {
	return mongoerr.New(mongoerr.IDLUnknownField, "BSON field '%s.%s' is an unknown field.", place, name)
}

func missingField(place, name string) error {
	return mongoerr.New(mongoerr.IDLFailedToParse, "BSON field '%s.%s' is missing but a required field", place, name)
}

// accepts lists the BSON types of each kind, in the order in which the server
// names them.
var accepts = map[kind][]bson.Type{
	stringValue:       {bson.TypeString},
	namespaceValue:    {bson.TypeString},
	oldNamespaceValue: {bson.TypeString},
	namespaceToShard:  {bson.TypeString},
	shardValue:        {bson.TypeString},
	objectValue:       {bson.TypeEmbeddedDocument},
	arrayValue:        {bson.TypeArray},
	objectsValue:      {bson.TypeArray},
	boolValue:         {bson.TypeBoolean},
	optionalBool:      {bson.TypeBoolean},
	safeBool:          {bson.TypeBoolean, bson.TypeInt64, bson.TypeInt32, bson.TypeDecimal128, bson.TypeDouble},
	safeInt:           {bson.TypeInt64, bson.TypeInt32, bson.TypeDecimal128, bson.TypeDouble},
	countValue:        {bson.TypeInt64, bson.TypeInt32, bson.TypeDecimal128, bson.TypeDouble},
	tasksValue:        {bson.TypeInt64, bson.TypeInt32, bson.TypeDecimal128, bson.TypeDouble},
	longValue:         {bson.TypeInt64},
	hintValue:         {bson.TypeString, bson.TypeEmbeddedDocument},
	uuidValue:         {bson.TypeBinary},
}

func (f field) check(cmd string, v bson.RawValue) error {
	types, limited := accepts[f.kind]
	if !limited {
		return nil
	}
	if !slices.Contains(types, v.Type) {
		return f.wrongType(cmd, v)
	}
	switch f.kind {
	case shardValue:
		if v.StringValue() == "" {
			return mongoerr.New(mongoerr.NoSuchKey, "BSON field '%s.%s' must not be empty", cmd, f.name)
		}
	case namespaceToShard:
		return checkNamespaceToShard(v.StringValue())
	case objectsValue:
		_, err := documents(v)
		return err
	case tasksValue:
		if n := wholeNumber(v); n < 1 || n > 256 {
			return mongoerr.New(mongoerr.BadValue, "BSON field '%s' value must be >= 1 and <= 256, actual value '%d'", f.name, n)
		}
	case namespaceValue, oldNamespaceValue:
		_, _, err := catalog.SplitNamespace(v.StringValue())
		return err
	case countValue:
		if n, _ := numberOf(v); n < 0 {
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
		return mongoerr.New(mongoerr.ShardBucketsCollection, "Cannot shard time-series buckets collection %s: shard the time-series collection", ns)
	case strings.HasPrefix(coll, "enxcol_.") && (strings.HasSuffix(coll, ".esc") || strings.HasSuffix(coll, ".ecoc") || strings.HasSuffix(coll, ".ecc")):
		return mongoerr.New(mongoerr.ShardEncryptionState, "Cannot shard %s: it holds the state of an encrypted collection", ns)
	}
	return nil
}

func (f field) wrongType(cmd string, v bson.RawValue) error {
	switch f.kind {
	case oldNamespaceValue, namespaceToShard:
		return mongoerr.New(mongoerr.BadValue, "collection name has invalid type %s", typeName(v.Type))
	case optionalBool:
		return mongoerr.New(mongoerr.TypeMismatch, "Field '%s' should be a boolean value, but found: %s", f.name, typeName(v.Type))
	case hintValue:
		return mongoerr.New(mongoerr.FailedToParse, "Hint must be a string or an object")
	}
	expected := "type '" + typeName(accepts[f.kind][0]) + "'"
	if types := accepts[f.kind]; len(types) > 1 {
		var names []string
		for _, t := range types {
			names = append(names, typeName(t))
		}
		expected = "types '[" + strings.Join(names, ", ") + "]'"
	}
	return mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s.%s' is the wrong type '%s', expected %s", cmd, f.name, typeName(v.Type), expected)
}

func (a args) has(name string) bool {
	_, ok := a[name]
	return ok
}

func (a args) text(name string) string {
	s, _ := a[name].StringValueOK()
	return s
}

func (a args) object(name string) bson.Raw {
	doc, _ := a[name].DocumentOK()
	return doc
}

func (a args) binary(name string) []byte {
	_, data, _ := a[name].BinaryOK()
	return data
}

func (a args) truth(name string) bool { return truth(a[name]) }

// truth reads a bool or number; anything else is false.
func truth(v bson.RawValue) bool {
	if b, ok := v.BooleanOK(); ok {
		return b
	}
	n, ok := numberOf(v)
	return ok && n != 0
}

// trueValue takes anything for true but false, zero, null and nothing.
func trueValue(v bson.RawValue) bool {
	if _, isNumber := numberOf(v); isNumber || v.Type == bson.TypeBoolean {
		return truth(v)
	}
	return !v.IsZero() && v.Type != bson.TypeNull && v.Type != bson.TypeUndefined
}

// numberOf reads a number of any type.
func numberOf(v bson.RawValue) (float64, bool) {
	if d, ok := v.Decimal128OK(); ok {
		n, err := strconv.ParseFloat(d.String(), 64)
		return n, err == nil || math.IsInf(n, 0)
	}
	return v.AsFloat64OK()
}

// number reads a safeInt.
func (a args) number(name string) int64 { return wholeNumber(a[name]) }

// wholeNumber reads a safeInt: doubles are cut, NaN is 0, the rest is clamped.
func wholeNumber(v bson.RawValue) int64 {
	f, ok := numberOf(v)
	if !ok || math.IsNaN(f) {
		return 0
	}
	return int64(math.Max(math.MinInt32, math.Min(math.MaxInt32, math.Trunc(f))))
}

// documents reads an array of documents.
func documents(v bson.RawValue) ([]bson.Raw, error) {
	return documentsAt("array", v)
}

// documentsAt is documents with the array's place for messages.
func documentsAt(place string, v bson.RawValue) ([]bson.Raw, error) {
	array, ok := v.ArrayOK()
	if !ok {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s' is the wrong type '%s', expected type 'array'", place, typeName(v.Type))
	}
	values, err := array.Values()
	if err != nil {
		return nil, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	docs := make([]bson.Raw, len(values))
	for i, v := range values {
		doc, ok := v.DocumentOK()
		if !ok {
			return nil, mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s.%d' is the wrong type '%s', expected type 'object'", place, i, typeName(v.Type))
		}
		docs[i] = doc
	}
	return docs, nil
}

// typeName is the server's name of a BSON type.
func typeName(t bson.Type) string {
	names := map[bson.Type]string{
		0: "missing", bson.TypeDouble: "double", bson.TypeString: "string", bson.TypeEmbeddedDocument: "object",
		bson.TypeArray: "array", bson.TypeBinary: "binData", bson.TypeUndefined: "undefined", bson.TypeObjectID: "objectId",
		bson.TypeBoolean: "bool", bson.TypeDateTime: "date", bson.TypeNull: "null", bson.TypeRegex: "regex",
		bson.TypeInt32: "int", bson.TypeTimestamp: "timestamp", bson.TypeInt64: "long", bson.TypeDecimal128: "decimal",
		bson.TypeMinKey: "minKey", bson.TypeMaxKey: "maxKey",
	}
	if n, ok := names[t]; ok {
		return n
	}
	return t.String()
}
