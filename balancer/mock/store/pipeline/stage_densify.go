package store

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

// maxDensified is how many documents $densify may make.
const maxDensified = 500_000

// densifyStage fills gaps in the sequence of a field.
type densifyStage struct {
	field     []string
	partition [][]string
	step      value
	unit      *timeUnit
	full      bool    // from the least to the greatest of all documents
	bounds    []value // or these
}

func (c *pipelineCompiler) densify(name string, arg value) (stage, error) {
	raw, err := namedValues(name, arg, namedSpec{
		args: []string{"field", "range", "partitionByFields"}, notObject: 5733402, unknown: 40415,
		missing: []int32{40414, 40414},
	})
	if err != nil {
		return nil, err
	}
	if err := ofTypes("$densify", raw, []typedOption{
		{"field", []bson.Type{bson.TypeString}}, {}, {"partitionByFields", []bson.Type{bson.TypeArray}},
	}); err != nil {
		return nil, err
	}
	s := &densifyStage{}
	if s.field, err = fieldPath(textAt(raw[0].Value)); err != nil {
		return nil, err
	}
	if !isAbsent(raw[2]) {
		for _, v := range fields(raw[2].Value) {
			path, err := fieldPath(textAt(v.Value))
			if err != nil {
				return nil, err
			}
			s.partition = append(s.partition, path)
		}
	}
	return s, s.parseRange(raw[1])
}

func (s *densifyStage) parseRange(v value) error {
	raw, err := namedValues("$densify.range", v, namedSpec{
		args: []string{"step", "bounds", "unit"}, notObject: 14, unknown: 40415, missing: []int32{40414, 40414},
	})
	if err != nil {
		return err
	}
	s.step = raw[0]
	if !isNumber(s.step) || toDouble(s.step) <= 0 {
		return fail(5733401, "the step parameter in a range statement must be a strictly positive numeric value")
	}
	if !isAbsent(raw[2]) {
		u, _, err := unitOf(raw[2], "$densify", 14)
		if err != nil {
			return err
		}
		if _, whole := wholeInteger(s.step); !whole {
			return fail(6586400, "The step parameter in a range statement must be a whole number when densifying a date range")
		}
		s.unit = &u
	}
	switch bounds := raw[1]; {
	case isString(bounds) && textAt(bounds.Value) == "full":
		s.full = true
	case isString(bounds) && textAt(bounds.Value) == "partition":
		if s.partition == nil {
			return fail(5733408, "one may not specify the bounds as 'partition' without specifying a non-empty array of "+
				"partitionByFields.")
		}
	case isString(bounds):
		return fail(5946802, "the bounds parameter must be 'full', 'partition' or an array")
	case isArray(bounds):
		if s.bounds = items(bounds); len(s.bounds) != 2 {
			return fail(5733403, "a bounding array in a range statement must have exactly two elements")
		}
		if compare(s.bounds[0], s.bounds[1]) > 0 {
			return fail(5733402, "the bounds in a range statement must be in ascending order")
		}
		for _, b := range s.bounds {
			if s.unit == nil && !isNumber(b) || s.unit != nil && b.Type != bson.TypeDateTime {
				return fail(5733406, "a bounding array must contain either both dates or both numeric types")
			}
		}
	default:
		return fail(5733404, "the bounds parameter in a range statement must be a string or an array")
	}
	return nil
}

func (s *densifyStage) run(r *execution, in docs) docs {
	return blocking(func(r *execution, in docs) ([]bson.Raw, error) {
		held := r.spilling(sortTooLarge)
		all, err := held.drain(in)
		if err != nil {
			return nil, err
		}
		order := &Sort{keys: []sortKey{{path: s.field}}}
		order.sort(r.work, all)
		var key expression
		if s.partition != nil {
			var list arrayExpression
			for _, path := range s.partition {
				list = append(list, pathExpression{path: path})
			}
			// An object, since partitions may not be arrays.
			key = objectExpression{{"k", list}}
		}
		parts, err := partitioned(r.evaluation(), key, all)
		if err != nil {
			return nil, err
		}
		bounds := s.bounds
		if s.full {
			bounds = s.extent(all)
		}
		var out []bson.Raw
		for _, part := range parts {
			within := bounds
			if !s.full && s.bounds == nil {
				within = s.extent(part)
			}
			if out, err = s.fill(out, part, within, held); err != nil {
				return nil, err
			}
		}
		return out, nil
	}).run(r, in)
}

// extent returns the least and the greatest value of the field.
func (s *densifyStage) extent(docs []bson.Raw) []value {
	var bounds []value
	for _, d := range docs {
		v := valueAt(d, s.field)
		if isNullish(v) {
			continue
		}
		if bounds == nil {
			bounds = []value{v, v}
		}
		bounds[1] = v // they come in order
	}
	return bounds
}

// fill appends the documents of a partition, with new ones in the gaps.
func (s *densifyStage) fill(out, part []bson.Raw, bounds []value, held *memory) ([]bson.Raw, error) {
	if bounds == nil {
		return append(out, part...), nil
	}
	model := emptyDocument
	if len(part) > 0 {
		for _, path := range s.partition {
			model = replaceAt(model, path, valueAt(part[0], path))
		}
	}
	next, n := bounds[0], int64(0)
	advance := func() error {
		n++
		var err error
		next, err = s.at(bounds[0], n)
		return err
	}
	add := func(limit value, inclusive bool) error {
		for compare(next, bounds[1]) < 0 && (compare(next, limit) < 0 || inclusive && compare(next, limit) == 0) {
			if compare(next, limit) < 0 {
				made := replaceAt(model, s.field, next)
				if err := held.keep(len(made) + itemBytes); err != nil {
					return err
				}
				out = append(out, made)
			}
			if len(out) > maxDensified+len(part) {
				return fail(5897900, "Generated %d documents in $densify, which is over the limit of %d.", len(out), maxDensified)
			}
			if err := advance(); err != nil {
				return err
			}
			if err := held.work.handle(len(model)); err != nil {
				return err
			}
		}
		return nil
	}
	for _, doc := range part {
		v := valueAt(doc, s.field)
		if isNullish(v) {
			out = append(out, doc)
			continue
		}
		if s.unit == nil && !isNumber(v) || s.unit != nil && v.Type != bson.TypeDateTime {
			return nil, fail(5733201, "Densify field type must be numeric or, with a unit, a date, but it was %s", typeName(v))
		}
		if err := add(v, true); err != nil {
			return nil, err
		}
		out = append(out, doc)
	}
	err := add(bounds[1], false)
	return out, err
}

// at returns the n-th value of the sequence.
func (s *densifyStage) at(from value, n int64) (value, error) {
	if s.unit != nil {
		step, ok := multiplyInt64(toInteger(s.step), n)
		if !ok {
			return value{}, serverError(mongoerr.Overflow, "date overflow in $densify")
		}
		t, err := addUnits(time.UnixMilli(int64At(from.Value)).UTC(), *s.unit, step)
		return dateValue(t.UnixMilli()), err
	}
	by, _ := multiplyNumbers(s.step, smallestInt(n))
	v, _ := addNumbers(from, by)
	return v, nil
}
