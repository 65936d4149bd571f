package store

import (
	"regexp"
	"strings"
	"time"

	"github.com/dlclark/regexp2/v2"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// regexLimit ends a match of a pattern that needs backtracking.
const regexLimit = 500 * time.Millisecond

// pattern is a compiled regular expression. Most compile to Go's own; those
// with lookaround or back references go to a backtracking engine.
type pattern struct {
	fast *regexp.Regexp
	slow *regexp2.Regexp
}

// compilePattern takes the server's options i, m, s, x and u.
func compilePattern(source, options string) (*pattern, error) {
	if strings.ContainsRune(source, 0) {
		return nil, badValue("Regular expression cannot contain an embedded null byte")
	}
	var flags strings.Builder
	for _, o := range options {
		switch o {
		case 'i', 'm', 's':
			if !strings.ContainsRune(flags.String(), o) {
				flags.WriteRune(o)
			}
		case 'x':
			source = withoutSpace(source)
		case 'u':
		default:
			return nil, fail(51108, "invalid flag in regex options: %c", o)
		}
	}
	if flags.Len() > 0 {
		source = "(?" + flags.String() + ")" + source
	}
	fast, err := regexp.Compile(source)
	if err == nil {
		return &pattern{fast: fast}, nil
	}
	slow, err2 := regexp2.Compile(source, regexp2.None)
	if err2 != nil {
		return nil, fail(51091, "Regular expression is invalid: %s", reason(err))
	}
	slow.MatchTimeout = regexLimit
	return &pattern{slow: slow}, nil
}

// reason returns the message of a pattern error without Go's prefix.
func reason(err error) string {
	return strings.TrimPrefix(err.Error(), "error parsing regexp: ")
}

// withoutSpace drops what the option x ignores: white space and comments
// outside character classes.
func withoutSpace(source string) string {
	var out strings.Builder
	class, comment, escaped := false, false, false
	for _, c := range source {
		switch {
		case comment:
			comment = c != '\n'
			continue
		case escaped:
			escaped = false
		case c == '\\':
			escaped = true
		case c == '[':
			class = true
		case c == ']':
			class = false
		case !class && c == '#':
			comment = true
			continue
		case !class && strings.ContainsRune(" \t\n\r\v\f", c):
			continue
		}
		out.WriteRune(c)
	}
	return out.String()
}

func (p *pattern) match(s string) (bool, error) {
	if p.fast != nil {
		return p.fast.MatchString(s), nil
	}
	ok, err := p.slow.MatchString(s)
	return ok, tooExpensive(err)
}

// matches reports what match does; a pattern that is too expensive counts as
// not matching.
func (p *pattern) matches(s string) bool {
	ok, err := p.match(s)
	return ok && err == nil
}

// findAll returns the byte positions of up to n matches (all for n < 0) and of
// their groups, as regexp does.
func (p *pattern) findAll(s string, n int) ([][]int, error) {
	if p.fast != nil {
		return p.fast.FindAllStringSubmatchIndex(s, n), nil
	}
	runes := []rune(s)
	at := func(i int) int { return len(string(runes[:i])) }
	var all [][]int
	m, err := p.slow.FindStringMatch(s)
	for ; m != nil && err == nil && n != 0; n-- {
		var places []int
		for _, g := range m.Groups() {
			if len(g.Captures) == 0 {
				places = append(places, -1, -1)
				continue
			}
			places = append(places, at(g.RuneIndex), at(g.RuneIndex+g.RuneLength))
		}
		all = append(all, places)
		m, err = p.slow.FindNextMatch(m)
	}
	return all, tooExpensive(err)
}

func tooExpensive(err error) error {
	if err == nil {
		return nil
	}
	return fail(51156, "Error occurred while executing the regular expression: %s", err)
}

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
		ok, err := t.compiled.match(textAt(v.Value))
		if err != nil && m.err == nil {
			m.err = err
		}
		return ok
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
