package expr

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

// The conversions of 8.3: any type to string, JSON strings to arrays and objects, and numbers in other
// bases. Results and codes are those of the server's tests (jstests/aggregation/expressions:
// convert_any_to_string.js, convert_string_to_object_array.js, convert_with_base.js).

// compileConversion compiles $toArray and $toObject.
func (c *Compiler) compileConversion(t bson.Type) operatorCompiler {
	return func(name string, arg value.Value, sc *Scope) (Expression, error) {
		return c.compileCall(name, convertTo(t), arg, sc)
	}
}

// parseBase reads the base of a $convert; 0 means none.
func parseBase(v value.Value) (int, error) {
	if value.IsNullish(v) {
		return 0, nil
	}
	n, whole := value.WholeInteger(v)
	if !value.IsNumber(v) || !whole {
		return 0, servererr.NewCode(3501300, "In $convert, 'base' argument is not an integer")
	}
	switch n {
	case 2, 8, 10, 16:
		return int(n), nil
	}
	return 0, servererr.NewCode(3501301, "In $convert, 'base' argument is not a valid base")
}

// convertInBase converts between numbers and strings in a base. handled is false for other types.
func convertInBase(v value.Value, t bson.Type, base int) (out value.Value, handled bool, err error) {
	toNumber := t == bson.TypeInt32 || t == bson.TypeInt64 || t == bson.TypeDouble || t == bson.TypeDecimal128
	switch {
	case value.IsNumber(v) && t == bson.TypeString:
		n, whole := value.WholeInteger(v)
		if !whole {
			out, err = conversionError(
				"Base conversion is not supported for non-integers in $convert with no onError value: %s",
				v,
			)
			return out, true, err
		}
		return value.String(strings.ToUpper(strconv.FormatInt(n, base))), true, nil
	case value.IsString(v) && toNumber:
		n, err := strconv.ParseInt(value.TextAt(v.Value), base, 64)
		if err != nil {
			out, err = conversionError("Failed to parse number '%s' in $convert with no onError value", value.TextAt(v.Value))
			return out, true, err
		}
		out, err = convert(value.Int64(n), conversion{to: t})
		return out, true, err
	}
	return v, false, nil
}

// textOfAnyType implements $toString for the types that only releases after 8.0 convert.
func textOfAnyType(w *quota.Meter, v value.Value) (value.Value, error) {
	text, known := textOfAnyScalar(v)
	if !known {
		b := jsonWriter{meter: w}
		if err := b.writeValue(v); err != nil {
			return v, err
		}
		text = b.String()
	}
	return value.String(text), nil
}

// textOfAnyScalar returns the string of a scalar that 8.0 cannot convert. known is false for arrays
// and objects.
func textOfAnyScalar(v value.Value) (text string, known bool) {
	switch v.Type {
	case bson.TypeMinKey:
		return "MinKey", true
	case bson.TypeMaxKey:
		return "MaxKey", true
	case bson.TypeTimestamp:
		s, i := value.TimestampAt(v.Value)
		return fmt.Sprintf("Timestamp(%d, %d)", s, i), true
	case bson.TypeRegex:
		pattern, options := value.RegexAt(v.Value)
		return "/" + pattern + "/" + options, true
	case bson.TypeDBPointer:
		ns, id := v.DBPointer()
		return fmt.Sprintf(`DBRef("%s", %s)`, ns, id.Hex()), true
	case bson.TypeCodeWithScope:
		code, scope := v.CodeWithScope()
		return fmt.Sprintf(`CodeWScope("%s", %s)`, code, value.Object(scope)), true
	}
	return "", false
}

// jsonWriter writes values as JSON; types that JSON lacks are written as strings.
type jsonWriter struct {
	bytes.Buffer
	meter *quota.Meter
}

func (j *jsonWriter) writeValue(v value.Value) error {
	err := j.meter.Charge(1)
	switch {
	case err != nil:
	case value.IsNullish(v):
		j.WriteString("null")
	case value.IsObject(v):
		err = j.writeFields(v, "{}", func(name []byte) { fmt.Fprintf(j, `"%s":`, name) })
	case value.IsArray(v):
		err = j.writeFields(v, "[]", func([]byte) {})
	default:
		err = j.writeScalar(v)
	}
	if err == nil && j.Len() > document.MaxSize {
		_, err = conversionError("Resulting string exceeds maximum size (%d bytes)", document.MaxSize)
	}
	return err
}

func (j *jsonWriter) writeFields(v value.Value, brackets string, writeName func(name []byte)) error {
	j.WriteByte(brackets[0])
	first := true
	for name, inner := range document.Fields(v.Value) {
		if !first {
			j.WriteByte(',')
		}
		first = false
		writeName(name)
		if err := j.writeValue(inner); err != nil {
			return err
		}
	}
	j.WriteByte(brackets[1])
	return nil
}

