package pace

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Condition says when no move may begin, such as lag > 10s or queue > 50. A comparison holds if it
// holds for any member.
type Condition struct {
	text string
	root node
}

// String returns the condition as the user has written it.
func (c *Condition) String() string { return c.text }

// Verdict says whether a condition holds.
type Verdict struct {
	Holds bool
	// Reasons contains the comparisons that hold, with their numbers.
	Reasons []string
	// Unreported are the quantities that no member reports: comparisons with them
	// do not hold.
	Unreported []Quantity
}

// Evaluate evaluates the condition for the readings of members.
func (c *Condition) Evaluate(readings []Reading) Verdict {
	var v Verdict
	v.Holds = c.root.holds(readings, &v)
	return v
}

// Quantities returns the quantities that the condition uses.
func (c *Condition) Quantities() []Quantity {
	var v Verdict
	c.root.holds(nil, &v)
	return v.Unreported
}

// node is a part of a condition.
type node interface {
	// holds evaluates the node and adds its reasons to the verdict.
	holds(readings []Reading, v *Verdict) bool
}

// allOf holds if all of its parts hold, anyOf if at least one of its parts holds.
type (
	allOf []node
	anyOf []node
)

func (a allOf) holds(readings []Reading, v *Verdict) bool {
	holds := true
	for _, part := range a { // all parts are evaluated, to collect the quantities that are not reported
		holds = part.holds(readings, v) && holds
	}
	return holds
}

func (a anyOf) holds(readings []Reading, v *Verdict) bool {
	holds := false
	for _, part := range a {
		holds = part.holds(readings, v) || holds
	}
	return holds
}

// comparison compares a quantity with a value.
type comparison struct {
	quantity Quantity
	sign     string
	value    float64
}

func (c comparison) holds(readings []Reading, v *Verdict) bool {
	var worst *Reading
	for i, r := range readings {
		value, told := r.Values[c.quantity]
		if told && (worst == nil || c.isWorse(value, worst.Values[c.quantity])) {
			worst = &readings[i]
		}
	}
	switch {
	case worst == nil:
		if !slices.Contains(v.Unreported, c.quantity) {
			v.Unreported = append(v.Unreported, c.quantity)
		}
		return false
	case !comparisons()[c.sign](worst.Values[c.quantity], c.value):
		return false
	}
	v.Reasons = append(v.Reasons,
		fmt.Sprintf("%s %s on %s %s %s", c.quantity, c.quantity.format(worst.Values[c.quantity]), worst.Member, c.sign,
			c.quantity.format(c.value)))
	return true
}

// isWorse reports whether value a is closer to meeting the comparison than value b.
func (c comparison) isWorse(a, b float64) bool {
	if c.sign[0] == '<' {
		return a < b
	}
	return a > b
}

func comparisons() map[string]func(a, b float64) bool {
	return map[string]func(a, b float64) bool{
		">": func(a, b float64) bool { return a > b }, ">=": func(a, b float64) bool { return a >= b },
		"<": func(a, b float64) bool { return a < b }, "<=": func(a, b float64) bool { return a <= b },
	}
}

// ParseError says where a condition is invalid.
type ParseError struct {
	Text string
	At   int // in bytes, from 0
	What string
}

// Error returns the text with the position.
func (e *ParseError) Error() string {
	if e.At >= len(e.Text) {
		return fmt.Sprintf("the condition %q ends too early: %s", e.Text, e.What)
	}
	return fmt.Sprintf("the condition %q at %q: %s", e.Text, e.Text[e.At:], e.What)
}

// ParseCondition parses a condition: comparisons of quantities, with and, or and parentheses. The error
// is a *ParseError.
func ParseCondition(text string) (*Condition, error) {
	p := parser{text: text}
	p.nextWord()
	top, err := p.parseOr(0)
	if err == nil && p.word != "" {
		err = p.errorf("expected and, or, or the end")
	}
	if err != nil {
		return nil, err
	}
	return &Condition{strings.TrimSpace(text), top}, nil
}

// parser parses a condition word by word.
type parser struct {
	text   string
	at, to int // of the current word
	word   string
}

// nextWord advances to the next word: a parenthesis, a comparison sign, or a sequence of other
// characters without blanks.
func (p *parser) nextWord() {
	p.at = p.to
	for p.at < len(p.text) && strings.IndexByte(" \t\n", p.text[p.at]) >= 0 {
		p.at++
	}
	p.to = p.at
	for p.to < len(p.text) && strings.IndexByte(" \t\n()<>=!", p.text[p.to]) < 0 {
		p.to++
	}
	if p.to == p.at && p.to < len(p.text) {
		p.to++
		if p.text[p.at] != '(' && p.text[p.at] != ')' && p.to < len(p.text) && p.text[p.to] == '=' {
			p.to++
		}
	}
	p.word = p.text[p.at:p.to]
}

func (p *parser) errorf(format string, args ...any) error {
	return &ParseError{p.text, p.at, fmt.Sprintf(format, args...)}
}

// maxDepth is the maximum nesting of parentheses.
const maxDepth = 50

// parseOr parses parts that are separated by or.
func (p *parser) parseOr(depth int) (node, error) {
	return p.parseList("or", func() (node, error) {
		return p.parseList("and", func() (node, error) { return p.parsePart(depth) },
			func(parts []node) node { return allOf(parts) })
	}, func(parts []node) node { return anyOf(parts) })
}

func (p *parser) parseList(separator string, parseItem func() (node, error), join func([]node) node) (node, error) {
	first, err := parseItem()
	if err != nil {
		return nil, err
	}
	parts := []node{first}
	for strings.EqualFold(p.word, separator) {
		p.nextWord()
		part, err := parseItem()
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	if len(parts) == 1 {
		return first, nil
	}
	return join(parts), nil
}

// parsePart parses a condition in parentheses, or a comparison.
func (p *parser) parsePart(depth int) (node, error) {
	if p.word != "(" {
		return p.parseComparison()
	}
	if depth == maxDepth {
		return nil, p.errorf("too many nested parentheses")
	}
	p.nextWord()
	inner, err := p.parseOr(depth + 1)
	if err != nil {
		return nil, err
	}
	if p.word != ")" {
		return nil, p.errorf("missing )")
	}
	p.nextWord()
	return inner, nil
}

func (p *parser) parseComparison() (node, error) {
	c := comparison{quantity: Quantity(strings.ToLower(p.word))}
	if _, known := unitOf(c.quantity); !known {
		names := slices.Sorted(maps.Keys(quantityUnits()))
		list := make([]string, len(names))
		for i, name := range names {
			list[i] = string(name)
		}
		return nil, p.errorf("expected one of %s, or one with %s before it", strings.Join(list, ", "), ConfigPrefix)
	}
	p.nextWord()
	c.sign = p.word
	if comparisons()[c.sign] == nil {
		return nil, p.errorf("expected >, >=, < or <= after %s", c.quantity)
	}
	p.nextWord()
	value, err := parseValue(c.quantity, p.word)
	if err != nil {
		return nil, p.errorf("%v", err)
	}
	c.value = value
	p.nextWord()
	return c, nil
}
