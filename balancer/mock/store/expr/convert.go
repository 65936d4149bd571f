package store

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

// conversionFailure is the code of a value that does not convert.
const conversionFailure = mongoerr.Code(241)

var conversionFunctions = map[string]function{
	"$toInt": convertTo(bson.TypeInt32), "$toLong": convertTo(bson.TypeInt64), "$toDouble": convertTo(bson.TypeDouble),
	"$toDecimal": convertTo(bson.TypeDecimal128), "$toString": convertTo(bson.TypeString),
	"$toBool": convertTo(bson.TypeBoolean),
	"$toDate": convertTo(bson.TypeDateTime), "$toObjectId": convertTo(bson.TypeObjectID),
	"$toUUID": {1, 1, exprToUUID},
}

var namedConversionFunctions = map[string]namedFunction{
	"$convert": {
		args: []string{"input", "to", "onError", "onNull", "format"}, required: 2,
		notObject: 9, unknown: 9, notGiven: 9, call: exprConvert,
	},
}

func convertTo(t bson.Type) function {
	return function{1, 1, func(_ *evaluation, args []value) (value, error) {
		if isNullish(args[0]) {
			return nullValue(), nil
		}
		return convert(args[0], t, "auto")
	}}
}

func exprConvert(_ *evaluation, args []value) (value, error) {
	in, to, onError, onNull, format := args[0], args[1], args[2], args[3], args[4]
	if isObject(to) {
		to = lookup(to.Value, "type") // {type, subtype} for binary data
	}
	var t bson.Type
	switch {
	case isNullish(to):
	case isString(to):
		var ok bool
		if t, ok = typeByName(textAt(to.Value)); !ok {
			return value{}, badValue("Unknown type name: %s", textAt(to.Value))
		}
	case isNumber(to):
		n, whole := wholeInteger(to)
		var ok bool
		if t, ok = typeByNumber(n); !ok || !whole {
			return value{}, failedToParse("In $convert, numeric value for 'to' does not correspond to a BSON type: %s", to)
		}
	default:
		return value{}, failedToParse("$convert's 'to' argument must be a string or number, but is %s", typeName(to))
	}
	if isNullish(in) {
		if isAbsent(onNull) {
			return nullValue(), nil
		}
		return onNull, nil
	}
	if isNullish(to) {
		return nullValue(), nil
	}
	if (in.Type == bson.TypeBinary && t == bson.TypeString || isString(in) && t == bson.TypeBinary) && isNullish(format) {
		return value{}, fail(4341115, "Format must be specified when converting from '%s' to '%s'", typeName(in),
			typeName(value{Type: t}))
	}
	v, err := convert(in, t, textAt(format.Value))
	if code, _ := codeIn(err); code == conversionFailure && !isAbsent(onError) {
		return onError, nil
	}
	return v, err
}

func codeIn(err error) (mongoerr.Code, bool) { return mongoerr.CodeOf(err) }

func noConversion(format string, args ...any) (value, error) {
	return value{}, serverError(conversionFailure, format, args...)
}

// convert turns a value into another type, as $convert does.
func convert(v value, t bson.Type, format string) (value, error) {
	if v.Type == t {
		return v, nil
	}
	f := map[bson.Type]func(value) (value, error){
		bson.TypeInt32: convertInt32, bson.TypeInt64: convertInt64, bson.TypeDouble: convertDouble,
		bson.TypeDecimal128: convertDecimal, bson.TypeBoolean: convertBool, bson.TypeDateTime: convertDate,
		bson.TypeObjectID: convertObjectID,
		bson.TypeString:   func(v value) (value, error) { return convertString(v, format) },
		bson.TypeBinary:   func(v value) (value, error) { return convertBinary(v, format) },
	}[t]
	if f == nil {
		return unsupported(v, typeName(value{Type: t}))
	}
	return f(v)
}

func unsupported(v value, to string) (value, error) {
	return noConversion("Unsupported conversion from %s to %s in $convert with no onError value", typeName(v), to)
}

func convertInt32(v value) (value, error) {
	n, err := convertInt64To(v, "int")
	if err != nil {
		return value{}, err
	}
	if n != int64(int32(n)) {
		return noConversion("Conversion would overflow target type in $convert with no onError value: %s", v)
	}
	return int32Value(int32(n)), nil
}

