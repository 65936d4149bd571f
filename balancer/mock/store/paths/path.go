// Package paths follows dotted paths through documents. Filters descend into arrays; indexes and sorts
// descend element by element. The package also implements the server's rules for field names
// (FieldPath).
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

// Walk visits the values that a match path selects in a document, with the server's implicit array
// traversal. An array on the path stands for those of its elements that are objects. A number in the
// path also selects the element at that index. An array at the end of the path stands for its elements
// and then for itself, or only for itself if expand is false. A path that does not exist, outside of
// arrays, is visited as missing.
//
// visit receives the index in the outermost array, or -1. If visit returns true, the walk stops and Walk
// returns true.
func Walk(w *quota.Meter, doc []byte, path []string, expand bool, visit func(v value.Value, index int) bool) bool {
	return Walker{Meter: w}.Walk(doc, path, expand, visit)
}

// Walker walks paths, possibly several paths of the same document.
type Walker struct {
	Meter  *quota.Meter
	Finder *Finder // nil for a single path
	// NullInArrays also visits missing where a path ends within an array: at each element that is not an
	// object, and at an empty array.
	NullInArrays bool
}

func (w Walker) lookup(doc []byte, name string) value.Value {
	if w.Finder == nil {
		return document.Lookup(doc, name)
	}
	return w.Finder.Find(w.Meter, doc, name)
}

// Walk is like the function Walk, with the walker's meter, finder and options.
func (w Walker) Walk(doc []byte, path []string, expand bool, visit func(v value.Value, index int) bool) bool {
	for {
		v := w.lookup(doc, path[0])
		path = path[1:]
		switch {
		case value.IsArray(v):
			return w.walkArray(v, path, expand, visit)
		case len(path) == 0:
			return visit(v, -1)
		case !value.IsObject(v):
			return visit(value.Value{}, -1)
		}
		doc = v.Value
	}
}

func (w Walker) walkArray(arr value.Value, path []string, expand bool, visit func(v value.Value, index int) bool) bool {
	if len(path) == 0 {
		if expand {
			i := 0
			for _, v := range w.Meter.Fields(arr.Value) {
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
	for _, v := range w.Meter.Fields(arr.Value) {
		i++
		inside := func(v value.Value, _ int) bool { return visit(v, i) }
		switch {
		case value.IsObject(v):
			if w.Walk(v.Value, path, expand, inside) {
				return true
			}
		case w.NullInArrays && !numeric && visit(value.Value{}, i):
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
			stop = w.Walk(v.Value, path[1:], expand, inside)
		case value.IsArray(v):
			stop = w.walkArray(v, path[1:], expand, inside)
		}
		if stop {
			return true
		}
	}
	// Neither an object nor the element at a numeric index.
	nowhere := i < 0 || numeric && at > i
	return w.NullInArrays && nowhere && visit(value.Value{}, -1)
}

// EachValue calls visit for each value at a path. For an array at the end of the path it calls visit for
// the elements.
func EachValue(w *quota.Meter, doc []byte, path []string, visit func(v value.Value)) {
	Walk(w, doc, path, false, func(v value.Value, _ int) bool {
		if !value.IsArray(v) {
			visit(v)
			return false
		}
		for _, e := range w.Fields(v.Value) {
			visit(e)
		}
		return false
	})
}

// ParseArrayIndex parses a path component as an array index: digits without a leading zero.
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

// IsArrayIndex reports whether a path component may be an array index.
func IsArrayIndex(part string) bool {
	_, ok := ParseArrayIndex(part)
	return ok
}

// LookupPath follows a path through objects only. It returns missing if the path leads through an array
// or does not exist.
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

// Join joins the components of a path.
func Join(path []string) string { return strings.Join(path, ".") }
