package store

import (
	"strconv"
	"strings"
)

func splitPath(path string) []string { return strings.Split(path, ".") }

// walkPath visits what a match path means in a document, with the server's
// implicit array traversal: an array on the way stands for its elements that
// are objects, a number on the way also for the element at that place, and an
// array at the end for its elements and then itself (expand false: for itself
// only). A path that leads nowhere outside an array is visited as missing.
//
// visit gets the place in the outermost array, or -1. The walk stops when it
// answers true, and walkPath says so.
func walkPath(w *work, doc []byte, path []string, expand bool, visit func(v value, index int) bool) bool {
	return pathWalk{w: w}.walk(doc, path, expand, visit)
}

// pathWalk walks paths, several of one document perhaps.
type pathWalk struct {
	w  *work
	at *finder // nil for one path
}

func (p pathWalk) lookup(doc []byte, name string) value {
	if p.at == nil {
		return lookup(doc, name)
	}
	return p.at.find(p.w, doc, name)
}

func (p pathWalk) walk(doc []byte, path []string, expand bool, visit func(v value, index int) bool) bool {
	for {
		v := p.lookup(doc, path[0])
		path = path[1:]
		switch {
		case isArray(v):
			return p.array(v, path, expand, visit)
		case len(path) == 0:
			return visit(v, -1)
		case !isObject(v):
			return visit(value{}, -1)
		}
		doc = v.Value
	}
}

func (p pathWalk) array(arr value, path []string, expand bool, visit func(v value, index int) bool) bool {
	if len(path) == 0 {
		if expand {
			i := 0
			for _, v := range p.w.fields(arr.Value) {
				if visit(v, i) {
					return true
				}
				i++
			}
		}
		return visit(arr, -1)
	}
	at, numeric := arrayIndex(path[0])
	i := -1
	for _, v := range p.w.fields(arr.Value) {
		i++
		inside := func(v value, _ int) bool { return visit(v, i) }
		if isObject(v) && p.walk(v.Value, path, expand, inside) {
			return true
		}
		if !numeric || at != i {
			continue
		}
		var stop bool
		switch {
		case len(path) == 1:
			stop = visit(v, i)
		case isObject(v):
			stop = p.walk(v.Value, path[1:], expand, inside)
		case isArray(v):
			stop = p.array(v, path[1:], expand, inside)
		}
		if stop {
			return true
		}
	}
	return false
}

// eachValue gives the values at a path, of an array at the end its elements.
func eachValue(w *work, doc []byte, path []string, give func(v value)) {
	walkPath(w, doc, path, false, func(v value, _ int) bool {
		if !isArray(v) {
			give(v)
			return false
		}
		for _, e := range w.fields(v.Value) {
			give(e)
		}
		return false
	})
}

// arrayIndex reads a path part as a place in an array: digits without a
// leading zero.
func arrayIndex(part string) (int, bool) {
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

func isArrayIndex(part string) bool {
	_, ok := arrayIndex(part)
	return ok
}

// valueAt follows a path through objects only; an array on the way or
// anything else gives missing.
func valueAt(doc []byte, path []string) value {
	for {
		v := lookup(doc, path[0])
		if len(path) == 1 {
			return v
		}
		if !isObject(v) {
			return value{}
		}
		doc, path = v.Value, path[1:]
	}
}

func join(path []string) string { return strings.Join(path, ".") }