func convertInt64(v value) (value, error) {
	if v.Type == bson.TypeDateTime {
		return int64Value(int64At(v.Value)), nil
	}
	n, err := convertInt64To(v, "long")
	return int64Value(n), err
}

func convertInt64To(v value, to string) (int64, error) {
	switch v.Type {
	case bson.TypeBoolean:
		if boolAt(v.Value) {
			return 1, nil
		}
		return 0, nil
	case bson.TypeInt32, bson.TypeInt64:
		return toInteger(v), nil
	case bson.TypeDouble, bson.TypeDecimal128:
		if f := toDouble(v); math.IsNaN(f) || math.IsInf(f, 0) {
			_, err := noConversion("Attempt to convert %s value to integer type in $convert with no onError value", v)
			return 0, err
		} else if !isFinite(v) {
			_, err := noConversion("Conversion would overflow target type in $convert with no onError value: %s", v)
			return 0, err
		}
		return toInteger(v), nil
	case bson.TypeString:
		n, err := strconv.ParseInt(textAt(v.Value), 10, 64)
		if err != nil {
			_, err := noConversion("Failed to parse number '%s' in $convert with no onError value: Did not consume "+
				"whole string.", textAt(v.Value))
			return 0, err
		}
		return n, nil
	}
	_, err := unsupported(v, to)
	return 0, err
}

func convertDouble(v value) (value, error) {
	switch v.Type {
	case bson.TypeBoolean:
		n, err := convertInt64To(v, "double")
		return doubleValue(float64(n)), err
	case bson.TypeDateTime:
		return doubleValue(float64(int64At(v.Value))), nil
	case bson.TypeInt32, bson.TypeInt64:
		return doubleValue(toDouble(v)), nil
	case bson.TypeDecimal128:
		f := toDouble(v)
		if math.IsInf(f, 0) && decimalAt(v.Value).IsInf() == 0 {
			return noConversion("Conversion would overflow target type in $convert with no onError value: %s", v)
		}
		return doubleValue(f), nil
	case bson.TypeString:
		text := textAt(v.Value)
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || strings.ContainsAny(text, "xX_pP ") {
			return noConversion("Failed to parse number '%s' in $convert with no onError value", text)
		}
		return doubleValue(f), nil
	}
	return unsupported(v, "double")
}

func convertDecimal(v value) (value, error) {
	switch v.Type {
	case bson.TypeBoolean:
		n, err := convertInt64To(v, "decimal")
		return decimalValue(decimalOfInt(n)), err
	case bson.TypeDateTime:
		return decimalValue(decimalOfInt(int64At(v.Value))), nil
	case bson.TypeInt32, bson.TypeInt64, bson.TypeDouble:
		return decimalValue(toDecimal(v)), nil
	case bson.TypeString:
		d, err := bson.ParseDecimal128(textAt(v.Value))
		if err != nil {
			return noConversion("Failed to parse number '%s' in $convert with no onError value", textAt(v.Value))
		}
		return decimalValue(d), nil
	}
	return unsupported(v, "decimal")
}

// convertBool converts numbers by zero; everything else is true.
func convertBool(v value) (value, error) {
	if isNumber(v) {
		return boolValue(truthy(v)), nil
	}
	return boolValue(true), nil
}

func convertDate(v value) (value, error) {
	switch v.Type {
	case bson.TypeInt64, bson.TypeDouble, bson.TypeDecimal128:
		n, err := convertInt64To(v, "date")
		return dateValue(n), err
	case bson.TypeObjectID:
		return dateValue(int64(binary.BigEndian.Uint32(v.Value)) * 1000), nil
	case bson.TypeTimestamp:
		s, _ := timestampAt(v.Value)
		return dateValue(int64(s) * 1000), nil
	case bson.TypeString:
		t, err := parseDate(textAt(v.Value), time.UTC)
		if err != nil {
			return value{}, err
		}
		return dateValue(t.UnixMilli()), nil
	}
	return unsupported(v, "date")
}

