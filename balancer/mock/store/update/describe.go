package update

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Description is what an update has done to a document, as change streams tell it.
type Description struct {
	Updated   bson.D // paths with their new values
	Removed   bson.A // paths
	Truncated bson.A // arrays, with their new sizes
	// Ambiguous are those of the paths that could be read in another way, with the
	// names and the places in arrays that each is made of.
	Ambiguous bson.D
	// size is how many bytes the server's log takes for the same.
	size int
}

// The server's log of a difference has a document for each of these, and some
// bytes around the whole.
const (
	emptyDocumentSize = 5
	sectionSize       = 3 + emptyDocumentSize // a type, a letter, and a document
	arrayMarkSize     = 4                     // says that it is about an array
	newSizeSize       = 7
	logEntrySize      = 19
)

// Describe tells what became of a document. Modifiers name what they were given
// for, and arrays that they took elements out of as a whole. A pipeline is told by
// its result, unless the whole document is shorter: then ok is false, and the
// document counts as replaced.
func (u *Update) Describe(before, after bson.Raw) (d Description, ok bool) {
	d, short := describer{u}.documents(nil, before, after)
	d.Updated, d.Removed, d.Truncated = orEmpty(d.Updated), orEmpty(d.Removed), orEmpty(d.Truncated)
	d.Ambiguous = orEmpty(d.Ambiguous)
	return d, short && (!u.IsPipeline() || d.size+logEntrySize <= len(after))
}

func orEmpty[T any, S ~[]T](list S) S {
	if list == nil {
		return S{}
	}
	return list
}

// trail leads to a value in a document: names of fields, and places in arrays, which
// are int32.
type trail []any

func (t trail) to(step any) trail { return append(slices.Clone(t), step) }

func (t trail) names() []string {
	names := make([]string, len(t))
	for i, step := range t {
		names[i] = fmt.Sprint(step)
	}
	return names
}

// ambiguous reports whether a name on the trail has a dot, or could be a place in an
// array. The first one could not.
func (t trail) ambiguous() bool {
	return slices.ContainsFunc(t, func(step any) bool {
		name, isName := step.(string)
		return isName && strings.Contains(name, ".")
	}) || len(t) > 1 && slices.ContainsFunc(t[1:], func(step any) bool {
		name, isName := step.(string)
		return isName && name != "" && strings.Trim(name, "0123456789") == ""
	})
}

// describer compares documents for an update. Its methods report whether the
// difference is to be told, and not the whole value.
type describer struct{ update *Update }

func (r describer) tells(d Description, whole []byte) bool {
	return !r.update.IsPipeline() || d.size <= len(whole)
}

func (r describer) documents(at trail, before, after bson.Raw) (d Description, ok bool) {
	d.size = emptyDocumentSize
	was, _ := before.Elements()
	for _, e := range was {
		if _, err := after.LookupErr(e.Key()); err != nil {
			d.remove(at.to(e.Key()), len(e.Key()))
		}
	}
	is, _ := after.Elements()
	var inserts, updates bool
	for _, e := range is {
		path := at.to(e.Key())
		old, err := before.LookupErr(e.Key())
		switch {
		case err != nil:
			d.set(path, e.Value(), len(e.Key()), &inserts)
		case !old.Equal(e.Value()):
			if inner, ok := r.values(path, old, e.Value()); ok {
				d.join(inner, len(e.Key()))
				continue
			}
			d.set(path, e.Value(), len(e.Key()), &updates)
		}
	}
	return d, r.tells(d, after)
}

// values compares two values that differ; ok is false where the new one is told as
// it is.
func (r describer) values(at trail, old, v bson.RawValue) (d Description, ok bool) {
	meant, appends := r.update.meant(at)
	a, isDoc := old.DocumentOK()
	b, stillDoc := v.DocumentOK()
	if isDoc && stillDoc && !meant {
		return r.documents(at, a, b)
	}
	was, isArray := old.ArrayOK()
	is, stillArray := v.ArrayOK()
	if !isArray || !stillArray || meant && !appends {
		return d, false
	}
	return r.arrays(at, was, is)
}

// arrays differ at places, at the end, or in length.
func (r describer) arrays(at trail, before, after bson.RawArray) (d Description, ok bool) {
	was, _ := before.Values()
	is, _ := after.Values()
	d.size = emptyDocumentSize + arrayMarkSize
	if len(is) < len(was) {
		if !r.update.IsPipeline() {
			return d, false
		}
		d.size += newSizeSize
		d.Truncated = append(d.Truncated,
			bson.D{{Key: "field", Value: d.path(at)}, {Key: "newSize", Value: int32(len(is))}})
	}
	told := true // an array has no sections
	for i, v := range is {
		name := len(strconv.Itoa(i))
		path := at.to(int32(i))
		if i < len(was) {
			if was[i].Equal(v) {
				continue
			}
			if inner, ok := r.values(path, was[i], v); ok {
				d.join(inner, name)
				continue
			}
		}
		d.set(path, v, 1+name, &told)
	}
	return d, r.tells(d, after)
}

func (d *Description) remove(path trail, name int) {
	if len(d.Removed) == 0 {
		d.size += sectionSize
	}
	d.size += 3 + name
	d.Removed = append(d.Removed, d.path(path))
}

func (d *Description) set(path trail, v bson.RawValue, name int, section *bool) {
	if !*section {
		*section = true
		d.size += sectionSize
	}
	d.size += 2 + name + len(v.Value)
	d.Updated = append(d.Updated, bson.E{Key: d.path(path), Value: v})
}

func (d *Description) join(inner Description, name int) {
	d.size += 3 + name + inner.size
	d.Updated = append(d.Updated, inner.Updated...)
	d.Removed = append(d.Removed, inner.Removed...)
	d.Truncated = append(d.Truncated, inner.Truncated...)
	d.Ambiguous = append(d.Ambiguous, inner.Ambiguous...)
}

// path returns the text of a trail, and notes it where it is ambiguous.
func (d *Description) path(t trail) string {
	path := strings.Join(t.names(), ".")
	if t.ambiguous() {
		d.Ambiguous = append(d.Ambiguous, bson.E{Key: path, Value: bson.A(t)})
	}
	return path
}

// meant reports whether a modifier was given for a path, and whether all that it
// does to an array is to append.
func (u *Update) meant(at trail) (is, appends bool) {
	path := at.names()
	for _, c := range u.changes {
		if samePath(c.path, path) || samePath(c.from, path) {
			return true, c.mod.appends
		}
	}
	return false, false
}

// samePath compares the path of a modifier with one in a document: $, $[] and $[x]
// stand for a place in an array.
func samePath(pattern, path []string) bool {
	return slices.EqualFunc(pattern, path, func(p, name string) bool { return p == name || strings.HasPrefix(p, "$") })
}
