package pace

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Condition is when nothing is to begin, such as lag > 10s or queue > 50. Each of
// its comparisons holds when it does for any member.
type Condition struct {
	text string
	top  node
}

// String is the condition as it was given.
func (c *Condition) String() string { return c.text }

// Verdict says whether a condition holds.
type Verdict struct {
	Holds bool
	// Why has the comparisons that hold, with their numbers.
	Why []string
	// Untold are the quantities that no member tells: what is asked about them
	// does not hold.
	Untold []Quantity
}

// Judge looks at what members tell.
func (c *Condition) Judge(readings []Reading) Verdict {
	var v Verdict
	v.Holds = c.top.holds(readings, &v)
	return v
}

// Quantities returns those that the condition asks about.
func (c *Condition) Quantities() []Quantity {
	var v Verdict
	c.top.holds(nil, &v)
	return v.Untold
}

// node is a part of a condition.
type node interface {
	// holds adds to the verdict's reasons those of this part.
	holds(readings []Reading, v *Verdict) bool
}

// all holds when all of its parts do, some when one of them does.
type (
	all  []node
	some []node
)

func (parts all) holds(readings []Reading, v *Verdict) bool {
	holds := true
	for _, part := range parts { // all of them are asked, for what is not told
		holds = part.holds(readings, v) && holds
	}
	return holds
}

func (parts some) holds(readings []Reading, v *Verdict) bool {
	holds := false
	for _, part := range parts {
		holds = part.holds(readings, v) || holds
	}
	return holds
}

// comparison asks whether a quantity is above or below a value.
type comparison struct {
	of    Quantity
	sign  string
	value float64
}

func (c comparison) holds(readings []Reading, v *Verdict) bool {
	var worst *Reading
	for i, r := range readings {
		value, told := r.Values[c.of]
		if told && (worst == nil || c.worse(value, worst.Values[c.of])) {
			worst = &readings[i]
		}
	}
	switch {
	case worst == nil:
		if !slices.Contains(v.Untold, c.of) {
			v.Untold = append(v.Untold, c.of)
		}
		return false
	case !signs()[c.sign](worst.Values[c.of], c.value):
		return false
	}
	v.Why = append(v.Why, fmt.Sprintf("%s %s on %s %s %s", c.of, c.of.text(worst.Values[c.of]), worst.Where, c.sign,
		c.of.text(c.value)))
	return true
}

// worse reports whether a value is nearer to what is asked for than another.
func (c comparison) worse(a, b float64) bool {
	if c.sign[0] == '<' {
		return a < b
	}
	return a > b
}

func signs() map[string]func(a, b float64) bool {
	return map[string]func(a, b float64) bool{
		">": func(a, b float64) bool { return a > b }, ">=": func(a, b float64) bool { return a >= b },
		"<": func(a, b float64) bool { return a < b }, "<=": func(a, b float64) bool { return a <= b },
	}
}

// ParseError says where a condition makes no sense.
type ParseError struct {
	Text string
	At   int // in bytes, from 0
	What string
}

// Error shows the place.
func (e *ParseError) Error() string {
	if e.At >= len(e.Text) {
		return fmt.Sprintf("the condition %q ends too early: %s", e.Text, e.What)
	}
	return fmt.Sprintf("the condition %q at %q: %s", e.Text, e.Text[e.At:], e.What)
}

// ParseCondition reads a condition: comparisons of quantities, with and, or and
// parentheses. The error is a *ParseError.
func ParseCondition(text string) (*Condition, error) {
	p := parser{text: text}
	p.next()
	top, err := p.either(0)
	if err == nil && p.word != "" {
		err = p.wrong("expected and, or, or the end")
	}
	if err != nil {
		return nil, err
	}
	return &Condition{strings.TrimSpace(text), top}, nil
}

// parser reads a condition word by word.
type parser struct {
	text   string
	at, to int // of the word
	word   string
}

// next goes to the next word: a parenthesis, a sign, or whatever else has no blank
// in it.
func (p *parser) next() {
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

func (p *parser) wrong(format string, args ...any) error {
	return &ParseError{p.text, p.at, fmt.Sprintf(format, args...)}
}

// maxDeep is how deep parentheses may be.
const maxDeep = 50

// either reads parts with or between them.
func (p *parser) either(deep int) (node, error) {
	return p.row("or", func() (node, error) {
		return p.row("and", func() (node, error) { return p.part(deep) }, func(parts []node) node { return all(parts) })
	}, func(parts []node) node { return some(parts) })
}

func (p *parser) row(between string, read func() (node, error), join func([]node) node) (node, error) {
	first, err := read()
	if err != nil {
		return nil, err
	}
	parts := []node{first}
	for strings.EqualFold(p.word, between) {
		p.next()
		part, err := read()
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

// part reads one in parentheses, or a comparison.
func (p *parser) part(deep int) (node, error) {
	if p.word != "(" {
		return p.comparison()
	}
	if deep == maxDeep {
		return nil, p.wrong("too many nested parentheses")
	}
	p.next()
	inner, err := p.either(deep + 1)
	if err != nil {
		return nil, err
	}
	if p.word != ")" {
		return nil, p.wrong("missing )")
	}
	p.next()
	return inner, nil
}

func (p *parser) comparison() (node, error) {
	c := comparison{of: Quantity(strings.ToLower(p.word))}
	if _, known := unitOf(c.of); !known {
		names := slices.Sorted(maps.Keys(units()))
		list := make([]string, len(names))
		for i, name := range names {
			list[i] = string(name)
		}
		return nil, p.wrong("expected one of %s, or one with %s before it", strings.Join(list, ", "), OfConfig)
	}
	p.next()
	c.sign = p.word
	if signs()[c.sign] == nil {
		return nil, p.wrong("expected >, >=, < or <= after %s", c.of)
	}
	p.next()
	value, err := parseValue(c.of, p.word)
	if err != nil {
		return nil, p.wrong("%v", err)
	}
	c.value = value
	p.next()
	return c, nil
}
