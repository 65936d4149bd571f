package humanize

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// TextLiteral returns the literal of a string in the shell.
func TextLiteral(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // strings can always be encoded
	return strings.TrimSuffix(b.String(), "\n")
}

// Literal returns the literal of a document in the shell.
func Literal(doc bson.Raw) string {
	if doc.Validate() != nil {
		return doc.String() // the document is invalid or empty
	}
	return literal(bson.RawValue{Type: bson.TypeEmbeddedDocument, Value: doc})
}

// ValueLiteral returns the literal of a value in the shell.
func ValueLiteral(v bson.RawValue) string {
	if v.Validate() != nil {
		return v.String()
	}
	return literal(v)
}

func literal(v bson.RawValue) string {
	switch v.Type {
	case bson.TypeEmbeddedDocument:
		elements, _ := v.Document().Elements()
		parts := make([]string, len(elements))
		for i, e := range elements {
			parts[i] = TextLiteral(e.Key()) + ": " + literal(e.Value())
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case bson.TypeArray:
		values, _ := v.Array().Values()
		parts := make([]string, len(values))
		for i, one := range values {
			parts[i] = literal(one)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case bson.TypeDecimal128:
		return fmt.Sprintf("Decimal128(%q)", v.Decimal128().String())
	case bson.TypeString:
		return TextLiteral(v.StringValue())
	case bson.TypeBoolean:
		return strconv.FormatBool(v.Boolean())
	case bson.TypeNull:
		return "null"
	case bson.TypeMinKey:
		return "MinKey()"
	case bson.TypeMaxKey:
		return "MaxKey()"
	case bson.TypeInt32:
		return strconv.Itoa(int(v.Int32()))
	case bson.TypeInt64:
		return fmt.Sprintf("Long(%q)", strconv.FormatInt(v.Int64(), 10))
	case bson.TypeDouble:
		return doubleLiteral(v.Double())
	case bson.TypeObjectID:
		return fmt.Sprintf("ObjectId(%q)", v.ObjectID().Hex())
	case bson.TypeDateTime:
		return fmt.Sprintf("ISODate(%q)", v.Time().UTC().Format(time.RFC3339Nano))
	case bson.TypeBinary:
		subtype, data := v.Binary()
		return fmt.Sprintf("BinData(%d, %q)", subtype, base64.StdEncoding.EncodeToString(data))
	case bson.TypeTimestamp:
		t, i := v.Timestamp()
		return fmt.Sprintf("Timestamp(%d, %d)", t, i)
	}
	return "EJSON.parse(" + TextLiteral(v.String()) + ")"
}

// doubleLiteral formats a double. Where the shell would read a whole number as an integer, the literal
// keeps the type.
func doubleLiteral(f float64) string {
	text := strconv.FormatFloat(f, 'f', -1, 64)
	switch {
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	case f == math.Trunc(f):
		return "Double(" + text + ")"
	}
	return text
}
