package update

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Description is the updateDescription of a change event.
type Description struct {
	Updated   bson.D // paths with their new values
	Removed   bson.A // paths
	Truncated bson.A // arrays, with their new sizes
	// Ambiguous are the paths that have more than one interpretation, with their components: field names
	// and array indexes.
	Ambiguous bson.D
	// size is the size of the equivalent entry in the server's log.
	size int
}

// The server's log entry of a difference has a document for each section, and a constant overhead.
const (
	emptyDocumentSize = 5
	sectionSize       = 3 + emptyDocumentSize // a type byte, a letter, and a document
	arrayMarkSize     = 4                     // marks a difference of an array
	newSizeSize       = 7
	logEntrySize      = 19
)

// Describe returns the difference between two versions of a document. Operators report the paths of
// their arguments; an array from which they removed elements is reported as a whole. A pipeline is
// described by its result, unless the whole document is shorter. Then ok is false, and the change counts
// as a replacement.
func (u *Update) Describe(before, after bson.Raw) (d Description, ok bool) {
	d, short := describer{u}.diffDocuments(nil, before, after)
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

// pathSteps is the path of a value in a document. It consists of field names, and of array indexes as
// int32.
type pathSteps []any

func (p pathSteps) child(step any) pathSteps { return append(slices.Clone(p), step) }

func (p pathSteps) names() []string {
	names := make([]string, len(p))
	for i, step := range p {
		names[i] = fmt.Sprint(step)
	}
	return names
}

// isAmbiguous reports whether a field name in the path contains a dot or could be an array index. The
// first name cannot be an array index.
func (p pathSteps) isAmbiguous() bool {
	return slices.ContainsFunc(p, func(step any) bool {
		name, isName := step.(string)
		return isName && strings.Contains(name, ".")
	}) || len(p) > 1 && slices.ContainsFunc(p[1:], func(step any) bool {
		name, isName := step.(string)
		return isName && name != "" && strings.Trim(name, "0123456789") == ""
	})
}

// describer compares documents for an update. Its methods report whether to record the difference
// instead of the whole value.
type describer struct{ update *Update }

func (r describer) isShortEnough(d Description, whole []byte) bool {
	return !r.update.IsPipeline() || d.size <= len(whole)
}

func (r describer) diffDocuments(at pathSteps, before, after bson.Raw) (d Description, ok bool) {
	d.size = emptyDocumentSize
	oldFields, _ := before.Elements()
	for _, e := range oldFields {
		if _, err := after.LookupErr(e.Key()); err != nil {
			d.addRemoved(at.child(e.Key()), len(e.Key()))
		}
	}
	newFields, _ := after.Elements()
	var inserts, updates bool
	for _, e := range newFields {
		path := at.child(e.Key())
		old, err := before.LookupErr(e.Key())
		switch {
		case err != nil:
			d.addUpdated(path, e.Value(), len(e.Key()), &inserts)
		case !old.Equal(e.Value()):
			if inner, ok := r.diffValues(path, old, e.Value()); ok {
				d.addNested(inner, len(e.Key()))
				continue
			}
			d.addUpdated(path, e.Value(), len(e.Key()), &updates)
		}
	}
	return d, r.isShortEnough(d, after)
}

// diffValues compares two different values. ok is false if the new value is recorded as a whole.
func (r describer) diffValues(at pathSteps, old, v bson.RawValue) (d Description, ok bool) {
	meant, appends := r.update.hasChangeAt(at)
	a, isDoc := old.DocumentOK()
	b, stillDoc := v.DocumentOK()
	if isDoc && stillDoc && !meant {
		return r.diffDocuments(at, a, b)
	}
	was, isArray := old.ArrayOK()
	is, stillArray := v.ArrayOK()
	if !isArray || !stillArray || meant && !(appends && beginsWith(is, was)) {
		return d, false
	}
	return r.diffArrays(at, was, is)
}

// diffArrays compares the elements and the lengths of two arrays.
func (r describer) diffArrays(at pathSteps, before, after bson.RawArray) (d Description, ok bool) {
	oldValues, _ := before.Values()
	newValues, _ := after.Values()
	d.size = emptyDocumentSize + arrayMarkSize
	if len(newValues) < len(oldValues) {
		if !r.update.IsPipeline() {
			return d, false
		}
		d.size += newSizeSize
		d.Truncated = append(d.Truncated,
			bson.D{{Key: "field", Value: d.recordPath(at)}, {Key: "newSize", Value: int32(len(newValues))}})
	}
	told := true // an array has no sections
	for i, v := range newValues {
		name := len(strconv.Itoa(i))
		path := at.child(int32(i))
		if i < len(oldValues) {
			if oldValues[i].Equal(v) {
				continue
			}
			if inner, ok := r.diffValues(path, oldValues[i], v); ok {
				d.addNested(inner, name)
				continue
			}
		}
		d.addUpdated(path, v, 1+name, &told)
	}
	return d, r.isShortEnough(d, after)
}

func (d *Description) addRemoved(path pathSteps, nameBytes int) {
	if len(d.Removed) == 0 {
		d.size += sectionSize
	}
	d.size += 3 + nameBytes
	d.Removed = append(d.Removed, d.recordPath(path))
}

func (d *Description) addUpdated(path pathSteps, v bson.RawValue, nameBytes int, hasSection *bool) {
	if !*hasSection {
		*hasSection = true
		d.size += sectionSize
	}
	d.size += 2 + nameBytes + len(v.Value)
	d.Updated = append(d.Updated, bson.E{Key: d.recordPath(path), Value: v})
}

func (d *Description) addNested(inner Description, nameBytes int) {
	d.size += 3 + nameBytes + inner.size
	d.Updated = append(d.Updated, inner.Updated...)
	d.Removed = append(d.Removed, inner.Removed...)
	d.Truncated = append(d.Truncated, inner.Truncated...)
	d.Ambiguous = append(d.Ambiguous, inner.Ambiguous...)
}

// recordPath returns the dotted path, and records it if it is ambiguous.
func (d *Description) recordPath(steps pathSteps) string {
	path := strings.Join(steps.names(), ".")
	if steps.isAmbiguous() {
		d.Ambiguous = append(d.Ambiguous, bson.E{Key: path, Value: bson.A(steps)})
	}
	return path
}

// hasChangeAt reports whether a modifier has the given path, and whether one of the path only appends to an
// array.
func (u *Update) hasChangeAt(at pathSteps) (found, appends bool) {
	path := at.names()
	for _, c := range u.changes {
		if pathMatches(c.path, path) || pathMatches(c.from, path) {
			found, appends = true, appends || c.mod.onlyAppends
		}
	}
	return found, appends
}

// beginsWith reports whether an array begins with the elements of another one.
func beginsWith(array, first bson.RawArray) bool {
	return bytes.HasPrefix(array[4:], first[4:len(first)-1])
}

// pathMatches compares the path of a modifier with a path in a document: $, $[] and $[x] match any array
// index.
func pathMatches(pattern, path []string) bool {
	return slices.EqualFunc(pattern, path, func(p, name string) bool { return p == name || strings.HasPrefix(p, "$") })
}
