package update

import (
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/paths"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

func makeSet(_ string, arg value.Value) (modifier, error) {
	return modifier{createsPath: true, apply: func(value.Value, *applyState) (value.Value, error) { return arg, nil }}, nil
}

func makeUnset(string, value.Value) (modifier, error) {
	return modifier{ignoresBadPath: true, apply: func(value.Value, *applyState) (value.Value, error) {
		return value.Value{},
			nil
	}}, nil
}

func makeInc(path string, arg value.Value) (modifier, error) {
	if !value.IsNumber(arg) {
		return modifier{}, servererr.TypeMismatch("Cannot increment with non-numeric argument: {%s: %s}", path, arg)
	}
	return modifier{createsPath: true, apply: func(old value.Value, u *applyState) (value.Value, error) {
		if value.IsMissing(old) {
			return arg, nil
		}
		return u.arithmetic("$inc", path, old, arg, value.Add)
	}}, nil
}

func makeMul(path string, arg value.Value) (modifier, error) {
	if !value.IsNumber(arg) {
		return modifier{}, servererr.TypeMismatch("Cannot multiply with non-numeric argument: {%s: %s}", path, arg)
	}
	return modifier{createsPath: true, apply: func(old value.Value, u *applyState) (value.Value, error) {
		if value.IsMissing(old) {
			old = value.Int32(0) // zero of the argument's type
		}
		return u.arithmetic("$mul", path, old, arg, value.Multiply)
	}}, nil
}

func (s *applyState) arithmetic(op, path string, old, arg value.Value,
	f func(a, b value.Value) (value.Value, bool)) (value.Value, error) {
	if !value.IsNumber(old) {
		return value.Value{}, servererr.TypeMismatch(
			"Cannot apply %s to a value of non-numeric type. %s has the field '%s' of "+
				"non-numeric type %s",
			op, s.idText(), path, value.TypeName(old))
	}
	v, exact := f(old, arg)
	if !exact {
		return value.Value{}, servererr.BadValue("Failed to apply %s operations to current value (%s) for document %s", op,
			old, s.idText())
	}
	return v, nil
}

func makeMin(_ string, arg value.Value) (modifier, error) {
	return modifier{createsPath: true, apply: func(old value.Value, _ *applyState) (value.Value, error) {
		if value.IsMissing(old) || value.Compare(arg, old) < 0 {
			return arg, nil
		}
		return old, nil
	}}, nil
}

func makeMax(_ string, arg value.Value) (modifier, error) {
	return modifier{createsPath: true, apply: func(old value.Value, _ *applyState) (value.Value, error) {
		if value.IsMissing(old) || value.Compare(arg, old) > 0 {
			return arg, nil
		}
		return old, nil
	}}, nil
}

// makeBit compiles {$bit: {field: {and|or|xor: integer, ...}}}.
func makeBit(path string, arg value.Value) (modifier, error) {
	if !value.IsObject(arg) {
		return modifier{}, servererr.BadValue(
			"The $bit modifier is not compatible with a %s. You must pass in an embedded document: "+
				"{$bit: {field: {and/or/xor: #}}", value.TypeName(arg))
	}
	type step struct {
		op string
		by value.Value
	}
	var steps []step
	for op, v := range document.Fields(arg.Value) {
		if !slices.Contains([]string{"and", "or", "xor"}, string(op)) {
			return modifier{}, servererr.BadValue(
				"The $bit modifier only supports 'and', 'or', and 'xor', not '%s' which is an unknown "+
					"operator: {%s: %s}", op, op, v)
		}
		if v.Type != bson.TypeInt32 && v.Type != bson.TypeInt64 {
			return modifier{}, servererr.BadValue(
				"The $bit modifier field must be an Integer(32/64 bit); a '%s' is not supported "+
					"here: {%s: %s}", value.TypeName(v), op, v)
		}
		steps = append(steps, step{string(op), v})
	}
	if len(steps) == 0 {
		return modifier{}, servererr.BadValue(
			"You must pass in at least one bitwise operation. The format is: {$bit: {field: " +
				"{and/or/xor: #}}")
	}
	return modifier{createsPath: true, apply: func(old value.Value, u *applyState) (value.Value, error) {
		if value.IsMissing(old) {
			old = value.Int32(0)
		}
		if old.Type != bson.TypeInt32 && old.Type != bson.TypeInt64 {
			return value.Value{}, servererr.BadValue("Cannot apply $bit to a value of non-integral type.%s has the field %s of "+
				"non-integer type %s",
				u.idText(), path, value.TypeName(old))
		}
		n, long := value.ToInteger(old), old.Type == bson.TypeInt64
		for _, s := range steps {
			by := value.ToInteger(s.by)
			long = long || s.by.Type == bson.TypeInt64
			switch s.op {
			case "and":
				n &= by
			case "or":
				n |= by
			case "xor":
				n ^= by
			}
		}
		if long {
			return value.Int64(n), nil
		}
		return value.Int32(int32(n)), nil
	}}, nil
}

// makeCurrentDate compiles {$currentDate: {field: true}} and {$currentDate: {field: {$type: ...}}}; the type
// is "date" or "timestamp".
func makeCurrentDate(_ string, arg value.Value) (modifier, error) {
	stamp := false
	switch {
	case arg.Type == bson.TypeBoolean:
	case value.IsObject(arg):
		for name, v := range document.Fields(arg.Value) {
			if string(name) != "$type" {
				return modifier{}, servererr.BadValue("Unrecognized $currentDate option: %s", name)
			}
			kind := value.TextAt(v.Value)
			if !value.IsString(v) || kind != "date" && kind != "timestamp" {
				return modifier{}, servererr.BadValue(
					"The '$type' string field is required to be 'date' or 'timestamp': {$currentDate: " +
						"{field : {$type: 'date'}}}")
			}
			stamp = kind == "timestamp"
		}
	default:
		return modifier{}, servererr.BadValue(
			"%s is not valid type for $currentDate. Please use a boolean ('true') or a $type "+
				"expression ({$type: 'timestamp/date'}).", value.TypeName(arg))
	}
	return modifier{createsPath: true, apply: func(_ value.Value, u *applyState) (value.Value, error) {
		now := u.update.options.Now
		if now.IsZero() {
			now = time.Now()
		}
		if stamp {
			return value.Timestamp(uint32(now.Unix()), 1), nil
		}
		return value.Date(now.UnixMilli()), nil
	}}, nil
}

// makeRename checks source and target. The target becomes the path of the change.
func makeRename(ch change, arg value.Value) (change, error) {
	if !value.IsString(arg) {
		return ch, servererr.BadValue("The 'to' field for $rename must be a string: %s: %s", ch.text, arg)
	}
	to := value.TextAt(arg.Value)
	path, err := parseUpdatePath(to)
	if err != nil {
		return ch, err
	}
	for _, p := range [][]string{ch.path, path} {
		if slices.ContainsFunc(p, func(part string) bool { return part == "$" || isArrayPlaceholder(part) }) {
			return ch, servererr.BadValue("The source and destination field for $rename may not be dynamic: %s", paths.Join(p))
		}
	}
	if to == ch.text {
		return ch, servererr.BadValue("The source and target field for $rename must differ: %s: %q", ch.text, to)
	}
	shorter := min(len(path), len(ch.path))
	if slices.Equal(path[:shorter], ch.path[:shorter]) {
		return ch, servererr.BadValue("The source and target field for $rename must not be on the same path: %s: %q", ch.text,
			to)
	}
	return change{text: to, path: path, from: ch.path}, nil
}
