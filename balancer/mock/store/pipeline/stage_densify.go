package pipeline

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/order"
	"shardsh/balancer/mock/store/paths"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
	"shardsh/balancer/mongoerr"
)

// maxDensified is the maximum number of documents that $densify generates.
const maxDensified = 500_000

// densifyStage implements $densify: it fills gaps in the values of a field.
type densifyStage struct {
	field     []string
	partition [][]string
	step      value.Value
	unit      *expr.TimeUnit
	fullRange bool          // from the smallest to the largest value of all documents
	bounds    []value.Value // explicit bounds
}

func (c *compiler) compileDensify(name string, arg value.Value) (stage, error) {
	raw, err := expr.ReadNamedArgs(name, arg, expr.NamedArgs{
		Args: []string{"field", "range", "partitionByFields"}, NotObjectCode: 5733402, UnknownCode: 40415,
		MissingCodes: []int32{40414, 40414},
	})
	if err != nil {
		return nil, err
	}
	if err := checkOptionTypes("$densify", raw, []typedOption{
		{"field", []bson.Type{bson.TypeString}}, {}, {"partitionByFields", []bson.Type{bson.TypeArray}},
	}); err != nil {
		return nil, err
	}
	s := &densifyStage{}
	if s.field, err = paths.Parse(value.TextAt(raw[0].Value)); err != nil {
		return nil, err
	}
	if !value.IsOmittedArgument(raw[2]) {
		for _, v := range document.Fields(raw[2].Value) {
			path, err := paths.Parse(value.TextAt(v.Value))
			if err != nil {
				return nil, err
			}
			s.partition = append(s.partition, path)
		}
	}
	return s, s.parseRange(raw[1])
}

func (s *densifyStage) parseRange(v value.Value) error {
	raw, err := expr.ReadNamedArgs("$densify.range", v, expr.NamedArgs{
		Args: []string{"step", "bounds", "unit"}, NotObjectCode: 14, UnknownCode: 40415, MissingCodes: []int32{40414, 40414},
	})
	if err != nil {
		return err
	}
	s.step = raw[0]
	if !value.IsNumber(s.step) || value.ToDouble(s.step) <= 0 {
		return servererr.NewCode(5733401, "the step parameter in a range statement must be a strictly positive numeric value")
	}
	if !value.IsOmittedArgument(raw[2]) {
		u, _, err := expr.ParseUnit(raw[2], "$densify", 14)
		if err != nil {
			return err
		}
		if _, whole := value.WholeInteger(s.step); !whole {
			return servererr.NewCode(6586400,
				"The step parameter in a range statement must be a whole number when densifying a date range")
		}
		s.unit = &u
	}
	switch bounds := raw[1]; {
	case value.IsString(bounds) && value.TextAt(bounds.Value) == "full":
		s.fullRange = true
	case value.IsString(bounds) && value.TextAt(bounds.Value) == "partition":
		if s.partition == nil {
			return servererr.NewCode(5733408,
				"one may not specify the bounds as 'partition' without specifying a non-empty array of "+
					"partitionByFields.")
		}
	case value.IsString(bounds):
		return servererr.NewCode(5946802, "the bounds parameter must be 'full', 'partition' or an array")
	case value.IsArray(bounds):
		if s.bounds = document.Items(bounds); len(s.bounds) != 2 {
			return servererr.NewCode(5733403, "a bounding array in a range statement must have exactly two elements")
		}
		if value.Compare(s.bounds[0], s.bounds[1]) > 0 {
			return servererr.NewCode(5733402, "the bounds in a range statement must be in ascending order")
		}
		for _, b := range s.bounds {
			if s.unit == nil && !value.IsNumber(b) || s.unit != nil && b.Type != bson.TypeDateTime {
				return servererr.NewCode(5733406, "a bounding array must contain either both dates or both numeric types")
			}
		}
	default:
		return servererr.NewCode(5733404, "the bounds parameter in a range statement must be a string or an array")
	}
	return nil
}

