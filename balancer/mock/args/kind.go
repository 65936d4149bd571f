package args

import (
	"cmp"
	"encoding/hex"
	"math"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// Kind is the kind of values that a declared field accepts (rules/03-commands §0.5).
type Kind uint8

// The kinds. A kind without a comment accepts the BSON type of its name.
const (
	Any Kind = iota
	String
	Database         // the name of a database
	Collection       // the name of a collection in the command's database
	OldCollection    // as Collection, for old-style commands: another type is an invalid name
	Namespace        // a full namespace
	AnyNamespace     // a full namespace or the name of a database
	OldNamespace     // a full namespace, for old-style commands: another type is BadValue
	OldAnyNamespace  // as OldNamespace, or the name of a database
	NamespaceToShard // OldNamespace for a collection that may be sharded
	Shard            // a shard id: not empty
	Names            // a name or an array of names
	QueryShape       // a query, or the hash of a query shape
	Object
	FindObject      // an object of find; null is a type error
	OldObject       // an object that is parsed by hand; null is a type error
	CollectionOrOne // the name of a collection in the command's database, or 1
	Update          // the modification of an update, an object or an array; null is an error
	NumberOrZero    // any value; 0 unless it is a number
	BoolOrUUID      // a bool or a UUID
	IndexesToDrop   // an index name, an array of names or a key pattern; null is a type error
	CommitQuorum    // a string or a number
	ClusteredIndex  // an object, or for old clients a bool or number; null is a type error
	Array
	Objects // an array of objects
	Bool
	Int          // an int32; other numbers are type errors
	SafeBool     // a bool or a number
	SafeInt      // any number, truncated to int32
	OptionalBool // a bool; null is a type error
	UUID
	Long      // an int64; other numbers are type errors
	Count     // any non-negative number
	Limit     // any integral number, for old-style commands
	TaskCount // any number from 1 to 256
	Hint
)

// checkFunc rejects an invalid value of a command field.
type checkFunc func(cmd string, f Field, v bson.RawValue) error

// rule is the definition of a kind.
type rule struct {
	// types are the accepted types in the order in which the server names them; empty for any type.
	types []bson.Type
	// wrongType returns the error for a value of another type; nil for the default error.
	wrongType checkFunc
	// onRead checks a value when it is parsed, onRun when the command runs.
	onRead, onRun checkFunc
	// rejectsNull makes a null value a type error; by default null counts as absent.
	rejectsNull bool
}

var (
	text = []bson.Type{bson.TypeString}
	// numbers and bools have the order that most fields have in 8.0.10, which is the order of a hash
	// table.
	numbers = []bson.Type{bson.TypeInt32, bson.TypeDecimal128, bson.TypeDouble, bson.TypeInt64}
	bools   = []bson.Type{bson.TypeInt64, bson.TypeDecimal128, bson.TypeBoolean, bson.TypeDouble, bson.TypeInt32}
)

var kinds = map[Kind]rule{
	String:     {types: text},
	Database:   {types: text, onRead: checkDatabaseName, onRun: checkDatabaseNotEmpty},
	Collection: {types: text, wrongType: collectionTypeError, rejectsNull: true},
	CollectionOrOne: {types: append(slices.Clone(text), bson.TypeInt32, bson.TypeInt64, bson.TypeDouble,
		bson.TypeDecimal128), wrongType: collectionTypeError, onRead: checkOne, rejectsNull: true},
	OldCollection:    {types: text, wrongType: invalidNamespaceTypeError, onRead: checkCollectionName, rejectsNull: true},
	Namespace:        {types: text, onRun: checkNamespace},
	AnyNamespace:     {types: text, onRun: checkDatabaseNotEmpty},
	OldNamespace:     {types: text, wrongType: namespaceTypeError, onRead: checkNamespace, rejectsNull: true},
	OldAnyNamespace:  {types: text, wrongType: anyNamespaceTypeError, onRun: checkDatabaseNotEmpty, rejectsNull: true},
	NamespaceToShard: {types: text, wrongType: namespaceTypeError, onRead: checkNamespaceToShard, rejectsNull: true},
	Shard:            {types: text, onRead: checkShardID},
	Names:            {types: []bson.Type{bson.TypeString, bson.TypeArray}, rejectsNull: true},
	QueryShape: {types: []bson.Type{bson.TypeString, bson.TypeEmbeddedDocument}, onRead: checkQueryShape,
		onRun: checkShapedQuery, rejectsNull: true},
	Object:     {types: []bson.Type{bson.TypeEmbeddedDocument}},
	FindObject: {types: []bson.Type{bson.TypeEmbeddedDocument}, wrongType: findObjectTypeError, rejectsNull: true},
	ClusteredIndex: {
		types:       append(slices.Clone(bools), bson.TypeEmbeddedDocument),
		wrongType:   variantTypeError,
		onRead:      checkClusteredIndex,
		rejectsNull: true,
	},
	Update: {
		types:       []bson.Type{bson.TypeEmbeddedDocument, bson.TypeArray},
		wrongType:   updateTypeError,
		rejectsNull: true,
	},
	NumberOrZero: {rejectsNull: true},
	IndexesToDrop: {
		types:       []bson.Type{bson.TypeString, bson.TypeArray, bson.TypeEmbeddedDocument},
		wrongType:   indexesTypeError,
		rejectsNull: true,
	},
	CommitQuorum: {types: []bson.Type{bson.TypeInt64, bson.TypeInt32, bson.TypeDecimal128, bson.TypeString,
		bson.TypeDouble}, onRead: checkCommitQuorum},
	OldObject:    {types: []bson.Type{bson.TypeEmbeddedDocument}, wrongType: oldObjectTypeError, rejectsNull: true},
	Array:        {types: []bson.Type{bson.TypeArray}},
	Objects:      {types: []bson.Type{bson.TypeArray}, onRead: checkObjects},
	Bool:         {types: []bson.Type{bson.TypeBoolean}},
	OptionalBool: {types: []bson.Type{bson.TypeBoolean}, wrongType: boolTypeError, rejectsNull: true},
	SafeBool:     {types: bools},
	Int:          {types: []bson.Type{bson.TypeInt32}},
	SafeInt:      {types: numbers},
	Count:        {types: numbers, onRead: checkCount},
	TaskCount:    {types: numbers, onRead: checkTasks},
	Limit:        {types: numbers, wrongType: limitTypeError, onRead: checkWhole},
	BoolOrUUID:   {types: []bson.Type{bson.TypeBoolean, bson.TypeBinary}, wrongType: variantTypeError},
	Long:         {types: []bson.Type{bson.TypeInt64}},
	Hint: {
		types:       []bson.Type{bson.TypeString, bson.TypeEmbeddedDocument},
		wrongType:   hintTypeError,
		rejectsNull: true,
	},
	UUID: {types: []bson.Type{bson.TypeBinary}},
}

// Check rejects a value that has the wrong type or is out of the field's range.
func (f Field) Check(cmd string, v bson.RawValue) error {
	kindRule := kinds[f.kind]
	switch {
	case kindRule.types == nil || slices.Contains(kindRule.types, v.Type):
	case kindRule.wrongType != nil:
		return kindRule.wrongType(cmd, f, v)
	default:
		return f.wrongType(cmd, v)
	}
	if err := f.checkAllowed(cmd, v); err != nil {
		return err
	}
	if kindRule.onRead != nil {
		if err := kindRule.onRead(cmd, f, v); err != nil {
			return err
		}
	}
	return f.checkSubfields(cmd, v)
}

func (f Field) wrongType(cmd string, v bson.RawValue) error {
	types := kinds[f.kind].types
	expected := "type '" + TypeName(types[0]) + "'"
	if len(types) > 1 {
		var names []string
		for _, t := range types {
			names = append(names, TypeName(t))
		}
		expected = "types '[" + cmp.Or(f.typeNames, strings.Join(names, ", ")) + "']" // the server's format
	}
	return mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s.%s' is the wrong type '%s', expected %s", cmd, f.name,
		TypeName(v.Type), expected)
}

