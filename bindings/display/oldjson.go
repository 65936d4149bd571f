package display

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/humanize"
	"shardsh/bindings/plaintext"
)

// OldJSON formats a value as the old shell's JSON: quoted names, spaces around colons, one tab for each
// level.
func (d *Display) OldJSON(v goja.Value, oneLine bool) string {
	switch {
	case goja.IsUndefined(v):
		return "undefined"
	case goja.IsString(v):
		return plaintext.EscapeJSON(humanize.TextLiteral(v.String()))
	}
	if _, ok := goja.AssertFunction(v); ok {
		return v.String() // text of the script itself
	}
	raw, err := d.JS.Values.ToBSON(v)
	if err != nil {
		return v.String()
	}
	if goja.IsNumber(v) { // a JavaScript number has no BSON type
		return v.String()
	}
	return plaintext.EscapeJSON(OldJSON(raw, "", oneLine))
}

// OldJSON formats a BSON value as the old shell's JSON.
func OldJSON(v bson.RawValue, indent string, oneLine bool) string {
	switch v.Type {
	case bson.TypeEmbeddedDocument:
		return oldContainer(v.Document(), "{", "}", true, indent, oneLine)
	case bson.TypeArray:
		return oldContainer(bson.Raw(v.Array()), "[", "]", false, indent, oneLine)
	}
	return oldScalar(v)
}

func oldContainer(doc bson.Raw, open, end string, named bool, indent string, oneLine bool) string {
	elems, err := doc.Elements()
	if err != nil || len(elems) == 0 {
		return open + " " + end
	}
	parts := make([]string, len(elems))
	for i, el := range elems {
		text := OldJSON(el.Value(), indent+"\t", oneLine)
		if named {
			text = humanize.TextLiteral(el.Key()) + " : " + text
		}
		parts[i] = text
	}
	if oneLine {
		return open + " " + strings.Join(parts, ", ") + " " + end
	}
	inner := "\n" + indent + "\t"
	return open + inner + strings.Join(parts, ","+inner) + "\n" + indent + end
}

func oldScalar(v bson.RawValue) string {
	switch v.Type {
	case bson.TypeString:
		return humanize.TextLiteral(v.StringValue())
	case bson.TypeDouble:
		return plaintext.JSNumber(v.Double())
	case bson.TypeInt32:
		return fmt.Sprint(v.Int32())
	case bson.TypeInt64:
		if n := v.Int64(); n < -1<<31 || n >= 1<<31 {
			return fmt.Sprintf("NumberLong(\"%d\")", n)
		}
		return fmt.Sprintf("NumberLong(%d)", v.Int64())
	case bson.TypeDecimal128:
		return fmt.Sprintf("NumberDecimal(%q)", v.Decimal128().String())
	case bson.TypeBoolean:
		return fmt.Sprint(v.Boolean())
	case bson.TypeNull:
		return "null"
	case bson.TypeUndefined:
		return "undefined"
	case bson.TypeObjectID:
		return fmt.Sprintf("ObjectId(%q)", v.ObjectID().Hex())
	case bson.TypeDateTime:
		return fmt.Sprintf("ISODate(%q)", v.Time().UTC().Format("2006-01-02T15:04:05.999Z"))
	case bson.TypeTimestamp:
		t, i := v.Timestamp()
		return fmt.Sprintf("Timestamp(%d, %d)", t, i)
	case bson.TypeMinKey:
		return `{ "$minKey" : 1 }`
	case bson.TypeMaxKey:
		return `{ "$maxKey" : 1 }`
	case bson.TypeRegex:
		pattern, options := v.Regex()
		return "/" + pattern + "/" + options
	case bson.TypeBinary:
		subtype, data := v.Binary()
		if subtype == 4 && len(data) == 16 {
			return fmt.Sprintf("UUID(%q)", humanize.UUID(data))
		}
		return fmt.Sprintf("BinData(%d,%q)", subtype, base64.StdEncoding.EncodeToString(data))
	case bson.TypeSymbol:
		return humanize.TextLiteral(v.Symbol())
	case bson.TypeJavaScript:
		return v.JavaScript()
	}
	return v.String()
}
