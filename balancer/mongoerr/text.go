package mongoerr

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Text formats a document as the server does in its messages: { a: 1, b: "x" }. A malformed document is
// formatted as far as it can be read.
func Text(doc bson.Raw) string {
	elems, err := doc.Elements()
	if err != nil || len(elems) == 0 {
		return "{}"
	}
	parts := make([]string, len(elems))
	for i, e := range elems {
		parts[i] = e.Key() + ": " + ValueText(e.Value())
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}

// ValueText shows one value.
func ValueText(v bson.RawValue) string {
	switch v.Type {
	case bson.TypeEmbeddedDocument:
		return Text(v.Document())
	case bson.TypeArray:
		return arrayText(v.Array())
	case bson.TypeString:
		return strconv.Quote(v.StringValue())
	case bson.TypeInt32, bson.TypeInt64:
		return strconv.FormatInt(v.AsInt64(), 10)
	case bson.TypeDouble:
		return DoubleText(v.Double())
	case bson.TypeBoolean:
		return strconv.FormatBool(v.Boolean())
	case bson.TypeNull:
		return "null"
	case bson.TypeMinKey:
		return "MinKey"
	case bson.TypeMaxKey:
		return "MaxKey"
	case bson.TypeObjectID:
		return "ObjectId('" + v.ObjectID().Hex() + "')"
	case bson.TypeDateTime:
		return fmt.Sprintf("new Date(%d)", v.DateTime())
	case bson.TypeTimestamp:
		t, i := v.Timestamp()
		return fmt.Sprintf("Timestamp(%d, %d)", t, i)
	case bson.TypeBinary:
		subtype, data := v.Binary()
		return fmt.Sprintf("BinData(%d, %s)", subtype, strings.ToUpper(hex.EncodeToString(data)))
	case bson.TypeRegex:
		pattern, options := v.Regex()
		return "/" + pattern + "/" + options
	}
	return v.String()
}

func arrayText(array bson.RawArray) string {
	values, err := array.Values()
	if err != nil || len(values) == 0 {
		return "[]"
	}
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = ValueText(v)
	}
	return "[ " + strings.Join(parts, ", ") + " ]"
}

// DoubleText formats a double so that it does not look like an integer, as the server does in its messages.
func DoubleText(f float64) string {
	text := DoubleDigits(f)
	if strings.ContainsAny(text, ".eIN") {
		return text
	}
	return text + ".0"
}

// DoubleDigits formats a double with up to 16 digits, like "%.16g".
func DoubleDigits(f float64) string {
	if math.IsInf(f, 0) { // Infinity or -Infinity
		return strings.TrimPrefix(strconv.FormatFloat(f, 'g', -1, 64), "+") + "inity"
	}
	return strconv.FormatFloat(f, 'g', 16, 64)
}

// bsonToText replaces BSON arguments of a message by the server's text format.
func bsonToText(args []any) []any {
	for i, arg := range args {
		switch arg := arg.(type) {
		case bson.Raw:
			args[i] = Text(arg)
		case bson.RawValue:
			args[i] = ValueText(arg)
		}
	}
	return args
}
