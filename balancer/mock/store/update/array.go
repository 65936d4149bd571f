package update

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/store/order"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

// pushClauses are the modifiers of $push.
type pushClauses struct {
	each     []value.Value
	slice    *int64
	position *int64
	order    func(a, b value.Value) int
}

func makePush(path string, arg value.Value) (modifier, error) {
	p := pushClauses{each: []value.Value{arg}}
	if value.IsObject(arg) && !value.IsMissing(document.Lookup(arg.Value, "$each")) {
		if err := p.parse(arg.Value); err != nil {
			return modifier{}, err
		}
	}
	atEnd := p.slice == nil && p.position == nil && p.order == nil
	return modifier{
		createsPath: true,
		onlyAppends: atEnd,
		apply: func(old value.Value, u *applyState) (value.Value, error) {
			if !value.IsMissing(old) && !value.IsArray(old) {
				return value.Value{}, servererr.BadValue("The field '%s' must be an array but is of type %s in document %s", path,
					value.TypeName(old),
					u.idText())
			}
			return document.Array(p.apply(u.meter, u.meter.Items(old))), nil
		},
	}, nil
}

func (p *pushClauses) parse(doc []byte) error {
	for name, v := range document.Fields(doc) {
		switch string(name) {
		case "$each":
			if !value.IsArray(v) {
				return servererr.BadValue("The argument to $each in $push must be an array but it was of type: %s",
					value.TypeName(v))
			}
			p.each = document.Items(v)
		case "$slice", "$position":
			n, ok := value.WholeInteger(v)
			if !ok {
				return servererr.BadValue("The value for %s must be an integer value but was given type: %s", name,
					value.TypeName(v))
			}
			if string(name) == "$slice" {
				p.slice = &n
			} else {
				p.position = &n
			}
		case "$sort":
			var err error
			if p.order, err = order.CompileElementOrder(v); err != nil {
				return err
			}
		default:
			return servererr.BadValue("Unrecognized clause in $push: %s", name)
		}
	}
	return nil
}

func (p *pushClauses) apply(w *quota.Meter, list []value.Value) []value.Value {
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
		quota.SortStable(w, list, p.order)
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

func makeAddToSet(path string, arg value.Value) (modifier, error) {
	each := []value.Value{arg}
	if value.IsObject(arg) {
		if name, v, _ := document.FirstField(arg.Value); name == "$each" {
			if !value.IsArray(v) {
				return modifier{},
					servererr.TypeMismatch("The argument to $each in $addToSet must be an array but it was of type %s",
						value.TypeName(v))
			}
			if document.Count(arg.Value) > 1 {
				return modifier{}, servererr.BadValue("Found unexpected fields after $each in $addToSet: %s", bson.Raw(arg.Value))
			}
			each = document.Items(v)
		}
	}
	return modifier{
		createsPath: true,
		onlyAppends: true,
		apply: func(old value.Value, u *applyState) (value.Value, error) {
			if !value.IsMissing(old) && !value.IsArray(old) {
				return value.Value{}, servererr.BadValue(
					"Cannot apply $addToSet to non-array field. Field named '%s' has non-array type %s", path,
					value.TypeName(old))
			}
			list := u.meter.Items(old)
			seen := map[string]bool{}
			for _, v := range list {
				if err := u.meter.ChargeBytes(len(v.Value)); err != nil {
					return value.Value{}, err
				}
				seen[value.EncodedKey(v)] = true
			}
			added := false
			for _, v := range each {
				if key := value.EncodedKey(v); !seen[key] {
					seen[key], added = true, true
					list = append(list, v)
				}
			}
			if !added && value.IsArray(old) {
				return old, nil
			}
			return document.Array(list), nil
		},
	}, nil
}

func makePop(path string, arg value.Value) (modifier, error) {
	n, ok := value.WholeInteger(arg)
	switch {
	case !value.IsNumber(arg):
		return modifier{}, servererr.FailedToParse("Expected a number in: %s: %s", path, arg)
	case !ok || n != 1 && n != -1:
		return modifier{}, servererr.FailedToParse("$pop expects 1 or -1, found: %s", arg)
	}
	return modifier{apply: func(old value.Value, u *applyState) (value.Value, error) {
		if !value.IsArray(old) {
			return value.Value{}, servererr.TypeMismatch("Path '%s' contains an element of non-array type '%s'", path,
				value.TypeName(old))
		}
		list := u.meter.Items(old)
		if len(list) == 0 {
			return old, nil
		}
		if n > 0 {
			return document.Array(list[:len(list)-1]), nil
		}
		return document.Array(list[1:]), nil
	}}, nil
}

func makePullAll(_ string, arg value.Value) (modifier, error) {
	if !value.IsArray(arg) {
		return modifier{}, servererr.BadValue("$pullAll requires an array argument but was given a %s", value.TypeName(arg))
	}
	gone := map[string]bool{}
	for _, v := range document.Fields(arg.Value) {
		gone[value.EncodedKey(v)] = true
	}
	return elementRemover(func(_ *quota.Meter, v value.Value) (bool, error) { return gone[value.EncodedKey(v)], nil }), nil
}

// makePull compiles $pull. It removes elements that match a query (for documents), operators on their
// value, or equality.
func (u *Update) makePull(path string, arg value.Value) (modifier, error) {
	c := &filter.Compiler{Scope: &expr.Scope{Language: u.options.Language}, InUpdate: true}
	m := func(w *quota.Meter) *filter.MatchState {
		return &filter.MatchState{Meter: w, Filter: &filter.Filter{Scope: c.Scope}, ElementIndex: -1}
	}
	name, _, ok := "", value.Value{}, false
	if value.IsObject(arg) {
		name, _, ok = document.FirstField(arg.Value)
	}
	switch {
	case value.IsObject(arg) && (!ok || !document.IsOperator(name) || document.IsReference(name) ||
		filter.TopLevelOnly[name]):
		n, err := c.CompileDocument(arg.Value)
		return elementRemover(func(w *quota.Meter, v value.Value) (bool, error) {
			state := m(w)
			matches := value.IsObject(v) && n.Match(v.Value, state)
			return matches, state.Err
		}), err
	case value.IsObject(arg) || arg.Type == bson.TypeRegex:
		p, err := c.CompilePredicate(path, arg)
		return elementRemover(func(w *quota.Meter, v value.Value) (bool, error) {
			state := m(w)
			matches := p.Test(v, state)
			return matches, state.Err
		}), err
	}
	return elementRemover(func(_ *quota.Meter, v value.Value) (bool, error) { return value.Compare(v, arg) == 0, nil }),
		nil
}

// elementRemover returns a modifier that removes the elements for which isRemoved returns true.
func elementRemover(isRemoved func(*quota.Meter, value.Value) (bool, error)) modifier {
	return modifier{apply: func(old value.Value, u *applyState) (value.Value, error) {
		if !value.IsArray(old) {
			return value.Value{}, servererr.BadValue("Cannot apply $pull to a non-array value")
		}
		var kept []value.Value
		all := u.meter.Items(old)
		for _, v := range all {
			if err := u.meter.ChargeBytes(len(v.Value)); err != nil {
				return value.Value{}, err
			}
			drop, err := isRemoved(u.meter, v)
			if err != nil {
				return value.Value{}, err
			}
			if !drop {
				kept = append(kept, v)
			}
		}
		if len(kept) == len(all) {
			return old, nil
		}
		return document.Array(kept), nil
	}}
}