func namespaceTypeError(_ string, _ Field, v bson.RawValue) error {
	return mongoerr.New(mongoerr.BadValue, "collection name has invalid type %s", TypeName(v.Type))
}

func anyNamespaceTypeError(_ string, _ Field, v bson.RawValue) error {
	return mongoerr.New(mongoerr.BadValue, "namespace has invalid type %s", TypeName(v.Type))
}

func invalidNamespaceTypeError(_ string, _ Field, v bson.RawValue) error {
	return mongoerr.New(mongoerr.InvalidNamespace, "collection name has invalid type %s", TypeName(v.Type))
}

func collectionTypeError(_ string, _ Field, v bson.RawValue) error {
	return mongoerr.New(mongoerr.TypeMismatch, "collection name has invalid type %s", TypeName(v.Type))
}

// variantTypeError returns the type error of a field that accepts several types.
func variantTypeError(cmd string, f Field, v bson.RawValue) error {
	return mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s.%s' is the wrong type '%s', expected types '[']", cmd,
		f.name, TypeName(v.Type))
}

func limitTypeError(_ string, f Field, _ bson.RawValue) error {
	return mongoerr.New(mongoerr.BadValue, "%s value is not a valid number", f.name)
}

func checkWhole(_ string, f Field, v bson.RawValue) error {
	if n, _ := Number(v); n != math.Trunc(n) {
		return mongoerr.New(mongoerr.FailedToParse, "Expected an integer: %s: %v", f.name, n)
	}
	return nil
}

