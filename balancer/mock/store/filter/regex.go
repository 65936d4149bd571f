package store

import "go.mongodb.org/mongo-driver/v2/bson"

// regexTest matches strings by pattern, and regular expressions that are the
// same one.
type regexTest struct {
	source, options string
	compiled        *pattern
}

func newRegexTest(source, options string) (*regexTest, error) {
	p, err := compilePattern(source, options)
	if err != nil {
		return nil, err
	}
	return &regexTest{source, options, p}, nil
}

func (t *regexTest) test(v value, m *matching) bool {
	switch v.Type {
	case bson.TypeString, bson.TypeSymbol:
		ok, err := t.compiled.match(m.work(), textAt(v.Value))
		if m != nil && m.err == nil {
			m.err = err
		}
		return ok && err == nil
	case bson.TypeRegex:
		source, options := regexAt(v.Value)
		return source == t.source && options == t.options
	}
	return false
}

// regexOperator compiles {$regex: ..., $options: ...}.
func regexOperator(v, options value) (*regexTest, error) {
	var source, flags string
	switch v.Type {
	case bson.TypeString:
		source = textAt(v.Value)
	case bson.TypeRegex:
		source, flags = regexAt(v.Value)
	default:
		return nil, badValue("$regex has to be a string")
	}
	switch {
	case isMissing(options):
	case !isString(options):
		return nil, badValue("$options has to be a string")
	case flags != "":
		return nil, fail(51074, "options set in both $regex and $options")
	default:
		flags = textAt(options.Value)
	}
	t, err := newRegexTest(source, flags)
	if err != nil {
		return nil, err
	}
	return t, nil
}
