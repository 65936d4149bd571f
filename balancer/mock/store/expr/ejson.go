package expr

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
	"shardsh/balancer/mongoerr"
)

// $serializeEJSON and $deserializeEJSON convert values to Extended JSON v2 and back.

// compileEJSON compiles {input, relaxed, onError}; $deserializeEJSON has no relaxed.
func (c *Compiler) compileEJSON(name string, arg value.Value, sc *Scope) (Expression, error) {
	names := []string{"input", "onError", "relaxed"}
	if name == "$deserializeEJSON" {
		names = names[:2]
	}
	args, err := c.compileStrictArguments(name, arg, sc, 1, names...)
	if err != nil {
		return nil, err
	}
	return ExpressionFunc(func(c *Evaluation) (value.Value, error) {
		in, err := args[0].Eval(c)
		if err != nil {
			return in, err
		}
		var out value.Value
		if len(names) == 2 {
			out, err = ejsonReader{c}.convertValue(OrNull(in))
		} else {
			var relaxed bool
			if relaxed, err = evalRelaxed(c, args[2]); err != nil {
				return in, err
			}
			out = ejsonWriter{c, relaxed}.convertValue(OrNull(in))
		}
		if err != nil && args[1] != nil && mongoerr.Is(err, conversionFailure) {
			return args[1].Eval(c)
		}
		return out, err
	}), nil
}

func evalRelaxed(c *Evaluation, e Expression) (bool, error) {
	if e == nil {
		return true, nil
	}
	v, err := e.Eval(c)
	if err == nil && v.Type != bson.TypeBoolean {
		err = servererr.BadValue("Unexpected value for relaxed: %s", v)
	}
	return value.IsTruthy(v), err
}

type ejsonWriter struct {
	c       *Evaluation
	relaxed bool
}

// wrapValue returns the object {name: v}.
func wrapValue(name string, v value.Value) value.Value {
	return value.Object(document.New(document.Field{Name: name, Value: v}))
}

func (w ejsonWriter) convertValue(v value.Value) value.Value {
	switch v.Type {
	case bson.TypeEmbeddedDocument, bson.TypeArray:
		return w.convertFields(v)
	case bson.TypeInt32:
		return w.numberValue("$numberInt", v, strconv.FormatInt(value.ToInteger(v), 10))
	case bson.TypeInt64:
		return w.numberValue("$numberLong", v, strconv.FormatInt(value.ToInteger(v), 10))
	case bson.TypeDouble:
		f := value.DoubleAt(v.Value)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return wrapValue("$numberDouble", value.String(ejsonDoubleText(f)))
		}
		return w.numberValue("$numberDouble", v, ejsonDoubleText(f))
	case bson.TypeDateTime:
		return w.dateValue(value.Int64At(v.Value))
	case bson.TypeCodeWithScope:
		code, scope := v.CodeWithScope()
		return value.Object(document.New(document.Field{Name: "$code", Value: value.String(code)},
			document.Field{Name: "$scope", Value: w.convertValue(value.Object(scope))}))
	}
	return plainEJSON(v)
}

func (w ejsonWriter) convertFields(v value.Value) value.Value {
	b, start := document.Open(nil)
	for name, inner := range w.c.Meter.Fields(v.Value) {
		b = document.Append(b, name, w.convertValue(inner))
	}
	return value.Value{Type: v.Type, Value: document.Close(b, start)}
}

func (w ejsonWriter) numberValue(name string, v value.Value, text string) value.Value {
	if w.relaxed {
		return v
	}
	return wrapValue(name, value.String(text))
}

// dateValue returns a date. In relaxed mode a date from 1970 to 9999 is a string.
func (w ejsonWriter) dateValue(ms int64) value.Value {
	if t := time.UnixMilli(ms).UTC(); w.relaxed && ms >= 0 && t.Year() <= 9999 {
		return wrapValue("$date", value.String(t.Format("2006-01-02T15:04:05.000Z")))
	}
	return wrapValue("$date", wrapValue("$numberLong", value.String(strconv.FormatInt(ms, 10))))
}

