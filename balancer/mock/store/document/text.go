package store

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// text writes a value the way the server's messages do: { a: 1, b: "x" }.
func text(v value) string {
	var b strings.Builder
	writeText(&b, v)
	return b.String()
}

func writeText(b *strings.Builder, v value) {
	switch v.Type {
	case bson.TypeString, bson.TypeSymbol:
		b.WriteString(`"` + textAt(v.Value) + `"`)
	case bson.TypeDouble:
		f := doubleAt(v.Value)
		b.WriteString(doubleText(f))
		if f == math.Trunc(f) && math.Abs(f) < 1e16 {
			b.WriteString(".0")
		}
	case bson.TypeInt32, bson.TypeInt64:
		b.WriteString(strconv.FormatInt(toInteger(v), 10))
	case bson.TypeDecimal128:
		b.WriteString(decimalAt(v.Value).String())
	case bson.TypeBoolean:
		b.WriteString(strconv.FormatBool(boolAt(v.Value)))
	case bson.TypeObjectID:
		b.WriteString("ObjectId('" + hex.EncodeToString(v.Value) + "')")
	case bson.TypeDateTime:
		b.WriteString("new Date(" + strconv.FormatInt(int64At(v.Value), 10) + ")")
	case bson.TypeTimestamp:
		s, i := timestampAt(v.Value)
		b.WriteString("Timestamp(" + strconv.FormatUint(uint64(s), 10) + ", " + strconv.FormatUint(uint64(i), 10) + ")")
	case bson.TypeRegex:
		pattern, options := regexAt(v.Value)
		b.WriteString("/" + pattern + "/" + options)
	case bson.TypeBinary:
		subtype, data := binaryAt(v.Value)
		if subtype == 4 && len(data) == 16 {
			b.WriteString(`UUID("` + uuidText(data) + `")`)
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
		b.WriteString(textAt(v.Value))
	default:
		b.WriteString(typeName(v)) // null, undefined, missing
	}
}

func writeList(b *strings.Builder, v value, open, end string, named bool) {
	b.WriteString(open)
	first := true
	for name, f := range fields(v.Value) {
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

// readable puts values among the arguments of a message in that form.
func readable(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case value:
			out[i] = text(a)
		case bson.Raw:
			out[i] = text(objectValue(a))
		default:
			out[i] = a
		}
	}
	return out
}

// Shown writes a document the way the server's messages do.
func Shown(doc bson.Raw) string { return text(objectValue(doc)) }