func updateTypeError(string, Field, bson.RawValue) error {
	return mongoerr.New(mongoerr.FailedToParse, "Update argument must be either an object or an array")
}

func indexesTypeError(cmd string, f Field, v bson.RawValue) error {
	return mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s.%s' is the wrong type '%s', expected types '[string']", cmd,
		f.name, TypeName(v.Type))
}

func checkCommitQuorum(_ string, _ Field, v bson.RawValue) error {
	n, isNumber := Number(v)
	switch text := Text(v); {
	case isNumber && (n < 0 || n > catalog.MaxReplicaSetMembers):
		return mongoerr.New(mongoerr.FailedToParse,
			"commitQuorum has to be a non-negative number and not greater than %d", catalog.MaxReplicaSetMembers)
	case isNumber || text == "majority" || text == "votingMembers":
		return nil
	case text == "":
		return mongoerr.New(mongoerr.FailedToParse, "commitQuorum can't be an empty string")
	default:
		return mongoerr.New(mongoerr.UnknownReplWriteConcern,
			"No write concern mode named '%s' found in replica set configuration", text)
	}
}

func checkClusteredIndex(_ string, _ Field, v bson.RawValue) error {
	if v.Type == bson.TypeEmbeddedDocument {
		return nil
	}
	return mongoerr.New(5979703, "The 'clusteredIndex' legacy format {clusteredIndex: <bool>} is only supported for "+
		"specific internal collections and vice versa")
}

func findObjectTypeError(_ string, f Field, _ bson.RawValue) error {
	return mongoerr.New(mongoerr.TypeMismatch, "Expected field %sto be of type object", f.name) // as servers write it
}

func oldObjectTypeError(cmd string, f Field, v bson.RawValue) error {
	if v.Type != bson.TypeNull {
		return mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s.%s' is the wrong type '%s', expected type 'object'", cmd,
			f.name, TypeName(v.Type))
	}
	return mongoerr.New(mongoerr.TypeMismatch, "\"%s\" had the wrong type. Expected object, found %s", f.name,
		TypeName(v.Type))
}

func checkOne(_ string, f Field, v bson.RawValue) error {
	if n, isNumber := Number(v); isNumber && n != 1 {
		return mongoerr.New(mongoerr.BadValue, "Invalid command format: the '%s' field must specify a collection name or 1",
			f.name)
	}
	return nil
}