func (j *jsonWriter) writeScalar(v value.Value) error {
	text, err := convert(v, conversion{to: bson.TypeString, format: "auto", conversions83: true})
	if err != nil {
		return err
	}
	if v.Type == bson.TypeBoolean || value.IsNumber(v) && isFinite(v) {
		j.WriteString(value.TextAt(text.Value))
		return nil
	}
	j.WriteByte('"')
	for _, r := range value.TextAt(text.Value) {
		j.writeEscaped(r)
	}
	j.WriteByte('"')
	return nil
}

// isFinite reports whether a number is neither infinite nor NaN.
func isFinite(v value.Value) bool {
	if v.Type == bson.TypeDecimal128 {
		d := value.DecimalAt(v.Value)
		return !d.IsNaN() && d.IsInf() == 0
	}
	f := value.ToDouble(v)
	return !math.IsNaN(f) && !math.IsInf(f, 0)
}

var shortEscapes = map[rune]string{
	'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`,
}

func (j *jsonWriter) writeEscaped(r rune) {
	switch short, known := shortEscapes[r]; {
	case known:
		j.WriteString(short)
	case r < ' ' || r == 0x7f:
		fmt.Fprintf(j, `\u%04x`, r)
	default:
		j.WriteRune(r)
	}
}

// parseJSON parses an array or object from a JSON string. Extended JSON has no special meaning.
func parseJSON(w *quota.Meter, v value.Value, t bson.Type) (value.Value, error) {
	failed := func(why string) (value.Value, error) {
		return conversionError("Failed to parse %s in $convert with no onError value: %s",
			value.TypeName(value.Value{Type: t}), why)
	}
	d := json.NewDecoder(strings.NewReader(value.TextAt(v.Value)))
	d.UseNumber()
	out, err := jsonReader{d, w}.readValue(0)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("unexpected data after the value")
		}
	}
	switch over := w.Charge(0); {
	case over != nil:
		return v, over
	case err != nil:
		return failed(err.Error())
	case out.Type != t:
		return failed("the input is of another type")
	case len(out.Value) > document.MaxSize:
		return failed("the result is too large")
	}
	return out, nil
}

// jsonReader converts JSON tokens to values.
type jsonReader struct {
	*json.Decoder
	meter *quota.Meter
}

func (r jsonReader) readValue(depth int) (value.Value, error) {
	if err := r.meter.Charge(1); err != nil {
		return value.Value{}, err
	}
	token, err := r.Token()
	if err != nil {
		return value.Value{}, err
	}
	switch token := token.(type) {
	case json.Delim:
		if depth++; depth > MaxDepth {
			return value.Value{}, errors.New("it is nested too deeply")
		}
		if token == '[' {
			return r.readArray(depth)
		}
		return r.readObject(depth)
	case json.Number:
		return numberFromJSON(token), nil
	case string:
		return value.String(token), nil
	case bool:
		return value.Bool(token), nil
	}
	return value.Null(), nil
}

func (r jsonReader) readArray(depth int) (value.Value, error) {
	b, start := document.Open(nil)
	for i := 0; r.More(); i++ {
		v, err := r.readValue(depth)
		if err != nil {
			return v, err
		}
		b = document.Append(b, strconv.Itoa(i), v)
	}
	_, err := r.Token()
	return value.Value{Type: bson.TypeArray, Value: document.Close(b, start)}, err
}

// readObject reads an object. If a name occurs twice, the last value counts.
func (r jsonReader) readObject(depth int) (value.Value, error) {
	var fields []document.Field
	at := map[string]int{}
	for r.More() {
		token, err := r.Token()
		if err != nil {
			return value.Value{}, err
		}
		name, _ := token.(string)
		if strings.ContainsRune(name, 0) {
			return value.Value{}, errors.New("a name has a null byte")
		}
		v, err := r.readValue(depth)
		if err != nil {
			return v, err
		}
		if i, twice := at[name]; twice {
			fields[i].Value = v
			continue
		}
		at[name] = len(fields)
		fields = append(fields, document.Field{Name: name, Value: v})
	}
	_, err := r.Token()
	return value.Object(document.New(fields...)), err
}

// numberFromJSON returns an int32 or int64 if the number is an integer that fits, else a double.
func numberFromJSON(text json.Number) value.Value {
	if n, err := strconv.ParseInt(text.String(), 10, 64); err == nil {
		return value.SmallestInt(n)
	}
	f, _ := text.Float64() // infinite if out of range
	return value.Double(f)
}