// ejsonDoubleText returns the shortest representation of a number, without an exponent below 1e16.
func ejsonDoubleText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 0):
		return strings.TrimPrefix(strconv.FormatFloat(f, 'g', -1, 64), "+") + "inity"
	case f != 0 && (math.Abs(f) < 1e-4 || math.Abs(f) >= 1e16):
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// plainEJSON converts the types that are the same in relaxed and canonical mode.
func plainEJSON(v value.Value) value.Value {
	switch v.Type {
	case bson.TypeObjectID:
		return wrapValue("$oid", value.String(v.ObjectID().Hex()))
	case bson.TypeDecimal128:
		return wrapValue("$numberDecimal", value.String(value.DecimalAt(v.Value).String()))
	case bson.TypeJavaScript:
		return wrapValue("$code", value.String(v.JavaScript()))
	case bson.TypeSymbol:
		return wrapValue("$symbol", value.String(v.Symbol()))
	case bson.TypeUndefined:
		return wrapValue("$undefined", value.Bool(true))
	case bson.TypeMinKey:
		return wrapValue("$minKey", value.Int32(1))
	case bson.TypeMaxKey:
		return wrapValue("$maxKey", value.Int32(1))
	case bson.TypeTimestamp:
		t, i := value.TimestampAt(v.Value)
		return wrapValue("$timestamp", value.Object(document.New(document.Field{Name: "t", Value: value.Int64(int64(t))},
			document.Field{Name: "i", Value: value.Int64(int64(i))})))
	case bson.TypeRegex:
		pattern, options := value.RegexAt(v.Value)
		return wrapValue("$regularExpression", value.Object(document.New(
			document.Field{Name: "pattern", Value: value.String(pattern)},
			document.Field{Name: "options", Value: value.String(options)})))
	case bson.TypeBinary:
		subtype, data := value.BinaryAt(v.Value)
		return wrapValue("$binary", value.Object(document.New(
			document.Field{Name: "base64", Value: value.String(base64.StdEncoding.EncodeToString(data))},
			document.Field{Name: "subType", Value: value.String(strconv.FormatUint(uint64(subtype), 16))})))
	case bson.TypeDBPointer:
		ns, id := v.DBPointer()
		return wrapValue("$dbPointer", value.Object(document.New(document.Field{Name: "$ref", Value: value.String(ns)},
			document.Field{Name: "$id", Value: wrapValue("$oid", value.String(id.Hex()))})))
	}
	return v
}

// ejsonWrappers are the first field names of objects that represent a single value.
var ejsonWrappers = map[string]bool{
	"$oid": true, "$numberInt": true, "$numberLong": true, "$numberDouble": true, "$numberDecimal": true, "$date": true,
	"$code": true, "$symbol": true, "$undefined": true, "$minKey": true, "$maxKey": true, "$timestamp": true,
	"$regularExpression": true, "$binary": true, "$uuid": true, "$dbPointer": true,
}

type ejsonReader struct{ c *Evaluation }

func (r ejsonReader) convertValue(v value.Value) (value.Value, error) {
	if !value.IsObject(v) && !value.IsArray(v) {
		return v, nil
	}
	if name, _, ok := document.FirstField(v.Value); ok && value.IsObject(v) && ejsonWrappers[name] {
		return unwrapValue(v)
	}
	b, start := document.Open(nil)
	for name, inner := range r.c.Meter.Fields(v.Value) {
		out, err := r.convertValue(inner)
		if err != nil {
			return v, err
		}
		b = document.Append(b, name, out)
	}
	return value.Value{Type: v.Type, Value: document.Close(b, start)}, nil
}

// unwrapValue decodes an Extended JSON wrapper such as {$oid: ...} with the driver's reader.
func unwrapValue(v value.Value) (value.Value, error) {
	failed := func(why any) (value.Value, error) {
		return v, servererr.New(conversionFailure, "Failed to convert %s: %v", v, why)
	}
	text, err := json.Marshal(map[string]any{"v": plainJSON(v)})
	if err != nil {
		return failed(err)
	}
	var doc bson.D
	if err := bson.UnmarshalExtJSON(text, false, &doc); err != nil {
		return failed(err)
	}
	raw, err := bson.Marshal(doc)
	if err != nil {
		return failed(err)
	}
	return bson.Raw(raw).Lookup("v"), nil
}

// plainJSON returns a value for encoding/json; numbers stay exact.
func plainJSON(v value.Value) any {
	switch {
	case value.IsObject(v):
		fields := map[string]any{}
		for name, inner := range document.Fields(v.Value) {
			fields[string(name)] = plainJSON(inner)
		}
		return fields
	case value.IsArray(v):
		list := []any{}
		for _, inner := range document.Fields(v.Value) {
			list = append(list, plainJSON(inner))
		}
		return list
	case value.IsString(v):
		return value.TextAt(v.Value)
	case v.Type == bson.TypeDouble:
		return value.DoubleAt(v.Value)
	case value.IsNumber(v):
		return value.ToInteger(v)
	case v.Type == bson.TypeBoolean:
		return value.BoolAt(v.Value)
	}
	return nil
}
