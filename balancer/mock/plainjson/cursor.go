// Package plainjson walks JSON text of the plain kind that programs write, without
// reflection and without copies: for files with a million alike objects in them. What is
// not plain, or no JSON, spoils the walk, and encoding/json has to do it, which also
// says what is wrong.
package plainjson

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// Cursor is a place in a text. Once something is not as asked for it is Spoilt and
// stays so; what it returns then means nothing.
type Cursor struct {
	text   []byte
	at     int
	spoilt bool
}

// NewCursor returns one at the beginning of a text, which must not change.
func NewCursor(text []byte) *Cursor { return &Cursor{text: text} }

// Spoilt reports whether something was not as asked for.
func (c *Cursor) Spoilt() bool { return c.spoilt }

// Spoil has the walk end.
func (c *Cursor) Spoil() { c.spoilt = true }

// Place returns how many bytes of the text are behind the cursor.
func (c *Cursor) Place() int { return c.at }

// next returns the next byte that is no space, 0 at the end.
func (c *Cursor) next() byte {
	for ; c.at < len(c.text); c.at++ {
		switch b := c.text[c.at]; b {
		case ' ', '\n', '\t', '\r':
		default:
			return b
		}
	}
	return 0
}

// Take passes a punctuation mark, if it comes next.
func (c *Cursor) Take(mark byte) bool {
	if c.spoilt || c.next() != mark {
		return false
	}
	c.at++
	return true
}

// Need passes a punctuation mark that has to come next.
func (c *Cursor) Need(mark byte) {
	if !c.Take(mark) {
		c.spoilt = true
	}
}

// AtEnd reports whether nothing but space is left.
func (c *Cursor) AtEnd() bool { return !c.spoilt && c.next() == 0 && c.at == len(c.text) }

// Members walks an object: each is called behind the name and the colon of a member,
// and has to pass its value. A name must not come twice.
func (c *Cursor) Members(each func(name string)) {
	c.Need('{')
	if c.Take('}') {
		return
	}
	var usual [8]string
	seen := usual[:0]
	for !c.spoilt {
		name := string(c.Text())
		for _, before := range seen {
			c.spoilt = c.spoilt || before == name
		}
		seen = append(seen, name)
		if c.Need(':'); c.spoilt {
			return
		}
		if each(name); c.Take('}') {
			return
		}
		c.Need(',')
	}
}

// Items walks an array: each has to pass one item.
func (c *Cursor) Items(each func()) {
	c.Need('[')
	if c.Take(']') {
		return
	}
	for !c.spoilt {
		if each(); c.Take(']') {
			return
		}
		c.Need(',')
	}
}

// Text passes a string of printable ASCII without escapes, and returns what it says.
func (c *Cursor) Text() []byte {
	c.Need('"')
	for i := c.at; !c.spoilt && i < len(c.text); i++ {
		switch b := c.text[i]; {
		case b == '"':
			said := c.text[c.at:i]
			c.at = i + 1
			return said
		case b < ' ' || b > '~' || b == '\\':
			c.spoilt = true
		}
	}
	c.spoilt = true
	return nil
}

// Number passes a whole number.
func (c *Cursor) Number() int64 {
	digits := c.digits()
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		c.spoilt = true
	}
	return n
}

// digits passes a whole number as JSON has it: no zero in front, nor a plus.
func (c *Cursor) digits() []byte {
	c.next()
	from, i := c.at, c.at
	if i < len(c.text) && c.text[i] == '-' {
		i++
	}
	first := i
	for i < len(c.text) && c.text[i] >= '0' && c.text[i] <= '9' {
		i++
	}
	if i == first || c.text[first] == '0' && i > first+1 ||
		i < len(c.text) && bytes.IndexByte([]byte(".eE"), c.text[i]) >= 0 {
		c.spoilt = true
	}
	c.at = i
	return c.text[from:i]
}

// Bool passes true or false.
func (c *Cursor) Bool() bool {
	c.next()
	for word, value := range map[string]bool{"true": true, "false": false} {
		if bytes.HasPrefix(c.text[c.at:], []byte(word)) {
			c.at += len(word)
			return value
		}
	}
	c.spoilt = true
	return false
}

// Value passes any value, and returns its text.
func (c *Cursor) Value() json.RawMessage {
	from, was := c.place(), *c
	if c.plain(); !c.spoilt {
		return c.text[from:c.at:c.at]
	}
	*c = was
	if c.skip(); !c.spoilt && !json.Valid(c.text[from:c.at]) {
		c.spoilt = true
	}
	return c.text[from:c.at:c.at]
}

func (c *Cursor) place() int {
	c.next()
	return c.at
}

// plain passes what most values are: a string, a whole number, or an object of one.
func (c *Cursor) plain() {
	switch c.next() {
	case '"':
		c.Text()
	case '{':
		c.Need('{')
		c.Text()
		c.Need(':')
		if c.next() == '"' {
			c.Text()
		} else {
			c.digits()
		}
		c.Need('}')
	default:
		c.digits()
	}
}

// skip passes a value by its brackets and quotes alone.
func (c *Cursor) skip() {
	depth := 0
	for ; c.at < len(c.text); c.at++ {
		switch c.text[c.at] {
		case '"':
			c.quoted()
		case '{', '[':
			depth++
			continue
		case '}', ']':
			if depth--; depth < 0 {
				return // the end of what the value is in
			}
		case ',':
			if depth == 0 {
				return
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			c.at++
			return
		}
	}
}

// quoted goes to the end of a string, or of the text.
func (c *Cursor) quoted() {
	for c.at++; c.at < len(c.text) && c.text[c.at] != '"'; c.at++ {
		if c.text[c.at] == '\\' {
			c.at++
		}
	}
	c.at = min(c.at, len(c.text)-1)
}
