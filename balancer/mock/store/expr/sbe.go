package expr

import (
	"errors"
	"slices"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
	"shardsh/balancer/mongoerr"
)

// The server runs a $group (and $bucket and $sortByCount, which are rewritten to $group) in its
// slot-based execution engine (SBE) if only $match, $sort, $skip and $limit stages precede it and SBE
// supports all of its expressions. Errors then have different codes. Rules and codes are from recordings
// of 8.0.10. Operators without a recorded SBE code keep the classic code.

// sbeCodes are the SBE error codes of operators, by their classic error codes.
var sbeCodes = mergeTables(
	codesForAll([]string{"$sinh", "$cosh", "$tanh", "$asinh", "$atan", "$degreesToRadians", "$radiansToDegrees"},
		map[mongoerr.Code]int32{28765: 7157800}),
	codesForAll([]string{"$sin", "$cos", "$tan", "$asin", "$acos", "$acosh", "$atanh"},
		map[mongoerr.Code]int32{28765: 7157802}),
	codesForAll([]string{"$indexOfBytes", "$indexOfCP"},
		map[mongoerr.Code]int32{40091: 7158007, 40092: 7158007, 40093: 7158007, 40094: 7158007}),
	codesForAll([]string{"$toLower", "$toUpper"}, map[mongoerr.Code]int32{16007: 7158200}),
	codesForAll([]string{"$trim", "$ltrim", "$rtrim"}, map[mongoerr.Code]int32{50699: 5156302}),
	codesForAll([]string{"$round", "$trunc"}, map[mongoerr.Code]int32{51081: 5155300}),
	map[string]map[mongoerr.Code]int32{
		"$add":            {mongoerr.TypeMismatch: 7157723},
		"$divide":         {mongoerr.TypeMismatch: 7157719},
		"$pow":            {28762: 5154200, 28763: 5154200},
		"$sortArray":      {2942504: 7158001},
		"$dateToParts":    {16006: 7157915},
		"$dateToString":   {16006: 4997901},
		"$anyElementTrue": {17041: 7158300},
		"$bsonSize":       {31393: 7158301},
		"$replaceOne":     {51744: 7158302, 51745: 7158302, 51746: 7158302},
	},
)

// SBEAccumulatorCodes are the SBE error codes of accumulators, by their classic error codes.
var SBEAccumulatorCodes = map[mongoerr.Code]int32{40400: 5911200}

// sbeOperators are the other operators that SBE supports.
var sbeOperators = []string{
	"$and", "$or", "$not", "$cond", "$ifNull", "$switch", "$let", "$literal", "$const",
	"$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$cmp",
	"$abs", "$ceil", "$floor", "$exp", "$ln", "$log10", "$sqrt", "$mod", "$multiply", "$subtract",
	"$sum", "$avg", "$min", "$max", "$push", "$addToSet", "$first", "$last", "$count", "$mergeObjects",
	"$setIsSubset",
	"$stdDevPop", "$stdDevSamp", "$firstN", "$lastN", "$minN", "$maxN", "$top", "$topN", "$bottom", "$bottomN",
}

// sbeFunctions are operators with different results in SBE: a missing value sorts below all others, even
// MinKey, and $setIsSubset of null or a missing value is null.
var sbeFunctions = map[string]function{
	"$cmp": {2, 2, func(_ *Evaluation, a []value.Value) (value.Value, error) {
		return value.Int32(int32(sbeCompare(a[0], a[1]))), nil
	}},
	"$eq":  sbeComparisonFunction(func(c int) bool { return c == 0 }),
	"$ne":  sbeComparisonFunction(func(c int) bool { return c != 0 }),
	"$lt":  sbeComparisonFunction(func(c int) bool { return c < 0 }),
	"$lte": sbeComparisonFunction(func(c int) bool { return c <= 0 }),
	"$gt":  sbeComparisonFunction(func(c int) bool { return c > 0 }),
	"$gte": sbeComparisonFunction(func(c int) bool { return c >= 0 }),
	"$setIsSubset": {2, 2, func(c *Evaluation, a []value.Value) (value.Value, error) {
		if slices.ContainsFunc(a, value.IsNullish) {
			return value.Null(), nil
		}
		return exprSetIsSubset(c, a)
	}},
}

func sbeComparisonFunction(ok func(int) bool) function {
	return function{2, 2, func(_ *Evaluation, a []value.Value) (value.Value, error) {
		return value.Bool(ok(sbeCompare(a[0], a[1]))), nil
	}}
}

func sbeCompare(a, b value.Value) int {
	switch {
	case value.IsMissing(a) && value.IsMissing(b):
		return 0
	case value.IsMissing(a):
		return -1
	case value.IsMissing(b):
		return 1
	}
	return value.Compare(a, b)
}

func codesForAll(names []string, codes map[mongoerr.Code]int32) map[string]map[mongoerr.Code]int32 {
	table := map[string]map[mongoerr.Code]int32{}
	for _, name := range names {
		table[name] = codes
	}
	return table
}

// IsSBESupported reports whether SBE supports all operators in the specification of a stage.
func IsSBESupported(v value.Value) bool {
	if !value.IsObject(v) && !value.IsArray(v) {
		return true
	}
	for name, inner := range document.Fields(v.Value) {
		op := string(name)
		if value.IsObject(v) && document.IsOperator(op) && sbeCodes[op] == nil && !slices.Contains(sbeOperators, op) {
			return false
		}
		if op == "$literal" || op == "$const" {
			continue
		}
		if !IsSBESupported(inner) {
			return false
		}
	}
	return true
}

// sbeExpression is an operator that runs in SBE.
type sbeExpression struct {
	Expression
	codes map[mongoerr.Code]int32
}

func (e sbeExpression) Eval(c *Evaluation) (value.Value, error) {
	v, err := e.Expression.Eval(c)
	return v, WithSBECode(err, e.codes)
}

// WithSBECode replaces an error's code by its SBE code.
func WithSBECode(err error, codes map[mongoerr.Code]int32) error {
	var failure *mongoerr.ServerError
	if err == nil || !errors.As(err, &failure) || codes[failure.Code] == 0 {
		return err
	}
	return servererr.NewCode(codes[failure.Code], "%s", failure.Message)
}
