package anonymous

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"shardsh/balancer/mongoerr"
)

// collector collects all values that will be replaced.
type collector struct {
	names, texts, bytes set[string]
	numbers             set[number]
	dates, stamps       set[number]
}

type set[T comparable] map[T]struct{}

func (s set[T]) add(v T) { s[v] = struct{}{} }

func newCollector() *collector {
	return &collector{set[string]{}, set[string]{}, set[string]{}, set[number]{}, set[number]{}, set[number]{}}
}

func (c *collector) name(text string) string { c.names.add(text); return text }
func (c *collector) text(text string) string { return text }
func (c *collector) replaces() bool          { return false }

func (c *collector) value(v bson.RawValue) (bson.RawValue, error) {
	switch v.Type {
	case bson.TypeString, bson.TypeSymbol, bson.TypeJavaScript:
		c.texts.add(textOf(v))
	case bson.TypeRegex:
		pattern, _ := v.Regex()
		c.texts.add(pattern)
	case bson.TypeObjectID, bson.TypeBinary:
		_, data := bytesOf(v)
		c.bytes.add(string(data))
	case bson.TypeDateTime:
		c.dates.add(wholeNumber(v.DateTime()))
	case bson.TypeTimestamp:
		c.stamps.add(number{whole: binary.LittleEndian.Uint64(v.Value)})
	case bson.TypeInt32, bson.TypeInt64, bson.TypeDouble, bson.TypeDecimal128:
		n, ok := numberOf(v)
		if ok {
			c.numbers.add(n)
		}
	default:
		return v, fmt.Errorf("a key value of type %s can't be redacted", v.Type)
	}
	return v, nil
}

// masks returns the replacements for all collected values.
func (c *collector) masks(random *rand.Rand) *masks {
	return &masks{
		names: maskTexts(sortedKeys(c.names), isServerName, random),
		texts: maskTexts(sortedKeys(c.texts), func(string) bool { return false }, random),
		bytes: maskBytes(sortedKeys(c.bytes), random),

		numbers: maskNumbers(c.numbers, random), dates: maskNumbers(c.dates, random),
		stamps: maskNumbers(c.stamps, random),
	}
}

func sortedKeys(s set[string]) []string { return slices.Sorted(maps.Keys(s)) }

// isServerName reports whether a name is one of the server's own.
func isServerName(name string) bool {
	db, _, _ := strings.Cut(name, ".")
	return db == "config" || db == "admin" || db == "local" || name == "_id"
}

// masks replaces values.
type masks struct {
	names, texts, bytes    map[string]string
	numbers, dates, stamps map[number]number
}

func (m *masks) name(text string) string { return m.names[text] }
func (m *masks) replaces() bool          { return true }

// text keeps the shape of a string, and the names of the server's errors in it.
func (m *masks) text(text string) string {
	var masked strings.Builder
	for len(text) > 0 {
		end := strings.IndexFunc(text, func(r rune) bool { return !isWordRune(r) })
		if end < 0 {
			end = len(text)
		}
		if word := text[:end]; mongoerr.IsCodeName(word) {
			masked.WriteString(word)
		} else {
			masked.WriteString(strings.Map(maskRune, word))
		}
		rest := strings.IndexFunc(text[end:], isWordRune)
		if rest < 0 {
			rest = len(text) - end
		}
		masked.WriteString(text[end : end+rest])
		text = text[end+rest:]
	}
	return masked.String()
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) }

func maskRune(r rune) rune {
	switch {
	case unicode.IsDigit(r):
		return '0'
	case unicode.IsUpper(r):
		return 'X'
	}
	return 'x'
}

func (m *masks) value(v bson.RawValue) (bson.RawValue, error) {
	is := bson.RawValue{Type: v.Type}
	switch v.Type {
	case bson.TypeRegex:
		pattern, options := v.Regex()
		is.Value = bsoncore.AppendRegex(nil, m.texts[pattern], options)
	case bson.TypeString, bson.TypeSymbol, bson.TypeJavaScript:
		is.Value = bsoncore.AppendString(nil, m.texts[textOf(v)])
	case bson.TypeObjectID, bson.TypeBinary:
		head, data := bytesOf(v)
		is.Value = append(slices.Clone(head), m.bytes[string(data)]...)
	case bson.TypeDateTime:
		is.Value = bsoncore.AppendInt64(nil, m.dates[wholeNumber(v.DateTime())].int64())
	case bson.TypeTimestamp:
		is.Value = binary.LittleEndian.AppendUint64(nil, m.stamps[number{whole: binary.LittleEndian.Uint64(v.Value)}].whole)
	default:
		n, ok := numberOf(v)
		if !ok {
			return v, nil // the value is infinite, or larger than all values that are replaced
		}
		return m.numbers[n].toBSON(v.Type)
	}
	return is, nil
}

func textOf(v bson.RawValue) string { return string(v.Value[4 : len(v.Value)-1]) }

// bytesOf returns the part of an id or a binary value that is replaced, and the part before it.
func bytesOf(v bson.RawValue) (head, data []byte) {
	if v.Type == bson.TypeObjectID {
		return nil, v.Value
	}
	return v.Value[:5], v.Value[5:]
}
