package value

import "go.mongodb.org/mongo-driver/v2/bson"

// TypeByName returns the type of an alias such as "int" or "objectId".
func TypeByName(name string) (bson.Type, bool) {
	for t, n := range typeNames {
		if n == name {
			return t, true
		}
	}
	return 0, false
}

// TypeByNumber returns the type of a number in $type; -1 is MinKey.
func TypeByNumber(n int64) (bson.Type, bool) {
	if n == -1 {
		return bson.TypeMinKey, true
	}
	t := bson.Type(n)
	_, ok := typeNames[t]
	return t, ok && n >= 1 && n <= 127
}

var typeNames = map[bson.Type]string{
	bson.TypeDouble: "double", bson.TypeString: "string", bson.TypeEmbeddedDocument: "object",
	bson.TypeArray: "array", bson.TypeBinary: "binData", bson.TypeUndefined: "undefined",
	bson.TypeObjectID: "objectId", bson.TypeBoolean: "bool", bson.TypeDateTime: "date",
	bson.TypeNull: "null", bson.TypeRegex: "regex", bson.TypeDBPointer: "dbPointer",
	bson.TypeJavaScript: "javascript", bson.TypeSymbol: "symbol",
	bson.TypeCodeWithScope: "javascriptWithScope", bson.TypeInt32: "int",
	bson.TypeTimestamp: "timestamp", bson.TypeInt64: "long", bson.TypeDecimal128: "decimal",
	bson.TypeMinKey: "minKey", bson.TypeMaxKey: "maxKey",
}

// TypeName returns the server's alias of a value's type.
func TypeName(v Value) string {
	if name, ok := typeNames[v.Type]; ok {
		return name
	}
	return "missing"
}
