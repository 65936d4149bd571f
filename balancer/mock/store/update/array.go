package store

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// pushClauses are the modifiers of $push.
type pushClauses struct {
	each     []value
	slice    *int64
	position *int64
	order    func(a, b value) int
}

func makePush(path string, arg value) (modifier, error) {
	p := pushClauses{each: []value{arg}}
	if isObject(arg) && !isMissing(lookup(arg.Value, "$each")) {
		if err := p.parse(arg.Value); err != nil {
			return modifier{}, err
		}
	}
	atEnd := p.slice == nil && p.position == nil && p.order == nil
	return modifier{creates: true, appends: atEnd, apply: func(old value, u *updating) (value, error) {
		if !isMissing(old) && !isArray(old) {
			return value{}, badValue("The field '%s' must be an array but is of type %s in document %s", path, typeName(old),
				u.idText())
		}
		return arrayOf(p.apply(u.work, u.work.items(old))), nil
	}}, nil
}

func (p *pushClauses) parse(doc []byte) error {
	for name, v := range fields(doc) {
		switch string(name) {
		case "$each":
			if !isArray(v) {
				return badValue("The argument to $each in $push must be an array but it was of type: %s", typeName(v))
			}
			p.each = items(v)
		case "$slice", "$position":
			n, ok := wholeInteger(v)
			if !ok {
				return badValue("The value for %s must be an integer value but was given type: %s", name, typeName(v))
			}
			if string(name) == "$slice" {
				p.slice = &n
			} else {
				p.position = &n
			}
		case "$sort":
			var err error
			if p.order, err = elementOrder(v); err != nil {
				return err
			}
		default:
			return badValue("Unrecognized clause in $push: %s", name)
		}
	}
	return nil
}

func (p *pushClauses) apply(w *work, list []value) []value {
	at := len(list)
	if p.position != nil {
		switch n := *p.position; {
		case n >= 0:
			at = int(min(n, int64(len(list))))
		default:
			at = int(max(int64(len(list))+n, 0))
		}
	}
	list = slices.Insert(slices.Clone(list), at, p.each...)
	if p.order != nil {
		sortStable(w, list, p.order)
	}
	if p.slice != nil {
		switch n := *p.slice; {
		case n >= 0:
			list = list[:min(n, int64(len(list)))]
		default:
			list = list[max(int64(len(list))+n, 0):]
		}
	}
	return list
}

func makeAddToSet(path string, arg value) (modifier, error) {
	each := []value{arg}
	if isObject(arg) {
		if name, v, _ := first(arg.Value); name == "$each" {
			if !isArray(v) {
				return modifier{}, typeMismatch("The argument to $each in $addToSet must be an array but it was of type %s",
					typeName(v))
			}
			if fieldCount(arg.Value) > 1 {
				return modifier{}, badValue("Found unexpected fields after $each in $addToSet: %s", bson.Raw(arg.Value))
			}
			each = items(v)
		}
	}
	return modifier{creates: true, appends: true, apply: func(old value, u *updating) (value, error) {
		if !isMissing(old) && !isArray(old) {
			return value{}, badValue("Cannot apply $addToSet to non-array field. Field named '%s' has non-array type %s", path,
				typeName(old))
		}
		list := u.work.items(old)
		seen := map[string]bool{}
		for _, v := range list {
			if err := u.work.handle(len(v.Value)); err != nil {
				return value{}, err
			}
			seen[encoded(v)] = true
		}
		added := false
		for _, v := range each {
			if key := encoded(v); !seen[key] {
				seen[key], added = true, true
				list = append(list, v)
			}
		}
		if !added && isArray(old) {
			return old, nil
		}
		return arrayOf(list), nil
	}}, nil
}

func makePop(path string, arg value) (modifier, error) {
	n, ok := wholeInteger(arg)
	switch {
	case !isNumber(arg):
		return modifier{}, failedToParse("Expected a number in: %s: %s", path, arg)
	case !ok || n != 1 && n != -1:
		return modifier{}, failedToParse("$pop expects 1 or -1, found: %s", arg)
	}
	return modifier{apply: func(old value, u *updating) (value, error) {
		if !isArray(old) {
			return value{}, typeMismatch("Path '%s' contains an element of non-array type '%s'", path, typeName(old))
		}
		list := u.work.items(old)
		if len(list) == 0 {
			return old, nil
		}
		if n > 0 {
			return arrayOf(list[:len(list)-1]), nil
		}
		return arrayOf(list[1:]), nil
	}}, nil
}

func makePullAll(_ string, arg value) (modifier, error) {
	if !isArray(arg) {
		return modifier{}, badValue("$pullAll requires an array argument but was given a %s", typeName(arg))
	}
	gone := map[string]bool{}
	for _, v := range fields(arg.Value) {
		gone[encoded(v)] = true
	}
	return removeElements(func(_ *work, v value) (bool, error) { return gone[encoded(v)], nil }), nil
}

// makePull removes elements by a query on them when they are documents, by
// operators on their value, or by equality.
func makePull(path string, arg value) (modifier, error) {
	c := &filterCompiler{scope: &scope{}, plain: true}
	m := func(w *work) *matching { return &matching{spent: w, filter: &Filter{scope: c.scope}, index: -1} }
	name, _, ok := "", value{}, false
	if isObject(arg) {
		name, _, ok = first(arg.Value)
	}
	switch {
	case isObject(arg) && (!ok || !isOperator(name) || isReference(name) || topLevelOnly[name]):
		n, err := c.document(arg.Value)
		return removeElements(func(w *work, v value) (bool, error) {
			state := m(w)
			return isObject(v) && n.match(v.Value, state), state.err
		}), err
	case isObject(arg) || arg.Type == bson.TypeRegex:
		p, err := c.predicate(path, arg)
		return removeElements(func(w *work, v value) (bool, error) {
			state := m(w)
			return p.test(v, state), state.err
		}), err
	}
	return removeElements(func(_ *work, v value) (bool, error) { return compare(v, arg) == 0, nil }), nil
}

// removeElements returns a modifier that removes the elements for which gone is true.
func removeElements(gone func(*work, value) (bool, error)) modifier {
	return modifier{apply: func(old value, u *updating) (value, error) {
		if !isArray(old) {
			return value{}, badValue("Cannot apply $pull to a non-array value")
		}
		var kept []value
		all := u.work.items(old)
		for _, v := range all {
			if err := u.work.handle(len(v.Value)); err != nil {
				return value{}, err
			}
			drop, err := gone(u.work, v)
			if err != nil {
				return value{}, err
			}
			if !drop {
				kept = append(kept, v)
			}
		}
		if len(kept) == len(all) {
			return old, nil
		}
		return arrayOf(kept), nil
	}}
}
