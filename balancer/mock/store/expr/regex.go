package expr

import (
	"unicode/utf8"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/regex"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
	"shardsh/balancer/mongoerr"
)

// compileRegex compiles $regexMatch, $regexFind and $regexFindAll. It compiles a constant pattern only
// once.
func (c *Compiler) compileRegex(name string, arg value.Value, sc *Scope) (Expression, error) {
	args, err := c.compileNamedArguments(name, arg, sc, NamedArgs{
		Args: []string{"input", "regex", "options"}, NotObjectCode: 51103, UnknownCode: 31024,
		MissingCodes: []int32{31022, 31023},
	})
	if err != nil {
		return nil, err
	}
	var constant *regex.Pattern
	re, isConstant := args[1].(Literal)
	var options value.Value = value.OmittedArgument
	if args[2] != nil {
		o, ok := args[2].(Literal)
		options, isConstant = value.Value(o), isConstant && ok
	}
	if isConstant && !c.noFolding && !value.IsNullish(value.Value(re)) {
		if constant, err = compilePattern(name, value.Value(re), options); err != nil {
			return nil, err
		}
	}
	give := map[string]func(*quota.Meter, string, *regex.Pattern) (value.Value, error){
		"$regexMatch": regexMatch, "$regexFind": regexFind, "$regexFindAll": regexFindAll,
	}[name]
	none := map[string]value.Value{"$regexMatch": value.Bool(false), "$regexFind": value.Null(),
		"$regexFindAll": document.Array(nil)}[name]
	return ExpressionFunc(func(c *Evaluation) (value.Value, error) {
		vs, err := EvalAll(args, c)
		if err != nil {
			return value.Value{}, err
		}
		if !value.IsNullish(vs[0]) && !value.IsString(vs[0]) {
			return value.Value{}, servererr.NewCode(51104, "%s needs 'input' to be of type string", name)
		}
		p := constant
		if p == nil && !value.IsNullish(vs[1]) {
			if p, err = compilePattern(name, vs[1], vs[2]); err != nil {
				return value.Value{}, err
			}
		}
		if value.IsNullish(vs[0]) || p == nil {
			return none, nil
		}
		return give(c.Meter, value.TextAt(vs[0].Value), p)
	}), nil
}

func compilePattern(op string, re, options value.Value) (*regex.Pattern, error) {
	source, flags, ok := value.PatternOf(re)
	if !ok {
		return nil, servererr.NewCode(51105, "%s needs 'regex' to be of type string or regex", op)
	}
	if !value.IsNullish(options) {
		if !value.IsString(options) {
			return nil, servererr.NewCode(51106, "%s needs 'options' to be of type string", op)
		}
		if flags != "" {
			return nil, servererr.NewCode(51107, "%s: found regex option(s) specified in both 'regex' and 'option' fields", op)
		}
		flags = value.TextAt(options.Value)
	}
	p, err := regex.Compile(source, flags)
	if mongoerr.Is(err, 51091) {
		return nil, servererr.NewCode(51111, "Invalid Regex in %s: %s", op, err)
	}
	return p, err
}

func regexMatch(w *quota.Meter, s string, p *regex.Pattern) (value.Value, error) {
	ok, err := p.Match(w, s)
	return value.Bool(ok), err
}

func regexFind(w *quota.Meter, s string, p *regex.Pattern) (value.Value, error) {
	found, err := p.FindAll(w, s, 1)
	if err != nil || len(found) == 0 {
		return value.Null(), err
	}
	return matchDocument(s, found[0], utf8.RuneCountInString(s[:found[0][0]])), nil
}

// minMatchSize is the minimum size of a match in the result: {match: "", idx: 0,
// captures: []}.
const (
	minMatchSize      = 41
	minMatchGroupSize = 4 // a group without a match
)

func regexFindAll(w *quota.Meter, s string, p *regex.Pattern) (value.Value, error) {
	found, err := p.FindAll(w, s, maxValueSize/(minMatchSize+p.GroupCount()*minMatchGroupSize)+1)
	var out []value.Value
	size := 0
	counted, at := 0, 0 // the number of characters in the first at bytes
	next := 0           // where the next search starts
	for _, places := range found {
		if next > 0 && next == len(s) { // the server does not search at the end of the string
			break
		}
		if next = places[1]; places[0] == places[1] {
			_, length := utf8.DecodeRuneInString(s[next:])
			next += length
		}
		counted, at = counted+utf8.RuneCountInString(s[at:places[0]]), places[0]
		one := matchDocument(s, places, counted)
		if size += len(one.Value); size > maxValueSize {
			return value.Value{}, servererr.NewCode(51151,
				"$regexFindAll: the size of buffer to store output exceeded the 64MB limit")
		}
		out = append(out, one)
		if err := w.Charge(1); err != nil {
			return value.Value{}, err
		}
	}
	return document.Array(out), err
}

// matchDocument returns {match, idx, captures}; idx counts characters.
func matchDocument(s string, places []int, idx int) value.Value {
	var captures []value.Value
	for i := 2; i+1 < len(places); i += 2 {
		if places[i] < 0 {
			captures = append(captures, value.Null())
			continue
		}
		captures = append(captures, value.String(s[places[i]:places[i+1]]))
	}
	return value.Object(document.New(document.Field{Name: "match", Value: value.String(s[places[0]:places[1]])},
		document.Field{Name: "idx", Value: value.Int32(int32(idx))},
		document.Field{Name: "captures", Value: document.Array(captures)}))
}
