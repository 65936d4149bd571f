package filter

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/regex"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

// regexTest matches strings by a pattern, and regular expression values that equal the pattern.
type regexTest struct {
	source, options string
	compiled        *regex.Pattern
}

func newRegexTest(source, options string) (*regexTest, error) {
	p, err := regex.Compile(source, options)
	if err != nil {
		return nil, err
	}
	return &regexTest{source, options, p}, nil
}

func (t *regexTest) Test(v value.Value, m *MatchState) bool {
	switch v.Type {
	case bson.TypeString, bson.TypeSymbol:
		ok, err := t.compiled.Match(m.currentMeter(), value.TextAt(v.Value))
		if m != nil && m.Err == nil {
			m.Err = err
		}
		return ok && err == nil
	case bson.TypeRegex:
		source, options := value.RegexAt(v.Value)
		return source == t.source && options == t.options
	}
	return false
}

// compileRegex compiles {$regex: ..., $options: ...}.
func compileRegex(v, options value.Value) (*regexTest, error) {
	source, flags, ok := value.PatternOf(v)
	if !ok {
		return nil, servererr.BadValue("$regex has to be a string")
	}
	switch {
	case value.IsMissing(options):
	case !value.IsString(options):
		return nil, servererr.BadValue("$options has to be a string")
	case flags != "":
		return nil, servererr.NewCode(51074, "options set in both $regex and $options")
	default:
		flags = value.TextAt(options.Value)
	}
	return newRegexTest(source, flags)
}