func convertObjectID(v value) (value, error) {
	if v.Type != bson.TypeString {
		return unsupported(v, "objectId")
	}
	id, err := bson.ObjectIDFromHex(textAt(v.Value))
	if err != nil {
		return noConversion("Failed to parse objectId '%s' in $convert with no onError value: Invalid string length for "+
			"parsing to OID, expected 24 but found %d",
			textAt(v.Value), len(textAt(v.Value)))
	}
	return objectIDValue(id), nil
}

func convertString(v value, format string) (value, error) {
	switch v.Type {
	case bson.TypeObjectID:
		return stringValue(hex.EncodeToString(v.Value)), nil
	case bson.TypeBoolean:
		return stringValue(strconv.FormatBool(boolAt(v.Value))), nil
	case bson.TypeTimestamp:
		return stringValue(timestampText(v)), nil
	case bson.TypeBinary:
		return binaryText(v, format)
	case bson.TypeInt32, bson.TypeInt64, bson.TypeDouble, bson.TypeDecimal128, bson.TypeDateTime:
		return stringValue(plainText(v)), nil
	case bson.TypeSymbol, bson.TypeJavaScript:
		return stringValue(textAt(v.Value)), nil
	}
	return unsupported(v, "string")
}

// plainText returns a number or date as the server writes it.
func plainText(v value) string {
	switch v.Type {
	case bson.TypeDouble:
		return doubleText(doubleAt(v.Value))
	case bson.TypeDecimal128:
		return decimalAt(v.Value).String()
	case bson.TypeDateTime:
		return timeOf(int64At(v.Value)).Format("2006-01-02T15:04:05.000Z")
	}
	return strconv.FormatInt(toInteger(v), 10)
}

func timestampText(v value) string {
	s, i := timestampAt(v.Value)
	return time.Unix(int64(s), 0).UTC().Format("Jan _2 15:04:05") + ":" + strconv.FormatUint(uint64(i), 16)
}

func binaryText(v value, format string) (value, error) {
	subtype, data := binaryAt(v.Value)
	isUUID := subtype == 4 && len(data) == 16
	switch {
	case format == "uuid" || format == "auto" && isUUID:
		if !isUUID {
			return noConversion("Incompatible format for binary subtype in $convert with no onError value")
		}
		return stringValue(uuidText(data)), nil
	case format == "base64" || format == "auto":
		return stringValue(base64.StdEncoding.EncodeToString(data)), nil
	case format == "base64url":
		return stringValue(base64.RawURLEncoding.EncodeToString(data)), nil
	case format == "hex":
		return stringValue(strings.ToUpper(hex.EncodeToString(data))), nil
	case format == "utf8":
		return stringValue(string(data)), nil
	}
	return unsupported(v, "string")
}

func convertBinary(v value, format string) (value, error) {
	if v.Type != bson.TypeString {
		return unsupported(v, "binData")
	}
	text := textAt(v.Value)
	var data []byte
	var err error
	switch format {
	case "uuid":
		return parseUUID(text)
	case "hex":
		data, err = hex.DecodeString(text)
	case "base64", "auto":
		data, err = base64.StdEncoding.DecodeString(text)
	case "base64url":
		data, err = base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
	case "utf8":
		data = []byte(text)
	default:
		return noConversion("$convert to binData requires a format")
	}
	if err != nil {
		return noConversion("Input string is not a valid %s string: %s", format, text)
	}
	return bytesValue(data), nil
}

func parseUUID(text string) (value, error) {
	data, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
	if err != nil || len(text) != 36 || len(data) != 16 {
		return noConversion("Input string is not a valid UUID: %s", text)
	}
	_, b, _ := bson.MarshalValue(bson.Binary{Subtype: 4, Data: data})
	return value{Type: bson.TypeBinary, Value: b}, nil
}

func exprToUUID(_ *evaluation, args []value) (value, error) {
	switch v := args[0]; {
	case isNullish(v):
		return nullValue(), nil
	case isString(v):
		return parseUUID(textAt(v.Value))
	case v.Type == bson.TypeBinary: // whatever it has, and however much
		_, data := v.Binary()
		_, b, err := bson.MarshalValue(bson.Binary{Subtype: bson.TypeBinaryUUID, Data: data})
		return value{Type: bson.TypeBinary, Value: b}, err
	default:
		return unsupported(v, "binData")
	}
}