func (s *densifyStage) run(r *execution, in quota.Docs) quota.Docs {
	return blockingStage(func(r *execution, in quota.Docs) ([]bson.Raw, error) {
		held := r.stageMemory(errSortTooLarge)
		all, err := held.ReadAll(in)
		if err != nil {
			return nil, err
		}
		order := &order.Sort{Keys: []order.Key{{Path: s.field}}}
		order.SortMetered(r.meter, all)
		var key expr.Expression
		if s.partition != nil {
			var list expr.Array
			for _, path := range s.partition {
				list = append(list, expr.Path{Path: path})
			}
			// The key is an object, because partition keys may not be arrays.
			key = expr.Object{{Name: "k", Expr: list}}
		}
		parts, err := partitionDocuments(r.newEvaluation(), key, all)
		if err != nil {
			return nil, err
		}
		bounds := s.bounds
		if s.fullRange {
			bounds = s.valueRange(all)
		}
		out := densified{memory: held}
		for _, part := range parts {
			within := bounds
			if !s.fullRange && s.bounds == nil {
				within = s.valueRange(part)
			}
			if err := s.fill(&out, part, within); err != nil {
				return nil, err
			}
		}
		return out.docs, nil
	}).run(r, in)
}

// valueRange returns the minimum and the maximum of the field.
func (s *densifyStage) valueRange(docs []bson.Raw) []value.Value {
	var bounds []value.Value
	for _, d := range docs {
		v := paths.LookupPath(d, s.field)
		if value.IsNullish(v) {
			continue
		}
		if bounds == nil {
			bounds = []value.Value{v, v}
		}
		bounds[1] = v // the documents are sorted
	}
	return bounds
}

// densified is the output of $densify.
type densified struct {
	docs      []bson.Raw
	generated int // of docs
	memory    *quota.Memory
}

// add appends a generated document.
func (d *densified) add(doc bson.Raw) error {
	if d.generated++; d.generated > maxDensified {
		return servererr.NewCode(5897900, "Generated %d documents in $densify, which is over the limit of %d.", d.generated,
			maxDensified)
	}
	d.docs = append(d.docs, doc)
	return d.memory.Hold(len(doc) + quota.ItemOverheadBytes)
}

// fill appends the documents of a partition and generates documents for the gaps.
func (s *densifyStage) fill(out *densified, part []bson.Raw, bounds []value.Value) error {
	if bounds == nil {
		out.docs = append(out.docs, part...)
		return nil
	}
	model := document.Empty
	if len(part) > 0 {
		for _, path := range s.partition {
			model = setPath(model, path, paths.LookupPath(part[0], path))
		}
	}
	next, n := bounds[0], int64(0)
	advance := func() error {
		n++
		var err error
		next, err = s.valueAt(bounds[0], n)
		return err
	}
	add := func(limit value.Value, inclusive bool) error {
		for value.Compare(next, bounds[1]) < 0 && (value.Compare(next, limit) < 0 || inclusive && value.Compare(next,
			limit) == 0) {
			if value.Compare(next, limit) < 0 {
				if err := out.add(setPath(model, s.field, next)); err != nil {
					return err
				}
			}
			if err := advance(); err != nil {
				return err
			}
			if err := out.memory.Meter.ChargeBytes(len(model)); err != nil {
				return err
			}
		}
		return nil
	}
	for _, doc := range part {
		v := paths.LookupPath(doc, s.field)
		if value.IsNullish(v) {
			out.docs = append(out.docs, doc)
			continue
		}
		if s.unit == nil && !value.IsNumber(v) || s.unit != nil && v.Type != bson.TypeDateTime {
			return servererr.NewCode(5733201, "Densify field type must be numeric or, with a unit, a date, but it was %s",
				value.TypeName(v))
		}
		if err := add(v, true); err != nil {
			return err
		}
		out.docs = append(out.docs, doc)
	}
	return add(bounds[1], false)
}

// valueAt returns the n-th value of the sequence.
func (s *densifyStage) valueAt(from value.Value, n int64) (value.Value, error) {
	if s.unit != nil {
		step, ok := value.MultiplyInt64(value.ToInteger(s.step), n)
		if !ok {
			return value.Value{}, servererr.New(mongoerr.Overflow, "date overflow in $densify")
		}
		t, err := expr.AddUnits(time.UnixMilli(value.Int64At(from.Value)).UTC(), *s.unit, step)
		return value.Date(t.UnixMilli()), err
	}
	by, _ := value.Multiply(s.step, value.SmallestInt(n))
	v, _ := value.Add(from, by)
	return v, nil
}
