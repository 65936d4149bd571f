package store

import (
	"unicode/utf8"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// regex is $regexMatch, $regexFind and $regexFindAll. A constant pattern is
// compiled once.
func (c *exprCompiler) regex(name string, arg value, sc *scope) (expression, error) {
	args, err := c.named(name, arg, sc, namedSpec{
		args: []string{"input", "regex", "options"}, notObject: 51103, unknown: 31024, missing: []int32{31022, 31023},
	})
	if err != nil {
		return nil, err
	}
	var constant *pattern
	re, isConstant := args[1].(literal)
	var options value = absent
	if args[2] != nil {
		o, ok := args[2].(literal)
		options, isConstant = value(o), isConstant && ok
	}
	if isConstant && !c.asIs && !isNullish(value(re)) {
		if constant, err = regexOf(name, value(re), options); err != nil {
			return nil, err
		}
	}
	give := map[string]func(*work, string, *pattern) (value, error){
		"$regexMatch": regexMatch, "$regexFind": regexFind, "$regexFindAll": regexFindAll,
	}[name]
	none := map[string]value{"$regexMatch": boolValue(false), "$regexFind": nullValue(),
		"$regexFindAll": arrayOf(nil)}[name]
	return evalFunc(func(c *evaluation) (value, error) {
		vs, err := evalAll(args, c)
		if err != nil {
			return value{}, err
		}
		if !isNullish(vs[0]) && !isString(vs[0]) {
			return value{}, fail(51104, "%s needs 'input' to be of type string", name)
		}
		p := constant
		if p == nil && !isNullish(vs[1]) {
			if p, err = regexOf(name, vs[1], vs[2]); err != nil {
				return value{}, err
			}
		}
		if isNullish(vs[0]) || p == nil {
			return none, nil
		}
		return give(c.work, textAt(vs[0].Value), p)
	}), nil
}

func regexOf(op string, re, options value) (*pattern, error) {
	var source, flags string
	switch re.Type {
	case bson.TypeString:
		source = textAt(re.Value)
	case bson.TypeRegex:
		source, flags = regexAt(re.Value)
	default:
		return nil, fail(51105, "%s needs 'regex' to be of type string or regex", op)
	}
	if !isNullish(options) {
		if !isString(options) {
			return nil, fail(51106, "%s needs 'options' to be of type string", op)
		}
		if flags != "" {
			return nil, fail(51107, "%s: found regex option(s) specified in both 'regex' and 'option' fields", op)
		}
		flags = textAt(options.Value)
	}
	p, err := compilePattern(source, flags)
	if code, ok := codeIn(err); ok && code == 51091 {
		return nil, fail(51111, "Invalid Regex in %s: %s", op, err)
	}
	return p, err
}

func regexMatch(w *work, s string, p *pattern) (value, error) {
	ok, err := p.match(w, s)
	return boolValue(ok), err
}

func regexFind(w *work, s string, p *pattern) (value, error) {
	found, err := p.findAll(w, s, 1)
	if err != nil || len(found) == 0 {
		return nullValue(), err
	}
	return regexFound(s, found[0], utf8.RuneCountInString(s[:found[0][0]])), nil
}

// foundSize is what a match takes in the result at least: {match: "", idx: 0,
// captures: []}.
const (
	foundSize      = 41
	foundGroupSize = 4 // a group that did not match
)

func regexFindAll(w *work, s string, p *pattern) (value, error) {
	found, err := p.findAll(w, s, maxValueSize/(foundSize+p.groups()*foundGroupSize)+1)
	var out []value
	size := 0
	counted, at := 0, 0 // the characters up to a byte
	next := 0           // where the next search begins
	for _, places := range found {
		if next > 0 && next == len(s) { // from there the server no longer looks
			break
		}
		if next = places[1]; places[0] == places[1] {
			_, length := utf8.DecodeRuneInString(s[next:])
			next += length
		}
		counted, at = counted+utf8.RuneCountInString(s[at:places[0]]), places[0]
		one := regexFound(s, places, counted)
		if size += len(one.Value); size > maxValueSize {
			return value{}, fail(51151, "$regexFindAll: the size of buffer to store output exceeded the 64MB limit")
		}
		out = append(out, one)
		if err := w.step(1); err != nil {
			return value{}, err
		}
	}
	return arrayOf(out), err
}

// regexFound is {match, idx, captures}; idx counts characters.
func regexFound(s string, places []int, idx int) value {
	var captures []value
	for i := 2; i+1 < len(places); i += 2 {
		if places[i] < 0 {
			captures = append(captures, nullValue())
			continue
		}
		captures = append(captures, stringValue(s[places[i]:places[i+1]]))
	}
	return objectValue(documentOf(
		field{"match", stringValue(s[places[0]:places[1]])},
		field{"idx", int32Value(int32(idx))},
		field{"captures", arrayOf(captures)},
	))
}
