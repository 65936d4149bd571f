package store

import (
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

func makeSet(_ string, arg value) (modifier, error) {
	return modifier{creates: true, apply: func(value, *updating) (value, error) { return arg, nil }}, nil
}

func makeUnset(string, value) (modifier, error) {
	return modifier{lenient: true, apply: func(value, *updating) (value, error) { return value{}, nil }}, nil
}

func makeInc(path string, arg value) (modifier, error) {
	if !isNumber(arg) {
		return modifier{}, typeMismatch("Cannot increment with non-numeric argument: {%s: %s}", path, arg)
	}
	return modifier{creates: true, apply: func(old value, u *updating) (value, error) {
		if isMissing(old) {
			return arg, nil
		}
		return u.arithmetic("$inc", path, old, arg, addNumbers)
	}}, nil
}

func makeMul(path string, arg value) (modifier, error) {
	if !isNumber(arg) {
		return modifier{}, typeMismatch("Cannot multiply with non-numeric argument: {%s: %s}", path, arg)
	}
	return modifier{creates: true, apply: func(old value, u *updating) (value, error) {
		if isMissing(old) {
			old = int32Value(0) // zero of the argument's type
		}
		return u.arithmetic("$mul", path, old, arg, multiplyNumbers)
	}}, nil
}

func (u *updating) arithmetic(op, path string, old, arg value, f func(a, b value) (value, bool)) (value, error) {
	if !isNumber(old) {
		return value{}, typeMismatch("Cannot apply %s to a value of non-numeric type. %s has the field '%s' of "+
			"non-numeric type %s",
			op, u.idText(), path, typeName(old))
	}
	v, exact := f(old, arg)
	if !exact {
		return value{}, badValue("Failed to apply %s operations to current value (%s) for document %s", op, old, u.idText())
	}
	return v, nil
}

func makeMin(_ string, arg value) (modifier, error) {
	return modifier{creates: true, apply: func(old value, _ *updating) (value, error) {
		if isMissing(old) || compare(arg, old) < 0 {
			return arg, nil
		}
		return old, nil
	}}, nil
}

func makeMax(_ string, arg value) (modifier, error) {
	return modifier{creates: true, apply: func(old value, _ *updating) (value, error) {
		if isMissing(old) || compare(arg, old) > 0 {
			return arg, nil
		}
		return old, nil
	}}, nil
}

// makeBit is {$bit: {field: {and|or|xor: integer, ...}}}.
func makeBit(path string, arg value) (modifier, error) {
	if !isObject(arg) {
		return modifier{}, badValue("The $bit modifier is not compatible with a %s. You must pass in an embedded document: "+
			"{$bit: {field: {and/or/xor: #}}", typeName(arg))
	}
	type step struct {
		op string
		by value
	}
	var steps []step
	for op, v := range fields(arg.Value) {
		if !slices.Contains([]string{"and", "or", "xor"}, string(op)) {
			return modifier{}, badValue("The $bit modifier only supports 'and', 'or', and 'xor', not '%s' which is an unknown "+
				"operator: {%s: %s}", op, op, v)
		}
		if v.Type != bson.TypeInt32 && v.Type != bson.TypeInt64 {
			return modifier{}, badValue("The $bit modifier field must be an Integer(32/64 bit); a '%s' is not supported "+
				"here: {%s: %s}", typeName(v), op, v)
		}
		steps = append(steps, step{string(op), v})
	}
	if len(steps) == 0 {
		return modifier{}, badValue("You must pass in at least one bitwise operation. The format is: {$bit: {field: " +
			"{and/or/xor: #}}")
	}
	return modifier{creates: true, apply: func(old value, u *updating) (value, error) {
		if isMissing(old) {
			old = int32Value(0)
		}
		if old.Type != bson.TypeInt32 && old.Type != bson.TypeInt64 {
			return value{}, badValue("Cannot apply $bit to a value of non-integral type.%s has the field %s of "+
				"non-integer type %s",
				u.idText(), path, typeName(old))
		}
		n, long := toInteger(old), old.Type == bson.TypeInt64
		for _, s := range steps {
			by := toInteger(s.by)
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
			return int64Value(n), nil
		}
		return int32Value(int32(n)), nil
	}}, nil
}

// makeCurrentDate is {$currentDate: {field: true | {$type: "date"|"timestamp"}}}.
func makeCurrentDate(_ string, arg value) (modifier, error) {
	stamp := false
	switch {
	case arg.Type == bson.TypeBoolean:
	case isObject(arg):
		for name, v := range fields(arg.Value) {
			if string(name) != "$type" {
				return modifier{}, badValue("Unrecognized $currentDate option: %s", name)
			}
			kind := textAt(v.Value)
			if !isString(v) || kind != "date" && kind != "timestamp" {
				return modifier{}, badValue("The '$type' string field is required to be 'date' or 'timestamp': {$currentDate: " +
					"{field : {$type: 'date'}}}")
			}
			stamp = kind == "timestamp"
		}
	default:
		return modifier{}, badValue("%s is not valid type for $currentDate. Please use a boolean ('true') or a $type "+
			"expression ({$type: 'timestamp/date'}).", typeName(arg))
	}
	return modifier{creates: true, apply: func(_ value, u *updating) (value, error) {
		now := u.update.options.Now
		if now.IsZero() {
			now = time.Now()
		}
		if stamp {
			return timestampValue(uint32(now.Unix()), 1), nil
		}
		return dateValue(now.UnixMilli()), nil
	}}, nil
}

// makeRename checks both ends; the target becomes the path of the change.
func makeRename(ch change, arg value) (change, error) {
	if !isString(arg) {
		return ch, badValue("The 'to' field for $rename must be a string: %s: %s", ch.text, arg)
	}
	to := textAt(arg.Value)
	path, err := updatePath(to)
	if err != nil {
		return ch, err
	}
	for _, p := range [][]string{ch.path, path} {
		if slices.ContainsFunc(p, func(part string) bool { return part == "$" || isArrayPlaceholder(part) }) {
			return ch, badValue("The source and destination field for $rename may not be dynamic: %s", join(p))
		}
	}
	if to == ch.text {
		return ch, badValue("The source and target field for $rename must differ: %s: %q", ch.text, to)
	}
	shorter := min(len(path), len(ch.path))
	if slices.Equal(path[:shorter], ch.path[:shorter]) {
		return ch, badValue("The source and target field for $rename must not be on the same path: %s: %q", ch.text, to)
	}
	return change{text: to, path: path, from: ch.path, mod: modifier{op: "$rename"}}, nil
}
