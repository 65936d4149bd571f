package expr

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/humanize"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
	"shardsh/balancer/mongoerr"
)

// conversionFailure is the error code for a value that cannot be converted.
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
		notObjectCode: 9, unknownCode: 9, missingCode: 9, call: exprConvert,
	},
}

func convertTo(t bson.Type) function {
	return function{1, 1, func(c *Evaluation, args []value.Value) (value.Value, error) {
		if value.IsNullish(args[0]) {
			return value.Null(), nil
		}
		return convert(args[0], conversion{to: t, format: "auto", conversions83: c.Language.Operators83, meter: c.Meter})
	}}
}

func exprConvert(c *Evaluation, args []value.Value) (value.Value, error) {
	in, to, onError, onNull, format := args[0], args[1], args[2], args[3], args[4]
	if value.IsObject(to) {
		to = document.Lookup(to.Value, "type") // {type, subtype} for binary data
	}
	var t bson.Type
	switch {
	case value.IsNullish(to):
	case value.IsString(to):
		var ok bool
		if t, ok = value.TypeByName(value.TextAt(to.Value)); !ok {
			return value.Value{}, servererr.BadValue("Unknown type name: %s", value.TextAt(to.Value))
		}
	case value.IsNumber(to):
		n, whole := value.WholeInteger(to)
		var ok bool
		if t, ok = value.TypeByNumber(n); !ok || !whole {
			return value.Value{}, servererr.FailedToParse(
				"In $convert, numeric value for 'to' does not correspond to a BSON type: %s", to)
		}
	default:
		return value.Value{}, servererr.FailedToParse("$convert's 'to' argument must be a string or number, but is %s",
			value.TypeName(to))
	}
	if value.IsNullish(in) {
		if value.IsOmittedArgument(onNull) {
			return value.Null(), nil
		}
		return onNull, nil
	}
	if value.IsNullish(to) {
		return value.Null(), nil
	}
	if (in.Type == bson.TypeBinary && t == bson.TypeString || value.IsString(in) && t == bson.TypeBinary) &&
		value.IsNullish(format) {
		return value.Value{}, servererr.NewCode(4341115, "Format must be specified when converting from '%s' to '%s'",
			value.TypeName(in),
			value.TypeName(value.Value{Type: t}))
	}
	how := conversion{to: t, format: value.TextAt(format.Value), conversions83: c.Language.Operators83, meter: c.Meter}
	var err error
	if how.conversions83 {
		if how.base, err = parseBase(args[5]); err != nil {
			return value.Value{}, err
		}
	}
	v, err := convert(in, how)
	if mongoerr.Is(err, conversionFailure) && !value.IsOmittedArgument(onError) {
		return onError, nil
	}
	return v, err
}

func conversionError(format string, args ...any) (value.Value, error) {
	return value.Value{}, servererr.New(conversionFailure, format, args...)
}

// conversion is the target type and the options of convert.
type conversion struct {
	to            bson.Type
	format        string // for conversions between binary data and strings
	base          int    // of numbers in strings; 0 for none
	conversions83 bool   // includes the conversions of 8.3
	meter         *quota.Meter
}

// convert converts a value to another type, as $convert does.
func convert(v value.Value, how conversion) (value.Value, error) {
	t := how.to
	if v.Type == t {
		return v, nil
	}
	if how.base > 0 {
		if out, is, err := convertInBase(v, t, how.base); is {
			return out, err
		}
	}
	if how.conversions83 && value.IsString(v) && (t == bson.TypeArray || t == bson.TypeEmbeddedDocument) {
		return parseJSON(how.meter, v, t)
	}
	f := map[bson.Type]func(value.Value) (value.Value, error){
		bson.TypeInt32: convertToInt32, bson.TypeInt64: convertToInt64, bson.TypeDouble: convertToDouble,
		bson.TypeDecimal128: convertToDecimal, bson.TypeBoolean: convertToBool, bson.TypeDateTime: convertToDate,
		bson.TypeObjectID: convertToObjectID,
		bson.TypeString:   func(v value.Value) (value.Value, error) { return convertToString(v, how) },
		bson.TypeBinary:   func(v value.Value) (value.Value, error) { return convertToBinary(v, how.format) },
	}[t]
	if f == nil {
		return unsupportedConversion(v, value.TypeName(value.Value{Type: t}))
	}
	return f(v)
}

func unsupportedConversion(v value.Value, to string) (value.Value, error) {
	return conversionError("Unsupported conversion from %s to %s in $convert with no onError value", value.TypeName(v), to)
}

