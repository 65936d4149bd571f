package store

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
)

var typeFunctions = map[string]function{
	"$type":        {1, 1, func(_ *evaluation, a []value) (value, error) { return stringValue(typeName(a[0])), nil }},
	"$isNumber":    {1, 1, func(_ *evaluation, a []value) (value, error) { return boolValue(isNumber(a[0])), nil }},
	"$bsonSize":    {1, 1, exprBSONSize},
	"$binarySize":  {1, 1, exprBinarySize},
	"$tsSecond":    {1, 1, exprTimestampPart("$tsSecond", 5687301, func(s, _ uint32) uint32 { return s })},
	"$tsIncrement": {1, 1, exprTimestampPart("$tsIncrement", 5687302, func(_, i uint32) uint32 { return i })},
	"$toHashedIndexKey": {1, 1, func(_ *evaluation, a []value) (value, error) {
		return int64Value(keyorder.Hash(orNull(a[0]))), nil
	}},
}

func exprBSONSize(_ *evaluation, args []value) (value, error) {
	switch v := args[0]; {
	case isNullish(v):
		return nullValue(), nil
	case !isObject(v):
		return value{}, fail(31393, "$bsonSize requires a document input, found: %s", typeName(v))
	default:
		return int32Value(int32(len(v.Value))), nil
	}
}

func exprBinarySize(_ *evaluation, args []value) (value, error) {
	switch v := args[0]; {
	case isNullish(v):
		return nullValue(), nil
	case isString(v):
		return int32Value(int32(len(textAt(v.Value)))), nil
	case v.Type == bson.TypeBinary:
		_, data := binaryAt(v.Value)
		return int32Value(int32(len(data))), nil
	default:
		return value{}, fail(51276, "$binarySize requires a string or BinData argument, found: %s", typeName(v))
	}
}

func exprTimestampPart(op string, code int32,
	part func(seconds, increment uint32) uint32) func(*evaluation, []value) (value, error) {
	return func(_ *evaluation, args []value) (value, error) {
		v := args[0]
		if isNullish(v) {
			return nullValue(), nil
		}
		if v.Type != bson.TypeTimestamp {
			return value{}, fail(code, " Argument to %s must be a timestamp, but is %s", op, typeName(v))
		}
		return int64Value(int64(part(timestampAt(v.Value)))), nil
	}
}
