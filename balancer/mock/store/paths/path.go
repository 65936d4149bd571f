// Package paths follows dotted paths through documents: as filters do, into
// arrays; as indexes and sorts do, element by element; and by the rules for
// names of fields that the server's FieldPath has.
package paths

import (
	"strconv"
	"strings"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/value"
)

// Split returns the parts of a path.
func Split(path string) []string { return strings.Split(path, ".") }

// Walk visits the values that a match path selects in a document, with the server's
// implicit array traversal: an array on the way stands for its elements that
// are objects, a number on the way also for the element at that place, and an
// array at the end for its elements and then itself (expand false: for itself
// only). A path that leads nowhere outside an array is visited as missing.
//
// visit gets the index in the outermost array, or -1. The walk stops when it
// returns true, and Walk then returns true.
func Walk(w *quota.Meter, doc []byte, path []string, expand bool, visit func(v value.Value, index int) bool) bool {
	return Walker{Meter: w}.Walk(doc, path, expand, visit)
}

// Walker walks paths, several of one document perhaps.
type Walker struct {
	Meter  *quota.Meter
	Finder *Finder // nil for one path
	// Nulls visits as missing, too, where a path ends within an array: at each element
	// that is not an object, and at an empty array.
	Nulls bool
}

func (p Walker) lookup(doc []byte, name string) value.Value {
	if p.Finder == nil {
		return document.Lookup(doc, name)
	}
	return p.Finder.Find(p.Meter, doc, name)
}

// Walk is the function Walk with the walker's meter, finder and options.
func (p Walker) Walk(doc []byte, path []string, expand bool, visit func(v value.Value, index int) bool) bool {
	for {
		v := p.lookup(doc, path[0])
		path = path[1:]
		switch {
		case value.IsArray(v):
			return p.walkArray(v, path, expand, visit)
		case len(path) == 0:
			return visit(v, -1)
		case !value.IsObject(v):
			return visit(value.Value{}, -1)
		}
		doc = v.Value
	}
}

func (p Walker) walkArray(arr value.Value, path []string, expand bool, visit func(v value.Value, index int) bool) bool {
	if len(path) == 0 {
		if expand {
			i := 0
			for _, v := range p.Meter.Fields(arr.Value) {
				if visit(v, i) {
					return true
				}
				i++
			}
		}
		return visit(arr, -1)
	}
	at, numeric := ParseArrayIndex(path[0])
	i := -1
	for _, v := range p.Meter.Fields(arr.Value) {
		i++
		inside := func(v value.Value, _ int) bool { return visit(v, i) }
		switch {
		case value.IsObject(v):
			if p.Walk(v.Value, path, expand, inside) {
				return true
			}
		case p.Nulls && !numeric && visit(value.Value{}, i):
			return true
		}
		if !numeric || at != i {
			continue
		}
		var stop bool
		switch {
		case len(path) == 1:
			stop = visit(v, i)
		case value.IsObject(v):
			stop = p.Walk(v.Value, path[1:], expand, inside)
		case value.IsArray(v):
			stop = p.walkArray(v, path[1:], expand, inside)
		}
		if stop {
			return true
		}
	}
	// Nothing there, or not the place that a number asks for.
	nowhere := i < 0 || numeric && at > i
	return p.Nulls && nowhere && visit(value.Value{}, -1)
}

// EachValue gives the values at a path, of an array at the end its elements.
func EachValue(w *quota.Meter, doc []byte, path []string, give func(v value.Value)) {
	Walk(w, doc, path, false, func(v value.Value, _ int) bool {
		if !value.IsArray(v) {
			give(v)
			return false
		}
		for _, e := range w.Fields(v.Value) {
			give(e)
		}
		return false
	})
}

// ParseArrayIndex reads a path part as a place in an array: digits without a
// leading zero.
func ParseArrayIndex(part string) (int, bool) {
	if part == "" || len(part) > 9 || len(part) > 1 && part[0] == '0' {
		return 0, false
	}
	for _, c := range []byte(part) {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	n, err := strconv.Atoi(part)
	return n, err == nil
}

// IsArrayIndex reports whether a path part may be a place in an array.
func IsArrayIndex(part string) bool {
	_, ok := ParseArrayIndex(part)
	return ok
}

// LookupPath follows a path through objects only; an array on the way or
// anything else gives missing.
func LookupPath(doc []byte, path []string) value.Value {
	for {
		v := document.Lookup(doc, path[0])
		if len(path) == 1 {
			return v
		}
		if !value.IsObject(v) {
			return value.Value{}
		}
		doc, path = v.Value, path[1:]
	}
}

// Join returns the path of its parts.
func Join(path []string) string { return strings.Join(path, ".") }