func convertToInt32(v value.Value) (value.Value, error) {
	n, err := convertToInteger(v, "int")
	if err != nil {
		return value.Value{}, err
	}
	if n != int64(int32(n)) {
		return conversionError("Conversion would overflow target type in $convert with no onError value: %s", v)
	}
	return value.Int32(int32(n)), nil
}

func convertToInt64(v value.Value) (value.Value, error) {
	if v.Type == bson.TypeDateTime {
		return value.Int64(value.Int64At(v.Value)), nil
	}
	n, err := convertToInteger(v, "long")
	return value.Int64(n), err
}

func convertToInteger(v value.Value, to string) (int64, error) {
	switch v.Type {
	case bson.TypeBoolean:
		if value.BoolAt(v.Value) {
			return 1, nil
		}
		return 0, nil
	case bson.TypeInt32, bson.TypeInt64:
		return value.ToInteger(v), nil
	case bson.TypeDouble, bson.TypeDecimal128:
		if f := value.ToDouble(v); math.IsNaN(f) || math.IsInf(f, 0) {
			_, err := conversionError("Attempt to convert %s value to integer type in $convert with no onError value", v)
			return 0, err
		} else if !value.FitsInt64(v) {
			_, err := conversionError("Conversion would overflow target type in $convert with no onError value: %s", v)
			return 0, err
		}
		return value.ToInteger(v), nil
	case bson.TypeString:
		n, err := strconv.ParseInt(value.TextAt(v.Value), 10, 64)
		if err != nil {
			_, err := conversionError("Failed to parse number '%s' in $convert with no onError value: Did not consume "+
				"whole string.", value.TextAt(v.Value))
			return 0, err
		}
		return n, nil
	}
	_, err := unsupportedConversion(v, to)
	return 0, err
}

func convertToDouble(v value.Value) (value.Value, error) {
	switch v.Type {
	case bson.TypeBoolean:
		n, err := convertToInteger(v, "double")
		return value.Double(float64(n)), err
	case bson.TypeDateTime:
		return value.Double(float64(value.Int64At(v.Value))), nil
	case bson.TypeInt32, bson.TypeInt64:
		return value.Double(value.ToDouble(v)), nil
	case bson.TypeDecimal128:
		f := value.ToDouble(v)
		if math.IsInf(f, 0) && value.DecimalAt(v.Value).IsInf() == 0 {
			return conversionError("Conversion would overflow target type in $convert with no onError value: %s", v)
		}
		return value.Double(f), nil
	case bson.TypeString:
		text := value.TextAt(v.Value)
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || strings.ContainsAny(text, "xX_pP ") {
			return conversionError("Failed to parse number '%s' in $convert with no onError value", text)
		}
		return value.Double(f), nil
	}
	return unsupportedConversion(v, "double")
}

func convertToDecimal(v value.Value) (value.Value, error) {
	switch v.Type {
	case bson.TypeBoolean:
		n, err := convertToInteger(v, "decimal")
		return value.Decimal(value.DecimalOfInt(n)), err
	case bson.TypeDateTime:
		return value.Decimal(value.DecimalOfInt(value.Int64At(v.Value))), nil
	case bson.TypeInt32, bson.TypeInt64, bson.TypeDouble:
		return value.Decimal(value.ToDecimal(v)), nil
	case bson.TypeString:
		d, err := bson.ParseDecimal128(value.TextAt(v.Value))
		if err != nil {
			return conversionError("Failed to parse number '%s' in $convert with no onError value", value.TextAt(v.Value))
		}
		return value.Decimal(d), nil
	}
	return unsupportedConversion(v, "decimal")
}

// convertToBool converts zero to false and everything else to true.
func convertToBool(v value.Value) (value.Value, error) {
	if value.IsNumber(v) {
		return value.Bool(value.IsTruthy(v)), nil
	}
	return value.Bool(true), nil
}

func convertToDate(v value.Value) (value.Value, error) {
	switch v.Type {
	case bson.TypeInt64, bson.TypeDouble, bson.TypeDecimal128:
		n, err := convertToInteger(v, "date")
		return value.Date(n), err
	case bson.TypeObjectID:
		return value.Date(int64(binary.BigEndian.Uint32(v.Value)) * 1000), nil
	case bson.TypeTimestamp:
		s, _ := value.TimestampAt(v.Value)
		return value.Date(int64(s) * 1000), nil
	case bson.TypeString:
		t, err := parseDate(value.TextAt(v.Value), time.UTC)
		if err != nil {
			return value.Value{}, err
		}
		return value.Date(t.UnixMilli()), nil
	}
	return unsupportedConversion(v, "date")
}

