package expr

import (
	"strings"
	"unicode/utf8"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

var stringFunctions = map[string]function{
	"$concat":       {0, -1, exprConcat},
	"$toUpper":      {1, 1, mapText(asciiUpper)},
	"$toLower":      {1, 1, mapText(asciiLower)},
	"$strLenCP":     {1, 1, stringLength("$strLenCP", 34471, utf8.RuneCountInString)},
	"$strLenBytes":  {1, 1, stringLength("$strLenBytes", 34473, func(s string) int { return len(s) })},
	"$substr":       {3, 3, exprSubstrBytes},
	"$substrBytes":  {3, 3, exprSubstrBytes},
	"$substrCP":     {3, 3, exprSubstrCP},
	"$indexOfBytes": {2, 4, indexOfText("$indexOfBytes", 40091, false)},
	"$indexOfCP":    {2, 4, indexOfText("$indexOfCP", 40093, true)},
	"$split":        {2, 2, exprSplit},
	"$strcasecmp":   {2, 2, exprStrcasecmp},
}

var namedStringFunctions = map[string]namedFunction{
	"$trim":  trimFunction("$trim", true, true),
	"$ltrim": trimFunction("$ltrim", true, false),
	"$rtrim": trimFunction("$rtrim", false, true),
	"$replaceOne": {
		args: []string{"input", "find", "replacement"}, required: 3, notObjectCode: 51751, unknownCode: 51750,
		missingCode: 51749,
		call:        replaceText("$replaceOne", 1),
	},
	"$replaceAll": {
		args: []string{"input", "find", "replacement"}, required: 3, notObjectCode: 51751, unknownCode: 51750,
		missingCode: 51749,
		call:        replaceText("$replaceAll", -1),
	},
}

func exprConcat(_ *Evaluation, args []value.Value) (value.Value, error) {
	var out strings.Builder
	for _, v := range args {
		if value.IsNullish(v) {
			return value.Null(), nil
		}
		if !value.IsString(v) {
			return value.Value{}, servererr.NewCode(16702, "$concat only supports strings, not %s", value.TypeName(v))
		}
		if err := checkSize(out.Len() + len(v.Value)); err != nil {
			return value.Value{}, err
		}
		out.WriteString(value.TextAt(v.Value))
	}
	return value.String(out.String()), nil
}

// coerceText returns a value as a string if the server converts it implicitly.
func coerceText(v value.Value) (string, error) {
	if value.IsNullish(v) {
		return "", nil
	}
	switch v.Type {
	case bson.TypeString, bson.TypeSymbol, bson.TypeJavaScript:
		return value.TextAt(v.Value), nil
	case bson.TypeInt32, bson.TypeInt64, bson.TypeDouble, bson.TypeDecimal128, bson.TypeDateTime:
		return plainText(v)
	case bson.TypeTimestamp:
		return timestampText(v), nil
	}
	return "", servererr.NewCode(16007, "can't convert from BSON type %s to String", value.TypeName(v))
}

func mapText(f func(string) string) func(*Evaluation, []value.Value) (value.Value, error) {
	return func(_ *Evaluation, args []value.Value) (value.Value, error) {
		s, err := coerceText(args[0])
		return value.String(f(s)), err
	}
}

// asciiUpper and asciiLower change the case of ASCII letters only, as the server does.
func asciiUpper(s string) string { return mapASCII(s, 'a', 'z', -32) }
func asciiLower(s string) string { return mapASCII(s, 'A', 'Z', 32) }

func mapASCII(s string, from, to byte, shift int) string {
	b := []byte(s)
	for i, c := range b {
		if c >= from && c <= to {
			b[i] = byte(int(c) + shift)
		}
	}
	return string(b)
}

func stringLength(op string, code int32, length func(string) int,
) func(*Evaluation, []value.Value) (value.Value, error) {
	return func(_ *Evaluation, args []value.Value) (value.Value, error) {
		if !value.IsString(args[0]) {
			return value.Value{}, servererr.NewCode(code, "%s requires a string argument, found: %s", op,
				value.TypeName(args[0]))
		}
		return value.Int32(int32(length(value.TextAt(args[0].Value)))), nil
	}
}

// exprSubstrBytes fails if it would split a character.
func exprSubstrBytes(_ *Evaluation, args []value.Value) (value.Value, error) {
	s, err := coerceText(args[0])
	if err != nil {
		return value.Value{}, err
	}
	if !value.IsNumber(args[1]) {
		return value.Value{}, servererr.NewCode(16034,
			"$substrBytes:  starting index must be a numeric type (is BSON type %s)", value.TypeName(args[1]))
	}
	if !value.IsNumber(args[2]) {
		return value.Value{}, servererr.NewCode(16035, "$substrBytes:  length must be a numeric type (is BSON type %s)",
			value.TypeName(args[2]))
	}
	from, length := value.ToInteger(args[1]), value.ToInteger(args[2])
	switch {
	case from < 0:
		return value.Value{}, servererr.NewCode(50752, "$substrBytes:  starting index must be non-negative (got: %d)", from)
	case from < int64(len(s)) && !utf8.RuneStart(s[from]):
		return value.Value{}, servererr.NewCode(28656,
			"$substrBytes:  Invalid range, starting index is a UTF-8 continuation byte.")
	case from >= int64(len(s)):
		return value.String(""), nil
	}
	to := int64(len(s))
	if length >= 0 && length < to-from {
		to = from + length
	}
	if to < int64(len(s)) && !utf8.RuneStart(s[to]) {
		return value.Value{}, servererr.NewCode(28657,
			"$substrBytes:  Invalid range, ending index is in the middle of a UTF-8 character.")
	}
	return value.String(s[from:to]), nil
}

func exprSubstrCP(_ *Evaluation, args []value.Value) (value.Value, error) {
	s, err := coerceText(args[0])
	if err != nil {
		return value.Value{}, err
	}
	if !value.IsNumber(args[1]) {
		return value.Value{}, servererr.NewCode(34450, "$substrCP: starting index must be a numeric type (is BSON type %s)",
			value.TypeName(args[1]))
	}
	from, ok := value.WholeInt32(args[1])
	if !ok {
		return value.Value{}, servererr.NewCode(34451,
			"$substrCP: starting index cannot be represented as a 32-bit integral value: %s", args[1])
	}
	if !value.IsNumber(args[2]) {
		return value.Value{}, servererr.NewCode(34452, "$substrCP: length must be a numeric type (is BSON type %s)",
			value.TypeName(args[2]))
	}
	length, ok := value.WholeInt32(args[2])
	switch {
	case !ok:
		return value.Value{}, servererr.NewCode(34453,
			"$substrCP: length cannot be represented as a 32-bit integral value: %s", args[2])
	case length < 0:
		return value.Value{}, servererr.NewCode(34454, "$substrCP: length must be a nonnegative integer.")
	case from < 0:
		return value.Value{}, servererr.NewCode(34455, "$substrCP: the starting index must be nonnegative integer.")
	}
	runes := []rune(s)
	from = min(from, len(runes))
	return value.String(string(runes[from:min(from+length, len(runes))])), nil
}

// indexOfText returns an operator that finds the index of a substring in an optional range, or -1. With
// codePoints it counts characters instead of bytes.
func indexOfText(op string, code int32, codePoints bool) func(*Evaluation, []value.Value) (value.Value, error) {
	return func(_ *Evaluation, args []value.Value) (value.Value, error) {
		if value.IsNullish(args[0]) {
			return value.Null(), nil
		}
		if !value.IsString(args[0]) {
			return value.Value{}, servererr.NewCode(code, "%s requires a string as the first argument, found: %s", op,
				value.TypeName(args[0]))
		}
		if !value.IsString(args[1]) {
			return value.Value{}, servererr.NewCode(code+1, "%s requires a string as the second argument, found: %s", op,
				value.TypeName(args[1]))
		}
		s, sub := value.TextAt(args[0].Value), value.TextAt(args[1].Value)
		size := len(s)
		if codePoints {
			size = utf8.RuneCountInString(s)
		}
		from, to, err := parseIndexRange(op, args[2:], size)
		if err != nil {
			return value.Value{}, err
		}
		if from > size || from > to {
			return value.Int32(-1), nil
		}
		if !codePoints {
			i := strings.Index(s[from:to], sub)
			if i >= 0 {
				i += from
			}
			return value.Int32(int32(i)), nil
		}
		runes := []rune(s)[from:to]
		part := string(runes)
		i := strings.Index(part, sub)
		if i >= 0 {
			i = from + utf8.RuneCountInString(part[:i])
		}
		return value.Int32(int32(i)), nil
	}
}

// parseIndexRange reads the optional start and end of a search.
func parseIndexRange(op string, args []value.Value, size int) (from, to int, err error) {
	to = size
	for i, v := range args {
		n, ok := value.WholeInt32(v)
		what := [2]string{"starting", "ending"}[i]
		switch {
		case !ok:
			return 0, 0, servererr.NewCode(40096, "%s requires an integral %s index, found a value of type: %s", op, what,
				value.TypeName(v))
		case n < 0:
			return 0, 0, servererr.NewCode(40097, "%s requires a nonnegative %s index, found: %d", op, what, n)
		case i == 0:
			from = n
		default:
			to = min(n, size)
		}
	}
	return from, to, nil
}

func exprSplit(c *Evaluation, args []value.Value) (value.Value, error) {
	s, sep := args[0], args[1]
	if value.IsNullish(s) || value.IsNullish(sep) {
		return value.Null(), nil
	}
	if !value.IsString(s) {
		return value.Value{}, servererr.NewCode(40085,
			"$split requires an expression that evaluates to a string as a first argument, found: %s",
			value.TypeName(s))
	}
	if !value.IsString(sep) {
		return value.Value{}, servererr.NewCode(40086,
			"$split requires an expression that evaluates to a string as a second argument, found: %s", value.TypeName(sep))
	}
	if value.TextAt(sep.Value) == "" {
		return value.Value{}, servererr.NewCode(40087, "$split requires a non-empty separator")
	}
	var out []value.Value
	for part := range strings.SplitSeq(value.TextAt(s.Value), value.TextAt(sep.Value)) {
		if err := c.Meter.Charge(1); err != nil {
			return value.Value{}, err
		}
		out = append(out, value.String(part))
	}
	return document.Array(out), nil
}

func exprStrcasecmp(_ *Evaluation, args []value.Value) (value.Value, error) {
	a, err := coerceText(args[0])
	if err != nil {
		return value.Value{}, err
	}
	b, err := coerceText(args[1])
	return value.Int32(int32(strings.Compare(asciiUpper(a), asciiUpper(b)))), err
}

// whitespace are the characters that the server treats as white space.
const whitespace = "\x00\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"

func trimFunction(op string, left, right bool) namedFunction {
	return namedFunction{
		args: []string{"input", "chars"}, required: 1, notObjectCode: 50696, unknownCode: 50694, missingCode: 50695,
		call: func(_ *Evaluation, args []value.Value) (value.Value, error) {
			if value.IsNullish(args[0]) {
				return value.Null(), nil
			}
			if !value.IsString(args[0]) {
				return value.Value{}, servererr.NewCode(50699,
					"%s requires its input to be a string, got %s (of type %s) instead.", op, args[0], value.TypeName(args[0]))
			}
			if !value.IsOmittedArgument(args[1]) && value.IsNullish(args[1]) {
				return value.Null(), nil
			}
			chars := whitespace
			if !value.IsOmittedArgument(args[1]) {
				if !value.IsString(args[1]) {
					return value.Value{}, servererr.NewCode(50700,
						"%s requires 'chars' to be a string, got %s (of type %s) instead.", op, args[1], value.TypeName(args[1]))
				}
				chars = value.TextAt(args[1].Value)
			}
			s := value.TextAt(args[0].Value)
			if left {
				s = strings.TrimLeft(s, chars)
			}
			if right {
				s = strings.TrimRight(s, chars)
			}
			return value.String(s), nil
		},
	}
}

func replaceText(op string, n int) func(*Evaluation, []value.Value) (value.Value, error) {
	return func(_ *Evaluation, args []value.Value) (value.Value, error) {
		names, codes := [3]string{"input", "find", "replacement"}, [3]int32{51746, 51745, 51744}
		null := false
		for i, v := range args {
			if !value.IsNullish(v) && !value.IsString(v) {
				return value.Value{}, servererr.NewCode(codes[i], "%s requires that '%s' be a string, found: %s", op, names[i], v)
			}
			null = null || value.IsNullish(v)
		}
		if null {
			return value.Null(), nil
		}
		s, old, new := value.TextAt(args[0].Value), value.TextAt(args[1].Value), value.TextAt(args[2].Value)
		if len(new) > len(old) {
			times := strings.Count(s, old)
			if n >= 0 {
				times = min(n, times)
			}
			if err := checkSize(len(s) + times*(len(new)-len(old))); err != nil {
				return value.Value{}, err
			}
		}
		return value.String(strings.Replace(s, old, new, n)), nil
	}
}
