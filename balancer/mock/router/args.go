package router

import (
	"math"
	"strconv"

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
	shardValue        // a shard id: not empty
	objectValue
	arrayValue
	boolValue
	safeBool     // a bool or a number
	safeInt      // any number, cut to int32
	optionalBool // a bool; null is a type error
	uuidValue
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
	parsed := args{}
	for _, f := range cmd.declared {
		v := cmd.lookup(body, f.name)
		absent := v.IsZero() || (v.Type == bson.TypeNull || v.Type == bson.TypeUndefined) && f.kind != optionalBool
		if absent && f.required {
			return nil, mongoerr.New(mongoerr.IDLFailedToParse, "BSON field '%s.%s' is missing but a required field", cmd.name, f.name)
		}
		if absent {
			continue
		}
		if err := f.check(cmd.name, v); err != nil {
			return nil, err
		}
		parsed[f.name] = v
	}
	if cmd.strict {
		return parsed, refuseUnknown(cmd, body)
	}
	return parsed, nil
}

// lookup finds a field. That of the command's own name may be under an alias.
func (cmd *command) lookup(body bson.Raw, name string) bson.RawValue {
	v := body.Lookup(name)
	if name != cmd.name {
		return v
	}
	for _, alias := range cmd.aliases {
		if v.IsZero() {
			v = body.Lookup(alias)
		}
	}
	return v
}

func refuseUnknown(cmd *command, body bson.Raw) error {
	known := map[string]bool{}
	for _, alias := range cmd.aliases {
		known[alias] = true
	}
	for _, f := range cmd.declared {
		known[f.name] = true
	}
	elems, err := body.Elements()
	if err != nil {
		return mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	for _, e := range elems {
		if !known[e.Key()] && !generic[e.Key()] {
			return mongoerr.New(mongoerr.IDLUnknownField, "BSON field '%s.%s' is an unknown field.", cmd.name, e.Key())
		}
	}
	return nil
}

// accepts lists the BSON types of each kind.
var accepts = map[kind][]bson.Type{
	stringValue:       {bson.TypeString},
	namespaceValue:    {bson.TypeString},
	oldNamespaceValue: {bson.TypeString},
	shardValue:        {bson.TypeString},
	objectValue:       {bson.TypeEmbeddedDocument},
	arrayValue:        {bson.TypeArray},
	boolValue:         {bson.TypeBoolean},
	optionalBool:      {bson.TypeBoolean},
	safeBool:          {bson.TypeBoolean, bson.TypeInt32, bson.TypeInt64, bson.TypeDouble, bson.TypeDecimal128},
	safeInt:           {bson.TypeInt32, bson.TypeInt64, bson.TypeDouble, bson.TypeDecimal128},
	uuidValue:         {bson.TypeBinary},
}

func (f field) check(cmd string, v bson.RawValue) error {
	types, limited := accepts[f.kind]
	if !limited {
		return nil
	}
	for _, t := range types {
		if v.Type != t {
			continue
		}
		if f.kind == shardValue && v.StringValue() == "" {
			return mongoerr.New(mongoerr.NoSuchKey, "BSON field '%s.%s' must not be empty", cmd, f.name)
		}
		if f.kind == namespaceValue || f.kind == oldNamespaceValue {
			_, _, err := catalog.SplitNamespace(v.StringValue())
			return err
		}
		return nil
	}
	if f.kind == oldNamespaceValue {
		return mongoerr.New(mongoerr.BadValue, "collection name has invalid type %s", typeName(v.Type))
	}
	return mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s.%s' is the wrong type '%s', expected type '%s'", cmd, f.name, typeName(v.Type), typeName(types[0]))
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

// numberOf reads a number of any type.
func numberOf(v bson.RawValue) (float64, bool) {
	if d, ok := v.Decimal128OK(); ok {
		n, err := strconv.ParseFloat(d.String(), 64)
		return n, err == nil || math.IsInf(n, 0)
	}
	return v.AsFloat64OK()
}

// number reads a safeInt: doubles are cut, NaN is 0, the rest is clamped.
func (a args) number(name string) int64 {
	f, ok := numberOf(a[name])
	if !ok || math.IsNaN(f) {
		return 0
	}
	return int64(math.Max(math.MinInt32, math.Min(math.MaxInt32, math.Trunc(f))))
}

// documents reads an array of documents.
func documents(v bson.RawValue) ([]bson.Raw, error) {
	array, ok := v.ArrayOK()
	if !ok {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "expected an array, got %s", typeName(v.Type))
	}
	values, err := array.Values()
	if err != nil {
		return nil, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	docs := make([]bson.Raw, len(values))
	for i, v := range values {
		doc, ok := v.DocumentOK()
		if !ok {
			return nil, mongoerr.New(mongoerr.TypeMismatch, "element %d is a %s, expected an object", i, typeName(v.Type))
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
