package document

import (
	"encoding/hex"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/humanize"
	"shardsh/balancer/mock/store/value"
	"shardsh/balancer/mongoerr"
)

// Text returns a value in the format of the server's messages: { a: 1, b: "x" }.
func Text(v value.Value) string {
	var b strings.Builder
	writeText(&b, v)
	return b.String()
}

func writeText(b *strings.Builder, v value.Value) {
	switch v.Type {
	case bson.TypeString, bson.TypeSymbol:
		b.WriteString(`"` + value.TextAt(v.Value) + `"`)
	case bson.TypeDouble:
		b.WriteString(mongoerr.DoubleText(value.DoubleAt(v.Value)))
	case bson.TypeInt32, bson.TypeInt64:
		b.WriteString(strconv.FormatInt(value.ToInteger(v), 10))
	case bson.TypeDecimal128:
		b.WriteString(value.DecimalAt(v.Value).String())
	case bson.TypeBoolean:
		b.WriteString(strconv.FormatBool(value.BoolAt(v.Value)))
	case bson.TypeObjectID:
		b.WriteString("ObjectId('" + hex.EncodeToString(v.Value) + "')")
	case bson.TypeDateTime:
		b.WriteString("new Date(" + strconv.FormatInt(value.Int64At(v.Value), 10) + ")")
	case bson.TypeTimestamp:
		s, i := value.TimestampAt(v.Value)
		b.WriteString("Timestamp(" + strconv.FormatUint(uint64(s), 10) + ", " + strconv.FormatUint(uint64(i), 10) + ")")
	case bson.TypeRegex:
		pattern, options := value.RegexAt(v.Value)
		b.WriteString("/" + pattern + "/" + options)
	case bson.TypeBinary:
		subtype, data := value.BinaryAt(v.Value)
		if subtype == 4 && len(data) == 16 {
			b.WriteString(`UUID("` + humanize.UUID(data) + `")`)
			return
		}
		b.WriteString("BinData(" + strconv.Itoa(int(subtype)) + ", " + strings.ToUpper(hex.EncodeToString(data)) + ")")
	case bson.TypeEmbeddedDocument:
		writeList(b, v, "{", "}", true)
	case bson.TypeArray:
		writeList(b, v, "[", "]", false)
	case bson.TypeMinKey:
		b.WriteString("MinKey")
	case bson.TypeMaxKey:
		b.WriteString("MaxKey")
	case bson.TypeJavaScript:
		b.WriteString(value.TextAt(v.Value))
	default:
		b.WriteString(value.TypeName(v)) // null, undefined, missing
	}
}

func writeList(b *strings.Builder, v value.Value, open, end string, named bool) {
	b.WriteString(open)
	first := true
	for name, f := range Fields(v.Value) {
		if !first {
			b.WriteByte(',')
		}
		first = false
		b.WriteByte(' ')
		if named {
			b.Write(name)
			b.WriteString(": ")
		}
		writeText(b, f)
	}
	if !first {
		b.WriteByte(' ')
	}
	b.WriteString(end)
}

// FormatArgs replaces the BSON values in the arguments of a message by their Text.
func FormatArgs(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case value.Value:
			out[i] = Text(a)
		case bson.Raw:
			out[i] = Text(value.Object(a))
		default:
			out[i] = a
		}
	}
	return out
}

// RawText returns a document in the format of the server's messages.
func RawText(doc bson.Raw) string { return Text(value.Object(doc)) }