func boolTypeError(_ string, f Field, v bson.RawValue) error {
	return mongoerr.New(mongoerr.TypeMismatch, "Field '%s' should be a boolean value, but found: %s", f.name,
		TypeName(v.Type))
}

func hintTypeError(string, Field, bson.RawValue) error {
	return mongoerr.New(mongoerr.FailedToParse, "Hint must be a string or an object")
}

func checkShardID(_ string, _ Field, v bson.RawValue) error {
	if v.StringValue() == "" {
		return mongoerr.New(mongoerr.NoSuchKey, "Shard ID cannot be empty")
	}
	return nil
}

func checkObjects(_ string, _ Field, v bson.RawValue) error {
	_, err := Documents(v)
	return err
}

func checkTasks(_ string, f Field, v bson.RawValue) error {
	if n := ClampedInt(v); n < 1 || n > 256 {
		return mongoerr.New(mongoerr.BadValue, "BSON field '%s' value must be >= 1 and <= 256, actual value '%d'", f.name, n)
	}
	return nil
}

func checkCount(_ string, f Field, v bson.RawValue) error {
	return f.checkMin(v, 0)
}

func checkCollectionName(_ string, _ Field, v bson.RawValue) error {
	if name := v.StringValue(); !catalog.ValidCollectionName(name) {
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid collection name specified: '%s'", name)
	}
	return nil
}

func checkDatabaseName(_ string, _ Field, v bson.RawValue) error {
	if name := v.StringValue(); name != "" && !catalog.ValidDatabaseName(name) {
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid database name: '%s'", name)
	}
	return nil
}

func checkDatabaseNotEmpty(_ string, _ Field, v bson.RawValue) error {
	if v.StringValue() == "" {
		return noDatabaseError()
	}
	if name := v.StringValue(); name[0] == '.' {
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid namespace specified '%s'", name)
	}
	return nil
}

func checkNamespace(_ string, f Field, v bson.RawValue) error {
	ns := v.StringValue()
	_, _, err := catalog.SplitNamespace(ns)
	switch {
	case err == nil || f.namespaceError == "":
		return err
	case !strings.Contains(f.namespaceError, "%s"):
		return mongoerr.New(mongoerr.InvalidNamespace, "%s", f.namespaceError)
	case ns == "":
		return noDatabaseError()
	}
	return mongoerr.New(mongoerr.InvalidNamespace, f.namespaceError, ns)
}

// noDatabaseError is the error of an empty namespace.
func noDatabaseError() error {
	return mongoerr.New(mongoerr.InvalidNamespace, " is not a valid db name")
}

// queryShapeHashBytes is the length of the hash of a query shape.
const queryShapeHashBytes = 32

func checkQueryShape(_ string, f Field, v bson.RawValue) error {
	digits, isText := v.StringValueOK()
	if !isText {
		return nil
	}
	hash, err := hex.DecodeString(digits)
	switch {
	case err != nil:
		return mongoerr.New(mongoerr.BadValue, "%s is not the hash of a query shape: %s", f.name, err)
	case len(hash) != queryShapeHashBytes:
		return mongoerr.New(mongoerr.InvalidLength, "%s is not the hash of a query shape: it must have %d bytes", f.name,
			queryShapeHashBytes)
	}
	return nil
}

func checkShapedQuery(_ string, _ Field, v bson.RawValue) error {
	doc, isDoc := v.DocumentOK()
	if name := FirstKey(doc); isDoc && name != "find" && name != "aggregate" && name != "distinct" {
		return mongoerr.New(mongoerr.NoQueryShape, "QueryShape can not be computed for command: %s", doc)
	}
	return nil
}

// checkNamespaceToShard rejects collections that can never be sharded. Servers check this first.
func checkNamespaceToShard(_ string, _ Field, v bson.RawValue) error {
	ns := v.StringValue()
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
