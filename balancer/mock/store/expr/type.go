package expr

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

var typeFunctions = map[string]function{
	"$type": {1, 1, func(_ *Evaluation, a []value.Value) (value.Value, error) {
		return value.String(value.TypeName(a[0])), nil
	}},
	"$isNumber": {1, 1, func(_ *Evaluation, a []value.Value) (value.Value, error) {
		return value.Bool(value.IsNumber(a[0])), nil
	}},
	"$bsonSize":    {1, 1, exprBSONSize},
	"$binarySize":  {1, 1, exprBinarySize},
	"$tsSecond":    {1, 1, exprTimestampPart("$tsSecond", 5687301, func(s, _ uint32) uint32 { return s })},
	"$tsIncrement": {1, 1, exprTimestampPart("$tsIncrement", 5687302, func(_, i uint32) uint32 { return i })},
	"$toHashedIndexKey": {1, 1, func(_ *Evaluation, a []value.Value) (value.Value, error) {
		return value.Int64(keyorder.Hash(OrNull(a[0]))), nil
	}},
}

func exprBSONSize(_ *Evaluation, args []value.Value) (value.Value, error) {
	switch v := args[0]; {
	case value.IsNullish(v):
		return value.Null(), nil
	case !value.IsObject(v):
		return value.Value{}, servererr.NewCode(31393, "$bsonSize requires a document input, found: %s", value.TypeName(v))
	default:
		return value.Int32(int32(len(v.Value))), nil
	}
}

func exprBinarySize(_ *Evaluation, args []value.Value) (value.Value, error) {
	switch v := args[0]; {
	case value.IsNullish(v):
		return value.Null(), nil
	case value.IsString(v):
		return value.Int32(int32(len(value.TextAt(v.Value)))), nil
	case v.Type == bson.TypeBinary:
		_, data := value.BinaryAt(v.Value)
		return value.Int32(int32(len(data))), nil
	default:
		return value.Value{}, servererr.NewCode(51276, "$binarySize requires a string or BinData argument, found: %s",
			value.TypeName(v))
	}
}

func exprTimestampPart(op string, code int32,
	part func(seconds, increment uint32) uint32) func(*Evaluation, []value.Value) (value.Value, error) {
	return func(_ *Evaluation, args []value.Value) (value.Value, error) {
		v := args[0]
		if value.IsNullish(v) {
			return value.Null(), nil
		}
		if v.Type != bson.TypeTimestamp {
			return value.Value{}, servererr.NewCode(code, " Argument to %s must be a timestamp, but is %s", op,
				value.TypeName(v))
		}
		return value.Int64(int64(part(value.TimestampAt(v.Value)))), nil
	}
}