func convertToObjectID(v value.Value) (value.Value, error) {
	if v.Type != bson.TypeString {
		return unsupportedConversion(v, "objectId")
	}
	id, err := bson.ObjectIDFromHex(value.TextAt(v.Value))
	if err != nil {
		return conversionError("Failed to parse objectId '%s' in $convert with no onError value: Invalid string length for "+
			"parsing to OID, expected 24 but found %d",
			value.TextAt(v.Value), len(value.TextAt(v.Value)))
	}
	return value.ObjectID(id), nil
}

func convertToString(v value.Value, how conversion) (value.Value, error) {
	if _, known := textOfAnyScalar(v); how.conversions83 && (known || value.IsObject(v) || value.IsArray(v)) {
		return textOfAnyType(how.meter, v)
	}
	switch v.Type {
	case bson.TypeObjectID:
		return value.String(hex.EncodeToString(v.Value)), nil
	case bson.TypeBoolean:
		return value.String(strconv.FormatBool(value.BoolAt(v.Value))), nil
	case bson.TypeTimestamp:
		return value.String(timestampText(v)), nil
	case bson.TypeBinary:
		return binaryText(v, how.format)
	case bson.TypeInt32, bson.TypeInt64, bson.TypeDouble, bson.TypeDecimal128, bson.TypeDateTime:
		text, err := plainText(v)
		return value.String(text), err
	case bson.TypeSymbol, bson.TypeJavaScript:
		return value.String(value.TextAt(v.Value)), nil
	}
	return unsupportedConversion(v, "string")
}

// plainText returns a number or date in the server's format.
func plainText(v value.Value) (string, error) {
	switch v.Type {
	case bson.TypeDouble:
		return mongoerr.DoubleDigits(value.DoubleAt(v.Value)), nil
	case bson.TypeDecimal128:
		return value.DecimalAt(v.Value).String(), nil
	case bson.TypeDateTime:
		t := value.TimeFromMillis(value.Int64At(v.Value))
		return t.Format("2006-01-02T15:04:05.000Z"), checkYear(t)
	}
	return strconv.FormatInt(value.ToInteger(v), 10), nil
}

func timestampText(v value.Value) string {
	s, i := value.TimestampAt(v.Value)
	return time.Unix(int64(s), 0).UTC().Format("Jan _2 15:04:05") + ":" + strconv.FormatUint(uint64(i), 16)
}

func binaryText(v value.Value, format string) (value.Value, error) {
	subtype, data := value.BinaryAt(v.Value)
	isUUID := subtype == 4 && len(data) == 16
	switch {
	case format == "uuid" || format == "auto" && isUUID:
		if !isUUID {
			return conversionError("Incompatible format for binary subtype in $convert with no onError value")
		}
		return value.String(humanize.UUID(data)), nil
	case format == "base64" || format == "auto":
		return value.String(base64.StdEncoding.EncodeToString(data)), nil
	case format == "base64url":
		return value.String(base64.RawURLEncoding.EncodeToString(data)), nil
	case format == "hex":
		return value.String(strings.ToUpper(hex.EncodeToString(data))), nil
	case format == "utf8":
		return value.String(string(data)), nil
	}
	return unsupportedConversion(v, "string")
}

func convertToBinary(v value.Value, format string) (value.Value, error) {
	if v.Type != bson.TypeString {
		return unsupportedConversion(v, "binData")
	}
	text := value.TextAt(v.Value)
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
		return conversionError("$convert to binData requires a format")
	}
	if err != nil {
		return conversionError("Input string is not a valid %s string: %s", format, text)
	}
	return bytesValue(data), nil
}

func parseUUID(text string) (value.Value, error) {
	data, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
	if err != nil || len(text) != 36 || len(data) != 16 {
		return conversionError("Input string is not a valid UUID: %s", text)
	}
	_, b, _ := bson.MarshalValue(bson.Binary{Subtype: 4, Data: data})
	return value.Value{Type: bson.TypeBinary, Value: b}, nil
}

func exprToUUID(_ *Evaluation, args []value.Value) (value.Value, error) {
	switch v := args[0]; {
	case value.IsNullish(v):
		return value.Null(), nil
	case value.IsString(v):
		return parseUUID(value.TextAt(v.Value))
	case v.Type == bson.TypeBinary: // with any contents of any length
		_, data := v.Binary()
		_, b, err := bson.MarshalValue(bson.Binary{Subtype: bson.TypeBinaryUUID, Data: data})
		return value.Value{Type: bson.TypeBinary, Value: b}, err
	default:
		return unsupportedConversion(v, "binData")
	}
}
